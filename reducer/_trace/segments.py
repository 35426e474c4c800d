"""The timeline in segments that nothing spans, so that each can be projected on its own.

No id, no call, and no name that a projection could derive from one id, occurs in two segments; whatever opens later
stands in a later one. Then what `project` makes of the whole is what it makes of each segment, one behind the other, in
both layouts: rows join, results move and ids are derived within a segment only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import attrs

from reducer._text import paired
from reducer._trace import look
from reducer._trace.look import CALL, RESULT, Altered, Key, State

Path = list[Any]
Name = tuple[str, str]
MOST_STEMS = 8
"""An id of more parts is not worth taking apart: with one such there is one segment."""
_STEM_END = re.compile("#")
_ANY: Name = ("any", "")


@attrs.define(eq=False)
class Slot:
    """A message of a layout: the number it goes by, how it stands, and the number of its entity."""

    number: int
    message: dict[str, Any]
    span: tuple[int, int]
    entity: int


class Target(NamedTuple):
    """Where a row's text shows: in each layout the message and the path in it, or nowhere; `number` names it."""

    places: tuple[tuple[Slot, Path] | None, ...]
    number: int


@attrs.define(eq=False)
class Segment:
    """Rows that stand on their own: their keys, the calls in them, what each layout shows, the calls without result.

    `targets` is where the text of rows went last, `unsaid` what was written there since the last projection, `into` the
    segment that has taken this one over.
    """

    keys: list[Key] = attrs.field(factory=list)
    calls: dict[Key, None] = attrs.field(factory=dict)
    slots: tuple[list[Slot], list[Slot]] = attrs.field(factory=lambda: ([], []))
    pending: list[str] = attrs.field(factory=list)
    targets: dict[Key, Target] = attrs.field(factory=dict)
    unsaid: dict[Key, list[str]] = attrs.field(factory=dict)
    into: Segment | None = None

    def take(self, other: Segment) -> None:
        """Take over the segment that stands behind this one."""
        self.keys += other.keys
        self.calls |= other.calls
        for number, slots in enumerate(other.slots):
            self.slots[number].extend(slots)
        self.pending += other.pending
        self.targets |= other.targets
        self.unsaid |= other.unsaid
        other.into = self

    def settle(self) -> None:
        """Write to the messages what was written since they were projected."""
        for key, deltas in self.unsaid.items():
            for place in self.targets[key].places:
                if place is not None:
                    slot, path = place
                    holder: Any = slot.message
                    for name in path[:-1]:
                        holder = holder[name]
                    holder[path[-1]] = paired(holder[path[-1]] + "".join(deltas))
        self.unsaid.clear()


class Segments:
    """All segments, in the order of the timeline, and which has which names."""

    def __init__(self) -> None:
        self._all: list[Segment] = []
        self._names: dict[Name, Segment] = {}

    def of(self, key: Key) -> Segment | None:
        """Return the segment that has an entity's id, if one has."""
        known = self._names.get(("call" if key[0] == CALL else "id", key[1]))
        return None if known is None else _final(known)

    def behind(self, segment: Segment) -> list[Segment]:
        """Return the segments behind one; those that events touch are near the end."""
        place = len(self._all) - 1
        while self._all[place] is not segment:
            place -= 1
        return self._all[place + 1 :]

    def is_first(self, segment: Segment) -> bool:
        """Say whether no segment stands before one."""
        return self._all[0] is segment

    def restart(self, state: State) -> Segment:
        """All rows may stand elsewhere now: return one segment of them all."""
        whole = Segment()
        for segment in self._all:
            segment.settle()
            whole.take(segment)
        whole.targets.clear()
        self._all = [whole]
        whole.keys = list(look.timeline(state))
        whole.calls = dict.fromkeys(call for calls in look.calls_shown(state).values() for call in calls)
        for key in dict.fromkeys(whole.keys):
            self._give(whole, _names_of(key))
        for call in whole.calls:
            made = look.entry_of(state, call)
            self._give(whole, _names_of(call, made.entity.home if made is not None else None))
        return whole

    def touched(self, before: State, after: State, altered: Altered) -> list[Segment]:
        """Take in the rows and calls that an event opened; return the segments that it touches."""
        rows = look.timeline(after)
        for place in range(len(look.timeline(before)), len(rows)):
            segment = Segment([rows[place]])
            self._all.append(segment)
            self._give(segment, _names_of(rows[place]))
        for key, (was, now) in altered.items():
            holder = look.place_of(now)
            if now is not None and holder is not None and look.place_of(was) != holder:
                held = self.of(holder[0])
                assert held is not None
                # In the layout that shows it on its own it stands behind all that opened before it.
                self._join(held)
                held.calls[key] = None
                self._give(held, _names_of(key, now.entity.home))
        found = (self.of(key) for key, (_, now) in altered.items() if not (key[0] == CALL and not look.place_of(now)))
        return list(dict.fromkeys(segment for segment in found if segment is not None))

    def _give(self, segment: Segment, names: Iterable[Name]) -> None:
        """Give names to a segment; where another has one, that and all behind it become one."""
        for name in names:
            segment = _final(segment)
            known = _final(self._names.get(name, segment))
            if known is not segment:
                self._join(min(known, segment, key=self._all.index))
            self._names[name] = _final(segment)
        if _ANY in self._names:
            self._join(self._all[0])

    def _join(self, segment: Segment) -> None:
        for other in self.behind(segment):
            segment.take(other)
        del self._all[self._all.index(segment) + 1 :]


def _final(segment: Segment) -> Segment:
    while segment.into is not None:
        segment = segment.into
    return segment


def _names_of(key: Key, home: str | None = None) -> Iterator[Name]:
    """Yield the names that tie an entity to others: its id and those it may be derived from; a call's or result's call.

    `home` is the message that a call stands under on its own.
    """
    if key[0] in (CALL, RESULT):
        yield "call", key[1] if key[0] == CALL else key[2]
    name = home if key[0] == CALL else key[1]
    if name is None:
        return
    yield "id", name
    ends = [end.start() for end in _STEM_END.finditer(name)]
    if len(ends) > MOST_STEMS:
        yield _ANY
        return
    for end in ends:
        yield "id", name[:end]
