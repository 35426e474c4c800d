"""The events in a log: JSON lines, a JSON array or a captured stream of server-sent events, told apart by content.

JSON lines and streams are read as they come, so memory holds one event of them; an array is read whole.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from json import JSONDecodeError, JSONDecoder

from reducer._cli.command import Failure
from reducer._cli.source import Progress, Source, opened
from reducer._decode_all import line_decoder
from reducer._wire import Event
from reducer.errors import MalformedEvent

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
# What curl keeps with `-i` comes before the stream; its header lines are fields like any that is to be ignored.
_SSE = re.compile(rb":|(data|event|id|retry)(:|[ \t]*$)|HTTP/", re.MULTILINE)
_SPACE = re.compile(r"[ \t\r\n]*")
_COLUMN = re.compile(r" at line 1, column (\d+)$")
_READER = JSONDecoder()

Text = bytes | str
"""The JSON text of an event."""


class Unreadable(Failure):
    """A log, or a line of it, that holds no event: `why` says where and why, `before` how many events came before."""

    def __init__(self, log: str, line: int | None, why: str, before: int = 0) -> None:
        self.why = why if line is None else f"line {line}: {why}"
        self.before = before
        super().__init__(f"{log}: {self.why}")


class Log:
    """The texts of a log's events, in order; `line` is where the latest begins, `events` how many there were."""

    def __init__(self, name: str, source: Source, progress: Progress, *, whole: bool = True) -> None:
        self.name = name
        self.line = 0
        self.events = 0
        self.progress = progress
        self._source = source
        self._whole = whole

    def __iter__(self) -> Iterator[Text]:
        """Yield the text of each event. Raises `Unreadable`."""
        try:
            for text in self._texts():
                self.events += 1
                yield text
        except (OSError, EOFError, zlib.error) as error:
            raise self._refused(None, _reason(error)) from error

    def decoded(self) -> Iterator[Event]:
        """Yield each event. Raises `Unreadable`, for a malformed event as well."""
        text: Text = ""
        decode = line_decoder()
        try:
            for text in self:
                yield decode(text)
        except MalformedEvent as error:
            raise self.unreadable(error, text) from error

    def unreadable(self, error: MalformedEvent, text: Text) -> Unreadable:
        """Return what to raise for the event that was read last."""
        why = _COLUMN.sub(r" (column \1)", error.rule) if error.value is text else str(error)
        return Unreadable(self.name, self.line, why, self.events - 1)

    def _refused(self, line: int | None, why: str) -> Unreadable:
        return Unreadable(self.name, line, why, self.events)

    def _texts(self) -> Iterator[Text]:
        # Of a log that grows the first line may never end.
        if not self._whole and self._source.peek(1).removeprefix(_BOM).lstrip().startswith(b"["):
            raise self._refused(None, "a JSON array cannot be followed; it is read whole")
        for number, line in enumerate(self._source, 1):
            if number == 1 and line.startswith(_UTF16):
                raise self._refused(1, "must be UTF-8, not UTF-16")
            head = line.removeprefix(_BOM) if number == 1 else line
            if head.strip():
                return self._found(number, head)
        return iter(())

    def _found(self, number: int, head: bytes) -> Iterator[Text]:
        """Return the reader of what begins with `head`, at the line `number`."""
        start = head.lstrip()
        if start.startswith(b"{"):
            return self._lines(number, head)
        if _SSE.match(start):
            return self._stream(number, head)
        if not start.startswith(b"["):
            why = "must begin a JSON object, a JSON array or a stream of server-sent events"
            raise self._refused(number, why)
        return self._array(number, head)

    def _lines(self, number: int, head: bytes) -> Iterator[Text]:
        for at, line in enumerate(chain([head], self._source), number):
            self.line = at
            if text := line.rstrip():
                yield text

    def _stream(self, number: int, head: bytes) -> Iterator[Text]:
        """Read server-sent events: `data` is the event, all else is ignored (spec: basic/transports/http-sse)."""
        data: list[bytes] = []
        at = number - 1
        for chunk in chain([head], self._source):
            for line in chunk.splitlines():
                at += 1
                field, _, value = line.partition(b":")
                if field == b"data":
                    if not data:
                        self.line = at
                    data.append(value.removeprefix(b" "))
                elif not line and data:
                    if (text := b"\n".join(data)).strip():
                        yield text
                    data = []
        # A browser would drop an event that no empty line ends; of a capture it is the last line, perhaps cut off.
        if (text := b"\n".join(data)).strip():
            yield text

    def _array(self, number: int, head: bytes) -> Iterator[Text]:
        raw = head + self._source.read()
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            line = number + raw.count(b"\n", 0, error.start)
            raise self._refused(line, f"must be UTF-8: {error.reason}") from error
        del raw
        self.line, counted = number, 0
        try:
            for at, end in _elements(text):
                self.line += text.count("\n", counted, at)
                counted = at
                yield text[at:end]
        except JSONDecodeError as error:
            why = f"must be JSON: {error.msg} (column {error.colno})"
            raise self._refused(number + error.lineno - 1, why) from error


def _elements(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each element of a JSON array begins and ends. Raises `JSONDecodeError`."""
    at = _after_space(text, text.index("[") + 1)
    if not text.startswith("]", at):
        while True:
            try:
                _, end = _READER.raw_decode(text, at)
            except JSONDecodeError:
                raise
            except (RecursionError, ValueError) as error:
                raise JSONDecodeError(str(error), text, at) from error
            yield at, end
            at = _after_space(text, end)
            if not text.startswith(",", at):
                break
            at = _after_space(text, at + 1)
    if not text.startswith("]", at):
        raise JSONDecodeError("Expecting ',' or ']'", text, at)
    if (at := _after_space(text, at + 1)) != len(text):
        raise JSONDecodeError("Extra data", text, at)


def _after_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches no space as well


def _reason(error: Exception) -> str:
    """Return what went wrong in reading, without the name of the file."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


@contextmanager
def log_at(name: str, poll: float | None = None) -> Iterator[Log]:
    """Open the log, a file or `-` for standard input; with `poll`, follow it. Raises `Unreadable`."""
    with ExitStack() as stack:
        try:
            source, progress = stack.enter_context(opened(name, poll))
        except OSError as error:
            raise Unreadable(name, None, _reason(error)) from error
        yield Log(name, source, progress, whole=poll is None)
