"""The fold and the plain model in lock step, compared after every event."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from reducer import EMPTY, Layout, fold, project
from reducer.strategies import events, streams
from tests.model import Model

COMPARED = ("messages", "state", "interrupts")


def agree(model: Model, state: Any) -> None:
    """Compare what both show, in both layouts."""
    for layout in Layout:
        shown, expected = project(state, layout), model.project(layout.value)
        for part in COMPARED:
            assert getattr(shown, part) == expected[part], part


class LockStep(RuleBasedStateMachine):
    """Whatever event comes next, the fold shows what the model shows."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.folded = EMPTY

    @rule(stream=events(max_size=3))
    def come(self, stream: list[dict[str, Any]]) -> None:
        """A few well-formed events come, in no order that anybody promised."""
        for event in stream:
            self.model.observe(event)
            self.folded = fold(self.folded, event)
            agree(self.model, self.folded)

    @invariant()
    def positions(self) -> None:
        """Both have seen as many events."""
        assert self.model.position == self.folded.position


TestLockStep = LockStep.TestCase
TestLockStep.settings = settings(max_examples=max(10, settings().max_examples // 4), stateful_step_count=8)


@given(streams(early_values=True), st.integers(1, 4))
def test_valid_streams(stream: list[dict[str, Any]], every: int) -> None:
    """On valid streams both show the same at every moment."""
    model, state = Model(), EMPTY
    for number, event in enumerate(stream):
        model.observe(event)
        state = fold(state, event)
        if number % every == 0 or number == len(stream) - 1:
            agree(model, state)
