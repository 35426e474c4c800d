"""What each event of a log did: rows that opened, were written and cut, calls, results, values, anomalies.

`tell` folds a log once and keeps, beside the last state, what no state remembers: when and by what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from reducer._trace import look
from reducer._trace.look import CALL, EMPTY, GROUP, RESULT, Altered, Anomaly, Key, Owner, State
from reducer._wire import Event

ENCRYPTED = "REASONING_ENCRYPTED_VALUE"
IDENTITIES = ("tool_call_id", "message_id", "entity_id", "subagent_run_id", "step_name", "run_id", "name")
"""What an event is told by: the first of these fields that it has."""


@attrs.define(eq=False)
class Row:
    """A row: the entity, which of its rows it is, the positions of its first and last event.

    `lapsed` is the position of the opening that cut it, `cut` the same where that mattered: it was being written, or
    was written again later. It holds calls since `grouped`; `stated` says that a snapshot or an input brought it whole.
    """

    key: Key
    ordinal: int
    owner: Owner
    first: int
    last: int
    cut: int | None = None
    grouped: int | None = None
    stated: bool = False
    lapsed: int | None = None


@attrs.define(eq=False)
class Called:
    """A call: the row it stands in, its first and last event, and the event that answered it.

    `parent` is the message that its start named.
    """

    key: Key
    name: str
    owner: Owner
    first: int
    last: int
    row: Row | None = None
    answered: int | None = None
    parent: str | None = None


@attrs.define(eq=False)
class Value:
    """An encrypted value: when it came, for what (`None` where nothing of that name was there), and what it names.

    `late` says that what it names was closed, `claimed` when something that opened later took it.
    """

    position: int
    key: Key | None
    subtype: str
    name: str
    late: bool = False
    claimed: int | None = None


@attrs.define(eq=False)
class Deed:
    """An event: its type, its owner, what it is told by, and the entities that it altered."""

    type: str
    owner: Owner
    name: str | None
    touched: tuple[Key, ...]


@attrs.define(eq=False)
class Story:
    """What the events of a log did, in order."""

    state: State = EMPTY
    deeds: list[Deed] = attrs.field(factory=list)
    rows: list[Row] = attrs.field(factory=list)
    calls: dict[Key, Called] = attrs.field(factory=dict)
    values: list[Value] = attrs.field(factory=list)
    anomalies: list[Anomaly] = attrs.field(factory=list)
    numbers: dict[Key, int] = attrs.field(factory=dict)
    standing: dict[tuple[Key, int], Row] = attrs.field(factory=dict)
    _waiting: dict[tuple[str, str], list[Value]] = attrs.field(factory=dict)
    _counts: dict[Key, int] = attrs.field(factory=dict)
    _current: dict[tuple[Owner, str], dict[Key, Row]] = attrs.field(factory=dict)

    def add(self, event: Event, before: State, after: State, touched: Altered) -> None:
        """Take in the event that made `after` of `before`."""
        position = before.position
        for key in touched:
            self.numbers.setdefault(key, len(self.numbers))
        names = (getattr(event, name, None) for name in IDENTITIES)
        name = next((name for name in names if isinstance(name, str)), None)
        owner = getattr(event, "subagent_run_id", None)
        self.deeds.append(Deed(event.type, owner, name, tuple(touched)))
        self.anomalies += look.newest(before, after)
        self._valued(event, position, touched)
        if look.restated(before, after):
            self._restated(position, after)
        self._opened(position, before, after)
        for key, (was, now) in touched.items():
            if now is not None and event.type != ENCRYPTED:
                self._wrote(position, key, was, now)
                if key[0] == CALL and look.place_of(was) is None and key in self.calls:
                    self.calls[key].parent = getattr(event, "parent_message_id", None)
        self._cut(position, before, after)
        self.state = after

    def _valued(self, event: Event, position: int, touched: Altered) -> None:
        if event.type == ENCRYPTED and isinstance(event.entity_id, str):
            key = next((key for key in touched if touched[key][1] is not None), None)
            late = key is not None and not look.is_open(self.state, key)
            value = Value(position, key, event.subtype, event.entity_id, late)
            self.values.append(value)
            if key is None:
                self._waiting.setdefault((value.subtype, value.name), []).append(value)
            return
        for key, (was, now) in touched.items() if self._waiting else ():
            waits = ("tool-call" if key[0] == CALL else "message", key[1])
            if was is None and now is not None and getattr(now.entity, "value", None) is not None:
                for value in self._waiting.pop(waits, ()):
                    value.key, value.claimed = key, position

    def _restated(self, position: int, after: State) -> None:
        """Rows that a snapshot kept or brought stand once each, unless it says otherwise."""
        known = self.standing
        self.standing, self._counts, self._current = {}, {}, {}
        for key in look.timeline(after):
            ordinal = self._counts.get(key, 0)
            self._counts[key] = ordinal + 1
            row = known.get((key, ordinal))
            if row is None:
                row = self._row(key, ordinal, after, position, stated=True)
            self.standing[key, ordinal] = row
            for call in look.calls_of(entry) if (entry := look.entry_of(after, key)) is not None else ():
                row.grouped = position if row.grouped is None else row.grouped
                self._called(position, call, after)

    def _row(self, key: Key, ordinal: int, after: State, position: int, *, stated: bool = False) -> Row:
        entry = look.entry_of(after, key)
        assert entry is not None
        row = Row(key, ordinal, entry.entity.owner, position, position, stated=stated)
        self.rows.append(row)
        self.numbers.setdefault(key, len(self.numbers))
        return row

    def _opened(self, position: int, before: State, after: State) -> None:
        rows = look.timeline(after)
        start = len(rows) if look.restated(before, after) else len(look.timeline(before))
        for place in range(start, len(rows)):
            key = rows[place]
            ordinal = self._counts.get(key, 0)
            self._counts[key] = ordinal + 1
            stated = bool(getattr(look.entry_of(after, key).entity, "stated", False))  # type: ignore[union-attr]
            row = self.standing[key, ordinal] = self._row(key, ordinal, after, position, stated=stated)
            if key[0] in look.CUTS:
                self._current.setdefault((row.owner, key[0]), {})[key] = row
            before_it = self.standing.get((key, ordinal - 1))
            if before_it is not None and before_it.cut is None:
                before_it.cut = before_it.lapsed

    def _wrote(self, position: int, key: Key, was: Any, now: Any) -> None:
        if key[0] == CALL:
            call = self.calls.get(key)
            if look.place_of(now) is not None and (call is None or call.row is None):
                call = self._called(position, key, None, now)
            if call is not None:
                if now.entity.answered and call.answered is None:
                    call.answered = position
                else:
                    call.last = position
                    if call.row is not None:
                        call.row.last = position
            return
        if key[0] == RESULT and len(key) == 2:
            return
        ordinal = look.row_written(now) if key[0] in look.CUTS else 0
        row = self.standing.get((key, ordinal)) if ordinal is not None else None
        if row is not None and (was is None or was.last != now.last or was.rope is not now.rope):
            row.last = position

    def _called(self, position: int, key: Key, after: State | None, now: Any = None) -> Called:
        """Note that a call stands in a row now."""
        now = look.entry_of(after, key) if after is not None else now
        assert now is not None
        place = look.place_of(now)
        row = self.standing.get(place) if place is not None else None
        call = self.calls.get(key)
        if call is None:
            call = self.calls[key] = Called(key, now.entity.name, now.entity.owner, now.first, position)
            self.numbers.setdefault(key, len(self.numbers))
        call.row, call.name, call.owner = row, now.entity.name, now.entity.owner
        if row is not None:
            row.last = max(row.last, position)
            if row.grouped is None:
                row.grouped = position
                self._current.setdefault((row.owner, GROUP), {})[row.key] = row
        return call

    def _cut(self, position: int, before: State, after: State) -> None:
        for owner, kind in look.cuts(before, after):
            rows = self._current.get((owner, kind), {})
            for key, row in [*rows.items()]:
                if row.first == position or (kind == GROUP and row.grouped == position):
                    continue
                del rows[key]
                row.lapsed = position
                # What was closed was not cut short, and a group is whole when its calls are.
                if self._unfinished(row, before) if kind == GROUP else look.is_open(before, key):
                    row.cut = position

    def _unfinished(self, row: Row, before: State) -> bool:
        entry = look.entry_of(before, row.key)
        return entry is not None and any(look.is_open(before, call) for call in look.calls_of(entry))


Watcher = Callable[[State, State, Altered], object]


def tell(events: Iterable[Event], *watchers: Callable[[Story], Watcher]) -> Story:
    """Fold a log and return what its events did; each watcher is made of the story and shown every step of it."""
    story, state = Story(), EMPTY
    watching = [watcher(story) for watcher in watchers]
    for event in events:
        after = look.step(state, event)
        touched = look.altered(state, after)
        story.add(event, state, after, touched)
        for watch in watching:
            watch(state, after, touched)
        state = after
    return story
