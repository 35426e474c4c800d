"""Steps: one event type a class (spec: events/lifecycle)."""

from __future__ import annotations

from typing import Any

from reducer import EMPTY, finish
from tests.cases.build import FINISHED, STARTED, Wire, after, codes, details, seen


def step(verb: str, name: str = "plan", /, **fields: Any) -> Wire:
    """Return an event of a step."""
    return {"type": f"STEP_{verb}", "stepName": name, **fields}


class TestStepStarted:
    """STEP_STARTED opens a step of its owner's."""

    def test_opens_a_step(self) -> None:
        """A step that has not finished is open when the run finishes."""
        assert details(step("STARTED"), FINISHED) == ["step 'plan'"]

    def test_builds_no_message(self) -> None:
        """Steps show in no message and in no state."""
        shown = seen(step("STARTED"), step("FINISHED"))
        assert (shown.messages, shown.state, shown.anomaly_counts) == ([], {}, {})

    def test_refuses_one_that_is_open(self) -> None:
        """A step that is open opens no second time, so one end closes it."""
        assert codes(step("STARTED"), step("STARTED"), step("FINISHED"), FINISHED) == ["step-already-open"]

    def test_owners_have_steps_of_their_own(self) -> None:
        """Two owners may have steps of one name open at once."""
        own, other = step("STARTED"), step("STARTED", subagentRunId="s")
        assert codes(own, other) == []
        assert codes(own, other, FINISHED) == ["open-at-run-finish"]

    def test_opens_again(self) -> None:
        """A step that has finished may start again."""
        pair = [step("STARTED"), step("FINISHED")]
        assert codes(*pair, *pair, FINISHED) == []

    def test_leaves_no_step_without_a_run(self) -> None:
        """Outside a run a step is out of place, and nothing is open afterwards."""
        assert codes(step("STARTED"), onto=EMPTY) == ["first-event"]
        assert codes(step("STARTED"), STARTED, FINISHED, onto=EMPTY) == ["first-event"]

    def test_is_judged_outside_a_run_too(self) -> None:
        """Before the first run, and after the end of one, steps open and close as they do inside."""
        twice = [step("STARTED"), step("STARTED"), step("FINISHED"), step("FINISHED")]
        assert codes(*twice, onto=EMPTY) == ["first-event", "step-already-open", "step-not-open"]
        late = [code for code in codes(FINISHED, *twice) if code != "after-run-closed"]
        assert late == ["step-already-open", "step-not-open"]

    def test_a_run_leaves_its_steps_behind(self) -> None:
        """The next run starts without the steps that the last one left open."""
        left = [step("STARTED"), FINISHED, STARTED]
        assert codes(*left, step("STARTED")) == ["open-at-run-finish"]


class TestStepFinished:
    """STEP_FINISHED closes its owner's step of that name."""

    def test_closes_a_step(self) -> None:
        """After its end a step is not open."""
        assert finish(after(step("STARTED"), step("FINISHED"), FINISHED)).position == 4
        assert codes(step("STARTED"), step("FINISHED"), FINISHED) == []

    def test_closes_steps_in_any_order(self) -> None:
        """Steps may overlap: they close by name, not by nesting."""
        both = [step("STARTED", "one"), step("STARTED", "two"), step("FINISHED", "one"), step("FINISHED", "two")]
        assert codes(*both, FINISHED) == []

    def test_refuses_one_that_is_not_open(self) -> None:
        """An end for a step that never started changes nothing."""
        assert codes(step("STARTED", "one"), step("FINISHED", "two")) == ["step-not-open"]

    def test_refuses_another_owners_step(self) -> None:
        """A step is closed by its own owner alone."""
        assert codes(step("STARTED"), step("FINISHED", subagentRunId="s")) == ["step-not-open"]

    def test_needs_a_run(self) -> None:
        """Outside a run it is out of place, and judged like any other."""
        assert codes(step("STARTED"), step("FINISHED"), onto=EMPTY) == ["first-event"]
        assert codes(step("FINISHED"), onto=EMPTY) == ["first-event", "step-not-open"]
