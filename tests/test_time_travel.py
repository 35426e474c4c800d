"""Every state of a run may be kept: they share what they have in common, and any of them shows what it showed.

`python -m tests.test_time_travel [EVENTS]` prints what a state costs on each log, in bytes beyond the text.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from functools import reduce
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given

from reducer import EMPTY, Layout, State, dumps, fold, loads, project
from reducer.strategies import streams
from tests.benchmarks import logs

Stream = list[dict[str, Any]]

LOGS: dict[str, Callable[[int], Any]] = {
    "chat": lambda events: logs.chat(events // 112 + 1)[:events],
    "long": logs.long,
    "fanout": logs.fanout,
}
"""One agent that talks; one long text; eight that stream at once, so that each delta changes what another has open."""


def every_state(log: Any) -> list[State]:
    """Return the state before the first event and after each."""
    return list(accumulate(log, fold, initial=EMPTY))


def cost(log: Any) -> float:
    """Return how many bytes each kept state of a log costs, beyond the text that its event brought."""
    every_state(log[:100])
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        states = every_state(log)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    text = sum(len(getattr(event, "delta", None) or getattr(event, "content", None) or "") for event in log)
    return (after - before - text) / len(states)


class TestTimeTravel:
    """States that are kept stay what they were."""

    @given(streams(early_values=True, surrogates=True))
    def test_any_stream(self, stream: Stream) -> None:
        """Each state of a stream that was kept to its end shows what the events up to it show."""
        for position, state in enumerate(every_state(stream)):
            alone = reduce(fold, stream[:position], EMPTY)
            assert state == alone
            for layout in Layout:
                assert project(state, layout) == project(alone, layout)

    @pytest.mark.parametrize("name", LOGS)
    def test_long_run(self, name: str) -> None:
        """Of a run of thousands of events any state can be shown, stored and gone on from."""
        log = LOGS[name](5_000)
        states = every_state(log)
        for position in range(0, len(log) + 1, 617):
            alone = reduce(fold, log[:position], EMPTY)
            assert project(states[position]) == project(alone)
            assert loads(dumps(states[position])) == alone
        assert reduce(fold, log[1_234:], states[1_234]) == states[-1]

    # The figures for 50,000 events are 441, 281 and 566.
    @pytest.mark.parametrize("name", LOGS)
    def test_cost(self, name: str) -> None:
        """To keep a state more costs a constant number of bytes, whatever has come before."""
        assert cost(LOGS[name](5_000)) < 600


def main() -> None:
    """Print what a state costs."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    for name, make in LOGS.items():
        sys.stdout.write(f"{name:8} {cost(make(events)):6.0f} bytes an event beyond the text, {events} events\n")


if __name__ == "__main__":
    main()
