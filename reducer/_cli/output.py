"""What goes to standard output: lines, and JSON."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any

from reducer._cli.command import Failure, count


def add_indent(parser: ArgumentParser) -> None:
    """Add the argument that `write_json` takes."""
    parser.add_argument("--indent", metavar="N", type=count, default=2, help="indent by N; 0 is one line (default: 2)")


def as_json(value: Any, indent: int = 0) -> str:
    """Return the JSON text of a value, characters as they are. Raises `Failure` for one that nests too deeply."""
    try:
        if indent:
            return json.dumps(value, indent=indent, ensure_ascii=False)
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    except RecursionError as error:
        raise Failure("the result nests more deeply than this Python's JSON writer can follow") from error


def say(line: str, *, at_once: bool = False) -> None:
    """Print a line; `at_once` for somebody who waits for it."""
    sys.stdout.write(f"{line}\n")
    if at_once:
        sys.stdout.flush()


def use_utf8() -> None:
    """Print UTF-8, whatever the locale; half a surrogate pair goes out as the escape that JSON has for it."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace")
