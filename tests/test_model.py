"""The fold and the plain model in lock step: whatever comes, both show the same after every event."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from reducer import EMPTY, Layout, Snapshot, fold, project
from reducer.strategies import events, streams
from tests.model import Model

Wire = dict[str, Any]

NAMES = st.sampled_from(("x1", "x2", "x3"))
OWNERS = st.sampled_from((None, "s1"))
DELTAS = st.sampled_from(("", "a", "b"))
VERBS = st.sampled_from(("START", "CONTENT", "END"))
RUN = {"threadId": "t1", "runId": "x1"}

NOTED = {"null-as-absent"}
"""What decoding notes of the form that an event came in, which is nothing that a fold could tell."""


class LockStep(RuleBasedStateMachine):
    """Anything well-formed comes, in no order that anybody promised: few ids, so that most of it collides."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.folded = EMPTY
        self.log: list[Wire] = []

    def come(self, event: Wire) -> None:
        """Fold an event in both, and compare them."""
        self.log.append(event)
        self.model.observe(event)
        self.folded = fold(self.folded, event)
        compare(self.model, project(self.folded), Layout.STREAMED)
        compare(self.model, project(self.folded, Layout.MERGED), Layout.MERGED)

    def told(self, layout: Layout, left_out: int) -> list[Wire]:
        """Return what shows as a producer might state it again: without one message, and without what it cannot."""
        messages = project(self.folded, layout).messages
        said = [one for one in messages if one["role"] == "assistant" or "content" in one]
        return said[:left_out] + said[left_out + 1 :]

    @rule(stream=events(max_size=3))
    def anything(self, stream: list[Wire]) -> None:
        """Events of any type come."""
        for event in stream:
            self.come(event)

    @rule(kind=st.sampled_from(("TEXT", "REASONING")), verb=VERBS, name=NAMES, owner=OWNERS, delta=DELTAS)
    def speaks(self, kind: str, verb: str, name: str, owner: str | None, delta: str) -> None:
        """A message is streamed."""
        fields = {"START": {"role": "reasoning"} if kind == "REASONING" else {}, "CONTENT": {"delta": delta}}
        self.come(some(f"{kind}_MESSAGE_{verb}", messageId=name, subagentRunId=owner, **fields.get(verb, {})))

    @rule(verb=VERBS, name=NAMES, parent=st.none() | NAMES, owner=OWNERS, delta=DELTAS)
    def calls(self, verb: str, name: str, parent: str | None, owner: str | None, delta: str) -> None:
        """A call is streamed."""
        fields: dict[str, Wire] = {
            "START": {"toolCallName": "find", "parentMessageId": parent},
            "CONTENT": {"delta": delta},
        }
        told = fields.get(verb, {})
        self.come(some(f"TOOL_CALL_{verb.replace('CONTENT', 'ARGS')}", toolCallId=name, subagentRunId=owner, **told))

    @rule(name=NAMES, answers=NAMES, owner=OWNERS)
    def answers(self, name: str, answers: str, owner: str | None) -> None:
        """A result comes."""
        self.come(some("TOOL_CALL_RESULT", messageId=name, toolCallId=answers, content="done", subagentRunId=owner))

    @rule(layout=st.sampled_from(Layout), left_out=st.integers(0, 5))
    def restates(self, layout: Layout, left_out: int) -> None:
        """A snapshot restates what shows."""
        self.come(some("MESSAGES_SNAPSHOT", messages=self.told(layout, left_out)))

    @rule(layout=st.sampled_from(Layout), left_out=st.integers(0, 5))
    def begins(self, layout: Layout, left_out: int) -> None:
        """A run starts with what shows in its input."""
        self.come(some("RUN_STARTED", **RUN, input={**RUN, "messages": self.told(layout, left_out)}))

    @rule(back=st.integers(1, 8))
    def repeats(self, back: int) -> None:
        """An event comes once more."""
        for event in self.log[-back:][:1]:
            self.come(event)


def some(kind: str, **fields: Any) -> Wire:
    """Return an event with the fields that are not `None`."""
    return {"type": kind, **{name: value for name, value in fields.items() if value is not None}}


def compare(model: Model, shown: Snapshot, layout: Layout) -> None:
    """Compare what both show."""
    expected = model.project(layout.value)
    for part in ("messages", "state", "interrupts", "pending_tool_calls"):
        assert getattr(shown, part) == expected[part], part
    assert [run["status"] for run in shown.runs] == [run["status"] for run in expected["runs"]]
    counted = {code: count for code, count in shown.anomaly_counts.items() if code not in NOTED}
    assert counted == expected["anomalies"]


TestLockStep = LockStep.TestCase
TestLockStep.settings = settings(stateful_step_count=25)


@given(streams(early_values=True), st.integers(1, 4))
def test_valid_streams(stream: list[Wire], every: int) -> None:
    """On valid streams both show the same at every moment, in both layouts."""
    model, state = Model(), EMPTY
    for number, event in enumerate(stream):
        model.observe(event)
        state = fold(state, event)
        if number % every == 0 or number == len(stream) - 1:
            for layout in Layout:
                compare(model, project(state, layout), layout)
