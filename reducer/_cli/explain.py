"""explain: a message of a log, in words."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from reducer._cli.command import OK, Command, Failure, add_log
from reducer._cli.output import as_json, say
from reducer._cli.read import log_at
from reducer._cli.trace import add_at, events_of
from reducer._trace.explanation import explained, near
from reducer._trace.story import tell
from reducer._trace.words import quoted, sentences


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments."""
    add_log(parser)
    parser.add_argument(
        "--message", metavar="ID", required=True, help="the id of a message, in either layout, or of a tool call"
    )
    add_at(parser)
    parser.add_argument("--json", action="store_true", help="print it as a JSON array")


def run(args: Namespace) -> int:
    """Print what there is to say of the message."""
    with log_at(args.log) as log:
        story = tell(events_of(log, args.at))
    told = explained(story, args.message)
    if not told:
        known = near(story, args.message)
        those = f"; there is {', '.join(map(quoted, known))}" if known else "; there are no messages at all"
        raise Failure(f"{args.log}: no message {quoted(args.message)}{those}")
    if args.json:
        say(as_json(told, 2))
    else:
        for line in sentences(told):
            say(line)
    return OK


COMMAND = Command(
    name="explain",
    summary="say what made a message: its events and rows, what cut it, its calls",
    description="""\
Say of a message, or of a tool call, what it is and whose, which events made it, in which rows, what cut them and why,
where calls and results went, when its encrypted value came, and what of it breaks rules of the protocol. Events are
counted from 0. Exits with 2 where there is no such id.""",
    examples=("%(prog)s run.jsonl --message msg-1", "%(prog)s run.jsonl --message 'msg-1#1' --json"),
    arguments=arguments,
    run=run,
)
