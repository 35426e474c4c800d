"""Every example in the documentation, the README and the package's docstrings is a test.

A pytest plugin, loaded by the `conftest.py` of `tests/` and of `docs/`. In a page, a block marked `python` is run,
with its output compared where it has prompts, and of a block marked `console` each line after a `$` is given to a
shell and its output compared with what follows; `...` stands for whatever is there. What a page defines, its later
examples see. A page runs in a folder of its own that holds nothing but `docs`, so it may leave files behind.
`<!-- skip: next "why" -->` leaves the next block out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from typing import Any

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parents[1]
FLAGS = ELLIPSIS | NORMALIZE_WHITESPACE


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Split what a terminal showed into commands and their output."""
    for shown in f"\n{block}".split("\n$ ")[1:]:
        lines = shown.split("\n")
        last = next(number for number, line in enumerate(lines) if not line.endswith("\\"))
        yield "\n".join(lines[: last + 1]), "\n".join(lines[last + 1 :]).strip("\n")


def run(example: Example) -> str | None:
    """Run the commands of a block; the first output that differs is the failure."""
    for command, expected in commands(str(example.parsed)):
        done = subprocess.run(  # noqa: S603 - the examples are this project's own
            ["bash", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={
                **os.environ,
                "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
                "PYTHONPATH": str(ROOT),
            },
        )
        if not OutputChecker().check_output(f"{expected}\n", f"{done.stdout.rstrip()}\n", FLAGS):
            return f"$ {command}\n{done.stdout}\nexit code {done.returncode}, expected:\n{expected}"
    return None


def enter(namespace: dict[str, Any]) -> None:
    """Give a page a folder of its own."""
    folder = tempfile.TemporaryDirectory()
    (Path(folder.name) / "docs").symlink_to(ROOT / "docs")
    namespace[" folder"], namespace[" back"] = folder, Path.cwd()
    os.chdir(folder.name)


def leave(namespace: dict[str, Any]) -> None:
    """Remove the folder of a page that is done."""
    os.chdir(namespace[" back"])
    namespace[" folder"].cleanup()


pages = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=FLAGS), CodeBlockParser("console", run), SkipParser()],
    path=str(ROOT),
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    # They run where their frameworks are: tests/test_frameworks.py.
    excludes=["docs/how-to/embed-in-*.md"],
    setup=enter,
    teardown=leave,
)
docstrings = Sybil(parsers=[DocTestParser(FLAGS)], path=str(ROOT), patterns=["reducer/*.py", "reducer/**/*.py"])

pytest_collect_file = (pages + docstrings).pytest()


class PageScheduling(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Tests one by one to whichever worker is free, but all examples of one page to the same."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, name = nodeid.partition("::")
        return file if name.startswith("line:") else nodeid


# pytest-xdist has groups for this, which it forgets under pytest 9.2: it hides them in ids that are now immutable.
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Keep the examples of a page together, since later ones use what earlier ones defined."""
    return PageScheduling(config, log)
