"""A shorter log that folds to the same.

Theory of operation. The log is folded event by event, and every event goes to the part that tells what it is about
(see `_slots`). A run boundary or a messages snapshot ends a segment: it stays as it is, and nothing moves across it.

1. In a segment each row, call and result is one part, each activity one, the shared state one.
2. Of encrypted values for one thing the last stays, where it stood.
3. Steps, subagents, RAW, CUSTOM and what nobody knows stay as they are; reasoning spans of a run that is over go,
   since they bracket and build nothing.
4. Where the log stops inside a run, what is open is open afterwards, in the spelling that it had, and nothing else is.
5. Where that is shorter and leaves a state that every rest continues alike, what is settled is told by one snapshot
   (see `_restate`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from reducer._cases._entities import find
from reducer._event import Event, UnknownEvent
from reducer._fold import fold
from reducer._objects import Replayed, event_object
from reducer._records import ACTIVITY, CALL, REASONING, TEXT, Key, Owner
from reducer._restate import restated
from reducer._slots import Kept, Part, Piece, Reopened, Shared, Track, Whole, in_order
from reducer._state import EMPTY, State
from reducer._table import ALL, CASES, NOTHING
from reducer._takes import TAKES
from reducer._wire import admit
from reducer.errors import MalformedEvent

AnyPart = TypeVar("AnyPart", bound=Part)
SNAPSHOT = "MESSAGES_SNAPSHOT"
BOUNDARIES = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", SNAPSHOT})
CONTENTS = {
    "TEXT_MESSAGE_CONTENT": (TEXT, "message_id"),
    "REASONING_MESSAGE_CONTENT": (REASONING, "message_id"),
    "TOOL_CALL_ARGS": (CALL, "tool_call_id"),
}


def compact(events: Iterable[object], *, before: State = EMPTY, restate: bool = True) -> list[Replayed]:
    """Return a shorter log that says the same as `events`, a thread's log from its first event on.

    Folded, the result and whatever comes after it give the same messages in both layouts, state, interrupts and runs
    as `events` and that; compacting it again changes nothing. What may follow a valid log may follow its compaction.
    The log may stop anywhere. Positions, and with them the snapshot's `origins`, differ, and so do the anomalies.

    Where the log is the later part of one, `before` is the state in front of it. Where messages are to stay in the
    runs that brought them, `restate=False` leaves out the snapshot that otherwise tells what is settled. Of timestamps
    those of openings are kept, of raw events those on events that stay as they are. Raises `MalformedEvent` for an
    event that the schema rejects (spec: basic/processing).
    """
    restate = restate and before == EMPTY
    shorter = _once(events, before, restate=restate)
    # What a snapshot has made superfluous may have been a boundary. It ends when nothing more is to be gained.
    while len(again := _once(shorter, before, restate=restate)) < len(shorter):
        shorter = again
    return shorter


def _once(events: Iterable[object], before: State, *, restate: bool) -> list[Replayed]:
    log, given = Log(before), list[object]()
    for event in events:
        log.take(event)
        # To say what is open after a few events may take more of them than they are: so they are kept while few.
        if len(given) < 4 * len(log.parts) + 64:
            given.append(event)
    log.close()
    told = log.told()
    if restate:
        told = restated(log.parts, log.state, told)
    return [_given(one) for one in (given if log.events == len(given) <= len(told) else told)]


def _given(event: Any) -> Replayed:
    """Return an event as an object, whatever it was given as; of what nobody knows only the original says all."""
    if not isinstance(event, (Mapping, Event)):
        return event  # type: ignore[no-any-return]
    try:
        made = event_object(event.to_dict() if isinstance(event, Event) else event)
    except MalformedEvent:
        # The fold has forgiven it, and will again.
        return event  # type: ignore[return-value]
    return event if isinstance(made, UnknownEvent) else made  # type: ignore[return-value]


class Log:
    """The parts of the shorter log, in order, and the state that they come to."""

    def __init__(self, before: State) -> None:
        self.state = before
        self.parts: list[Part] = []
        self.events = 0
        self.spans: list[Kept] = []
        self.reasoning: dict[str, Owner] = {}
        self._begin()

    def _begin(self) -> None:
        """Begin a segment."""
        self.tracks: dict[Key, Track] = {}
        self.wholes: dict[Key, Whole] = {}
        self.values: dict[Key, Kept] = {}
        self.shared: Shared | None = None
        self._every: list[Track] = []

    def take(self, original: object) -> None:
        """Fold an event and give it to the part that tells what it is about."""
        self.events += 1
        try:
            event = admit(original)
        except MalformedEvent:
            # The fold forgives a few, and raises for the others.
            self.state = fold(self.state, original)
            self.add(Kept(original=original))
            return
        if event.type in CONTENTS:
            before, self.state = self.state, fold(self.state, event)
            # Most of a log: it only adds to a row that has its piece, and no state has to be looked into.
            if self._continues(event, before):
                return
        else:
            if event.type in BOUNDARIES:
                self._end(lasting=event.type == SNAPSHOT)
            before = self.state
            self.state = fold(before, event)
        take = TAKES.get(event.type)
        if take is None or isinstance(event, UnknownEvent):
            self.add(Kept(original=original, event=event))
        else:
            take(self, original, event, before, self.state)
        if event.type in BOUNDARIES:
            self._begin()

    def _continues(self, event: Event, before: State) -> bool:
        """Add content to the piece of the row that it goes to, where there is one."""
        kind, identity = CONTENTS[event.type]
        track = self.tracks.get((kind, getattr(event, identity)))
        if track is None or len(self.state.conversation.timeline) != len(before.conversation.timeline):
            return False
        track.say(event)
        return True

    def add(self, part: AnyPart) -> AnyPart:
        """Put a part at the end, and return it."""
        self.parts.append(part)
        return part

    def track(self, track: Track) -> Track:
        """Begin to tell about a message or call, from here on in this segment."""
        self.tracks[track.key] = track
        self._every.append(track)
        return track

    def _end(self, *, lasting: bool) -> None:
        """End a segment in front of a boundary; `lasting` says that what is explicitly open stays open behind it."""
        explicit = _explicit(self.state)
        for track in self._every:
            still = track.key in explicit and track is self.tracks[track.key]
            track.lasts, track.ended = lasting and still, not still
        for key, whole in self.wholes.items():
            entry = find(self.state, key)
            if key[0] == ACTIVITY and entry is not None:
                whole.settle(entry.entity)
        if self.shared is not None:
            self.shared.settle(self.state.session.shared)
        if not lasting:
            for span in self.spans:
                name, owner = span.event.message_id, span.event.subagent_run_id
                # A span that says whose the messages under its id are is more than a bracket.
                span.alive = owner is not None and self.reasoning.get(name, owner) != owner
            self.spans, self.reasoning = [], {}

    def close(self) -> None:
        """End the log: what was closed gets closed, what was open stays open."""
        self._end(lasting=True)
        streams = dict(in_order(self.state.conversation.streams))
        open_now = _left_open(self.parts)
        for lane, track in open_now.items():
            track.explicit = not track.is_stream(streams.get(lane))
        for lane, stream in streams.items():
            if lane not in open_now or open_now[lane].explicit:
                entry = find(self.state, stream.key)
                name = getattr(entry.entity, "name", None) if entry is not None else None
                self.add(Reopened(key=stream.key, lane=lane, stream=stream, name=name))

    def told(self) -> list[Any]:
        """Return the shorter log."""
        return [event for part in self.parts if part.alive for event in part.told()]


def _explicit(state: State) -> frozenset[Key]:
    """Return what is open in the explicit spelling."""
    streams = state.conversation.streams
    chunked = {stream.key for stream in streams.lanes.values()} if streams is not None else set()
    return frozenset(state.live.keys() - chunked)


def _left_open(parts: Iterable[Part]) -> dict[Owner, Track]:
    """Return the chunk streams that the parts leave open, by lane: the shorter log has fewer events to end them."""
    lanes: dict[Owner, Track] = {}
    for part in parts:
        if isinstance(part, Piece) and part.track.chunked:
            lanes[part.track.tag] = part.track
        elif part.alive:
            kind, tag = part.ends()
            ends = CASES[kind].ends if kind in CASES else NOTHING
            if ends is ALL:
                lanes.clear()
            elif ends is not NOTHING:
                lanes.pop(tag, None)
    return lanes
