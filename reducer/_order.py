"""In which order messages stand, and under which ids, in both layouts.

STREAMED reads the timeline: every row where it opened, results moved behind their calls. MERGED reads the same rows
as the specification's consumer would have met them: one message per id, where it was met first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reducer._names import Taken
from reducer._records import CALL, REASONING, RESULT, TEXT, Entry, Key, Owner, Row, filled
from reducer._state import State, closed, closed_entry, held, opened


class Shown(NamedTuple):
    """A message of the STREAMED layout: its entity, the rows it joins, the ordinal of the first of them, its calls."""

    key: Key
    entry: Entry
    rows: Sequence[Row] = ()
    ordinal: int = 0
    calls: Sequence[Key] = ()


def grouped(entries: Mapping[Key, Entry]) -> dict[Key, dict[int, list[Key]]]:
    """Return the calls of each message, by the row that shows them, in the order in which they opened."""
    calls = [(entry.first, entry.entity.rank, key) for key, entry in entries.items() if key[0] == CALL]
    found: dict[Key, dict[int, list[Key]]] = {}
    for _, _, key in sorted(calls):
        place = entries[key].entity.place
        if place is not None:
            found.setdefault(place[0], {}).setdefault(place[1], []).append(key)
    return found


class Conversed:
    """One look at a conversation: all entities by key in one dict, the rows of messages, the calls in them."""

    def __init__(self, state: State) -> None:
        self.timeline: Sequence[Key] = state.conversation.timeline
        self.settled = state.conversation.settled
        self.entries: dict[Key, Entry] = closed(state.conversation)
        self.entries.update(opened(state))
        self._rows: dict[Key, tuple[Row, ...]] = {}
        self.grouped = grouped(self.entries)
        self._visible: dict[Key, frozenset[int]] = {}
        self._heads: dict[Key, int] = {}

    def calls(self, key: Key, ordinal: int) -> Sequence[Key]:
        """Return the calls that a row of a message shows."""
        return self.grouped[key].get(ordinal, ()) if key in self.grouped else ()

    def rows(self, key: Key) -> tuple[Row, ...]:
        """Return all rows of a message, the current one included."""
        rows = self._rows.get(key)
        if rows is None:
            message, first, last, rope = self.entries[key]
            rows = tuple(message.rows)
            if first >= 0:
                rows += (filled(Row, (first, last, rope)),)
            self._rows[key] = rows
        return rows

    def visible(self, key: Key) -> frozenset[int]:
        """Return the ordinals of the rows of a message that have something to show, or that a claim shows."""
        visible = self._visible.get(key)
        if visible is None:
            message = self.entries[key].entity
            found = {n for n, row in enumerate(self.rows(key)) if row.rope is not None}
            found.update(self.grouped.get(key, ()))
            if message.stated or (not found and message.value is not None):
                found.add(0)
            visible = self._visible[key] = frozenset(found)
        return visible

    def home(self, call: Entry) -> Key:
        """Return the message that holds a call for the specification's consumer."""
        key: Key = (TEXT, call.entity.home)
        held = self.entries.get(key)
        if held is None or held.entity.role == "assistant":
            return key
        # Nobody but an assistant calls: a call whose own id is that of another's message has one beside it, unless the
        # call was there first, so that there was a message for the text to go to.
        rows = self.rows(key)
        return key if not rows or call.first < rows[0].first else (*key, "assistant")

    def head(self, key: Key) -> int:
        """Return the ordinal of the first row of a message that shows."""
        head = self._heads.get(key)
        if head is None:
            head = self._heads[key] = min(self.visible(key))
        return head


class Stretch(Conversed):
    """One look at the end of a conversation that can be laid out alone, from the row `start` on."""

    def __init__(self, state: State, grouped: dict[Key, dict[int, list[Key]]], start: int = 0) -> None:
        conversation = state.conversation
        timeline = conversation.timeline
        self.timeline = timeline if not start else [timeline[number] for number in range(start, len(timeline))]
        self.settled = None if start else conversation.settled
        self.entries = _Found(state)
        self._rows = {}
        self.grouped = grouped
        self._visible = {}
        self._heads = {}


class _Found(dict[Key, Entry]):
    """The entities of a state, each looked up when it is asked for."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state

    def __missing__(self, key: Key) -> Entry:
        entry = held(self._state, key) or closed_entry(self._state.conversation, key)
        if entry is None:
            raise KeyError(key)
        self[key] = entry
        return entry

    def get(self, key: Key, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default


def occurrences(keys: Iterable[Key]) -> Iterator[tuple[Key, int]]:
    """Number the occurrences of each key: the ordinal of the row that stands there."""
    counts: dict[Key, int] = {}
    for key in keys:
        ordinal = counts.get(key, 0)
        counts[key] = ordinal + 1
        yield key, ordinal


def merged_order(look: Conversed) -> list[Key]:  # noqa: C901, PLR0912 - two orders, one pass each
    """Return the keys of the MERGED messages in order; a call that is a message of its own has a text key."""
    settled = look.settled
    tails: dict[Key | None, list[Key]] = {None: []}
    last: Key | None = None
    for key in settled.order if settled else ():
        if key[0] == RESULT:
            tails[last].append(key)
        else:
            last, tails[key] = key, []
    # What opened since, in the order of the events: rows, and the calls that stand under their own id.
    since = settled.rows if settled else 0
    after = settled.position if settled else -1
    met: list[tuple[int, Key]] = []
    homes: dict[str, list[tuple[int, int, Key]]] = {}
    for number, (key, ordinal) in enumerate(occurrences(look.timeline)):
        if key[0] in (TEXT, REASONING):
            if number >= since:
                entry = look.entries[key]
                # Most messages are one row, which need not be made to know where it began.
                met.append((look.rows(key)[ordinal].first if entry[0].rows else entry[1], key))
            for call in look.calls(key, ordinal) if key in look.grouped else ():
                entry = look.entries[call]
                own = look.home(entry)
                homes.setdefault(call[1], []).append((entry.first, number, own))
                if own != key and entry.first > after:
                    met.append((entry.first, own))
        elif number >= since:
            met.append((look.entries[key].first, key))
    met.sort(key=_opened)
    for calls in homes.values():
        calls.sort()
    for position, key in met:
        if key[0] == RESULT:
            owner = None if look.entries[key].entity.stated else _holder(homes.get(key[2], ()), position)
            tails[last if owner is None or owner not in tails else owner].append(key)
        elif key not in tails:
            last, tails[key] = key, []
    return [key for head, tail in tails.items() for key in ([head, *tail] if head is not None else tail)]


def _opened(pair: tuple[int, Any]) -> int:
    return pair[0]


def _position(home: tuple[int, int, Key]) -> int:
    return home[0]


def _holder(homes: Sequence[tuple[int, int, Key]], position: int) -> Key | None:
    """Return the message that held a result's call when the result came; of calls that reuse an id the latest then."""
    place = bisect_right(homes, position, key=_position)
    return homes[place - 1][2] if place else None


def streamed_order(look: Conversed) -> list[Shown]:
    """Return the messages of the STREAMED layout in order: results stand behind what holds their calls."""
    messages = _joined(look)
    holders: dict[str, list[tuple[int, int]]] = {}
    for number, shown in enumerate(messages):
        for call in shown.calls:
            holders.setdefault(call[1], []).append((look.entries[call].first, number))
    for known in holders.values():
        known.sort()
    tails: dict[int, list[int]] = {-1: []}
    waiting: dict[int, list[int]] = {}
    anchor = -1
    for number, shown in enumerate(messages):
        if shown.key[0] == TEXT:
            anchor = number
            tails[anchor] = [number, *waiting.pop(number, ())]
            continue
        place = anchor
        if shown.key[0] == RESULT and shown.key[2] in holders:
            # Of calls that reuse an id the result answers the latest that had opened, or else the first to come. What
            # one event states has one position, so then it is the latest that stands in front of it.
            calls = holders[shown.key[2]]
            place = calls[max(bisect_right(calls, (shown.entry.first, number)) - 1, 0)][1]
        if place > number:
            waiting.setdefault(place, []).append(number)
        else:
            tails[place].append(number)
    return [messages[number] for tail in tails.values() for number in tail]


def _joined(look: Conversed) -> list[Shown]:
    """Return what is shown in the order of the timeline, rows of one entity joined (see the module's first lines).

    Only the rows of the same lane decide, so that other lanes never change how a lane is cut up.
    """
    messages: list[Shown] = []
    entries = look.entries
    # For each lane the last thing shown, and the last that a text could follow.
    last: dict[Owner, int] = {}
    last_text: dict[Owner, int] = {}
    counts: dict[Key, int] = {}
    for key in look.timeline:
        entry = entries[key]
        entity, kind = entry[0], key[0]
        lane, number = entity.owner, len(messages)
        if kind in (TEXT, REASONING):
            if not entity.rows and key not in look.grouped:
                # The usual case, and the one to be quick about: a message of one row.
                rope = entry[3]
                if rope is None and not entity.stated and entity.value is None:
                    continue
                messages.append(filled(Shown, (key, entry, (filled(Row, (entry[1], entry[2], rope)),), 0, ())))
                last[lane] = last_text[lane] = number
                continue
            ordinal = counts.get(key, 0)
            counts[key] = ordinal + 1
            if ordinal not in look.visible(key):
                continue
            row, calls = look.rows(key)[ordinal], look.calls(key, ordinal)
            before = (last_text if kind == TEXT else last).get(lane, -1)
            shown = messages[before] if before >= 0 else None
            # Behind calls only more of them join.
            if shown is not None and shown.key == key and not (row.rope and shown.calls):
                if not isinstance(shown.rows, list):
                    # Lists of its own, so that a message of many rows is not copied for each of them.
                    shown = messages[before] = shown._replace(rows=[*shown.rows], calls=[*shown.calls])
                _extend(shown.rows, (row,))
                _extend(shown.calls, calls)
                number = before
            else:
                messages.append(Shown(key, entry, (row,), ordinal, calls))
            last[lane] = last_text[lane] = number
            continue
        messages.append(filled(Shown, (key, entry, (), 0, ())))
        last[lane] = number
        call = entries.get((CALL, key[2])) if kind == RESULT else None
        if call is None or call.entity.place is None or call.entity.owner != lane:
            # A result of the lane's own call moves behind it, so it never stands between two texts.
            last_text[lane] = number
    return messages


def _extend(some: Any, more: Iterable[Any]) -> None:
    some.extend(more)


def names(look: Conversed, keys: Iterable[Key]) -> tuple[dict[Key, str], Taken]:
    """Return the id that each entity shows under, and all ids that are taken.

    The entity that opened first under an id keeps it; one of another kind gets an id made of it and its kind.
    """
    known = dict.fromkeys((*look.timeline, *keys))
    taken = Taken({key[1] for key in known})
    shown: dict[Key, str] = {}
    first: set[str] = set()
    for key in known:
        name = key[1]
        if name in first:
            name = taken.free(f"{name}#{key[2] if len(key) > 2 else key[0]}")
        else:
            first.add(name)
        shown[key] = name
    return shown, taken


def streamed_names(look: Conversed, order: Iterable[Shown]) -> list[str]:
    """Return the ids of the STREAMED messages: the first of an entity keeps its id, the others' are made of it."""
    order = list(order)
    shown, taken = names(look, ())
    return [
        shown[key] if not ordinal or ordinal == look.head(key) else taken.free(f"{shown[key]}#{ordinal}")
        for key, _, _, ordinal, _ in order
    ]
