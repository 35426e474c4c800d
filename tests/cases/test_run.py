"""Runs: started, then finished or failed, one after another on a thread (spec: events/lifecycle)."""

from __future__ import annotations

from typing import Any

import pytest

from reducer import EMPTY, TruncatedRun, finish, fold_all, seed
from tests.cases.build import (
    FINISHED,
    IN_RUN,
    RUN,
    STARTED,
    Wire,
    activity,
    after,
    answer,
    both,
    call,
    called,
    codes,
    details,
    finished,
    interrupt,
    interrupted,
    made,
    merged,
    message,
    mused,
    result,
    said,
    seen,
    snapshot,
    started,
    streamed,
    text,
    thought,
)

ERROR: Wire = {"type": "RUN_ERROR", "message": "lost"}
STEP: Wire = {"type": "STEP_STARTED", "stepName": "plan"}
SPAN: Wire = {"type": "REASONING_START", "messageId": "sp"}
SUBAGENT: Wire = {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "scout"}
LEFT_OPEN = [text("START"), thought("START"), call("START"), STEP, SPAN, SUBAGENT]


def runs(*events: Wire, **onto: Any) -> list[Wire]:
    """Return what is told of the runs."""
    return seen(*events, **onto).runs


def statuses(*events: Wire, **onto: Any) -> list[str]:
    """Return how the runs stand."""
    return [run["status"] for run in runs(*events, **onto)]


class TestRunStarted:
    """RUN_STARTED opens a run; an echoed input brings messages, the state and answers to interrupts."""

    def test_opens_a_run(self) -> None:
        """The run and the thread are told, and what else the event says of the run."""
        told = {"parentRunId": "r0", "protocolVersion": "1.1"}
        assert runs({**STARTED, **told}, onto=EMPTY) == [{**RUN, "status": "running", "span": [0, 0], **told}]
        assert seen(STARTED, onto=EMPTY).thread_id == "t"

    def test_runs_follow_one_another(self) -> None:
        """A thread has one run after another, and what they build is one conversation."""
        events = [*said("m1", "one"), FINISHED, {**STARTED, "runId": "r2"}, *said("m2", "two"), finished("r2")]
        assert both(*events) == [message("m1", "one"), message("m2", "two")]
        assert [origin.run_id for origin in seen(*events).origins] == ["r", "r2"]
        assert statuses(*events) == ["finished", "finished"]
        assert codes(*events) == []

    def test_inside_a_run(self) -> None:
        """A run that is still active is truncated, and everything that it had open is closed."""
        events = [*LEFT_OPEN, {**STARTED, "runId": "r2"}]
        assert codes(*events) == ["run-already-active"]
        assert statuses(*events) == ["truncated", "running"]
        assert codes(*events, finished("r2")) == ["run-already-active"]
        assert codes(*events, *LEFT_OPEN) == ["run-already-active"]

    def test_opens_any_stream(self) -> None:
        """Anything else but RUN_ERROR that opens a stream is out of place; that is said once."""
        assert codes(STARTED, onto=EMPTY) == []
        assert codes(STEP, text("START"), STARTED, onto=EMPTY) == ["first-event"]

    def test_a_thread_has_one_id(self) -> None:
        """A run that names another thread is flagged, and the thread's id stands."""
        events = [FINISHED, {**STARTED, "threadId": "t2"}, {**FINISHED, "threadId": "t2"}]
        assert details(*events) == ["'t2' on 't'"]
        assert codes(*events) == ["thread-id-mismatch"]
        assert seen(*events).thread_id == "t"
        assert [run["threadId"] for run in runs(*events)] == ["t", "t2"]

    @pytest.mark.parametrize("version", ["1.1", "1.0", "0.9", "0.0"])
    def test_a_version_that_is_known(self, version: str) -> None:
        """A producer of this version or an earlier one is understood."""
        assert codes({**STARTED, "protocolVersion": version}, onto=EMPTY) == []

    @pytest.mark.parametrize("version", ["1.2", "2.0", "1", "1.1.0", "1.x", "", "1.-1", "\u0661.0", f"1.{'0' * 10}"])
    def test_a_version_that_is_not(self, version: str) -> None:
        """A newer or unreadable version is noted, and the stream is folded all the same."""
        assert codes({**STARTED, "protocolVersion": version}, onto=EMPTY) == ["protocol-version"]

    def test_input_brings_messages(self) -> None:
        """Messages of the input that the thread does not hold are appended, whatever they are."""
        told = [
            message("u", "hi", role="user"),
            message("g", "hm", role="reasoning"),
            message("p", "so", (made("c", "{}"),)),
            answer(error="late"),
            message("a", {"k": 1}, role="activity", activityType="plan"),
        ]
        assert both(started(messages=told), onto=EMPTY) == told

    def test_input_restates_nothing(self) -> None:
        """A message that the thread holds is known by its id and stays as it is."""
        again = [message("m", "other"), answer(), message("u", "new", role="user"), message("u", "twice", role="user")]
        events = [*said("m", "mine"), result(), FINISHED, started("r2", messages=again)]
        assert both(*events) == [message("m", "mine"), answer(), message("u", "new", role="user")]

    def test_input_may_use_the_ids_that_show(self) -> None:
        """An input that a client made of the messages that it was shown brings none of them again."""
        events = [text("START"), text("CONTENT", delta="a"), *mused("g", "hm"), text("CONTENT", delta="b")]
        events += [*called("c1"), *called("c2"), FINISHED]
        shown = streamed(*events)
        assert [one["id"] for one in shown] == ["m", "g", "m#1", "c1"]
        assert streamed(*events, started("r2", messages=shown)) == shown
        merged_too = [message("c1", None, (made("c1"),)), message("c2", None, (made("c2"),))]
        assert streamed(*events, started("r2", messages=merged_too)) == shown

    def test_input_may_use_the_id_of_a_message_beside_another(self) -> None:
        """The message that a call has beside another role's of its id is known by the id that it shows under."""
        events = [*said("c", "hi", role="user"), *called("c"), FINISHED]
        shown = both(*events)
        assert [one["id"] for one in shown] == ["c", "c#assistant"]
        assert both(*events, started("r2", messages=shown)) == shown

    def test_input_brings_what_a_snapshot_dropped(self) -> None:
        """A message that a snapshot dropped while it was open is not there: the input brings it."""
        told = message("m", "hi", role="user")
        assert both(text("START"), snapshot(), started("r2", messages=[told])) == [told]

    def test_a_boundary_ends_groups(self) -> None:
        """Calls without a parent never share a message across the start or the end of a run."""
        told = message("u", "hi", role="user")
        events = [*called("c"), FINISHED, started("r2", messages=[told]), *called("d")]
        assert both(*events) == [message("c", None, (made("c"),)), told, message("d", None, (made("d"),))]
        for end in (FINISHED, STARTED, {"type": "RUN_ERROR", "message": "out"}):
            assert [one["id"] for one in streamed(*called("c"), end, *called("d"))] == ["c", "d"]

    def test_input_answers_calls(self) -> None:
        """A tool message of the input answers its call, and the interrupts that concern it."""
        events = [*called("c", parentMessageId="p"), interrupted(interrupt("i", toolCallId="c"))]
        assert seen(*events).pending_tool_calls == ["c"]
        now = seen(*events, started("r2", messages=[answer()]))
        assert (now.pending_tool_calls, now.interrupts) == ([], [])

    def test_input_may_reuse_the_id_of_a_call(self) -> None:
        """Two messages of the input may hold calls of one id: both are kept."""
        told = [message("p", None, (made("c", "1"),)), message("q", None, (made("c", "2"),))]
        assert both(FINISHED, started("r2", messages=told)) == told

    def test_input_may_reuse_the_id_of_an_answered_call(self) -> None:
        """A result of the input stands behind the call that it answered there."""
        told = [message("p", None, (made("c", "1"),)), answer(), message("q", None, (made("c", "2"),))]
        assert both(FINISHED, started("r2", messages=told)) == told

    @pytest.mark.parametrize("state", [{"k": 1}, [], 0], ids=repr)
    def test_input_sets_the_state(self, state: Any) -> None:
        """The input's state is what the run starts from."""
        before: Wire = {"type": "STATE_SNAPSHOT", "snapshot": {"old": 1}}
        assert seen(before, FINISHED, started("r2", state=state)).state == state
        assert seen(before, FINISHED, started("r2")).state == {"old": 1}

    def test_input_without_a_state(self) -> None:
        """A null that producers used to send in the place of an absent state is none."""
        before: Wire = {"type": "STATE_SNAPSHOT", "snapshot": {"old": 1}}
        assert seen(before, FINISHED, started("r2", state=None)).state == {"old": 1}
        assert codes(FINISHED, started("r2", state=None)) == ["null-as-absent"]

    def test_input_answers_interrupts(self) -> None:
        """A resume entry retires the interrupt that it names, however it was answered."""
        raised = interrupted(interrupt("i1"), interrupt("i2"), interrupt("i3"))
        resume = [{"interruptId": "i1", "status": "resolved"}, {"interruptId": "i3", "status": "cancelled"}]
        assert [one["id"] for one in seen(raised, started("r2", resume=resume)).interrupts] == ["i2"]
        assert codes(raised, started("r2", resume=resume)) == []

    def test_input_answers_what_is_not_asked(self) -> None:
        """A resume entry for an interrupt that is not open is noted."""
        resume = [{"interruptId": "gone", "status": "resolved"}]
        assert codes(FINISHED, started("r2", resume=resume)) == ["resume-unknown"]

    def test_input_of_a_stored_thread(self) -> None:
        """On top of `seed` an input brings only what is new."""
        stored = seed([message("u", "hi", role="user")], {"k": 1}, "t")
        told = [message("u", "hi", role="user"), message("u2", "again", role="user")]
        assert both(started(messages=told), onto=stored) == told


class TestRunFinished:
    """RUN_FINISHED closes the run: finished, interrupted or cancelled."""

    @pytest.mark.parametrize(
        ("outcome", "status"),
        [
            (None, "finished"),
            ({"type": "success", "pendingToolCallIds": ["c"]}, "finished"),
            ({"type": "interrupt", "interrupts": [interrupt("i")]}, "interrupted"),
            ({"type": "cancelled"}, "cancelled"),
        ],
        ids=["plain", "success", "interrupt", "cancelled"],
    )
    def test_closes_the_run(self, outcome: Wire | None, status: str) -> None:
        """The outcome decides the status; a plain end is a success."""
        told = {} if outcome is None else {"outcome": outcome}
        assert runs(finished(**told)) == [{**RUN, "status": status, "span": [0, 1], **told}]
        assert codes(finished(**told)) == []
        assert finish(after(finished(**told))).position == 2

    @pytest.mark.parametrize("result", [{"a": [None]}, [1], "text", 0, False], ids=repr)
    def test_keeps_the_result(self, result: Any) -> None:
        """The result is any JSON value."""
        assert runs(finished(result=result))[0]["result"] == result

    def test_ends_the_stream(self) -> None:
        """After it the stream may end; before it a stream that ends is truncated."""
        with pytest.raises(TruncatedRun) as raised:
            finish(after(*LEFT_OPEN))
        assert (raised.value.run_id, raised.value.position) == ("r", 7)
        assert raised.value.open == (
            "call 'c'",
            "reasoning 'g'",
            "span 'sp'",
            "step 'plan'",
            "subagent 's'",
            "text 'm'",
        )
        assert finish(EMPTY) == EMPTY

    def test_closes_what_is_open(self) -> None:
        """What is still open is flagged, all of it in one anomaly, and closed; what it holds stays."""
        events = [*LEFT_OPEN, text("CONTENT", delta="half"), finished()]
        assert details(*events) == ["call 'c', reasoning 'g', span 'sp', step 'plan', subagent 's', text 'm'"]
        assert message("m", "half") in merged(*events)
        assert codes(*events, STARTED, finished()) == ["open-at-run-finish"]

    def test_names_its_run(self) -> None:
        """An end that names another run or thread is flagged, and closes the run that is active."""
        assert codes(finished("r2")) == ["run-id-mismatch"]
        assert codes({**FINISHED, "threadId": "t2"}) == ["thread-id-mismatch"]
        assert statuses({**FINISHED, "threadId": "t2", "runId": "r2"}) == ["finished"]

    def test_needs_a_run(self) -> None:
        """Without an active run it is out of place; a log that begins with it begins in the middle of a run."""
        assert codes(FINISHED, onto=EMPTY) == ["first-event"]
        assert [run["status"] for run in runs(FINISHED, onto=EMPTY)] == ["finished"]
        asked = interrupted(interrupt("i"))
        assert [one["id"] for one in seen(asked, onto=EMPTY).interrupts] == ["i"]
        assert codes(FINISHED, FINISHED) == ["after-run-closed"]
        assert len(runs(FINISHED, FINISHED)) == 1

    @pytest.mark.parametrize(
        "event", [STEP, text("CONTENT", delta="late"), {"type": "CUSTOM", "name": "n", "value": 1}]
    )
    def test_nothing_follows(self, event: Wire) -> None:
        """After a run an event is out of place until the next run starts, and folded as well as can be."""
        assert codes(FINISHED, event)[0] == "after-run-closed"
        assert codes(ERROR, event)[0] == "after-run-closed"
        assert both(FINISHED, text("CONTENT", delta="late")) == [message("m", "late")]

    def test_sums_usage(self) -> None:
        """Usage is summed per provider and model over all runs, failed ones too; counts nobody told stay absent."""
        one = {"provider": "p", "model": "m", "inputTokens": 5, "outputTokens": 2}
        two = {"provider": "p", "model": "m", "inputTokens": 7, "totalTokens": 9}
        other = {"model": "m", "inputTokens": 1}
        events = [finished(usage=[one, other]), STARTED, {**ERROR, "usage": [two]}]
        assert seen(*events).usage == [{**one, "inputTokens": 12, "totalTokens": 9}, other]
        assert [run["usage"] for run in runs(*events)] == [[one, other], [two]]
        assert seen(finished()).usage == []

    def test_opens_interrupts(self) -> None:
        """The interrupts of an outcome are open, in order, kept whole."""
        whole = interrupt("i1", message="Sure?", responseSchema={"type": "object"}, expiresAt="2020-01-01T00:00:00Z")
        assert seen(interrupted(whole, interrupt("i2"))).interrupts == [whole, interrupt("i2")]

    def test_two_interrupts_of_one_id(self) -> None:
        """The second is flagged and stands."""
        twice = interrupted(interrupt("i"), interrupt("i", reason="other"))
        assert codes(twice) == ["duplicate-interrupt-id"]
        assert seen(twice).interrupts == [interrupt("i", reason="other")]

    def test_raised_again(self) -> None:
        """An interrupt that is raised again replaces the one that is open."""
        events = [interrupted(interrupt("i1"), interrupt("i2")), STARTED, interrupted(interrupt("i1", reason="again"))]
        assert seen(*events).interrupts == [interrupt("i2"), interrupt("i1", reason="again")]

    def test_an_interrupt_outlives_its_run(self) -> None:
        """It is open until it is answered: a failure, a cancellation or a run that echoes its input retire none."""
        raised = interrupted(interrupt("i"))
        cancelled = finished(outcome={"type": "cancelled"})
        for later in ([STARTED], [STARTED, ERROR], [STARTED, cancelled], [started(), finished()]):
            assert seen(raised, *later).interrupts == [interrupt("i")]

    def test_a_plain_end_retires_interrupts(self) -> None:
        """Where the log echoes no input, a later run that finishes plainly has answered them."""
        assert seen(interrupted(interrupt("i")), STARTED, finished()).interrupts == []


class TestRunError:
    """RUN_ERROR ends the run as failed."""

    def test_fails_the_run(self) -> None:
        """The message and the code are told; what the run delivered stays."""
        events = [text("START"), text("CONTENT", delta="half"), {**ERROR, "code": "E1"}]
        assert runs(*events) == [{**RUN, "status": "error", "span": [0, 3], "error": {"message": "lost", "code": "E1"}}]
        assert both(*events) == [message("m", "half")]
        assert codes(*events) == []

    def test_without_a_code(self) -> None:
        """A code is optional."""
        assert runs(ERROR)[0]["error"] == {"message": "lost"}

    def test_closes_what_is_open(self) -> None:
        """What is open closes without a word: a failure may come at any time."""
        assert codes(*LEFT_OPEN, ERROR) == []
        assert codes(*LEFT_OPEN, ERROR, STARTED, *LEFT_OPEN) == []
        assert codes(*LEFT_OPEN, ERROR, text("END")) == ["after-run-closed", "text-not-open"]

    def test_opens_a_stream(self) -> None:
        """A stream may be a failure and nothing else: a run without an id."""
        assert runs(ERROR, onto=EMPTY) == [
            {"runId": None, "threadId": None, "status": "error", "span": [0, 0], "error": {"message": "lost"}}
        ]
        assert codes(ERROR, onto=EMPTY) == []
        assert codes(STEP, ERROR, onto=EMPTY) == ["first-event"]

    def test_on_a_stored_thread(self) -> None:
        """On a thread whose id is known the run without an id is that thread's."""
        assert runs(ERROR, onto=seed(thread_id="t"))[0]["threadId"] == "t"

    @pytest.mark.parametrize(
        "ended", [finished(), interrupted(interrupt("i")), finished(outcome={"type": "cancelled"})]
    )
    def test_after_the_end(self, ended: Wire) -> None:
        """A failure after the end turns that run into a failed one."""
        assert statuses(ended, ERROR) == ["error"]
        assert codes(ended, ERROR) == []

    def test_after_the_end_with_usage(self) -> None:
        """Usage that the end told stands, unless the failure tells its own."""
        used = {"model": "m", "inputTokens": 5}
        assert seen(finished(usage=[used]), ERROR).usage == [used]
        assert seen(finished(usage=[used]), {**ERROR, "usage": [{"inputTokens": 1}]}).usage == [{"inputTokens": 1}]

    def test_twice(self) -> None:
        """A second failure of one run is out of place and changes nothing."""
        assert codes(ERROR, {**ERROR, "message": "again"}) == ["after-run-closed"]
        assert runs(ERROR, {**ERROR, "message": "again"})[0]["error"] == {"message": "lost"}

    def test_leaves_interrupts_open(self) -> None:
        """What an earlier run asked is still to be answered."""
        assert seen(interrupted(interrupt("i")), STARTED, ERROR).interrupts == [interrupt("i")]

    def test_the_next_run_starts_afresh(self) -> None:
        """A run after a failure is a run like any other."""
        events = [text("START"), ERROR, {**STARTED, "runId": "r2"}, activity(), finished("r2")]
        assert codes(*events) == []
        assert fold_all(IN_RUN, events).session.runs[-1].status == "finished"
