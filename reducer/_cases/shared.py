"""The shared state: any JSON value, replaced by a snapshot, amended by patches (spec: events/state).

May change: the session's shared state.
"""

from __future__ import annotations

from typing import Any

from reducer._cases._entities import flag
from reducer._frozen import freeze
from reducer._patch import PatchError, apply
from reducer._run import with_session
from reducer._state import State


def state_snapshot(state: State, event: Any) -> State:
    """Replace the state wholesale, `null` and lists included."""
    return with_session(state, shared=freeze(event.snapshot, ("snapshot",)))


def state_delta(state: State, event: Any) -> State:
    """Apply the patch whole, or keep the state and say which operation failed and why."""
    try:
        patched = apply(state.session.shared, event.delta)
    except PatchError as error:
        return flag(state, event, "patch-failed", str(error))
    return with_session(state, shared=patched.document)
