"""What hangs together in a thread, so that its end can be laid out without the rest.

A row stands with the other rows of its message, with the calls that it shows, with the results of those and with other
calls under the same ids. `Links` knows all that for one state and is brought to the next; `reach` says from which row
on a timeline can be laid out alone.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Any

from reducer._cases._entities import find
from reducer._order import Conversed
from reducer._records import CALL, RESULT, TEXT, Entry, Key
from reducer._state import State
from reducer._touched import Touched


class Links:
    """Where the rows of each entity stand, which calls a message shows, which calls and results share an id.

    `rows` are places in the timeline; `grouped` the calls by message and row; `waiting` the calls without a result;
    `first` says which entity keeps an id, `given` has the ids that others got instead. `odd` says that an id that was
    made is one that is there: then ids can only be made for the whole thread. `begin` is the first row that is known.
    """

    def __init__(self, begin: int = 0) -> None:
        self.begin = begin
        self.rows: dict[Key, list[int]] = {}
        self.grouped: dict[Key, dict[int, list[Key]]] = {}
        self.first: dict[str, Key] = {}
        self.given: dict[str, Key] = {}
        self.odd = False
        self.waiting: dict[Key, None] = {}
        self._calls: dict[str, dict[Key, None]] = {}
        self._results: dict[str, dict[Key, None]] = {}
        # A call's place among those of a row, and among all; where it is shown.
        self._ranks: dict[Key, tuple[int, int, Key]] = {}
        self._opened: list[tuple[int, int, Key]] = []
        self._places: dict[Key, tuple[Key, int]] = {}

    @classmethod
    def of(cls, state: State) -> Links:
        """Return the links of a whole thread."""
        links = cls()
        look = Conversed(state)
        links.grouped = look.grouped
        for key, entry in look.entries.items():
            if key[0] == CALL and entry.entity.place is not None:
                links._know(key, entry)
        links._opened = sorted(links._ranks.values())
        links._extend(state, 0)
        return links

    def advance(self, before: State, after: State, differing: Touched, common: int) -> None:
        """Go from one state to another; their timelines share the first `common` rows."""
        timeline = before.conversation.timeline
        for number in range(len(timeline) - 1, common - 1, -1):
            self._drop(timeline[number])
        for key, (_, new) in differing.items():
            if key[0] == CALL:
                self._move(key, new if new is not None and new.entity.place is not None else None)
        self._extend(after, common)

    def pending(self) -> list[str]:
        """Return the ids of the calls that have no result, in the order in which they opened."""
        found = []
        for key in self.waiting:
            holder, ordinal = self._places[key]
            if holder in self.rows:
                first, *rank = self._ranks[key]
                found.append((first, self.rows[holder][0], ordinal, rank, key[1]))
        return list(dict.fromkeys(call[-1] for call in sorted(found)))

    def reach(self, state: State, keys: Iterable[Key], start: int) -> int:
        """Return the row, `start` or one before it, from which on the timeline can be laid out alone.

        From there on stands all that has to do with `keys` and with what stands there. It begins with a text message,
        which results and reasoning follow and never go before.
        """
        timeline = state.conversation.timeline
        seen: set[Key] = set()
        for key in keys:
            start = min(start, *self._related(state, key), start)
        read = len(timeline)
        while True:
            while read > max(start, self.begin):
                read -= 1
                key = timeline[read]
                if key not in seen:
                    seen.add(key)
                    start = min(start, *self._related(state, key), start)
            if start == 0 or start < self.begin or start == len(timeline):
                return start
            late = self._late(state, start)
            if late < start:
                start = late
            elif self._leads(state, timeline[start]):
                return start
            else:
                start -= 1

    def _leads(self, state: State, key: Key) -> bool:
        """Say whether the first row of a message is one that shows, of text."""
        if key[0] != TEXT:
            return False
        entry = find(state, key)
        assert entry is not None
        rope = entry.entity.rows[0].rope if entry.entity.rows else entry.rope
        return rope is not None or entry.entity.stated or 0 in self.grouped.get(key, ())

    def _late(self, state: State, start: int) -> int:
        """Return the first row that shows a call which opened after the row `start` did."""
        entry = find(state, state.conversation.timeline[start])
        assert entry is not None
        rows = getattr(entry.entity, "rows", ())
        opened = rows[0].first if rows else entry.first
        for first, _, key in reversed(self._opened):
            if first < opened:
                break
            start = min(start, self._row(key))
        return start

    def _related(self, state: State, key: Key) -> Iterator[int]:
        """Yield the first rows of all that an entity stands with."""
        if key in self.rows:
            yield self.rows[key][0]
        for calls in self.grouped.get(key, {}).values():
            for call in calls:
                yield from self._called(state, call)
        for call in self._calls.get(key[2] if key[0] == RESULT else key[1], ()):
            yield self._row(call)
        if key[0] == CALL:
            yield from self._called(state, key)
        else:
            # What the specification's consumer holds a call in stands under the call's id or its parent's.
            for call in self._calls.get(key[1], ()):
                yield self._row(call)
            for other in ((TEXT, key[1]), (TEXT, key[1], "assistant")):
                if other in self.rows:
                    yield self.rows[other][0]

    def _called(self, state: State, call: Key) -> Iterator[int]:
        if call in self._places:
            yield self._row(call)
        for result in self._results.get(call[1], ()):
            yield self.rows[result][0]
        for other in self._calls.get(call[1], ()):
            yield self._row(other)
        entry = find(state, call)
        if entry is not None:
            for home in ((TEXT, entry.entity.home), (TEXT, entry.entity.home, "assistant")):
                if home in self.rows:
                    yield self.rows[home][0]

    def _row(self, call: Key) -> int:
        """Return the first row of the message that shows a call; that of no message is before all."""
        rows = self.rows.get(self._places[call][0])
        return rows[0] if rows else 0

    def _extend(self, state: State, common: int) -> None:
        timeline = state.conversation.timeline
        for number in range(common, len(timeline)):
            self._add(timeline[number], number)

    def _add(self, key: Key, number: int) -> None:
        known = self.rows.get(key)
        if known is not None:
            known.append(number)
            return
        self.rows[key] = [number]
        if key[0] == RESULT:
            self._results.setdefault(key[2], {})[key] = None
        if self.first.setdefault(key[1], key) == key:
            self.odd |= key[1] in self.given
        else:
            name = instead(key)
            self.odd |= name in self.given or name in self.first
            self.given[name] = key

    def _drop(self, key: Key) -> None:
        rows = self.rows[key]
        rows.pop()
        if rows:
            return
        del self.rows[key]
        if key[0] == RESULT:
            _discard(self._results, key[2], key)
        if self.first[key[1]] == key:
            del self.first[key[1]]
        else:
            self.given.pop(instead(key), None)

    def _move(self, key: Key, new: Entry | None) -> None:
        """Take a call from where it was shown and put it where it is, if it is shown."""
        was = self._places.get(key)
        if was is not None and (new is None or was != new.entity.place or self._ranks[key] != _rank(key, new)):
            rows = self.grouped[was[0]]
            rows[was[1]].remove(key)
            if not rows[was[1]]:
                del rows[was[1]]
            if not rows:
                del self.grouped[was[0]]
            _discard(self._calls, key[1], key)
            del self._opened[bisect_left(self._opened, self._ranks.pop(key))]
            del self._places[key]
            was = None
        self.waiting.pop(key, None)
        if new is None:
            return
        self._know(key, new)
        if was is None:
            holder, ordinal = self._places[key]
            calls = self.grouped.setdefault(holder, {}).setdefault(ordinal, [])
            insort(self._opened, self._ranks[key])
            calls.append(key)
            calls.sort(key=self._ranks.__getitem__)

    def _know(self, key: Key, entry: Entry) -> None:
        self._calls.setdefault(key[1], {})[key] = None
        self._ranks[key] = _rank(key, entry)
        self._places[key] = entry.entity.place
        if not entry.entity.answered:
            self.waiting[key] = None


def instead(key: Key) -> str:
    """Return the id that an entity gets where another one keeps its own."""
    return f"{key[1]}#{key[2] if len(key) > 2 else key[0]}"


def _rank(key: Key, call: Entry) -> tuple[int, int, Key]:
    return (call.first, call.entity.rank, key)


def _discard(keys: dict[str, Any], name: str, key: Key) -> None:
    del keys[name][key]
    if not keys[name]:
        del keys[name]
