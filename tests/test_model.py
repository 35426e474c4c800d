"""The fold and the plain model, compared at every moment of valid streams."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reducer import EMPTY, Layout, fold, project
from reducer.strategies import streams
from tests.model import Model

COMPARED = ("messages", "state", "interrupts")


@given(streams(early_values=True, runs=1), st.integers(1, 4))
def test_valid_streams(stream: list[dict[str, Any]], every: int) -> None:
    """On valid streams of a run both show the same at every moment, in both layouts."""
    model, state = Model(), EMPTY
    for number, event in enumerate(stream):
        model.observe(event)
        state = fold(state, event)
        if number % every and number < len(stream) - 1:
            continue
        for layout in Layout:
            shown, expected = project(state, layout), model.project(layout.value)
            for part in COMPARED:
                assert getattr(shown, part) == expected[part], part
