"""The run that events belong to: what cases ask about it, and how they change it."""

from __future__ import annotations

from typing import Any

from reducer._state import Run, State


def current(state: State) -> Run | None:
    """Return the run that is active, if one is."""
    runs = state.session.runs
    return runs[-1] if runs and runs[-1].status == "running" else None


def amend(state: State, **fields: Any) -> State:
    """Return the state with fields of its last run changed."""
    runs = state.session.runs
    run = runs[-1]._replace(last=state.position, **fields)
    return with_session(state, runs=runs.set(len(runs) - 1, run))


def with_session(state: State, **fields: Any) -> State:
    """Return the state with fields of its session changed."""
    return State(state.position, state.live, state.conversation, state.session._replace(**fields))
