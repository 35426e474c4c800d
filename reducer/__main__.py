"""The command line: `python -m reducer`, or `agui-reduce` where the package is installed."""

from __future__ import annotations

import os
import platform
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from reducer._cli import explain, replay, snapshot, trace, verify
from reducer._cli.command import PROGRAM, UNREADABLE, Command, Failure
from reducer._cli.output import use_utf8

COMMANDS: tuple[Command, ...] = (
    snapshot.COMMAND,
    verify.COMMAND,
    replay.COMPACT,
    replay.HYDRATE,
    replay.RUN_INPUT,
    trace.COMMAND,
    explain.COMMAND,
)
"""The subcommands, in the order in which the help lists them."""

INTERRUPTED, BROKEN_PIPE = 130, 141
"""Exit codes that shells give a program which the signal ended: 128 and the signal's number."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line on `argv`, or on the program's own arguments, and return the exit code.

    Raises `SystemExit` where argparse does: after `--help` and `--version`, and for arguments that make no sense.
    """
    args = _parser().parse_args(argv)
    use_utf8()
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except Failure as error:
        return _failed(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        # Standard output takes no more. Python flushes it once more when it exits, and must not fail over that.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE if isinstance(error, BrokenPipeError) else _failed(f"standard output: {error.strerror}")
    return code


def _failed(why: str) -> int:
    sys.stderr.write(f"{PROGRAM}: {why}\n")
    return UNREADABLE


def _parser() -> ArgumentParser:
    as_module = Path(sys.argv[0]) == Path(__file__)
    parser = ArgumentParser(
        prog="python -m reducer" if as_module else PROGRAM,
        description="Fold logs of AG-UI events.",
        epilog="""\
A log is JSON lines, a JSON array of events or a captured stream of server-sent events; which one is found out, and so
is gzip. "COMMAND --help" has examples.""",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=_versions())
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        sub = commands.add_parser(
            command.name,
            help=command.summary,
            description=command.description,
            epilog="\n  ".join(["examples:", *command.examples]),
            formatter_class=RawDescriptionHelpFormatter,
        )
        command.arguments(sub)
        sub.set_defaults(run=command.run)
    return parser


def _versions() -> str:
    """Return the versions that an answer may hang on."""
    python = f"Python {platform.python_version()}"
    return f"{PROGRAM} {_version('agui-reducer')} (ag-ui-protocol {_version('ag-ui-protocol')}, {python})"


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "from source"


if __name__ == "__main__":
    sys.exit(main())
