"""Record the streams of pydantic-ai's AG-UI adapter.

Run as ``python record.py`` in an environment made from ``requirements.txt``.
Every log is what ``AGUIAdapter.dispatch_request`` sent over HTTP, one event a line.
Recording again gives the same bytes: ids are drawn from a seeded generator, the models are
scripts, and ``timestamp``, which the adapter puts on every event, counts up instead of telling
the time.
"""

# The frameworks are imported after their sources of ids have been replaced.
# ruff: noqa: E402

from __future__ import annotations

import asyncio
import json
import random
import re
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

HERE = Path(__file__).parent
_random = random.Random()


def _uuid4() -> uuid.UUID:
    return uuid.UUID(int=_random.getrandbits(128), version=4)


uuid.uuid4 = _uuid4  # before the framework is imported: some of its modules take it by name

import pydantic_ai._uuid

# The adapter's other source of ids, made from the clock.
pydantic_ai._uuid.uuid7 = _uuid4

from ag_ui.core import CustomEvent, EventType, StateDeltaEvent, StateSnapshotEvent
from httpx2 import ASGITransport, AsyncClient
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    ModelRetry,
    NativeToolCallPart,
    NativeToolReturnPart,
    ToolReturn,
)
from pydantic_ai.models.function import (
    DeltaThinkingPart,
    DeltaToolCall,
    FunctionModel,
)
from pydantic_ai.models.test import TestModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

Json = dict[str, Any]


# Models without a network


def scripted(*calls: Sequence[Any]) -> FunctionModel:
    """A model that plays its script: one list of stream items a model call.

    An exception in the script is raised where it stands.
    """
    script = list(calls)

    async def play(*_: Any) -> AsyncIterator[Any]:
        for item in script.pop(0):
            if isinstance(item, Exception):
                raise item
            yield item

    return FunctionModel(stream_function=play)


def text(words: str) -> list[str]:
    """Text, a word a delta."""
    return pieces(words)


def thought(words: str, signature: str | None, index: int = 0) -> list[Json]:
    """Reasoning, a word a delta, then the signature that providers send last."""
    deltas = [{index: DeltaThinkingPart(content=piece)} for piece in pieces(words)]
    return [*deltas, {index: DeltaThinkingPart(signature=signature)}] if signature else deltas


def call(index: int, call_id: str, name: str, *arguments: str) -> list[Json]:
    """A tool call whose arguments stream."""
    return [
        {index: DeltaToolCall(name=name, tool_call_id=call_id)},
        *({index: DeltaToolCall(json_args=piece, tool_call_id=call_id)} for piece in arguments),
    ]


def pieces(words: str) -> list[str]:
    """Words with the space that leads them."""
    return re.findall(r" ?[^ ]+", words)


# Recording


class Server:
    """The adapter's endpoint, called in process, and all that it sent."""

    def __init__(self, agent: Agent[Any, Any], **options: Any) -> None:
        self._dispatch = partial(AGUIAdapter.dispatch_request, agent=agent, **options)
        app = Starlette(routes=[Route("/", self._endpoint, methods=["POST"])])
        self._client = AsyncClient(transport=ASGITransport(app), base_url="http://agent")
        self.sent: list[str] = []

    async def _endpoint(self, request: Request) -> Response:
        return await self._dispatch(request)

    async def run(self, run_id: str, messages: list[Json], **fields: Any) -> list[Json]:
        """Post one run of the thread, keep what was sent, and return it parsed."""
        body = {
            "threadId": "thread-1",
            "runId": run_id,
            "messages": messages,
            "state": {},
            "tools": [],
            "context": [],
            "forwardedProps": {},
        } | fields
        response = await self._client.post("/", json=body)
        response.raise_for_status()
        frames = response.text.split("\n\n")
        sent = [frame.removeprefix("data: ") for frame in frames if frame.startswith("data: ")]
        for event in sent:
            clock = 1_700_000_000_000 + len(self.sent)
            self.sent.append(re.sub(r'"timestamp":\d+', f'"timestamp":{clock}', event))
        return [json.loads(event) for event in sent]


def user(identifier: str, content: str) -> Json:
    """A message as a client sends it."""
    return {"id": identifier, "role": "user", "content": content}


def conversation(events: Sequence[Json]) -> list[Json]:
    """The messages that a client made of these events: what it sends back with the next run."""
    messages: dict[str, Json] = {}
    calls: dict[str, Json] = {}
    for event in events:
        match event:
            case {"type": "TEXT_MESSAGE_START", "messageId": key}:
                messages[key] = {"id": key, "role": "assistant", "content": ""}
            case {"type": "REASONING_START", "messageId": key}:
                messages[key] = {"id": key, "role": "reasoning", "content": ""}
            case {"messageId": key, "delta": delta}:
                messages[key]["content"] += delta
            case {"type": "REASONING_ENCRYPTED_VALUE", "entityId": key, "encryptedValue": value}:
                (messages.get(key) or calls[key])["encryptedValue"] = value
            case {"type": "TOOL_CALL_START", "toolCallId": key, "parentMessageId": parent}:
                function = {"name": event["toolCallName"], "arguments": ""}
                calls[key] = {"id": key, "type": "function", "function": function}
                messages[parent].setdefault("toolCalls", []).append(calls[key])
            case {"type": "TOOL_CALL_ARGS", "toolCallId": key, "delta": delta}:
                calls[key]["function"]["arguments"] += delta
            case {"type": "TOOL_CALL_RESULT", "messageId": key}:
                messages[key] = {"id": key, "role": "tool"} | {name: event[name] for name in ("toolCallId", "content")}
    return list(messages.values())


# Scenarios


async def chat_log() -> list[str]:
    """Signed reasoning, two calls at once whose results carry state, a retried call, two runs."""
    agent = Agent(
        scripted(
            thought("Both, then compare.", "c2lnLTE=")
            + text("Let me look.")
            + call(1, "call_1", "weather", '{"city":', ' "Cascais"}')
            + call(2, "call_2", "tide", '{"city": "Cascais"}'),
            thought("The tide failed; again.", "c2lnLTI=")
            + call(1, "call_3", "tide", '{"city": "Cascais,', ' Portugal"}'),
            text("Sunny, and low tide at 10:40."),
            thought("Only the weather.", "c2lnLTM=") + call(1, "call_4", "weather", '{"city": "Sintra"}'),
            text("Sunny in Sintra too."),
        )
    )

    @agent.tool_plain
    async def weather(city: str) -> ToolReturn:
        """Look up the weather."""
        return ToolReturn(
            return_value={"city": city, "sky": "sunny"},
            metadata=[
                StateSnapshotEvent(type=EventType.STATE_SNAPSHOT, snapshot={"cities": []}),
                StateDeltaEvent(
                    type=EventType.STATE_DELTA,
                    delta=[{"op": "add", "path": "/cities/-", "value": city}],
                ),
                CustomEvent(type=EventType.CUSTOM, name="looked_up", value=city),
            ],
        )

    @agent.tool_plain
    async def tide(city: str) -> str:
        """Look up the tide."""
        if "," not in city:
            msg = "Say the country."
            raise ModelRetry(msg)
        return f"Low tide in {city} at 10:40"

    server = Server(agent, include_usage=True)
    question = [user("user-1", "The beach at Cascais?")]
    events = await server.run("run-1", question, protocolVersion="1.0")
    history = [*question, *conversation(events), user("user-2", "And Sintra?")]
    await server.run("run-2", history, protocolVersion="1.0")
    return server.sent


async def reasoning_log() -> list[str]:
    """Reasoning in several parts, some of it only a signature, and a call of the provider's own."""
    search = NativeToolCallPart("web_search", {"query": "Sintra"}, "native_1", provider_name="function")
    found = NativeToolReturnPart("web_search", {"hits": ["Pena", "Regaleira"]}, "native_1", provider_name="function")
    server = Server(
        Agent(
            scripted(
                [
                    {0: DeltaThinkingPart(signature="c2VhbGVkLW9ubHk=")},
                    *thought("Search first.", "c2lnLTE=", 1),
                    {2: search},
                    {3: found},
                    *thought("Two palaces.", "c2lnLTI=", 4),
                    *thought("Which is nearer?", None, 5),
                    *text("Pena and Regaleira."),
                ]
            )
        )
    )
    await server.run("run-1", [user("user-1", "What is in Sintra?")])
    return server.sent


async def thinking_log() -> list[str]:
    """The same kind of chat for a client of AG-UI 0.1.10: the retired THINKING events."""
    agent = Agent(
        scripted(
            thought("A quick look at the tables.", "c2lnLTE=")
            + text("One moment.")
            + call(1, "call_1", "tide", '{"city": "Cascais"}'),
            thought("Good.", "c2lnLTI=") + text("Low tide at 10:40."),
        )
    )

    @agent.tool_plain
    async def tide(city: str) -> str:
        """Look up the tide."""
        return f"Low tide in {city} at 10:40"

    server = Server(agent, ag_ui_version="0.1.10")
    await server.run("run-1", [user("user-1", "The tide?")])
    return server.sent


async def test_model_log() -> list[str]:
    """The framework's TestModel: it calls every tool, without text, then says what came back."""
    agent = Agent(TestModel())

    @agent.tool_plain
    async def weather(city: str) -> str:
        """Look up the weather."""
        return f"Sunny in {city}"

    @agent.tool_plain
    async def tides(hours: list[int]) -> dict[str, int]:
        """Look up the tides."""
        return {"count": len(hours)}

    @agent.tool_plain
    async def ferry() -> None:
        """Call the ferry."""

    server = Server(agent)
    question = [user("user-1", "Everything, please.")]
    events = await server.run("run-1", question)
    for run_id, again in ("run-2", "Once more."), ("run-3", "And again."):
        question += [*conversation(events), user(f"user-{run_id}", again)]
        events = await server.run(run_id, question)
    return server.sent


async def approval_log() -> list[str]:
    """A call that a person approves and one that the browser makes, then a model that fails."""
    agent = Agent(
        scripted(
            text("I will book it.") + call(1, "call_book", "book", '{"train":', ' "9:11"}'),
            text("Booked. Where are you?") + call(1, "call_locate", "locate", "{}"),
            [*thought("Near the station.", "c2lnLTE="), "Walk ", RuntimeError("model went away")],
        ),
        output_type=[str, DeferredToolRequests],
    )

    @agent.tool_plain(requires_approval=True)
    async def book(train: str) -> str:
        """Book a seat."""
        return f"Seat 12 on the {train}"

    locate = {"name": "locate", "description": "", "parameters": {"type": "object"}}
    server = Server(agent)
    run = partial(server.run, tools=[locate], protocolVersion="1.0")
    messages = [user("user-1", "Book the 9:11.")]
    events = await run("run-1", messages)
    [interrupt] = events[-1]["outcome"]["interrupts"]
    approval = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
    messages += conversation(events)
    events = await run("run-2", messages, resume=[approval])
    place = {"id": "tool-1", "role": "tool", "toolCallId": "call_locate", "content": "Rossio"}
    await run("run-3", [*messages, *conversation(events), place])
    return server.sent


LOGS = {
    "chat": chat_log,
    "reasoning": reasoning_log,
    "thinking": thinking_log,
    "test_model": test_model_log,
    "approval": approval_log,
}


def main() -> None:
    """Record every log."""
    for name, record in LOGS.items():
        _random.seed(name)
        events = asyncio.run(record())
        (HERE / f"{name}.jsonl").write_text("".join(f"{event}\n" for event in events), "utf-8")
        print(f"{name}: {len(events)} events")


if __name__ == "__main__":
    main()
