"""Record the streams of ``ag-ui-langgraph``.

Run as ``python record.py`` in an environment made from ``requirements.txt``.
Every log is what the package's own FastAPI endpoint sent, one event a line.
Recording again gives the same bytes: ids are counted or drawn from a seeded generator, the models
are scripts, and where two nodes run at once a score says whose turn it is.
"""

# The frameworks are imported after their sources of ids have been replaced.
# ruff: noqa: E402

from __future__ import annotations

import asyncio
import itertools
import json
import operator
import random
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence

HERE = Path(__file__).parent
_random = random.Random()
_clock = {"ticks": itertools.count(1)}


def _uuid4() -> uuid.UUID:
    return uuid.UUID(int=_random.getrandbits(128), version=4)


def _ordered(*_: Any, **__: Any) -> uuid.UUID:
    """Stand in for the ids that are made from the clock: they must sort in the order made."""
    return uuid.UUID(int=(next(_clock["ticks"]) << 80) | 0x7000_8000_0000_0000_0000)


uuid.uuid4 = _uuid4  # before the framework is imported: some of its modules take it by name

import uuid_utils.compat

uuid_utils.compat.uuid7 = _ordered

import langgraph.checkpoint.base.id

langgraph.checkpoint.base.id.uuid6 = _ordered

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, ToolMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

Json = dict[str, Any]


# Models without a network


class Score:
    """Says which player plays next, so that concurrent nodes interleave the same way each time."""

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


class ScriptedChatModel(BaseChatModel):
    """A chat model that plays its script: one list of message chunks a model call."""

    calls: list[Any]
    player: str = ""
    score: Any = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    def bind_tools(self, *_: Any, **__: Any) -> BaseChatModel:
        """Know the tools from the script."""
        return self

    async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self.calls.pop(0):
            if self.score:
                await self.score.turn(self.player)
            yield ChatGenerationChunk(message=chunk.model_copy())
        if self.score and self.calls:
            self.score.release(self.player)
        elif self.score:
            self.score.leave(self.player)


def text(words: str) -> list[AIMessageChunk]:
    """Text, a word a delta, in a content block as Anthropic's models send it."""
    blocks = ({"type": "text", "text": piece, "index": 1} for piece in pieces(words))
    return [AIMessageChunk([block]) for block in blocks]


def thought(words: str, signature: str | None = None) -> list[AIMessageChunk]:
    """Reasoning, a word a delta, signed at its end, as Anthropic's models send it."""
    blocks: list[Json] = [{"type": "thinking", "thinking": piece} for piece in pieces(words)]
    if signature:
        blocks[-1]["signature"] = signature
    return [AIMessageChunk([block | {"index": 0}]) for block in blocks]


def call(call_id: str, name: str, *arguments: str, index: int = 0) -> list[AIMessageChunk]:
    """A tool call whose arguments stream."""
    opening = {"id": call_id, "name": name, "args": "", "index": index}
    rest = ({"id": None, "name": None, "args": piece, "index": index} for piece in arguments)
    return [AIMessageChunk("", tool_call_chunks=[chunk]) for chunk in (opening, *rest)]


def done(tokens: int = 0) -> list[AIMessageChunk]:
    """The last chunk of a model call: why it ended and what it cost."""
    usage = {"input_tokens": 10, "output_tokens": tokens, "total_tokens": 10 + tokens}
    return [AIMessageChunk("", usage_metadata=usage, response_metadata={"finish_reason": "stop"})]


def pieces(words: str) -> list[str]:
    """Words with the space that leads them."""
    return re.findall(r" ?[^ ]+", words)


# Recording


class Server:
    """The package's endpoint, called in process, and all that it sent."""

    def __init__(self, graph: Any, **options: Any) -> None:
        app = FastAPI()
        options = {"emit_raw_events": False} | options
        add_langgraph_fastapi_endpoint(app, LangGraphAgent(name="guide", graph=graph, **options))
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


# Graphs


class TripState(MessagesState):
    """The conversation and the cities that were looked up."""

    cities: Annotated[list[str], operator.add]


@tool
async def weather(city: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Look up the weather, and note the city in the graph's state."""
    answer = ToolMessage(f"Sunny in {city}", tool_call_id=tool_call_id)
    return Command(update={"cities": [city], "messages": [answer]})


@tool
async def tide(city: str) -> str:
    """Look up the tide."""
    return f"Low tide in {city} at 10:40"


@tool
async def book(train: str) -> str:
    """Book a seat, once a person agrees."""
    answer = interrupt({"question": "Book it?", "train": train})
    return f"Seat 12 on the {train}, {answer}"


def agent_graph(*calls: Sequence[AIMessageChunk]) -> Any:
    """A model and a tool node in a loop, with a checkpointer."""
    model = ScriptedChatModel(calls=list(calls))

    async def ask(state: TripState) -> Json:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(TripState)
    builder.add_node("model", ask)
    builder.add_node("tools", ToolNode([weather, tide, book]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition, ["tools", END])
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=InMemorySaver())


def parallel_graph(**models: ScriptedChatModel) -> Any:
    """One node a model, all in the same step, then a node that answers."""
    builder = StateGraph(MessagesState)

    def node(model: ScriptedChatModel) -> Callable[[MessagesState], Any]:
        async def ask(state: MessagesState) -> Json:
            return {"messages": [await model.ainvoke(state["messages"])]}

        return ask

    for name, model in models.items():
        builder.add_node(name, node(model))
    *branches, last = models
    for name in branches:
        builder.add_edge(START, name)
        builder.add_edge(name, last)
    builder.add_edge(last, END)
    return builder.compile(checkpointer=InMemorySaver())


# Scenarios


async def chat_log() -> list[str]:
    """Signed reasoning, two calls at once, state from a tool; a second run echoes the history."""
    graph = agent_graph(
        thought("Both, then compare.", "c2lnLTE=")
        + text("Let me look.")
        + call("call_1", "weather", '{"city":', ' "Cascais"}')
        + call("call_2", "tide", '{"city": "Cascais"}', index=1)
        + done(21),
        text("Sunny, and low tide at 10:40.") + done(9),
        call("call_3", "weather", '{"city": "Sintra"}') + done(6),
        thought("Good news.", "c2lnLTI=") + text("Sunny in Sintra too.") + done(8),
    )
    server = Server(graph)
    events = await server.run("run-1", [user("user-1", "The beach at Cascais?")])
    history = [*last_messages(events), user("user-2", "And Sintra?")]
    await server.run("run-2", history, state={"cities": []})
    return server.sent


async def raw_log() -> list[str]:
    """A short run with the package's default: RAW copies of LangGraph's own events."""
    graph = agent_graph(call("call_1", "tide", '{"city": "Cascais"}') + done(5), text("At 10:40.") + done(3))
    server = Server(graph, emit_raw_events=True)
    await server.run("run-1", [user("user-1", "The tide?")])
    return server.sent


async def parallel_log() -> list[str]:
    """Two nodes of one step stream at once, which the package cannot keep apart."""
    score = Score("RWRWWRRWRWRWWRWRRWRWWRWRRWRW")
    graph = parallel_graph(
        researcher=ScriptedChatModel(
            calls=[thought("Check the trains first.", "c2lnLVI=") + text("They run hourly.") + done()],
            player="R",
            score=score,
        ),
        writer=ScriptedChatModel(
            calls=[text("Go to Sintra on Saturday: palaces, then the sea.") + done()],
            player="W",
            score=score,
        ),
        editor=ScriptedChatModel(calls=[text("Sintra it is.") + done()]),
    )
    server = Server(graph)
    await server.run("run-1", [user("user-1", "A weekend near Lisbon?")])
    return server.sent


async def subagents_log() -> list[str]:
    """A supervisor delegates to two subagents at once, attributed; one of them calls a tool."""
    score = Score("RWRWWRRWRWRWWRWRRWRWWRWRRWRW")
    scripts = {
        "researcher": [
            thought("Check the tide.", "c2lnLVI=") + call("call_tide", "tide", '{"city":', ' "Cascais"}') + done(),
            text("Low tide is at 10:40.") + done(),
        ],
        "writer": [thought("Short and warm.") + text("Walk the beach in the morning.") + done()],
    }
    agents = {
        name: create_agent(ScriptedChatModel(calls=calls, player=name[0].upper(), score=score), [tide], name=name)
        for name, calls in scripts.items()
    }

    @tool
    async def task(
        description: str, subagent_type: str, tool_call_id: Annotated[str, InjectedToolCallId]
    ) -> Command[Any]:
        """Delegate to a subagent."""
        state = await agents[subagent_type].ainvoke({"messages": [("user", description)]})
        answer = ToolMessage(state["messages"][-1].text, tool_call_id=tool_call_id)
        return Command(update={"messages": [answer]})

    supervisor = ScriptedChatModel(
        calls=[
            text("I will ask two.")
            + call("call_1", "task", '{"subagent_type": "researcher",', ' "description": "Tide?"}')
            + call(
                "call_2",
                "task",
                '{"subagent_type": "writer",',
                ' "description": "Invite"}',
                index=1,
            )
            + done(),
            text("Come at 10:40 and walk the beach.") + done(),
        ]
    )
    graph = create_agent(supervisor, [task], name="supervisor", checkpointer=InMemorySaver())
    server = Server(graph, subagent_visibility="attributed")
    await server.run("run-1", [user("user-1", "Plan a morning at Cascais.")])
    return server.sent


async def interrupt_log() -> list[str]:
    """A tool stops for a person's answer; the second run resumes it."""
    graph = agent_graph(
        text("I will book it.") + call("call_book", "book", '{"train":', ' "9:11"}') + done(7),
        text("You have seat 12.") + done(5),
    )
    server = Server(graph, emit_interrupt_outcome=True)
    question = [user("user-1", "Book the 9:11.")]
    events = await server.run("run-1", question)
    [open_interrupt] = events[-1]["outcome"]["interrupts"]
    answer = {"interruptId": open_interrupt["id"], "status": "resolved", "payload": "by the window"}
    await server.run("run-2", last_messages(events), resume=[answer])
    return server.sent


LOGS = {
    "chat": chat_log,
    "raw": raw_log,
    "parallel": parallel_log,
    "subagents": subagents_log,
    "interrupt": interrupt_log,
}


def main() -> None:
    """Record every log."""
    for name, record in LOGS.items():
        _random.seed(name)
        _clock["ticks"] = itertools.count(1)
        events = asyncio.run(record())
        (HERE / f"{name}.jsonl").write_text("".join(f"{event}\n" for event in events), "utf-8")
        print(f"{name}: {len(events)} events")


if __name__ == "__main__":
    main()
