"""Bad input: what somebody sends to hurt, or what a slip makes of an event. A fold survives it, and says what it was.

Nothing but a `ReducerError` ever leaves the fold, no nesting is too deep, memory stays in the order of what is kept.
"""

from __future__ import annotations

import copy
import gc
import json
import pickle
import tracemalloc
from collections import ChainMap, OrderedDict, UserDict, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import reduce
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import pytest
from ag_ui import core
from ag_ui.core import (
    CustomEvent,
    EventType,
    RunErrorEvent,
    RunStartedEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
)
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from reducer import (
    EMPTY,
    Layout,
    MalformedEvent,
    Snapshot,
    State,
    TruncatedRun,
    compact,
    decode,
    dumps,
    finish,
    fold,
    fold_all,
    fold_strict,
    hydrate,
    loads,
    project,
    rejoin,
    seed,
)
from reducer._frozen import Unfreezable, freeze, to_wire
from reducer._frozen import same as alike
from reducer._schema import EVENTS
from reducer._session import KEPT
from reducer.strategies import json_values
from tests.cases.build import (
    FINISHED,
    IN_RUN,
    RUN,
    STARTED,
    Wire,
    activity,
    after,
    call,
    finished,
    interrupt,
    interrupted,
    made,
    message,
    mused,
    result,
    said,
    snapshot,
    started,
    text,
    thought,
)
from tests.wire_samples import events as samples

LEVELS = 10_000


def nested(levels: int = LEVELS, *, objects: bool = False) -> Any:
    """Return JSON of so many levels."""
    value: Any = 1
    for _ in range(levels):
        value = {"k": value} if objects else [value]
    return value


def depth(value: Any) -> int:
    """Return how many levels JSON has, each of one member."""
    levels = 0
    while isinstance(value, (dict, list)):
        value = value["k"] if isinstance(value, dict) else value[0]
        levels += 1
    return levels


DEEP, DEEP_OBJECT = nested(), nested(objects=True)
PARTS = [{"type": "text", "text": "x", "metadata": DEEP}]
RESPONSE = {"type": "interrupt", "interrupts": [interrupt("i", responseSchema=DEEP_OBJECT)]}
PATCH = {"op": "add", "path": "/k", "value": DEEP}
DEEP_STREAMS: dict[str, list[Wire]] = {
    "state": [{"type": "STATE_SNAPSHOT", "snapshot": DEEP}],
    "state of objects": [{"type": "STATE_SNAPSHOT", "snapshot": DEEP_OBJECT}],
    "patch": [{"type": "STATE_DELTA", "delta": [PATCH]}],
    "patch into the deep": [
        {"type": "STATE_SNAPSHOT", "snapshot": DEEP_OBJECT},
        {"type": "STATE_DELTA", "delta": [{**PATCH, "path": "/k" * LEVELS}]},
    ],
    "test": [{"type": "STATE_DELTA", "delta": [{"op": "test", "path": "", "value": DEEP}]}],
    "echoed state": [FINISHED, started("r2", state=DEEP)],
    "activity": [activity("a", DEEP_OBJECT)],
    "activity patch": [
        activity(),
        {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan", "patch": [PATCH]},
    ],
    "metadata": [text("START", metadata=DEEP_OBJECT), text("CONTENT", delta="x", metadata=DEEP_OBJECT)],
    "call metadata": [call("START", metadata={"k": DEEP})],
    "tool result": [result("c", "x", PARTS)],
    "messages": [snapshot(message("m", PARTS, role="user", metadata=DEEP_OBJECT))],
    "run result": [finished(result=DEEP)],
    "interrupt": [finished(outcome=RESPONSE)],
    "subagent result": [
        {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "scout"},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "result": DEEP},
    ],
    "raw": [{"type": "RAW", "event": DEEP}],
    "raw event": [text("START", rawEvent=DEEP)],
    "custom": [{"type": "CUSTOM", "name": "n", "value": DEEP}],
    "unknown property": [text("START", later=DEEP)],
    "unknown type": [{"type": "FROM_LATER", "later": DEEP}],
}
each_deep = pytest.mark.parametrize("name", DEEP_STREAMS)

MALFORMED: dict[str, Wire] = {
    "id": {"type": "TEXT_MESSAGE_START", "messageId": DEEP},
    "type": {"type": DEEP},
    "metadata": text("START", metadata=DEEP),
    "patch": {"type": "STATE_DELTA", "delta": DEEP_OBJECT},
    "timestamp": text("START", timestamp=DEEP_OBJECT),
    "huge integer": {"type": "TEXT_MESSAGE_START", "messageId": 10**5000},
}
each_malformed = pytest.mark.parametrize("name", MALFORMED)


class TestDepth:
    """JSON that is nested ten thousand levels deep is JSON like any other."""

    @each_deep
    def test_folds(self, name: str) -> None:
        """It folds in every form, strictly or not, and what results can be looked at."""
        stream = DEEP_STREAMS[name]
        state = reduce(fold, stream, IN_RUN)
        decoded = [decode(event) for event in stream]
        assert fold_all(IN_RUN, decoded).position == reduce(fold_strict, stream, IN_RUN).position == state.position
        for layout in Layout:
            told = project(state, layout).to_dict()
            assert told["threadId"] == "t"
        for shown in (state, project(state), *decoded, *project(state).anomalies):
            assert len(repr(shown)) < 400

    def test_comes_out_whole(self) -> None:
        """All of its levels come out again."""
        assert depth(project(after(*DEEP_STREAMS["state"])).to_dict()["state"]) == LEVELS
        assert depth(project(after(*DEEP_STREAMS["activity"])).to_dict()["messages"][0]["content"]) == LEVELS
        assert depth(project(reduce(fold, DEEP_STREAMS["run result"], IN_RUN)).to_dict()["runs"][0]["result"]) == LEVELS
        assert depth(project(after(*DEEP_STREAMS["patch into the deep"])).state) == 2 * LEVELS

    @each_deep
    def test_compares(self, name: str) -> None:
        """States that hold it compare."""
        one, other = (reduce(fold, copy_of(DEEP_STREAMS[name]), IN_RUN) for _ in range(2))
        assert one == other
        assert one != fold(other, FINISHED)

    @each_deep
    def test_snapshots_compare(self, name: str) -> None:
        """Snapshots that hold it compare."""
        one, other = (project(reduce(fold, copy_of(DEEP_STREAMS[name]), IN_RUN)) for _ in range(2))
        assert one == other

    @pytest.mark.parametrize("name", ["state", "activity", "metadata", "messages", "subagent result"])
    def test_is_stored(self, name: str) -> None:
        """A checkpoint holds it."""
        state = reduce(fold, DEEP_STREAMS[name], IN_RUN)
        assert loads(dumps(state)) == state

    @pytest.mark.parametrize("name", ["state", "activity", "metadata", "messages", "subagent result", "interrupt"])
    def test_is_replayed(self, name: str) -> None:
        """It is told again, to a late reader and in a shorter log."""
        state = reduce(fold, DEEP_STREAMS[name], IN_RUN)
        shown = project(state, Layout.MERGED)
        assert same(fold_all(EMPTY, rejoin(state)), shown)
        assert same(fold_all(EMPTY, compact([STARTED, *DEEP_STREAMS[name]])), shown)
        assert same(fold_all(EMPTY, hydrate(shown, "t", "r")), shown)

    @each_deep
    def test_is_copied(self, name: str) -> None:
        """States and snapshots that hold it can be copied, and states pickled."""
        state = reduce(fold, DEEP_STREAMS[name], IN_RUN)
        assert copy.deepcopy(state) is copy.copy(state) is state
        assert pickle.loads(pickle.dumps(state)) == state  # noqa: S301 - this project's own
        shown = project(state)
        twin = copy.deepcopy(shown)
        assert twin == shown
        twin.messages.append({})
        assert twin != shown

    def test_is_too_deep_for_pickle(self) -> None:
        """A snapshot is plain JSON, of which Python pickles no such depth."""
        with pytest.raises(RecursionError):
            pickle.dumps(project(after(*DEEP_STREAMS["state"])))

    @pytest.mark.parametrize("name", ["state", "metadata", "interrupt"])
    def test_is_told_by_a_snapshot(self, name: str) -> None:
        """A log that holds it is shortened as any other: one snapshot tells what is settled."""
        settled = [event for number in range(20) for event in said(f"s{number}", "x")]
        log = [STARTED, *settled, *DEEP_STREAMS[name], {"type": "TEXT_MESSAGE_END", "messageId": "m"}]
        shorter = compact(log)
        assert len(shorter) < 10
        assert same(fold_all(EMPTY, shorter), project(fold_all(EMPTY, log), Layout.MERGED))

    @each_malformed
    @pytest.mark.parametrize("take", [decode, lambda event: fold(EMPTY, event)], ids=["decode", "fold"])
    def test_is_refused_in_a_sentence(self, name: str, take: Callable[[Any], Any]) -> None:
        """Where it has no business the error says so in a sentence of a line."""
        with pytest.raises(MalformedEvent) as raised:
            take(MALFORMED[name])
        assert len(str(raised.value)) < 200
        assert "\n" not in str(raised.value)
        assert isinstance(hash(raised.value), int)

    @each_malformed
    def test_errors_print_and_compare(self, name: str) -> None:
        """Such errors compare by value, and their representation is a line."""
        errors = []
        for _ in range(2):
            with pytest.raises(MalformedEvent) as raised:
                decode(copy_of([MALFORMED[name]])[0])
            errors.append(raised.value)
        assert errors[0] == errors[1]
        assert len(repr(errors[0])) < 400

    def test_text_is_read_or_refused(self) -> None:
        """Text so deep is read where this Python's reader can, and is malformed elsewhere."""
        wire = '{"type":"STATE_SNAPSHOT","snapshot":' + "[" * LEVELS + "]" * LEVELS + "}"
        try:
            json.loads(wire)
        except RecursionError:
            with pytest.raises(MalformedEvent, match="nested"):
                decode(wire)
        else:
            assert type(decode(wire).snapshot) is list


def same(state: State, shown: Snapshot) -> bool:
    """Say whether a state shows the same messages and the same shared state."""
    told = project(state, Layout.MERGED)
    one, other = (freeze([look.messages, look.state]) for look in (told, shown))
    return alike(one, other)


def copy_of(stream: list[Wire]) -> list[Wire]:
    """Return a copy that shares no container."""
    return [to_wire(event) for event in stream]


@pytest.mark.slow
class TestVolume:
    """Memory stays in the order of what is kept, whatever breaks the protocol."""

    def test_orphan_deltas_of_one_message(self) -> None:
        """A hundred thousand deltas that nothing opened are one message, which costs little more than its text."""
        delta = decode(text("CONTENT", delta="0123456789"))
        state, used = measured(lambda: reduce(fold, [delta] * 100_000, EMPTY))
        assert project(state).messages[0]["content"] == "0123456789" * 100_000
        assert project(state).anomaly_counts == {"first-event": 1, "text-not-open": 1}
        assert used < 4 * 1_000_000

    @pytest.mark.parametrize("kind", [text, thought, call], ids=["text", "reasoning", "call"])
    def test_orphan_deltas_of_many(self, kind: Callable[..., Wire]) -> None:
        """Deltas for thousands of ids that nothing opened cost a constant beside the text of each."""
        verb = "ARGS" if kind is call else "CONTENT"
        deltas = [decode(kind(verb, f"m{number}", delta=f"{number:0500}")) for number in range(3_000)]
        state, used = measured(lambda: fold_all(IN_RUN, deltas))
        assert len(project(state).messages) == (0 if kind is call else 3_000)
        assert used < 3_000 * (500 + 2_500)
        assert project(fold(state, FINISHED)).anomaly_counts["open-at-run-finish"] == 1

    def test_anomalies(self) -> None:
        """All anomalies are counted, the first ones kept in full, and the rest cost nothing."""
        end = decode(text("END"))
        state, used = measured(lambda: reduce(fold, [end] * 20_000, IN_RUN))
        assert project(state).anomaly_counts == {"text-not-open": 20_000}
        assert len(project(state).anomalies) == KEPT
        assert used < 200_000

    def test_one_event_of_many_anomalies(self) -> None:
        """An event that breaks a rule a hundred thousand times is counted, in one pass."""
        one = message("m", "hi", role="user")
        state = fold(IN_RUN, snapshot(*[one] * 100_000))
        assert project(state).messages == [one]
        assert project(state).anomaly_counts == {"duplicate-id": 99_999}
        assert len(project(state).anomalies) == KEPT

    def test_many_open(self) -> None:
        """Ten thousand messages left open are named by the error, and closed by the next run."""
        state = fold_all(IN_RUN, [decode(text("START", f"m{number}")) for number in range(10_000)])
        with pytest.raises(TruncatedRun) as raised:
            finish(state)
        assert len(raised.value.open) == 10_000
        assert not fold(state, STARTED).live
        for number in range(100):
            state = fold(state, decode(text("CONTENT", f"m{number}", delta="hi")))
            state = fold(state, decode(call("START", f"c{number}", parentMessageId=f"m{number}")))
        state = fold_all(state, [decode(call("ARGS", f"c{number}", delta="{}")) for number in range(100)])
        shown = project(state).messages
        assert len(shown) == 100
        assert shown[7] == message("m7", "hi", (made("c7", "{}"),))

    @pytest.mark.parametrize("between", [[], [snapshot()]], ids=["opened", "snapshot"])
    def test_a_delta_among_many_open(self, between: list[Wire]) -> None:
        """With ten thousand messages open a delta allocates no more than with a hundred, but for a map's depth."""
        figures = []
        for count in (100, 10_000):
            state = fold_all(IN_RUN, [*(decode(text("START", f"m{number}")) for number in range(count)), *between])
            deltas = [decode(text("CONTENT", f"m{number % 50}", delta="hi")) for number in range(150)]
            state = reduce(fold, deltas[:50], state)
            figures.append(max(peak(fold, now, delta) for now, delta in along(state, deltas[50:])))
        assert figures[1] < 2 * figures[0] + 4_000

    def test_many_chunk_lanes(self) -> None:
        """Ten thousand lanes of chunks are ten thousand messages, all closed by the end of the run."""
        lanes = [{"messageId": f"m{number}", "subagentRunId": f"s{number}"} for number in range(10_000)]
        opened = [decode({"type": "TEXT_MESSAGE_CHUNK", **lane, "delta": "a"}) for lane in lanes]
        goes_on = [
            decode(text("CHUNK", None, delta="b", subagentRunId=f"s{number}")) for number in range(0, 10_000, 20)
        ]
        state = fold_all(IN_RUN, [*opened, *goes_on])
        shown = project(state).messages
        assert len(shown) == 10_000
        assert [one["content"] for one in shown[::20]] == ["ab"] * 500
        assert project(fold(state, FINISHED)).anomaly_counts == {}

    def test_many_interrupts(self) -> None:
        """Ten thousand interrupts are raised and answered."""
        raised = interrupted(*(interrupt(f"i{number}") for number in range(10_000)))
        resume = [{"interruptId": f"i{number}", "status": "resolved"} for number in range(0, 10_000, 2)]
        state = fold_all(IN_RUN, [raised, started("r2", resume=resume)])
        assert len(project(state).interrupts) == 5_000
        assert project(state).anomaly_counts == {}

    def test_long_ids(self) -> None:
        """Ids of a million characters are ids."""
        name = "m" * 1_000_000
        shown = project(after(*said(name, "hi"), *mused(name, "hm"), text("END", name))).messages
        assert [one["id"] for one in shown] == [name, f"{name}#reasoning"]


def measured(work: Callable[[], State]) -> tuple[State, int]:
    """Return what `work` does, and how many bytes it leaves allocated."""
    gc.collect()
    tracemalloc.start()
    try:
        done = work()
        gc.collect()
        return done, tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def along(state: State, events: list[Any]) -> Iterator[tuple[State, Any]]:
    """Yield each event with the state that it meets."""
    for event in events:
        yield state, event
        state = fold(state, event)


def peak(work: Callable[..., Any], *arguments: Any) -> int:
    """Return how many bytes are allocated at most while `work` is done."""
    tracemalloc.start()
    try:
        work(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class TestPatches:
    """Patches with impossible places."""

    @pytest.mark.parametrize("op", ["add", "replace", "remove", "test", "copy", "move"])
    @pytest.mark.parametrize(
        "index",
        ["9" * 18, "9" * 19, "9" * 100_000, "-1", "01", "1e3", " 1", "\u0661", "+1", "2", "1_0", "0x1", "--"],
        ids=lambda index: index[:20],
    )
    def test_indices(self, op: str, index: str) -> None:
        """An index that no element of the array has does not apply, and allocates nothing."""
        operation: Wire = {
            "op": op,
            "path": f"/l/{index}",
            "value": 1,
            "from": "/l/" + (index if op == "move" else "0"),
        }
        event: Wire = {"type": "STATE_DELTA", "delta": [operation]}
        before = fold(IN_RUN, {"type": "STATE_SNAPSHOT", "snapshot": {"l": [1]}})
        state = fold(before, event)
        assert project(state).state == {"l": [1]}
        [anomaly] = project(state).anomalies
        assert anomaly.code == "patch-failed"
        assert len(anomaly.detail) < 400
        assert peak(fold, before, event) < 100_000 + 30 * len(index)

    @pytest.mark.parametrize("what", ["state", "activity"])
    def test_doubling(self, what: str) -> None:
        """Patches that double a document stop having an effect; what they made is projected, stored and compared."""
        double = {"op": "copy", "from": "/l", "path": "/l/-"}
        told: dict[str, tuple[Wire, Wire]] = {
            "state": (
                {"type": "STATE_SNAPSHOT", "snapshot": {"l": ["x" * 2_000]}},
                {"type": "STATE_DELTA", "delta": [double]},
            ),
            "activity": (
                activity("a", {"l": ["x" * 2_000]}),
                {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan", "patch": [double]},
            ),
        }
        begun, doubled = told[what]
        state = reduce(fold, [doubled] * 40, fold(IN_RUN, begun))
        shown = project(state)
        assert shown.anomaly_counts == {"patch-failed": 28}
        assert {anomaly.detail for anomaly in shown.anomalies} == {
            "operation 0 (copy '/l/-'): copies may not make a document larger than 16000000, and this would make it "
            + str(2_032 * 8_192 + 17)
        }
        told_again = loads(dumps(state))
        assert told_again == state
        assert project(fold(told_again, doubled)).anomaly_counts == {"patch-failed": 29}

    def test_long_paths(self) -> None:
        """A path of a hundred thousand steps into nothing does not apply."""
        event: Wire = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a" * 100_000, "value": 1}]}
        [anomaly] = project(fold(IN_RUN, event)).anomalies
        assert anomaly.code == "patch-failed"
        assert len(anomaly.detail) < 400

    def test_many_operations(self) -> None:
        """Ten thousand operations apply one by one; the last one that fails takes all others back."""
        grow: list[Wire] = [{"op": "add", "path": "/l", "value": []}]
        grow += [{"op": "add", "path": "/l/-", "value": number} for number in range(10_000)]
        event: Wire = {"type": "STATE_DELTA", "delta": grow}
        assert len(project(fold(IN_RUN, event)).state["l"]) == 10_000
        event["delta"].append({"op": "remove", "path": "/gone"})
        assert project(fold(IN_RUN, event)).state == {}


EVENT: TypeAdapter[Any] = TypeAdapter(core.Event)


class Word(str):
    """A string of another class."""

    __slots__ = ()


JUNK: dict[str, Any] = {
    "an integer": 5,
    "null": None,
    "true": True,
    "a list": [],
    "an object": {},
    "bytes": b"x",
    "a str": Word("x"),
    "NaN": float("nan"),
    "a key": {1: 2},
    "a thing": object(),
    "a class": dict,
    "a tuple": ("x",),
    "an enum": EventType.RAW,
    "half a character": "\ud800",
}
ABSENT = object()
OPEN = [
    {"type": "STEP_STARTED", "stepName": "x"},
    {"type": "REASONING_START", "messageId": "x"},
    *mused("x", "x")[:-1],
    *said("x", "x")[:-1],
    *[call("START", "x"), call("ARGS", "x", delta="x")],
    activity("x"),
    {"type": "SUBAGENT_STARTED", "subagentRunId": "x", "name": "x"},
]
BEFORE = {"much open": after(*OPEN), "chunks": after(*OPEN, text("CHUNK", "chunk", delta="x")), "a run": IN_RUN}
NOT_READ = {"type", "timestamp", "raw_event"}
"""What the fold does not look at where an SDK's object needs no decoding: the class says the type."""


def objects() -> Iterator[tuple[str, BaseModel]]:
    """Yield an object of each event class of the installed SDK, its ids being those of what is open."""
    for kind in EVENTS:
        if kind not in {member.value for member in EventType}:
            continue
        least = samples(kind)[0]
        ids = {
            name: "x"
            for name in ("messageId", "toolCallId", "stepName", "subagentRunId")
            if name in EVENTS[kind].fields
        }
        try:
            yield kind, EVENT.validate_python({**least, **ids})
        except ValueError:  # an SDK that does not know a field of the run yet
            yield kind, EVENT.validate_python(least)


OBJECTS = dict(objects())
FIELDS = [(kind, field) for kind, event in OBJECTS.items() for field in type(event).model_fields]


def spoiled(kind: str, field: str, junk: Any) -> BaseModel:
    """Return an object that somebody changed after it was checked."""
    event = OBJECTS[kind].model_copy()
    if junk is ABSENT:
        event.__dict__.pop(field, None)
    else:
        event.__dict__[field] = junk
    return event


def refused(event: BaseModel) -> bool:
    """Say whether what the object holds is malformed on the wire."""
    try:
        decode(to_wire(event))
    except (MalformedEvent, Unfreezable):
        return True
    return False


def malformed(state: State, events: list[Any]) -> bool:
    """Say whether one of the events is refused, by either fold; whatever else is raised leaves."""
    one, other = verdict(lambda: reduce(fold, events, state)), verdict(lambda: fold_all(state, events))
    assert one == other
    return one


def verdict(take: Callable[[], State]) -> bool:
    """Say whether a fold refuses; of what it returns a reader can see all."""
    try:
        state = take()
    except MalformedEvent as error:
        return bool(str(error))
    to_wire(project(state).to_dict())
    return False


USER = message("u", "hi", role="user")
DELTA: Wire = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/k", "value": 1}]}
ECHO = started("r2", messages=[USER])
INSIDE: dict[str, tuple[Wire, Callable[[Any], Any], str]] = {
    "STATE_DELTA": (DELTA, lambda event: event.delta, "path"),
    "MESSAGES_SNAPSHOT": (snapshot(USER), lambda event: event.messages, "id"),
    "RUN_STARTED": (ECHO, lambda event: event.input["messages"], "id"),
}
FOLDS: list[Callable[[State, Any], State]] = [fold, fold_strict, lambda state, event: fold_all(state, [event])]


class TestMutatedObjects:
    """Objects of the SDK can be changed after they were checked, and made without checking."""

    @pytest.mark.parametrize(("kind", "field"), FIELDS, ids=str)
    def test_a_changed_field(self, kind: str, field: str) -> None:
        """A wrong value in a field is malformed, or does not matter; nothing else is raised, nothing wrong is kept."""
        matters = field not in NOT_READ and not (field == "metadata" and kind in {"REASONING_START", "REASONING_END"})
        for name, junk in {**JUNK, "absence": ABSENT}.items():
            event = spoiled(kind, field, junk)
            wrong = refused(event)
            for before, state in BEFORE.items():
                got = malformed(state, [event] if state is IN_RUN else [*gathered("x"), event, *gathered("x")])
                assert got == wrong or not matters, (name, before)

    @pytest.mark.parametrize("field", ["message_id", "delta", "subagent_run_id", "metadata"])
    def test_a_field_that_is_deep(self, field: str) -> None:
        """A value of ten thousand levels is refused like any other."""
        for kind in ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"):
            if (kind, field) in FIELDS:
                assert malformed(BEFORE["much open"], [spoiled(kind, field, DEEP)])

    def test_a_delta_that_is_a_number(self) -> None:
        """A delta that became a number is malformed, whichever way the event goes, and says so."""
        for event, opener in (
            (TextMessageContentEvent(message_id="m", delta="x"), text("START")),
            (ToolCallArgsEvent(tool_call_id="c", delta="x"), call("START")),
        ):
            event.delta = 5  # type: ignore[assignment]
            state = after(opener)
            for take in FOLDS:
                with pytest.raises(MalformedEvent) as raised:
                    take(state, event)
                assert (raised.value.path, raised.value.value) == (("delta",), 5)

    def test_a_batch_stops_where_it_is_wrong(self) -> None:
        """`fold_all` raises for the malformed event what `fold` raises."""
        bad = TextMessageContentEvent(message_id="m", delta="x")
        bad.delta = None  # type: ignore[assignment]
        events = [TextMessageStartEvent(message_id="m"), *gathered("m"), bad, *gathered("m")]
        errors = []
        takes: list[Callable[[], State]] = [lambda: fold_all(IN_RUN, events), lambda: reduce(fold, events, IN_RUN)]
        for take in takes:
            with pytest.raises(MalformedEvent) as raised:
                take()
            errors.append(raised.value)
        assert errors[0] == errors[1]

    @pytest.mark.parametrize("kind", OBJECTS)
    def test_an_object_that_was_never_checked(self, kind: str) -> None:
        """An object made without its fields is malformed where it lacks something that its type requires."""
        bare = type(OBJECTS[kind]).model_construct()
        wrong = refused(bare)
        assert malformed(IN_RUN, [bare]) == wrong

    def test_what_a_decoded_event_holds(self) -> None:
        """A decoded event is immutable, what lies inside it is plain JSON: to make that something else is malformed."""
        for event in (
            decode(text("START", metadata={"k": 1})),
            decode(activity("a", {"k": 1})),
            decode({"type": "STATE_SNAPSHOT", "snapshot": {"k": 1}}),
        ):
            held = event.to_dict().keys() & {"metadata", "content", "snapshot"}
            getattr(event, held.pop())["k"] = object()
            for take in FOLDS:
                with pytest.raises(MalformedEvent):
                    take(IN_RUN, event)

    @pytest.mark.parametrize("kind", INSIDE)
    def test_what_a_decoded_event_holds_and_the_cases_read(self, kind: str) -> None:
        """The same holds for patches, messages and what else the cases read: to take away what they need."""
        wire, inside, needed = INSIDE[kind]
        event = decode(wire)
        del inside(event)[0][needed]
        for take in FOLDS:
            with pytest.raises(MalformedEvent) as raised:
                take(IN_RUN, event)
            assert raised.value.path[-2:] == (0, needed)

    @pytest.mark.parametrize("kind", INSIDE)
    def test_what_a_decoded_event_holds_no_more(self, kind: str) -> None:
        """A decoded event that has become another is folded as that: what nobody described is dropped, and noted."""
        wire, inside, _ = INSIDE[kind]
        event = decode(wire)
        inside(event)[0].clear()
        told = fold(IN_RUN, event.to_dict())
        assert project(told).anomaly_counts["unknown-member"] == 1
        assert [take(IN_RUN, event) for take in FOLDS[::2]] == [told, told]

    def test_what_a_decoded_event_cannot_hold(self) -> None:
        """A patch that became no JSON is malformed, and so is one that contains itself."""
        for junk in (object(), {1: 2}, {"op": "add", "path": "/k", "value": object()}):
            event = decode(DELTA)
            event.delta[0] = junk
            for take in FOLDS:
                with pytest.raises(MalformedEvent):
                    take(IN_RUN, event)
        event = decode(DELTA)
        event.delta[0]["value"] = event.delta
        with pytest.raises(MalformedEvent, match="it contains itself"):
            fold(IN_RUN, event)

    def test_nothing_of_an_object_is_kept(self) -> None:
        """To change an object after it was folded changes nothing."""
        event = StateSnapshotEvent(snapshot={"l": [1]})
        state = fold(IN_RUN, event)
        event.snapshot["l"].append(2)
        assert project(state).state == {"l": [1]}


def gathered(name: str) -> list[Any]:
    """Return deltas that a batch gathers."""
    return [TextMessageContentEvent(message_id=name, delta="x"), ToolCallArgsEvent(tool_call_id=name, delta="x")]


class Note(BaseModel):
    """What an application puts into an event."""

    title: str
    tags: list[str]


Payload = TypeVar("Payload")


class Mine(dict[str, Any]):
    """A dict of another class."""


class Typed(CustomEvent, Generic[Payload]):
    """A custom event whose value has a type."""

    value: Payload


class Stated(StateSnapshotEvent, Generic[Payload]):
    """A state snapshot whose state has a type."""

    snapshot: Payload


class Said(TextMessageContentEvent):
    """A delta that knows more than the protocol."""

    tokens: int = 0


class TestClasses:
    """Events of an application's own classes."""

    def test_a_subclass(self) -> None:
        """An object of a subclass is an event of its type; what the subclass adds is stripped and noted."""
        start: Any = type("Start", (TextMessageStartEvent,), {})(message_id="m")
        events = [start, Said(message_id="m", delta="a"), Said(message_id="m", delta="b", tokens=3)]
        for state in (reduce(fold, events, IN_RUN), fold_all(IN_RUN, events)):
            assert project(state).messages == [message("m", "ab")]
            assert project(state).anomaly_counts == {"unknown-property": 2}

    def test_a_generic_class(self) -> None:
        """An object of a generic class is an event of its type, and models in it are JSON."""
        note = Note(title="n", tags=["a"])
        events = [Typed[Note](name="note", value=note), Typed(name="note", value=1), Stated[Note](snapshot=note)]
        events.append(Stated[list[int]](snapshot=[1]))
        assert project(fold_all(IN_RUN, events[:3])).state == {"title": "n", "tags": ["a"]}
        assert project(reduce(fold, events, IN_RUN)).state == [1]
        note.tags.append("b")
        assert project(fold_all(IN_RUN, events[:3])).state["tags"] == ["a", "b"]

    def test_a_subclass_of_a_decoded_event(self) -> None:
        """An object of a class made from a decoded event's is an event of that type."""
        other: Any = type("Other", (type(decode(text("START"))),), {})
        event = other.__new__(other)
        event.__dict__.update({"message_id": "m", "role": "user"})
        assert project(reduce(fold, [event, decode(text("CONTENT", delta="hi"))], IN_RUN)).messages == [
            message("m", "hi", role="user")
        ]

    @pytest.mark.parametrize(
        "make",
        [
            MappingProxyType,
            OrderedDict,
            UserDict,
            ChainMap,
            lambda event: defaultdict(list, event),
            Mine,
        ],
        ids=["proxy", "ordered", "user", "chain", "default", "subclass"],
    )
    def test_mappings(self, make: Callable[[Wire], Mapping[str, Any]]) -> None:
        """A mapping of any class is what a dict of its items is, at any depth, and stays as it was."""
        plain: list[Wire] = [
            {"type": "STATE_SNAPSHOT", "snapshot": {"k": {"l": [1]}}},
            *said("m", "hi"),
            snapshot(message("u", [{"type": "text", "text": "x"}], role="user")),
            {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/j", "value": {}}]},
            {"type": "REASONING_ENCRYPTED_VALUE", "entityId": "m", "encryptedValue": "v"},
        ]
        wrapped = [make(dressed(event, make)) for event in plain]
        untouched = [to_wire(event) for event in wrapped]
        assert reduce(fold, wrapped, IN_RUN) == reduce(fold, plain, IN_RUN)
        assert fold_all(IN_RUN, wrapped) == reduce(fold, plain, IN_RUN)
        assert [to_wire(event) for event in wrapped] == untouched == plain
        assert decode(wrapped[0]) == decode(plain[0])

    @pytest.mark.parametrize(
        "junk",
        [None, 5, "", "{}", b"{}", "x", [], [STARTED], object(), dict, Note, EVENT],
        ids=lambda junk: repr(junk).partition(" at 0x")[0][:30],
    )
    def test_what_is_no_event(self, junk: Any) -> None:
        """Anything else is malformed."""
        takes: list[Callable[[], Any]] = [
            lambda: fold(IN_RUN, junk),
            lambda: fold_strict(IN_RUN, junk),
            lambda: fold_all(IN_RUN, [junk]),
            lambda: decode(junk),
            lambda: seed([junk]),
        ]
        for take in takes:
            with pytest.raises(MalformedEvent):
                take()

    def test_what_is_no_state(self) -> None:
        """A caller's own mistake is no event's fault, and is not hidden."""
        with pytest.raises((TypeError, AttributeError)):
            fold(None, STARTED)  # type: ignore[arg-type]
        with pytest.raises((TypeError, AttributeError)):
            fold(None, decode(text("CONTENT", delta="x")))  # type: ignore[arg-type]

    def test_a_model_that_is_no_event(self) -> None:
        """A model without a type is malformed; one of a type that nobody knows is unknown."""

        class Later(BaseModel):
            type: str = "FROM_LATER"

        with pytest.raises(MalformedEvent):
            fold(IN_RUN, Note(title="n", tags=[]))
        assert project(fold(IN_RUN, Later())).anomaly_counts == {"unknown-event": 1}


def dressed(value: Any, make: Callable[[Wire], Mapping[str, Any]]) -> Any:
    """Return JSON with every object inside made another mapping."""
    if isinstance(value, dict):
        return {
            key: make(dressed(held, make)) if isinstance(held, dict) else dressed(held, make)
            for key, held in value.items()
        }
    if isinstance(value, list):
        return [make(dressed(held, make)) if isinstance(held, dict) else dressed(held, make) for held in value]
    return value


NAMES = [
    "",
    "m",
    "m#1",
    "m#text",
    "m#reasoning",
    "m'",
    "#",
    "\x00",
    "\ud800",
    "\ud83d\ude00",
    " ",
    "chunk-1",
    "None",
    "x" * 99,
]
WORDS = st.sampled_from(NAMES)
ANYTHING = json_values() | st.sampled_from([float("nan"), float("inf"), 10**400, b"x", object, {1: 2}, {"k"}])


KINDS = st.sampled_from(sorted(EVENTS))
SAMPLES = {kind: samples(kind) for kind in EVENTS}


def spoilt(kind: str, number: int, values: dict[int, Any]) -> Wire:
    """Return one of the events of a type with some fields replaced."""
    event, fields = SAMPLES[kind][number % len(SAMPLES[kind])], sorted(set(EVENTS[kind].fields) - {"type"})
    return {**event, **{fields[place % len(fields)]: value for place, value in values.items()}}


def named(kind: str, name: str) -> Wire:
    """Return an event of a type in which all ids are `name`."""
    ids = {"messageId", "toolCallId", "parentMessageId", "entityId"} & set(EVENTS[kind].fields)
    return {**SAMPLES[kind][0], **dict.fromkeys(sorted(ids), name)}


class TestAnything:
    """Whatever an event holds, folding gives a state or a `MalformedEvent`."""

    @given(
        st.lists(
            st.builds(spoilt, KINDS, st.integers(0, 60), st.dictionaries(st.integers(0, 60), ANYTHING, max_size=2)),
            max_size=6,
        )
    )
    def test_any_fields(self, stream: list[Wire]) -> None:
        """Events of known types with any values in their fields, one after another."""
        state: State = EMPTY
        for event in stream:
            try:
                now = fold(state, event)
            except MalformedEvent:
                with pytest.raises(MalformedEvent):
                    fold_all(state, [event])
                continue
            assert fold_all(state, [event]) == now
            state = now
        for layout in Layout:
            json.dumps(project(state, layout).to_dict())

    @given(st.lists(st.builds(named, KINDS, WORDS)))
    def test_any_names(self, stream: list[Wire]) -> None:
        """Ids may be any strings, those that this library derives included: none is shown twice."""
        state = reduce(fold, stream, EMPTY)
        assert fold_all(EMPTY, [decode(event) for event in stream]) == state
        for layout in Layout:
            shown = project(state, layout).messages
            assert len({one["id"] for one in shown}) == len(shown)
            json.dumps(project(state, layout).to_dict())


class TestErrors:
    """What is raised for bad input can be kept and sent on."""

    def test_a_state_is_left_alone(self) -> None:
        """An event that is refused leaves the state that it met as it was."""
        state = after(*OPEN)
        twin = pickle.loads(pickle.dumps(state))  # noqa: S301 - this project's own
        for kind, field in FIELDS:
            for junk in (object(), float("nan")):
                with suppress(MalformedEvent):
                    fold(state, spoiled(kind, field, junk))
        assert state == twin == copy.deepcopy(state)

    def test_errors_name_the_place(self) -> None:
        """Of a payload that is no JSON the place is told."""
        with pytest.raises(MalformedEvent) as raised:
            fold(IN_RUN, StateSnapshotEvent(snapshot={"a": [1, object()]}))
        assert raised.value.path == ("snapshot", "a", 1)
        with pytest.raises(MalformedEvent) as raised:
            fold(IN_RUN, RunStartedEvent(**{**RUN, "raw_event": {1: 2}}))
        assert raised.value.path[0] == "rawEvent"
        with pytest.raises(MalformedEvent) as raised:
            seed([], {"a": {1, 2}})
        assert raised.value.path == ("state", "a")

    def test_a_failure_may_say_anything(self) -> None:
        """The message of a failure is kept, whatever is in it."""
        said_ = "\x00\ud800" + "x" * 100_000
        assert project(fold(IN_RUN, RunErrorEvent(message="x").model_copy(update={"message": said_}))).runs[0][
            "error"
        ] == {"message": said_}
