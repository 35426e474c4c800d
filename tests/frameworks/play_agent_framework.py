"""Runs workflows of agent-framework behind its own endpoint and prints what was sent and stored, as JSON.

Runs in an environment with the package; `tests/test_frameworks.py` makes it and judges what is printed. The workflows
and models are those that the golden logs were recorded with.
"""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).parents[1] / "golden" / "agent-framework"))

import record
from ag_ui.core import (
    BaseEvent,
    ReasoningEncryptedValueEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from agent_framework import Content, Executor, Message, WorkflowBuilder, WorkflowContext, handler
from agent_framework_ag_ui import (
    AGUIThreadSnapshot,
    InMemoryAGUIThreadSnapshotStore,
    add_agent_framework_fastapi_endpoint,
)
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient

from reducer import Layout, fold_all, project, seed
from reducer.adapters.agent_framework import FoldedWorkflow

Json = dict[str, Any]
FIRST = record.user("user-1", "A weekend near Lisbon?")


class Store(InMemoryAGUIThreadSnapshotStore):  # type: ignore[misc]
    """The framework's store, which may fail, and can be looked into."""

    def __init__(self, *, fails: str = "") -> None:
        super().__init__()
        self.fails = fails

    async def get(self, **key: Any) -> AGUIThreadSnapshot | None:
        """Get, or fail."""
        if self.fails == "get":
            raise OSError("the disk is gone")
        return await super().get(**key)

    async def save(self, **key: Any) -> None:
        """Save, or fail."""
        if self.fails == "save":
            raise OSError("the disk is full")
        await super().save(**key)

    def held(self) -> list[Json]:
        """Return all that is stored."""
        return [
            {"messages": one.messages, "state": one.state, "interrupt": one.interrupt}
            for one in copy.deepcopy([*self._snapshots.values()])
        ]


class Failing(record.ScriptedChatClient):  # type: ignore[misc]
    """A model that goes away at the end of its script."""

    async def _play(self, contents: Sequence[Content]) -> AsyncIterator[Any]:
        async for update in super()._play(contents):
            yield update
        raise RuntimeError("the model went away")


class Noting(Executor):  # type: ignore[misc]
    """A dispatcher that notes what thread it was given."""

    given: ClassVar[list[list[Json]]] = []

    @handler  # type: ignore[untyped-decorator, unused-ignore]
    async def dispatch(self, messages: list[Message], ctx: WorkflowContext[Message]) -> None:
        """Send the last message on."""
        self.given.append([{"role": str(message.role), "text": message.text} for message in messages])
        await ctx.send_message(messages[-1])


record.Dispatcher = Noting


class Server(record.Server):  # type: ignore[misc]
    """The framework's endpoint, for users who are named in their requests."""

    def __init__(self, agent: Any, store: Store) -> None:
        app = FastAPI()
        add_agent_framework_fastapi_endpoint(
            app, agent, "/", snapshot_store=store, snapshot_scope_resolver=lambda asked: asked.forwarded_props["user"]
        )
        self._client = AsyncClient(transport=ASGITransport(app), base_url="http://agent")
        self.sent = []

    async def run(self, run_id: str, messages: list[Json], user: str = "ada", **fields: Any) -> list[Json]:
        """Post one run of the thread, and return what was sent."""
        sent: list[Json] = await super().run(run_id, messages, forwardedProps={"user": user}, **fields)
        return sent


def agents(rounds: int = 1, *, fail: bool = False) -> Any:
    """Two agents at once: reasoning with encrypted values that come late, a call, texts."""
    # 20 deltas of the one and 19 of the other, in turn.
    score = record.Score(("RW" * 19 + "R") * rounds)
    research: list[Any] = []
    write: list[Any] = []
    for number in range(1, rounds + 1):
        research += [
            record.thought("Sintra is close; check the trains first.", f"rs_research_{number}")
            + record.call(f"call_{number}", "trains", '{"to": ', '"Sintra"}'),
            record.sealed(f"c2VhbGVk{number}", f"rs_research_{number}")
            + record.thought("One leaves at 9:11.", f"rs_later_{number}")
            + record.sealed(f"bGF0ZXI{number}", f"rs_later_{number}")
            + record.text("Trains run hourly."),
        ]
        write.append(
            record.thought("Short and warm.", f"rs_write_{number}")
            + record.text("Go to Sintra on Saturday: palaces in the morning,")
            + record.sealed(f"d3JpdGU{number}", f"rs_write_{number}")
            + record.text(" and the sea in the evening.")
        )
    researcher = record.ScriptedChatClient(*research, player="R", score=score)
    model = Failing if fail else record.ScriptedChatClient
    return record.fan_out(researcher, model(*write, player="W", score=score))


def shown(events: Sequence[Json], before: Sequence[Json] = ()) -> list[Json]:
    """Return what the official client shows of the events: what it sends back with the next run."""
    return project(fold_all(seed(before), events), Layout.MERGED).messages


async def thread() -> Json:
    """Four runs of one thread, each followed by a reload."""
    store = Store()
    server = Server(FoldedWorkflow(agents(4)), store)
    client: list[Json] = []
    runs = []
    Noting.given.clear()
    for number in range(1, 5):
        client.append(record.user(f"user-{number}", f"Question {number}?"))
        before = list(client)
        live = await server.run(f"run-{number}", [message for message in client if message["role"] != "activity"])
        stored = store.held()
        replayed = await server.run(f"reload-{number}", [])
        # The second and the third run are asked by a client that was there, the fourth by one that reloaded.
        client = shown(live, before) if number < 3 else shown(replayed)
        runs.append({"before": before, "live": live, "stored": stored, "replayed": replayed})
    return {"runs": runs, "given": list(Noting.given), "stranger": await server.run("reload-5", [], user="eve")}


async def layouts() -> Json:
    """The same run, interleaved event by event, stored in either layout and without activities."""
    found: Json = {}
    for name, options in {
        "streamed": {},
        "merged": {"layout": Layout.MERGED},
        "plain": {"activities": False},
    }.items():
        store = Store()
        server = Server(FoldedWorkflow(agents(), **options), store)
        live = await server.run("run-1", [FIRST])
        found[name] = {"live": live, "stored": store.held(), "replayed": await server.run("reload", [])}
    return found


async def single_agent() -> Json:
    """One agent, which the framework stores well by itself."""

    @record.tool  # type: ignore[untyped-decorator, unused-ignore]
    async def weather(city: str) -> str:
        """Look up the weather."""
        return f"Sunny in {city}"

    client = record.ScriptedChatClient(
        record.thought("Look it up.", "rs_1")
        + record.sealed("c2VhbGVk", "rs_1")
        + record.text("Let me look.")
        + record.call("call_1", "weather", '{"city":', ' "Sintra"}'),
        record.text("Sunny."),
    )
    server = Server(record.Agent(client=client, name="guide", tools=[weather]), Store())
    return {"live": await server.run("run-1", [FIRST]), "replayed": await server.run("reload", [])}


async def failing_store() -> Json:
    """A store that cannot save, and one that cannot be read."""
    return {
        fails: await Server(FoldedWorkflow(agents()), Store(fails=fails)).run("run-1", [FIRST])
        for fails in ("save", "get")
    }


async def failing_agent() -> Json:
    """A model that goes away in the middle, and a client that does, on a thread with one run."""
    store = Store()
    await Server(FoldedWorkflow(agents()), store).run("run-1", [FIRST])
    before = store.held()
    live = await Server(FoldedWorkflow(agents(fail=True)), store).run("run-2", [FIRST])
    failed = store.held()
    runner = FoldedWorkflow(agents(), snapshot_store=store)
    events = runner.run({"messages": [FIRST], "thread_id": "thread-1", "__ag_ui_snapshot_scope": "ada"})
    left = [(await anext(events)).type for _ in range(60)]
    await events.aclose()
    return {"before": before, "live": live, "failed": failed, "seen": left, "left": store.held()}


async def interrupted() -> Json:
    """A workflow that asks a person, a reload while it waits, the answer, and a reload after it."""
    store = Store()
    gate = WorkflowBuilder(start_executor=record.Gate("gate"), name="gate").build()
    server = Server(FoldedWorkflow(gate), store)
    live = await server.run("run-1", [FIRST])
    waiting = await server.run("reload-1", [])
    [interrupt] = live[-1]["outcome"]["interrupts"]
    entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": "yes"}
    resumed = await server.run("run-2", [], resume=[entry])
    stored, replayed = store.held(), await server.run("reload-2", [])
    return {"live": live, "waiting": waiting, "resumed": resumed, "stored": stored, "replayed": replayed}


async def unreadable() -> Json:
    """A thread whose stored messages are nothing that the protocol allows."""
    store = Store()
    server = Server(FoldedWorkflow(agents(2)), store)
    await server.run("run-1", [FIRST])
    for snapshot in store._snapshots.values():
        snapshot.messages.append({"id": "odd", "role": "assistant", "content": 7})
    return {"live": await server.run("run-2", [record.user("user-2", "And?")]), "stored": store.held()}


class Teller(Executor):  # type: ignore[misc]
    """Says AG-UI events of its own, a list for each run."""

    def __init__(self, *runs: list[BaseEvent]) -> None:
        super().__init__("teller")
        self.runs = list(runs)

    @handler  # type: ignore[untyped-decorator, unused-ignore]
    async def tell(self, asked: list[Message], ctx: WorkflowContext[None, Any]) -> None:
        """Say what is next, whatever is asked."""
        del asked
        await ctx.yield_output(self.runs.pop(0))


async def own_events() -> Json:
    """A thread that the framework itself stored, and runs that change what is stored of it, and the state."""
    payload = {
        "_agentFrameworkMcpResult": True,
        "_agentFrameworkHostPayload": "for the host",
        "_agentFrameworkModelContent": [{"type": "text", "text": "for the model"}],
    }
    first: list[BaseEvent] = [
        ToolCallStartEvent(tool_call_id="call-1", tool_call_name="look", parent_message_id="parent"),
        ToolCallArgsEvent(tool_call_id="call-1", delta="{}"),
        ToolCallEndEvent(tool_call_id="call-1"),
        TextMessageStartEvent(message_id="text", role="assistant"),
        TextMessageContentEvent(message_id="text", delta="Wait."),
        TextMessageEndEvent(message_id="text"),
    ]
    second: list[BaseEvent] = [
        ToolCallResultEvent(message_id="late", tool_call_id="call-1", content="for the host", **payload),
        ReasoningEncryptedValueEvent(subtype="message", entity_id="text", encrypted_value="c2VjcmV0"),
        ReasoningMessageStartEvent(message_id="quote", role="reasoning"),
        ReasoningMessageContentEvent(message_id="quote", delta="They said:"),
        ReasoningMessageEndEvent(message_id="quote"),
        TextMessageStartEvent(message_id="said", role="user"),
        TextMessageContentEvent(message_id="said", delta="Hi."),
        TextMessageEndEvent(message_id="said"),
        StateSnapshotEvent(snapshot={"n": 1}),
        StateDeltaEvent(delta=[{"op": "replace", "path": "/n", "value": 2}]),
    ]
    third: list[BaseEvent] = [StateDeltaEvent(delta=[{"op": "replace", "path": "/n", "value": 3}])]
    fourth: list[BaseEvent] = [StateDeltaEvent(delta=[{"op": "remove", "path": "/n"}])]
    teller = Teller(first, second, third, fourth)
    store = Store()
    workflow = WorkflowBuilder(start_executor=teller, name="teller").build()
    plain, server = Server(workflow, store), Server(FoldedWorkflow(workflow, activities=False), store)
    stored = []
    for number, one in enumerate((plain, server, server, server), 1):
        await one.run(f"run-{number}", [record.user(f"user-{number}", "And?")])
        stored += store.held()
    return {"stored": stored, "replayed": await server.run("reload", [])}


async def told_history() -> Json:
    """A thread that the client brings along, ending with an answer."""
    store = Store()
    server = Server(FoldedWorkflow(agents()), store)
    request = [FIRST, {"id": "answer", "role": "assistant", "content": "Which one?"}]
    return {"request": request, "live": await server.run("run-1", request), "stored": store.held()}


async def renamed() -> Json:
    """A text that the framework renames, since a call goes on with its message."""
    events: list[BaseEvent] = [
        TextMessageStartEvent(message_id="text", role="assistant"),
        TextMessageContentEvent(message_id="text", delta="Look."),
        ToolCallStartEvent(tool_call_id="call-1", tool_call_name="look", parent_message_id="text"),
        ToolCallEndEvent(tool_call_id="call-1"),
        TextMessageEndEvent(message_id="text"),
    ]
    store = Store()
    workflow = WorkflowBuilder(start_executor=Teller(events), name="teller").build()
    live = await Server(FoldedWorkflow(workflow), store).run("run-1", [FIRST])
    return {"live": live, "stored": store.held()}


async def not_kept() -> Json:
    """A workflow without a store."""
    app = FastAPI()
    add_agent_framework_fastapi_endpoint(app, FoldedWorkflow(agents()), "/", single_user=True)
    client = AsyncClient(transport=ASGITransport(app), base_url="http://agent")
    response = await client.post("/", json={"messages": [FIRST]})
    return {"events": response.text.count("data: ")}


SCENES = (
    thread,
    layouts,
    single_agent,
    failing_store,
    failing_agent,
    interrupted,
    unreadable,
    own_events,
    told_history,
    renamed,
    not_kept,
)


def main() -> None:
    """Play every scene."""
    logging.disable(logging.CRITICAL)
    record._random.seed("play")
    print(json.dumps({scene.__name__: asyncio.run(scene()) for scene in SCENES}))  # noqa: T201 - its purpose


if __name__ == "__main__":
    main()
