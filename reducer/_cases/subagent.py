"""Subagent invocations: STARTED .. FINISHED or ERROR, once each in a run (spec: events/subagents).

May change: the scope's subagents. What a subagent streams is told by the tags of the events, announced or not.
"""

from __future__ import annotations

from typing import Any

import attrs

from reducer._cases._entities import flag
from reducer._frozen import freeze
from reducer._index import assoc
from reducer._run import scoped
from reducer._session import Subagent
from reducer._state import State


def subagent_started(state: State, event: Any) -> State:
    """Announce an invocation."""
    subagents, name = state.session.scope.subagents, event.subagent_run_id
    known = subagents.get(name)
    if known is not None:
        code = "subagent-already-active" if known.status == "running" else "subagent-reused"
        return flag(state, event, code, repr(name))
    parent = event.parent_subagent_run_id
    if parent is not None and parent not in subagents:
        state = flag(state, event, "subagent-parent-unknown", repr(parent))
    about = {
        "description": event.description,
        "parentSubagentRunId": parent,
        "parentToolCallId": event.parent_tool_call_id,
        "parentMessageId": event.parent_message_id,
    }
    told = freeze({field: value for field, value in about.items() if value is not None})
    subagent = Subagent(name, event.name, "running", state.position, state.position, told)
    return scoped(state, subagents=assoc(subagents, name, subagent))


def subagent_finished(state: State, event: Any) -> State:
    """Close an invocation, or suspend it until another run."""
    outcome = event.outcome
    suspended = outcome is not None and outcome.get("type") == "suspended"
    return _ended(state, event, "suspended" if suspended else "finished", {"outcome": outcome, "result": event.result})


def subagent_error(state: State, event: Any) -> State:
    """Close an invocation that failed; the run goes on."""
    return _ended(state, event, "error", {"message": event.message, "code": event.code})


def _ended(state: State, event: Any, status: str, about: dict[str, Any]) -> State:
    subagents, name = state.session.scope.subagents, event.subagent_run_id
    known = subagents.get(name)
    if known is None or known.status != "running":
        return flag(state, event, "subagent-not-active", repr(name))
    told = freeze({field: value for field, value in about.items() if value is not None})
    known = attrs.evolve(known, status=status, last=state.position, ended=told)
    return scoped(state, subagents=assoc(subagents, name, known))
