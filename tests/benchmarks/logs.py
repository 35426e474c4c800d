"""The logs that are measured: generated, the same on every run, as objects of the installed SDK."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from ag_ui.core import (
    BaseEvent,
    ReasoningEncryptedValueEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunFinishedEvent,
    RunStartedEvent,
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

Log = list[BaseEvent]
DELTA = "abcd"


def _run(events: Iterator[BaseEvent]) -> Log:
    start, end = RunStartedEvent(thread_id="t", run_id="r"), RunFinishedEvent(thread_id="t", run_id="r")
    return [start, *events, end]


def _text(name: str, deltas: int, **tag: Any) -> Iterator[BaseEvent]:
    yield TextMessageStartEvent(message_id=name, role="assistant", **tag)
    for _ in range(deltas):
        yield TextMessageContentEvent(message_id=name, delta=DELTA, **tag)
    yield TextMessageEndEvent(message_id=name)


def _reasoning(name: str, deltas: int, **tag: Any) -> Iterator[BaseEvent]:
    yield ReasoningMessageStartEvent(message_id=name, role="reasoning", **tag)
    for _ in range(deltas):
        yield ReasoningMessageContentEvent(message_id=name, delta=DELTA, **tag)
    yield ReasoningMessageEndEvent(message_id=name)


def _call(name: str, parent: str | None = None, **tag: Any) -> Iterator[BaseEvent]:
    yield ToolCallStartEvent(tool_call_id=name, tool_call_name="search", parent_message_id=parent, **tag)
    for _ in range(10):
        yield ToolCallArgsEvent(tool_call_id=name, delta='{"a"')
    yield ToolCallEndEvent(tool_call_id=name)
    yield ToolCallResultEvent(message_id=f"result-{name}", tool_call_id=name, content="found", **tag)


def _turn(turn: int, *, parents: bool = False) -> Iterator[BaseEvent]:
    yield ReasoningStartEvent(message_id=f"g{turn}")
    yield from _reasoning(f"g{turn}", 20)
    yield ReasoningEndEvent(message_id=f"g{turn}")
    yield from _text(f"m{turn}", 60)
    for call in (f"a{turn}", f"b{turn}"):
        yield from _call(call, f"m{turn}" if parents else None)


def chat(turns: int = 200, *, parents: bool = False) -> Log:
    """Turns of a reasoning block of 20 deltas, a text of 60, and two calls of 10 argument deltas with results.

    The calls name no parent, unless `parents` says so.
    """
    return _run(event for turn in range(turns) for event in _turn(turn, parents=parents))


def endless() -> Iterator[BaseEvent]:
    """Yield a chat that never ends."""
    yield RunStartedEvent(thread_id="t", run_id="r")
    for turn in count():
        yield from _turn(turn)


def long(deltas: int) -> Log:
    """One text of so many deltas of four characters."""
    return _run(_text("m", deltas))


def fanout(events: int = 50_000, lanes: int = 8) -> Log:
    """Lanes whose reasoning, text and calls interleave event by event at random, with encrypted values late."""

    def lane(number: int) -> Iterator[BaseEvent]:
        tag = {"subagent_run_id": f"s{number}"}
        turn = 0
        while True:
            turn += 1
            name = f"{number}.{turn}"
            yield from _reasoning(f"g{name}", 20, **tag)
            yield from _text(f"m{name}", 40, **tag)
            yield ReasoningEncryptedValueEvent(subtype="message", entity_id=f"g{name}", encrypted_value="c2VjcmV0")
            yield from _call(f"c{name}", **tag)

    chance = random.Random(1)
    open_lanes = [lane(number) for number in range(lanes)]
    return _run(next(chance.choice(open_lanes)) for _ in range(events))


def thread(messages: int, deltas: int = 2_000) -> Log:
    """So many settled messages, then deltas on a last one."""

    def events() -> Iterator[BaseEvent]:
        for number in range(messages):
            yield from _text(f"m{number}", 3)
        yield from _text("last", deltas)

    return _run(events())


def settled(messages: int) -> int:
    """Return how many events of a thread tell its settled messages, the run's start included."""
    return 1 + 5 * messages


def document() -> dict[str, Any]:
    """Return a document of about 200 KB: a list of small objects and nested maps."""
    items = [{"id": number, "name": f"item {number}", "tags": ["a", "b"], "done": False} for number in range(1_500)]
    return {"items": items, "index": {f"k{number}": {"n": number, "v": "x" * 40} for number in range(1_000)}}


def state() -> Log:
    """A 200 KB document and 2,000 small patches."""

    def events() -> Iterator[BaseEvent]:
        yield StateSnapshotEvent(snapshot=document())
        for number in range(2_000):
            path = f"/items/{number % 1_500}/done" if number % 2 else f"/index/k{number % 1_000}/n"
            patch: Any = [{"op": "replace", "path": path, "value": number}]
            yield StateDeltaEvent(delta=patch)

    return _run(events())


LOGS: dict[str, Callable[[], Log]] = {
    "chat": chat,
    "chat, parents named": lambda: chat(parents=True),
    "long 10k": lambda: long(10_000),
    "long 100k": lambda: long(100_000),
    "long 400k": lambda: long(400_000),
    "fanout": fanout,
    "thread 100": lambda: thread(100),
    "thread 1000": lambda: thread(1_000),
    "thread 4000": lambda: thread(4_000),
    "state": state,
    "live 1000": lambda: thread(1_000, 500),
    "live 4000": lambda: thread(4_000, 500),
}
"""By name: how to make the log. Of `live` there is a projection after every event that is measured."""
THREADS = {name: int(name.split()[1]) for name in LOGS if name.startswith(("thread", "live"))}
"""How many messages are settled, and not measured."""
