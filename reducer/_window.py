"""The end of a thread, as much of it as a change has to do with, found without going through what stands in front."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reducer._cases._entities import find
from reducer._compare import Ops, Pair, compared, renewed
from reducer._laid import Item, Laid
from reducer._links import Links, instead
from reducer._order import Conversed
from reducer._project import Layout, pending_calls
from reducer._records import CALL, RESULT, TEXT, Entry, Key
from reducer._state import State, named
from reducer._touched import Touched

FIRST_LOOK = 8
"""How many rows before what changed are looked at first, and again four times as many where that is not enough."""
ROLES = ("assistant", "user", "system", "developer")
"""Texts of these roles may stand beside another one under its id."""
_PLACE, _ANSWERED = 6, -1  # of a call


class Window(Links):
    """The links of the rows from `begin` on. Whatever stands before them stands in the row 0, which is out of reach.

    `keys` are entities that are asked about and may stand anywhere.
    """

    def __init__(self, state: State, begin: int, keys: Iterable[Key]) -> None:
        super().__init__(begin)
        conversation = state.conversation
        timeline = [conversation.timeline[number] for number in range(begin, len(conversation.timeline))]
        here = dict.fromkeys(timeline)
        for key in here:
            self._lead(state, key[1], here)
        for number, key in enumerate(timeline, begin):
            self._add(key, number)
        for key, rows in self.rows.items():
            if _count(find(state, key)) > len(rows):
                rows.insert(0, 0)
        for key in keys:
            if key not in self.rows and key[0] != CALL and _count(find(state, key)):
                self.rows[key] = [0]
        self._find_calls(state, keys, find(state, timeline[0]) if timeline else None)
        for call in [*self._calls]:
            self._lead(state, call, here)
        self._find_homes(state)
        for layer in conversation.index.layers:
            self._find_results(state, [key for key in _keys_in(layer, RESULT) if key not in here])

    def _find_homes(self, state: State) -> None:
        """Note that a message which holds calls for the specification's consumer stands before all that is here."""
        names = {key[1]: None for key in self.rows}
        for key in self._places:
            call = find(state, key)
            if call is not None:
                names[call.entity.home] = None
        for name in names:
            for home in ((TEXT, name), *((TEXT, name, role) for role in ROLES)):
                if home not in self.rows and _count(find(state, home)):
                    self.rows[home] = [0]

    def _find_results(self, state: State, keys: Iterable[Key]) -> None:
        """Note that a call which is known has a result that stands before all that is here."""
        for key in keys:
            if key[2] in self._calls and find(state, key) is not None:
                self.rows[key] = [0]
                self._results.setdefault(key[2], {})[key] = None

    def _lead(self, state: State, name: str, here: dict[Key, None]) -> None:
        """Note who keeps an id, if that is one that stands before all that is here."""
        beside = ((TEXT, name, role) for role in ROLES)
        for holder in (*named(state.conversation.index, name), *beside):
            if holder not in here and _count(find(state, holder)):
                self.first[name] = holder

    def _find_calls(self, state: State, keys: Iterable[Key], leading: Entry | None) -> None:
        """Find the calls that are shown here, or opened since, or have an id that something here has."""
        found = {key: None for key in (*keys, *state.live) if key[0] == CALL}
        for key in self.rows:
            found |= {(CALL, key[1]): None, (CALL, key[-1]): None}
        opened = 0 if leading is None else _opened(leading)
        for layer in state.conversation.index.layers:
            calls = [(key, layer[key]) for key in _keys_in(layer, CALL) if layer[key] is not None]
            found |= {key: None for key, entry in calls if len(key) > 2 or entry[1] >= opened or self._shows(entry)}
        found |= {(CALL, key[1]): None for key in found}
        for key in found:
            call = find(state, key)
            if call is not None and call.entity.place is not None:
                self._know(key, call)
                holder, ordinal = call.entity.place
                self.grouped.setdefault(holder, {}).setdefault(ordinal, []).append(key)
        self._opened = sorted(self._ranks.values())
        for shown in self.grouped.values():
            for row in shown.values():
                row.sort(key=self._ranks.__getitem__)

    def _shows(self, call: Entry) -> bool:
        place = call[0][_PLACE]
        return place is not None and place[0] in self.rows


def windowed(before: State, after: State, layout: Layout, differing: Touched, common: int) -> Ops | None:
    """Return what differs in the messages of two states that share the first `common` rows.

    `None` where what differs has to do with the beginning of the thread, or ids are out of the ordinary.
    """
    distance = FIRST_LOOK
    settled = after.conversation.settled
    floor = settled.rows if settled is not None and layout is Layout.MERGED else 0
    while common - distance > floor:
        begin = common - distance
        old = Laid(before, layout, Window(before, begin, differing))
        new = Laid(after, layout, Window(after, begin, differing))
        start = _start(old, new, differing, common)
        # The message that stands before what differs has to be known.
        lead = new.links.reach(after, (), start - 1) if start > begin else 0
        if lead >= begin:
            return _between(old, new, start, lead, differing)
        distance *= 4
    return None


def _start(old: Laid, new: Laid, differing: Touched, start: int) -> int:
    """Return the row from which on both states can be laid out alone; one before the windows if there is none."""
    while start:
        reached = new.links.reach(new.state, differing, old.links.reach(old.state, differing, start))
        if reached == start:
            break
        start = reached
    return start


def _between(old: Laid, new: Laid, start: int, lead: int, differing: Touched) -> Ops | None:
    """Return what differs from the row `start` on; it stands behind what the row `lead` begins."""
    was, now = old.items(start), new.items(lead)
    if not (_are_plain(old, was, start) and _are_plain(new, now, lead)):
        return None
    front = [item for item in now if item.row < start]
    items = now[len(front) :]
    unmade: Pair = (None, None)
    pairs = renewed(new, items, was, [unmade] * len(was), differing)
    shown = renewed(old, was, items, [unmade] * len(items), differing)
    return compared(new, items, pairs, was, shown, front[-1].name)


def _are_plain(laid: Laid, items: Sequence[Item], start: int) -> bool:
    """Say whether the ids of messages are what they would be if all other ids were known too.

    An id that was made of two can be that of another message only if there are more marks or numbers in it than its
    own.
    """
    index = laid.state.conversation.index
    timeline = laid.look(start).timeline
    if len({item.name for item in items}) < len(items) or any("#" in key[1] for key in timeline):
        return False
    keys: dict[Key, Any] = dict.fromkeys((*timeline, *(item.key for item in items)))
    for key in keys:
        name = laid.name_of(key)
        suffix = instead(key)[len(key[1]) + 1 :]
        if name != key[1] and ("#" in suffix or suffix.isdigit() or named(index, name)):
            return False
    for item in items:
        is_derived = item.name != laid.name_of(item.key)
        if is_derived and (named(index, item.key[1]) != (item.key,) or named(index, item.name)):
            return False
    return True


def _keys_in(layer: Mapping[Key | str, Any], kind: str) -> list[Key]:
    """Return the keys of a kind in a layer of the index, which has message ids too."""
    return [key for key in layer if not isinstance(key, str) and key[0] == kind]


def pending_of(state: State) -> list[str]:
    """Return the ids of the calls that have no result, in the order in which they opened."""
    keys = {key: None for key in state.live if key[0] == CALL}
    for layer in state.conversation.index.layers:
        keys |= {key: None for key in _keys_in(layer, CALL) if layer[key] and not layer[key][0][_ANSWERED]}
    found = []
    for key in keys:
        entry = find(state, key)
        if entry is not None and not entry.entity.answered and entry.entity.place is not None:
            found.append((entry.first, key))
    if len({first for first, _ in found}) < len(found) or any(not _stands(state, key) for _, key in found):
        # What one event stated has one position, and then the rows decide.
        return pending_calls(Conversed(state))
    return list(dict.fromkeys(key[1] for _, key in sorted(found)))


def _stands(state: State, call: Key) -> bool:
    entry = find(state, call)
    return entry is not None and _count(find(state, entry.entity.place[0])) > 0


def _count(entry: Entry | None) -> int:
    """Return how many rows of the timeline are an entity's."""
    if entry is None:
        return 0
    rows = getattr(entry.entity, "rows", None)
    return 1 if rows is None else len(rows) + (entry.first >= 0)


def _opened(entry: Entry) -> int:
    rows = getattr(entry.entity, "rows", None)
    return int(rows[0].first) if rows else entry.first
