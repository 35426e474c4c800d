"""trace: a page that shows a log as lanes over time, with the snapshot after every event."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from reducer._cli.command import OK, Command, Failure, add_log, count
from reducer._cli.read import Log, Unreadable, log_at
from reducer._cli.source import STDIN
from reducer._trace.page import page
from reducer._wire import Event


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments."""
    add_log(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="trace.html",
        help="the page; - is standard output (default: trace.html)",
    )
    add_at(parser)


def add_at(parser: ArgumentParser) -> None:
    """Add the argument that `events_of` takes."""
    parser.add_argument("--at", metavar="N", type=count, help="the first N events alone; what follows is not read")


def events_of(log: Log, at: int | None) -> Iterator[Event]:
    """Yield the first `at` events, or all. Raises `Failure` where a line holds none, or there are not so many."""
    try:
        yield from islice(log.decoded(), at)
    except Unreadable as error:
        if not error.before:
            raise
        raise Failure(f"{error}\n(--at {error.before} looks at the events before it)") from error
    if at is not None and log.events < at:
        raise Failure(f"{log.name}: there are no {at} events; it holds {log.events}")


def run(args: Namespace) -> int:
    """Write the page."""
    with log_at(args.log) as log:
        name = "standard input" if args.log == STDIN else Path(args.log).name
        _write(args, page(events_of(log, args.at), name))
    return OK


def _write(args: Namespace, parts: Iterable[str]) -> None:
    if args.output == STDIN:
        sys.stdout.writelines(parts)
        return
    output = Path(args.output)
    try:
        if args.log != STDIN and output.exists() and output.samefile(args.log):
            raise Failure(f"{output}: is the log")
        with output.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(parts)
    except OSError as error:
        raise Failure(f"{output}: {error.strerror}") from error


COMMAND = Command(
    name="trace",
    summary="write a page that shows what happened in a log, event by event",
    description="""\
Write one HTML page, which needs no network, that shows a log as lanes over time: rows, cuts, calls, late encrypted
values, anomalies; and beside them the snapshot after any event, in either layout.""",
    examples=("%(prog)s run.jsonl -o trace.html", "%(prog)s --at 100 run.jsonl.gz -o -"),
    arguments=arguments,
    run=run,
)
