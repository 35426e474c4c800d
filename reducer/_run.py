"""The run that events belong to and what is in its scope: what cases ask about it, and how they change it."""

from __future__ import annotations

from typing import Any

from reducer._session import Run
from reducer._state import State


def current(state: State) -> Run | None:
    """Return the run that is active, if one is."""
    session = state.session
    return session.runs[-1] if session.active else None


def amend(state: State, **fields: Any) -> State:
    """Return the state with fields of its last run changed."""
    runs = state.session.runs
    run = runs[-1]._replace(**fields)
    return with_session(state, runs=runs.set(len(runs) - 1, run))


def scoped(state: State, **fields: Any) -> State:
    """Return the state with fields of its scope changed."""
    return with_session(state, scope=state.session.scope._replace(**fields))


def with_session(state: State, **fields: Any) -> State:
    """Return the state with fields of its session changed."""
    return state._replace(session=state.session._replace(**fields))
