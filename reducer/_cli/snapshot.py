"""snapshot: what a reader sees after a log."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from itertools import islice

from reducer._batch import fold_all
from reducer._cli.command import OK, Command, Failure, add_log, count
from reducer._cli.output import add_indent, as_json, say
from reducer._cli.read import Log, Unreadable, log_at
from reducer._project import Layout, project
from reducer._state import EMPTY, State

_ASIDE = ("anomalies", "origins")
"""What is left out of the snapshot unless its flag is given."""


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments."""
    add_log(parser)
    parser.add_argument(
        "--layout",
        choices=[layout.value for layout in Layout],
        default=Layout.STREAMED.value,
        help="messages as they streamed, or one for each id (default: streamed)",
    )
    parser.add_argument("--at", metavar="N", type=count, help="the state after N events; what follows is not read")
    parser.add_argument("--anomalies", action="store_true", help="also what broke rules of the protocol, in full")
    parser.add_argument("--origins", action="store_true", help="also the events, run and owner of each message")
    add_indent(parser)


def run(args: Namespace) -> int:
    """Print the snapshot."""
    with log_at(args.log) as log:
        state = _folded(log, args.at)
    told = project(state, Layout(args.layout)).to_dict()
    for name in _ASIDE:
        if not getattr(args, name):
            del told[name]
    say(as_json(told, args.indent))
    return OK


def _folded(log: Log, at: int | None) -> State:
    """Return the state after `at` events, or after all. Raises `Failure` where that cannot be."""
    try:
        state = fold_all(EMPTY, islice(log.decoded(), at))
    except Unreadable as error:
        if not error.before:
            raise
        raise Failure(f"{error}\n(--at {error.before} shows the state after the events before it)") from error
    if at is not None and state.position < at:
        raise Failure(f"{log.name}: there is no state after {at} events; it holds {state.position}")
    return state


COMMAND = Command(
    name="snapshot",
    summary="print what a reader sees after a log: messages, state, runs",
    description="""\
Fold a log and print the thread's snapshot as JSON: thread id, messages, shared state, open interrupts, runs, pending
tool calls, token usage and how often which rule was broken. Of a log that cannot be read to its end nothing is printed;
that exits with 2.""",
    examples=(
        "%(prog)s run.jsonl",
        "%(prog)s --layout merged --at 100 run.jsonl",
        "curl -sN http://localhost:8000/agent -d @input.json | %(prog)s -",
    ),
    arguments=arguments,
    run=run,
)
