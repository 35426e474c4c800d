"""The parts of a shorter log: what each thing that a log builds is told by, at the place where it opened.

A part stands where its row, call, result or activity opened, because the order of openings is what rows, groups and
cuts come from; all that followed for the same thing moves there, because nothing else asks when it came. A stretch of
a message or a call is one chunk, unless it was open before the stretch or stays open after it, which only the
explicit spelling can say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from reducer._state import CALL, REASONING, TEXT, Key, Owner
from reducer._text import paired

Wire = dict[str, Any]
STEMS = {TEXT: "TEXT_MESSAGE", REASONING: "REASONING_MESSAGE", CALL: "TOOL_CALL"}
CONTENTS = {TEXT: "CONTENT", REASONING: "CONTENT", CALL: "ARGS"}
START, CONTENT, END, CHUNK = "START", "CONTENT", "END", "CHUNK"


@attrs.define(eq=False)
class Part:
    """A place in the shorter log. `key` is what it builds, if anything; one that is not `alive` says nothing."""

    key: Key | None = None
    alive: bool = True

    def told(self) -> Iterable[Any]:
        """Return what it says: events as they were given, or wire forms that are made here."""
        raise NotImplementedError


@attrs.define(eq=False)
class Kept(Part):
    """An event that stays as it is: `original` as it was given, of type `kind` in the lane of `tag`."""

    original: Any = None
    kind: str = ""
    tag: Owner = None

    def told(self) -> Iterable[Any]:
        """Return the event."""
        return (self.original,)


@attrs.define(eq=False)
class Whole(Part):
    """A thing that each of its events tells whole: the last one stands, `metadata` merges."""

    original: Any = None
    wire: Wire | None = None

    def told(self) -> Iterable[Any]:
        """Return the one event, or what all of them come to."""
        return (self.original if self.wire is None else self.wire,)


@attrs.define(eq=False)
class Track:
    """What a segment says about one message or call, from its start or from what was open.

    `said` are the fields of its opener, `tag` the owner its first event named, `starts` whether that event opened it.
    `lasts` says that it is open where the segment ends, `ended` that something closed it before, `explicit` that it is
    spelled with a start and an end though a chunk could say it.
    """

    key: Key
    tag: Owner
    starts: bool
    was_open: bool
    said: Wire
    pieces: list[Piece] = attrs.field(factory=list)
    events: int = 0
    lasts: bool = False
    ended: bool = False
    explicit: bool = False

    @property
    def chunked(self) -> bool:
        """Whether chunks say it."""
        return self.starts and not (self.was_open or self.lasts or self.explicit)

    def event(self, verb: str, **fields: Any) -> Wire:
        """Return an event about it."""
        kind, name = self.key[:2]
        verb = CONTENTS[kind] if verb == CONTENT else verb
        tag = {} if self.tag is None else {"subagentRunId": self.tag}
        return {"type": f"{STEMS[kind]}_{verb}", "toolCallId" if kind == CALL else "messageId": name, **fields, **tag}


@attrs.define(eq=False)
class Piece(Part):
    """One row of a message, or a call: where it opened, with all that a segment says of it.

    `spoken` says that content came, be it empty. `original` is its only event where it can stand for itself.
    """

    track: Track = attrs.field(kw_only=True)
    original: Any = None
    deltas: list[str] = attrs.field(factory=list)
    spoken: bool = False
    metadata: Wire | None = None
    timestamp: int | None = None

    def add(self, event: Any, *, spoken: bool) -> None:
        """Take over what an event says."""
        if spoken:
            self.spoken = True
            self.deltas.append(event.delta or "")
        if event.metadata is not None:
            self.metadata = merged(self.metadata, event.metadata)

    def told(self) -> Iterable[Any]:
        """Return a chunk, or start, content and end as far as they are this piece's."""
        track = self.track
        if track.events == 1 and self.original is not None and not track.explicit:
            return (self.original,)
        return [self._chunk()] if track.chunked else list(self._triad())

    def _chunk(self) -> Wire:
        said = self.track.said if self is self.track.pieces[0] else {}
        return self.track.event(CHUNK, **said, **self._content(), **self._about())

    def _triad(self) -> Iterator[Wire]:
        track, about = self.track, self._about()
        if track.starts and not track.was_open and self is track.pieces[0]:
            role = {"role": REASONING} if track.key[0] == REASONING else {}
            yield track.event(START, **track.said, **role, **about)
            about = {}
        if self.spoken:
            yield track.event(CONTENT, **self._content(), **about)
            about = {}
        if track.ended and self is track.pieces[-1]:
            yield track.event(END, **about)

    def _content(self) -> Wire:
        return {"delta": paired("".join(self.deltas))} if self.spoken else {}

    def _about(self) -> Wire:
        about = {"metadata": self.metadata, "timestamp": self.timestamp}
        return {name: value for name, value in about.items() if value is not None}


def merged(metadata: Wire | None, more: Mapping[str, Any] | None) -> Wire | None:
    """Merge metadata key by key, the last write winning (spec: basic/metadata)."""
    return metadata if more is None else {**(metadata or {}), **more}
