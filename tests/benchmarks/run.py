"""Measures the fold beside its peers: `python tests/benchmarks/run.py [LOG ...] [--reading] [--memory] [--write]`.

Every round takes each system once, in turn (A B A B ...), over the same log: `reduce(fold)` and `fold_all`, the mutable
builder of `agent-framework-ag-ui`, a floor written by hand, all on the same event objects in one process; and the
reference client, in a Node process of its own, on the same events as it parses them. The builder wants an SDK of its
own, so the script makes an environment for it on first use and starts itself again there. Each log has a process of its
own: where many objects were made and dropped, those of a log lie scattered, and whoever does little waits for memory.

Times are the processor's, so that whatever else runs disturbs them little. Read ratios, not microseconds; the garbage
collector is on.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import shutil
import statistics
import subprocess
import sys
import venv
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

ROOT = Path(__file__).parents[2]
PEER = "agent-framework-ag-ui==1.7.0"
NEEDS = (PEER, "attrs", "pyrsistent", "msgspec", "jsonpatch")
HOME = Path(os.environ.get("BENCHMARK_VENV") or ROOT / ".benchmarks")
PAGE = ROOT / "docs" / "explanation" / "cost.md"
PICTURE = PAGE.with_name("cost.svg")

if TYPE_CHECKING:
    from tests.benchmarks.picture import Ratio
    from tests.benchmarks.systems import Client

Result = TypeVar("Result")
Times = dict[str, list[float]]
"""By system: microseconds per event, a round each."""

LABELS = {"fold": "reduce(fold)", "fold_all": "fold_all", "floor": "floor", "client": "reference client"}


def started_in_its_own_environment() -> bool:
    """Make sure of the environment; start the script again there and wait for it, if this is another one."""
    python = HOME / "bin" / "python"
    if Path(sys.prefix).resolve() == HOME.resolve():
        return False
    if not python.exists():
        venv.create(HOME, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *NEEDS], check=True)  # noqa: S603
    subprocess.run([python, __file__, *sys.argv[1:]], check=True)  # noqa: S603
    return True


def alone(measure: Callable[..., Result], *given: Any) -> Result:
    """Return what `measure` returns for what it is given, in a process of its own."""
    with get_context("spawn").Pool(1) as process:
        return process.apply(measure, given)


def folded(name: str, rounds: int, *, client_too: bool) -> tuple[int, int, Times]:
    """Return how many events of a log were measured, how many of them the client got, and what all took."""
    from tests.benchmarks.systems import reference_client

    with reference_client() if client_too else nullcontext() as client:
        return in_turn(name, rounds, client)


def in_turn(name: str, rounds: int, client: Client | None) -> tuple[int, int, Times]:
    """Measure the systems in turn, for `folded`.

    The client is in the first rounds only, or in none. The longest text is in three at most: the builder takes a
    quarter of a minute for it.
    """
    from tests.benchmarks.logs import LOGS, THREADS, settled
    from tests.benchmarks.systems import micros, share, systems

    rounds = min(rounds, 3) if name == "long 400k" else rounds
    log = LOGS[name]()
    told = settled(THREADS[name]) if name in THREADS else 0
    before, events = log[:told], log[told:]
    taken = systems(name)
    times: Times = {system: [] for system in taken}
    given, its_rounds = share(name, len(log) - told, rounds) if client is not None else (0, 0)
    if client is not None and given:
        client.load(log[:told], log[told : told + given])
        times["client"] = []
    for number in range(rounds):
        for system, prepare in taken.items():
            gc.collect()
            times[system].append(micros(prepare, before, events))
        if client is not None and number < its_rounds:
            times["client"].append(client.micros())
    return len(events), given, times


def ratios(times: Times) -> dict[str, Ratio]:
    """Return how the systems stand to the first, round by round, in all that they took part in."""
    from tests.benchmarks.picture import Ratio

    peer, *others = times
    found = {}
    for system in others:
        pairs = sorted(mine / its for mine, its in zip(times[system], times[peer], strict=False))
        found[system] = Ratio(statistics.median(pairs), pairs[0], pairs[-1])
    return found


def shown(value: float) -> str:
    """Return a number with two digits that say something."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 2 else f"{value:.2f}"


def cell(ratio: Ratio | None) -> str:
    """Return a ratio for the table."""
    if ratio is None:
        return "-"
    if ratio.least == ratio.most:
        return shown(ratio.median)
    return f"{shown(ratio.median)} ({shown(ratio.least)} to {shown(ratio.most)})"


def table(logs: list[str], rounds: int, found: dict[str, dict[str, Ratio]], *, client_too: bool) -> Iterator[str]:
    """Measure, yield the lines of the table as they are done, and leave the ratios in `found`."""
    client_too = client_too and shutil.which("npm") is not None
    yield f"| log | events | peer, µs an event | {' | '.join(LABELS.values())} | its events | it to fold |"
    yield f"| --- | --- | --- | {' | '.join('---' for _ in LABELS)} | --- | --- |"
    for name in logs:
        count, given, times = alone(partial(folded, client_too=client_too), name, rounds)
        peer, *_ = times
        found[name] = row = ratios(times)
        to_fold = ratios({system: times[system] for system in ("fold", "client") if system in times})
        cost = f"{shown(statistics.median(times[peer]))}{'' if peer == 'builder' else f' ({peer})'}"
        cells = [cell(row.get(system)) for system in LABELS]
        cells += [f"{given:,}" if given else "-", cell(to_fold.get("client"))]
        yield f"| `{name}` | {count:,} | {cost} | {' | '.join(cells)} |"


def read(name: str, rounds: int) -> Times:
    """Return what all that read lines took for a log."""
    from tests.benchmarks.logs import LOGS
    from tests.benchmarks.systems import READING, micros

    lines = [f"{event.model_dump_json(by_alias=True, exclude_none=True)}\n".encode() for event in LOGS[name]()]
    times: Times = {system: [] for system in READING}
    for _ in range(rounds):
        for system, prepare in READING.items():
            gc.collect()
            times[system].append(micros(prepare, (), lines))
    return times


def reading(rounds: int) -> Iterator[str]:
    """Measure how logs are read, and yield the lines of the table."""
    from tests.benchmarks.systems import READING

    yield f"| log | {' | '.join(f'`{name}`' for name in READING)} |"
    yield f"| --- | {' | '.join('---' for _ in READING)} |"
    for name in ("chat", "fanout"):
        times = alone(read, name, rounds)
        cells = [f"{statistics.median(times['pydantic']):.2f} µs"]
        cells += [
            f"{statistics.median(times[system]):.2f} µs, {cell(ratio)}" for system, ratio in ratios(times).items()
        ]
        yield f"| `{name}` | {' | '.join(cells)} |"


def write(part: str, lines: list[str]) -> None:
    """Put lines into the page, where the comments say that this part belongs."""
    page = PAGE.read_text("utf-8")
    begin, end = f"<!-- {part}: written by tests/benchmarks/run.py -->\n", f"<!-- {part} ends -->"
    before, found, rest = page.partition(begin)
    if not found:
        raise SystemExit(f"{PAGE} has no part {part!r}")
    text = "\n".join(lines)
    PAGE.write_text(f"{before}{begin}\n{text}\n\n{end}{rest.partition(end)[2]}", "utf-8")


def told(lines: Iterable[str]) -> list[str]:
    """Print lines as they come, and return them."""
    kept = []
    for line in lines:
        print(line, flush=True)
        kept.append(line)
    return kept


def main() -> None:
    """Measure what is asked for and print it; with `--write`, put it into the documentation."""
    parser = argparse.ArgumentParser(description="Measure the fold beside its peers.")
    parser.add_argument("log", nargs="*", help="names of logs to fold (default: all)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--without-client", action="store_true", help="leave out the reference client, which is slow")
    parser.add_argument("--reading", action="store_true", help="measure how logs are read, instead")
    parser.add_argument("--memory", action="store_true", help="measure what states hold, instead")
    parser.add_argument(
        "--write", action="store_true", help="put it into docs/explanation; alone, measure everything for it"
    )
    chosen = parser.parse_args()
    if started_in_its_own_environment():
        return
    sys.path.insert(0, str(ROOT))
    from tests.benchmarks.logs import LOGS
    from tests.benchmarks.picture import picture

    where = f"Medians of {chosen.rounds} rounds, least and most in brackets; Python {platform.python_version()}."
    everything = chosen.write and not (chosen.log or chosen.reading or chosen.memory)
    found: dict[str, dict[str, Any]] = {}
    parts: dict[str, list[str]] = {}
    # First, since what else was measured in the process would be in its highest mark.
    if chosen.memory or everything:
        from tests.benchmarks.memory import rows

        parts["memory"] = told(chain(["| what | how much |", "| --- | --- |"], (f"| {a} | {b} |" for a, b in rows())))
    if chosen.reading or everything:
        parts["reading"] = told(chain([where, ""], reading(chosen.rounds)))
    if chosen.log or everything or not parts:
        speed = table(chosen.log or [*LOGS], chosen.rounds, found, client_too=not chosen.without_client)
        parts["speed"] = told(chain([where, ""], speed))
    if chosen.write:
        for part, lines in parts.items():
            write(part, lines)
        if found:
            title = "Time per event as a ratio to the peer, whose line is at 1: further left is faster"
            PICTURE.write_text(picture(title, LABELS, found), "utf-8")


if __name__ == "__main__":
    main()
