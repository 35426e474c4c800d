"""Events that are well-formed and nothing else: any of them, in any order, with few ids for all kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .lanes import event
from .material import (
    ACTIVITY_CONTENTS,
    ACTIVITY_PATCHES,
    AUTHORITIES,
    CLIENT_KEY,
    DELTAS,
    LABEL,
    METADATA,
    RESULTS,
    SPEAKERS,
    STATE_PATCHES,
    STATES,
    USAGES,
    Event,
    fresh,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

POOL = ("x1", "x2", "x3")
"""The ids of everything."""

OWNERS = (None, None, "s1", "s2")

PATCH_POINTERS = ("", "/a", "/a/b", "/b/0", "/b/-", "/a/b/1", "/", "/x~1y", "/m~0n", "/01", "/a/b/c/d", "/é")
"""Few enough to meet, with every corner of the notation."""

OUTCOMES: tuple[Any, ...] = (
    None,
    {"type": "success"},
    {"type": "success", "pendingToolCallIds": ["x1"]},
    {"type": "interrupt", "interrupts": [{"id": "x1", "reason": "r", "toolCallId": "x2"}, {"id": "x1", "reason": "r"}]},
    {"type": "cancelled"},
)

Numbers = tuple[int, int, int, int]


def well_formed(kind: int, a: int, b: int, c: int, d: int) -> Event:
    """Give an event of any type; the numbers choose its ids, its owner and what it says."""
    makers = tuple(_MAKERS.items())
    event_type, make = makers[kind % len(makers)]
    made: Event = {"type": event_type, **make((a, b, c, d))}
    if c % 2 and d % 2:
        made["metadata"] = _pick(METADATA, d)
    owner = _pick(OWNERS, b)
    if owner is not None and not event_type.startswith(("RUN_", "MESSAGES_", "THINKING_")):
        made["subagentRunId"] = owner
    result: Event = fresh(made)
    return result


def _pick(values: Sequence[Any], number: int) -> Any:
    return values[number % len(values)]


def _id(number: int) -> str:
    return POOL[number % len(POOL)]


def _text(number: int) -> str:
    return str(_pick([text for text in DELTAS if text != LABEL], number))


def _some(**fields: Any) -> Event:
    """Give fields without those that are `None`."""
    made = event("", **fields)
    del made["type"]
    return made


def _message(a: int, b: int, c: int, d: int) -> Event:
    """Give a message of any role."""
    tag = _some(subagentRunId=_pick(OWNERS, b), encryptedValue="v" if c % 3 == 0 else None)
    role = ("assistant", "user", "tool", "reasoning", "activity", "system", "developer")[d % 7]
    if role == "activity":
        return {"id": _id(a), "role": role, "activityType": "plan", "content": _pick(ACTIVITY_CONTENTS, c)}
    if role == "tool":
        return {"id": _id(a), "role": role, "toolCallId": _id(c), "content": "done", **tag}
    if role == "assistant" and c % 2:
        function = {"name": "search", "arguments": _text(b)}
        return {
            "id": _id(a),
            "role": role,
            "toolCalls": [{"id": _id(b), "type": "function", "function": function}],
            **tag,
        }
    return {"id": _id(a), "role": role, "content": _text(c), **tag}


def _messages(numbers: Numbers) -> list[Event]:
    a, b, c, d = numbers
    return [_message(a, b, c, d), _message(b, c, d, a), _message(c, d, a, b)][: d % 4]


def _run(numbers: Numbers) -> Event:
    return {"threadId": "t1" if numbers[0] < 5 else "t2", "runId": _id(numbers[0])}


def _started(numbers: Numbers) -> Event:
    run = _run(numbers)
    if numbers[1] % 2 == 0:
        return run
    resume = [{"interruptId": _id(numbers[2]), "status": "resolved", "payload": None}]
    echo = {**run, "messages": _messages(numbers), "state": _pick(STATES, numbers[2]), "resume": resume}
    return {**run, "input": echo}


def _snapshot(numbers: Numbers) -> Event:
    authority = _pick((None, None, *AUTHORITIES), numbers[2])
    scope = None if authority is None else {CLIENT_KEY: authority}
    return {"messages": _messages(numbers), **_some(metadata=scope)}


_MAKERS: dict[str, Callable[[Numbers], Event]] = {
    "RUN_STARTED": _started,
    "TEXT_MESSAGE_START": lambda n: {"messageId": _id(n[0]), **_some(role=_pick(SPEAKERS, n[2])[0] if n[3] else None)},
    "TEXT_MESSAGE_CONTENT": lambda n: {"messageId": _id(n[0]), "delta": _text(n[2])},
    "TEXT_MESSAGE_END": lambda n: {"messageId": _id(n[0])},
    "TEXT_MESSAGE_CHUNK": lambda n: _some(
        messageId=_id(n[0]) if n[0] else None,
        delta=_text(n[2]) if n[3] else None,
        role=_pick(SPEAKERS, n[2])[0] if n[3] else None,
    ),
    "TOOL_CALL_START": lambda n: {
        "toolCallId": _id(n[0]),
        "toolCallName": _pick(("search", "fetch"), n[3]),
        **_some(parentMessageId=_id(n[2]) if n[3] else None),
    },
    "TOOL_CALL_ARGS": lambda n: {"toolCallId": _id(n[0]), "delta": _text(n[2])},
    "TOOL_CALL_END": lambda n: {"toolCallId": _id(n[0])},
    "TOOL_CALL_CHUNK": lambda n: _some(
        toolCallId=_id(n[0]) if n[0] else None,
        toolCallName="search" if n[1] else None,
        parentMessageId=_id(n[2]) if n[2] else None,
        delta=_text(n[2]) if n[3] else None,
    ),
    "TOOL_CALL_RESULT": lambda n: {
        "messageId": _id(n[0]),
        "toolCallId": _id(n[2]),
        "content": _pick(RESULTS, n[3]),
    },
    "REASONING_START": lambda n: {"messageId": _id(n[0])},
    "REASONING_MESSAGE_START": lambda n: {"messageId": _id(n[0]), "role": "reasoning"},
    "REASONING_MESSAGE_CONTENT": lambda n: {"messageId": _id(n[0]), "delta": _text(n[2])},
    "REASONING_MESSAGE_END": lambda n: {"messageId": _id(n[0])},
    "REASONING_MESSAGE_CHUNK": lambda n: _some(
        messageId=_id(n[0]) if n[0] else None, delta=_text(n[2]) if n[3] else None
    ),
    "REASONING_END": lambda n: {"messageId": _id(n[0])},
    "REASONING_ENCRYPTED_VALUE": lambda n: {
        "subtype": _pick(("message", "tool-call"), n[2]),
        "entityId": _id(n[0]),
        "encryptedValue": f"v{n[3]}",
    },
    "STEP_STARTED": lambda n: {"stepName": _id(n[0])},
    "STEP_FINISHED": lambda n: {"stepName": _id(n[0])},
    "STATE_SNAPSHOT": lambda n: {"snapshot": _pick(STATES, n[2] + n[3])},
    "STATE_DELTA": lambda n: {"delta": _pick(STATE_PATCHES, n[2] * 3 + n[3])},
    "MESSAGES_SNAPSHOT": _snapshot,
    "ACTIVITY_SNAPSHOT": lambda n: {
        "messageId": _id(n[0]),
        "activityType": "plan",
        "content": _pick(ACTIVITY_CONTENTS, n[2]),
        **_some(replace=_pick((None, False, True), n[3])),
    },
    "ACTIVITY_DELTA": lambda n: {
        "messageId": _id(n[0]),
        "activityType": "search",
        "patch": _pick(ACTIVITY_PATCHES, n[2]),
    },
    "CUSTOM": lambda n: {"name": "progress", "value": _pick(STATES, n[2])},
    "RAW": lambda n: {"event": _pick(STATES, n[2])},
    "SUBAGENT_STARTED": lambda n: {
        "subagentRunId": "s1",
        "name": "researcher",
        **_some(parentSubagentRunId=_pick(OWNERS, n[2])),
    },
    "SUBAGENT_FINISHED": lambda n: {
        "subagentRunId": "s1",
        **_some(outcome=_pick((None, {"type": "success"}, {"type": "suspended", "interruptIds": ["x1"]}), n[2])),
    },
    "SUBAGENT_ERROR": lambda _: {"subagentRunId": "s1", "message": "lost its way"},
    "RUN_FINISHED": lambda n: {**_run(n), **_some(outcome=_pick(OUTCOMES, n[2]), usage=_pick((None, *USAGES), n[3]))},
    "RUN_ERROR": lambda n: {"message": "out of luck", **_some(usage=_pick((None, *USAGES), n[3]))},
    "THINKING_START": lambda n: _some(title="hm" if n[0] else None),
    "THINKING_TEXT_MESSAGE_START": lambda _: {},
    "THINKING_TEXT_MESSAGE_CONTENT": lambda n: {"delta": _text(n[2])},
    "THINKING_TEXT_MESSAGE_END": lambda _: {},
    "THINKING_END": lambda _: {},
}
