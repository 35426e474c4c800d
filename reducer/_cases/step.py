"""Steps: STARTED .. FINISHED by name, each owner's apart (spec: events/lifecycle).

May change: the scope's open steps.
"""

from __future__ import annotations

from typing import Any

from reducer._cases._entities import flag
from reducer._index import assoc, dissoc
from reducer._run import scoped
from reducer._state import State


def step_started(state: State, event: Any) -> State:
    """Open a step of its owner's."""
    steps, step = state.session.scope.steps, (event.subagent_run_id, event.step_name)
    if step in steps:
        return flag(state, event, "step-already-open", repr(event.step_name))
    return scoped(state, steps=assoc(steps, step, state.position))


def step_finished(state: State, event: Any) -> State:
    """Close the owner's step of that name."""
    steps, step = state.session.scope.steps, (event.subagent_run_id, event.step_name)
    if step not in steps:
        return flag(state, event, "step-not-open", repr(event.step_name))
    return scoped(state, steps=dissoc(steps, step))
