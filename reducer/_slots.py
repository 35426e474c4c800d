"""The parts of a shorter log: what each thing that a log builds is told by, at the place where it opened.

A part stands where its row, call, result or activity opened, because the order of openings is what rows, groups and
cuts come from; all that followed for the same thing moves there, because nothing else asks when it came. A stretch of
a message or a call is one chunk, unless it was open before the stretch or stays open after it, which only the
explicit spelling can say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from reducer._frozen import thaw
from reducer._length import is_longer, length
from reducer._records import CALL, REASONING, TEXT, Activity, Key, Owner, Stream, Streams
from reducer._text import paired

Wire = dict[str, Any]
STEMS = {TEXT: "TEXT_MESSAGE", REASONING: "REASONING_MESSAGE", CALL: "TOOL_CALL"}
START, CONTENT, END, CHUNK = "START", "CONTENT", "END", "CHUNK"


def about(key: Key, verb: str, tag: Owner, fields: Mapping[str, Any]) -> Wire:
    """Return an event about a message or call."""
    kind, name = key[:2]
    verb = "ARGS" if verb == CONTENT and kind == CALL else verb
    owner = {} if tag is None else {"subagentRunId": tag}
    return {"type": f"{STEMS[kind]}_{verb}", "toolCallId" if kind == CALL else "messageId": name, **fields, **owner}


def merged(metadata: Wire | None, more: Mapping[str, Any] | None) -> Wire | None:
    """Merge metadata key by key, the last write winning (spec: basic/metadata)."""
    return metadata if more is None else {**(metadata or {}), **more}


@attrs.define(eq=False)
class Part(ABC):
    """A place in the shorter log. `key` is what it builds, if anything; one that is not `alive` says nothing."""

    key: Key | None = None
    alive: bool = True

    @abstractmethod
    def told(self) -> Iterable[Any]:
        """Return what it says: events as they were given, or wire forms that are made here."""

    def ends(self) -> tuple[str, Owner]:
        """Return the type and the tag by which it ends chunk streams."""
        return "", None


@attrs.define(eq=False, kw_only=True)
class Kept(Part):
    """An event that stays as it is: `original` as it was given, `event` decoded."""

    original: Any
    event: Any = None

    def told(self) -> Iterable[Any]:
        """Return the event."""
        return (self.original,)

    def ends(self) -> tuple[str, Owner]:
        """Return what it is."""
        if self.event is None:
            return super().ends()
        return self.event.type, getattr(self.event, "subagent_run_id", None)


@attrs.define(eq=False, kw_only=True)
class Whole(Kept):
    """A result or an activity: its only event, or `wire`, what several come to."""

    wire: Wire | None = None

    def told(self) -> Iterable[Any]:
        """Return the one event."""
        return (self.original if self.wire is None else self.wire,)

    def ends(self) -> tuple[str, Owner]:
        """Return what the one event is."""
        return super().ends() if self.wire is None else (self.wire["type"], self.wire.get("subagentRunId"))

    def merge(self, metadata: Mapping[str, Any] | None) -> Wire:
        """Begin or go on to make one event of several, and return it."""
        if self.wire is None:
            self.wire = self.event.to_dict()
        together = merged(self.wire.get("metadata"), metadata)
        if together is not None:
            self.wire["metadata"] = together
        return self.wire

    def settle(self, activity: Activity) -> None:
        """Tell an activity that several events were about as it is by now."""
        if self.wire is not None:
            kept: Wire = {name: self.wire[name] for name in ("messageId", "metadata", "timestamp") if name in self.wire}
            owner = {} if activity.owner is None else {"subagentRunId": activity.owner}
            now = {"activityType": activity.type, "content": thaw(activity.content)}
            self.wire = {"type": "ACTIVITY_SNAPSHOT", **kept, **now, **owner}


@attrs.define(eq=False, kw_only=True)
class Shared(Whole):
    """The shared state: `operations` are those of all patches that applied, `replaced` says that a snapshot came."""

    operations: list[Any] = attrs.field(factory=list)
    replaced: bool = False
    events: int = 0

    def settle(self, shared: Any) -> None:
        """Tell the state as it is by now, or what was done to it where that is shorter."""
        if self.events < 2:
            return
        if self.replaced or not is_longer(shared, length(self.operations)):
            self.wire = {"type": "STATE_SNAPSHOT", "snapshot": thaw(shared)}
        else:
            self.wire = {"type": "STATE_DELTA", "delta": self.operations}
        self.alive = self.replaced or bool(self.operations)


@attrs.define(eq=False)
class Track:
    """What a segment says about one message or call, from its start or from what was open.

    `tag` is the owner that its first event named, `said` the fields of its opener, `starts` whether it begins with
    one. `lasts` says that it is explicitly open where the segment ends, `ended` that something closed it before,
    `explicit` that it is spelled with a start and an end though chunks could say it.
    """

    key: Key
    tag: Owner
    starts: bool
    said: Wire
    pieces: list[Piece] = attrs.field(factory=list)
    events: int = 0
    lasts: bool = False
    ended: bool = False
    explicit: bool = False

    def say(self, event: Any, *, speaks: bool = True) -> None:
        """Take over what an event says about the latest piece; one that `speaks` adds content, be it empty."""
        self.events += 1
        piece = self.pieces[-1]
        if event.metadata is not None:
            piece.metadata = merged(piece.metadata, event.metadata)
        if speaks:
            piece.spoken = True
            piece.deltas.append(event.delta or "")

    @property
    def chunked(self) -> bool:
        """Whether chunks say it."""
        return self.starts and not (self.lasts or self.explicit)

    def is_stream(self, stream: Stream | None) -> bool:
        """Say whether its chunks leave `stream` open, with all that a continuation may repeat."""
        said = {"role": "assistant", **self.said} if self.key[0] == TEXT else self.said
        if stream is None or stream.key != self.key:
            return False
        return {**dict.fromkeys(stream.established), **said} == stream.established


@attrs.define(eq=False, kw_only=True)
class Piece(Part):
    """One row of a message, or a call: where it opened, with all that a segment says of it.

    `spoken` says that content came, be it empty. `original` is its only event where that can stand for itself.
    """

    track: Track
    original: Any = None
    deltas: list[str] = attrs.field(factory=list)
    spoken: bool = False
    metadata: Wire | None = None
    timestamp: int | None = None

    def told(self) -> Iterable[Any]:
        """Return a chunk, or start, content and end as far as they are this piece's."""
        track = self.track
        if track.events == 1 and self.original is not None and not track.explicit:
            return (self.original,)
        if track.chunked:
            return (about(track.key, CHUNK, track.tag, {**track.said, **self._content(), **self._apart()}),)
        return self._triad()

    def _triad(self) -> Iterator[Wire]:
        track, apart = self.track, self._apart()
        if track.starts and self is track.pieces[0]:
            # What a start has to have, where the chunk that opened it had none.
            needed = {REASONING: {"role": REASONING}, CALL: {"toolCallName": ""}}.get(track.key[0], {})
            yield about(track.key, START, track.tag, {**needed, **track.said, **apart})
            apart = {}
        if self.spoken:
            yield about(track.key, CONTENT, track.tag, {**self._content(), **apart})
            apart = {}
        # An end that came before anything else has opened nothing, but what it told of the message stays.
        if (track.ended and self is track.pieces[-1]) or "metadata" in apart:
            yield about(track.key, END, track.tag, apart)

    def _content(self) -> Wire:
        return {"delta": paired("".join(self.deltas))} if self.spoken else {}

    def _apart(self) -> Wire:
        apart = {"metadata": self.metadata, "timestamp": self.timestamp}
        return {name: value for name, value in apart.items() if value is not None}

    def ends(self) -> tuple[str, Owner]:
        """Return what an event about it ends."""
        return f"{STEMS[self.track.key[0]]}_END", self.track.tag


@attrs.define(eq=False, kw_only=True)
class Reopened(Part):
    """A chunk stream that the log leaves open and that something in the shorter log has ended."""

    lane: Owner
    stream: Stream
    name: str | None = None

    def told(self) -> Iterable[Any]:
        """Return a chunk that adds nothing."""
        return (reopening(self.lane, self.stream, self.name, {}),)


def in_order(streams: Streams | None) -> list[tuple[Owner, Stream]]:
    """Return the open chunk streams by lane, in an order that depends on nothing but what was said.

    Of a kind the lane that was used last comes last: a bare chunk with no other clue continues that one.
    """
    if streams is None:
        return []
    latest = set(streams.recent.values())
    return sorted(streams.lanes.items(), key=lambda lane: (lane[0] in latest, lane[0] is not None, lane[0] or ""))


def reopening(lane: Owner, stream: Stream, name: str | None, fields: Wire) -> Wire:
    """Return the chunk that opens a chunk stream again as it was established; a call's needs its `name`."""
    said = {field: value for field, value in stream.established.items() if value is not None}
    tool = {"toolCallName": name} if stream.key[0] == CALL and name else {}
    return about(stream.key, CHUNK, lane, {**tool, **said, **fields})
