"""The example's application with its scripted agent held at a gate, so that a test says how far a run may go.

What a run's input forwards says what its agent does: `gate`, the file with the number of events that may come so far;
`raise`, the number of the event at which it raises; `stop`, that at which it just stops; `malformed`, that in whose
place comes no event at all.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from ag_ui.core import RunAgentInput
from starlette.applications import Starlette

from docs.examples.server import app
from docs.examples.server.agent import script
from docs.examples.server.store import open_store


async def let_through(gate: Path, number: int) -> None:
    """Wait until a gate lets an event through; a file, so that it stands while servers come and go."""
    while number >= int(gate.read_text(encoding="utf-8")):  # noqa: ASYNC110, ASYNC240 - no event tells of files
        await asyncio.sleep(0.005)


async def gated(run_input: RunAgentInput) -> AsyncGenerator[dict[str, Any], None]:
    """Give the events of the script as far as the gate lets them through."""
    props = run_input.forwarded_props or {}
    for number, event in enumerate(script(run_input)):
        if "gate" in props:
            await let_through(Path(props["gate"]), number)
        if number == props.get("raise"):
            raise RuntimeError("the password is hunter2")
        if number == props.get("stop"):
            return
        yield {"type": "TEXT_MESSAGE_CONTENT", "delta": 1} if number == props.get("malformed") else event


def main() -> Starlette:
    """Return the application that the environment describes."""
    app.QUIET = 0.1
    store = open_store(os.environ["DATABASE"], float(os.environ["LEASE"]))
    return app.create_app(store, gated, json.loads(os.environ["TOKENS"]))
