"""Streams over Starlette to clients that go away in the middle, and prints what `on_end` was told, as JSON.

Runs in an environment with the package. A server tells Starlette of it in one of two ways: by a message while the
agent is at work (ASGI before 2.4), or by refusing what is sent (ASGI 2.4).
"""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse

from reducer import State
from reducer.embed import Recorder, record

RUN: list[dict[str, Any]] = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hel"},
]


async def agent(events: list[dict[str, Any]], left: asyncio.Event, ended: list[str]) -> AsyncIterator[dict[str, Any]]:
    """Stream the events and then work for ever; note what ends it."""
    try:
        for event in events:
            yield event
        left.set()
        await asyncio.Event().wait()
    except BaseException as error:
        ended.append(type(error).__name__)
        raise


async def scene(version: str) -> dict[str, Any]:
    """Let a client leave once it has three events."""
    kept, left, ended = asyncio.get_running_loop().create_future(), asyncio.Event(), list[str]()
    recorder, frames = Recorder(), list[bytes]()
    events = [*RUN, {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "lo"}] if version == "2.4" else RUN

    async def save(state: State) -> None:
        await asyncio.sleep(0)  # a database
        kept.set_result(state.position)

    async def encoded() -> AsyncIterator[str]:
        async for event in record(agent(events, left, ended), recorder, on_end=save):
            yield f"data: {json.dumps(event)}\n\n"

    async def receive() -> dict[str, Any]:
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if len(frames) == len(RUN):
            raise OSError("the client is gone")
        if message.get("body"):
            frames.append(message["body"])

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "asgi": {"spec_version": version}}
    with suppress(ClientDisconnect):
        await StreamingResponse(encoded())(scope, receive, send)
    gc.collect()
    return {"kept": await kept, "sent": len(frames), "position": recorder.state.position, "agent": ended}


if __name__ == "__main__":
    print(json.dumps({version: asyncio.run(asyncio.wait_for(scene(version), 30)) for version in ("2.3", "2.4")}))  # noqa: T201
