"""Record the streams of Microsoft's ``agent-framework-ag-ui``.

Run as ``python record.py`` in an environment made from ``requirements.txt``.
Every log is what the framework's own FastAPI endpoint sent, one event a line.
Recording again gives the same bytes: ids are drawn from a seeded generator,
the models are scripts, and where two agents run at once a score says whose turn it is.
"""

# The frameworks are imported after their sources of ids have been replaced.
# ruff: noqa: E402

from __future__ import annotations

import asyncio
import json
import random
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

HERE = Path(__file__).parent
_random = random.Random()


def _uuid4() -> uuid.UUID:
    return uuid.UUID(int=_random.getrandbits(128), version=4)


uuid.uuid4 = _uuid4  # before the framework is imported: some of its modules take it by name

from agent_framework import (
    Agent,
    AgentExecutor,
    AgentExecutorResponse,
    BaseChatClient,
    ChatResponseUpdate,
    Content,
    Executor,
    FunctionInvocationLayer,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    response_handler,
    tool,
)
from agent_framework_ag_ui import (
    AgentFrameworkAgent,
    InMemoryAGUIThreadSnapshotStore,
    add_agent_framework_fastapi_endpoint,
    state_update,
)
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


class ScriptedChatClient(FunctionInvocationLayer, BaseChatClient):  # type: ignore[misc]
    """A chat model that plays its script: one list of contents a model call."""

    def __init__(self, *calls: Sequence[Content], player: str = "", score: Score | None = None) -> None:
        super().__init__()
        self.calls = list(calls)
        self.player = player
        self.score = score or Score()

    def _inner_get_response(self, **_: Any) -> Any:
        return self._build_response_stream(self._play(self.calls.pop(0)))

    async def _play(self, contents: Sequence[Content]) -> AsyncIterator[ChatResponseUpdate]:
        for content in contents:
            await self.score.turn(self.player)
            yield ChatResponseUpdate(role="assistant", contents=[content])
        if self.calls:
            self.score.release(self.player)
        else:
            self.score.leave(self.player)


def text(words: str) -> list[Content]:
    """Text, a word a delta."""
    return [Content.from_text(piece) for piece in pieces(words)]


def thought(words: str, identifier: str) -> list[Content]:
    """Reasoning that shows, a word a delta."""
    return [Content.from_text_reasoning(id=identifier, text=piece) for piece in pieces(words)]


def sealed(value: str, identifier: str) -> list[Content]:
    """Reasoning that does not show: the provider's encrypted copy of it."""
    return [Content.from_text_reasoning(id=identifier, protected_data=value)]


def call(call_id: str, name: str, *arguments: str) -> list[Content]:
    """A tool call whose arguments stream."""
    return [Content.from_function_call(call_id, name, arguments=piece) for piece in ("", *arguments)]


def pieces(words: str) -> list[str]:
    """Words with the space that leads them."""
    return re.findall(r" ?[^ ]+", words)


# Workflows and agents


class Dispatcher(Executor):
    """Hands the user's message to every agent."""

    @handler
    async def dispatch(self, messages: list[Message], ctx: WorkflowContext[Message]) -> None:
        """Send the last message on."""
        await ctx.send_message(messages[-1])


class Editor(Executor):
    """Waits for both agents and answers."""

    @handler
    async def edit(self, responses: list[AgentExecutorResponse], ctx: WorkflowContext[None, str]) -> None:
        """Name the agents and answer."""
        names = " and ".join(sorted(response.executor_id for response in responses))
        await ctx.yield_output(f"Done: {names} agree on a Saturday in Sintra.")


class Gate(Executor):
    """Asks a person before it books."""

    @handler
    async def ask(self, messages: list[Message], ctx: WorkflowContext[None, str]) -> None:
        """Say what there is, and ask."""
        await ctx.yield_output(f"{messages[-1].text} There is one at 9:11.")
        await ctx.request_info({"question": "Book it?", "price": 4.8}, str)

    @response_handler
    async def answer(self, original_request: dict[str, Any], response: str, ctx: WorkflowContext[None, str]) -> None:
        """Repeat what was asked and answered."""
        await ctx.yield_output(f"You said {response}; {original_request['price']} EUR it is.")


def fan_out(researcher: ScriptedChatClient, writer: ScriptedChatClient, **selection: Any) -> Workflow:
    """A workflow of two agents that run at once, between a dispatcher and an editor."""
    score, player = researcher.score, researcher.player

    @tool
    async def trains(to: str) -> str:
        """Look up trains."""
        await score.turn(player)
        return json.dumps({"to": to, "next": "9:11"})

    start, end = Dispatcher("dispatcher"), Editor("editor")
    agents: list[Any] = [
        AgentExecutor(Agent(client=researcher, name="researcher", tools=[trains])),
        AgentExecutor(Agent(client=writer, name="writer")),
    ]
    outputs = {
        "output_from": [agents[1], end],
        "intermediate_output_from": [agents[0]],
    } | selection
    builder = WorkflowBuilder(start_executor=start, name="weekend", **outputs)
    return builder.add_fan_out_edges(start, agents).add_fan_in_edges(agents, end).build()


# Recording


class Server:
    """The framework's endpoint, called in process, and all that it sent."""

    def __init__(self, agent: Any, **options: Any) -> None:
        app = FastAPI()
        add_agent_framework_fastapi_endpoint(app, agent, "/", single_user=True, **options)
        self._client = AsyncClient(transport=ASGITransport(app), base_url="http://agent")
        self.sent: list[str] = []

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
        self.sent += sent
        return [json.loads(event) for event in sent]


def user(identifier: str, content: str) -> Json:
    """A message as a client sends it."""
    return {"id": identifier, "role": "user", "content": content}


def last_messages(events: Sequence[Json]) -> list[Json]:
    """The conversation as the last MESSAGES_SNAPSHOT has it: what a client sends back."""
    return [e for e in events if e["type"] == "MESSAGES_SNAPSHOT"][-1]["messages"]


async def fan_out_log() -> list[str]:
    """Two agents at once: reasoning, a call and text meet event by event, encrypted values late.

    The researcher's text is intermediate output, which the framework streams as reasoning.
    """
    score = Score("RWRWWRRWRWRRWWRWRWRWWRWRWRWRRRWRWWWWWW")
    researcher = ScriptedChatClient(
        thought("Sintra is close; check the trains first.", "rs_research")
        + call("call_trains", "trains", '{"to": ', '"Sintra"}'),
        sealed("c2VhbGVkLXJlc2VhcmNo", "rs_research")
        + thought("One leaves at 9:11.", "rs_research_2")
        + sealed("c2VhbGVkLXJlc2VhcmNoLTI=", "rs_research_2")
        + text("Trains run hourly."),
        player="R",
        score=score,
    )
    writer = ScriptedChatClient(
        thought("Short and warm.", "rs_write")
        + text("Go to Sintra on Saturday: palaces in the morning,")
        + sealed("c2VhbGVkLXdyaXRl", "rs_write")
        + text(" and the sea in the evening."),
        player="W",
        score=score,
    )
    server = Server(fan_out(researcher, writer))
    await server.run("run-1", [user("user-1", "A weekend near Lisbon?")])
    return server.sent


async def fan_out_text_log() -> list[str]:
    """Two agents at once, both texts output: the framework writes them into one message."""
    score = Score("RWRWRWWRRWRWRWRWRWRWRWRW")
    researcher = ScriptedChatClient(text("Trains to Sintra leave Rossio every hour."), player="R", score=score)
    writer = ScriptedChatClient(
        sealed("c2VhbGVkLW9ubHk=", "rs_write") + text("Take the early one and walk up to Pena."),
        player="W",
        score=score,
    )
    server = Server(fan_out(researcher, writer, output_from="all", intermediate_output_from=None))
    await server.run("run-1", [user("user-1", "A weekend near Lisbon?")])
    return server.sent


async def stored_thread_log() -> list[str]:
    """The fan-out kept in the framework's own snapshot store, then a reload that it hydrates."""
    score = Score("WRWRWRWRWRWRWWRWRWWRW")
    researcher = ScriptedChatClient(
        thought("Which line is it?", "rs_research")
        + sealed("c2VhbGVkLXJlc2VhcmNo", "rs_research")
        + call("call_trains", "trains", '{"to": "Sintra"}'),
        text("Rossio, every hour."),
        player="R",
        score=score,
    )
    writer = ScriptedChatClient(
        thought("A postcard.", "rs_write") + text("Palaces, fog, a good lunch, and the slow train home."),
        player="W",
        score=score,
    )
    server = Server(fan_out(researcher, writer), snapshot_store=InMemoryAGUIThreadSnapshotStore())
    await server.run("run-1", [user("user-1", "A weekend near Lisbon?")])
    await server.run("run-2", [])
    return server.sent


async def request_info_log() -> list[str]:
    """A workflow that stops to ask a person, and the run that resumes it."""
    server = Server(WorkflowBuilder(start_executor=Gate("gate"), name="gate").build())
    events = await server.run("run-1", [user("user-1", "A train to Sintra?")])
    [interrupt] = events[-1]["outcome"]["interrupts"]
    await server.run(
        "run-2",
        [user("user-1", "A train to Sintra?")],
        resume=[{"interruptId": interrupt["id"], "status": "resolved", "payload": "yes"}],
    )
    return server.sent


async def chat_log() -> list[str]:
    """One agent with two parallel calls and shared state; a second run echoes the history."""

    @tool
    async def weather(city: str) -> Content:
        """Look up the weather."""
        return state_update(f"Sunny in {city}", state={"weather": {city: "sunny"}})

    @tool
    async def tide(city: str) -> str:
        """Look up the tide."""
        return f"Low tide in {city} at 10:40"

    client = ScriptedChatClient(
        thought("Ask both.", "rs_1")
        + sealed("c2VhbGVkLTE=", "rs_1")
        + text("Let me look.")
        + call("call_1", "weather", '{"city":', ' "Cascais"}')
        + call("call_2", "tide", '{"city": "Cascais"}'),
        text("Sunny, and low tide at 10:40."),
        call("call_3", "weather", '{"city": "Sintra"}'),
        text("Sunny in Sintra too."),
    )
    agent = AgentFrameworkAgent(
        Agent(client=client, name="guide", tools=[weather, tide]),
        state_schema={"weather": {"type": "object"}},
    )
    server = Server(agent)
    events = await server.run("run-1", [user("user-1", "The beach at Cascais?")])
    history = [*last_messages(events), user("user-2", "And Sintra?")]
    await server.run("run-2", history, state={"weather": {"Cascais": "sunny"}})
    return server.sent


async def approval_log() -> list[str]:
    """An agent whose tool needs approval: an interrupt, then the run that resumes it."""

    @tool(approval_mode="always_require")
    async def book(train: str) -> str:
        """Book a seat."""
        return f"Seat 12 on the {train}"

    client = ScriptedChatClient(
        text("I will book it once you agree to it.") + call("call_book", "book", '{"train":', ' "9:11"}'),
        text("You have seat 12."),
    )
    server = Server(Agent(client=client, name="agent", tools=[book]))
    events = await server.run("run-1", [user("user-1", "Book the 9:11.")])
    [interrupt] = events[-1]["outcome"]["interrupts"]
    await server.run(
        "run-2",
        last_messages(events),
        resume=[{"interruptId": interrupt["id"], "status": "resolved", "payload": {"accepted": True}}],
    )
    return server.sent


LOGS = {
    "fan_out": fan_out_log,
    "fan_out_text": fan_out_text_log,
    "stored_thread": stored_thread_log,
    "request_info": request_info_log,
    "chat": chat_log,
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
