"""Measures what `record` adds to a live stream: `python tests/benchmarks/embed.py [LOG ...] [--rounds N]`.

Each log is read through `async for`, as it is and recorded, in turn (A B A B ...); the difference is what the fold
adds to an event. Microseconds depend on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from reducer.embed import record
from tests.benchmarks.logs import LOGS


async def streamed(log: list[Any]) -> AsyncIterator[Any]:
    """Stream a log without ever waiting."""
    for event in log:
        yield event


async def seconds(stream: AsyncIterator[Any]) -> float:
    """Read a stream to its end and say how long it took."""
    begun = time.perf_counter()
    async for _ in stream:
        pass
    return time.perf_counter() - begun


def main() -> None:
    """Measure the chosen logs and print a row for each."""
    parser = argparse.ArgumentParser(description="Measure what recording adds to a live stream.")
    parser.add_argument("log", nargs="*", help="names of logs (default: all)")
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    print(f"{'log':12}{'events':>9}{'added':>10}{'callback':>10}   microseconds an event")
    for name in chosen.log or LOGS:
        log = LOGS[name]()
        added, told = [], []
        for _ in range(chosen.rounds):
            plain = asyncio.run(seconds(streamed(log)))
            added.append(asyncio.run(seconds(record(streamed(log)))) - plain)
            told.append(asyncio.run(seconds(record(streamed(log), on_state=lambda _: None))) - plain)
        row = "".join(f"{statistics.median(times) / len(log) * 1e6:10.2f}" for times in (added, told))
        print(f"{name:12}{len(log):9}{row}", flush=True)


if __name__ == "__main__":
    main()
