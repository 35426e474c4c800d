"""Faults that were reported in public of other folds of these events: here each is right, and stays so.

A test is named for the fault; its docstring states the fact and names the report. The streams are this project's own.
"""

from __future__ import annotations

from copy import deepcopy
from itertools import accumulate, permutations

import pytest

from reducer import EMPTY, Layout, State, fold, fold_all, fold_strict, hydrate, project, seed
from tests.cases.build import (
    FINISHED,
    IN_RUN,
    STARTED,
    Wire,
    activity,
    after,
    answer,
    both,
    call,
    called,
    codes,
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

ASKED = message("ask", "How tall is it?", role="user")
OPENING = [started(messages=[ASKED])]
ERROR: Wire = {"type": "RUN_ERROR", "message": "connection reset"}

both_layouts = pytest.mark.parametrize("layout", list(Layout))


def thoughts(name: str, content: str, /, **rest: str) -> Wire:
    """Return a reasoning message."""
    return message(name, content, role="reasoning", **rest)


def state(value: object) -> Wire:
    """Return a state snapshot."""
    return {"type": "STATE_SNAPSHOT", "snapshot": value}


def patch(*operations: tuple[str, str, object]) -> Wire:
    """Return a state delta."""
    return {"type": "STATE_DELTA", "delta": [{"op": op, "path": path, "value": new} for op, path, new in operations]}


def ids(messages: list[Wire]) -> list[str]:
    """Return the ids of messages."""
    return [one["id"] for one in messages]


class TestReasoning:
    """Reasoning and its encrypted values."""

    @pytest.mark.parametrize("late", [False, True], ids=["in the run", "in the next run"])
    def test_a_closing_snapshot_without_reasoning_removes_it(self, *, late: bool) -> None:
        """Reasoning that a closing snapshot does not track stays, before its answer (ag-ui-protocol/ag-ui#1262)."""
        told = [*mused("why1", "measure "), *mused("why2", "twice"), *said("tall", "330 m")]
        between = [finished(), STARTED] if late else []
        expected = [ASKED, thoughts("why1", "measure "), thoughts("why2", "twice"), message("tall", "330 m")]
        assert both(*OPENING, *told, *between, snapshot(ASKED, message("tall", "330 m")), onto=EMPTY) == expected

    def test_a_snapshot_that_holds_reasoning_doubles_it(self) -> None:
        """Reasoning that a snapshot has under an id of its own shows once (ag-ui-protocol/ag-ui#1926)."""
        told = [*mused("draft", "measure"), *said("tall", "330 m")]
        final = [ASKED, thoughts("rs-1", "measure"), message("tall", "330 m")]
        shown = both(*OPENING, *told, snapshot(*final), onto=EMPTY)
        assert sorted(ids(shown)) == ["ask", "rs-1", "tall"]
        assert [one for one in shown if one["role"] == "reasoning"] == [final[1]]

    @both_layouts
    def test_a_stored_thread_has_no_reasoning(self, layout: Layout) -> None:
        """What was shown live is what a stored snapshot of it shows (microsoft/agent-framework#8054)."""
        told = [*mused("why", "mea", "sure"), value("why", "sig"), *said("tall", "330 m"), finished()]
        live = seen(*OPENING, *told, onto=EMPTY, layout=layout)
        assert [one["role"] for one in live.messages] == ["user", "reasoning", "assistant"]
        assert seen(snapshot(*live.messages), layout=layout).messages == live.messages
        assert project(fold_all(EMPTY, hydrate(live, "t", "r")), layout).messages == live.messages
        assert project(seed(live.messages), layout).messages == live.messages

    def test_signatures_are_lost_on_the_way_round(self) -> None:
        """A signature survives the way to messages and back (pydantic/pydantic-ai#3971)."""
        told = [
            ASKED,
            thoughts("why", "measure", encryptedValue="sig", encryptedValueType="t"),
            message("tall", "330 m"),
        ]
        live = [*OPENING, *mused("why", "measure"), value("why", "sig", encryptedValueType="t"), *said("tall", "330 m")]
        assert both(*live, onto=EMPTY) == told
        assert both(*live, snapshot(*told), onto=EMPTY) == told
        assert both(snapshot(*told)) == told

    @pytest.mark.parametrize(
        "subtype", [{}, {"subtype": None}, {"subtype": "thought"}], ids=["missing", "null", "other"]
    )
    def test_a_value_without_a_subtype_hits_a_message(self, subtype: Wire) -> None:
        """A value that does not say what it names is attached to nothing (assistant-ui/assistant-ui#5752)."""
        bare = {key: held for key, held in value("why", "sig").items() if key != "subtype"}
        now = fold(after(*mused("why", "measure"), *called("why")), {**bare, **subtype})
        for layout in Layout:
            shown = project(now, layout).messages
            assert all("encryptedValue" not in one for one in shown)
            assert all("encryptedValue" not in one for held in shown for one in held.get("toolCalls", ()))
        assert set(now.session.anomalies.counts) & {"subtype-missing", "unknown-member"}

    def test_a_calls_signature_has_no_place(self) -> None:
        """A value for a tool call stays on it when its start is sent again (ag-ui-protocol/ag-ui#2072)."""
        sealed = value("c", "sig", "tool-call")
        once = called("c", "{}", parentMessageId="p")
        told = [message("p", None, (made("c", "{}", encryptedValue="sig"),)), answer()]
        for place in range(5):
            assert both(
                *[*once, result()][:place], sealed, *[*once, result()][place:], *called("c", parentMessageId="p")
            ) == (told)

    @pytest.mark.parametrize("spelling", ["triads", "chunks"])
    def test_reasoning_inside_an_open_text_stops_the_client(self, spelling: str) -> None:
        """Reasoning may start while a text is open, which then goes on behind it (agno-agi/agno#5466)."""
        hm = mused("why", "measure") if spelling == "triads" else [thought("CHUNK", "why", delta="measure")]
        events = [text("START", "tall"), text("CONTENT", "tall", delta="330"), *hm, text("CONTENT", "tall", delta=" m")]
        assert merged(*events) == [message("tall", "330 m"), thoughts("why", "measure")]
        assert streamed(*events) == [message("tall", "330"), thoughts("why", "measure"), message("tall#1", " m")]


class TestCalls:
    """Tool calls and their results."""

    @pytest.mark.parametrize("parent", [{"parentMessageId": "p"}, {}], ids=["parent", "no parent"])
    @pytest.mark.parametrize("order", list(permutations(["1a", "1b", "2a", "2b"])), ids="-".join)
    def test_parallel_calls_mix_their_arguments(self, order: tuple[str, ...], parent: Wire) -> None:
        """Arguments that interleave are each call's own, in whatever order they come (ag-ui-protocol/ag-ui#1016)."""
        starts = [call("START", name, **parent) for name in "12"]
        deltas = [call("ARGS", piece[0], delta=f"<{piece}>") for piece in order]
        ends = [call("END", "2"), call("END", "1"), result("2", "x2", "two"), result("1", "x1", "one")]
        shown = streamed(*starts, *deltas, *ends)
        told = {name: "".join(f"<{piece}>" for piece in order if piece[0] == name) for name in "12"}
        assert shown[0]["toolCalls"] == [made(name, told[name]) for name in "12"]
        assert shown[1:] == [answer("2", "x2", "two"), answer("1", "x1", "one")]

    def test_text_after_an_empty_parent_shows_again(self) -> None:
        """A text opened only to hold a call shows the call and no text (assistant-ui/assistant-ui#6298)."""
        usage: Wire = {"type": "CUSTOM", "name": "tokens", "value": 7}
        events = [text("START"), call("START", parentMessageId="m"), call("ARGS", delta='{"city"')]
        events += [call("ARGS", delta=':"Rome"}'), usage, call("END"), result("c", "x", "21C"), text("END")]
        events += said("so", "21C in Rome.")
        held = (made("c", '{"city":"Rome"}'),)
        assert merged(*events) == [message("m", "", held), answer("c", "x", "21C"), message("so", "21C in Rome.")]
        assert streamed(*events) == [message("m", None, held), answer("c", "x", "21C"), message("so", "21C in Rome.")]
        assert codes(*events, FINISHED) == []

    def test_calls_under_one_message_replace_each_other(self) -> None:
        """Every call and the whole text of one message id are kept (CopilotKit/CopilotKit#3470)."""
        events = [text("START"), text("CONTENT", delta="Noting."), *called("c1", "1", parentMessageId="m")]
        events += [
            *called("c2", "2", parentMessageId="m"),
            text("CONTENT", delta=" Noted."),
            *called("c3", parentMessageId="m"),
        ]
        events.append(text("END"))
        held = (made("c1", "1"), made("c2", "2"), made("c3"))
        assert merged(*events) == [message("m", "Noting. Noted.", held)]
        assert streamed(*events) == [message("m", "Noting.", held[:2]), message("m#1", " Noted.", held[2:])]

    def test_an_approval_opens_again(self) -> None:
        """A resumed turn is stored once, its call answered, no interrupt left (microsoft/agent-framework#8140)."""
        pending = message("p", None, (made("c", "{}"),))
        events = [*OPENING, *called("c", "{}", parentMessageId="p"), interrupted(interrupt("i", toolCallId="c"))]
        resume = [{"interruptId": "i", "status": "resolved", "payload": {"ok": True}}]
        events += [started("r2", messages=[ASKED, pending], resume=resume), result("c", "x", "sent"), finished("r2")]
        now = seen(*events, onto=EMPTY)
        assert now.messages == [ASKED, pending, answer("c", "x", "sent")]
        assert (now.interrupts, now.pending_tool_calls) == ([], [])

    def test_an_approval_opens_again_on_a_stored_thread(self) -> None:
        """The same holds where the server folds the second run on what it stored (microsoft/agent-framework#8140)."""
        pending = message("p", None, (made("c", "{}"),))
        stored = seed([ASKED, pending], thread_id="t")
        events = [started("r2", messages=[ASKED, pending]), result("c", "x", "sent"), finished("r2")]
        assert both(*events, onto=stored) == [ASKED, pending, answer("c", "x", "sent")]
        assert seen(*events, onto=stored).pending_tool_calls == []

    @pytest.mark.parametrize("chunked", [False, True], ids=["triad", "chunks"])
    @pytest.mark.parametrize("parent", [{}, {"parentMessageId": "p"}], ids=["no parent", "parent"])
    def test_a_snapshot_ahead_of_its_calls_doubles_them(self, *, chunked: bool, parent: Wire) -> None:
        """A call that a snapshot tells before it streams shows once (run-llama/llama_index#20296)."""
        told = [ASKED, message("p", None, (made("c1", '{"n":1}'), made("c2", '{"n":2}')))]
        events = [snapshot(*told)]
        for number in (1, 2):
            name, tool = f"c{number}", {"toolCallName": "find", **parent}
            if chunked:
                events += [call("CHUNK", name, delta='{"n":', **tool), call("CHUNK", None, delta=f"{number}}}")]
            else:
                events += called(name, '{"n":', f"{number}}}", **parent)
        assert both(*events) == told

    def test_a_parent_that_never_starts(self) -> None:
        """Calls of a parent that no text opens are a message of their own (pydantic/pydantic-ai#7527)."""
        events = [*OPENING, *called("c1", parentMessageId="gone"), *called("c2", parentMessageId="gone")]
        events += [result("c1", "x1"), result("c2", "x2"), *said("so", "two")]
        held = message("gone", None, (made("c1"), made("c2")))
        assert both(*events, onto=EMPTY) == [ASKED, held, answer("c1", "x1"), answer("c2", "x2"), message("so", "two")]

    def test_a_parent_that_starts_later(self) -> None:
        """A call for the text after it stands between the texts, where it streamed (ag-ui-protocol/ag-ui#1610)."""
        events = [*said("m1", "Looking:"), *called("c", "{}", parentMessageId="m2"), result(), *said("m2", "Found.")]
        held = (made("c", "{}"),)
        assert merged(*events) == [message("m1", "Looking:"), message("m2", "Found.", held), answer()]
        assert streamed(*events) == [
            message("m1", "Looking:"),
            message("m2", None, held),
            answer(),
            message("m2#1", "Found."),
        ]

    def test_results_under_one_id_replace_each_other(self) -> None:
        """Results that share a message id are each their call's (agentscope-ai/agentscope-java#2907)."""
        events = [
            *called("c1", parentMessageId="p"),
            *called("c2", parentMessageId="p"),
            *called("c3", parentMessageId="p"),
        ]
        events += [result(f"c{number}", "same", f"{number}") for number in (1, 2, 3)]
        shown = both(*events, *said("so", "three"))
        assert [(one["toolCallId"], one["content"]) for one in shown[1:4]] == [("c1", "1"), ("c2", "2"), ("c3", "3")]
        assert len(set(ids(shown))) == 5
        assert seen(*events).pending_tool_calls == []

    def test_a_result_under_its_texts_id(self) -> None:
        """A result that has the id of the text before it leaves that alone (microsoft/agent-framework#5794)."""
        events = [*said("m", "Try."), *called("c", parentMessageId="m"), result("c", "m", "done"), *said("n", "End.")]
        first, second, last = both(*events)
        assert first == message("m", "Try.", (made(),))
        assert (second["role"], second["toolCallId"], second["content"]) == ("tool", "c", "done")
        assert second["id"] != "m"
        assert last == message("n", "End.")


class TestText:
    """Text messages and whose they are."""

    def test_a_second_yes_is_dropped(self) -> None:
        """Messages are known by their ids, never by what they say (microsoft/agent-framework#4682)."""
        events: list[Wire] = []
        for number in (1, 2, 3):
            yes = message(f"u{number}", "yes", role="user")
            events += [started(f"r{number}", messages=[yes]), *said(f"m{number}", "ok"), finished(f"r{number}")]
        shown = both(*events, onto=EMPTY)
        assert ids(shown) == ["u1", "m1", "u2", "m2", "u3", "m3"]
        assert both(*events, snapshot(*shown), onto=EMPTY) == shown

    def test_chunks_are_lost(self) -> None:
        """A stream of chunks alone is as good as any (microsoft/agent-framework-go#715)."""
        events = [text("CHUNK", "m1", role="assistant", delta="So "), text("CHUNK", None, delta="it is")]
        events += [thought("CHUNK", delta="hm"), text("CHUNK", "m2", delta="."), text("CHUNK", None, delta=".")]
        assert both(*events, FINISHED) == [message("m1", "So it is"), thoughts("g", "hm"), message("m2", "..")]
        assert codes(*events, FINISHED) == []

    def test_ids_differ_after_a_broken_stream(self) -> None:
        """The next snapshot's message takes the broken-off one's place (ag-ui-protocol/ag-ui#1863)."""
        again = message("ask2", "And wide?", role="user")
        final = [ASKED, message("id-1", "330 metres"), again, message("id-2", "125 metres")]
        events = [*OPENING, text("START", "tmp"), text("CONTENT", "tmp", delta="330 met")]
        events += [started("r2", messages=[ASKED, again]), snapshot(*final), finished("r2")]
        assert merged(*events, onto=EMPTY) == final
        assert streamed(*events, onto=EMPTY) == final

    def test_an_id_moves_from_the_text_to_its_call(self) -> None:
        """A snapshot may leave a text's id to its call and make another (microsoft/agent-framework#6266)."""
        events = [*OPENING, text("START"), *called("c", "{}", parentMessageId="m"), result("c", "x", "none")]
        events += [text("CONTENT", delta="Nothing."), text("END")]
        final = [ASKED, message("m", None, (made("c", "{}"),)), answer("c", "x", "none"), message("m9", "Nothing.")]
        assert both(*events, snapshot(*final), finished(), onto=EMPTY) == final

    def test_late_metadata_misses_its_message(self) -> None:
        """Metadata merges key by key, on the message or call of its event alone (ag-ui-protocol/ag-ui#2349)."""
        events = [text("START", metadata={"from": "p", "tags": ["a", "b"], "n": 1})]
        events += [
            text("CONTENT", delta="hi", metadata={"tags": ["c"]}),
            text("END", metadata={"n": None, "usage": {"o": 3}}),
        ]
        events += [call("START", parentMessageId="m", metadata={"k": {"a": 1}}), call("END", metadata={"k": {"b": 2}})]
        events += [result(metadata={"ms": 5}), {**state({}), "metadata": {"no": 1}}, finished(metadata={"no": 2})]
        metadata = {"from": "p", "tags": ["c"], "n": None, "usage": {"o": 3}}
        assert both(*events) == [
            message("m", "hi", (made("c", metadata={"k": {"b": 2}}),), metadata=metadata),
            answer(metadata={"ms": 5}),
        ]

    @pytest.mark.parametrize("where", ["first", "middle", "last", "alone"])
    def test_a_chunk_with_metadata_alone_is_lost(self, where: str) -> None:
        """A chunk may tell metadata and nothing else (ag-ui-protocol/ag-ui#2349)."""
        why: Wire = {"metadata": {"finish": "stop"}}
        events = {
            "first": [text("CHUNK", **why), text("CHUNK", delta="hi")],
            "middle": [text("CHUNK", delta="h"), text("CHUNK", None, **why), text("CHUNK", None, delta="i")],
            "last": [text("CHUNK", delta="hi"), text("CHUNK", None, **why)],
            "alone": [*said("m", "hi"), text("CHUNK", **why)],
        }[where]
        assert both(*events) == [message("m", "hi", **why)]


class TestActivities:
    """Activities beside other messages."""

    @pytest.mark.parametrize("spelling", ["triad", "chunk"])
    def test_text_overwrites_an_activity(self, spelling: str) -> None:
        """Text under an activity's id leaves its content an object (ag-ui-protocol/ag-ui#1350)."""
        words = said("v", "Hello") if spelling == "triad" else [text("CHUNK", "v", delta="Hello")]
        shown = both(activity("v", {"stage": "draft"}), *words)
        assert [one["content"] for one in shown if one["role"] == "activity"] == [{"stage": "draft"}]
        assert shown[0]["id"] == "v"
        assert [one["content"] for one in shown if one["role"] == "assistant"] == ["Hello"]

    @pytest.mark.parametrize("replace", [{}, {"replace": True}, {"replace": False}], ids=repr)
    def test_an_activity_deletes_a_message(self, replace: Wire) -> None:
        """An activity under a text's id leaves the text; `replace: false` leaves the activity (TanStack/ai#1323)."""
        events = [*said("m", "Keep me"), activity("m", {"x": 1}, "card", **replace)]
        events += [activity("v", {"y": 1}, "card"), activity("v", {"y": 2}, "card", replace=False)]
        shown = both(*events)
        assert shown[0] == message("m", "Keep me")
        assert [(one["id"], one["content"]) for one in shown[1:]] == [("m#activity", {"x": 1}), ("v", {"y": 1})]

    def test_an_update_changes_what_was_shown(self) -> None:
        """Earlier states and snapshots read as they did before an update (CopilotKit/CopilotKit#4676)."""
        more: Wire = {"op": "add", "path": "/l/-", "value": 3}
        events = [activity("v", {"n": 1, "l": []}), activity("v", {"n": 2, "l": []})]
        events.append({"type": "ACTIVITY_DELTA", "messageId": "v", "activityType": "plan", "patch": [more]})
        states = list(accumulate(events, fold, initial=IN_RUN))
        early = [project(one).messages for one in states]
        expected = [{"n": 1, "l": []}, {"n": 2, "l": []}, {"n": 2, "l": [3]}]
        assert [shown[0]["content"] for shown in early[1:]] == expected
        early[1][0]["content"]["l"].append("mine")
        assert [project(one).messages[0]["content"] for one in states[1:]] == expected

    def test_an_id_without_its_run_comes_again(self) -> None:
        """An activity's id is the thread's, so a later run replaces it (microsoft/agent-framework#7338)."""
        events = [activity("job", {"run": 1}), *said("m", "one"), FINISHED, STARTED, activity("job", {"run": 2})]
        shown = both(*events)
        assert ids(shown) == ["job", "m"]
        assert shown[0]["content"] == {"run": 2}

    def test_an_empty_snapshot_clears_the_chat(self) -> None:
        """An empty snapshot is what it says: messages are gone, activities stay (CopilotKit/CopilotKit#5056)."""
        events = [*OPENING, *said("m", "hello"), activity("v", {"n": 1}), *mused("why", "hm")]
        assert ids(both(*events, snapshot(), onto=EMPTY)) == ["v", "why"]
        again = seen(*events, snapshot(), snapshot(ASKED, message("m", "hello")), onto=EMPTY)
        assert sorted(ids(again.messages)) == ["ask", "m", "v", "why"]


class TestState:
    """The shared state."""

    def test_a_patch_that_fails_swallows_the_end(self) -> None:
        """A patch that fails costs neither the next one nor the run's end (CopilotKit/CopilotKit#4934)."""
        now = seen(state({}), patch(("replace", "/steps", ["a"])), patch(("add", "/ok", 1)), FINISHED)
        assert now.state == {"ok": 1}
        assert now.runs[-1]["status"] == "finished"
        assert now.anomaly_counts == {"patch-failed": 1}
        assert not now.anomalies[0].fatal

    def test_a_nested_path_into_nothing_stops_the_client(self) -> None:
        """A path through what is not there does not apply; made step by step it does (soliplex/soliplex#690)."""
        events = [
            patch(("add", "/base/files", [])),
            patch(("add", "/base", {"files": []}), ("add", "/base/files/-", "f1")),
        ]
        assert seen(*events).state == {"base": {"files": ["f1"]}}
        assert codes(*events) == ["patch-failed"]

    @pytest.mark.parametrize(
        ("operations", "left"),
        [
            ([("replace", "", [1]), ("add", "/-", 2)], [1, 2]),
            ([("add", "", "word")], "word"),
            ([("remove", "", None)], None),
            ([("replace", "", None)], None),
        ],
        ids=["replace", "add", "remove", "null"],
    )
    def test_the_root_is_out_of_reach(self, operations: list[tuple[str, str, object]], left: object) -> None:
        """A patch may replace or remove the whole state (assistant-ui/assistant-ui#4188)."""
        assert seen(state({"k": 1}), patch(*operations)).state == left

    def test_a_null_state_is_no_state(self) -> None:
        """`null` is a state like any other, which has no members to patch (agno-agi/agno#8457)."""
        assert seen(state({"k": 1}), state(None), patch(("add", "/x", 1))).state is None
        assert seen(patch(("add", "/x", 1)), onto=seed(state=None)).state is None
        assert seen(state(None), patch(("replace", "", {"x": 1}))).state == {"x": 1}

    @pytest.mark.parametrize("end", [[ERROR], [], [STARTED, ERROR]], ids=["error", "truncated", "next run"])
    def test_a_run_that_ends_early_leaves_half_a_patch(self, end: list[Wire]) -> None:
        """Patches apply whole: what was applied before a failure stands (soliplex/soliplex#1344)."""
        broken = patch(("replace", "/n", 2), ("replace", "/gone", 1))
        now = seen(state({"n": 0}), patch(("replace", "/n", 1)), broken, *end)
        assert now.state == {"n": 1}

    def test_a_second_snapshot_is_merged(self) -> None:
        """A state snapshot replaces the state; whoever adds a part sends a delta (ag-ui-protocol/ag-ui#945)."""
        assert seen(state({"a": 1}), state({"b": 2})).state == {"b": 2}
        assert seen(state({"a": 1}), patch(("add", "/b", 2))).state == {"a": 1, "b": 2}

    def test_nulls_in_the_state_are_stripped(self) -> None:
        """Nulls, zeros and empty values inside the state are data (soliplex/soliplex#1250)."""
        held = {"why": None, "n": 0, "s": "", "l": [None], "o": {"x": None}, "no": False}
        assert seen(state(held), patch(("add", "/more", None))).state == {**held, "more": None}
        assert seen(started(state=held), onto=EMPTY).state == held
        assert seen(activity("a", held)).messages[0]["content"] == held

    def test_the_callers_objects_are_kept(self) -> None:
        """Nothing that a caller passes in is kept by reference, or changed (trpc-group/trpc-agent-go#2466)."""
        more: Wire = {"op": "add", "path": "/l/-", "value": {"deep": []}}
        events = [state({"a": {"n": 1}}), patch(("replace", "/a/n", 2)), activity("v", {"l": []})]
        events.append({"type": "ACTIVITY_DELTA", "messageId": "v", "activityType": "plan", "patch": [more]})
        events.append(snapshot(message("m", [{"type": "text", "text": "hi"}], role="user", metadata={"k": [1]})))
        untouched = deepcopy(events)
        now: State = fold_all(IN_RUN, events)
        before = project(now).to_dict()
        assert events == untouched
        events[0]["snapshot"]["a"]["n"] = 7
        events[2]["content"]["l"].append("mine")
        more["value"]["deep"].append("mine")
        events[4]["messages"][0]["content"][0]["text"] = "mine"
        events[4]["messages"][0]["metadata"]["k"].append("mine")
        assert project(now).to_dict() == before
        held = [message("m", [{"type": "text", "text": "hi"}], role="user")]
        initial: Wire = {"a": []}
        stored = seed(held, initial)
        held[0]["content"][0]["text"] = initial["a"] = "mine"
        assert project(stored).messages[0]["content"] == [{"type": "text", "text": "hi"}]
        assert project(stored).state == {"a": []}


class TestRuns:
    """Runs, steps and interrupts."""

    def test_an_interrupt_without_a_time_blocks_the_thread(self) -> None:
        """An interrupt is open until it is answered, whatever its time says (ag-ui-protocol/ag-ui#2525)."""
        asked = [interrupt("i1"), interrupt("i2", expiresAt="2020-01-01T00:00:00Z")]
        assert seen(interrupted(*asked)).interrupts == asked
        resume = [{"interruptId": one["id"], "status": "cancelled"} for one in asked]
        assert seen(interrupted(*asked), started("r2", resume=resume)).interrupts == []
        assert seen(interrupted(*asked), started("r2", resume=resume[:1])).interrupts == asked[1:]

    def test_steps_overlap(self) -> None:
        """Steps may overlap; where they do not pair they are flagged and cost no text (ag-ui-protocol/ag-ui#174)."""
        steps = [
            ("STARTED", "a"),
            ("STARTED", "b"),
            ("STARTED", "a"),
            ("FINISHED", "a"),
            ("FINISHED", "z"),
            ("FINISHED", "b"),
        ]
        events = [{"type": f"STEP_{verb}", "stepName": name} for verb, name in steps]
        for place in range(len(events)):
            shown = both(*events[:place], *said("m", "t"), *events[place:], FINISHED)
            assert shown == [message("m", "t")]
        assert codes(*events, FINISHED) == ["step-already-open", "step-not-open"]

    def test_cleaning_up_after_a_failure_throws(self) -> None:
        """Ends that follow a failure change nothing, and the thread goes on (CopilotKit/CopilotKit#5812)."""
        events = [*OPENING, text("START"), text("CONTENT", delta="half"), call("START", parentMessageId="m")]
        events += [call("ARGS", delta='{"a'), ERROR, text("END"), call("END")]
        again = message("ask2", "again", role="user")
        events += [started("r2", messages=[again]), *said("m2", "ok"), finished("r2")]
        now = seen(*events, onto=EMPTY)
        assert now.messages == [ASKED, message("m", "half", (made("c", '{"a'),)), again, message("m2", "ok")]
        assert now.pending_tool_calls == ["c"]
        assert [run["status"] for run in now.runs] == ["error", "finished"]

    def test_a_cancelled_run_looks_like_a_success(self) -> None:
        """A run that was cancelled says so, and keeps what it delivered (ag-ui-protocol/ag-ui#2417)."""
        stopped = finished(outcome={"type": "cancelled"})
        now = seen(*said("m", "one two"), stopped)
        assert (now.runs[-1]["status"], now.interrupts) == ("cancelled", [])
        assert now.messages == [message("m", "one two")]
        assert fold_strict(after(*said("m", "one two")), stopped).position == 5
        assert seen(finished()).runs[-1]["status"] == "finished"
