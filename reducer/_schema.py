"""The structure of AG-UI 1.1 as data: which events there are, which fields each has, and what each field may hold.

Nothing here decides anything: `_shapes` says what the words mean, `_check` compiles the table once, `_event` makes
the event classes from it, the tests compare it with the installed SDK. A new field is one line here; a new event
type is one entry.
"""

from __future__ import annotations

from collections.abc import Mapping

from reducer._shapes import (
    Anything,
    Const,
    Content,
    Field,
    Flag,
    Integer,
    ListOf,
    OpenObject,
    Record,
    Text,
    Union,
    Words,
    lenient,
    may,
    need,
    never_null,
    union,
)

TEXT, JSON, OPEN = Text(), Anything(), OpenObject()
POINTER = Text(pointer=True)
COUNT = Integer(least=0)

OWNED = {"subagentRunId": never_null(TEXT)}
METADATA = {"metadata": may(OPEN)}
SEALED = {"encryptedValue": may(TEXT), "encryptedValueType": may(TEXT)}

_MIME = {"mimeType": may(TEXT)}
SOURCE = union(
    "type",
    data={"value": need(TEXT), "mimeType": need(TEXT)},
    url={"value": need(TEXT), **_MIME},
    file={"value": need(TEXT), "provider": may(TEXT), **_MIME},
)


def _parts(about_media: Field) -> Union:
    text = {"id": may(TEXT), "metadata": may(JSON), "text": need(TEXT)}
    media = {"id": may(TEXT), "metadata": about_media, "source": need(SOURCE)}
    return union("type", text=text, image=media, audio=media, video=media, document=media)


PART, HELD_PART = _parts(may(JSON)), _parts(lenient(JSON))

FUNCTION = Record({"name": need(TEXT), "arguments": need(TEXT)})
TOOL_CALL = Record(
    {"id": need(TEXT), "type": need(Const("function")), "function": need(FUNCTION), **SEALED, **METADATA},
)

_MESSAGE = {**OWNED, "id": need(TEXT), **METADATA}
_NAMED = {**_MESSAGE, "name": may(TEXT), **SEALED}
_PARTS = need(Content(HELD_PART, retired=True))
MESSAGE = union(
    "role",
    developer={**_NAMED, "content": need(TEXT)},
    system={**_NAMED, "content": need(TEXT)},
    assistant={**_NAMED, "content": may(TEXT), "toolCalls": may(ListOf(TOOL_CALL))},
    user={**_NAMED, "content": _PARTS},
    tool={**_MESSAGE, "content": _PARTS, "toolCallId": need(TEXT), "error": may(TEXT), **SEALED},
    activity={**_MESSAGE, "activityType": need(TEXT), "content": need(OPEN)},
    reasoning={**_MESSAGE, "content": need(TEXT), **SEALED},
)

_TO = {"path": need(POINTER)}
_OPERATIONS = {
    "add": {**_TO, "value": need(JSON)},
    "remove": _TO,
    "replace": {**_TO, "value": need(JSON)},
    "move": {"from": need(POINTER), **_TO},
    "copy": {"from": need(POINTER), **_TO},
    "test": {**_TO, "value": need(JSON)},
}
PATCH = ListOf(
    Union("op", {op: Record({"op": need(Const(op)), **rest}, open=True) for op, rest in _OPERATIONS.items()}),
)

INTERRUPT = Record(
    {
        **OWNED,
        "id": need(TEXT),
        "reason": need(TEXT),
        "message": may(TEXT),
        "toolCallId": may(TEXT),
        "responseSchema": may(OPEN),
        "expiresAt": may(TEXT),
        **METADATA,
    },
)
RUN_OUTCOME = union(
    "type",
    success={"pendingToolCallIds": may(ListOf(TEXT))},
    interrupt={"interrupts": need(ListOf(INTERRUPT, least=1))},
    cancelled={},
)
SUBAGENT_OUTCOME = union("type", success={}, suspended={"interruptIds": never_null(ListOf(TEXT))})
_COUNTS = ("input", "output", "total", "reasoning", "cachedInput", "cacheWriteInput")
USAGE = ListOf(Record({"provider": may(TEXT), "model": may(TEXT), **{f"{n}Tokens": may(COUNT) for n in _COUNTS}}))

TOOL = Record({"name": need(TEXT), "description": need(TEXT), "parameters": lenient(JSON), **METADATA})
RESUME = Record(
    {
        "interruptId": need(TEXT),
        "status": need(Words(frozenset({"resolved", "cancelled"}))),
        "payload": lenient(JSON),
        **METADATA,
    },
)
_RUN = {"threadId": need(TEXT), "runId": need(TEXT)}
_STARTED = {**_RUN, "protocolVersion": may(TEXT), "parentRunId": may(TEXT)}
RUN_AGENT_INPUT = Record(
    {
        **_STARTED,
        "state": lenient(JSON),
        "messages": need(ListOf(MESSAGE)),
        "tools": may(ListOf(TOOL)),
        "context": may(ListOf(Record({"description": need(TEXT), "value": need(TEXT)}))),
        "forwardedProps": lenient(JSON),
        "resume": may(ListOf(RESUME)),
    },
)

_TEXT_ROLE = may(Words(frozenset({"developer", "system", "assistant", "user"})))
_MESSAGE_ID = {"messageId": need(TEXT)}
_DELTA = {"delta": need(TEXT)}
_CALL_ID = {"toolCallId": need(TEXT)}
_ACTIVITY = {**_MESSAGE_ID, "activityType": need(TEXT)}
_SUBAGENT = {"subagentRunId": need(TEXT)}
_BASE = {"timestamp": may(Integer()), "rawEvent": lenient(JSON), **METADATA}

# Of one lane: these may carry `subagentRunId` (spec: events/subagents).
_OF_A_LANE: dict[str, dict[str, Field]] = {
    "TEXT_MESSAGE_START": {**_MESSAGE_ID, "role": _TEXT_ROLE, "name": may(TEXT)},
    "TEXT_MESSAGE_CONTENT": {**_MESSAGE_ID, **_DELTA},
    "TEXT_MESSAGE_END": _MESSAGE_ID,
    "TEXT_MESSAGE_CHUNK": {"messageId": may(TEXT), "role": _TEXT_ROLE, "delta": may(TEXT), "name": may(TEXT)},
    "TOOL_CALL_START": {**_CALL_ID, "toolCallName": need(TEXT), "parentMessageId": lenient(TEXT)},
    "TOOL_CALL_ARGS": {**_CALL_ID, **_DELTA},
    "TOOL_CALL_END": _CALL_ID,
    "TOOL_CALL_CHUNK": {
        "toolCallId": may(TEXT),
        "toolCallName": may(TEXT),
        "parentMessageId": lenient(TEXT),
        "delta": may(TEXT),
    },
    "TOOL_CALL_RESULT": {**_MESSAGE_ID, **_CALL_ID, "content": need(Content(PART)), "role": may(Const("tool"))},
    "STATE_SNAPSHOT": {"snapshot": need(JSON)},
    "STATE_DELTA": {"delta": need(PATCH)},
    "ACTIVITY_SNAPSHOT": {**_ACTIVITY, "content": need(OPEN), "replace": may(Flag())},
    "ACTIVITY_DELTA": {**_ACTIVITY, "patch": need(PATCH)},
    "RAW": {"event": need(JSON), "source": may(TEXT)},
    "CUSTOM": {"name": need(TEXT), "value": need(JSON)},
    "STEP_STARTED": {"stepName": need(TEXT)},
    "STEP_FINISHED": {"stepName": need(TEXT)},
    "REASONING_START": _MESSAGE_ID,
    # The schema requires the role; producers older than it leave it out, and it can only be this one.
    "REASONING_MESSAGE_START": {**_MESSAGE_ID, "role": may(Const("reasoning"))},
    "REASONING_MESSAGE_CONTENT": {**_MESSAGE_ID, **_DELTA},
    "REASONING_MESSAGE_END": _MESSAGE_ID,
    "REASONING_MESSAGE_CHUNK": {"messageId": may(TEXT), "delta": may(TEXT)},
    "REASONING_END": _MESSAGE_ID,
    "REASONING_ENCRYPTED_VALUE": {
        "subtype": need(Words(frozenset({"tool-call", "message"}))),
        "entityId": need(TEXT),
        "encryptedValue": need(TEXT),
        "encryptedValueType": may(TEXT),
    },
}
# Of the whole run or conversation, or about a subagent rather than by one.
_OF_THE_RUN: dict[str, dict[str, Field]] = {
    "MESSAGES_SNAPSHOT": {"messages": need(ListOf(MESSAGE))},
    "RUN_STARTED": {**_STARTED, "input": may(RUN_AGENT_INPUT)},
    "RUN_FINISHED": {**_RUN, "result": lenient(JSON), "outcome": lenient(RUN_OUTCOME), "usage": may(USAGE)},
    "RUN_ERROR": {"message": need(TEXT), "code": may(TEXT), "usage": may(USAGE)},
    "SUBAGENT_STARTED": {
        **_SUBAGENT,
        "name": need(TEXT),
        "description": never_null(TEXT),
        "parentSubagentRunId": never_null(TEXT),
        "parentToolCallId": never_null(TEXT),
        "parentMessageId": never_null(TEXT),
    },
    "SUBAGENT_FINISHED": {**_SUBAGENT, "result": lenient(JSON), "outcome": never_null(SUBAGENT_OUTCOME)},
    "SUBAGENT_ERROR": {**_SUBAGENT, "message": need(TEXT), "code": never_null(TEXT)},
}
# Retired before 1.0. A title had nowhere to go in any successor, so no value of it can be wrong.
_RETIRED: dict[str, dict[str, Field]] = {
    "THINKING_START": {"title": lenient(JSON)},
    "THINKING_TEXT_MESSAGE_START": {},
    "THINKING_TEXT_MESSAGE_CONTENT": _DELTA,
    "THINKING_TEXT_MESSAGE_END": {},
    "THINKING_END": {},
}
RETIRED_EVENTS = frozenset(_RETIRED)


def _event(kind: str, fields: dict[str, Field]) -> Record:
    owner = {} if kind in _OF_THE_RUN else OWNED
    return Record({"type": need(Const(kind)), **_BASE, **owner, **fields})


EVENTS: Mapping[str, Record] = {
    kind: _event(kind, fields) for kind, fields in {**_OF_A_LANE, **_OF_THE_RUN, **_RETIRED}.items()
}
