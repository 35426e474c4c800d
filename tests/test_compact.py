"""Compaction: a shorter log that says the same, to this library and to the reference client."""

from __future__ import annotations

import sys
from functools import reduce
from types import FrameType
from typing import Any

import pytest
from ag_ui.core import BaseEvent
from hypothesis import example, given
from hypothesis import strategies as st

from reducer import EMPTY, MalformedEvent, State, compact, decode, fold_strict, project
from reducer._laws.judging import apart_from_positions
from reducer.laws import compaction
from reducer.strategies import broken_streams, events, streams
from tests.reference_client import ReferenceClient
from tests.test_laws import foldable
from tests.test_replay import (
    ALL,
    ANY,
    CALL,
    FAILURE,
    FINISH,
    HOLDER,
    START,
    call,
    drawn,
    folded,
    plain,
    restated,
    result,
    text,
    wired,
)

Stream = list[dict[str, Any]]
PLACES = st.integers(0, 200)


def shown(stream: list[Any], state: State = EMPTY) -> dict[str, Any]:
    """Return what both layouts show after the stream."""
    return apart_from_positions(folded(stream, state))


def check(stream: Stream, place: int, *, restate: bool) -> None:
    """Hold the law against a stream that is cut somewhere."""
    compaction(stream, at=[place % (len(stream) + 1)], restate=restate)


def chunk(message_id: str, delta: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a chunk of a text message."""
    said = {} if delta is None else {"delta": delta}
    return {"type": "TEXT_MESSAGE_CHUNK", "messageId": message_id, **said, **more}


ACTIVITY = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan", "content": {"n": 1}}
MORE = {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan"}
VALUE = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m", "encryptedValue": "v"}

# The state snapshots of two lanes become one in no lane, which ends the parent agent's chunk stream.
STATES = [{"type": "STATE_SNAPSHOT", "snapshot": [number], "subagentRunId": "s"} for number in (1, 2)]
CUT_TEXT = [START, text("m")[0], call("c", "n")[0], text("m", "hi")[1], *STATES, text("m")[1]]
# A chunk may lack what a start needs.
NAMELESS: dict[str, Any] = {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "delta": "{}"}
# The stream that the second chunk opens has a name, which the rest of it may repeat.
NAMED = [
    START,
    chunk("m", name="Ada"),
    result("x", "c"),
    chunk("m", "a", name="Ada"),
    chunk("m", "b", name="Ada"),
    FINISH,
]
# A snapshot that goes leaves one segment where there were two.
SNAPSHOTS = [START, ACTIVITY, STATES[0], restated(), STATES[1], *text("m"), FINISH]
# A result that came before its call does not answer it.
RESULT_FIRST = [START, result("x", "c"), *call("c", "m"), *text("n", "hi", "so"), FINISH]


class TestCompaction:
    """`compact(log)` and any rest project as the log and that rest do, positions aside; again, it changes nothing."""

    @given(ANY, PLACES)
    @example(CUT_TEXT, 7)
    @example(NAMED, 4)
    @example(SNAPSHOTS, 8)
    @example(RESULT_FIRST, 8)
    def test_compaction(self, stream: Stream, place: int) -> None:
        """The law, in both layouts, for messages, state, interrupts, calls, runs and usage, wherever the log stops."""
        check(stream, place, restate=True)

    @given(ANY, PLACES)
    @example(CUT_TEXT, 7)
    @example(NAMED, 4)
    def test_without_restating(self, stream: Stream, place: int) -> None:
        """The law holds where no snapshot is made."""
        check(stream, place, restate=False)

    @given(st.one_of(broken_streams(), events(max_size=20)), PLACES, st.booleans())
    @example(
        [START, NAMELESS, {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "", "subagentRunId": "s"}], 3, False
    )
    def test_whatever_comes(self, stream: Stream, place: int, restate: bool) -> None:  # noqa: FBT001
        """The law holds for streams that break the protocol, but for ids that the fold makes of positions."""
        check(foldable(stream), place, restate=restate)

    @given(streams(**ALL), PLACES)
    @example(NAMED, 4)
    def test_valid(self, stream: Stream, place: int) -> None:
        """What was valid stays valid, as it is and with any rest, and leaves open what was open."""
        cut = place % (len(stream) + 1)
        shorter = compact(stream[:cut])
        reduce(fold_strict, [*shorter, *stream[cut:]], EMPTY)
        assert set(folded(shorter).live) == set(folded(stream[:cut]).live)

    @given(streams(**ALL), PLACES, PLACES)
    def test_before(self, stream: Stream, first: int, second: int) -> None:
        """A later part of a log is compacted in the light of the state in front of it."""
        one, other = sorted((first % (len(stream) + 1), second % (len(stream) + 1)))
        before = folded(stream[:one])
        shorter = compact(stream[one:other], before=before)
        assert len(shorter) <= other - one
        assert shown([*shorter, *stream[other:]], before) == shown(stream)

    @pytest.mark.slow
    def test_reference(self, reference: ReferenceClient) -> None:
        """The reference client accepts what it accepted, and holds the same messages, state and interrupts."""
        cases = [
            (stream, cut)
            for stream in drawn(100, streams())
            for cut in (len(stream), len(stream) // 2, len(stream) // 3)
        ]
        whole = reference.replay([stream for stream, _ in cases])
        shorter = reference.replay([[*wired(compact(stream[:cut])), *stream[cut:]] for stream, cut in cases])
        for expected, actual, case in zip(whole, shorter, cases, strict=True):
            assert actual.accepted, (actual.error, case)
            assert plain(actual.messages) == plain(expected.messages), case
            assert (actual.state, actual.interrupts) == (expected.state, expected.interrupts), case
            assert (actual.truncated, actual.run_error) == (expected.truncated, expected.run_error), case


def chat(turns: int) -> Stream:
    """Return the log that the figures are about: turns of reasoning, a text and two calls with their results."""
    stream: Stream = [START]
    for turn in range(turns):
        thought = [{**event, "messageId": f"g{turn}"} for event in text("", *["abcd"] * 20)]
        thought = [{**event, "type": event["type"].replace("TEXT", "REASONING")} for event in thought]
        span = {"messageId": f"g{turn}"}
        stream += [{"type": "REASONING_START", **span}, {**thought[0], "role": "reasoning"}, *thought[1:]]
        stream += [{"type": "REASONING_END", **span}, *text(f"m{turn}", *["abcd"] * 60)]
        for number in range(2):
            name = f"c{turn}.{number}"
            start, end = call(name, f"m{turn}")
            arguments = {"type": "TOOL_CALL_ARGS", "toolCallId": name, "delta": '{"a"'}
            stream += [start, *[arguments] * 10, end, result(f"r{name}", name)]
    return [*stream, FINISH]


class TestLength:
    """How much shorter logs get."""

    def test_chat(self) -> None:
        """A finished chat is told by one snapshot: at least 20 times fewer events, however long it was."""
        for turns in (2, 40):
            stream = chat(turns)
            assert [event["type"] for event in wired(compact(stream))] == [
                "RUN_STARTED",
                "MESSAGES_SNAPSHOT",
                "RUN_FINISHED",
            ]
            assert shown(compact(stream)) == shown(stream)

    def test_unfinished_chat(self) -> None:
        """Where it goes on, all but what is current is told by the snapshot."""
        stream = chat(40)[:-3]
        shorter = compact(stream)
        assert 20 * len(shorter) <= len(stream)
        assert shown([*shorter, *chat(40)[-3:]]) == shown(chat(40))

    def test_without_restating(self) -> None:
        """Without the snapshot a message, a call or a result is one event each."""
        assert len(compact(chat(40), restate=False)) == 2 + 40 * 6

    def test_runs(self) -> None:
        """All runs are told, each as it ended, and what is settled stands in the first of them."""
        usage = {"usage": [{"model": "x", "inputTokens": 1}]}
        ends = [{**FINISH, **usage}, FAILURE, {**FINISH, "outcome": {"type": "cancelled"}, "result": 1}]
        stream: Stream = []
        for number, end in enumerate(ends):
            user = {"id": f"u{number}", "role": "user", "content": "hi"}
            echo = {"threadId": "t", "runId": "r", "messages": [user]}
            stream += [{**START, "input": echo}, *text(f"m{number}", "a", "b"), *call(f"c{number}"), end]
        shorter = compact(stream)
        assert [event["type"] for event in wired(shorter)].count("MESSAGES_SNAPSHOT") == 1
        assert len(shorter) == 7
        assert shown(shorter) == shown(stream)
        apart = compact(stream, restate=False)
        origins = [origin.run_id for origin in project(folded(apart)).origins]
        assert origins == [origin.run_id for origin in project(folded(stream)).origins]

    def test_text_behind_calls(self) -> None:
        """A message that holds calls and goes on with a row of text is more than a snapshot can say."""
        stream = [START, *text("n", "a"), *call("c", "m"), result("x", "c"), *text("m", "so"), FINISH]
        rest = [START, *text("m", "b"), FINISH]
        assert shown([*compact(stream), *rest]) == shown([*stream, *rest])
        assert "MESSAGES_SNAPSHOT" not in [event["type"] for event in wired(compact(stream))]
        # Without a word of its own behind its calls it is all that a snapshot says.
        silent = [*stream[:-4], *text("m"), FINISH]
        assert shown([*compact(silent), *rest]) == shown([*silent, *rest])
        assert len(compact(silent)) == 3

    def test_an_end_before_anything_else(self) -> None:
        """What an end tells of a message that has yet to open stays."""
        stream = [START, *call("c", "m"), {"type": "TEXT_MESSAGE_END", "messageId": "m", "metadata": {"k": 1}}]
        stream += [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "so"}, FINISH]
        assert shown(compact(stream)) == shown(stream)
        assert project(folded(stream)).messages[0]["metadata"] == {"k": 1}

    def test_a_run_that_is_broken_off(self) -> None:
        """Where a run was cut off by the next, what it left has yet to find its place, and nothing is restated."""
        stream = [START, *text("m", "a"), *call("c"), result("x", "c"), {**START, "runId": "r2"}, FINISH]
        assert "MESSAGES_SNAPSHOT" not in [event["type"] for event in wired(compact(stream))]


class Counter:
    """Counts the instructions that the interpreter executes."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, frame: FrameType, what: str, _: Any) -> Counter:
        """Count one."""
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self.count += what == "opcode"
        return self


@pytest.mark.parametrize("per_turn", [False, True], ids=["one run", "a run each turn"])
def test_linear(per_turn: bool) -> None:  # noqa: FBT001
    """Work per event does not grow with the log, be it one long run or many."""
    costs = []
    for turns in (8, 32):
        stream = chat(turns)
        if per_turn:
            boundary = [FINISH, START]
            stream = [
                one
                for event in stream
                for one in ([event, *boundary] if event["type"] == "TEXT_MESSAGE_END" else [event])
            ]
        log, counter, before = [decode(event) for event in stream], Counter(), sys.gettrace()
        sys.settrace(counter)
        try:
            compact(log)
        finally:
            sys.settrace(before)
        costs.append(counter.count / len(log))
    assert costs[1] < 1.2 * costs[0]


class TestParts:
    """What becomes of each family of events, by example."""

    def test_message(self) -> None:
        """A message is one chunk with its opener's fields, its text, all its metadata and its start's time."""
        start, *rest = text("m", "a", "\ud83d", "\ude80")
        rest[-1]["metadata"] = {"b": 2}
        stream = [START, {**start, "name": "Ada", "metadata": {"a": 1, "b": 1}, "timestamp": 7}, *rest, FINISH]
        expected = chunk("m", "a\U0001f680", name="Ada", metadata={"a": 1, "b": 2}, timestamp=7)
        assert wired(compact(stream)) == [START, expected, FINISH]

    def test_empty_message(self) -> None:
        """Whether content came, be it empty, is told."""
        assert wired(compact([START, *text("m"), FINISH], restate=False))[1] == chunk("m")
        assert wired(compact([START, *text("m", ""), FINISH], restate=False))[1] == chunk("m", "")

    def test_single_events(self) -> None:
        """An event that has nothing to be joined with stays as it is, raw event and all."""
        raw = {"type": "RAW", "event": {"a": 1}}
        stream = [START, raw, {**chunk("m", "a"), "rawEvent": {"x": 1}}, {"type": "CUSTOM", "name": "n", "value": None}]
        assert wired(compact(stream)) == stream

    def test_unknown_events(self) -> None:
        """What nobody knows is not lost: it may be known to a later version."""
        unknown = {"type": "FROM_THE_FUTURE", "messageId": "m"}
        assert compact([START, *text("m", "a"), unknown, FINISH])[2] == unknown

    def test_forgiven_events(self) -> None:
        """What the fold forgives stays, and what it does not is refused."""
        slip = {"type": "REASONING_ENCRYPTED_VALUE", "entityId": "m", "encryptedValue": "v"}
        assert len(compact([START, *text("m", "a"), slip, FINISH])) == 4
        with pytest.raises(MalformedEvent):
            compact([START, {"type": "STEP_STARTED"}])

    def test_results(self) -> None:
        """A result that came twice stands once, as it came last, with the metadata of both."""
        first, second = {**result("x", "c"), "metadata": {"a": 1}}, {**result("x", "c"), "content": "redone"}
        [_, told_once, _] = wired(compact([START, first, {**second, "metadata": {"b": 2}}, FINISH], restate=False))
        assert told_once == {**second, "metadata": {"a": 1, "b": 2}}
        [_, again, _] = wired(compact([START, result("x", "c"), second, FINISH], restate=False))
        assert again == second

    def test_activities(self) -> None:
        """An activity is told as it is at the end, its metadata with it; one that nothing created is not told."""
        grown = {**MORE, "patch": [{"op": "replace", "path": "/n", "value": 2}], "metadata": {"a": 1}}
        lost = {**MORE, "messageId": "nobody", "patch": []}
        [_, activity, _] = wired(
            compact([START, {**ACTIVITY, "subagentRunId": "s"}, grown, lost, FINISH], restate=False)
        )
        assert activity == {**ACTIVITY, "content": {"n": 2}, "metadata": {"a": 1}, "subagentRunId": "s"}

    def test_state(self) -> None:
        """The state is told once: as it is by then, or by all patches in one where that is shorter."""
        big: dict[str, Any] = {"type": "STATE_SNAPSHOT", "snapshot": {"text": "x" * 500, "n": [1, 2.5, None]}}
        patches = [{"type": "STATE_DELTA", "delta": [{"op": "add", "path": f"/{name}", "value": 1}]} for name in "ab"]
        late = {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/nowhere"}]}
        [_, told_once, _] = wired(compact([START, big, *patches, FINISH]))
        assert told_once["snapshot"] == {**big["snapshot"], "a": 1, "b": 1}
        [*_, joined, _] = wired(compact([START, big, FINISH, START, *patches, late, FINISH]))
        assert joined == {"type": "STATE_DELTA", "delta": [*patches[0]["delta"], *patches[1]["delta"]]}
        [_, replaced, _] = wired(compact([START, *patches, FINISH]))
        assert replaced == {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1, "b": 1}}
        assert wired(compact([START, late, late, FINISH])) == [START, FINISH]

    def test_values(self) -> None:
        """Of encrypted values for one thing the last stays; one for a call stays that call's when its id is reused."""
        stream = [START, *text("m", "a"), VALUE, {**VALUE, "encryptedValue": "w"}, FINISH]
        assert wired(compact(stream, restate=False))[2:3] == [{**VALUE, "encryptedValue": "w"}]
        value = {**VALUE, "subtype": "tool-call", "entityId": "c"}
        once = [*call("c", "m"), value, result("x", "c")]
        again = [*call("c", "n"), {**value, "encryptedValue": "w"}]
        assert shown(compact([START, *once, *again, FINISH])) == shown([START, *once, *again, FINISH])

    def test_spans(self) -> None:
        """A span of a run that is over goes, unless it alone says whose a message is; of one that goes on it stays."""
        span = [{"type": f"REASONING_{verb}", "messageId": "g"} for verb in ("START", "END")]
        assert wired(compact([START, *span, FINISH])) == [START, FINISH]
        assert wired(compact([START, *span])) == [START, *span]
        owned = [{**event, "subagentRunId": "s"} for event in span]
        thought = {"type": "REASONING_MESSAGE_CHUNK", "messageId": "g", "delta": "so"}
        value = {**VALUE, "entityId": "g", "subagentRunId": "s"}
        stream = [START, owned[0], thought, owned[1], value, FINISH]
        assert wired(compact(stream, restate=False)) == stream

    def test_thinking(self) -> None:
        """Retired thinking becomes reasoning under the id that the fold gave it."""
        verbs = ("START", "CONTENT", "CONTENT", "END")
        thought = [
            {"type": f"THINKING_TEXT_MESSAGE_{verb}"} | ({"delta": "a"} if verb == "CONTENT" else {}) for verb in verbs
        ]
        stream = [START, {"type": "THINKING_START"}, *thought, {"type": "THINKING_END"}, FINISH]
        expected = {"type": "REASONING_MESSAGE_CHUNK", "messageId": "thinking-2", "delta": "aa"}
        assert wired(compact(stream)) == [START, expected, FINISH]
        assert shown(compact(stream)) == shown(stream)
        loose = [thought[1], {"type": "THINKING_END"}, thought[3]]
        assert shown(compact(loose)) == shown(loose)

    def test_thinking_after_compaction(self) -> None:
        """What is thought later never gets the id of what was thought before, though it stands at its position."""
        thought = [{"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "a"}, {"type": "THINKING_TEXT_MESSAGE_END"}]
        stream = [START, *text("m", "a"), {"type": "RAW", "event": 1}, *thought, FINISH]
        rest = [START, *thought, FINISH]
        messages = project(folded([*compact(stream), *rest])).messages
        assert [message["content"] for message in messages] == ["a", "a", "a"]

    def test_reopened(self) -> None:
        """What a segment reopens, renames or continues of an earlier one is told in that segment."""
        again = [
            {**call("c", "m")[0], "toolCallName": "g"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"},
        ]
        stream = [
            START,
            *call("c", "m"),
            FINISH,
            {**START, "runId": "r2"},
            *again,
            call("c")[1],
            {**FINISH, "runId": "r2"},
        ]
        shorter = wired(compact(stream, restate=False))
        assert shorter[4]["toolCallName"] == "g"
        assert shown(shorter) == shown(stream)

    def test_over_a_snapshot(self) -> None:
        """What is open when a snapshot comes is open behind it, in the explicit spelling."""
        told_call = {**CALL, "function": {"name": "f", "arguments": "{}"}}
        opening = [START, *text("m", "a")[:2], call("c", "m")[0]]
        rest = [{"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"}, call("c")[1], text("m")[1], FINISH]
        stream = [*opening, restated({**HOLDER, "content": "a", "toolCalls": [told_call]}), *rest]
        shorter = wired(compact(stream, restate=False))
        assert [event["type"] for event in shorter[1:4]] == [
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TOOL_CALL_START",
        ]
        assert shown(shorter) == shown(stream)


class TestObjects:
    """Events come out as they go out everywhere."""

    def test_objects(self) -> None:
        """Whatever the log was given as, the result is made of objects of the SDK."""
        for log in (chat(2), [decode(event) for event in chat(2)], compact(chat(2), restate=False)):
            assert all(isinstance(event, BaseEvent) for event in compact(log))

    def test_mixed(self) -> None:
        """A compacted log goes on as wire forms, and compacts again."""
        shorter = compact([*compact(chat(1)), *text("more", "a", "b")])
        assert shown(shorter) == shown([*chat(1), *text("more", "a", "b")])

    def test_nothing(self) -> None:
        """Nothing is nothing, and an iterator is read once."""
        assert compact([]) == []
        assert compact(iter([START, *text("m", "a"), FINISH])) == compact([START, *text("m", "a"), FINISH])
