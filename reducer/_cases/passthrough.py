"""RAW and CUSTOM build nothing (spec: events/passthrough)."""

from __future__ import annotations

from typing import Any

from reducer._state import State


def raw(state: State, event: Any) -> State:  # noqa: ARG001
    """Nothing in a RAW event opens, closes or amends anything."""
    return state


def custom(state: State, event: Any) -> State:  # noqa: ARG001
    """What a CUSTOM event means is the application's business."""
    return state
