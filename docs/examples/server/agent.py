"""An agent that needs no network: it thinks, counts the words of what it was asked with a tool, and answers.

What stands here is what a framework's adapter would do: take a `RunAgentInput`, give AG-UI events. It says the same
whenever it is asked the same, so tests know what to expect.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from ag_ui.core import RunAgentInput

PAUSE = 0.02
"""Seconds between two events, as from a model."""


async def agent(run_input: RunAgentInput) -> AsyncGenerator[dict[str, Any], None]:
    """Give the events of a run."""
    for event in script(run_input):
        await asyncio.sleep(PAUSE)
        yield event


def script(run_input: RunAgentInput) -> list[dict[str, Any]]:
    """Return the events of a run, in wire form."""
    run = run_input.run_id
    asked = next((str(message.content) for message in reversed(run_input.messages) if message.role == "user"), "")
    words = len(asked.split())
    total = (run_input.state or {}).get("words", 0) + words
    ids = {"threadId": run_input.thread_id, "runId": run}
    return [
        {"type": "RUN_STARTED", **ids},
        *thought(f"{run}-thought", "They want to know how long that is, so I had better count."),
        *call(f"{run}-call", "count_words", {"text": asked}, str(words)),
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/words", "value": total}]},
        *said(f"{run}-answer", f"I count {words} words, {total} since we began. What else shall I count for you?"),
        # It comes when what it belongs to is long closed, as providers send it.
        {
            "type": "REASONING_ENCRYPTED_VALUE",
            "subtype": "message",
            "entityId": f"{run}-thought",
            "encryptedValue": "c2VhbGVk",
        },
        {"type": "RUN_FINISHED", **ids},
    ]


def thought(message: str, text: str) -> list[dict[str, Any]]:
    """Return a reasoning message, token by token."""
    about = {"messageId": message}
    return [
        {"type": "REASONING_START", **about},
        {"type": "REASONING_MESSAGE_START", **about, "role": "reasoning"},
        *({"type": "REASONING_MESSAGE_CONTENT", **about, "delta": token} for token in tokens(text)),
        {"type": "REASONING_MESSAGE_END", **about},
        {"type": "REASONING_END", **about},
    ]


def call(call_id: str, name: str, arguments: dict[str, Any], result: str) -> list[dict[str, Any]]:
    """Return a tool call, its arguments in pieces, and its result."""
    about = {"toolCallId": call_id}
    text = json.dumps(arguments)
    return [
        {"type": "TOOL_CALL_START", **about, "toolCallName": name},
        *({"type": "TOOL_CALL_ARGS", **about, "delta": text[at : at + 8]} for at in range(0, len(text), 8)),
        {"type": "TOOL_CALL_END", **about},
        {"type": "TOOL_CALL_RESULT", "messageId": f"{call_id}-result", **about, "role": "tool", "content": result},
    ]


def said(message: str, text: str) -> list[dict[str, Any]]:
    """Return a text message, token by token."""
    about = {"messageId": message}
    return [
        {"type": "TEXT_MESSAGE_START", **about, "role": "assistant"},
        *({"type": "TEXT_MESSAGE_CONTENT", **about, "delta": token} for token in tokens(text)),
        {"type": "TEXT_MESSAGE_END", **about},
    ]


def tokens(text: str) -> list[str]:
    """Cut a text as models do, the space in front of the word."""
    first, *rest = text.split(" ")
    return [first, *(f" {word}" for word in rest)]
