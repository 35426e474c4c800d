"""What a reader sees after every event, in both layouts, as changes that are each stored once.

Projecting after every event would cost the square of the thread. So the timeline is kept in segments that nothing
spans: no id, no call and no derived name of one occurs in another, and whatever opens later stands in a later one. Such
segments project on their own, and what `project` makes of the whole is what it makes of each, one behind the other, in
both layouts. An event costs the projection of the segments that it touches; a test holds the result against `project`.

A delta that only writes on is not even projected again: where the last one for the same row went, this one goes,
as long as nothing else of its segment has changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import attrs

from reducer._project import Layout, project
from reducer._text import paired
from reducer._trace import look
from reducer._trace.diff import APPEND, SET, SPLICE, diff, embedded, written
from reducer._trace.look import CALL, REASONING, RESULT, TEXT, Altered, Key, State

LAYOUTS = (Layout.STREAMED, Layout.MERGED)
MOST_STEMS = 8
"""An id with more parts is not worth taking apart: it might be derived from anything."""
Path = list[Any]
_STEM_END = re.compile("#")


@attrs.define(eq=False)
class Slot:
    """A message of a layout, by its id: the number it goes by, and how it stands."""

    number: int
    message: dict[str, Any]
    span: tuple[int, int]
    key: int


class Target(NamedTuple):
    """Where a row's text shows: in each layout the message and the path in it, or nowhere."""

    places: tuple[tuple[Slot, Path] | None, ...]
    number: int


@attrs.define(eq=False)
class Segment:
    """Rows that stand on their own: their keys, what each layout shows of them, the calls that wait for a result.

    `targets` is where the text of rows went last, `unsaid` what was written there since the last projection.
    """

    keys: list[Key]
    slots: tuple[list[Slot], ...]
    pending: list[str]
    targets: dict[Key, Target] = attrs.field(factory=dict)
    unsaid: dict[Key, list[str]] = attrs.field(factory=dict)
    into: Segment | None = None

    def take(self, other: Segment) -> None:
        """Take over the segment that stands behind this one."""
        self.keys += other.keys
        for mine, others in zip(self.slots, other.slots, strict=True):
            mine += others
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


class Values:
    """JSON texts, each kept once, by number."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def number(self, value: Any) -> int:
        """Return the number of a value."""
        return self.texts.setdefault(written(value), len(self.texts))

    def operations(self, operations: Iterable[list[Any]]) -> list[list[Any]]:
        """Return operations with numbers for their values."""
        return [self._one(*operation) for operation in operations]

    def _one(self, verb: int, path: Path, *rest: Any) -> list[Any]:
        if verb == SET:
            return [SET, path, self.number(rest[0])]
        if verb == SPLICE:
            return [SPLICE, path, rest[0], rest[1], [self.number(value) for value in rest[2]]]
        return [verb, path, *rest]


class Listed:
    """A list that changes in one place at a time, told as splices."""

    def __init__(self) -> None:
        self.length = 0
        self.splices: list[str] = []

    def replace(self, position: int, behind: int, old: list[Any], new: list[Any]) -> None:
        """Put `new` for `old`, behind which `behind` items stand."""
        head, least = 0, min(len(old), len(new))
        while head < least and old[head] == new[head]:
            head += 1
        tail = 0
        while tail < least - head and old[len(old) - 1 - tail] == new[len(new) - 1 - tail]:
            tail += 1
        added, gone = new[head : len(new) - tail], len(old) - tail - head
        if added or gone:
            start = self.length - behind - len(old) + head
            self.splices.append(embedded([position, start, gone, added]))
        self.length += len(new) - len(old)


class Side:
    """A layout: its messages by id, in order, and every change of them."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.order = Listed()
        self.slots: dict[str, Slot] = {}
        self.changes: list[str] = []


class Follower:
    """Follows a log from event to event and keeps what each changed of the snapshot."""

    def __init__(self, numbers: dict[Key, int]) -> None:
        """Take the numbers of all entities, which whoever follows keeps up to date."""
        self.numbers = numbers
        self.values = Values()
        self.sides = tuple(Side(layout) for layout in LAYOUTS)
        self.pending = Listed()
        self.aside: list[str] = []
        self.targets: list[str] = []
        self.deltas: list[tuple[int, int, str]] = []
        self._rest: dict[str, Any] = {}
        self._segments: list[Segment] = []
        self._names: dict[tuple[str, str], Segment] = {}
        self.single = False

    def follow(self, before: State, after: State, touched: Altered) -> None:
        """Take in the event that made `after` of `before`; the two are at rest, `touched` is what it altered."""
        position = before.position
        self._follow_aside(position, before, after)
        if before.conversation is after.conversation and before.live is after.live:
            return
        if look.restated(before, after):
            self._restart(position, after)
            return
        written_to = self._written(before, after, touched)
        if written_to is not None and self._write_on(position, *written_to):
            return
        dirty = self._placed(before, after, touched)
        for segment in dirty:
            learned = self._project(position, after, segment)
            segment.targets = dict(segment.targets) if written_to is not None else {}
            if written_to is not None:
                self._learn(segment, *written_to, learned)

    def _written(self, before: State, after: State, touched: Altered) -> tuple[Key, str] | None:
        """Return the row and what was written to it, where that is all that the event did."""
        if len(touched) != 1 or look.timeline(before) is not look.timeline(after):
            return None
        [(key, (was, now))] = touched.items()
        if was is None or now is None or was.entity is not now.entity or was.first != now.first:
            return None
        if was.first < 0 or was.rope is None or key[0] not in (TEXT, REASONING, CALL):
            return None
        delta = look.grown(was.rope, now.rope)
        return None if delta is None else (key, delta)

    def _write_on(self, position: int, key: Key, delta: str) -> bool:
        segment = self._segment_of(key)
        target = segment.targets.get(key) if segment is not None else None
        if segment is None or target is None:
            return False
        segment.unsaid.setdefault(key, []).append(delta)
        for place in target.places:
            if place is not None:
                slot = place[0]
                slot.span = (slot.span[0], position)
        self.deltas.append((target.number, position, delta))
        return True

    def _learn(self, segment: Segment, key: Key, delta: str, learned: list[list[tuple[Slot, list[Any]]]]) -> None:
        """Keep where the text of the row went, where that is plain to see."""
        places: list[tuple[Slot, Path] | None] = []
        for changes in learned:
            if not changes:
                places.append(None)
                continue
            if len(changes) > 1 or not delta:
                return
            slot, operations = changes[0]
            if len(operations) != 1 or operations[0][0] != APPEND or operations[0][2] != delta:
                return
            places.append((slot, operations[0][1]))
        described = [None if place is None else [place[0].number, place[1]] for place in places]
        segment.targets[key] = Target(tuple(places), len(self.targets))
        self.targets.append(embedded(described))

    def _follow_aside(self, position: int, before: State, after: State) -> None:
        """Follow what is no conversation."""
        operations: list[list[Any]] = []
        if look.shared(before) is not look.shared(after):
            operations += [[verb, ["state", *path], *rest] for verb, path, *rest in diff(*map(look.shared, (before, after)))]
        if not self._rest:
            self._rest = _rest_of(before)
            self.aside.append(embedded([-1, self.values.operations([[SET, [], self._rest | {"state": look.shared(before)}]])]))
        if not look.same_session(before, after):
            rest = _rest_of(after)
            operations += diff(self._rest, rest)
            self._rest = rest
        if operations:
            self.aside.append(embedded([position, self.values.operations(operations)]))

    def _restart(self, position: int, after: State) -> None:
        """All rows may stand elsewhere now: begin with one segment of them all."""
        rest = self._segments
        whole = rest[0] if rest else Segment([], tuple([] for _ in self.sides), [])
        for segment in rest:
            segment.settle()
        for segment in rest[1:]:
            whole.take(segment)
        self._segments = [whole]
        whole.keys = list(look.timeline(after))
        for key in dict.fromkeys(whole.keys):
            self._name_all(after, key, whole)
        self._project(position, after, whole)
        whole.targets.clear()

    def _placed(self, before: State, after: State, touched: Altered) -> list[Segment]:
        """Put new rows and calls into segments; return those that the event touches."""
        rows = look.timeline(after)
        for place in range(len(look.timeline(before)), len(rows)):
            segment = Segment([rows[place]], tuple([] for _ in self.sides), [])
            self._segments.append(segment)
            self._named(segment, _names_of(rows[place]))
        dirty: dict[int, Segment] = {}
        for key, (was, now) in touched.items():
            holder = look.place_of(now)
            if key[0] == CALL and holder is not None and now is not None:
                segment = self._segment_of(holder[0])
                assert segment is not None
                if look.place_of(was) != holder:
                    # It stands behind all that opened before it, for the layout that shows it on its own.
                    self._joined(segment)
                    self._named(self._found(segment), _names_of(key, now.entity.home))
        for key, (_, now) in touched.items():
            found = self._segment_of(key, now)
            if found is not None:
                dirty[id(found)] = found
        return list(dirty.values())

    def _name_all(self, state: State, key: Key, segment: Segment) -> None:
        names = list(_names_of(key))
        entry = look.entry_of(state, key)
        for call in look.calls_of(entry) if entry is not None else ():
            made = look.entry_of(state, call)
            names += _names_of(call, made.entity.home if made is not None else None)
        self._named(segment, names)

    def _named(self, segment: Segment, names: Iterable[tuple[str, str]]) -> None:
        """Give names to a segment; one that a segment before it has joins all from there on."""
        for name in names:
            if name[0] == "single":
                self.single = True
            known = self._names.get(name)
            if known is not None:
                known = self._found(known)
                if known is not self._found(segment):
                    self._joined(min(known, self._found(segment), key=self._segments.index))
            self._names[name] = self._found(segment)
        if self.single:
            self._joined(self._segments[0])

    def _joined(self, segment: Segment) -> None:
        """Join a segment with all that stand behind it."""
        place = len(self._segments) - 1
        while self._segments[place] is not segment:
            place -= 1
        for other in self._segments[place + 1 :]:
            segment.take(other)
        del self._segments[place + 1 :]

    def _found(self, segment: Segment) -> Segment:
        while segment.into is not None:
            segment = segment.into
        return segment

    def _segment_of(self, key: Key, now: Any = None) -> Segment | None:
        """Return the segment that shows an entity, if one does."""
        name = ("c", key[1]) if key[0] == CALL else ("m", key[1])
        if key[0] == RESULT and len(key) == 2:
            return None
        if key[0] == CALL and now is not None and look.place_of(now) is None:
            return None
        known = self._names.get(name)
        return None if known is None else self._found(known)

    def _project(self, position: int, after: State, segment: Segment) -> list[list[tuple[Slot, list[Any]]]]:
        """Project a segment anew; return, for each layout, the operations on each message that changed."""
        segment.settle()
        place = len(self._segments) - 1
        while self._segments[place] is not segment:
            place -= 1
        behind = self._segments[place + 1 :]
        sub = look.part(after, segment.keys, first=place == 0)
        learned = []
        for number, side in enumerate(self.sides):
            snapshot = project(sub, side.layout)
            old, new = segment.slots[number], []
            changes: list[tuple[Slot, list[Any]]] = []
            shown = zip(snapshot.messages, snapshot.origins, look.keys_shown(sub, side.layout), strict=True)
            for message, origin, key in shown:
                slot, operations = self._slot(side, message, origin.span, key, position)
                if operations is not None:
                    changes.append((slot, operations))
                new.append(slot)
            numbers = [[slot.number for slot in slots] for slots in (old, new)]
            side.order.replace(position, sum(len(other.slots[number]) for other in behind), *numbers)
            old[:] = new
            learned.append(changes)
            if side.layout is Layout.STREAMED:
                pending = snapshot.pending_tool_calls
                self.pending.replace(position, sum(len(s.pending) for s in behind), segment.pending, pending)
                segment.pending = pending
        return learned

    def _slot(
        self, side: Side, message: dict[str, Any], span: tuple[int, int], key: Key, position: int
    ) -> tuple[Slot, list[Any] | None]:
        """Return the slot of a message, and what has changed of it, `None` where nothing has."""
        slot, number = side.slots.get(message["id"]), self.numbers.get(key, -1)
        if slot is None:
            slot = side.slots[message["id"]] = Slot(len(side.slots), message, span, number)
            operations = [[SET, [], message]]
        else:
            operations = [] if _equal(slot.message, message) else diff(slot.message, message)
            if not operations and (slot.span, slot.key) == (span, number):
                return slot, None
            slot.message, slot.span, slot.key = message, span, number
        told = self.values.operations(operations)
        side.changes.append(embedded([position, slot.number, *span, number, *([told] if told else [])]))
        return slot, operations


def _equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Say quickly whether two messages are the same JSON, types included; `diff` has the last word."""
    try:
        return one == other and repr(one) == repr(other)
    except RecursionError:
        return False


def _names_of(key: Key, home: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield the names that tie an entity to others: its id, those that its id may be derived from, its call's."""
    if key[0] == CALL:
        yield "c", key[1]
    elif key[0] == RESULT:
        yield "c", key[2]
    for name in ([home] if key[0] == CALL else [key[1]]):
        if name is None:
            continue
        yield "m", name
        if name.count("#") > MOST_STEMS:
            yield "single", ""
        for end in list(_STEM_END.finditer(name))[:MOST_STEMS]:
            yield "m", name[: end.start()]


def _rest_of(state: State) -> dict[str, Any]:
    told = project(look.aside(state)).to_dict()
    for name in ("messages", "origins", "pendingToolCalls", "state", "anomalies"):
        del told[name]
    return told
