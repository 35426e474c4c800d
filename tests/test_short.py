"""The short ways against the long one: the same states, event by event."""

from __future__ import annotations

from functools import reduce
from typing import Any
from unittest.mock import patch

import pytest
from ag_ui.core import Event as AnyEvent
from ag_ui.core import StateDeltaEvent
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from reducer import EMPTY, MalformedEvent, decode, fold, fold_all, project
from reducer._fold import admitted
from reducer._routes import DELTAS, ROUTES, SHORTS, route
from reducer._streams.material import ACTIVITY_CHANGES, ACTIVITY_SNAPSHOTS, STATE_EVENTS, fresh
from reducer.strategies import broken_streams, events, patches, streams

ADAPTER: TypeAdapter[Any] = TypeAdapter(AnyEvent)
ANY = st.one_of(streams(), streams(chunks=False, metadata=False), events(max_size=25), broken_streams())


def long_way(state: Any, event: Any) -> Any:
    """Fold an event as if there were no short ways, not even for deltas."""
    if type(event) is dict:
        event = admitted(event)
    # Before the dicts are cleared: a class whose way was found in between would never have a short one.
    if type(event) not in ROUTES:
        route(event)
    with patch.dict(SHORTS, clear=True), patch.dict(DELTAS, clear=True):
        return fold(state, event)


def said(event: dict[str, Any]) -> Any:
    """Return the event as an object of the installed SDK, if that can say it."""
    try:
        return ADAPTER.validate_python(event)
    except ValidationError:
        return event


@given(ANY)
def test_decoded(stream: list[dict[str, Any]]) -> None:
    """Decoded events fold to the same state on the short way and on the long one, at every moment."""
    short = long = EMPTY
    try:
        decoded = [decode(event) for event in stream]
    except MalformedEvent:
        return
    for event in decoded:
        short, long = fold(short, event), long_way(long, event)
        assert short == long
    assert fold_all(EMPTY, decoded) == short


@given(streams(chunks=False, metadata=False))
def test_objects(stream: list[dict[str, Any]]) -> None:
    """Objects of the SDK fold to the state that their wire form folds to; what it cannot say stays as it is."""
    objects = [said(event) for event in stream]
    short = long = EMPTY
    for event in objects:
        short, long = fold(short, event), long_way(long, event)
        assert short == long
    assert short == reduce(fold, stream, EMPTY)
    assert fold_all(EMPTY, objects) == short


def alike(stream: list[dict[str, Any]]) -> Any:
    """Return the state after the stream, to which decoded events fold on all ways, and objects of the SDK too."""
    state = reduce(long_way, map(decode, stream), EMPTY)
    for form in (stream, [decode(event) for event in stream], [ADAPTER.validate_python(event) for event in stream]):
        assert reduce(fold, form, EMPTY) == fold_all(EMPTY, form) == state
    return state


def test_result_of_a_shell() -> None:
    """A result for arguments whose call has yet to come waits for the start, closed though they are."""
    stream: list[dict[str, Any]] = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "c", "content": "done"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
    ]
    assert project(alike(stream)).pending_tool_calls == []


def test_owner_of_another_run() -> None:
    """What goes on without a start in a later run is whose the run's input says, not whose it was."""
    told = {"threadId": "t", "runId": "r2", "messages": [{"id": "m", "role": "assistant", "content": "hi"}]}
    tagged = {"messageId": "m", "subagentRunId": "s"}
    echo: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    stream: list[dict[str, Any]] = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TEXT_MESSAGE_START", "role": "assistant", **tagged},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r2", "input": {**told, **echo}},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"},
        {"type": "TEXT_MESSAGE_CONTENT", **tagged, "delta": "y"},
        {"type": "TEXT_MESSAGE_END", **tagged},
    ]
    assert project(alike(stream)).anomaly_counts["attribution-mismatch"] == 2


def test_dropped_holder() -> None:
    """A call does not join a message that a snapshot dropped while it was open and that has ended: it opens another."""
    stream: list[dict[str, Any]] = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant", "name": "first"},
        {"type": "MESSAGES_SNAPSHOT", "messages": []},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r2"},
        {"type": "TOOL_CALL_START", "toolCallId": "m", "toolCallName": "f"},
    ]
    [message] = project(alike(stream)).messages
    assert "name" not in message


def test_encrypted_values() -> None:
    """Encrypted values go to what is open, to what is settled, to calls, and where they cannot be known to, alike."""
    about = {"type": "REASONING_ENCRYPTED_VALUE", "encryptedValue": "v"}
    message = {"subtype": "message", **about}
    tagged = {"messageId": "g", "subagentRunId": "s"}
    stream: list[dict[str, Any]] = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "REASONING_MESSAGE_START", "role": "reasoning", **tagged},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "g", "delta": "so"},
        {**message, "entityId": "g", "subagentRunId": "s"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "g", "delta": " be it"},
        {"type": "REASONING_MESSAGE_END", "messageId": "g"},
        {**message, "entityId": "g", "encryptedValue": "w"},
        {**message, "entityId": "g", "subagentRunId": "other", "encryptedValue": "x"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        {**about, "subtype": "tool-call", "entityId": "c"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {**message, "entityId": "c"},
        {**message, "entityId": "nobody"},
        {"type": "TOOL_CALL_RESULT", "messageId": "g", "toolCallId": "c", "content": "done"},
        {**message, "entityId": "g", "encryptedValue": "y"},
    ]
    shown = project(alike(stream))
    assert [(one["id"], one.get("encryptedValue")) for one in shown.messages] == [("g", "y"), ("c", "v"), ("g#c", None)]
    assert shown.messages[0]["content"] == "so be it"
    assert shown.anomaly_counts == {"attribution-mismatch": 1, "shared-id": 1, "value-unclaimed": 1}


ECHO_OF_NOTHING: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
RUN: dict[str, Any] = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
OPERATION: dict[str, Any] = {"op": "replace", "path": "/a", "value": [1]}
CHUNK: dict[str, Any] = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "b", "delta": "x"}
ACTED_BEFORE: dict[str, Any] = {"id": "a", "role": "activity", "activityType": "plan"}
ACTED = {"messageId": "a", "activityType": "plan"}
VALUES: list[dict[str, Any]] = [
    {"type": "STATE_SNAPSHOT", "snapshot": {"a": {"b": [0]}}},
    {"type": "ACTIVITY_SNAPSHOT", **ACTED, "content": {"a": {"b": [0]}}},
    {"type": "STATE_DELTA", "delta": [OPERATION]},
    {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/a"}, {"op": "test", "path": "", "value": {}}]},
    {"type": "ACTIVITY_DELTA", **ACTED, "patch": [OPERATION, {"op": "add", "path": "/c", "value": None}]},
]
AROUND: list[dict[str, Any]] = [
    RUN,
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    {"type": "TEXT_MESSAGE_START", "messageId": "a", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "x"},
    CHUNK,
    {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "b", "role": "activity", "activityType": "p", "content": {}}]},
]


@st.composite
def valued(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Give streams of values and patches, with what they may end, what they may be outside of, what may be beside."""
    ids, owners = st.sampled_from(("a", "b")), st.sampled_from(("s", "u"))
    table = st.sampled_from((*STATE_EVENTS, *ACTIVITY_SNAPSHOTS, *ACTIVITY_CHANGES, *AROUND, *AROUND))
    drawn = st.one_of(table, patches().map(lambda patch: {"type": "STATE_DELTA", "delta": patch}))
    more = st.fixed_dictionaries(
        {}, optional={"subagentRunId": owners, "timestamp": st.just(1), "rawEvent": st.just([])}
    )
    stream = [RUN]
    for event in draw(st.lists(st.tuples(drawn, ids, st.just({}) | more), max_size=20)):
        said_, name, added = fresh(event[0]), event[1], event[2]
        acted = {"messageId": name, "activityType": "plan"} if said_["type"].startswith("ACTIVITY") else {}
        stream.append({**acted, **said_, **added} if acted or said_["type"].startswith("STATE") else said_)
    return stream


def verdict(way: Any, state: Any, event: Any) -> Any:
    """Return the state after the event, or what is wrong with it."""
    try:
        return way(state, event)
    except MalformedEvent as error:
        return str(error)


@given(valued())
def test_values(stream: list[dict[str, Any]]) -> None:
    """Values and patches fold to the same state in every form and on every way, at every moment."""
    for forms in (stream, [decode(event) for event in stream], [said(event) for event in stream]):
        short = long = EMPTY
        for event in forms:
            short, long = fold(short, event), long_way(long, event)
            assert short == long
        assert fold_all(EMPTY, forms) == short


AGAIN = {"type": "RUN_STARTED", "threadId": "t", "runId": "r2"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
ECHO = {**ECHO_OF_NOTHING, "threadId": "t", "runId": "r2", "messages": [{**ACTED_BEFORE, "content": {}}]}
PINNED: dict[str, tuple[list[dict[str, Any]], dict[str, int]]] = {
    "a property that nobody described": ([RUN, {**VALUES[0], "nobody": 1}], {"unknown-property": 1}),
    "before the run": ([*VALUES[:2], VALUES[2]], {"first-event": 1}),
    "after the run": ([RUN, FINISHED, *VALUES[:3]], {"after-run-closed": 3}),
    "ends a chunk stream": (
        [RUN, CHUNK, VALUES[0], {"type": "TEXT_MESSAGE_CHUNK", "delta": "y"}],
        {"chunk-without-id": 1},
    ),
    "under the id of a text": ([RUN, AROUND[2], VALUES[1]], {"shared-id": 1}),
    "not to be replaced": ([RUN, VALUES[1], {**VALUES[1], "content": {"b": 1}, "replace": False}], {}),
    "whose the echoed input says": (
        [RUN, {**VALUES[1], "subagentRunId": "s"}, {**AGAIN, "input": ECHO}, {**VALUES[4], "subagentRunId": "s"}],
        {"attribution-mismatch": 1, "run-already-active": 1},
    ),
    "no object any more": (
        [RUN, VALUES[1], {**VALUES[4], "patch": [{"op": "replace", "path": "", "value": 1}]}],
        {"patch-failed": 1},
    ),
    "no tag on a patch": ([RUN, {**VALUES[1], "subagentRunId": "s"}, VALUES[4]], {}),
    "metadata once": ([RUN, {**VALUES[1], "metadata": {"k": 1}}, VALUES[1]], {}),
    "a text beside": (
        [RUN, AROUND[2], AROUND[3], VALUES[0], {**VALUES[1], "messageId": "c"}, AROUND[3], VALUES[2], AROUND[3]],
        {},
    ),
}


@pytest.mark.parametrize("name", PINNED)
def test_pinned_values(name: str) -> None:
    """What is out of the ordinary about a value or a patch is so on all ways."""
    stream, counts = PINNED[name]
    assert project(alike(fresh(stream))).anomaly_counts == counts


@given(ANY)
def test_wire(stream: list[dict[str, Any]]) -> None:
    """A mapping folds as what it decodes to, malformed or not."""
    state = EMPTY
    for event in stream:
        told = verdict(fold, state, event)
        assert told == verdict(lambda state, event: long_way(state, decode(event)), state, event)
        state = state if isinstance(told, str) else told


BEGUN = reduce(fold, fresh([RUN, *VALUES[:2]]), EMPTY)
"""Inside a run, with a shared state and an activity to patch."""


@pytest.mark.parametrize("wire", VALUES)
def test_taken(wire: dict[str, Any]) -> None:
    """Plain values and patches go the short way, objects of the SDK without being decoded, where they know owners."""
    said_by_sdk = ADAPTER.validate_python(wire)
    known = {"metadata", "subagent_run_id"} <= type(said_by_sdk).model_fields.keys()
    with patch("reducer._fold._general", side_effect=AssertionError("the long way")):
        for event in (decode(wire), said_by_sdk) if known else (decode(wire),):
            if type(event) not in ROUTES:
                route(event)
            assert fold(BEGUN, event).position == 4


def test_taken_by_mappings() -> None:
    """A mapping of strings goes the short way of what it decodes to."""
    with patch("reducer._fold._general", side_effect=AssertionError("the long way")):
        text = {"messageId": "m"}
        state = fold(BEGUN, {"type": "TEXT_MESSAGE_START", "role": "assistant", **text})
        state = fold(
            fold(state, {"type": "TEXT_MESSAGE_CONTENT", "delta": "x", **text}), {**text, "type": "TEXT_MESSAGE_END"}
        )
    assert project(state).messages[-1]["content"] == "x"


class Loud(str):
    """A string of another class."""

    __slots__ = ()


ODD = (None, True, False, 7, 2**60, 0.5, float("nan"), "x", "/a/b", "/~2", "", "add", "remove", "move", "nobody's")
ODDER: tuple[Any, ...] = (
    [],
    [7],
    {},
    {"a": object()},
    object(),
    Loud("a"),
    Loud("replace"),
    "STATE_DELTA",
    "STATE_SNAPSHOT",
    {7: 7},
)
FIELDS = ("type", "timestamp", "raw_event", "metadata", "subagent_run_id", "delta", "patch", "snapshot", "content")
NAMED = ("message_id", "activity_type", "replace", "op", "path", "value", "from", "surplus")


def put(held: Any, name: str, value: Any) -> None:
    """Write to an event or an operation, whatever that is in this SDK; an ellipsis takes the field away."""
    members = held if isinstance(held, dict) else held.__dict__
    if value is ...:
        members.pop(name, None)
    elif isinstance(held, dict):
        held[name] = value
    else:
        setattr(held, name, value)


@pytest.mark.parametrize("plain", [False, True], ids=["as the SDK has them", "dicts"])
@pytest.mark.parametrize("wire", VALUES)
def test_changed(wire: dict[str, Any], *, plain: bool) -> None:
    """An object that was changed in place gets the verdict of the long way, whatever was written where."""
    given_in = "delta" if wire["type"] == "STATE_DELTA" else "patch"
    for name in (*FIELDS, *NAMED):
        for value in (*ODD, *ODDER, ...):
            for inside in (False, True):
                event = ADAPTER.validate_python(fresh(wire))
                if plain and given_in in event.__dict__:
                    setattr(event, given_in, fresh(wire[given_in]))
                put(getattr(event, given_in, [{}])[0] if inside else event, name, value)
                told = verdict(long_way, BEGUN, event)
                assert verdict(fold, BEGUN, event) == told, (name, value, inside)
                assert verdict(lambda state, event: fold_all(state, [event]), BEGUN, event) == told


def wire(kind: str, **fields: Any) -> dict[str, Any]:
    """Return an event in wire form."""
    return {"type": kind, **fields}


OPENED = [
    RUN,
    wire("TEXT_MESSAGE_START", messageId="m", role="assistant"),
    wire("REASONING_START", messageId="g"),
    wire("REASONING_MESSAGE_START", messageId="g", role="reasoning"),
    wire("TOOL_CALL_START", toolCallId="c", toolCallName="f"),
    wire("TOOL_CALL_START", toolCallId="d", toolCallName="f", parentMessageId="m"),
    wire("TOOL_CALL_END", toolCallId="d"),
]
CHUNKED = [
    RUN,
    wire("TEXT_MESSAGE_CHUNK", messageId="m", delta="x"),
    wire("REASONING_MESSAGE_CHUNK", messageId="g", delta="x", subagentRunId="s"),
    wire("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="f", delta="x", subagentRunId="u"),
]
TELLING: list[tuple[list[dict[str, Any]], dict[str, Any]]] = [
    ([], RUN),
    ([RUN], {**RUN, "type": "RUN_FINISHED"}),
    (OPENED, wire("TEXT_MESSAGE_START", messageId="n", role="user")),
    (OPENED, wire("TEXT_MESSAGE_CONTENT", messageId="m", delta="x")),
    (OPENED[:2], wire("TEXT_MESSAGE_CONTENT", messageId="m", delta="x")),
    (OPENED, wire("TEXT_MESSAGE_END", messageId="m")),
    (OPENED, wire("REASONING_START", messageId="h")),
    (OPENED, wire("REASONING_MESSAGE_START", messageId="h", role="reasoning")),
    (OPENED, wire("REASONING_MESSAGE_CONTENT", messageId="g", delta="x")),
    (OPENED, wire("REASONING_MESSAGE_END", messageId="g")),
    (OPENED, wire("REASONING_END", messageId="g")),
    (OPENED, wire("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="m", encryptedValue="v")),
    (OPENED[:2], wire("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="m", encryptedValue="v")),
    (OPENED[:2], wire("TEXT_MESSAGE_END", messageId="m")),
    (OPENED[:2], wire("TOOL_CALL_START", toolCallId="e", toolCallName="f", parentMessageId="m")),
    (OPENED, wire("REASONING_ENCRYPTED_VALUE", subtype="tool-call", entityId="d", encryptedValue="v")),
    (OPENED, wire("TOOL_CALL_START", toolCallId="e", toolCallName="f")),
    (OPENED, wire("TOOL_CALL_START", toolCallId="e", toolCallName="f", parentMessageId="m")),
    (OPENED, wire("TOOL_CALL_ARGS", toolCallId="c", delta="x")),
    (OPENED, wire("TOOL_CALL_END", toolCallId="c")),
    (OPENED, wire("TOOL_CALL_RESULT", messageId="r", toolCallId="d", content="x")),
    (OPENED[:4], wire("REASONING_MESSAGE_CONTENT", messageId="g", delta="x")),
    (CHUNKED, wire("TEXT_MESSAGE_CHUNK", messageId="m", delta="x")),
    (CHUNKED, wire("TEXT_MESSAGE_CHUNK", delta="x")),
    (CHUNKED, wire("REASONING_MESSAGE_CHUNK", delta="x", subagentRunId="s")),
    (CHUNKED, wire("TOOL_CALL_CHUNK", toolCallId="c", delta="x")),
]


@pytest.mark.parametrize(("before", "event"), TELLING)
def test_changed_streams(before: list[dict[str, Any]], event: dict[str, Any]) -> None:
    """An event of a stream that was changed in place gets the verdict of the long way, whichever field was changed.

    But for `type`, `timestamp` and `raw_event`, at which no short way of these looks.
    """
    objects = [ADAPTER.validate_python(fresh(one)) for one in before]
    state = reduce(long_way, objects, EMPTY)
    beside = ("type", "timestamp", "raw_event")
    names = [name for name in ADAPTER.validate_python(fresh(event)).__dict__ if name not in beside]
    for name in (*names, "surplus"):
        for value in (*ODD, *ODDER, *("a", "m", "s", "user", "tool", "message", "1.1"), {"k": 1}, ...):
            changed = ADAPTER.validate_python(fresh(event))
            put(changed, name, value)
            told = verdict(long_way, state, changed)
            assert verdict(fold, state, changed) == told, (name, value)
            assert verdict(lambda state, event: fold_all(state, [event]), state, changed) == told
            assert verdict(lambda _, event: fold_all(EMPTY, [*objects, event]), state, changed) == told


@pytest.mark.parametrize(("before", "event"), TELLING)
def test_told_more(before: list[dict[str, Any]], event: dict[str, Any]) -> None:
    """Metadata, an unknown property, a time, the raw event and a tag more are told alike on all ways."""
    for more in ({"metadata": {"k": 1}}, {"surplus": 1}, {"timestamp": 7}, {"rawEvent": [1]}, {"subagentRunId": "s"}):
        alike([*before, {**event, **more}])


CUT_OFF = [
    wire("TEXT_MESSAGE_CONTENT", messageId="m", delta="x"),
    wire("REASONING_MESSAGE_CONTENT", messageId="g", delta="x"),
]
"""What opens a row where it stands behind all of `OPENED`."""
CUT_TEXT = [
    wire("TEXT_MESSAGE_END", messageId="m"),
    wire("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="m", encryptedValue="v"),
    wire("TOOL_CALL_START", toolCallId="e", toolCallName="f", parentMessageId="m"),
]
"""What is about a message there that is open and whose row is cut, which a draft leaves to the fold."""
NOT_DRAFTED = {"RUN_STARTED", "RUN_FINISHED", "TEXT_MESSAGE_CHUNK", "REASONING_MESSAGE_CHUNK", "TOOL_CALL_CHUNK"}


def follows(before: list[dict[str, Any]], form: Any) -> Any:
    """Return the state after `before`, in this form."""
    return reduce(fold, map(form, fresh(before)), EMPTY)


def is_known(event: Any) -> bool:
    """Say whether an object of the SDK, if it is one, can say what every short way asks."""
    asked = {"metadata"} if event.type.startswith("RUN_") else {"metadata", "subagent_run_id"}
    return not isinstance(event, BaseModel) or asked <= type(event).model_fields.keys()


@pytest.mark.parametrize("form", [decode, said])
@pytest.mark.parametrize(("before", "event"), [one for one in TELLING if one[0] is not OPENED or one[1] not in CUT_OFF])
def test_taken_short(before: list[dict[str, Any]], event: dict[str, Any], form: Any) -> None:
    """What is ordinary about runs, texts, reasoning, calls and chunks goes the short way."""
    state, formed = follows(before, form), form(fresh(event))
    if not is_known(formed):
        pytest.skip("this SDK has no owners or metadata yet")
    route(formed)
    with patch("reducer._fold._general", side_effect=AssertionError("the long way")):
        fold(state, formed)


@pytest.mark.parametrize("form", [decode, said])
@pytest.mark.parametrize(
    ("before", "event"),
    [
        (before, event)
        for before, event in TELLING
        if event["type"] not in NOT_DRAFTED and (before is not OPENED or event not in [*CUT_OFF, *CUT_TEXT])
    ],
)
def test_drafted(before: list[dict[str, Any]], event: dict[str, Any], form: Any) -> None:
    """What has a way into the draft is not folded by itself."""
    state, formed = follows(before, form), form(fresh(event))
    if not is_known(formed):
        pytest.skip("this SDK has no owners or metadata yet")
    # From now on its class has a way.
    fold_all(state, [formed])
    with patch("reducer._batch.fold", side_effect=AssertionError("folded")):
        fold_all(state, [formed])


@pytest.mark.parametrize("wire", VALUES)
def test_shares_nothing(wire: dict[str, Any]) -> None:
    """What changes inside an event after it was folded changes no state."""
    for form in (ADAPTER.validate_python, decode, fresh):
        event = form(fresh(wire))
        state, other = fold(BEGUN, event), fold_all(BEGUN, [event])
        expected = project(state).to_dict()
        for held in ("snapshot", "content", "delta", "patch"):
            value = event.get(held) if isinstance(event, dict) else getattr(event, held, None)
            spoil(value)
        assert project(state).to_dict() == project(other).to_dict() == expected


def spoil(value: Any) -> None:
    """Write to every container inside."""
    inside = value if isinstance(value, dict) else getattr(value, "__dict__", None)
    for inner in [*value] if isinstance(value, list) else [*(inside or {}).values()]:
        spoil(inner)
    if isinstance(value, list):
        value.append("spoilt")
    elif isinstance(value, dict):
        value["spoilt"] = True


class Lax(BaseModel):
    """What looks like an operation of the SDK, and has another wire form."""

    op: str = "add"
    path: str = "/a"
    value: Any = None


class Renamed(BaseModel):
    """The same, with another name on the wire."""

    op: str
    path: str = Field(serialization_alias="where")
    value: Any


@pytest.mark.parametrize("model", [Lax(), Renamed(op="add", path="/a", value=1)])
def test_other_models(model: BaseModel) -> None:
    """A model goes by its wire form, so one that says too little in it is refused."""
    event = ADAPTER.validate_python(fresh(VALUES[2]))
    event.delta = [model]
    with pytest.raises(MalformedEvent, match="is required and missing"):
        fold(BEGUN, event)


def test_field_of_another_sdk() -> None:
    """A field that the protocol does not describe is noted, also where the class of the SDK has it."""

    class Later(StateDeltaEvent):
        __module__ = "ag_ui.core"
        later: int = 1

    event = Later.model_validate({"delta": [OPERATION]})
    state = fold(BEGUN, event)
    assert state == long_way(BEGUN, event)
    assert project(state).anomaly_counts == {"unknown-property": 1}
