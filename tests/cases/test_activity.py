"""Activities: messages whose content is an object, replaced and patched (spec: events/activity)."""

from __future__ import annotations

from typing import Any

import pytest

from reducer import MalformedEvent, decode
from tests.cases.build import (
    FINISHED,
    STARTED,
    Wire,
    activity,
    both,
    called,
    codes,
    details,
    message,
    mused,
    said,
    seen,
    text,
)


def patch(*operations: Wire, name: str = "a", kind: str = "plan", **fields: Any) -> Wire:
    """Return an activity delta."""
    told = {"messageId": name, "activityType": kind, "patch": list(operations)}
    return {"type": "ACTIVITY_DELTA", **told, **fields}


def shown(content: Any, name: str = "a", kind: str = "plan", **rest: Any) -> Wire:
    """Return an activity message."""
    return message(name, content, role="activity", activityType=kind, **rest)


ADD = {"op": "add", "path": "/k", "value": 1}


class TestActivitySnapshot:
    """ACTIVITY_SNAPSHOT creates an activity, or replaces it."""

    def test_creates(self) -> None:
        """The content is an object of any depth, shown as it is, nulls included."""
        content = {"steps": [{"done": None}], "": {}}
        told: Wire = {"subagentRunId": "s", "metadata": {"k": 1}}
        assert both(activity("a", content, **told)) == [shown(content, **told)]
        assert both(activity()) == [shown({})]

    def test_replaces_in_place(self) -> None:
        """A second one replaces content, type and owner where the activity stands; metadata merges."""
        events = [activity("a", {"n": 1}, subagentRunId="s", metadata={"x": 1}), *said("m", "hi")]
        events.append(activity("a", {"m": 2}, "list", metadata={"y": 2}))
        assert both(*events) == [shown({"m": 2}, "a", "list", metadata={"x": 1, "y": 2}), message("m", "hi")]
        assert codes(*events) == []

    def test_leaves_an_existing_one_alone(self) -> None:
        """With `replace: false` it creates what is not there, and changes of what is there the metadata alone."""
        keep = {"replace": False}
        assert both(activity("a", {"n": 1}, **keep)) == [shown({"n": 1})]
        events = [
            activity("a", {"n": 1}),
            activity("a", {"n": 2}, "list", **keep, subagentRunId="s", metadata={"k": 1}),
        ]
        assert both(*events) == [shown({"n": 1}, metadata={"k": 1})]

    def test_replaces_where_it_says_so(self) -> None:
        """`replace: true` is what an absent `replace` means."""
        assert both(activity("a", {"n": 1}), activity("a", {"n": 2}, replace=True)) == [shown({"n": 2})]

    def test_takes_the_activity_over(self) -> None:
        """Whoever replaces an activity owns it; whoever leaves it alone does not."""
        own, taken = activity(subagentRunId="s"), activity("a", {}, "plan", subagentRunId="s2")
        assert codes(own, taken, patch(subagentRunId="s2")) == []
        assert codes(own, taken, patch(subagentRunId="s")) == ["attribution-mismatch"]
        assert codes(own, {**taken, "replace": False}, patch(subagentRunId="s")) == []

    def test_tells_a_new_run_whose_it_is(self) -> None:
        """In a run that has not told the activity's owner, the first event that names it does, kept or not."""
        kept = activity("a", {}, "plan", subagentRunId="s2", replace=False)
        events = [activity(subagentRunId="s"), FINISHED, STARTED, kept]
        assert codes(*events, patch(subagentRunId="s2")) == []
        assert both(*events) == [shown({}, subagentRunId="s")]

    def test_ids_outlive_their_run(self) -> None:
        """An id is the thread's: a later run that uses it again replaces the activity where it stands."""
        events = [activity("a", {"run": 1}), *said("m", "hi"), FINISHED, STARTED, activity("a", {"run": 2})]
        assert both(*events) == [shown({"run": 2}), message("m", "hi")]

    def test_cuts_nothing(self) -> None:
        """Text, reasoning and tool-call groups of the lane stay current."""
        events = [*called("c1"), activity(), *called("c2"), text("START"), text("CONTENT", delta="a"), activity("b")]
        events.append(text("CONTENT", delta="b"))
        assert [one["id"] for one in seen(*events).messages] == ["c1", "a", "m", "b"]

    def test_keeps_its_place(self) -> None:
        """It stands where it was first shown, between what streamed before and after."""
        assert [one["id"] for one in both(*said("m", "hi"), activity(), *mused("g", "hm"))] == ["m", "a", "g"]

    def test_shares_an_id_with_a_text(self) -> None:
        """It does not overwrite the text, but shows under an id made of its kind."""
        assert both(*said("a", "keep me"), activity("a", {"n": 1})) == [
            message("a", "keep me"),
            shown({"n": 1}, "a#activity"),
        ]
        assert details(*said("a", "keep me"), activity("a")) == ["activity 'a' beside text"]

    @pytest.mark.parametrize("content", ["text", None, [1], 1], ids=repr)
    def test_refuses_content_that_is_no_object(self, content: Any) -> None:
        """Only an object is an activity's content."""
        with pytest.raises(MalformedEvent) as raised:
            decode({**activity(), "content": content})
        assert raised.value.path == ("content",)

    def test_earlier_snapshots_stay(self) -> None:
        """What was projected before a replacement still reads as it did."""
        before = seen(activity("a", {"n": 1}))
        assert both(activity("a", {"n": 1}), activity("a", {"n": 2})) == [shown({"n": 2})]
        assert before.messages == [shown({"n": 1})]


class TestActivityDelta:
    """ACTIVITY_DELTA patches the content (RFC 6902)."""

    def test_patches(self) -> None:
        """Operations apply to the content; the type is the delta's; metadata merges."""
        events = [activity("a", {"list": []}), patch({**ADD, "path": "/list/-"}, ADD, kind="list", metadata={"x": 1})]
        assert both(*events) == [shown({"list": [1], "k": 1}, "a", "list", metadata={"x": 1})]
        assert codes(*events) == []

    def test_applies_whole_or_not_at_all(self) -> None:
        """A patch that fails leaves content and type as they were; its metadata merges all the same."""
        broken = patch(ADD, {"op": "remove", "path": "/gone"}, kind="list", metadata={"x": 1})
        assert both(activity(), broken) == [shown({}, metadata={"x": 1})]
        assert details(activity(), broken) == ["operation 1 (remove '/gone'): there is no 'gone' in <object of 1>"]
        assert codes(activity(), broken) == ["patch-failed"]

    @pytest.mark.parametrize("value", [[], "text", None, 1], ids=repr)
    def test_keeps_the_content_an_object(self, value: Any) -> None:
        """A patch that would make the content anything else does not apply."""
        events = [activity("a", {"n": 1}), patch({"op": "replace", "path": "", "value": value})]
        assert both(*events) == [shown({"n": 1})]
        assert codes(*events) == ["patch-failed"]

    def test_may_replace_the_whole_object(self) -> None:
        """The root is replaced by another object."""
        assert both(activity("a", {"n": 1}), patch({"op": "add", "path": "", "value": {}})) == [shown({})]

    def test_of_an_unknown_activity(self) -> None:
        """A delta for what nothing created is skipped."""
        assert both(patch(ADD)) == []
        assert codes(patch(ADD), patch(ADD)) == ["activity-unknown", "activity-unknown"]

    def test_of_another_kinds_id(self) -> None:
        """A delta never touches a text that has the id."""
        assert both(*said("a", "hi"), patch(ADD)) == [message("a", "hi")]
        assert codes(*said("a", "hi"), patch(ADD)) == ["activity-unknown"]

    def test_flags_another_owner(self) -> None:
        """A delta that names another owner is flagged and applied."""
        events = [activity(subagentRunId="s"), patch(ADD, subagentRunId="s2")]
        assert both(*events) == [shown({"k": 1}, subagentRunId="s")]
        assert codes(*events) == ["attribution-mismatch"]

    def test_ends_no_chunk_stream(self) -> None:
        """A chunk stream goes on after activities, which may come from anywhere."""
        events = [text("CHUNK", delta="he"), activity(), patch(ADD), text("CHUNK", None, delta="llo")]
        assert both(*events) == [message("m", "hello"), shown({"k": 1})]
