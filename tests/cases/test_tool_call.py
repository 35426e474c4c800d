"""Tool calls: start, arguments, end, and the result, which is a message of its own (spec: events/tool-calls)."""

from __future__ import annotations

import pytest

from reducer import EMPTY
from tests.cases.build import (
    FINISHED,
    STARTED,
    Wire,
    activity,
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
    value,
)


class TestToolCallStart:
    """TOOL_CALL_START opens a call in the message it belongs to."""

    def test_without_a_parent(self) -> None:
        """A call that names no parent makes an assistant message under its own id, without content."""
        assert both(*called("c", "{}")) == [message("c", None, (made("c", "{}"),))]
        assert codes(*called("c", "{}"), FINISHED) == []

    def test_consecutive_ones_share_a_message(self) -> None:
        """Calls of one lane without a parent stand in one message, as they streamed; merged, each has its own."""
        events = [*called("c1"), *called("c2")]
        assert streamed(*events) == [message("c1", None, (made("c1"), made("c2")))]
        assert merged(*events) == [message("c1", None, (made("c1"),)), message("c2", None, (made("c2"),))]

    def test_lanes_have_messages_of_their_own(self) -> None:
        """Calls of two owners never share a message."""
        events = [call("START", "c1"), call("START", "c2", subagentRunId="s"), call("START", "c3")]
        own, other = streamed(*events)
        assert [one["id"] for one in own["toolCalls"]] == ["c1", "c3"]
        assert other == message("c2", None, (made("c2"),), subagentRunId="s")

    def test_joins_its_parent(self) -> None:
        """A call whose parent is the lane's current text stands with it in one message."""
        events = [text("START"), text("CONTENT", delta="hi"), *called("c", parentMessageId="m"), text("END")]
        assert both(*events) == [message("m", "hi", (made(),))]

    def test_text_goes_on_behind_it(self) -> None:
        """A text that a call has joined is cut: what it says afterwards shows after the call."""
        events = [text("START"), text("CONTENT", delta="a"), *called("c", parentMessageId="m")]
        events.append(text("CONTENT", delta="b"))
        assert streamed(*events) == [message("m", "a", (made(),)), message("m#1", "b")]
        assert merged(*events) == [message("m", "ab", (made(),))]

    def test_joins_its_parents_calls(self) -> None:
        """Calls of one parent stand together, one without a parent joins them."""
        events = [*called("c1", parentMessageId="p"), *called("c2", parentMessageId="p"), *called("c3")]
        assert streamed(*events) == [message("p", None, (made("c1"), made("c2"), made("c3")))]
        assert merged(*events)[0] == message("p", None, (made("c1"), made("c2")))

    def test_joins_the_latest_message_with_calls(self) -> None:
        """Without a parent it joins the message that got calls last."""
        events = [
            *said("m", "hi"),
            *called("c1", parentMessageId="m"),
            *called("c2", parentMessageId="p"),
            *called("c3"),
        ]
        assert [[one["id"] for one in shown["toolCalls"]] for shown in streamed(*events)] == [["c1"], ["c2", "c3"]]

    def test_a_parent_that_is_closed(self) -> None:
        """A text that has ended still takes the call while nothing has cut it."""
        assert both(*said("m", "hi"), *called("c", parentMessageId="m")) == [message("m", "hi", (made(),))]

    @pytest.mark.parametrize("between", [mused("g", "hm"), [result("other")]], ids=["reasoning", "result"])
    def test_a_parent_that_is_cut(self, between: list[Wire]) -> None:
        """A call for a text that is no longer current shows where it streams, under a derived id."""
        events = [*said("m", "hi"), *between, *called("c", parentMessageId="m")]
        shown = streamed(*events)
        assert shown[0] == message("m", "hi")
        assert shown[-1] == message("m#1", None, (made(),))
        assert merged(*events)[0] == message("m", "hi", (made(),))

    def test_a_parent_that_is_cut_while_open(self) -> None:
        """The same holds for a text that is still open and goes on after the call."""
        events = [text("START"), text("CONTENT", delta="a"), *mused("g", "hm"), *called("c", parentMessageId="m")]
        events.append(text("CONTENT", delta="b"))
        assert [shown["id"] for shown in streamed(*events)] == ["m", "g", "m#1", "m#2"]

    def test_a_parent_that_is_never_opened(self) -> None:
        """A parent that no text ever opens holds the calls all the same."""
        events = [*called("c", parentMessageId="p"), result(), *said("m", "so")]
        assert both(*events) == [message("p", None, (made(),)), answer(), message("m", "so")]
        assert codes(*events) == []

    def test_a_parent_that_opens_later(self) -> None:
        """A parent whose text opens after the call: the call shows first, where it streamed."""
        events = [*said("m1", "look:"), *called("c", parentMessageId="m2"), result(), *said("m2", "three")]
        assert streamed(*events) == [
            message("m1", "look:"),
            message("m2", None, (made(),)),
            answer(),
            message("m2#1", "three"),
        ]
        assert merged(*events) == [message("m1", "look:"), message("m2", "three", (made(),)), answer()]

    @pytest.mark.parametrize(
        "parent",
        [
            said("p", "hi", role="user"),
            mused("p", "hm"),
            [activity("p")],
            [result("other", "p")],
        ],
        ids=["user", "reasoning", "activity", "result"],
    )
    def test_a_parent_that_is_no_assistant_message(self, parent: list[Wire]) -> None:
        """Such a parent holds no calls: the call's own id serves, in a message of its own."""
        events = [*called("c1"), *parent, *called("c2", parentMessageId="p")]
        assert codes(*events) == ["parent-not-assistant"]
        assert both(*events)[-1] == message("c2", None, (made("c2"),))

    def test_its_id_is_a_users_message(self) -> None:
        """Where a message of another role has the call's id, the call's message gets an id of its own."""
        events = [*said("c", "hi", role="user"), *called("c")]
        assert [shown["id"] for shown in both(*events)] == ["c", "c#assistant"]
        assert both(*events)[1]["toolCalls"] == [made()]

    def test_its_id_is_a_users_message_and_it_stands_with_others(self) -> None:
        """The same holds for a call that streamed in another's message."""
        events = [*said("c", "hi", role="user"), *called("b"), *called("c")]
        assert streamed(*events) == [message("c", "hi", role="user"), message("b", None, (made("b"), made("c")))]
        assert merged(*events)[1:] == [message("b", None, (made("b"),)), message("c#assistant", None, (made("c"),))]

    def test_its_id_is_a_users_message_later(self) -> None:
        """A text that opens after the call, of whichever role, is the text of the call's message when merged."""
        events = [*called("b"), *called("c"), *said("c", "hi", role="system")]
        assert streamed(*events) == [message("b", None, (made("b"), made("c"))), message("c", "hi", role="system")]
        assert merged(*events) == [message("b", None, (made("b"),)), message("c", "hi", (made("c"),))]

    def test_its_id_is_a_message_that_a_snapshot_dropped(self) -> None:
        """An open message that a snapshot left out is the assistant's once a call makes it again."""
        events = [
            text("START", "c", role="user", name="ann"),
            snapshot(),
            *called("c"),
            text("CONTENT", "c", delta="a"),
        ]
        assert streamed(*events) == [message("c", None, (made("c"),)), message("c#1", "a")]
        assert merged(*events) == [message("c", "a", (made("c"),))]

    def test_its_id_is_another_owners_message(self) -> None:
        """A row is in its message's lane, whoever calls in it: the text goes on behind it, others do not join it."""
        events = [text("START", "c", subagentRunId="s"), text("CONTENT", "c", delta="a"), *called("c")]
        events += [text("CONTENT", "c", delta="b"), *called("d")]
        assert streamed(*events) == [
            message("c", "a", (made("c"),), subagentRunId="s"),
            message("c#1", "b", subagentRunId="s"),
            message("d", None, (made("d"),)),
        ]

    def test_joins_the_group_whose_text_goes_on(self) -> None:
        """Without a parent it joins the lane's latest group though its message has gone on, with one the text."""
        events = [text("START"), text("CONTENT", delta="a"), *called("c", parentMessageId="m")]
        events.append(text("CONTENT", delta="b"))
        assert streamed(*events, *called("d"))[0] == message("m", "a", (made("c"), made("d")))
        assert streamed(*events, *called("d", parentMessageId="m"))[1] == message("m#1", "b", (made("d"),))

    def test_claims_the_value_of_its_message(self) -> None:
        """A value that came before shows on the message that a call makes, be it in another's row."""
        events = [value("c"), *called("b"), *called("c")]
        sealed = message("c", None, (made("c"),), encryptedValue="v")
        assert merged(*events) == [message("b", None, (made("b"),)), sealed]
        assert streamed(*events) == [
            message("b", None, (made("b"), made("c"))),
            message("c", "", encryptedValue="v"),
        ]

    def test_cuts_reasoning(self) -> None:
        """Reasoning that is under way in the lane goes on behind the call."""
        events = [thought("START"), thought("CONTENT", delta="a"), *called("c"), thought("CONTENT", delta="b")]
        assert [shown["id"] for shown in streamed(*events)] == ["g", "c", "g#1"]

    def test_again_is_neither_doubled_nor_emptied(self) -> None:
        """A replayed start changes the name and the metadata, and nothing else."""
        events = [*called("c", "{}", parentMessageId="p"), call("START", toolCallName="search", metadata={"k": 1})]
        again = message("p", None, (made("c", "{}", "search", metadata={"k": 1}),))
        assert both(*events) == [again]
        assert codes(*events) == []

    def test_again_while_open_is_flagged(self) -> None:
        """A start for a call that is open is flagged and does not rename it; arguments go on."""
        events = [call("START"), call("ARGS", delta="{"), call("START", toolCallName="b"), call("ARGS", delta="}")]
        assert both(*events) == [message("c", None, (made("c", "{}"),))]
        assert codes(*events) == ["call-already-open"]

    def test_again_keeps_its_place(self) -> None:
        """A replayed start that names another parent does not move a call that has no result."""
        events = [*called("c", parentMessageId="p"), call("START", parentMessageId="q")]
        assert both(*events) == [message("p", None, (made(),))]

    def test_claims_a_shell(self) -> None:
        """Arguments that came before the start are the call's; where the start comes is where the call shows."""
        events = [call("ARGS", delta="{", metadata={"k": 1}), *said("m", "hi"), call("START"), call("ARGS", delta="}")]
        assert both(*events) == [message("m", "hi"), message("c", None, (made("c", "{}", metadata={"k": 1}),))]
        assert codes(*events) == ["call-not-open", "call-already-open"]

    def test_claims_a_value_that_came_before(self) -> None:
        """An encrypted value that was sent ahead is the call's."""
        events = [value("c", "sealed", "tool-call"), *called("c")]
        assert both(*events) == [message("c", None, (made("c", encryptedValue="sealed"),))]

    def test_reuses_the_id_of_an_answered_call(self) -> None:
        """Under another parent it is a new call: both show, and what follows is the newer one's."""
        events = [*called("c", "1", parentMessageId="p"), result(), *called("c", "2", parentMessageId="q")]
        events.append(result("c", "x2", "more"))
        assert both(*events) == [
            message("p", None, (made("c", "1"),)),
            answer(),
            message("q", None, (made("c", "2"),)),
            answer("c", "x2", "more"),
        ]
        assert codes(*events) == ["call-reused"]

    def test_reuses_it_while_others_are_open(self) -> None:
        """What else is open stays open, and in the old call's message the others keep their places."""
        events = [*called("b", parentMessageId="p"), *called("c", "1", parentMessageId="p"), result(), text("START")]
        events += [call("START"), call("START", parentMessageId="q"), text("CONTENT", delta="hi")]
        assert [shown["id"] for shown in streamed(*events)] == ["p", "x", "q", "m"]
        assert [shown["id"] for shown in merged(*events)] == ["p", "x", "m", "q"]
        assert streamed(*events)[0] == message("p", None, (made("b"), made("c", "1")))
        assert codes(*events) == ["call-already-open", "call-reused"]

    def test_gives_the_id_back(self) -> None:
        """A start under the parent of an older call of that id is that call's: none stands twice in one message."""
        events = [*called("c", "1", parentMessageId="p"), result(), *called("c", "2", parentMessageId="q")]
        events += [result("c", "x2"), call("START", parentMessageId="p"), call("ARGS", delta="3")]
        assert [one["toolCalls"] for one in merged(*events) if "toolCalls" in one] == [
            [made("c", "13")],
            [made("c", "2")],
        ]
        assert codes(*events) == ["call-reused"]

    def test_reuses_it_under_its_own_id(self) -> None:
        """Where the parent is another role's message the call's own id is where it belongs."""
        events = [*said("u", "hi", role="user"), *called("c", "1"), result(), *called("c", "2", parentMessageId="u")]
        assert merged(*events)[1:] == [message("c", None, (made("c", "12"),)), answer()]
        assert codes(*events) == []

    def test_is_no_new_call_without_another_parent(self) -> None:
        """An answered call that starts again under its own parent, or none, is the same call."""
        events = [*called("c", "1", parentMessageId="p"), result()]
        for again in (call("START"), call("START", parentMessageId="p")):
            assert both(*events, again) == both(*events)
            assert codes(*events, again) == []

    def test_after_a_snapshot_without_calls(self) -> None:
        """Where a snapshot has taken the calls of the latest message a call opens one of its own."""
        events = [*called("c1", parentMessageId="p"), snapshot(message("p", "no calls")), *called("c2"), *called("c3")]
        assert streamed(*events) == [message("p", "no calls"), message("c2", None, (made("c2"), made("c3")))]

    def test_a_call_that_a_snapshot_dropped(self) -> None:
        """A call that was open when a snapshot left it out stays open, emptied, and shows once it starts again."""
        events = [call("START", metadata={"k": 1}), value("c", "v", "tool-call"), call("ARGS", delta="1"), snapshot()]
        events.append(call("ARGS", delta="2"))
        assert both(*events) == []
        assert codes(*events) == []
        assert both(*events, call("START")) == [message("c", None, (made("c", "2"),))]

    def test_inherits_its_owner(self) -> None:
        """A call without a tag is its parent's owner's."""
        events = [*said("m", "hi", subagentRunId="s"), *called("c", parentMessageId="m")]
        assert both(*events) == [message("m", "hi", (made(),), subagentRunId="s")]
        assert codes(*events, call("END", subagentRunId="s")) == ["call-not-open"]
        assert codes(*events[:-1], call("ARGS", delta="1", subagentRunId="s")) == []

    def test_inherits_its_owner_while_that_speaks(self) -> None:
        """The same holds for a parent that is open; its text goes on behind the call."""
        told = {"subagentRunId": "s"}
        events = [text("START", **told), text("CONTENT", delta="a"), *called("c", parentMessageId="m")]
        events.append(text("CONTENT", delta="b"))
        assert streamed(*events) == [message("m", "a", (made(),), **told), message("m#1", "b", **told)]

    def test_a_parent_of_an_earlier_run(self) -> None:
        """A call may join a message of an earlier run, whose owner is whose it was."""
        told = {"subagentRunId": "s"}
        for event in (call("START", parentMessageId="m", **told), call("START", parentMessageId="m")):
            events = [*said("m", "hi", **told), FINISHED, STARTED, event]
            assert both(*events) == [message("m", "hi", (made(),), **told)]
            assert codes(*events) == []

    def test_disagrees_with_its_parents_owner(self) -> None:
        """Where the tag is another one than the parent's owner the call is flagged and stands with its parent."""
        events = [*said("m", "hi", subagentRunId="s"), *called("c", parentMessageId="m", subagentRunId="s2")]
        assert both(*events) == [message("m", "hi", (made(),), subagentRunId="s")]
        assert details(*events) == ["'s2' on a call of 'm', which belongs to 's'"]

    def test_disagrees_with_its_own_owner(self) -> None:
        """A replayed start that names another owner is flagged."""
        assert codes(*called("c", subagentRunId="s"), call("START", subagentRunId="s2")) == ["attribution-mismatch"]

    def test_a_replay_that_names_another_owners_message(self) -> None:
        """A replayed start, without a tag, whose parent is another owner's is flagged."""
        events = [*called("c", subagentRunId="s"), *said("m", "hi"), call("START", parentMessageId="m")]
        assert codes(*events) == ["attribution-mismatch"]

    def test_the_echoed_input_tells_owners(self) -> None:
        """Whose a call of the echoed input is holds for what continues it in the run."""
        told = message("p", None, (made(),), subagentRunId="s")
        assert codes(FINISHED, started(messages=[told]), call("START", subagentRunId="s2")) == ["attribution-mismatch"]
        assert (
            codes(FINISHED, started(messages=[told]), call("START", "c2", parentMessageId="p", subagentRunId="s")) == []
        )

    def test_needs_a_run(self) -> None:
        """Before any run it is out of place, and kept."""
        assert both(*called("c"), onto=EMPTY) == [message("c", None, (made(),))]
        assert codes(*called("c"), onto=EMPTY) == ["first-event"]


class TestToolCallArgs:
    """TOOL_CALL_ARGS appends to the call's arguments."""

    @pytest.mark.parametrize("deltas", [['{"a"', ":1}"], ["{", "", "broken"], [" \n"], []], ids=repr)
    def test_appends(self, deltas: list[str]) -> None:
        """Arguments are kept as sent, valid JSON or not."""
        assert both(*called("c", *deltas)) == [message("c", None, (made("c", "".join(deltas)),))]

    def test_interleave(self) -> None:
        """Two calls whose arguments interleave keep them apart."""
        events = [call("START", "c1", parentMessageId="p"), call("START", "c2", parentMessageId="p")]
        events += [
            call("ARGS", name, delta=delta) for name, delta in [("c1", "1"), ("c2", "a"), ("c1", "2"), ("c2", "b")]
        ]
        assert both(*events) == [message("p", None, (made("c1", "12"), made("c2", "ab")))]

    def test_are_never_cut(self) -> None:
        """Whatever opens in between, a call's arguments are one text."""
        events = [call("START"), call("ARGS", delta="1"), *said("m", "hi"), *mused("g", "hm"), call("ARGS", delta="2")]
        assert both(*events)[0] == message("c", None, (made("c", "12"),))

    def test_of_an_unknown_call_wait_for_its_start(self) -> None:
        """Arguments without a start are flagged and shown nowhere until a start claims them."""
        events = [call("ARGS", delta="1"), call("ARGS", delta="2")]
        assert both(*events) == []
        assert seen(*events).pending_tool_calls == []
        assert codes(*events) == ["call-not-open"]
        assert both(*events, call("START")) == [message("c", None, (made("c", "12"),))]

    def test_after_the_end_open_the_call_again(self) -> None:
        """Arguments of a closed call are flagged and appended."""
        events = [*called("c", "1"), call("ARGS", delta="2"), call("ARGS", delta="3")]
        assert both(*events) == [message("c", None, (made("c", "123"),))]
        assert codes(*events) == ["call-not-open"]

    def test_merge_metadata(self) -> None:
        """Metadata of a call's events lands on the call, not on its message."""
        events = [call("START", metadata={"a": 1}), call("ARGS", delta="1", metadata={"b": 2})]
        events.append(call("END", metadata={"a": 3}))
        assert both(*events) == [message("c", None, (made("c", "1", metadata={"a": 3, "b": 2}),))]

    def test_flag_another_owner(self) -> None:
        """Arguments that name another owner than the opener are flagged and kept."""
        events = [call("START"), call("ARGS", delta="1", subagentRunId="s")]
        assert both(*events) == [message("c", None, (made("c", "1"),))]
        assert codes(*events) == ["attribution-mismatch"]

    @pytest.mark.parametrize(
        ("deltas", "shown"),
        [
            (["12"], "12"),
            (["1", "2"], "12"),
            (["123"], "12123"),
            (["1", "3"], "1213"),
            (["1"], "121"),
            (["3"], "123"),
            ([], "12"),
            (["12", "3"], "12123"),
        ],
        ids=repr,
    )
    def test_that_a_snapshot_has_stated(self, deltas: list[str], shown: str) -> None:
        """A call that only a snapshot told is then streamed: to repeat its arguments word for word appends nothing."""
        stated = snapshot(message("p", None, (made("c", "12"),)))
        events = [stated, *called("c", *deltas)]
        assert both(*events) == [message("p", None, (made("c", shown),))]

    def test_that_a_snapshot_has_stated_and_the_stream_goes_on(self) -> None:
        """A call that was streamed before a snapshot restated it goes on where it was."""
        events = [call("START", parentMessageId="p"), call("ARGS", delta="1")]
        events += [snapshot(message("p", None, (made("c", "1"),))), call("ARGS", delta="1")]
        assert both(*events) == [message("p", None, (made("c", "11"),))]

    def test_are_repeated_once(self) -> None:
        """A call that has been streamed is known, so a second stream of it appends."""
        events = [snapshot(message("p", None, (made("c", "1"),))), *called("c", "1"), *called("c", "1")]
        assert both(*events) == [message("p", None, (made("c", "11"),))]


class TestToolCallEnd:
    """TOOL_CALL_END closes the call."""

    def test_closes(self) -> None:
        """The arguments are complete, and the run may finish; the call waits for its result."""
        assert codes(*called("c", "{}"), FINISHED) == []
        assert seen(*called("c", "{}"), FINISHED).pending_tool_calls == ["c"]

    def test_refuses_what_is_not_open(self) -> None:
        """An end for a call that is closed or unknown is flagged and changes nothing."""
        events = [*called("c"), call("END"), call("END", "other", metadata={"k": 1})]
        assert both(*events) == [message("c", None, (made(),))]
        assert codes(*events) == ["call-not-open", "call-not-open"]

    def test_metadata_that_comes_late_is_kept(self) -> None:
        """Metadata at a second end is the call's all the same."""
        assert both(*called("c"), call("END", metadata={"k": 1})) == [
            message("c", None, (made("c", metadata={"k": 1}),))
        ]

    def test_closes_a_shell(self) -> None:
        """Arguments and an end without a start leave a closed shell, which a start still claims."""
        events = [call("ARGS", delta="1"), call("END"), FINISHED, STARTED, call("START")]
        assert both(*events) == [message("c", None, (made("c", "1"),))]
        assert codes(*events) == ["call-not-open"]

    def test_flags_another_owner(self) -> None:
        """An end that names another owner is flagged, and closes."""
        assert codes(call("START"), call("END", subagentRunId="s"), FINISHED) == ["attribution-mismatch"]


class TestToolCallResult:
    """TOOL_CALL_RESULT adds the tool message, or replaces it."""

    @pytest.mark.parametrize(
        "content",
        ["done", "", [{"type": "text", "text": "done"}], []],
        ids=["text", "nothing", "parts", "no parts"],
    )
    def test_adds_a_message(self, content: str | list[Wire]) -> None:
        """The content is a string or parts, kept whole; the call is answered."""
        events = [*called("c"), result("c", "x", content, metadata={"k": 1})]
        assert both(*events) == [message("c", None, (made(),)), answer("c", "x", content, metadata={"k": 1})]
        assert seen(*events).pending_tool_calls == []

    def test_stands_behind_its_call(self) -> None:
        """Text that streams before the result comes does not part it from its call; results keep their order."""
        events = [*called("c1", parentMessageId="p"), *called("c2", parentMessageId="p"), *said("m", "wait")]
        events += [result("c2", "x2"), result("c1", "x1")]
        assert [shown["id"] for shown in both(*events)] == ["p", "x2", "x1", "m"]

    def test_stands_behind_reasoning_in_between(self) -> None:
        """Reasoning and activities that streamed between call and result keep their places."""
        events = [*called("c"), *mused("g", "hm"), activity(), result()]
        assert [shown["id"] for shown in streamed(*events)] == ["c", "g", "a", "x"]

    def test_before_its_call(self) -> None:
        """A result that comes first stands, as it streamed, behind the call all the same."""
        events = [result(), *said("m", "hi"), *called("c")]
        assert [shown["id"] for shown in streamed(*events)] == ["m", "c", "x"]
        assert [shown["id"] for shown in merged(*events)] == ["x", "m", "c"]
        assert seen(*events).pending_tool_calls == []

    def test_of_an_unknown_call(self) -> None:
        """A result whose call nobody knows stands where it came."""
        assert both(*said("m", "hi"), result(), *said("n", "ho"))[1] == answer()

    def test_of_another_lanes_call(self) -> None:
        """A result moves to its call in whichever lane that is, and is its own lane's."""
        events = [*called("c", subagentRunId="s"), *said("m", "hi"), result()]
        assert both(*events) == [message("c", None, (made(),), subagentRunId="s"), answer(), message("m", "hi")]

    def test_of_another_lanes_call_parts_text(self) -> None:
        """Text goes on in a row of its own behind another lane's result."""
        events = [text("START"), text("CONTENT", delta="a"), result(), text("CONTENT", delta="b")]
        assert [shown["id"] for shown in streamed(*events)] == ["m", "x", "m#1"]

    def test_of_the_lanes_own_call_parts_no_text(self) -> None:
        """A result that moves behind its call leaves the text that it cut in one message."""
        events = [*called("c"), text("START"), text("CONTENT", delta="a"), result(), text("CONTENT", delta="b")]
        assert streamed(*events) == [message("c", None, (made(),)), answer(), message("m", "ab")]

    def test_several_under_one_id(self) -> None:
        """A result is known by its message and its call: results that share an id are all kept."""
        events = [
            *called("c1", parentMessageId="p"),
            *called("c2", parentMessageId="p"),
            result("c1"),
            result("c2", "x", "2"),
        ]
        assert both(*events)[1:] == [answer("c1"), answer("c2", "x#c2", "2")]
        assert codes(*events) == ["shared-id"]

    def test_again_replaces_itself(self) -> None:
        """The same result a second time replaces the content in place, and its metadata merges."""
        events = [
            *called("c"),
            result(metadata={"a": 1}),
            *said("m", "hi"),
            result("c", "x", "better", metadata={"b": 2}),
        ]
        shown = both(*events)
        assert shown[1] == answer("c", "x", "better", metadata={"a": 1, "b": 2})
        assert [one["id"] for one in shown] == ["c", "x", "m"]
        assert codes(*events) == []

    def test_again_cuts_nothing(self) -> None:
        """A replayed result leaves what is under way current."""
        events = [
            *called("c"),
            result(),
            text("START"),
            text("CONTENT", delta="a"),
            result(),
            text("CONTENT", delta="b"),
        ]
        assert both(*events)[-1] == message("m", "ab")

    def test_cuts_the_tool_call_group(self) -> None:
        """A call after a result opens a message of its own."""
        events = [*called("c1"), result("c1"), *called("c2")]
        assert [shown["id"] for shown in both(*events)] == ["c1", "x", "c2"]

    def test_shares_an_id_with_a_text(self) -> None:
        """A result under the id of a text shows under an id made of its call's."""
        events = [*said("m", "try"), *called("c", parentMessageId="m"), result("c", "m")]
        assert both(*events) == [message("m", "try", (made(),)), answer("c", "m#c")]
        assert codes(*events) == ["shared-id"]

    def test_retires_the_interrupts_of_its_call(self) -> None:
        """An interrupt that concerns the call is answered by its result; others stay open."""
        raised = interrupted(interrupt("i1", toolCallId="c"), interrupt("i2"), interrupt("i3", toolCallId="c"))
        events = [*called("c"), raised, started("r2"), result()]
        assert [one["id"] for one in seen(*events).interrupts] == ["i2"]
        assert [one["id"] for one in seen(*events, finished("r2")).interrupts] == ["i2"]

    def test_belongs_to_its_owner(self) -> None:
        """A result is tagged as its event is."""
        assert both(result(subagentRunId="s")) == [answer(subagentRunId="s")]

    def test_answers_the_newest_call_of_an_id(self) -> None:
        """Of two calls that had one id the newer one is answered."""
        events = [*called("c", parentMessageId="p"), result(), *called("c", parentMessageId="q")]
        assert seen(*events).pending_tool_calls == ["c"]
        assert seen(*events, result("c", "x2")).pending_tool_calls == []

    def test_while_its_call_is_open(self) -> None:
        """A result for a call whose end has not come is the call's, which stays open."""
        events = [call("START"), result(), call("ARGS", delta="1"), call("END"), FINISHED]
        assert both(*events) == [message("c", None, (made("c", "1"),)), answer()]
        assert codes(*events) == []
