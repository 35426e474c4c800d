"""The systems that are measured: this library, its peers, and floors written by hand.

Each is a function from the events before (settled, and not measured) and the events to measure to a call that takes
them. Only the call is timed, so whatever a system needs is made and imported before.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from ag_ui.core import Event
from jsonpatch import JsonPatch
from pydantic import TypeAdapter

from reducer import EMPTY, View, decode_all, fold, fold_all, project
from reducer._decode_all import line_decoder

Events = Sequence[Any]
Call = Callable[[], Any]
System = Callable[[Events, Events], Call]

REFERENCE = Path(__file__).parents[1] / "reference"


def folds(settled: Events, events: Events) -> Call:
    """`reduce(fold)`."""
    before = fold_all(EMPTY, settled)
    return lambda: reduce(fold, events, before)


def folds_all(settled: Events, events: Events) -> Call:
    """`fold_all`."""
    before = fold_all(EMPTY, settled)
    return lambda: fold_all(before, events)


def folds_and_projects(settled: Events, events: Events) -> Call:
    """`fold`, and after every event a `View` brought up to date and its messages asked for."""
    before = fold_all(EMPTY, settled)
    view = View(before)
    assert len(view.messages) >= 0  # made now, and not when they are measured

    def call() -> int:
        shown = 0
        for state in accumulate(events, fold, initial=before):
            view.update(state)
            shown = len(view.messages)
        return shown

    return call


def builder() -> Any:
    """Return the mutable builder of `agent-framework-ag-ui`, empty."""
    from agent_framework_ag_ui._workflow import (  # type: ignore[import-not-found, unused-ignore]
        _WorkflowSnapshotBuilder,
    )

    return _WorkflowSnapshotBuilder([])


def builds(settled: Events, events: Events) -> Call:
    """`observe` each event, and `build` once."""
    made = builder()
    for event in settled:
        made.observe(event)

    def call() -> Any:
        for event in events:
            made.observe(event)
        return made.build()

    return call


def builds_each(settled: Events, events: Events) -> Call:
    """`observe` and `build` for each event."""
    made = builder()
    for event in settled:
        made.observe(event)

    def call() -> None:
        for event in events:
            made.observe(event)
            made.build()

    return call


def floor(_: Events, events: Events) -> Call:
    """Fold text, reasoning and arguments the cheapest way that Python knows, and nothing else."""

    def call() -> dict[str, str]:
        parts: dict[str, list[str]] = {}
        for event in events:
            kind = event.type.value
            if kind in ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT"):
                parts[event.message_id].append(event.delta)
            elif kind == "TOOL_CALL_ARGS":
                parts[event.tool_call_id].append(event.delta)
            elif kind.endswith("MESSAGE_START"):
                parts[event.message_id] = []
            elif kind == "TOOL_CALL_START":
                parts[event.tool_call_id] = []
        return {name: "".join(deltas) for name, deltas in parts.items()}

    return call


def patches(_: Events, events: Events) -> Call:
    """Apply the patches with `jsonpatch`, in place, to a document that nobody else holds."""
    snapshot, *deltas = [event for event in events if event.type.value.startswith("STATE_")]
    document = json.loads(json.dumps(snapshot.snapshot))
    plain = [wire(event)["delta"] for event in deltas]

    def call() -> Any:
        held = document
        for delta in plain:
            held = JsonPatch(delta).apply(held, in_place=True)
        return held

    return call


WHOLE: dict[str, System] = {"builder": builds, "fold": folds, "fold_all": folds_all, "floor": floor}
LIVE: dict[str, System] = {"builder": builds_each, "fold": folds_and_projects}
# The builder takes no patches, so the floor is what the others are compared with.
STATE: dict[str, System] = {"floor": patches, "fold": folds, "fold_all": folds_all}


def systems(log: str) -> dict[str, System]:
    """Return what is measured on a log in this process; the first is what the others are compared with."""
    return STATE if log == "state" else LIVE if log.startswith("live") else WHOLE


def reads_with_msgspec(_: Events, lines: Events) -> Call:
    """`decode_all`, with the extra `fast`."""
    line_decoder.cache_clear()
    return lambda: list(decode_all(lines))


def reads_without(_: Events, lines: Events) -> Call:
    """`decode_all` without it."""

    def call() -> Any:
        with patch.dict(sys.modules, {"msgspec": None}):
            line_decoder.cache_clear()
            return list(decode_all(lines))

    return call


def validates(_: Events, lines: Events) -> Call:
    """The SDK's own way: pydantic's `TypeAdapter`."""
    read = TypeAdapter[Any](Event).validate_json
    return lambda: [read(line) for line in lines]


def parses(_: Events, lines: Events) -> Call:
    """`json.loads`, which gives a dict and checks nothing."""
    return lambda: [json.loads(line) for line in lines]


def reads_and_folds(_: Events, lines: Events) -> Call:
    """`fold_all` of `decode_all`: a replay from the file to the state."""
    line_decoder.cache_clear()
    return lambda: fold_all(EMPTY, decode_all(lines))


READING: dict[str, System] = {
    "pydantic": validates,
    "decode_all": reads_with_msgspec,
    "decode_all without msgspec": reads_without,
    "json.loads": parses,
    "decode_all and fold_all": reads_and_folds,
}


def micros(system: System, settled: Events, events: Events) -> float:
    """Return the processor time that a system takes, in microseconds per event."""
    call = system(settled, events)
    begun = time.process_time()
    kept = call()
    took = time.process_time() - begun
    del kept
    return took / len(events) * 1e6


def wire(event: Any) -> Any:
    """Return an SDK object as it stands on the wire."""
    return event.model_dump(mode="json", by_alias=True, exclude_none=True)


class Client:
    """The reference client as it is, in one Node process that is given a log at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def load(self, settled: Events, events: Events) -> None:
        """Give it the settled messages and the events."""
        messages = project(fold_all(EMPTY, settled)).messages
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            # The run begins anew where messages are given.
            json.dump({"messages": messages, "events": [wire(event) for event in [*settled[:1], *events]]}, file)
            file.flush()
            self._ask({"load": file.name})

    def micros(self) -> float:
        """Return the processor time it takes, in microseconds per event. Raises `ValueError` if it refuses the log."""
        answer = self._ask({"run": True})
        if answer["error"] is not None:
            raise ValueError(answer["error"])
        took: float = answer["micros"]
        return took

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        sent, received = self._process.stdin, self._process.stdout
        assert sent is not None
        assert received is not None
        sent.write(f"{json.dumps(request)}\n")
        sent.flush()
        answer: dict[str, Any] = json.loads(received.readline())
        return answer


@contextmanager
def reference_client() -> Iterator[Client]:
    """Start the client, which is installed on first use."""
    if not (REFERENCE / "node_modules").exists():
        subprocess.run(["npm", "ci", "--silent"], cwd=REFERENCE, check=True)
    process = subprocess.Popen(
        ["node", "measure.mjs"], cwd=REFERENCE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        yield Client(process)
        assert process.stdin is not None
        process.stdin.close()


class Share(NamedTuple):
    """How many events of a log the client gets, and in how many rounds: it clones all messages for each of them."""

    events: int
    rounds: int


def share(log: str, events: int, rounds: int) -> Share:
    """Return the client's share of a log of so many events behind the settled ones, measured in so many rounds."""
    if log.startswith(("thread", "live", "state")):
        return Share(min(events, 200), rounds)
    if log == "long 400k":
        return Share(0, 0)
    if log == "fanout":
        # Its lanes are cut off as they come, and the client refuses the end of a run in which messages are open.
        return Share(events - 1, 1)
    return Share(events, rounds if log == "long 10k" else 1)
