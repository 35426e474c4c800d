"""Measures the fold beside its peers: `python tests/benchmarks/run.py [LOG ...] [--rounds N]`.

Everything runs in one process, in turn (A B A B ...), on the same event objects: `reduce(fold)`, `fold_all`, the
mutable builder of `agent-framework-ag-ui`, and a floor written by hand (dispatch, `list.append`, one join). The builder
wants an SDK of its own, so the script makes an environment for it on first use and starts itself again there.

Read ratios, not microseconds; the garbage collector is on.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PEER = "agent-framework-ag-ui==1.7.0"
HOME = Path(os.environ.get("BENCHMARK_VENV") or ROOT / ".benchmarks")


def started_in_its_own_environment() -> bool:
    """Make sure of the environment; start the script again there and wait for it, if this is another one."""
    python = HOME / "bin" / "python"
    if Path(sys.prefix).resolve() == HOME.resolve():
        return False
    if not python.exists():
        venv.create(HOME, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", PEER, "attrs", "pyrsistent"], check=True)  # noqa: S603
    subprocess.run([python, __file__, *sys.argv[1:]], check=True)  # noqa: S603
    return True


def floor(events: list[Any]) -> dict[str, str]:
    """Fold text, reasoning and arguments the cheapest way that Python knows, and nothing else."""
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


def measured(functions: dict[str, Callable[[Any], Any]], log: Any, rounds: int) -> dict[str, list[float]]:
    """Return microseconds per event of each function in each round, taken in turn."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            begun = time.perf_counter()
            function(log)
            times[name].append((time.perf_counter() - begun) / len(log) * 1e6)
    return times


def main() -> None:
    """Measure the chosen logs and print a row for each."""
    parser = argparse.ArgumentParser(description="Measure the fold beside its peers.")
    parser.add_argument("log", nargs="*", help="names of logs (default: all)")
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    if started_in_its_own_environment():
        return
    sys.path.insert(0, str(ROOT))
    from agent_framework_ag_ui._workflow import (  # type: ignore[import-not-found, unused-ignore]
        _WorkflowSnapshotBuilder,
    )

    from reducer import EMPTY, fold, fold_all
    from tests.benchmarks.logs import LOGS

    def builder(events: list[Any]) -> Any:
        made = _WorkflowSnapshotBuilder([])
        for event in events:
            made.observe(event)
        return made.build()

    functions: dict[str, Callable[[Any], Any]] = {
        "builder": builder,
        "fold": lambda events: reduce(fold, events, EMPTY),
        "fold_all": lambda events: fold_all(EMPTY, events),
        "floor": floor,
    }
    print(f"{'log':12}{'events':>9}" + "".join(f"{name:>10}" for name in functions) + "   to the builder (spread)")
    for name in chosen.log or LOGS:
        log = LOGS[name]()
        times = measured(functions, log, chosen.rounds)
        row = "".join(f"{statistics.median(times[one]):10.2f}" for one in functions)
        ratios = []
        for one in ("fold", "fold_all", "floor"):
            pairs = sorted(mine / peer for mine, peer in zip(times[one], times["builder"], strict=True))
            ratios.append(f"{one} {statistics.median(pairs):.2f} ({pairs[0]:.2f} to {pairs[-1]:.2f})")
        print(f"{name:12}{len(log):9}{row}   {', '.join(ratios)}", flush=True)


if __name__ == "__main__":
    main()
