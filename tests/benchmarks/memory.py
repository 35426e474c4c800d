"""What states hold: the peak on `fanout` beside the builder's, time travel, and a thread of a million events.

The first two are what Python itself has allocated since before the first event, as `tracemalloc` counts it; the events
were there before. The last is the resident memory of the process at its highest, less what it was at the start.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import accumulate, islice
from typing import Any

from reducer import EMPTY, dumps, fold, fold_all, project
from tests.benchmarks.logs import LOGS, endless
from tests.benchmarks.systems import builder

MILLION = 1_000_000
BLOCK = 10_000
TRAVELLED = ("chat", "long 10k", "fanout")
MEGA = 1e6

Row = tuple[str, str]


def traced(work: Callable[[], Any]) -> tuple[int, int]:
    """Return how many bytes more there are when the work is done, its result kept, and at the peak."""
    gc.collect()
    tracemalloc.start()
    kept = work()
    gc.collect()
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return held, peak


def rows() -> Iterator[Row]:
    """Yield what was measured, and how much it was."""
    # First, for what came before it would be in the highest mark.
    yield from _million()
    yield from _fanout(LOGS["fanout"]())
    for name in TRAVELLED:
        log = LOGS[name]()
        held, _ = traced(lambda log=log: [*accumulate(log, fold, initial=EMPTY)])  # type: ignore[misc]
        yield f"`{name}`: every state kept, bytes an event", f"{held / len(log):,.0f}"


def _fanout(log: Sequence[Any]) -> Iterator[Row]:
    text = sum(len(getattr(event, "delta", "")) for event in log)

    def built() -> Any:
        made = builder()
        for event in log:
            made.observe(event)
        return made, made.build()

    def shown() -> Any:
        state = reduce(fold, log, EMPTY)
        return state, project(state)

    peer = traced(built)[1] - text
    yield f"`fanout` ({text / MEGA:.1f} MB of text): builder and its snapshot, peak beyond the text", _mega(peer)
    for name, work in (
        ("`reduce(fold)`", lambda: reduce(fold, log, EMPTY)),
        ("`fold_all`", lambda: fold_all(EMPTY, log)),
        ("`reduce(fold)` and its snapshot", shown),
    ):
        peak = traced(work)[1] - text
        yield f"`fanout`: {name}, the same", f"{_mega(peak)}, {peak / peer:.2f} times the builder's"


def _million() -> Iterator[Row]:
    events, state, took = endless(), EMPTY, 0.0
    before = _resident()
    for _ in range(MILLION // BLOCK):
        # The events of a block are made before the clock runs, and gone after it.
        block = [*islice(events, BLOCK)]
        begun = time.perf_counter()
        state = fold_all(state, block)
        took += time.perf_counter() - begun
    held = _resident() - before
    begun = time.perf_counter()
    messages = len(project(state).messages)
    shown = time.perf_counter() - begun
    begun = time.perf_counter()
    stored = len(dumps(state))
    dumped = time.perf_counter() - begun
    yield f"a million events, {messages:,} messages: `fold_all`", f"{took:.1f} s, {_mega(held)}"
    yield "its `project`", f"{shown:.1f} s"
    yield "its `dumps`", f"{dumped:.1f} s, {_mega(stored)}"


def _resident() -> int:
    """Return the highest mark of this process's resident memory, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _mega(size: float) -> str:
    return f"{size / MEGA:,.1f} MB"
