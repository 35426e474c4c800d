"""The short ways of a run's start and end: where nothing is open, no input is told and no outcome.

As `_short` says: what is out of the ordinary gives `None`, and the event takes the long way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reducer._cases.run import SPEAKS
from reducer._interrupts import NO_INTERRUPTS
from reducer._records import filled
from reducer._session import Run, Scope, Session
from reducer._short import Short
from reducer._state import NO_PEN, Conversation, State, made

_KNOWN = frozenset({None, *(f"{SPEAKS[0]}.{minor}" for minor in range(SPEAKS[1] + 1))})
_NOTHING = Scope()
_HOW_IT_WENT: tuple[Any, ...] = Run(None, None, 0, 0)[7:]
"""What nobody knows of a run that begins."""


def started(*, sdk: bool) -> Short:
    """Open a run."""

    def start_run(state: State, event: Any) -> State | None:
        position, session = state.position, state.session
        version = event.__dict__.get("protocol_version") if sdk else event.protocol_version
        name, thread, parent = event.run_id, event.thread_id, event.parent_run_id
        if (
            session.active
            or state.live
            or state.conversation.streams is not None
            or event.input is not None
            or event.metadata is not None
            or (event.__pydantic_extra__ if sdk else event.notes)
            or version not in _KNOWN
            or type(name) is not str
            or type(thread) is not str
            or (parent is not None and type(parent) is not str)
            or (version is not None and type(version) is not str)
            or (session.thread_id is not None and session.thread_id != thread)
        ):
            return None
        runs = session.runs.append(
            filled(Run, (name, thread, position, position, "running", parent, version, *_HOW_IT_WENT))
        )
        session = Session(
            session.shared, runs, session.interrupts, session.anomalies, thread, True, _NOTHING, len(runs)
        )
        return _at_boundary(state, session)

    return start_run


def finished(*, sdk: bool) -> Short:
    """Close the run, which succeeded."""

    def finish_run(state: State, event: Any) -> State | None:
        position, session, scope = state.position, state.session, state.session.scope
        if (
            not session.active
            or state.live
            or scope.spans
            or scope.steps
            or scope.subagents
            or state.conversation.streams is not None
            or (event.__dict__.get("outcome") if sdk else event.outcome) is not None
            or (event.__dict__.get("usage") if sdk else event.usage) is not None
            or event.result is not None
            or event.metadata is not None
            or (event.__pydantic_extra__ if sdk else event.notes)
        ):
            return None
        run = session.runs[-1]
        if event.run_id != run.run_id or event.thread_id != run.thread_id:
            return None
        runs = session.runs.set(len(session.runs) - 1, filled(Run, (*run[:3], position, "finished", *run[5:])))
        # Whoever did not tell the input did not say what it answers.
        interrupts = session.interrupts if run.echoed else NO_INTERRUPTS
        session = Session(
            session.shared, runs, interrupts, session.anomalies, session.thread_id, session.begun, _NOTHING
        )
        return _at_boundary(state, session)

    return finish_run


def _at_boundary(state: State, session: Session) -> State:
    """Return the state after an event that cuts all rows and groups, where nothing is open."""
    position, before = state.position, state.conversation
    conversation = Conversation()
    conversation.timeline, conversation.index, conversation.early = before.timeline, before.index, before.early
    conversation.streams, conversation.unclaimed, conversation.settled = None, before.unclaimed, before.settled
    conversation.lanes, conversation.opened, conversation.base = {}, position, (position, position, {}, None)
    return made(position + 1, None, NO_PEN, {}, (), conversation, session)


SHORT: dict[str, tuple[Callable[[bool], Short], tuple[str, ...]]] = {
    "RUN_STARTED": (lambda sdk: started(sdk=sdk), ("run_id", "thread_id", "parent_run_id", "input")),
    "RUN_FINISHED": (lambda sdk: finished(sdk=sdk), ("run_id", "thread_id", "result")),
}
"""As `_short.SHORT`; what every other event is tagged with, these do not have."""
