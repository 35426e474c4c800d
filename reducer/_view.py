"""A projection that follows the fold: what changed is made anew, the rest stands.

Theory of operation. What differs between two states is found by identity (`_touched`). Most of it changes what is in a
message and not where it stands; then that message is made again and put where it was. The rest changes the order from
some row on. From there, or a little before, where nothing hangs together with what stands in front (`_links`), the
timeline is laid out again, and of the messages there those that differ are made. After a messages snapshot, and where
ids that had to be made are in use already, that is the whole timeline.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from pyrsistent import PVector, pvector

from reducer._changes import Altered, Changes, Placed
from reducer._diff import diff
from reducer._frozen import same, to_wire
from reducer._links import Links, instead
from reducer._order import Conversed, Shown, Stretch, merged_order, names, streamed_names, streamed_order
from reducer._project import (
    TOLD,
    Layout,
    Origin,
    Snapshot,
    homes_of,
    merged_message,
    runs_told,
    snapshot_of,
    streamed_message,
)
from reducer._state import CALL, EMPTY, Key, Run, State
from reducer._text import text
from reducer._touched import Touched, common_rows, is_moved, touched

Message: TypeAlias = "dict[str, Any]"
Ops: TypeAlias = "tuple[list[str], list[Placed], list[Altered]]"
"""What was removed, placed and altered."""


class _Item(NamedTuple):
    """What a message is made of: its entity, its id, the ordinals of the rows it joins, its calls.

    `row` is the first row of all that the entity has.
    """

    row: int
    key: Key
    name: str
    ordinals: tuple[int, ...]
    calls: tuple[Key, ...]


class View:
    """What a reader sees of a thread that goes on: `project(state, layout)`, brought up to date for what changed.

    `messages` and `origins` are persistent vectors, which later updates leave alone. What is in the messages is shared
    with the messages before and after: it is for reading, and nobody may change it. `snapshot()` gives fresh plain
    data, at the price of the whole. A view is for one task, or one thread, at a time.
    """

    def __init__(self, state: State = EMPTY, layout: Layout = Layout.STREAMED) -> None:
        self._state = state
        self._layout = layout
        self._links = Links(state)
        self._pending = self._links.pending(state)
        self._items: list[_Item] = []
        self._names: dict[str, Key] = {}
        self._at: dict[Key, list[int]] = {}
        # Messages are made when they are first asked for, so that whoever asks for changes alone needs none.
        self._messages: PVector[Message | None] = pvector()
        self._origins: PVector[Origin | None] = pvector()
        self._is_made = False
        items = self._laid_out(0)
        self._take(0, items)
        self._put(0, [(None, None)] * len(items))

    @property
    def state(self) -> State:
        """The state that is shown."""
        return self._state

    @property
    def layout(self) -> Layout:
        """How messages are laid out."""
        return self._layout

    @property
    def messages(self) -> Sequence[Message]:
        """The messages in order, in wire form, for reading only."""
        self._make_all()
        return self._messages  # type: ignore[return-value]

    @property
    def origins(self) -> Sequence[Origin]:
        """Where each of the messages comes from."""
        self._make_all()
        return self._origins  # type: ignore[return-value]

    def snapshot(self) -> Snapshot:
        """Return `project(state, layout)`, fresh plain data."""
        return snapshot_of(self._state, to_wire([*self.messages]), [*self.origins], [*self._pending])

    def update(self, state: State) -> Changes:
        """Show `state` and return what differs; it costs what differs where both are of one thread."""
        before = self._state
        if state is before:
            return Changes()
        written = self._written(before, state)
        if written is not None:
            self._state = state
            runs, runs_from = _runs(before, state)
            return Changes(altered=[written], runs=runs, runs_from=runs_from)
        differing = touched(before, state)
        removed, placed, altered = self._follow(before, state, differing)
        session, was = state.session, before.session
        patch = [] if session.shared is was.shared else diff(was.shared, session.shared)
        values = {} if session is was else _values(before, state)
        if any(key[0] == CALL for key in differing):
            pending, self._pending = self._pending, self._links.pending(state)
            if pending != self._pending:
                values["pending_tool_calls"] = [*self._pending]
        return Changes(removed, placed, altered, patch, *_runs(before, state), values)

    def _written(self, before: State, state: State) -> Altered | None:
        """Write what one more delta has said, if nothing else differs, into the message that shows it; return that.

        A stream is mostly deltas, so this is the short way: `None` where anything is out of the ordinary.
        """
        position, live, ropes, conversation, session, pen = state
        name, kind, _, place = pen
        if (
            place < 0
            or live is not before.live
            or conversation is not before.conversation
            or session is not before.session
            or not self._is_made
        ):
            return None
        rope, was = ropes[place], before.ropes[place]
        key: Key = (kind, name)
        shown = self._at.get(key)
        # The delta is the last event, of what was written before the view knew it, and others have written nothing.
        if was is None or rope is None or rope[3] != position - 1 or position <= before.position or shown is None:
            return None
        if len(ropes) > 1 and any(
            one is not other for number, (one, other) in enumerate(zip(ropes, before.ropes, strict=True)) if number != place
        ):
            return None
        number = shown[-1]
        entity, item = live[key][0], self._items[number]
        old: Any = self._messages[number]
        if kind == CALL:
            calls = [*old["toolCalls"]]
            within = item.calls.index(key)
            function = {"name": entity.name, "arguments": text(rope)}
            calls[within] = {**calls[within], "function": function}
            message = {**old, "toolCalls": calls}
        elif entity.parts is not None or entity.rows or item.calls:
            return None
        else:
            message = {**old, "content": text(rope)}
        (first, _), run_id, owner = self._origins[number]  # type: ignore[misc]
        origin = Origin((first, rope[3]), run_id, owner)
        self._messages = self._messages.set(number, message)
        self._origins = self._origins.set(number, origin)
        return Altered(_fresh(message), origin)

    def _follow(self, before: State, state: State, differing: Touched) -> Ops:
        """Show the messages of `state`, of which `differing` entities are not as they were; return what was done."""
        links, common = self._links, common_rows(before, state, differing)
        settled = state.conversation.settled
        rows = len(state.conversation.timeline)
        if settled is not before.conversation.settled or not common:
            # Nothing is known to be shared, so everything is compared.
            self._make_all()
            self._state, self._links = state, Links(state)
            return self._lay_out_from(0, differing)
        moved = [key for key, (old, new) in differing.items() if is_moved(key, old, new)]
        start = None
        if moved or common < max(rows, len(before.conversation.timeline)):
            start = links.reach(before, moved, common)
        self._state = state
        links.advance(before, state, differing, common)
        if start is None:
            return [], [], self._remade(differing, len(self._items))
        start = links.reach(state, moved, start)
        if self._layout is Layout.MERGED and settled is not None and start < settled.rows:
            start = 0
        return self._lay_out_from(start, differing)

    def _lay_out_from(self, start: int, differing: Touched) -> Ops:
        """Lay the timeline out from the row `start` on, and make what differs; return what was done."""
        keep = self._kept(start)
        items = self._laid_out(start)
        if self._links.odd and start:
            keep, items = 0, self._laid_out(0)
        old = self._items[keep:]
        shown = [*zip(self._messages[keep:], self._origins[keep:], strict=True)] if old else []
        altered = self._remade(differing, keep)
        self._take(keep, items)
        known = {(item.key, item.ordinals[:1]): number for number, item in enumerate(old)}
        look = self._look()
        pairs: list[tuple[Message | None, Origin | None]] = []
        for item in items:
            number = known.get((item.key, item.ordinals[:1]))
            is_same = number is not None and old[number][1:] == item[1:]
            if is_same and item.key not in differing and not any(call in differing for call in item.calls):
                pairs.append(shown[number])  # type: ignore[index]
            else:
                pairs.append(self._make(look, item))
        self._put(keep, pairs)
        was = {item.name: pair for item, pair in zip(old, shown, strict=True)}
        stay = _in_order([item.name for item in old], [item.name for item in items])
        removed = [name for name in was if name not in self._names]
        placed: list[Placed] = []
        after = self._items[keep - 1].name if keep else None
        for item, (message, origin) in zip(items, pairs, strict=True):
            if item.name not in stay:
                # One that only moved may never have been made.
                message, origin = (message, origin) if message is not None else self._make(look, item)
                placed.append(Placed(_fresh(message), origin, after))
            elif _is_other(was[item.name], (message, origin)):
                altered.append(Altered(_fresh(message), origin))
            after = item.name
        return removed, placed, altered

    def _remade(self, differing: Touched, end: int) -> list[Altered]:
        """Make the messages before the place `end` again that an entity which differs is in; return them."""
        altered = []
        places = {place for key in differing for place in self._at.get(key, ()) if place < end}
        look = self._look()
        for place in sorted(places):
            message, origin = self._make(look, self._items[place])
            if _is_other((self._messages[place], self._origins[place]), (message, origin)):
                self._messages = self._messages.set(place, message)
                self._origins = self._origins.set(place, origin)
                altered.append(Altered(_fresh(message), origin))
        return altered

    def _make_all(self) -> None:
        """Make the messages that nobody has asked for."""
        if self._is_made:
            return
        self._is_made = True
        look = self._look()
        pairs = zip(self._messages, self._origins, strict=True)
        self._put(
            0,
            [
                pair if pair[0] is not None else self._make(look, item)
                for pair, item in zip(pairs, self._items, strict=True)
            ],
        )

    def _look(self, start: int | None = None) -> Stretch:
        rows = len(self._state.conversation.timeline)
        return Stretch(self._state, self._links.grouped, rows if start is None else start)

    def _make(self, look: Conversed, item: _Item) -> tuple[Message, Origin]:
        """Make a message."""
        _, key, name, ordinals, calls = item
        if self._layout is Layout.MERGED:
            message, owner, span = merged_message(look, key, calls, name)
        else:
            rows = [look.rows(key)[ordinal] for ordinal in ordinals]
            shown = Shown(key, look.entries[key], rows, ordinals[0] if ordinals else 0, calls)
            message, owner, span = streamed_message(look, shown, name)
        runs = self._state.session.runs
        number = bisect_right(runs, span[0], key=_first)
        return message, Origin(span, runs[number - 1].run_id if number else None, owner)

    def _kept(self, start: int) -> int:
        """Return how many messages stand before those of the row `start` and after."""
        keep = len(self._items) if start else 0
        while keep and self._items[keep - 1].row >= start:
            keep -= 1
        return keep

    def _laid_out(self, start: int) -> list[_Item]:
        """Return what stands from the row `start` on, all if the ids ask for it (`Links.odd` says so then)."""
        look = self._look(start)
        items = self._streamed(look) if self._layout is Layout.STREAMED else self._merged(look)
        if not self._links.odd and self._collides(look, items, self._kept(start)):
            self._links.odd = True
            return self._laid_out(0)
        return items

    def _streamed(self, look: Stretch) -> list[_Item]:
        order = streamed_order(look)
        rows = self._links.rows
        named = streamed_names(look, order) if self._links.odd else [self._name(look, *shown) for shown in order]
        items = []
        for (key, _, joined, ordinal, calls), name in zip(order, named, strict=True):
            ordinals: tuple[int, ...] = (ordinal,) if joined else ()
            if len(joined) > 1:
                visible = sorted(look.visible(key))
                begin = visible.index(ordinal)
                ordinals = tuple(visible[begin : begin + len(joined)])
            items.append(_Item(rows[key][0], key, name, ordinals, tuple(calls)))
        return items

    def _merged(self, look: Stretch) -> list[_Item]:
        order, homes = merged_order(look), homes_of(look)
        rows = self._links.rows
        named = names(look, order)[0] if self._links.odd else {key: self._own(key) for key in order}
        items = []
        for key in order:
            calls = homes.get(key, ())
            held = (key, *(look.entries[call].entity.place[0] for call in calls))
            row = min(rows[holder][0] for holder in held if holder in rows)
            items.append(_Item(row, key, named[key], (), tuple(calls)))
        return items

    def _name(self, look: Stretch, key: Key, entry: Any, rows: Any, ordinal: int, calls: Any) -> str:
        """Return the id of a STREAMED message, if no other has it."""
        name = self._own(key)
        return name if not ordinal or ordinal == look.head(key) else f"{name}#{ordinal}"

    def _own(self, key: Key) -> str:
        """Return the id of an entity, if no other has it."""
        return key[1] if self._links.first.get(key[1], key) == key else instead(key)

    def _collides(self, look: Stretch, items: list[_Item], keep: int) -> bool:
        """Say whether an id that `items` or their entities have is another one's too."""
        links = self._links
        replaced = {item.name for item in self._items[keep:]}
        taken: dict[str, Key] = {}
        for name, key in [*((item.name, item.key) for item in items), *((self._own(key), key) for key in look.timeline)]:
            if taken.setdefault(name, key) != key or (name in self._names and name not in replaced):
                return True
            if name != key[1] and (name in links.first or links.given.get(name, key) != key):
                return True
        return len({item.name for item in items}) < len(items)

    def _take(self, keep: int, items: list[_Item]) -> None:
        """Have `items` stand behind the first `keep` that stand now."""
        for item in self._items[keep:]:
            del self._names[item.name]
            for key in (item.key, *item.calls):
                self._at.pop(key, None)
        self._items[keep:] = items
        for place, item in enumerate(items, keep):
            self._names[item.name] = item.key
            for key in (item.key, *item.calls):
                self._at.setdefault(key, []).append(place)

    def _put(self, keep: int, pairs: Sequence[tuple[Message | None, Origin | None]]) -> None:
        """Have these messages stand behind the first `keep` that stand now."""
        old = len(self._messages) - keep
        if len(pairs) < old or not keep:
            self._messages = pvector([*self._messages][:keep])
            self._origins = pvector([*self._origins][:keep])
            old = 0
        for place, (message, origin) in enumerate(pairs[:old], keep):
            if self._messages[place] is not message or self._origins[place] is not origin:
                self._messages = self._messages.set(place, message)
                self._origins = self._origins.set(place, origin)
        self._messages = self._messages.extend([message for message, _ in pairs[old:]])
        self._origins = self._origins.extend([origin for _, origin in pairs[old:]])


def changes(before: State, after: State, layout: Layout = Layout.STREAMED) -> Changes:
    """Return what a reader of `before` has to change to see `after`, two states of one thread or any two.

    No message is made or compared but those that differ. Whoever asks again and again keeps a `View`, which also
    knows how the thread is laid out.
    """
    return View(before, layout).update(after)


def _fresh(message: Any) -> Message:
    """Return a message as plain data of its own; most of what is in one is text."""
    return {name: value if type(value) is str else to_wire(value) for name, value in message.items()}


def _first(run: Run) -> int:
    return run.first


def _is_other(old: tuple[Message | None, Origin | None], new: tuple[Message | None, Origin | None]) -> bool:
    """Say whether a message differs; one that was never made counts as different from one that was."""
    if old[0] is new[0] and old[1] is new[1]:
        return False
    return old[0] is None or old[1] != new[1] or not same(old[0], new[0])


def _in_order(old: list[str], new: list[str]) -> set[str]:
    """Return the names, as many as can be, that stand in both lists in the same order."""
    places = {name: place for place, name in enumerate(old)}
    # The longest increasing run of places: the least end of a run of each length, and what came before each.
    ends: list[int] = []
    before: dict[int, int] = {}
    for name in new:
        place = places.get(name)
        if place is not None:
            length = bisect_left(ends, place)
            if length:
                before[place] = ends[length - 1]
            ends[length : length + 1] = [place]
    stay: set[str] = set()
    place = ends[-1] if ends else None
    while place is not None:
        stay.add(old[place])
        place = before.get(place)
    return stay


def _values(before: State, after: State) -> dict[str, Any]:
    """Return those fields of a snapshot that are told of the session and differ, with what they are now."""
    values: dict[str, Any] = {}
    old, new = before.session, after.session
    for name, tell in TOLD.items():
        source = "runs" if name == "usage" else "anomalies" if name == "anomaly_counts" else name
        if getattr(old, source) is not getattr(new, source):
            was, now = tell(old), tell(new)
            if was != now or (name != "anomalies" and not same(was, now)):
                values[name] = now
    if old.thread_id != new.thread_id:
        values["thread_id"] = new.thread_id
    return values


def _runs(before: State, after: State) -> tuple[list[dict[str, Any]], int | None]:
    """Return the runs from the first that differs on, and its index; `None` where none does.

    Runs before the last are over and stay as they are, so what stands before a run that two states share is shared.
    """
    old, new = before.session.runs, after.session.runs
    if before.session is after.session:
        # How far the run that goes on has come is not in its record.
        since = len(new) - 1
        is_same = before.position == after.position or since < 0 or new[since].status != "running"
        return ([], None) if is_same else (runs_told(after, since), since)
    since = min(len(old), len(new))
    while since and old[since - 1] is not new[since - 1]:
        since -= 1
    if since and new[since - 1].status == "running":
        since -= 1
    was, now = runs_told(before, since), runs_told(after, since)
    return ([], None) if same(was, now) else (now, since)
