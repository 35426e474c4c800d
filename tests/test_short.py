"""The short ways against the long one: the same states, event by event."""

from __future__ import annotations

from functools import reduce
from typing import Any
from unittest.mock import patch

from ag_ui.core import Event as AnyEvent
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from reducer import EMPTY, MalformedEvent, decode, fold, fold_all, project
from reducer._routes import DELTAS, ROUTES, SHORTS, route
from reducer.strategies import broken_streams, events, streams

ADAPTER: TypeAdapter[Any] = TypeAdapter(AnyEvent)
ANY = st.one_of(streams(), streams(chunks=False, metadata=False), events(max_size=25), broken_streams())


def long_way(state: Any, event: Any) -> Any:
    """Fold an event as if there were no short ways, not even for deltas."""
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


def test_values() -> None:
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
