"""compact, hydrate and run-input: events and inputs out of a log, printed as JSON."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable
from typing import Any

from reducer._batch import fold_all
from reducer._cli.command import OK, Command, Failure, add_log
from reducer._cli.output import add_indent, as_json, say
from reducer._cli.read import log_at
from reducer._compact import compact
from reducer._frozen import to_wire
from reducer._project import Layout, Snapshot, project
from reducer._replay import hydrate
from reducer._run_input import run_input
from reducer._state import EMPTY
from reducer._wire import Event
from reducer.errors import ReducerError


def _wire(event: Any) -> Any:
    return event.to_dict() if isinstance(event, Event) else to_wire(event)


def _say_lines(events: Iterable[Any]) -> None:
    for event in events:
        say(as_json(_wire(event)))


def _shown(args: Namespace) -> Snapshot:
    with log_at(args.log) as log:
        return project(fold_all(EMPTY, log.decoded()), Layout(args.layout))


def _add_layout(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--layout",
        choices=[layout.value for layout in Layout],
        default=Layout.STREAMED.value,
        help="messages as they streamed, or one for each id (default: streamed)",
    )


def _compact(args: Namespace) -> int:
    """Print the shorter log."""
    with log_at(args.log) as log:
        _say_lines(compact(list(log.decoded())))
    return OK


def _add_hydrate(parser: ArgumentParser) -> None:
    add_log(parser)
    _add_layout(parser)
    parser.add_argument("--run-id", default="hydrated", help="the id of the run that tells the thread")


def _hydrate(args: Namespace) -> int:
    """Print the events that replay what a log shows."""
    shown = _shown(args)
    _say_lines(hydrate(shown, shown.thread_id or "", args.run_id))
    return OK


def _entries(text: str) -> Any:
    try:
        told = json.loads(text)
    except ValueError as error:
        raise ArgumentTypeError(f"must be JSON: {error}") from error
    if not isinstance(told, list):
        raise ArgumentTypeError("must be a JSON array of resume entries")
    return told


def _add_run_input(parser: ArgumentParser) -> None:
    add_log(parser)
    _add_layout(parser)
    parser.add_argument("--run-id", required=True, help="the id of the next run")
    parser.add_argument("--resume", type=_entries, default=[], help="a JSON array: an entry for every open interrupt")
    parser.add_argument("--allow-pending", action="store_true", help="leave calls without a result as they are")
    add_indent(parser)


def _run_input(args: Namespace) -> int:
    """Print the input of the thread's next run."""
    shown = _shown(args)
    try:
        told = run_input(shown, args.run_id, args.resume, allow_pending=args.allow_pending)
    except ReducerError as error:
        raise Failure(str(error)) from error
    say(as_json(to_wire(told), args.indent))
    return OK


COMPACT = Command(
    name="compact",
    summary="print a shorter log that says the same",
    description="Read a log and print one, as JSON lines, that folds to the same with fewer events.",
    examples=("%(prog)s run.jsonl > short.jsonl",),
    arguments=add_log,
    run=_compact,
)
HYDRATE = Command(
    name="hydrate",
    summary="print events that replay what a log shows as one run",
    description="Fold a log and print, as JSON lines, one run that brings a reader to the same messages and state.",
    examples=("%(prog)s run.jsonl", "%(prog)s --layout merged --run-id reload-1 run.jsonl"),
    arguments=_add_hydrate,
    run=_hydrate,
)
RUN_INPUT = Command(
    name="run-input",
    summary="print the input of the thread's next run",
    description="Fold a log and print the RunAgentInput that continues the thread and answers every open interrupt.",
    examples=(
        "%(prog)s --run-id r2 run.jsonl",
        """%(prog)s --run-id r2 --resume '[{"interruptId": "i1", "status": "cancelled"}]' run.jsonl""",
    ),
    arguments=_add_run_input,
    run=_run_input,
)
