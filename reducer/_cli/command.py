"""What a subcommand is, and what all of them share."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from typing import NamedTuple

PROGRAM = "agui-reduce"

OK, VIOLATIONS, UNREADABLE = 0, 1, 2
"""Exit codes. `UNREADABLE` is also what argparse exits with when it cannot make sense of the arguments."""


class Failure(Exception):
    """What ends a command with one line on standard error and exit code 2."""


class Command(NamedTuple):
    """A subcommand: `summary` stands in the list of commands, `description` and `examples` in its own help.

    `arguments` adds its arguments to its parser; `run` does the work and returns the exit code.
    """

    name: str
    summary: str
    description: str
    examples: tuple[str, ...]
    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


def count(text: str) -> int:
    """Return the number, zero or more, that an argument gives."""
    if not (text.isascii() and text.isdigit()):
        raise ArgumentTypeError(f"must be a number, zero or more, not {text!r}")
    return int(text)


def add_log(parser: ArgumentParser) -> None:
    """Add the one log that a command reads."""
    parser.add_argument("log", metavar="LOG", help="the log; - is standard input")
