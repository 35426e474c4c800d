"""What each event of a log did: rows that opened, were written and cut, calls, results, values, anomalies.

`tell` folds a log once and keeps, beside the last state, what no state remembers: when and by what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from reducer._fold import fold
from reducer._trace import look
from reducer._trace.look import CALL, EMPTY, GROUP, RESULT, Altered, Anomaly, Key, Owner, State
from reducer._wire import Event

ENCRYPTED = "REASONING_ENCRYPTED_VALUE"
IDENTITIES = ("tool_call_id", "message_id", "entity_id", "subagent_run_id", "step_name", "run_id", "name")
"""What an event is told by: the first of these fields that it has."""


@attrs.define(eq=False)
class Row:
    """A row: the entity, which of its rows it is, the positions of its first and last event.

    `lapsed` is the position of the opening that cut it, `cut` the same where that mattered: it was being written,
    or was written again later. It holds `calls` since `grouped`; `stated` says that a snapshot or an input brought it
    whole.
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
    calls: list[Key] = attrs.field(factory=list)


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
    _results: dict[str, int] = attrs.field(factory=dict)
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
        known, calls = self.standing, look.calls_shown(after)
        self.standing, self._counts, self._current = {}, {}, {}
        for key in look.timeline(after):
            ordinal = self._counts.get(key, 0)
            self._counts[key] = ordinal + 1
            row = known.get((key, ordinal))
            if row is None:
                row = self._row(key, ordinal, after, position, stated=True)
            self.standing[key, ordinal] = row
        for call in (call for shown in calls.values() for call in shown):
            self._called(position, call, look.entry_of(after, call))

    def _row(self, key: Key, ordinal: int, after: State, position: int, *, stated: bool = False) -> Row:
        entry = look.entry_of(after, key)
        assert entry is not None
        row = Row(key, ordinal, entry.entity.owner, position, position, stated=stated)
        self.rows.append(row)
        if key[0] == RESULT:
            self._results.setdefault(key[2], position)
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
                call = self._called(position, key, now)
            if call is not None:
                if now.entity.answered and call.answered is None:
                    # A result may come before its call.
                    call.answered = self._results.get(key[1], position)
                else:
                    call.last = position
                    if call.row is not None:
                        call.row.last = position
            return
        ordinal = look.row_written(now) if key[0] in look.CUTS else 0
        row = self.standing.get((key, ordinal)) if ordinal is not None else None
        if row is not None and (was is None or was.last != now.last or was.rope is not now.rope):
            row.last = position

    def _called(self, position: int, key: Key, now: Any) -> Called:
        """Note that a call stands in a row now."""
        place = look.place_of(now)
        row = self.standing.get(place) if place is not None else None
        call = self.calls.get(key)
        if call is None:
            call = self.calls[key] = Called(key, now.entity.name, now.entity.owner, now.first, position)
            self.numbers.setdefault(key, len(self.numbers))
        call.row, call.name, call.owner = row, now.entity.name, now.entity.owner
        if row is not None:
            row.last = max(row.last, position)
            row.calls.append(key)
            if row.grouped is None:
                row.grouped = position
                self._current.setdefault((row.owner, GROUP), {})[row.key] = row
        return call

    def _cut(self, position: int, before: State, after: State) -> None:
        if look.is_boundary(before, after):
            for rows in self._current.values():
                for row in rows.values():
                    row.lapsed = position
            self._current.clear()
        for owner, kind in look.cuts(before, after):
            rows = self._current.get((owner, kind), {})
            for key, row in [*rows.items()]:
                if position in (row.first, row.grouped if kind == GROUP else None):
                    continue
                del rows[key]
                row.lapsed = position
                # What was closed was not cut short, and a group is whole when its calls are.
                if any(look.is_open(before, one) for one in (row.calls if kind == GROUP else [key])):
                    row.cut = position


Watcher = Callable[[State, State, Altered], object]


def tell(events: Iterable[Event], *watchers: Callable[[Story], Watcher]) -> Story:
    """Fold a log and return what its events did; each watcher is made of the story and shown every step of it."""
    story, state = Story(), EMPTY
    watching = [watcher(story) for watcher in watchers]
    for event in events:
        after = fold(state, event)
        touched = look.altered(state, after)
        story.add(event, state, after, touched)
        for watch in watching:
            watch(state, after, touched)
        state = after
    return story
