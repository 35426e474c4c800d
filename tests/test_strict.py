"""The strict attitude: `fold_strict` is `fold`, and raises where the specification makes the event fatal; `finish`.

Which rules are fatal is the table's to say (`test_rules.py`), what the reference client refuses `test_verdicts.py`'s.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from ag_ui.core import RunStartedEvent, TextMessageContentEvent, TextMessageStartEvent
from hypothesis import given

from reducer import (
    EMPTY,
    MalformedEvent,
    ProtocolViolation,
    ReducerError,
    State,
    TruncatedRun,
    decode,
    finish,
    fold,
    fold_all,
    fold_strict,
    project,
    seed,
)
from reducer._rules import RULES
from reducer.strategies import broken_streams, events, streams

Stream = list[dict[str, Any]]

RUN = {"threadId": "t", "runId": "r"}
STARTED = {"type": "RUN_STARTED", **RUN}
FINISHED = {"type": "RUN_FINISHED", **RUN}
ERROR = {"type": "RUN_ERROR", "message": "unreachable"}
START = {"type": "TEXT_MESSAGE_START", "messageId": "m"}
CONTENT = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hello"}
END = {"type": "TEXT_MESSAGE_END", "messageId": "m"}


def fatal(state: State, before: State) -> list[str]:
    """Return the codes of the fatal anomalies that the event after `before` left in `state`."""
    latest = state.session.anomalies.latest
    return [anomaly.code for anomaly in latest if anomaly.fatal and anomaly.position == before.position]


def violation(stream: Stream, state: State = EMPTY) -> ProtocolViolation:
    """Return what the last event of a stream raises; the others raise nothing."""
    *before, last = stream
    state = reduce(fold_strict, before, state)
    with pytest.raises(ProtocolViolation) as raised:
        fold_strict(state, last)
    return raised.value


class TestFoldStrict:
    """`fold_strict` is `fold`, then raises where the new anomaly is one that the specification calls fatal."""

    @given(streams())
    def test_valid_streams_fold_alike(self, stream: Stream) -> None:
        """A stream that the specification allows raises nothing, gives what `fold` gives, and may end where it ends."""
        strict = reduce(fold_strict, stream, EMPTY)
        assert strict == fold_all(EMPTY, stream)
        assert finish(strict) is strict

    @given(events())
    def test_anything_folds_alike_or_raises(self, stream: Stream) -> None:
        """Event by event, `fold_strict` gives the state of `fold`, or raises because that holds a fatal anomaly."""
        state = EMPTY
        for event in stream:
            after = fold(state, event)
            codes = fatal(after, state)
            if codes:
                with pytest.raises(ProtocolViolation) as raised:
                    fold_strict(state, event)
                assert raised.value.code == codes[0]
            else:
                assert fold_strict(state, event) == after
            state = after

    @given(broken_streams())
    def test_broken_streams_are_refused_by_rule(self, stream: Stream) -> None:
        """What is refused was broken by a rule of the table, at the event's own position, or is malformed."""
        taken: list[State] = [EMPTY]
        refusal: ProtocolViolation | None = None
        try:
            for event in stream:
                taken.append(fold_strict(taken[-1], event))
        except MalformedEvent:
            return
        except ProtocolViolation as error:
            refusal = error
        if refusal is None:
            assert taken[-1] == fold_all(EMPTY, stream)
            return
        assert (refusal.position, refusal.event) == (taken[-1].position, stream[len(taken) - 1]["type"])
        assert (RULES[refusal.code].fatal, RULES[refusal.code].page) == (True, refusal.page)

    def test_facts(self) -> None:
        """A violation tells the rule, the position, the event's type, the page and what happened."""
        found = violation([STARTED, START, END, CONTENT])
        assert found == ProtocolViolation("text-not-open", 3, "TEXT_MESSAGE_CONTENT", "basic/patterns/streaming", "'m'")
        assert str(found) == ("event 3 (TEXT_MESSAGE_CONTENT): 'm' [text-not-open; spec: basic/patterns/streaming]")
        assert isinstance(found, ReducerError)

    def test_the_state_before_stands(self) -> None:
        """A violation leaves the state as it was, and the stream can go on without the event."""
        before = reduce(fold_strict, [STARTED, START], EMPTY)
        with pytest.raises(ProtocolViolation):
            fold_strict(before, START)
        after = reduce(fold_strict, [CONTENT, END, FINISHED], before)
        assert [message["content"] for message in project(after).messages] == ["Hello"]

    def test_every_spelling_of_an_event(self) -> None:
        """SDK objects, wire mappings and decoded events are refused alike."""
        sdk = [RunStartedEvent(thread_id="t", run_id="r"), TextMessageStartEvent(message_id="m", role="assistant")]
        orphan = TextMessageContentEvent(message_id="n", delta="Hello")
        wire = {**CONTENT, "messageId": "n"}
        for event in (orphan, wire, decode(wire)):
            with pytest.raises(ProtocolViolation) as raised:
                fold_strict(fold_all(EMPTY, sdk), event)
            assert (raised.value.code, raised.value.position) == ("text-not-open", 2)

    def test_the_first_fatal_rule_is_told(self) -> None:
        """An event that breaks several rules raises for the first fatal one; `fold` records them all."""
        event = {**CONTENT, "later": 1, "subagentRunId": None}
        assert violation([STARTED, event]).code == "null-attribution"
        recorded = fold_all(EMPTY, [STARTED, event]).session.anomalies.counts
        assert recorded == {"unknown-property": 1, "null-attribution": 1, "text-not-open": 1}

    def test_warnings_do_not_raise(self) -> None:
        """What the specification only warns of is recorded and lets the stream pass."""
        stream: Stream = [
            {**STARTED, "protocolVersion": "99.0", "later": 1},
            {"type": "FROM_LATER"},
            {"type": "THINKING_START"},
            {"type": "THINKING_END"},
            {**START, "role": "narrator", "rawEvent": None},
            END,
            {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/gone"}, {"op": "merge", "path": ""}]},
            {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan", "patch": []},
            {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "gone", "encryptedValue": "v"},
            {**FINISHED, "outcome": {"type": "exploded"}},
        ]
        state = finish(reduce(fold_strict, stream, EMPTY))
        assert state == fold_all(EMPTY, stream)
        codes = {anomaly.code for anomaly in project(state).anomalies}
        assert codes == {
            "protocol-version", "unknown-property", "unknown-event", "retired-shape", "unknown-member",
            "null-as-absent", "patch-failed", "activity-unknown", "value-unclaimed",
        }  # fmt: skip

    def test_many_warnings_hide_no_violation(self) -> None:
        """Details are kept of the first anomalies only, and a violation after them is raised all the same."""
        warned: Stream = [STARTED, *([{"type": "FROM_LATER"}] * 1000)]
        found = violation([*warned, END])
        assert (found.code, found.position) == ("text-not-open", 1001)

    def test_an_earlier_violation_is_not_raised_again(self) -> None:
        """A state that `fold` has brought past a violation can be folded on strictly."""
        lenient = fold_all(EMPTY, [STARTED, CONTENT])
        assert fold_strict(lenient, END) == fold(lenient, END)


class TestOwnership:
    """Ownership is tracked run by run, for each kind of entity (spec: events/subagents)."""

    def test_a_run_starts_with_nobody_on_record(self) -> None:
        """A message that one agent wrote in an earlier run may be continued under another tag."""
        tagged = [{**event, "subagentRunId": "s"} for event in (START, END)]
        assert violation([STARTED, START, END, tagged[0]]).code == "attribution-mismatch"
        reduce(fold_strict, [STARTED, START, END, FINISHED, STARTED, *tagged, FINISHED], EMPTY)

    def test_the_echoed_input_puts_owners_on_record(self) -> None:
        """Messages of the echoed input, and their calls, belong to whom it says, also where the thread has them."""
        function = {"name": "search", "arguments": ""}
        calls = [{"id": "c", "type": "function", "function": function}]
        echo = {**RUN, "messages": [{"id": "m", "role": "assistant", "toolCalls": calls, "subagentRunId": "s"}]}
        call = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "search", "subagentRunId": "other"}
        for thread in (EMPTY, seed(echo["messages"])):
            for event in ({**START, "subagentRunId": "other"}, call):
                assert violation([{**STARTED, "input": echo}, event], thread).code == "attribution-mismatch"
            reduce(fold_strict, [STARTED, {**START, "subagentRunId": "other"}], thread)

    def test_a_snapshot_is_an_authority(self) -> None:
        """A snapshot's owner replaces the one on record; what it drops stays its owner's for the run."""
        snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "assistant", "content": ""}]}
        tagged = {**START, "subagentRunId": "s"}
        assert violation([STARTED, tagged, snapshot, {**CONTENT, "subagentRunId": "s"}]).code == "attribution-mismatch"
        dropped: Stream = [STARTED, START, END, {**snapshot, "messages": []}]
        assert violation([*dropped, tagged]).code == "attribution-mismatch"
        reduce(fold_strict, [*dropped, {**START}], EMPTY)

    def test_a_span_and_its_message_have_one_owner(self) -> None:
        """A span and a reasoning message under one id are one agent's, whichever opens first."""
        span = {"type": "REASONING_START", "messageId": "m"}
        message = {"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning"}
        for first, second in ((span, message), (message, span)):
            other = {**second, "subagentRunId": "s"}
            assert violation([STARTED, first, other]).code == "attribution-mismatch"
            reduce(fold_strict, [STARTED, first, second], EMPTY)

    def test_a_call_inherits(self) -> None:
        """A call without a tag is its parent's owner's, and a tagged one, or one that opens again, has to agree."""
        parent = [STARTED, {**START, "subagentRunId": "s"}]
        call = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "search", "parentMessageId": "m"}
        args = {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"}
        end = {"type": "TOOL_CALL_END", "toolCallId": "c"}
        inherited = [*parent, call, {**args, "subagentRunId": "s"}]
        reduce(fold_strict, inherited, EMPTY)
        assert violation([*parent, call, {**args, "subagentRunId": "other"}]).code == "attribution-mismatch"
        assert violation([*parent, {**call, "subagentRunId": "other"}]).code == "attribution-mismatch"
        alone = {key: value for key, value in call.items() if key != "parentMessageId"}
        assert violation([*parent, alone, end, call]).code == "attribution-mismatch"

    def test_a_message_that_only_calls_have_named_is_nobody_s(self) -> None:
        """Before its text opens, a message takes calls of any owner, and its text belongs to whoever opens it."""
        call = {"type": "TOOL_CALL_START", "toolCallName": "search", "parentMessageId": "m"}
        calls = [{**call, "toolCallId": name, "subagentRunId": name} for name in ("s1", "s2")]
        reduce(fold_strict, [STARTED, *calls, START], EMPTY)

    def test_an_activity_is_its_latest_replacement_s(self) -> None:
        """A snapshot that replaces an activity re-owns it; one that leaves it alone does not."""
        snapshot = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan", "content": {}}
        delta = {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan", "patch": [], "subagentRunId": "s"}
        replaced = {**snapshot, "subagentRunId": "s"}
        reduce(fold_strict, [STARTED, snapshot, replaced, delta], EMPTY)
        kept = {**replaced, "replace": False}
        assert violation([STARTED, snapshot, kept, delta]).code == "attribution-mismatch"
        reduce(fold_strict, [STARTED, snapshot, FINISHED, STARTED, delta], EMPTY)
        reduce(fold_strict, [STARTED, snapshot, FINISHED, STARTED, kept, delta], EMPTY)

    def test_a_value_is_checked_against_what_it_names(self) -> None:
        """An encrypted value may leave its tag out, and has to agree with the message, call or result it names."""
        value = {"type": "REASONING_ENCRYPTED_VALUE", "entityId": "m", "encryptedValue": "v", "subtype": "message"}
        result = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "done"}
        for opener in (START, result):
            reduce(fold_strict, [STARTED, opener, value], EMPTY)
            assert violation([STARTED, opener, {**value, "subagentRunId": "s"}]).code == "attribution-mismatch"
        again = [STARTED, result, FINISHED, STARTED, {**result, "subagentRunId": "s"}]
        reduce(fold_strict, [*again, {**value, "subagentRunId": "s"}], EMPTY)

    def test_a_step_is_closed_by_its_owner(self) -> None:
        """The parent agent and a subagent may have steps of one name open, and each closes its own."""
        step = {"type": "STEP_STARTED", "stepName": "plan"}
        tagged = {**step, "subagentRunId": "s"}
        both: Stream = [STARTED, step, tagged]
        reduce(fold_strict, [*both, *({**one, "type": "STEP_FINISHED"} for one in (tagged, step)), FINISHED], EMPTY)
        assert violation([STARTED, step, {**tagged, "type": "STEP_FINISHED"}]).code == "step-not-open"


class TestChunks:
    """Chunks are judged as the events they stand for (spec: basic/patterns/streaming)."""

    def test_spellings_do_not_mix(self) -> None:
        """The end of a chunk stream whose message an explicit end has closed already is an end too many."""
        chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "Hello", "subagentRunId": "s"}
        assert violation([STARTED, chunk, END, FINISHED]).code == "text-not-open"
        assert violation([STARTED, chunk, {**END, "subagentRunId": "s"}]).code == "text-not-open"

    def test_an_open_call_is_not_started_again(self) -> None:
        """Neither a result nor another parent makes the id of an open call free."""
        call = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "search"}
        result = {"type": "TOOL_CALL_RESULT", "messageId": "t1", "toolCallId": "c", "content": "done"}
        assert violation([STARTED, call, result, {**call, "parentMessageId": "m"}]).code == "call-already-open"


class TestRuns:
    """The boundaries of runs name one thread, and each run's two the same run (spec: basic/run-input)."""

    def test_a_stored_thread_names_the_thread(self) -> None:
        """The first run on a stored thread has to be on that thread."""
        assert violation([STARTED], seed(thread_id="other")).code == "thread-id-mismatch"
        assert fold_strict(seed(thread_id="t"), STARTED).session.thread_id == "t"

    def test_the_finish_names_the_run(self) -> None:
        """RUN_FINISHED carries the run's and the thread's id."""
        assert violation([STARTED, {**FINISHED, "runId": "other"}]).code == "run-id-mismatch"
        assert violation([STARTED, {**FINISHED, "threadId": "other"}]).code == "thread-id-mismatch"

    def test_what_may_follow_a_run(self) -> None:
        """After a run comes another one, or the late failure of one that had finished, and nothing else."""
        for ending in ([FINISHED], [ERROR], [FINISHED, ERROR]):
            closed: Stream = [STARTED, *ending]
            reduce(fold_strict, [*closed, STARTED], EMPTY)
            assert violation([*closed, START]).code == "after-run-closed"
        assert violation([STARTED, ERROR, ERROR]).code == "after-run-closed"
        assert violation([STARTED, FINISHED, FINISHED]).code == "after-run-closed"

    def test_a_stream_may_open_with_a_failure(self) -> None:
        """A run can fail before it begins (spec: events/lifecycle)."""
        assert finish(reduce(fold_strict, [ERROR, STARTED, FINISHED], EMPTY)).position == 3

    def test_all_that_is_open_is_told(self) -> None:
        """RUN_FINISHED with something open names each message, call, span, step and subagent."""
        subagent = {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "researcher"}
        found = violation([
            STARTED,
            START,
            {"type": "REASONING_START", "messageId": "g"},
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "search"},
            {"type": "STEP_STARTED", "stepName": "plan"},
            subagent,
            FINISHED,
        ])  # fmt: skip
        assert (found.code, found.detail) == (
            "open-at-run-finish",
            "call 'c', span 'g', step 'plan', subagent 's', text 'm'",
        )


class TestFinish:
    """`finish` says whether the stream may end where it does (spec: basic/transports)."""

    @pytest.mark.parametrize(
        "ending",
        [
            [FINISHED],
            [ERROR],
            [FINISHED, ERROR],
            [{**FINISHED, "outcome": {"type": "cancelled"}}],
            [{**FINISHED, "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "input"}]}}],
        ],
        ids=["finished", "error", "late error", "cancelled", "interrupted"],
    )
    def test_a_closed_run_may_end_the_stream(self, ending: Stream) -> None:
        """After a run that has ended, however it ended, the state comes back as it is."""
        state = fold_all(EMPTY, [STARTED, *ending])
        assert finish(state) is state

    def test_no_run_is_no_truncated_run(self) -> None:
        """A state without a run comes back as it is."""
        thread = seed([{"id": "m", "role": "user", "content": "hello"}])
        assert finish(EMPTY) is EMPTY
        assert finish(thread) is thread

    def test_truncated(self) -> None:
        """A stream that ends inside a run is refused: the run, how many events there were, what was still open."""
        with pytest.raises(TruncatedRun) as raised:
            finish(fold_all(EMPTY, [STARTED, START, {"type": "STEP_STARTED", "stepName": "plan"}]))
        assert raised.value == TruncatedRun("r", 3, ("step 'plan'", "text 'm'"))
        assert str(raised.value) == (
            "the stream ended after 3 events inside run 'r'; still open: step 'plan', text 'm'"
        )

    def test_a_run_left_for_another_does_not_matter(self) -> None:
        """What counts is the last run: one that was broken off before it was a violation when the next one started."""
        state = fold_all(EMPTY, [STARTED, STARTED, FINISHED])
        assert finish(state) is state
        assert [run["status"] for run in project(state).runs] == ["truncated", "finished"]
