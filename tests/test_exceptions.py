"""Where MERGED is not what the reference client holds: the documented list, an example of each, still true.

On every other stream that the reference client accepts they are the same: `test_reference.py`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from reducer import EMPTY, Layout, finish, fold_strict, project
from tests.reference_client import ReferenceClient

ROOT = Path(__file__).parents[1]
Stream = list[dict[str, Any]]


def text(verb: str, **fields: Any) -> dict[str, Any]:
    """Return an event of the text message `m`."""
    return {"type": f"TEXT_MESSAGE_{verb}", "messageId": "m", **fields}


def thought(verb: str, **fields: Any) -> dict[str, Any]:
    """Return an event of the reasoning message `m`."""
    return {"type": f"REASONING_MESSAGE_{verb}", "messageId": "m", **fields}


def call(verb: str, **fields: Any) -> dict[str, Any]:
    """Return an event of the tool call `c`."""
    return {"type": f"TOOL_CALL_{verb}", "toolCallId": "c", **fields}


def snapshot(*messages: dict[str, Any]) -> dict[str, Any]:
    """Return a messages snapshot."""
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


RUN = {"threadId": "t", "runId": "r"}
TEXT: Stream = [text("START"), text("CONTENT", delta="hello"), text("END")]
THOUGHT: Stream = [thought("START", role="reasoning"), thought("CONTENT", delta="hm"), thought("END")]
CALL: Stream = [call("START", toolCallName="search", parentMessageId="p"), call("ARGS", delta="1"), call("END")]
RESULT = call("RESULT", messageId="m", content="done")
VALUE = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m", "encryptedValue": "v"}
ACTIVITY = {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "plan", "content": {"k": 1}}
PATCH = {"type": "ACTIVITY_DELTA", "messageId": "m", "activityType": "plan"}
STATED = {"id": "c", "type": "function", "function": {"name": "search", "arguments": "1"}}

EXCEPTIONS: dict[str, Stream] = {
    "An encrypted value before its message or call": [VALUE, *TEXT],
    "`encryptedValueType`": [*TEXT, {**VALUE, "encryptedValueType": "signature"}],
    "Text under the id of a reasoning message": [*THOUGHT, *TEXT],
    "Reasoning under the id of a text message": [*TEXT, *THOUGHT],
    "Text under the id of a tool message": [*CALL, RESULT, *TEXT],
    "An activity under the id of a text message": [*TEXT, ACTIVITY],
    "Messages of two roles under one id in a snapshot": [
        snapshot({"id": "m", "role": "user", "content": "hi"}, {"id": "m", "role": "assistant", "content": "hello"})
    ],
    "`RUN_STARTED.input.state`": [],
    "A patch that makes an activity's content no object": [
        ACTIVITY,
        {**PATCH, "patch": [{"op": "replace", "path": "", "value": 1}]},
    ],
    "Text that is streamed behind a content of parts": [
        snapshot({"id": "m", "role": "user", "content": [{"type": "text", "text": "hi"}]}),
        text("START", role="user"),
        *TEXT[1:],
    ],
    "A result that is sent twice": [*CALL, RESULT, {**RESULT, "content": "done again"}],
    "A call's id that is used again after its result, under another parent": [
        *CALL,
        RESULT,
        {**CALL[0], "parentMessageId": "q"},
        *CALL[1:],
    ],
    "Text for a message that a snapshot dropped while it was open": [TEXT[0], snapshot(), *TEXT[1:]],
    "Arguments for a call that a snapshot dropped while it was open, where it starts again": [
        CALL[0],
        snapshot(),
        *CALL[1:],
        *CALL,
    ],
    "A call without a parent whose id is that of a message without calls": [
        snapshot({"id": "c", "role": "assistant", "content": "hi"}),
        call("START", toolCallName="search"),
        *CALL[1:],
    ],
    "Arguments streamed word for word after a snapshot has stated them": [
        snapshot({"id": "p", "role": "assistant", "toolCalls": [STATED]}),
        *CALL,
    ],
}
"""What happens in a run, by what it is an example of."""


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_exceptions(reference: ReferenceClient, name: str) -> None:
    """Each exception is still one: both accept the stream, and what they hold differs."""
    echo = {**RUN, "messages": [], "state": {"k": 1}} if "input.state" in name else None
    started = {"type": "RUN_STARTED", **RUN, **({"input": echo} if echo else {})}
    state = EMPTY
    stream: Stream = [started, *EXCEPTIONS[name], {"type": "RUN_FINISHED", **RUN}]
    for event in stream:
        state = fold_strict(state, event)
    shown = project(finish(state), Layout.MERGED)
    [outcome] = reference.replay([stream])
    assert outcome.valid, outcome.error
    assert (shown.messages, shown.state) != (outcome.messages, outcome.state)


def test_exceptions_are_documented() -> None:
    """The documentation has the same list."""
    page = (ROOT / "docs" / "reference" / "supported-protocol.md").read_text(encoding="utf-8")
    section = page.partition("## Exceptions of MERGED\n")[2]
    assert [row.split(" | ")[0].removeprefix("| ") for row in re.findall(r"^\| [A-Z`].+$", section, re.MULTILINE)] == [
        *EXCEPTIONS
    ]
