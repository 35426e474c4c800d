"""A log as bytes: a file or standard input, plain or gzip, done or growing, with a progress bar where it is long."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

if TYPE_CHECKING:
    from tqdm import tqdm

Source: TypeAlias = "io.BufferedReader[Any] | gzip.GzipFile"
STDIN = "-"
LONG = 1 << 20
"""How many bytes are read before a bar appears: less is done before anyone looks."""
_BUFFER = 1 << 16
_GZIP = b"\x1f\x8b"


class Progress:
    """How far a log is read: a bar on standard error where that is a terminal, tqdm is there and the log is long."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._read = 0
        self._bar: tqdm[NoReturn] | None = None
        self._wanted = sys.stderr.isatty()

    def advance(self, size: int) -> None:
        """Say that `size` more bytes were read."""
        self._read += size
        if self._bar is not None:
            self._bar.update(size)
        elif self._wanted and self._read > LONG:
            self._wanted = False
            self._bar = _bar(self._total, self._read)

    def hide(self) -> None:
        """Take the bar away, until it advances again: something is to be printed."""
        if self._bar is not None:
            self._bar.clear()

    def close(self) -> None:
        """Take the bar away for good."""
        if self._bar is not None:
            self._bar.close()


def _bar(total: int | None, initial: int) -> tqdm[NoReturn] | None:
    try:
        from tqdm import tqdm  # noqa: PLC0415 - optional, and most logs are too short to load it for
    except ImportError:
        return None
    return tqdm(total=total, initial=initial, unit="B", unit_scale=True, leave=False, file=sys.stderr)


class _Growth:
    """Whether more may come at the end of a file: it may as long as the file is where it was found."""

    def __init__(self, name: str, source: io.BufferedIOBase, poll: float) -> None:
        self._name = name
        self._source = source
        self._poll = poll
        self._gone = False

    def __call__(self) -> bool:
        """Wait for the next look at the file; false when there is none to come."""
        if self._gone:
            return False
        held = os.fstat(self._source.fileno())
        if held.st_size < self._source.tell():
            raise OSError("the file was cut short while it was followed")
        # What was written before the file went has yet to be read, so there is one more look.
        self._gone = held.st_nlink == 0 or not self._in_place(held)
        if not self._gone:
            sleep(self._poll)
        return True

    def _in_place(self, held: os.stat_result) -> bool:
        try:
            return self._name == STDIN or os.path.samestat(held, Path(self._name).stat())
        except FileNotFoundError:
            return False


class _Watched(io.RawIOBase):
    """The bytes of a source: tells how many were read, and asks at the end whether to wait for more."""

    def __init__(self, source: io.BufferedIOBase, told: Callable[[int], None], more: Callable[[], bool]) -> None:
        self._source = source
        self._told = told
        self._more = more

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not (data := self._source.read1(len(buffer))) and self._more():
            pass
        buffer[: len(data)] = data
        self._told(len(data))
        return len(data)


def _never() -> bool:
    return False


@contextmanager
def opened(name: str, poll: float | None = None) -> Iterator[tuple[Source, Progress]]:
    """Open a log for reading; with `poll`, wait that many seconds for more at the end of a file, until it is removed.

    Raises `OSError`.
    """
    with ExitStack() as stack:
        source: Any = sys.stdin.buffer if name == STDIN else stack.enter_context(Path(name).open("rb"))
        size = _size(source)
        progress = Progress(size if poll is None else None)
        stack.callback(progress.close)
        more = _never if poll is None or size is None else _Growth(name, source, poll)
        watched = io.BufferedReader(_Watched(source, progress.advance, more), _BUFFER)
        if watched.peek(2)[:2] == _GZIP:
            yield stack.enter_context(gzip.open(watched)), progress
        else:
            yield watched, progress


def _size(source: io.BufferedIOBase) -> int | None:
    """Return the size of a regular file, None for anything else."""
    try:
        found = os.fstat(source.fileno())
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
