"""Messages snapshots: reconciled by id, in place (spec: events/state)."""

from __future__ import annotations

from typing import Any

import pytest

from reducer import EMPTY, MalformedEvent, decode
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

USER = message("u", "hi", role="user")


def ids(messages: list[Wire]) -> list[str]:
    """Return the ids of messages."""
    return [one["id"] for one in messages]


def plan(name: str, content: Wire, kind: str = "plan") -> Wire:
    """Return an activity message."""
    return message(name, content, role="activity", activityType=kind)


class TestMessagesSnapshot:
    """MESSAGES_SNAPSHOT restates the conversation."""

    def test_states_messages(self) -> None:
        """Messages of every role are kept whole, in order, be they empty."""
        told = [
            message("d", "be terse", role="developer", name="ops"),
            message("s", "", role="system"),
            message("u", [{"type": "text", "text": "hi"}], role="user", metadata={"k": [None]}),
            message("g", "hm", role="reasoning", encryptedValue="v", encryptedValueType="kind"),
            message("p", "so", (made("c", "{}", metadata={"k": 1}, encryptedValue="w"),), subagentRunId="s"),
            answer("c", "x", "", error="late", encryptedValue="v2"),
            plan("a", {"k": 1}),
            message("q"),
        ]
        assert merged(snapshot(*told)) == told
        assert streamed(snapshot(*told)) == [*told[:-1], message("q", "")]
        assert codes(snapshot(*told)) == []

    def test_replaces_in_place(self) -> None:
        """A message that is restated is what the snapshot says, wholly, where it was first."""
        events = [*said("m", "old", role="user", metadata={"k": 1}), value("m"), *said("n", "kept")]
        assert both(*events, snapshot(message("n", "kept"), message("m", "new"))) == [
            message("m", "new"),
            message("n", "kept"),
        ]

    def test_drops_what_it_leaves_out(self) -> None:
        """Text, calls and results that it does not restate are gone."""
        events = [*said("m", "a"), *called("c"), result(), snapshot(USER)]
        assert both(*events) == [USER]
        assert seen(*events).pending_tool_calls == []

    def test_appends_what_is_new(self) -> None:
        """New messages stand at the end."""
        assert ids(both(*said("m", "a"), snapshot(USER, message("m", "a")))) == ["m", "u"]

    def test_an_empty_one_keeps_what_is_the_clients(self) -> None:
        """A snapshot without any messages leaves the activities and the reasoning."""
        events = [*said("m", "a"), activity("a", {"n": 1}), *mused("g", "hm"), snapshot()]
        assert both(*events) == [plan("a", {"n": 1}), message("g", "hm", role="reasoning")]

    def test_keeps_reasoning_that_it_does_not_track(self) -> None:
        """Without any reasoning in it, reasoning stays where it was."""
        events = [*mused("g", "hm"), *said("m", "a"), snapshot(USER, message("m", "a"))]
        assert ids(both(*events)) == ["g", "m", "u"]

    def test_owns_reasoning_that_it_tracks(self) -> None:
        """With any reasoning in it, reasoning that it leaves out is gone."""
        other = message("g2", "hm", role="reasoning")
        assert ids(both(*mused("g", "hm"), *said("m", "a"), snapshot(other, message("m", "a")))) == ["m", "g2"]

    def test_keeps_all_rows_of_what_it_leaves_alone(self) -> None:
        """Reasoning that stays keeps every row, before and behind what is restated."""
        events = [thought("START"), thought("CONTENT", delta="a"), *said("m", "hi"), thought("CONTENT", delta="b")]
        assert ids(streamed(*events, snapshot(message("m", "ho")))) == ["g", "m", "g#1"]

    def test_joins_the_rows_of_what_it_restates(self) -> None:
        """A restated message has one row, where its first one was."""
        events = [text("START"), text("CONTENT", delta="a"), *mused("g", "hm"), text("CONTENT", delta="b"), text("END")]
        assert ids(streamed(*events)) == ["m", "g", "m#1"]
        assert streamed(*events, snapshot(message("m", "ab"))) == [
            message("m", "ab"),
            message("g", "hm", role="reasoning"),
        ]

    def test_may_use_the_ids_that_show(self) -> None:
        """What a server read off the STREAMED layout comes back in its places."""
        events = [text("START"), text("CONTENT", delta="a"), *called("c"), result(), text("CONTENT", delta="b")]
        events += [*said("n", "end"), text("END")]
        shown = streamed(*events)
        assert ids(shown) == ["m", "c", "x", "m#1", "n"]
        assert streamed(*events, snapshot(*shown)) == shown

    def test_may_use_the_ids_of_the_merged_layout(self) -> None:
        """Calls without a parent that show together come back apart, where they were."""
        events = [*called("c1"), *called("c2"), *said("m", "hi")]
        told = merged(*events)
        assert ids(told) == ["c1", "c2", "m"]
        assert both(*events, snapshot(*told)) == told

    def test_the_stream_goes_on(self) -> None:
        """A message that was open is open afterwards, and goes on behind what the snapshot says of it."""
        events = [text("START"), text("CONTENT", delta="a"), snapshot(message("m", "AB")), text("CONTENT", delta="c")]
        assert both(*events) == [message("m", "ABc")]
        assert codes(*events, text("END"), FINISHED) == []

    def test_a_dropped_message_goes_on(self) -> None:
        """What was dropped while it was open stays open, with nothing to show until it says something."""
        events = [text("START", metadata={"k": 1}), text("CONTENT", delta="a"), snapshot(USER)]
        assert both(*events) == [USER]
        assert both(*events, text("CONTENT", delta="b")) == [USER, message("m", "b")]
        assert codes(*events, text("CONTENT", delta="b"), text("END"), FINISHED) == []

    def test_a_dropped_message_that_ends_is_made_anew(self) -> None:
        """After its end a dropped message is forgotten: role and name are those of the start that makes it again."""
        events = [text("START", role="user", name="ann"), snapshot(), text("END")]
        assert both(*events, *said("m", "a", name="bob")) == [message("m", "a", name="bob")]
        assert both(*events, text("CONTENT", delta="a")) == [message("m", "a")]
        assert both(*events, *called("c", parentMessageId="m")) == [message("m", None, (made(),))]
        assert codes(*events, *mused("m", "hm")) == []
        assert codes(*events, FINISHED, STARTED, *mused("m", "hm")) == []

    def test_a_dropped_message_that_starts_again(self) -> None:
        """A repeated start brings it back, without a content until it says something."""
        events = [text("START"), snapshot(), text("START")]
        assert (streamed(*events), merged(*events)) == ([], [message("m")])
        assert merged(text("START", "c"), snapshot(), *called("c")) == [message("c", None, (made(),))]

    def test_a_dropped_message_keeps_nothing_of_what_was_stated(self) -> None:
        """That a snapshot had stated it, and its parts, go with it."""
        told = message("m", [{"type": "text", "text": "hi"}], role="user")
        events = [snapshot(told), text("START"), snapshot()]
        assert streamed(*events, text("START")) == []
        assert both(*events, text("CONTENT", delta="a")) == [message("m", "a", role="user")]

    def test_text_that_was_cut_goes_on_in_a_row_of_its_own(self) -> None:
        """Restating an open text does not undo a cut."""
        events = [text("START"), text("CONTENT", delta="a"), *mused("g", "hm"), snapshot(message("m", "a"))]
        events.append(text("CONTENT", delta="b"))
        assert streamed(*events) == [message("m", "a"), message("g", "hm", role="reasoning"), message("m#1", "b")]
        told = snapshot(message("m", "a"))
        for onto in (IN_RUN, EMPTY):
            again = streamed(
                told, text("CONTENT", delta=""), told, *mused("g", "hm"), text("CONTENT", delta="b"), onto=onto
            )
            assert ids(again) == ["m", "g", "m#1"]
            bare = [told, text("CONTENT", delta=""), snapshot(message("m", "a"), USER), text("CONTENT", delta="b")]
            assert ids(streamed(*bare, onto=onto)) == ["m", "u", "m#1"]

    def test_an_open_message_with_calls_takes_more(self) -> None:
        """A restated message that is open and holds calls is a group for calls that name it; a closed one is none."""
        told = message("m", "a", (made("c"),))
        events = [text("START"), text("CONTENT", delta="a"), *called("c", parentMessageId="m")]
        named = called("d", parentMessageId="m")
        assert streamed(*events, snapshot(told), *named) == [message("m", "a", (made("c"), made("d")))]
        closed = [*events, text("END"), *mused("g", "hm"), snapshot(told), *named]
        assert [one["id"] for one in streamed(*closed)] == ["m", "g", "m#1"]
        assert [one["id"] for one in streamed(*events, text("END"), snapshot(told), *called("d"))] == ["m", "d"]

    def test_an_open_group_of_another_owner(self) -> None:
        """A group whose message a snapshot gives to another owner is no group of the lane that it was in."""
        told = message("m", "a", (made("c"),), subagentRunId="s")
        events = [text("START"), text("CONTENT", delta="a"), *called("c", parentMessageId="m"), snapshot(told)]
        assert streamed(*events, *called("d")) == [told, message("d", None, (made("d"),))]

    def test_a_result_of_another_call_keeps_its_place(self) -> None:
        """A result that is restated, by its id, as that of another call stands where it stood, the first one first."""
        events = [result("c", "x"), result("d", "x"), *said("m", "hi")]
        told = [message("m", "hi"), answer("e", "x"), answer("f", "x")]
        shown = both(*events, snapshot(*told))
        assert [(one["id"], one.get("toolCallId")) for one in shown] == [("x", "e"), ("x#f", "f"), ("m", None)]

    def test_a_restated_call_that_had_its_id_before(self) -> None:
        """Of calls that reuse an id each keeps whether it was answered, by the message that holds it."""
        events = [*called("c", parentMessageId="p"), result(), *called("c", parentMessageId="q")]
        first, second = (message(name, None, (made(),)) for name in "pq")
        assert seen(*events, snapshot(first)).pending_tool_calls == []
        assert seen(*events, snapshot(second)).pending_tool_calls == ["c"]

    def test_may_use_the_id_of_a_message_beside_another(self) -> None:
        """What shows beside another role's message comes back in its place under the id that was made for it."""
        events = [*said("c", "hi", role="user"), *called("c")]
        assert ids(streamed(*events, snapshot(USER, streamed(*events)[1]))) == ["c#assistant", "u"]

    def test_owners_of_all_that_had_an_id(self) -> None:
        """A text and the call's message beside it have one id; that the text was somebody's is not forgotten."""
        events = [text("CHUNK", role="user", delta="hi"), *called("m"), snapshot()]
        assert codes(*events, text("START", subagentRunId="s")) == ["shared-id", "attribution-mismatch"]

    def test_a_dropped_activity_is_gone(self) -> None:
        """A snapshot that holds activities owns them all."""
        events = [activity("a"), snapshot(plan("b", {"n": 1}))]
        assert both(*events) == [plan("b", {"n": 1})]
        assert codes(*events, {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan", "patch": []}) == [
            "activity-unknown"
        ]

    def test_an_open_message_with_calls_goes_on(self) -> None:
        """Text behind restated calls shows behind them."""
        told = message("m", "a", (made("c", "1"),))
        events = [text("START"), text("CONTENT", delta="a"), *called("c", "1", parentMessageId="m"), snapshot(told)]
        events.append(text("CONTENT", delta="b"))
        assert streamed(*events) == [told, message("m#1", "b")]
        assert merged(*events) == [message("m", "ab", (made("c", "1"),))]

    def test_an_open_call_goes_on(self) -> None:
        """A call that was open goes on behind the arguments that the snapshot has."""
        told = message("c", None, (made("c", "12"),))
        events = [
            call("START"),
            call("ARGS", delta="1"),
            snapshot(told),
            call("ARGS", delta="3"),
            call("END"),
            FINISHED,
        ]
        assert merged(*events) == [message("c", None, (made("c", "123"),))]
        assert codes(*events) == []

    def test_shells_of_calls_stay(self) -> None:
        """Arguments that wait for their start wait on."""
        events = [call("ARGS", delta="1"), call("END"), snapshot(USER), call("START")]
        assert both(*events) == [USER, message("c", None, (made("c", "1"),))]

    def test_calls_stand_in_one_message(self) -> None:
        """Two messages of a snapshot may hold calls of one id: both are kept."""
        told = [message("p", None, (made("c", "1"),)), message("q", None, (made("c", "2"),))]
        assert both(snapshot(*told)) == told

    def test_calls_of_one_message_have_ids_of_their_own(self) -> None:
        """Of two calls of one id in one message the last stands."""
        told = message("p", None, (made("c", "1"), made("b"), made("c", "2")))
        assert both(snapshot(told)) == [message("p", None, (made("b"), made("c", "2")))]

    def test_results_stand_behind_their_own_call(self) -> None:
        """Of calls that reuse an id each has its own result behind it, as the snapshot has it."""
        told = [message("p", None, (made("c", "1"),)), answer(), message("q", None, (made("c", "2"),))]
        assert both(snapshot(*told)) == told
        assert seen(snapshot(*told, answer("c", "x2"))).pending_tool_calls == []

    def test_the_newest_call_goes_on(self) -> None:
        """Of calls that reuse an id what follows is the newest's."""
        told = [message("p", None, (made("c", "1"),)), answer(), message("q", None, (made("c", "2"),))]
        shown = merged(snapshot(*told), call("ARGS", delta="3"))
        assert shown == [*told[:2], message("q", None, (made("c", "23"),))]

    def test_a_call_keeps_its_answer(self) -> None:
        """A call that was answered stays so where its result is dropped."""
        events = [*called("c", parentMessageId="p"), result(), snapshot(message("p", None, (made(),)))]
        assert seen(*events).pending_tool_calls == []
        assert both(*events) == [message("p", None, (made(),))]

    def test_answers_calls(self) -> None:
        """A stated result answers its call, open or not, and the interrupts that concern it."""
        told = snapshot(message("p", None, (made(),)), answer())
        assert seen(told).pending_tool_calls == []
        assert seen(*called("c", parentMessageId="p"), told).pending_tool_calls == []
        assert seen(call("START", parentMessageId="p"), told).pending_tool_calls == []
        raised = [interrupted(interrupt("i", toolCallId="c"), interrupt("i2")), STARTED]
        assert [one["id"] for one in seen(*raised, told).interrupts] == ["i2"]

    def test_moves_text_from_its_calls(self) -> None:
        """A producer may restate a text under a new id, and its old id for the calls alone."""
        events = [text("START"), *called("c", "{}", parentMessageId="m"), result(), text("CONTENT", delta="so")]
        told = [USER, message("m", None, (made("c", "{}"),)), answer(), message("m9", "so")]
        events = [snapshot(USER), *events, text("END"), snapshot(*told)]
        assert both(*events) == told

    def test_one_id_twice(self) -> None:
        """Of two messages of one role the later one stands, flagged."""
        events = [snapshot(message("m", "old"), USER, message("m", "new"))]
        assert both(*events) == [message("m", "new"), USER]
        assert details(*events) == ["'m'"]
        assert codes(*events) == ["duplicate-id"]

    def test_one_id_for_two_roles(self) -> None:
        """Messages of two roles under one id are both kept, the later one under an id made of its role."""
        told = [message("m", "hi", role="user"), message("m", "hello"), message("m", "hm", role="reasoning")]
        assert both(snapshot(*told)) == [
            told[0],
            {**told[1], "id": "m#assistant"},
            {**told[2], "id": "m#reasoning"},
        ]
        assert codes(snapshot(*told)) == ["duplicate-id", "duplicate-id"]

    def test_a_role_from_later_is_left_out(self) -> None:
        """A message of an unknown role is dropped from the snapshot, and noted."""
        events = [snapshot(message("n", "x", role="narrator"), USER)]
        assert both(*events) == [USER]
        assert codes(*events) == ["unknown-member"]

    def test_refuses_malformed_messages(self) -> None:
        """A message with a wrong value is malformed, and its place is told."""
        with pytest.raises(MalformedEvent) as raised:
            decode(snapshot(USER, message("m", 7)))
        assert raised.value.path == ("messages", 1, "content")

    def test_needs_a_run(self) -> None:
        """Before any run it is out of place, and taken."""
        assert both(snapshot(USER), onto=EMPTY) == [USER]
        assert codes(snapshot(USER), onto=EMPTY) == ["first-event"]

    def test_owners_outlive_their_messages(self) -> None:
        """Within a run an id stays its owner's though a snapshot has dropped the message or the call."""
        events = [*said("m", "a", subagentRunId="s"), *called("c", subagentRunId="s"), snapshot()]
        assert codes(*events, text("START", subagentRunId="s2")) == ["attribution-mismatch"]
        assert codes(*events, call("START", subagentRunId="s2")) == ["attribution-mismatch"]
        assert codes(*events, text("START", subagentRunId="s"), call("START", subagentRunId="s")) == []
        assert codes(*events, FINISHED, STARTED, text("START", subagentRunId="s2")) == []

    def test_values_go_with_their_messages(self) -> None:
        """A snapshot that restates a message without its encrypted value withdraws it."""
        assert both(*said("m", "a"), value("m"), snapshot(message("m", "a"))) == [message("m", "a")]

    def test_continues_in_the_order_of_the_stream(self) -> None:
        """What streams after a snapshot stands behind it, results behind their calls."""
        events = [*called("c", parentMessageId="p"), snapshot(message("p", None, (made(),)), USER), result()]
        events += [*said("m", "so"), *called("c2"), result("c2", "x2")]
        assert ids(both(*events)) == ["p", "x", "u", "m", "c2", "x2"]


class TestBrokenOff:
    """A run that broke off never told under which ids its messages were stored; the next snapshot does."""

    def test_takes_the_place_of_what_was_left(self) -> None:
        """A new message of the same role behind the same neighbour is the one that was cut off."""
        events = [started(messages=[USER]), text("START", "tmp"), text("CONTENT", "tmp", delta="half")]
        again = message("u2", "again", role="user")
        events += [started("r2", messages=[USER, again])]
        whole = message("lc", "half of it")
        events.append(snapshot(USER, whole, again, message("lc2", "ok")))
        assert both(*events, finished("r2"), onto=EMPTY) == [USER, whole, again, message("lc2", "ok")]

    def test_of_another_role(self) -> None:
        """A message of another role is another message, at the end."""
        events = [started(messages=[USER]), text("START", "tmp"), text("CONTENT", "tmp", delta="half")]
        again = message("u2", "again", role="user")
        events.append(started("r2", messages=[USER, again]))
        told = [USER, message("u3", "new", role="user"), again]
        assert ids(both(*events, snapshot(*told), onto=EMPTY)) == ["u", "u2", "u3"]

    def test_of_a_run_that_ended(self) -> None:
        """A run that ended told its ids, so a new message is new."""
        events = [started(messages=[USER]), *said("tmp", "half"), finished()]
        again = message("u2", "again", role="user")
        events.append(started("r2", messages=[again]))
        assert ids(both(*events, snapshot(USER, message("lc", "half"), again), onto=EMPTY)) == ["u", "u2", "lc"]
        broken = [*events, started("r3"), snapshot(USER, message("lc", "half"), again)]
        assert ids(both(*broken, onto=EMPTY)) == ["u", "u2", "lc"]


def own(told: Any) -> Wire:
    """Return metadata in which a snapshot names the activities it owns."""
    return {"metadata": {"@ag-ui/client": told}}


class TestAuthoritativeActivityTypes:
    """A snapshot may name the activity types that it owns, as the reference client lets it."""

    LEFT = (activity("a", {"n": 1}, "plan"), activity("b", {"n": 2}, "list"))

    @pytest.mark.parametrize(
        ("told", "left"),
        [
            ({"authoritativeActivityTypes": ["plan"]}, ["b"]),
            ({"authoritativeActivityTypes": ["plan", "list"]}, []),
            ({"authoritativeActivityTypes": []}, ["a", "b"]),
            ({"authoritativeActivityTypes": None}, []),
            ({"authoritativeActivityTypes": ["plan", 7]}, ["a", "b"]),
            ({"authoritativeActivityTypes": "plan"}, ["a", "b"]),
            ({}, ["a", "b"]),
            (None, ["a", "b"]),
            (["plan"], ["a", "b"]),
        ],
        ids=repr,
    )
    def test_drops_what_it_owns(self, told: Any, left: list[str]) -> None:
        """A list owns its types, null owns all, anything else owns none."""
        assert ids(both(*self.LEFT, snapshot(**own(told)))) == left

    @pytest.mark.parametrize("told", [{}, {"other": 1}], ids=repr)
    def test_an_activity_in_it_owns_all(self, told: Wire) -> None:
        """Where it says nothing, a snapshot that holds any activity owns all of them."""
        assert ids(both(*self.LEFT, snapshot(plan("p", {"n": 3}), metadata=told))) == ["p"]
        assert ids(both(*self.LEFT, snapshot(plan("p", {"n": 3}), **own({})))) == ["p"]
        assert ids(both(*self.LEFT, snapshot(metadata=told))) == ["a", "b"]


class TestMarks:
    """A snapshot that this library made says how its calls and messages came to stand."""

    TOLD = message("p", None, (made("c", "1"),))

    def test_a_call_that_was_streamed(self) -> None:
        """Arguments of a call that its maker saw streamed are no repetition; those of an unstreamed call may be."""
        again = called("c", "1")
        assert both(snapshot(self.TOLD), *again) == [self.TOLD]
        assert both(snapshot(self.TOLD, metadata={"agui-reducer": {}}), *again) == [
            message("p", None, (made("c", "11"),))
        ]
        unstreamed = {"agui-reducer": {"unstreamed": ["c"]}}
        assert both(snapshot(self.TOLD, metadata=unstreamed), *again) == [self.TOLD]

    def test_a_call_that_was_answered(self) -> None:
        """A call whose result was dropped is answered."""
        answered = {"agui-reducer": {"answered": ["c", 7]}}
        assert seen(snapshot(self.TOLD, metadata=answered)).pending_tool_calls == []
        assert seen(snapshot(self.TOLD)).pending_tool_calls == ["c"]

    def test_a_message_that_has_not_opened(self) -> None:
        """A message that only calls have made opens as text when its text starts, and cuts its lane then."""
        events = [*mused("g", "a"), thought("START"), text("START", "p"), thought("CONTENT", delta="b")]
        unopened = {"agui-reducer": {"unopened": ["p"]}}
        assert ids(streamed(snapshot(self.TOLD, metadata=unopened), *events)) == ["p", "g"]
        assert ids(streamed(snapshot(self.TOLD, metadata=unopened), *events, text("CONTENT", "p", delta="x"))) == [
            "p",
            "g",
            "p#1",
            "g#1",
        ]

    @pytest.mark.parametrize("told", [None, [], "c", {"unstreamed": "c"}, {"answered": None}], ids=repr)
    def test_what_is_no_mark(self, told: Any) -> None:
        """Metadata of another shape under that key says nothing of which calls are exceptions."""
        assert seen(snapshot(self.TOLD, metadata={"agui-reducer": told})).pending_tool_calls == ["c"]
