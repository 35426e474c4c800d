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

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reducer._cases._entities import find
from reducer._cases.reasoning import target
from reducer._cases.retired import MESSAGE, SPAN
from reducer._event import Event, UnknownEvent
from reducer._fold import CASES, fold
from reducer._objects import Replayed, event_object
from reducer._patch import PatchError, apply
from reducer._restate import restated
from reducer._run import current
from reducer._slots import CHUNK, CONTENT, END, START, STEMS, Kept, Part, Piece, Track, Whole, merged
from reducer._state import ACTIVITY, CALL, EMPTY, REASONING, RESULT, Key, Owner, State, at_rest
from reducer._wire import admit
from reducer.errors import MalformedEvent

SAID = {"role": "role", "name": "name", "tool_call_name": "toolCallName", "parent_message_id": "parentMessageId"}


def compact(events: Iterable[object], *, before: State = EMPTY, restate: bool = True) -> list[Replayed]:
    """Return a shorter log that says the same as `events`, a thread's log from its first event on.

    Folded, the result and whatever comes after it give the same messages in both layouts, state, interrupts and runs
    as `events` and that; compacting it again changes nothing. What a valid log may be continued by, the result may.
    It may stop anywhere. Positions, and with them `origins`, differ, and so does what was recorded as an anomaly.

    Where the log is the later part of one, `before` is the state in front of it. Where messages shall stay in the
    runs that brought them, `restate=False` leaves out the snapshot that otherwise tells what is settled. Timestamps
    are kept of what opened something, raw events only of events that stay as they are. Raises `MalformedEvent` for an
    event that the schema rejects (spec: basic/processing, basic/patterns/streaming).
    """
    log = _Log(before)
    for event in events:
        log.take(event)
    log.close()
    shorter = restated(log.parts, log.state, before) if restate else None
    return [_given(one) for one in (shorter or log.told())]


def _given(event: object) -> Replayed:
    """Return an event as an object, whatever it was given as."""
    made = event_object(event) if isinstance(event, Mapping) else event
    return event if isinstance(made, UnknownEvent) else made  # type: ignore[return-value]


class _Log:
    """The parts of the shorter log, in order, and the state that they come to."""

    def __init__(self, before: State) -> None:
        self.state = at_rest(before)
        self.parts: list[Part] = []
        self._spans: list[tuple[Kept, str, Owner]] = []
        self._reasoning: dict[str, Owner] = {}
        self._begin()

    def _begin(self) -> None:
        """Begin a segment."""
        self._open = self.state.live.keys() - _chunked(self.state)
        self._tracks: dict[Key, Track] = {}
        self._wholes: dict[Key, list[Any]] = {}
        self._values: dict[Key, Kept] = {}

    def take(self, original: object) -> None:
        """Fold an event and give it to the part that tells what it is about."""
        before = self.state
        try:
            event = admit(original)
        except MalformedEvent:
            # The fold forgives a few; it raises for the others.
            self.state = at_rest(fold(before, original))
            self.parts.append(Kept(None, original=original))
            return
        if event.type in ENDS:
            self._end(before, lasting=event.type == "MESSAGES_SNAPSHOT")
        self.state = after = at_rest(fold(before, event))
        take = TAKES.get(event.type)
        if take is None or isinstance(event, UnknownEvent):
            self._keep(original, event)
        else:
            take(self, original, event, before, after)
        if event.type in ENDS:
            self._begin()

    def _keep(self, original: object, event: Event, key: Key | None = None) -> Kept:
        kept = Kept(key, original=original, kind=event.type, tag=getattr(event, "subagent_run_id", None))
        self.parts.append(kept)
        return kept

    def _end(self, state: State, *, lasting: bool) -> None:
        """End a segment in front of a boundary; `lasting` says that what is explicitly open stays so behind it."""
        explicit = state.live.keys() - _chunked(state)
        for key, track in self._tracks.items():
            track.lasts, track.ended = lasting and key in explicit, key not in explicit
        for key, (part, _, _) in self._wholes.items():
            if key[0] == ACTIVITY and part.wire is not None:
                _tell_activity(part.wire, find(state, key).entity)
        if not lasting:
            for part, name, owner in self._spans:
                # A span that says whose the messages under its id are is more than a bracket.
                part.alive = owner is not None and self._reasoning.get(name, owner) != owner
            self._spans, self._reasoning = [], {}

    def close(self) -> None:
        """End the log: close what is closed and leave open what is open."""
        run = current(self.state)
        self._end(self.state, lasting=run is not None)
        if run is None:
            return
        ...
