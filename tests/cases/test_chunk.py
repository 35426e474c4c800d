"""Chunks: start, content and end in one spelling, a stream to a lane (spec: basic/patterns/streaming)."""

from __future__ import annotations

import pytest

from reducer import EMPTY, seed
from reducer._schema import EVENTS
from reducer._table import CASES
from tests.cases.build import (
    FINISHED,
    STARTED,
    Wire,
    activity,
    answer,
    both,
    call,
    codes,
    details,
    made,
    message,
    mused,
    result,
    said,
    seen,
    snapshot,
    streamed,
    text,
    thought,
)
from tests.wire_samples import events as samples

STEP: Wire = {"type": "STEP_STARTED", "stepName": "plan"}


LANE: Wire = {"subagentRunId": "s"}
ASIDE = {"RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"}
"""The events that stand aside from the assembly of chunks."""


def followed_by(kind: str) -> list[Wire]:
    """Return an event of the type, of the lane where such an event is of one, and what it needs before it."""
    wanted = {**samples(kind)[0], **LANE, "messageId": "other", "toolCallId": "other", "toolCallName": "find"}
    event = {field: value for field, value in wanted.items() if field in EVENTS[kind].fields}
    scout: Wire = {"type": "SUBAGENT_STARTED", **LANE, "name": "scout"}
    return [scout, event] if kind in {"SUBAGENT_FINISHED", "SUBAGENT_ERROR"} else [event]


def more(delta: str, **fields: str) -> Wire:
    """Return a text chunk without an id."""
    return text("CHUNK", None, delta=delta, **fields)


class TestTextMessageChunk:
    """TEXT_MESSAGE_CHUNK opens or continues a text message."""

    def test_opens_and_continues(self) -> None:
        """The first chunk of an id opens the message; those without an id, or with the same one, continue it."""
        events = [text("CHUNK", role="user", name="Ada", delta="a"), more("b"), text("CHUNK", delta="c")]
        assert both(*events) == [message("m", "abc", role="user", name="Ada")]
        assert codes(*events, FINISHED) == []

    def test_is_a_triad_in_another_spelling(self) -> None:
        """Chunks build what start, content and end build."""
        assert both(text("CHUNK", delta="a"), more("b"), FINISHED) == both(*said("m", "a", "b"), FINISHED)

    def test_another_id_ends_the_stream(self) -> None:
        """A chunk of another id ends the lane's stream and opens the next."""
        assert both(text("CHUNK", "m1", delta="a"), text("CHUNK", "m2", delta="b"), more("c")) == [
            message("m1", "a"),
            message("m2", "bc"),
        ]

    def test_opens_without_a_delta(self) -> None:
        """A chunk may open a message without saying anything."""
        assert streamed(text("CHUNK"), FINISHED) == []
        assert both(text("CHUNK"), more("hi")) == [message("m", "hi")]

    @pytest.mark.parametrize("empty", [{}, {"rawEvent": 1}, {"metadata": {"k": 1}}], ids=repr)
    def test_continues_without_a_delta(self, empty: Wire) -> None:
        """A chunk may carry metadata alone, such as a reason to finish."""
        events = [text("CHUNK", delta="hi"), text("CHUNK", None, **empty)]
        metadata = {"metadata": empty["metadata"]} if "metadata" in empty else {}
        assert both(*events) == [message("m", "hi", **metadata)]
        assert codes(*events, FINISHED) == []
        assert seen(*events).origins[0].span == (1, 2 if empty else 1)

    def test_metadata_of_the_first_chunk(self) -> None:
        """A first chunk with metadata and no delta opens the message with it."""
        assert both(text("CHUNK", metadata={"k": 1}), more("hi")) == [message("m", "hi", metadata={"k": 1})]

    def test_opens_a_closed_message_again(self) -> None:
        """A chunk for a message that has ended continues it."""
        assert both(*said("m", "a"), text("CHUNK", delta="b")) == [message("m", "ab")]
        assert codes(*said("m", "a"), text("CHUNK", delta="b"), FINISHED) == []

    def test_of_a_message_that_a_start_opened(self) -> None:
        """A chunk that opens what is open already is flagged, and appended."""
        events = [text("START"), text("CHUNK", delta="hi")]
        assert both(*events) == [message("m", "hi")]
        assert codes(*events) == ["text-already-open"]

    def test_repeats_what_the_first_one_said(self) -> None:
        """A continuation may repeat the opener's fields with the same values, an absent role being the assistant's."""
        opener = text("CHUNK", name="Ada", delta="a")
        assert codes(opener, text("CHUNK", role="assistant", name="Ada", delta="b")) == []

    @pytest.mark.parametrize("field", [{"role": "user"}, {"name": "Bob"}], ids=repr)
    def test_says_something_else(self, field: Wire) -> None:
        """A field with another value is flagged, and what was established stands."""
        events = [text("CHUNK", delta="a"), text("CHUNK", None, delta="b", **field)]
        assert both(*events) == [message("m", "ab")]
        assert codes(*events) == ["chunk-conflict"]

    def test_without_an_id(self) -> None:
        """A first chunk without an id is flagged, and kept under an id made of its position."""
        assert both(more("a"), more("b")) == [message("chunk-1", "ab")]
        assert codes(more("a"), more("b"), FINISHED) == ["chunk-without-id"]
        assert details(more("a")) == ["kept as 'chunk-1'"]

    def test_without_an_id_on_a_stored_thread(self) -> None:
        """The made id is never one that the thread has already."""
        stored = seed([message("chunk-1", "old"), message("chunk-1'", "older")], thread_id="t")
        assert both(STARTED, more("a"), more("b"), onto=stored)[-1] == message("chunk-1''", "ab")

    def test_lanes_have_streams_of_their_own(self) -> None:
        """Two owners' streams interleave; the tag, or the id, says whose a chunk is."""
        own, other = text("CHUNK", "m1", delta="a"), text("CHUNK", "m2", delta="x", subagentRunId="s")
        events = [own, other, more("b"), more("y", subagentRunId="s"), text("CHUNK", "m2", delta="z")]
        assert both(*events) == [message("m1", "ab"), message("m2", "xyz", subagentRunId="s")]
        assert codes(*events, FINISHED) == []

    def test_belongs_to_the_only_one(self) -> None:
        """A bare chunk is the only stream's of its kind, whoever owns it."""
        other = text("CHUNK", "m2", delta="x", subagentRunId="s")
        assert both(other, more("y")) == [message("m2", "xy", subagentRunId="s")]
        assert codes(thought("CHUNK", delta="hm"), other, more("y")) == []

    def test_belongs_to_the_parent_agent_first(self) -> None:
        """Where the parent agent has a stream of the kind a bare chunk is its."""
        events = [text("CHUNK", "m2", delta="x", subagentRunId="s"), text("CHUNK", "m1", delta="a"), more("b")]
        assert both(*events)[1] == message("m1", "ab")

    def test_could_be_several_lanes(self) -> None:
        """A bare chunk that several lanes could own is flagged, and goes to the one that spoke last."""
        lanes = [text("CHUNK", f"m{name}", delta=name, subagentRunId=name) for name in "12"]
        back = text("CHUNK", None, delta="1", subagentRunId="1")
        assert [one["content"] for one in both(*lanes, more("x"))] == ["1", "2x"]
        assert [one["content"] for one in both(*lanes, back, more("x"))] == ["11x", "2"]
        assert details(*lanes, more("x")) == ["2 lanes could own it"]
        assert codes(*lanes, more("x"), FINISHED) == ["chunk-ambiguous"]

    def test_could_be_several_lanes_but_not_the_last(self) -> None:
        """Where the lane that spoke last has closed its stream the chunk is nobody's, and the parent agent's."""
        lanes = [text("CHUNK", f"m{name}", delta=name, subagentRunId=name) for name in "123"]
        events = [*lanes, {**STEP, "subagentRunId": "3"}, more("x")]
        assert codes(*events) == ["chunk-ambiguous", "chunk-without-id"]
        assert both(*events)[-1] == message("chunk-5", "x")

    def test_could_be_several_lanes_but_the_last_speaks_otherwise(self) -> None:
        """The same where that lane streams another kind by now, which goes on."""
        lanes = [text("CHUNK", f"m{name}", delta=name, subagentRunId=name) for name in "123"]
        hm, on = thought("CHUNK", delta="h", subagentRunId="3"), thought("CHUNK", None, delta="m", subagentRunId="3")
        assert codes(*lanes, hm, more("x"), on) == ["chunk-ambiguous", "chunk-without-id"]

    def test_names_another_owner(self) -> None:
        """A chunk whose id is another lane's is flagged, and continues that lane's stream."""
        for owner in ({}, {"subagentRunId": "s1"}):
            events = [text("CHUNK", delta="a", **owner), text("CHUNK", delta="b", subagentRunId="s")]
            assert both(*events) == [message("m", "ab", **owner)]
            assert set(codes(*events)) == {"attribution-mismatch"}
            assert codes(events[0], text("CHUNK", subagentRunId="s")) == ["attribution-mismatch"]

    def test_names_another_owner_once(self) -> None:
        """One slip is one anomaly."""
        for slip in (text("CHUNK", delta="b", subagentRunId="s"), text("CHUNK", subagentRunId="s")):
            assert codes(text("CHUNK", delta="a"), slip) == ["attribution-mismatch"]

    @pytest.mark.parametrize("kind", sorted({*CASES} - ASIDE - {"TEXT_MESSAGE_CHUNK"}))
    def test_ends_with_the_lanes_next_event(self, kind: str) -> None:
        """Whatever else happens in the lane ends its stream, as the end event that is never sent would."""
        *before, event = followed_by(kind)
        assert "chunk-without-id" in codes(*before, text("CHUNK", delta="a", **LANE), event, more("b", **LANE))

    @pytest.mark.parametrize("kind", sorted(ASIDE))
    def test_goes_on_beside_what_stands_aside(self, kind: str) -> None:
        """Activities, encrypted values, raw events and the start of another invocation end nothing."""
        *before, event = followed_by(kind)
        assert "chunk-without-id" not in codes(*before, text("CHUNK", delta="a", **LANE), event, more("b", **LANE))

    @pytest.mark.parametrize(
        "event",
        [
            {**STEP, "subagentRunId": "s"},
            text("START", "n", subagentRunId="s"),
            activity(),
            {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "scout"},
            {"type": "RAW", "event": 1},
        ],
        ids=lambda event: str(event["type"]),
    )
    def test_goes_on_after_other_events(self, event: Wire) -> None:
        """What is another lane's, or of no lane, ends nothing."""
        assert codes(text("CHUNK", delta="a"), event, more("b")) == []

    @pytest.mark.parametrize("event", [FINISHED, {"type": "RUN_ERROR", "message": "lost"}, STARTED, snapshot()])
    def test_ends_with_the_run(self, event: Wire) -> None:
        """A run's boundary and a messages snapshot end the streams of all lanes."""
        lanes = [text("CHUNK", f"m{name}", delta=name, subagentRunId=name) for name in "12"]
        state = seen(*lanes, event, more("x")).anomaly_counts
        assert state["chunk-without-id"] == 1
        assert "open-at-run-finish" not in state

    def test_needs_a_run(self) -> None:
        """Before any run it is out of place, and kept."""
        assert both(text("CHUNK", delta="a"), more("b"), onto=EMPTY) == [message("m", "ab")]
        assert codes(text("CHUNK", delta="a"), more("b"), onto=EMPTY) == ["first-event"]


class TestReasoningMessageChunk:
    """REASONING_MESSAGE_CHUNK opens or continues a reasoning message."""

    def test_opens_and_continues(self) -> None:
        """Chunks build what start, content and end build."""
        events = [thought("CHUNK", delta="h"), thought("CHUNK", None, delta="m"), FINISHED]
        assert both(*events) == both(*mused("g", "h", "m"), FINISHED) == [message("g", "hm", role="reasoning")]
        assert codes(*events) == []

    def test_another_kind_ends_the_stream(self) -> None:
        """A lane has one stream, so a chunk of another kind ends it."""
        events = [thought("CHUNK", delta="h"), text("CHUNK", delta="hi"), thought("CHUNK", None, delta="m")]
        assert [one["id"] for one in both(*events)] == ["g", "m", "chunk-3"]
        assert codes(*events) == ["chunk-without-id"]

    def test_continues_without_a_delta(self) -> None:
        """A chunk may carry metadata alone."""
        events = [thought("CHUNK", delta="hm"), thought("CHUNK", None, metadata={"k": 1})]
        assert both(*events) == [message("g", "hm", role="reasoning", metadata={"k": 1})]


class TestToolCallChunk:
    """TOOL_CALL_CHUNK opens or continues a tool call."""

    def test_opens_and_continues(self) -> None:
        """The first chunk tells the name, and may tell the parent; the others add arguments."""
        events = [call("CHUNK", toolCallName="find", parentMessageId="p", delta="{"), call("CHUNK", None, delta="}")]
        assert both(*events) == [message("p", None, (made("c", "{}"),))]
        assert codes(*events, FINISHED) == []

    def test_joins_the_text_before_it(self) -> None:
        """A chunk of a call ends the lane's text stream and may join its message."""
        events = [text("CHUNK", delta="hi"), call("CHUNK", toolCallName="find", parentMessageId="m", delta="{}")]
        assert both(*events, result()) == [message("m", "hi", (made("c", "{}"),)), answer()]
        assert codes(*events, result(), FINISHED) == []

    def test_without_a_name(self) -> None:
        """A first chunk without the tool's name is flagged, and the name is empty."""
        assert both(call("CHUNK", delta="{}")) == [message("c", None, (made("c", "{}", ""),))]
        assert codes(call("CHUNK", delta="{}")) == ["chunk-without-name"]

    def test_without_anything(self) -> None:
        """A chunk that says nothing at all still opens a call."""
        assert codes(call("CHUNK", None)) == ["chunk-without-id", "chunk-without-name"]
        assert both(call("CHUNK", None)) == [message("chunk-1", None, (made("chunk-1", "", ""),))]

    @pytest.mark.parametrize("field", [{"toolCallName": "search"}, {"parentMessageId": "q"}], ids=repr)
    def test_says_something_else(self, field: Wire) -> None:
        """Another name or parent on a continuation is flagged, and what was established stands."""
        events = [call("CHUNK", toolCallName="find", parentMessageId="p", delta="{"), call("CHUNK", delta="}", **field)]
        assert both(*events) == [message("p", None, (made("c", "{}"),))]
        assert codes(*events) == ["chunk-conflict"]

    def test_that_a_snapshot_has_stated(self) -> None:
        """Chunks that repeat the arguments that a snapshot was ahead with append nothing."""
        stated = snapshot(message("p", None, (made("c", '{"n":1}'),)))
        events = [stated, call("CHUNK", toolCallName="find", delta='{"n":'), call("CHUNK", None, delta="1}")]
        assert both(*events) == [message("p", None, (made("c", '{"n":1}'),))]
        assert codes(*events, FINISHED) == []
