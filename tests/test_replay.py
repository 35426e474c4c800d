"""Hydration and rejoining: what the events say is what the state says, to this library and to the reference client."""

from __future__ import annotations

import json
from functools import reduce
from typing import Any

import pytest
from ag_ui.core import BaseEvent
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from reducer import (
    EMPTY,
    Event,
    Layout,
    MalformedEvent,
    ProtocolViolation,
    State,
    decode,
    fold,
    fold_all,
    fold_strict,
    hydrate,
    project,
    rejoin,
    seed,
)
from reducer._frozen import to_wire
from reducer._laws.judging import thread
from reducer._objects import event_object
from reducer.laws import hydration, rejoining
from reducer.strategies import broken_streams, events, streams
from tests.reference_client import ReferenceClient

Stream = list[dict[str, Any]]
ALL: dict[str, Any] = {"early_values": True, "value_types": True, "echoed_state": True, "foreign_results": True}
ANY = st.one_of(streams(**ALL, drop_open=True), streams(**ALL, shared_ids=True))

START: dict[str, Any] = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISH: dict[str, Any] = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
FAILURE: dict[str, Any] = {"type": "RUN_ERROR", "message": "out of luck", "code": "E1"}
ASKS: dict[str, Any] = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "input"}]}
CALL: dict[str, Any] = {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
HOLDER: dict[str, Any] = {"id": "m", "role": "assistant", "toolCalls": [CALL]}


def wired(events: list[Any]) -> Stream:
    """Return events in wire form."""
    return [event.to_dict() if isinstance(event, Event) else to_wire(event) for event in events]


def text(name: str, *deltas: str) -> Stream:
    """Return a whole message."""
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": name},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": delta} for delta in deltas),
        {"type": "TEXT_MESSAGE_END", "messageId": name},
    ]


def call(name: str, parent: str | None = None) -> Stream:
    """Return a whole call."""
    inside = {} if parent is None else {"parentMessageId": parent}
    return [
        {"type": "TOOL_CALL_START", "toolCallId": name, "toolCallName": "f", **inside},
        {"type": "TOOL_CALL_END", "toolCallId": name},
    ]


def result(name: str, call_id: str) -> dict[str, Any]:
    """Return a result."""
    return {"type": "TOOL_CALL_RESULT", "messageId": name, "toolCallId": call_id, "content": "done"}


def restated(*messages: dict[str, Any]) -> dict[str, Any]:
    """Return a messages snapshot."""
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def folded(stream: list[Any], state: State = EMPTY) -> State:
    """Return the state after the stream."""
    return reduce(fold, stream, state)


def plain(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out what is there and empty, which the reference client has at times."""
    empty: dict[str, Any] = {"toolCalls": [], "metadata": {}}
    return [{k: v for k, v in message.items() if k not in empty or v != empty[k]} for message in messages]


class TestHydration:
    """Folding `hydrate(project(s))` projects to the same messages, state and interrupts."""

    @given(ANY, st.integers(0, 200))
    def test_hydration(self, stream: Stream, place: int) -> None:
        """The law, in both layouts, and the events are a run that `fold_strict` takes."""
        hydration(stream, at=[place % (len(stream) + 1), len(stream)])

    @given(ANY)
    def test_mapping(self, stream: Stream) -> None:
        """What was stored of a snapshot as JSON is told by the same events."""
        snapshot = project(folded(stream))
        assert hydrate(json.loads(json.dumps(snapshot.to_dict())), "t", "r") == hydrate(snapshot, "t", "r")

    @pytest.mark.parametrize("layout", list(Layout))
    def test_reference(self, reference: ReferenceClient, layout: Layout) -> None:
        """Fed to the reference client, the events give exactly the snapshot's messages, state and interrupts."""
        snapshots = [project(folded(stream), layout) for stream in drawn(100, streams())]
        outcomes = reference.replay([wired(hydrate(snapshot, "t", "r")) for snapshot in snapshots])
        for snapshot, outcome in zip(snapshots, outcomes, strict=True):
            assert outcome.valid, outcome.error
            assert plain(outcome.messages) == plain(snapshot.messages)
            assert (outcome.state, outcome.interrupts) == (snapshot.state, snapshot.interrupts)

    def test_objects(self) -> None:
        """The events are objects of the SDK, and say the same in wire form."""
        events = hydrate(project(folded([START, *text("m", "hi"), FINISH])), "t", "r")
        assert all(isinstance(event, BaseEvent) for event in events)
        assert folded(wired(events)) == folded(events)

    def test_any_state(self) -> None:
        """A state of any make comes back."""
        values: list[Any] = [None, [], 0, "", {"a": [None]}]
        for value in values:
            stream = [START, {"type": "STATE_SNAPSHOT", "snapshot": value}, FINISH]
            assert project(folded(hydrate(project(folded(stream)), "t", "r"))).state == value


def edited(**parts: Any) -> dict[str, Any]:
    """Return a stored snapshot that somebody has been at."""
    return {**project(folded([START, *text("m", "hi"), *call("c"), FINISH])).to_dict(), **parts}


BAD: list[tuple[Any, tuple[Any, ...]]] = [
    (None, ()),
    ("{}", ()),
    ({"messages": [], "state": {}}, ("interrupts",)),
    ({"messages": [], "interrupts": []}, ("state",)),
    (edited(messages=None), ("messages",)),
    (edited(messages=[{"id": "m", "role": "assistant", "content": 1}]), ("messages", 0, "content")),
    (edited(messages=[{"role": "assistant"}]), ("messages", 0, "id")),
    (edited(messages=[{"id": "m", "role": "assistent", "content": "hi"}]), ("messages", 0)),
    (edited(messages=[{"id": "m", "role": "assistant", "text": "hi"}]), ("messages", 0, "text")),
    (edited(messages=[HOLDER, {"id": "m", "role": "user", "content": ""}]), ("messages", 1, "id")),
    (edited(messages=[{**HOLDER, "toolCalls": [CALL, CALL]}]), ("messages", 0, "toolCalls", 1, "id")),
    (edited(state={"a": float("nan")}), ("state", "a")),
    (edited(interrupts=None), ("interrupts",)),
    (edited(interrupts={}), ("interrupts",)),
    (edited(interrupts=[{"id": "i"}]), ("interrupts", 0, "reason")),
    (edited(interrupts=[{"id": "i", "reason": "a", "why": 1}]), ("interrupts", 0, "why")),
    (edited(interrupts=[{"id": "i", "reason": "a"}] * 2), ("interrupts", 1, "id")),
]


@pytest.mark.parametrize(("snapshot", "path"), BAD, ids=[f"{number}-{path}" for number, (_, path) in enumerate(BAD)])
def test_bad_snapshot(snapshot: Any, path: tuple[Any, ...]) -> None:
    """A snapshot that was edited into something that no thread can be is refused, with the place of the fault."""
    with pytest.raises(MalformedEvent) as caught:
        hydrate(snapshot, "t", "r")
    assert caught.value.path == path
    assert str(caught.value)


RESULT_DROPPED = [START, *call("c", "m"), result("x", "c"), restated(HOLDER), *text("m", "hi"), FINISH]
DROPPED = [START, text("m")[0], *call("c", "m")[:1], restated(), call("c")[1], text("m")[1], FINISH]
RESULT_FIRST = [START, result("x", "c"), *call("c", "m"), FINISH]
DROPPED_HOME = [
    START,
    call("c")[0],
    restated({"id": "m", "role": "user", "content": "hi"}, {**HOLDER, "id": "c", "toolCalls": []}),
]
REUSED = [START, *call("c"), result("x", "c"), call("c", "m")[0], result("y", "c"), call("c")[1], FINISH]
ASKED_TWICE = [
    {**START, "input": {"threadId": "t", "runId": "r", "messages": []}},
    {**FINISH, "outcome": ASKS},
    {**START, "runId": "r2"},
    {**FINISH, "runId": "r2", "outcome": {"type": "interrupt", "interrupts": [{"id": "i2", "reason": "input"}]}},
]


CHUNK: dict[str, Any] = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "x", "subagentRunId": "s"}


class TestRejoining:
    """`rejoin(s)` and then the rest of the stream gives, MERGED, what the whole stream gives, wherever it is cut."""

    @given(streams(**ALL, drop_open=True), st.integers(0, 200))
    @example(RESULT_DROPPED, 5)
    @example(RESULT_FIRST, 4)
    @example(DROPPED, 4)
    @example(DROPPED_HOME, 3)
    @example(REUSED, 5)
    @example(ASKED_TWICE, 4)
    def test_rejoining(self, stream: Stream, place: int) -> None:
        """The law, for messages, state, interrupts, pending calls and the last run; what comes is valid all the way."""
        reduce(fold_strict, stream, EMPTY)
        rejoining(stream, at=[place % (len(stream) + 1)])

    @pytest.mark.slow
    def test_reference(self, reference: ReferenceClient) -> None:
        """To the reference client, too, a late reader ends up where everyone else is."""
        valid = [*drawn(60, streams()), *drawn(40, AGAIN)]
        cases = [(stream, cut) for stream in valid for cut in range(0, len(stream) + 1, 4)]
        whole = reference.replay([stream for stream, _ in cases])
        late = reference.replay([[*wired(rejoin(folded(stream[:cut]))), *stream[cut:]] for stream, cut in cases])
        for expected, actual, case in zip(whole, late, cases, strict=True):
            assert actual.accepted, (actual.error, case)
            assert plain(actual.messages) == plain(expected.messages), case
            assert (actual.state, actual.truncated) == (expected.state, expected.truncated), case
            assert actual.run_error == expected.run_error, case

    @given(streams(**ALL))
    def test_finished(self, stream: Stream) -> None:
        """Of a thread between runs `rejoin` tells what hydration tells."""
        state = folded(stream)
        shown = project(state, Layout.MERGED)
        if shown.runs and shown.runs[-1]["status"] in ("finished", "interrupted", "cancelled"):
            again = project(folded(hydrate(shown, "t1", "r")), Layout.MERGED)
            assert thread(project(folded(rejoin(state)), Layout.MERGED)) == thread(again)

    @given(st.one_of(broken_streams(), events(max_size=20)))
    @example([START, CHUNK, text("m")[1]])
    def test_whatever_comes(self, stream: Stream) -> None:
        """At any point of any stream there are events, and they fold."""
        state = EMPTY
        for event in stream:
            try:
                state = fold(state, event)
            except MalformedEvent:
                continue
            assert project(fold_all(EMPTY, rejoin(state))).state == project(state).state

    def test_nothing(self) -> None:
        """Before anything was said there is nothing to tell."""
        assert rejoin(EMPTY) == []

    def test_seeded(self) -> None:
        """A stored thread is told before its first run."""
        state = seed([{"id": "u", "role": "user", "content": "hi"}], {"a": 1}, "t")
        events = rejoin(state)
        assert thread(project(reduce(fold_strict, events, EMPTY))) == thread(project(state))
        assert wired(events)[0]["threadId"] == "t"

    def test_failure(self) -> None:
        """A run that failed does not pass for one that succeeded, nor does it retire what earlier runs asked."""
        state = folded([START, {**FINISH, "outcome": ASKS}, START, *text("m", "hi"), FAILURE])
        shown = project(reduce(fold_strict, rejoin(state), EMPTY))
        assert [run["status"] for run in shown.runs] == ["interrupted", "error"]
        assert shown.interrupts == ASKS["interrupts"]
        assert shown.runs[-1]["error"] == {"message": "out of luck", "code": "E1"}

    def test_failure_before_any_run(self) -> None:
        """A failure to start is told as it was, and the thread's id stays open."""
        assert wired(rejoin(folded([FAILURE]))) == [FAILURE]
        late = wired(rejoin(fold(seed([{"id": "u", "role": "user", "content": "hi"}], {}, "t"), FAILURE)))
        assert [event["type"] for event in late][-2:] == ["RUN_FINISHED", "RUN_ERROR"]

    def test_ending(self) -> None:
        """The last run's own ending is told: its outcome, what it returned, what it used."""
        end = {
            **FINISH,
            "outcome": {"type": "success", "pendingToolCallIds": ["c"]},
            "result": {"answer": 42},
            "usage": [{"model": "x", "inputTokens": 1}],
        }
        assert wired(rejoin(folded([START, *call("c"), end])))[-1] == end
        cancelled = {**FINISH, "outcome": {"type": "cancelled"}}
        assert wired(rejoin(folded([START, cancelled])))[-1] == cancelled

    def test_open_arguments(self) -> None:
        """The arguments of an open call are streamed again, so that a reader sees them come."""
        opening = [START, *call("c", "m")[:1], {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"a"'}]
        events = wired(rejoin(folded(opening)))
        [snapshot] = [event for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
        assert snapshot["messages"][0]["toolCalls"][0]["function"]["arguments"] == ""
        assert events[-2:] == [
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"a"'},
        ]

    def test_orphaned_arguments(self) -> None:
        """Arguments that came before their call's start are kept for it, as in the whole stream."""
        early = [START, {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"}]
        rest = [*call("c", "m"), FINISH]
        late = project(folded([*rejoin(folded(early)), *rest]), Layout.MERGED)
        assert thread(late) == thread(project(folded([*early, *rest]), Layout.MERGED))

    def test_tags_of_two_runs(self) -> None:
        """Where a later run opens another's message again, its tag is not repeated beside the message's owner."""
        owned = [{**event, "subagentRunId": "s1"} for event in text("m", "hi")]
        state = folded([START, *owned, FINISH, {**START, "runId": "r2"}, text("m")[0]])
        state = fold(state, {"type": "REASONING_START", "messageId": "g", "subagentRunId": "s2"})
        events = wired(rejoin(state))
        assert {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"} in events
        assert {"type": "REASONING_START", "messageId": "g", "subagentRunId": "s2"} in events
        reduce(fold_strict, events, EMPTY)

    def test_latest_lane(self) -> None:
        """The lane whose chunk stream was used last is told last."""
        chunks = [
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": name, "delta": "x", "subagentRunId": owner}
            for name, owner in (("a", "s1"), ("b", "s2"), ("a", "s1"))
        ]
        events = wired(rejoin(folded([START, *chunks])))
        assert [event["messageId"] for event in events if event["type"] == "TEXT_MESSAGE_CHUNK"] == ["b", "a"]


class TestMark:
    """What a snapshot made here says beside its messages is for this library, and harms nobody."""

    def test_streamed_again(self) -> None:
        """A call that was streamed before the snapshot is appended to, as in the stream; a stated one may repeat."""
        whole = {**CALL, "function": {"name": "f", "arguments": "{}"}}
        again = [call("c")[0], {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"}, call("c")[1]]
        told = restated({**HOLDER, "toolCalls": [whole]})
        cases: list[tuple[dict[str, Any], str]] = [({}, "{}"), ({"agui-reducer": {}}, "{}{}")]
        for metadata, arguments in cases:
            shown = project(folded([START, {**told, "metadata": metadata}, *again])).messages
            assert shown[0]["toolCalls"][0]["function"]["arguments"] == arguments

    @pytest.mark.parametrize(
        "told",
        [
            *(None, 1, [], {"rows": {"m": 10**9}}, {"rows": {"m": -1, "n": "2"}}, {"rows": 1}, {"current": {"m": 1}}),
            *({"shells": [1, None]}, {"current": ["m", "nobody"], "rows": {"m": 2}, "unopened": ["m"]}),
        ],
        ids=str,
    )
    def test_hand_made(self, told: Any) -> None:
        """Whatever stands there, the messages of the snapshot show as they are."""
        messages = [
            {"id": "m", "role": "assistant", "content": "hi"},
            {"id": "n", "role": "reasoning", "content": "so"},
        ]
        event = {**restated(*messages), "metadata": {"agui-reducer": told}}
        for opened in ([], text("m")[:1]):
            for layout in Layout:
                assert project(folded([START, *opened, event]), layout).messages == messages


class TestObjects:
    """Events go out as objects of the installed SDK, or decoded where that cannot say them."""

    def test_beyond_the_sdk(self) -> None:
        """What the SDK has no class for, or refuses, comes as a decoded event."""
        for wire in ({"type": "NO_SUCH_EVENT"}, {**FINISH, "outcome": {"type": "no such outcome"}}):
            event = event_object(wire)
            assert isinstance(event, Event)
            assert event == decode(wire)

    def test_refused(self) -> None:
        """What the schema rejects is refused, whatever the SDK would make of it."""
        with pytest.raises(MalformedEvent):
            event_object({"type": "STEP_STARTED", "stepName": 1})


def drawn(count: int, strategy: st.SearchStrategy[Stream]) -> list[Stream]:
    """Draw streams, the same on every run."""
    found: list[Stream] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(stream: Stream) -> None:
        found.append(stream)

    collect()
    return found


def test_batch() -> None:
    """The events fold in one batch as they do one by one."""
    events = rejoin(folded([START, *text("m", "hi")[:2]]))
    assert fold_all(EMPTY, events) == folded(events)


def joined(runs: tuple[Stream, Stream]) -> Stream:
    """Put two threads of one run one after the other, so that the second run uses the ids of the first again."""
    first, second = runs
    boundary = {"RUN_STARTED", "RUN_FINISHED"}
    later = [{**event, "runId": "again"} if event["type"] in boundary else event for event in second]
    # A result under another's id is told under an id that is made for it, which is not what this is about.
    return first + [
        {**event, "messageId": f"{event['messageId']}'"} if event["type"] == "TOOL_CALL_RESULT" else event
        for event in later
    ]


def accepted(stream: Stream) -> bool:
    """Say whether the stream is valid, and gives no call's id to another call."""
    try:
        state = reduce(fold_strict, stream, EMPTY)
    except ProtocolViolation:
        return False
    return "call-reused" not in project(state).anomaly_counts


RUN = streams(runs=1, echoes=False, snapshots=False, interrupts=False)
AGAIN = st.tuples(RUN, RUN).map(joined).filter(accepted)


@given(AGAIN, st.integers(0, 200))
def test_ids_used_again(stream: Stream, place: int) -> None:
    """A late reader of a run that uses an earlier one's ids, for other owners too, reads on to the end."""
    rejoining(stream, at=[place % (len(stream) + 1)])


def tagged(events: Stream, owner: str) -> Stream:
    """Attribute the first of the events."""
    return [{**events[0], "subagentRunId": owner}, *events[1:]]


SECOND: dict[str, Any] = {**START, "runId": "r2"}
NOTHING: dict[str, Any] = {"threadId": "t", "runId": "r2", "tools": [], "context": [], "forwardedProps": {}}
SAID = text("m", "hi")
OWNED: dict[str, Stream] = {
    "another owner's call": [START, *call("c"), FINISH, SECOND, *tagged(call("c"), "s")],
    "another owner's text": [START, *SAID, FINISH, SECOND, *tagged(SAID, "s")],
    "another owner's text, with every tag": [
        *(START, *SAID, FINISH, SECOND, *({**event, "subagentRunId": "s"} for event in SAID)),
    ],
    "another owner's call, with every tag": [
        *(START, *call("c"), FINISH, SECOND, *({**event, "subagentRunId": "s"} for event in call("c"))),
    ],
    "the same owner's text, again": [
        *(START, *tagged(SAID, "s"), *text("n", "ho"), FINISH, SECOND, *tagged(SAID, "s")),
        *(SAID[0], {**SAID[1], "subagentRunId": "s"}, SAID[2]),
    ],
    "the same owner's call, again": [
        *(START, *tagged(call("c", "m"), "s"), *text("n", "ho"), FINISH, SECOND, *tagged(call("c", "m"), "s")),
        *(call("c", "m")[0], {**call("c", "m")[1], "subagentRunId": "s"}),
    ],
    "what the input says": [
        *(START, *tagged(call("c", "m"), "s"), FINISH),
        {
            **SECOND,
            "input": {**NOTHING, "state": {}, "messages": [{**HOLDER, "subagentRunId": "s"}]},
        },
        *(SAID[0], {**SAID[1], "subagentRunId": "s"}, SAID[2]),
    ],
}


@pytest.mark.parametrize("stream", OWNED.values(), ids=OWNED)
def test_owners(stream: Stream) -> None:
    """Whose an id is in the run that goes on is known to a late reader as well, and nothing more is."""
    whole = [*stream, {**FINISH, "runId": "r2"}]
    reduce(fold_strict, whole, EMPTY)
    rejoining(whole)
    for cut in range(1, len(whole)):
        reduce(fold_strict, [*rejoin(folded(whole[:cut])), *whole[cut:]], EMPTY)


def test_value_between_runs() -> None:
    """An encrypted value whose call comes in a later run reaches a reader who came between the two."""
    early = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": "c", "encryptedValue": "v"}
    whole = [START, early, FINISH, SECOND, *call("c"), {**FINISH, "runId": "r2"}]
    rejoining(whole)
    late = project(folded([*rejoin(folded(whole[:3])), *whole[3:]]))
    assert late.messages[0]["toolCalls"][0]["encryptedValue"] == "v"


def test_late_failure() -> None:
    """A run that had finished and then failed is told with both of its ends."""
    end = {**FINISH, "outcome": {"type": "success"}, "result": 42}
    assert wired(rejoin(folded([START, end, FAILURE])))[-2:] == [end, FAILURE]
    asks = {**FINISH, "outcome": ASKS}
    assert wired(rejoin(folded([START, asks, FAILURE])))[-2:] == [asks, FAILURE]
    rejoining([START, asks, FAILURE])
