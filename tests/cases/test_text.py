"""Text messages: start, content, end (spec: events/text-messages)."""

from __future__ import annotations

import pytest

from reducer import EMPTY
from tests.cases.build import (
    FINISHED,
    STARTED,
    Wire,
    activity,
    after,
    both,
    call,
    called,
    codes,
    details,
    finished,
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
    value,
)


class TestTextMessageStart:
    """TEXT_MESSAGE_START opens a text message, or opens it again."""

    def test_opens_a_message(self) -> None:
        """The role, the name and the owner that it tells show on the message; an absent role means assistant."""
        assert both(*said("m", "hi")) == [message("m", "hi")]
        told = {"name": "Ada", "subagentRunId": "s"}
        assert both(text("START", role="user", **told), text("CONTENT", delta="hi")) == [
            message("m", "hi", role="user", **told)
        ]

    def test_an_empty_message_is_a_shell(self) -> None:
        """Nothing to show is not shown as it streamed; the specification's consumer holds an empty message."""
        assert streamed(*said("m")) == []
        assert merged(*said("m")) == [message("m", "")]

    def test_metadata_claims_no_shell(self) -> None:
        """Metadata alone gives a reader nothing to see."""
        assert streamed(text("START", metadata={"k": 1})) == []
        assert merged(text("START", metadata={"k": 1})) == [message("m", "", metadata={"k": 1})]

    def test_a_role_from_later_is_left_out(self) -> None:
        """An unknown role is stripped, so the message is the assistant's."""
        assert both(text("START", role="narrator"), text("CONTENT", delta="hi")) == [message("m", "hi")]
        assert codes(text("START", role="narrator")) == ["unknown-member"]

    def test_again_while_open_changes_metadata_alone(self) -> None:
        """A repeated start is flagged and neither empties nor doubles the message."""
        events = [text("START"), text("CONTENT", delta="he"), text("START", role="user", name="Ada", metadata={"k": 1})]
        events.append(text("CONTENT", delta="llo"))
        assert both(*events) == [message("m", "hello", metadata={"k": 1})]
        assert codes(*events) == ["text-already-open"]

    def test_opens_a_closed_message_again(self) -> None:
        """A closed message goes on where it was; the role, name and owner that were established stand."""
        events = [*said("m", "one", role="system", name="Ada"), *said("m", " two", role="user", name="Bob")]
        assert both(*events) == [message("m", "one two", role="system", name="Ada")]
        assert codes(*events) == []

    def test_to_open_again_cuts_nothing(self) -> None:
        """Only an entity that comes into being cuts: reasoning that is under way goes on in its row."""
        events = [*said("m", "one"), thought("START"), thought("CONTENT", delta="a"), *said("m", "two")]
        events.append(thought("CONTENT", delta="b"))
        assert [shown["id"] for shown in streamed(*events)] == ["m", "g", "m#1"]
        assert streamed(*events)[1]["content"] == "ab"

    def test_cuts_reasoning(self) -> None:
        """Reasoning that is under way in the lane goes on in a row of its own, behind the text."""
        events = [thought("START"), thought("CONTENT", delta="a"), *said("m", "hi"), thought("CONTENT", delta="b")]
        assert [(shown["id"], shown["content"]) for shown in streamed(*events)] == [
            ("g", "a"),
            ("m", "hi"),
            ("g#1", "b"),
        ]
        assert [(shown["id"], shown["content"]) for shown in merged(*events)] == [("g", "ab"), ("m", "hi")]

    def test_cuts_the_tool_call_group(self) -> None:
        """A call without a parent that starts after a text opens a group of its own."""
        events = [*called("c1"), *said("m", "hi"), *called("c2")]
        assert [shown["id"] for shown in streamed(*events)] == ["c1", "m", "c2"]

    def test_cuts_no_text(self) -> None:
        """Two texts that stream at once stay two rows, however they interleave."""
        events = [text("START", "m1"), text("START", "m2")]
        for delta in "abc":
            events += [text("CONTENT", "m1", delta=delta), text("CONTENT", "m2", delta=delta.upper())]
        assert both(*events) == [message("m1", "abc"), message("m2", "ABC")]

    def test_cuts_no_other_lane(self) -> None:
        """Another owner's reasoning goes on in its row."""
        other = {"subagentRunId": "s"}
        events = [thought("START", **other), thought("CONTENT", delta="a"), *said("m", "hi")]
        events.append(thought("CONTENT", delta="b"))
        assert both(*events) == [message("g", "ab", role="reasoning", **other), message("m", "hi")]

    def test_a_message_that_a_call_made(self) -> None:
        """A message that a call made first stays the assistant's, nameless; its text opens behind the call."""
        events = [*called("c", parentMessageId="m"), *said("m", "hi", role="user", name="Ada")]
        assert streamed(*events) == [message("m", None, (made(),)), message("m#1", "hi")]
        assert merged(*events) == [message("m", "hi", (made(),))]
        assert codes(*events) == []

    def test_that_message_opens_once(self) -> None:
        """To open as text cuts the lane, which to open again does not."""
        events = [*called("c", parentMessageId="m"), thought("START"), thought("CONTENT", delta="a"), text("START")]
        events += [text("CONTENT", delta="hi"), thought("CONTENT", delta="b")]
        assert [shown["id"] for shown in streamed(*events)] == ["m", "g", "m#1", "g#1"]

    def test_that_message_is_nobodys_before(self) -> None:
        """Before its text opens whoever opens it may; as a message it stays the owner's whose call made it."""
        events = [*called("c", parentMessageId="m", subagentRunId="s"), *said("m", "hi", subagentRunId="s2")]
        assert codes(*events) == []
        assert [shown["subagentRunId"] for shown in streamed(*events)] == ["s", "s"]

    def test_claims_a_value_that_came_before(self) -> None:
        """An encrypted value that was sent ahead is the message's."""
        assert both(value("m", "sealed", encryptedValueType="kind"), *said("m", "hi")) == [
            message("m", "hi", encryptedValue="sealed", encryptedValueType="kind")
        ]

    def test_a_value_shows_a_shell(self) -> None:
        """A message with nothing but an encrypted value shows, empty, so that the value is kept."""
        assert both(*said("m"), value("m")) == [message("m", "", encryptedValue="v")]

    @pytest.mark.parametrize(
        ("other", "kind"),
        [(mused("m", "hm"), "reasoning"), ([activity("m")], "activity"), ([result("c", "m")], "result")],
        ids=["reasoning", "activity", "result"],
    )
    def test_shares_an_id_with_another_kind(self, other: list[Wire], kind: str) -> None:
        """Neither overwrites the other: the one that came later shows under an id made of its kind."""
        assert [shown["id"] for shown in both(*other, *said("m", "hi"))] == ["m", "m#text"]
        assert details(*other, *said("m", "hi")) == [f"text 'm' beside {kind}"]
        assert codes(*other, *said("m", "hi")) == ["shared-id"]

    def test_flags_another_owner(self) -> None:
        """To open again under another owner is flagged within a run, and what was established stands."""
        events = [*said("m", "a", subagentRunId="s1"), text("START", subagentRunId="s2"), text("CONTENT", delta="b")]
        assert both(*events) == [message("m", "ab", subagentRunId="s1")]
        assert details(*events) == ["'s2' on text 'm', which belongs to 's1'"]

    def test_a_new_run_tells_owners_anew(self) -> None:
        """Whose a message is for its continuations starts anew with each run; the message's own owner stands."""
        events = [*said("m", "a", subagentRunId="s1"), FINISHED, STARTED, text("START", subagentRunId="s2")]
        events.append(text("CONTENT", delta="b", subagentRunId="s2"))
        assert codes(*events) == []
        assert both(*events) == [message("m", "ab", subagentRunId="s1")]


class TestTextMessageContent:
    """TEXT_MESSAGE_CONTENT appends to the message's current row."""

    def test_appends(self) -> None:
        """Deltas are one text, in order; an empty one adds nothing."""
        assert both(*said("m", "a", "", "b", " ", "c")) == [message("m", "ab c")]

    def test_joins_surrogates(self) -> None:
        """Two halves of a surrogate pair in two deltas are one character; a lone half stays as it is."""
        assert both(*said("m", "\ud83d", "\ude00"))[0]["content"] == "\U0001f600"
        assert both(*said("m", "a\ud83d", "b"))[0]["content"] == "a\ud83db"

    def test_keeps_every_delta_of_a_long_message(self) -> None:
        """However many deltas a message has, its text is all of them."""
        deltas = [f"{number} " for number in range(1000)]
        assert both(*said("m", *deltas)) == [message("m", "".join(deltas))]

    def test_opens_what_nothing_opened(self) -> None:
        """Content without a start is flagged, and kept in a message of the assistant's that is open from there on."""
        events = [text("CONTENT", delta="a", subagentRunId="s"), text("CONTENT", delta="b"), text("END")]
        assert both(*events) == [message("m", "ab", subagentRunId="s")]
        assert codes(*events) == ["text-not-open"]

    def test_opens_what_was_closed(self) -> None:
        """Content after the end is flagged, appended all the same, and the message is open again."""
        events = [*said("m", "a"), text("CONTENT", delta="b"), text("CONTENT", delta="c")]
        assert both(*events) == [message("m", "abc")]
        assert codes(*events) == ["text-not-open"]
        assert codes(*events, FINISHED) == ["text-not-open", "open-at-run-finish"]

    def test_needs_a_run(self) -> None:
        """Before any run content is out of place as well, and kept."""
        deltas = [text("CONTENT", delta="a"), text("CONTENT", delta="b"), text("CONTENT", delta="c")]
        assert both(*deltas, onto=EMPTY) == [message("m", "abc")]
        assert codes(text("CONTENT", delta="a"), onto=EMPTY) == ["first-event", "text-not-open"]

    @pytest.mark.parametrize(
        "opening",
        [thought("CONTENT", delta="hm"), result(), call("START")],
        ids=["reasoning", "result", "call"],
    )
    def test_goes_on_behind_what_cut_it(self, opening: Wire) -> None:
        """After another kind has opened in the lane the text goes on in a row of its own, the continuation."""
        events = [text("START", name="Ada", metadata={"k": 1}), text("CONTENT", delta="a"), opening]
        events += [text("CONTENT", delta="b"), value("m")]
        first, between, last = streamed(*events)
        assert first == message("m", "a", name="Ada", metadata={"k": 1}, encryptedValue="v")
        assert between["role"] != "user"
        assert last == message("m#1", "b", name="Ada")

    def test_an_activity_cuts_nothing(self) -> None:
        """Text goes on in its row while activities come and go."""
        events = [text("START"), text("CONTENT", delta="a"), activity(), text("CONTENT", delta="b")]
        assert [shown["id"] for shown in both(*events)] == ["m", "a"]
        assert both(*events)[0] == message("m", "ab")

    def test_a_row_that_shows_nothing_joins_what_it_parts(self) -> None:
        """Rows with nothing shown between them are one message again."""
        events = [text("START"), text("CONTENT", delta="a"), *mused("g"), text("CONTENT", delta="b")]
        assert streamed(*events) == [message("m", "ab")]
        claimed = [*events, value("g")]
        assert [shown["id"] for shown in streamed(*claimed)] == ["m", "g", "m#1"]

    def test_goes_to_a_new_row_where_the_first_was_cut_empty(self) -> None:
        """A text that had said nothing before it was cut shows where it speaks, under its own id."""
        events = [text("START"), *mused("g", "hm"), text("CONTENT", delta="hi")]
        assert streamed(*events) == [message("g", "hm", role="reasoning"), message("m", "hi")]
        assert merged(*events) == [message("m", "hi"), message("g", "hm", role="reasoning")]

    def test_an_empty_delta_opens_no_row(self) -> None:
        """Behind a cut, nothing is said by an empty delta; what comes next says where the row is."""
        events = [text("START"), text("CONTENT", delta="a"), *mused("g", "hm"), text("CONTENT", delta="")]
        events += [*mused("h", "so"), text("CONTENT", delta="b")]
        assert [shown["id"] for shown in streamed(*events)] == ["m", "g", "h", "m#1"]

    def test_opens_a_message_that_a_call_made(self) -> None:
        """Content without a start for a message that holds calls alone is flagged, and opens its text."""
        events = [*called("c", parentMessageId="m"), text("CONTENT", delta="hi")]
        assert streamed(*events) == [message("m", None, (made(),)), message("m#1", "hi")]
        assert codes(*events) == ["text-not-open"]

    def test_merges_metadata(self) -> None:
        """Metadata merges key by key, the last write winning, at the top only; a null is a value."""
        events = [
            text("START", metadata={"a": {"x": 1}, "b": 1}),
            text("CONTENT", delta="hi", metadata={"a": {"y": 2}}),
        ]
        events.append(text("END", metadata={"b": None}))
        assert both(*events) == [message("m", "hi", metadata={"a": {"y": 2}, "b": None})]

    def test_flags_another_owner(self) -> None:
        """A continuation that names another owner than the opener is flagged, and its text is kept."""
        events = [text("START"), text("CONTENT", delta="a", subagentRunId="s")]
        assert both(*events) == [message("m", "a")]
        assert details(*events) == ["'s' on text 'm', which belongs to 'the parent agent'"]
        assert codes(*events) == ["attribution-mismatch"]

    def test_goes_behind_a_content_of_parts(self) -> None:
        """Text for a message whose content is parts is a part behind them."""
        part = {"type": "text", "text": "look"}
        stated = snapshot(message("m", [part], role="user"))
        events = [stated, text("START", role="user"), text("CONTENT", delta="here")]
        assert both(*events) == [message("m", [part, {"type": "text", "text": "here"}], role="user")]
        assert both(stated, text("START")) == [message("m", [part], role="user")]

    def test_continuations_are_named_after_their_row(self) -> None:
        """A continuation's id is made of the first one's and the number of the row, and is no other message's."""
        events = [text("START"), text("CONTENT", delta="a"), *mused("g1", "."), text("CONTENT", delta="b")]
        events += [*mused("g2", "."), text("CONTENT", delta="c"), *said("m#2", "mine")]
        assert [shown["id"] for shown in streamed(*events)] == ["m", "g1", "m#1", "g2", "m#2'", "m#2"]


class TestTextMessageEnd:
    """TEXT_MESSAGE_END closes the message."""

    def test_closes(self) -> None:
        """What the message holds stays, and the run may finish."""
        assert both(*said("m", "hi"), FINISHED) == [message("m", "hi")]
        assert codes(*said("m", "hi"), FINISHED) == []

    def test_refuses_what_is_not_open(self) -> None:
        """An end for a message that is closed or unknown is flagged and changes nothing."""
        assert codes(*said("m", "hi"), text("END"), text("END", "other")) == ["text-not-open", "text-not-open"]
        assert both(*said("m", "hi"), text("END"), text("END", "other", metadata={"k": 1})) == [message("m", "hi")]

    def test_metadata_that_comes_late_is_kept(self) -> None:
        """Metadata at a second end is the message's all the same, which does not open again."""
        late = [*said("m", "hi"), text("END", metadata={"k": 1})]
        assert both(*late) == [message("m", "hi", metadata={"k": 1})]
        assert codes(*late, FINISHED) == ["text-not-open"]

    def test_flags_another_owner(self) -> None:
        """An end that names another owner is flagged, and closes."""
        assert codes(text("START", subagentRunId="s"), text("END", subagentRunId="s2"), FINISHED) == [
            "attribution-mismatch"
        ]

    def test_an_input_tells_owners_too(self) -> None:
        """Whose a message of the echoed input is holds for what continues it in the run."""
        echo = started(messages=[message("m", "a", subagentRunId="s1")])
        assert codes(FINISHED, echo, text("START", subagentRunId="s2")) == ["attribution-mismatch"]
        assert codes(FINISHED, echo, text("START", subagentRunId="s1"), text("END"), finished()) == []

    def test_its_position_is_the_messages_last(self) -> None:
        """A message spans from its start to its end."""
        [origin] = seen(*said("m", "hi")).origins
        assert (origin.span, origin.run_id, origin.owner) == ((1, 3), "r", None)
        assert after(*said("m", "hi")).position == 4
