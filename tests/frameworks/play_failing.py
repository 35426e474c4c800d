"""Runs the pages about pydantic-ai, LangGraph and agno, then lets their models fail, and prints what is left, as JSON.

Runs in an environment with the packages.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from httpx import ASGITransport, AsyncClient
from start import examples

from reducer import project

PAGES = Path(__file__).parents[2] / "docs" / "how-to"
Space = dict[str, Any]


def failing(*deltas: Any) -> Any:
    """Return a model's stream that breaks off behind its deltas, whatever it is asked."""

    async def play(*_: Any, **__: Any) -> AsyncIterator[Any]:
        for delta in deltas:
            yield delta
        raise RuntimeError("the model went away")

    return play


def fail_pydantic_ai(page: Space) -> None:
    """Give the page's agent a model that fails."""
    page["agent"] = page["Agent"](page["FunctionModel"](stream_function=failing("Sunny ", "but ")))


def fail_langgraph(page: Space) -> None:
    """Have the page's model fail."""
    chunk, message = page["ChatGenerationChunk"], page["AIMessageChunk"]
    texts = [{"type": "text", "text": text, "index": 1} for text in ("Sunny ", "but ")]
    page["ScriptedModel"]._astream = failing(*(chunk(message=message([text])) for text in texts))


def fail_agno(page: Space) -> None:
    """Have the page's model fail."""
    page["ScriptedModel"].ainvoke_stream = failing(
        *(page["ModelResponse"](content=text) for text in ("Sunny ", "but "))
    )


async def second_run(page: Space, path: str) -> Space:
    """Ask the page's server a second time, and reload."""
    question = {"id": "user-2", "role": "user", "content": "And tomorrow?"}
    asked = {**page["asked"], "runId": "run-2", "messages": [*page["reloaded"], question]}
    transport = ASGITransport(page["app"], raise_app_exceptions=False)
    async with AsyncClient(transport=transport, base_url="http://server") as client:
        live = page["events_of"](await client.post(path, json=asked))
        again = page["events_of"](await client.get("/threads/thread-1"))
        unknown = await client.get("/threads/another")
    runs = project(page["threads"]["thread-1"]).runs
    return {
        "live": live,
        "again": again,
        "before": page["reloaded"],
        "runs": [run["status"] for run in runs],
        "unknown": unknown.status_code,
    }


SCENES = {
    "embed-in-pydantic-ai.md": (fail_pydantic_ai, "/"),
    "embed-in-langgraph.md": (fail_langgraph, "/"),
    "embed-in-agno.md": (fail_agno, "/agui"),
}


def scene(name: str) -> Space:
    """Run a page, and then its server with a model that fails."""
    fail, path = SCENES[name]
    page: Space = {"__name__": "__main__"}
    with redirect_stdout(StringIO()):
        exec(examples((PAGES / name).read_text(encoding="utf-8")), page)  # noqa: S102 - the project's own examples
    fail(page)
    return asyncio.run(second_run(page, path))


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    print(json.dumps({name: scene(name) for name in SCENES}))  # noqa: T201 - its purpose
