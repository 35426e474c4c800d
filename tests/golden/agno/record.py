"""Record the streams of agno's AG-UI interface.

Run as ``python record.py`` in an environment made from ``requirements.txt``.
Every log is what the interface's own router sent, one event a line.
Recording again gives the same bytes: ids are drawn from a seeded generator, the clock stands
still, the models are scripts, and where two members run at once a score says whose turn it is.
"""

# The frameworks are imported after their sources of ids have been replaced.
# ruff: noqa: E402

from __future__ import annotations

import asyncio
import json
import random
import re
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

HERE = Path(__file__).parent
_random = random.Random()


def _uuid4() -> uuid.UUID:
    return uuid.UUID(int=_random.getrandbits(128), version=4)


# Before the framework is imported: some of its modules take these by name. Its RAW events tell
# the time.
uuid.uuid4 = _uuid4
time.time = lambda: 1_700_000_000.0
time.perf_counter = lambda: 0.0

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os.interfaces.agui import AGUI
from agno.run import RunContext
from agno.team import Team
from agno.tools import tool
from agno.tools.reasoning import ReasoningTools
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient

Json = dict[str, Any]


# Models without a network


class Score:
    """Says which player plays next, so that concurrent agents interleave the same way each time."""

    def __init__(self, beats: Iterable[str] = ()) -> None:
        self._beats = list(beats)
        self._holder: str | None = None

    async def turn(self, player: str) -> None:
        """Give up the beat that `player` holds, and wait for the next one of its own."""
        self.release(player)
        # Ticks of the loop: an asyncio.Event would wake the players in an order of its own.
        while not self._is_turn_of(player):  # noqa: ASYNC110
            await asyncio.sleep(0)
        if self._beats:
            del self._beats[0]
            self._holder = player

    def _is_turn_of(self, player: str) -> bool:
        return self._holder is None and (not self._beats or self._beats[0] == player)

    def release(self, player: str) -> None:
        """Give up the beat that `player` holds."""
        if self._holder == player:
            self._holder = None

    def leave(self, player: str) -> None:
        """Give up all beats that `player` still has."""
        self.release(player)
        self._beats = [beat for beat in self._beats if beat != player]


@dataclass
class ScriptedModel(Model):
    """A chat model that plays its script: one list of deltas a model call."""

    id: str = "scripted"
    name: str = "Scripted"
    provider: str = "Script"
    calls: list[list[ModelResponse]] = field(default_factory=list)
    player: str = ""
    score: Score = field(default_factory=Score)

    async def ainvoke_stream(self, *_: Any, **__: Any) -> AsyncIterator[ModelResponse]:
        """Play the next call of the script."""
        for delta in self.calls.pop(0):
            await self.score.turn(self.player)
            yield delta
        if self.calls:
            self.score.release(self.player)
        else:
            self.score.leave(self.player)

    async def ainvoke(self, *_: Any, **__: Any) -> ModelResponse:
        """Refuse: the interface only streams."""
        raise NotImplementedError

    def invoke(self, *_: Any, **__: Any) -> ModelResponse:
        """Refuse: the interface only streams."""
        raise NotImplementedError

    def invoke_stream(self, *_: Any, **__: Any) -> Iterator[ModelResponse]:
        """Refuse: the interface is asynchronous."""
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


def text(words: str) -> list[ModelResponse]:
    """Text, a word a delta."""
    return [ModelResponse(content=piece) for piece in pieces(words)]


def thought(words: str) -> list[ModelResponse]:
    """Reasoning, a word a delta."""
    return [ModelResponse(reasoning_content=piece) for piece in pieces(words)]


def call(*calls: tuple[str, str, Json]) -> list[ModelResponse]:
    """Tool calls at once: id, name and arguments of each."""
    return [
        ModelResponse(
            tool_calls=[
                {
                    "id": call_id,
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for call_id, name, arguments in calls
            ]
        )
    ]


def pieces(words: str) -> list[str]:
    """Words with the space that leads them."""
    return re.findall(r" ?[^ ]+", words)


# Recording


class Server:
    """The interface's router, called in process, and all that it sent."""

    def __init__(self, **entity: Any) -> None:
        app = FastAPI()
        app.include_router(AGUI(**entity).get_router())
        self._client = AsyncClient(transport=ASGITransport(app), base_url="http://agent")
        self.sent: list[str] = []

    async def run(self, run_id: str, messages: list[Json], **fields: Any) -> list[Json]:
        """Post one run of the thread, keep what was sent, and return it parsed."""
        body = {
            "threadId": "thread-1",
            "runId": run_id,
            "messages": messages,
            "state": None,
            "tools": [],
            "context": [],
            "forwardedProps": {},
        } | fields
        response = await self._client.post("/agui", json=body)
        response.raise_for_status()
        frames = response.text.split("\n\n")
        sent = [frame.removeprefix("data: ") for frame in frames if frame.startswith("data: ")]
        self.sent += sent
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
            case {"type": "TEXT_MESSAGE_CONTENT", "messageId": key, "delta": delta}:
                messages[key]["content"] += delta
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


@tool
async def weather(run_context: RunContext, city: str) -> Json:
    """Look up the weather, and note the city in the session's state."""
    run_context.session_state.setdefault("cities", []).append(city)
    return {"city": city, "sky": "sunny"}


@tool
async def tide(city: str) -> str:
    """Look up the tide."""
    return f"Low tide in {city} at 10:40"


async def chat_log() -> list[str]:
    """Reasoning, two calls at once, state as patches; a second run echoes the history."""
    model = ScriptedModel(
        calls=[
            thought("Both, then compare.")
            + text("Let me look.")
            + call(("call_1", "weather", {"city": "Cascais"}), ("call_2", "tide", {"city": "Cascais"})),
            text("Sunny, and low tide at 10:40."),
            call(("call_3", "weather", {"city": "Sintra"})),
            thought("Good news.") + text("Sunny in Sintra too."),
        ]
    )
    server = Server(agent=Agent(model=model, tools=[weather, tide], db=InMemoryDb(), telemetry=False))
    question = [user("user-1", "The beach at Cascais?")]
    events = await server.run("run-1", question, state={"cities": []})
    history = [*question, *conversation(events), user("user-2", "And Sintra?")]
    await server.run("run-2", history, state={"cities": ["Cascais"]})
    return server.sent


async def reasoning_log() -> list[str]:
    """Reasoning by way of a tool of the framework's: steps stream while their own call is open."""
    steps = {
        "call_1": {"title": "Weather", "thought": "It must be dry.", "action": "Look it up."},
        "call_3": {"title": "Time", "thought": "Dry; now the tide.", "confidence": 0.9},
    }
    model = ScriptedModel(
        calls=[
            text("Let me think.") + call(("call_1", "think", steps["call_1"])),
            call(("call_2", "weather", {"city": "Cascais"})),
            call(("call_3", "think", steps["call_3"]), ("call_4", "tide", {"city": "Cascais"})),
            text("Go at 10:40."),
        ]
    )
    tools = [ReasoningTools(), weather, tide]
    server = Server(agent=Agent(model=model, tools=tools, telemetry=False))
    await server.run("run-1", [user("user-1", "When to the beach at Cascais?")], state={})
    return server.sent


async def paused_log() -> list[str]:
    """A call that the browser makes: the run ends, and a second one brings the result."""
    model = ScriptedModel(
        calls=[
            text("Where are you?") + call(("call_locate", "locate", {"precise": True})),
            text("Walk to the station, then take the 9:11."),
        ]
    )
    locate = {
        "name": "locate",
        "description": "Where the user is.",
        "parameters": {"type": "object", "properties": {"precise": {"type": "boolean"}}},
    }
    server = Server(agent=Agent(model=model, db=InMemoryDb(), telemetry=False))
    question = [user("user-1", "How do I get to Sintra?")]
    events = await server.run("run-1", question, tools=[locate])
    place = {"id": "tool-1", "role": "tool", "toolCallId": "call_locate", "content": "Rossio"}
    await server.run("run-2", [*question, *conversation(events), place], tools=[locate])
    return server.sent


async def team_log() -> list[str]:
    """A team whose two members answer at once, one with a tool, into the leader's stream."""
    score = Score("RWRWWRRWRWRWWRWRRWRWWRWRRWRW")
    researcher = ScriptedModel(
        calls=[
            thought("Check the tide.") + call(("call_tide", "tide", {"city": "Cascais"})),
            text("Low tide is at 10:40."),
        ],
        player="R",
        score=score,
    )
    writer = ScriptedModel(calls=[text("Walk the beach in the morning.")], player="W", score=score)
    leader = ScriptedModel(
        calls=[
            text("I will ask both.") + call(("call_1", "delegate_task_to_members", {"task": "Plan a morning."})),
            text("Come at 10:40 and walk the beach."),
        ]
    )
    team = Team(
        members=[
            Agent(name="Researcher", model=researcher, tools=[tide], telemetry=False),
            Agent(name="Writer", model=writer, telemetry=False),
        ],
        name="Guides",
        model=leader,
        delegate_to_all_members=True,
        telemetry=False,
    )
    server = Server(team=team)
    await server.run("run-1", [user("user-1", "Plan a morning at Cascais.")])
    return server.sent


LOGS = {"chat": chat_log, "reasoning": reasoning_log, "paused": paused_log, "team": team_log}


def main() -> None:
    """Record every log."""
    for name, record in LOGS.items():
        _random.seed(name)
        events = asyncio.run(record())
        (HERE / f"{name}.jsonl").write_text("".join(f"{event}\n" for event in events), "utf-8")
        print(f"{name}: {len(events)} events")


if __name__ == "__main__":
    main()
