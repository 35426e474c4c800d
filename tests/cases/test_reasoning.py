"""Reasoning: spans, messages and encrypted values (spec: events/reasoning)."""

from __future__ import annotations

from typing import Any

import pytest

from reducer import EMPTY, MalformedEvent, fold
from tests.cases.build import (
    FINISHED,
    IN_RUN,
    STARTED,
    Wire,
    activity,
    answer,
    both,
    call,
    called,
    codes,
    details,
    made,
    merged,
    message,
    mused,
    result,
    said,
    seen,
    snapshot,
    streamed,
    text,
    thought,
    value,
)


def span(verb: str, name: str = "sp", /, **fields: Any) -> Wire:
    """Return an event of a reasoning span."""
    return {"type": f"REASONING_{verb}", "messageId": name, **fields}


def reasoning(name: str, content: str, /, **rest: Any) -> Wire:
    """Return a reasoning message."""
    return message(name, content, role="reasoning", **rest)


class TestReasoningStart:
    """REASONING_START opens a span, which brackets messages."""

    def test_builds_nothing(self) -> None:
        """A span shows in no message."""
        assert both(span("START"), span("END")) == []
        assert codes(span("START"), span("END"), FINISHED) == []

    def test_is_open_until_its_end(self) -> None:
        """A span without an end is open when the run finishes."""
        assert details(span("START"), FINISHED) == ["span 'sp'"]

    def test_refuses_one_that_is_open(self) -> None:
        """A span that is open opens no second time."""
        assert codes(span("START"), span("START"), span("END"), FINISHED) == ["span-already-open"]

    def test_may_share_its_id_with_a_message(self) -> None:
        """Spans and messages are separate: one id may be both."""
        assert both(span("START", "g"), *mused("g", "hm"), span("END", "g")) == [reasoning("g", "hm")]
        assert codes(span("START", "g"), *mused("g", "hm"), span("END", "g"), FINISHED) == []

    def test_that_message_is_its_owners(self) -> None:
        """A span and the message under its id are one agent's."""
        assert codes(span("START", "g", subagentRunId="s"), thought("START", subagentRunId="s2")) == [
            "attribution-mismatch"
        ]
        assert codes(thought("START", subagentRunId="s"), span("START", "g", subagentRunId="s2")) == [
            "attribution-mismatch"
        ]
        assert codes(span("START", "g", subagentRunId="s"), thought("START", subagentRunId="s")) == []
        bare = [span("START", "g", subagentRunId="s"), *mused("g", "hm")]
        assert both(*bare) == [reasoning("g", "hm")]
        assert codes(*bare) == []

    def test_needs_a_run(self) -> None:
        """Outside a run it is out of place, and closed by the run's start."""
        assert codes(span("START"), STARTED, FINISHED, onto=EMPTY) == ["first-event"]
        assert codes(span("START"), span("START"), onto=EMPTY) == ["first-event", "span-already-open"]


class TestReasoningEnd:
    """REASONING_END closes the span."""

    def test_closes(self) -> None:
        """A closed span may open again."""
        pair = [span("START"), span("END")]
        assert codes(*pair, *pair, FINISHED) == []

    def test_refuses_one_that_is_not_open(self) -> None:
        """An end without a start changes nothing."""
        assert codes(span("END"), FINISHED) == ["span-not-open"]

    def test_closes_no_message(self) -> None:
        """A message that is open in the span stays open."""
        assert codes(span("START"), thought("START"), span("END"), thought("CONTENT", delta="hm")) == []

    @pytest.mark.parametrize("between", [[], [thought("START", "sp", subagentRunId="s")]], ids=["span", "message"])
    def test_flags_another_owner(self, between: list[Wire]) -> None:
        """An end that names another owner than the span's, or its message's, is flagged, and closes."""
        events = [span("START", subagentRunId="s"), *between, span("END", subagentRunId="s2")]
        assert codes(*events) == ["attribution-mismatch"]
        assert codes(span("START", subagentRunId="s"), *between, span("END")) == []

    def test_a_new_run_tells_owners_anew(self) -> None:
        """Whose an earlier run's message of the id was says nothing about a span of this run."""
        events = [*mused("sp", "hm", subagentRunId="s"), FINISHED, STARTED, span("START", subagentRunId="s2")]
        assert codes(*events, span("END", subagentRunId="s2"), FINISHED) == []

    def test_needs_a_run(self) -> None:
        """Outside a run it is out of place, and judged like any other."""
        assert codes(span("START"), span("END"), onto=EMPTY) == ["first-event"]
        assert codes(span("END"), onto=EMPTY) == ["first-event", "span-not-open"]


class TestReasoningMessageStart:
    """REASONING_MESSAGE_START opens a reasoning message."""

    def test_opens_a_message(self) -> None:
        """The message's role is reasoning, its owner the event's."""
        assert both(*mused("g", "hm", subagentRunId="s")) == [reasoning("g", "hm", subagentRunId="s")]

    def test_knows_a_role_that_is_missing(self) -> None:
        """The role can be only one, so a start without it is flagged and opens."""
        bare: Wire = {"type": "REASONING_MESSAGE_START", "messageId": "g"}
        assert both(bare, thought("CONTENT", delta="hm")) == [reasoning("g", "hm")]
        assert codes(bare) == ["role-missing"]

    def test_an_empty_message_is_a_shell(self) -> None:
        """Nothing to show is not shown as it streamed; the specification's consumer holds an empty message."""
        assert streamed(*mused("g")) == []
        assert merged(*mused("g")) == [reasoning("g", "")]

    def test_again_while_open_is_flagged(self) -> None:
        """A repeated start neither empties nor doubles the message."""
        events = [thought("START"), thought("CONTENT", delta="a"), thought("START"), thought("CONTENT", delta="b")]
        assert both(*events) == [reasoning("g", "ab")]
        assert codes(*events) == ["reasoning-already-open"]

    def test_cuts_text(self) -> None:
        """Text that is under way in the lane goes on behind the reasoning."""
        events = [text("START"), text("CONTENT", delta="a"), *mused("g", "hm"), text("CONTENT", delta="b")]
        assert [shown["id"] for shown in streamed(*events)] == ["m", "g", "m#1"]

    def test_ends_no_tool_call_group(self) -> None:
        """Calls before and after reasoning are one message's, as a model's reply holds them."""
        events = [*called("c1"), *mused("g", "hm"), *called("c2")]
        assert streamed(*events) == [message("c1", None, (made("c1"), made("c2"))), reasoning("g", "hm")]

    def test_keeps_reasoning_of_the_same_lane_current(self) -> None:
        """A kind never cuts itself."""
        events = [thought("START", "g1"), thought("START", "g2"), thought("CONTENT", "g1", delta="a")]
        events += [thought("CONTENT", "g2", delta="b"), thought("CONTENT", "g1", delta="c")]
        assert both(*events) == [reasoning("g1", "ac"), reasoning("g2", "b")]

    def test_shares_an_id_with_text(self) -> None:
        """A reasoning message under the id of a text keeps its own content, under an id made of its kind."""
        assert both(*said("m", "hi"), *mused("m", "hm")) == [message("m", "hi"), reasoning("m#reasoning", "hm")]
        assert codes(*said("m", "hi"), *mused("m", "hm")) == ["shared-id"]

    def test_its_continuations_have_that_id(self) -> None:
        """A continuation's id is made of the id that the first row shows under."""
        events = [*said("m", "hi"), thought("START", "m"), thought("CONTENT", "m", delta="a"), *said("n", "ho")]
        events.append(thought("CONTENT", "m", delta="b"))
        assert [shown["id"] for shown in streamed(*events)] == ["m", "m#reasoning", "n", "m#reasoning#1"]


class TestReasoningMessageContent:
    """REASONING_MESSAGE_CONTENT appends to the message's current row."""

    def test_appends(self) -> None:
        """Deltas are one text, in order."""
        assert both(*mused("g", "h", "", "m")) == [reasoning("g", "hm")]

    def test_opens_what_nothing_opened(self) -> None:
        """Content without a start is flagged and kept."""
        events = [thought("CONTENT", delta="h"), thought("CONTENT", delta="m"), thought("END")]
        assert both(*events) == [reasoning("g", "hm")]
        assert codes(*events) == ["reasoning-not-open"]

    def test_opens_what_was_closed(self) -> None:
        """Content after the end is flagged and appended."""
        assert both(*mused("g", "h"), thought("CONTENT", delta="m")) == [reasoning("g", "hm")]
        assert codes(*mused("g", "h"), thought("CONTENT", delta="m")) == ["reasoning-not-open"]

    @pytest.mark.parametrize(
        "opening", [call("START"), result(), text("CONTENT", delta="hi")], ids=["call", "result", "text"]
    )
    def test_goes_on_behind_what_cut_it(self, opening: Wire) -> None:
        """After another kind has opened in the lane the reasoning goes on in a row of its own."""
        events = [thought("START"), thought("CONTENT", delta="a"), opening, thought("CONTENT", delta="b"), value("g")]
        first, _, last = streamed(*events)
        assert (first, last) == (reasoning("g", "a", encryptedValue="v"), reasoning("g#1", "b"))
        assert reasoning("g", "ab", encryptedValue="v") in merged(*events)

    def test_flags_another_owner(self) -> None:
        """A continuation that names another owner is flagged, and its text is kept."""
        events = [thought("START", subagentRunId="s"), thought("CONTENT", delta="a", subagentRunId="s2")]
        assert both(*events) == [reasoning("g", "a", subagentRunId="s")]
        assert codes(*events) == ["attribution-mismatch"]


class TestReasoningMessageEnd:
    """REASONING_MESSAGE_END closes the message."""

    def test_closes(self) -> None:
        """What the message holds stays, with the metadata that comes with the end."""
        events = [thought("START"), thought("CONTENT", delta="hm"), thought("END", metadata={"k": 1})]
        assert both(*events, FINISHED) == [reasoning("g", "hm", metadata={"k": 1})]
        assert codes(*events, FINISHED) == []

    def test_refuses_what_is_not_open(self) -> None:
        """An end without a start changes nothing."""
        assert both(thought("END")) == []
        assert codes(thought("END")) == ["reasoning-not-open"]


class TestReasoningEncryptedValue:
    """REASONING_ENCRYPTED_VALUE attaches a value to what it names, whenever it comes."""

    @pytest.mark.parametrize(
        "place",
        range(6),
        ids=["before", "opened", "spoken", "ended", "later", "after the run"],
    )
    def test_comes_whenever_it_likes(self, place: int) -> None:
        """Before its message opens, while it is open, after its end, after other output, after the run."""
        events = [*mused("g", "hm"), *said("m", "hi"), FINISHED]
        place = place if place < 4 else 6 if place == 4 else 7
        events.insert(place, value("g", "sealed"))
        assert both(*events) == [reasoning("g", "hm", encryptedValue="sealed"), message("m", "hi")]

    def test_the_last_one_wins(self) -> None:
        """A second value replaces the first, and its type goes with it."""
        events = [*mused("g", "hm"), value("g", "one", encryptedValueType="kind"), value("g", "two")]
        assert both(*events) == [reasoning("g", "hm", encryptedValue="two")]

    def test_claims_a_shell(self) -> None:
        """An empty reasoning message shows once it has a value to keep."""
        assert both(*mused("g"), *said("m", "hi"), value("g")) == [
            reasoning("g", "", encryptedValue="v"),
            message("m", "hi"),
        ]

    def test_waits_for_what_it_names(self) -> None:
        """A value for what is not there yet is kept, noted, and shown nowhere until it is claimed."""
        assert both(value("g")) == []
        assert codes(value("g")) == ["value-unclaimed"]
        assert codes(value("g"), *mused("g", "hm")) == ["value-unclaimed"]

    def test_is_claimed_once(self) -> None:
        """The first that opens under the id claims it."""
        assert both(value("g"), *mused("g", "hm"), *said("g", "hi")) == [
            reasoning("g", "hm", encryptedValue="v"),
            message("g#text", "hi"),
        ]

    def test_is_claimed_by_a_snapshot(self) -> None:
        """A message that a snapshot states claims it too, unless it carries a value of its own."""
        assert both(value("g"), snapshot(reasoning("g", "hm"))) == [reasoning("g", "hm", encryptedValue="v")]
        own = reasoning("g", "hm", encryptedValue="own")
        assert both(value("g"), snapshot(own)) == [own]

    def test_is_older_than_a_snapshots_own(self) -> None:
        """A value that a stated message or call has replaces the one that waited for it: nothing else claims that."""
        own = message("m", "hi", role="user", encryptedValue="own")
        assert both(value("m"), snapshot(own), *called("m"))[1] == message("m#assistant", None, (made("m"),))
        told = message("p", None, (made("c", encryptedValue="own"),))
        assert both(value("c", "v", "tool-call"), snapshot(told), snapshot(), *called("c")) == [
            message("c", None, (made("c"),))
        ]

    def test_names_reasoning_before_text(self) -> None:
        """Under one id reasoning has it before text, text before a result."""
        assert both(*said("m", "hi"), *mused("m", "hm"), value("m"))[1]["encryptedValue"] == "v"
        shown = both(result("c", "m"), *said("m", "hi"), value("m"))
        assert [one.get("encryptedValue") for one in shown] == [None, "v"]

    def test_names_a_result(self) -> None:
        """A tool message may have one."""
        assert both(result(), value("x")) == [answer(encryptedValue="v")]

    def test_names_the_message_of_a_call(self) -> None:
        """A message that a call alone has, in another's row, is made by it: it shows, empty, with the value."""
        events = [*called("b"), *called("c"), value("c")]
        assert codes(*events) == []
        assert streamed(*events) == [
            message("b", None, (made("b"), made("c"))),
            message("c", "", encryptedValue="v"),
        ]
        assert merged(*events)[1] == message("c", None, (made("c"),), encryptedValue="v")

    def test_names_what_a_snapshot_dropped(self) -> None:
        """A message that was dropped while open and has ended is none: the value waits for the next one."""
        events = [text("START"), snapshot(), text("END"), value("m")]
        assert codes(*events) == ["value-unclaimed"]
        assert both(*events, *said("m", "hi")) == [message("m", "hi", encryptedValue="v")]

    def test_names_no_activity(self) -> None:
        """An activity has none: the value waits for a message of another kind."""
        assert codes(activity("m"), value("m")) == ["value-unclaimed"]
        assert both(activity("m"), value("m"), *said("m", "hi"))[1]["encryptedValue"] == "v"

    def test_names_a_tool_call(self) -> None:
        """The subtype says that the id is a call's; a shell that arguments left may have one."""
        sealed = value("c", "v", "tool-call")
        [shown] = both(*called("c"), sealed, value("c", "other"))
        assert shown == message("c", None, (made(encryptedValue="v"),), encryptedValue="other")
        shell = [call("ARGS", delta="1"), sealed, call("START")]
        assert both(*shell) == [message("c", None, (made("c", "1", encryptedValue="v"),))]
        assert codes(sealed) == ["value-unclaimed"]
        assert both(sealed, *called("c")) == [message("c", None, (made(encryptedValue="v"),))]

    def test_needs_its_subtype(self) -> None:
        """A value that does not say what it names is dropped by the fold, and malformed for `decode`."""
        for bare in ({**value("g"), "subtype": None}, {k: v for k, v in value("g").items() if k != "subtype"}):
            state = fold(IN_RUN, bare)
            assert state.session.anomalies.counts == {"subtype-missing": 1}
            assert both(*mused("g", "hm"), onto=state) == [reasoning("g", "hm")]

    def test_is_malformed_otherwise(self) -> None:
        """Any other wrong value is refused, a wrong subtype included."""
        for wrong in ({**value("g"), "subtype": 7}, {**value("g"), "encryptedValue": None}):
            with pytest.raises(MalformedEvent):
                fold(IN_RUN, wrong)

    def test_flags_another_owner(self) -> None:
        """A value that names another owner than its message's is flagged, and attached."""
        events = [*mused("g", "hm"), value("g", subagentRunId="s")]
        assert both(*events) == [reasoning("g", "hm", encryptedValue="v")]
        assert codes(*events) == ["attribution-mismatch"]

    def test_ends_no_chunk_stream(self) -> None:
        """A chunk stream goes on after a value, which is about a message and not of a lane."""
        events = [thought("CHUNK", delta="h"), value("g"), thought("CHUNK", None, delta="m")]
        assert both(*events) == [reasoning("g", "hm", encryptedValue="v")]
        assert seen(*events).anomaly_counts == {}
