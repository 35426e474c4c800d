"""A projection that follows the fold: what changed is made anew, the rest stands.

Theory of operation. What differs between two states is found by identity (`_touched`). Most of it changes what is in a
message and not where it stands; then that message is made again and put where it was. The rest changes the order from
some row on. From there, or a little before, where nothing hangs together with what stands in front (`_links`), the
timeline is laid out again, and of the messages there those that differ are made. After a messages snapshot, and where
ids that had to be made are in use already, that is the whole timeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from pyrsistent import PVector, pvector

from reducer._changes import Altered, Changes
from reducer._compare import Ops, Pair, compared, fresh, is_other, renewed, told_of
from reducer._frozen import to_wire
from reducer._laid import Item, Laid
from reducer._links import Links
from reducer._project import Layout, Origin, Snapshot, runs_told, snapshot_of
from reducer._records import CALL, Entry, Key, filled
from reducer._session import Session
from reducer._state import EMPTY, Pen, State, rope_at
from reducer._text import Rope, text
from reducer._touched import Touched, common_rows, is_moved, touched, written
from reducer._window import pending_of, windowed

Message: TypeAlias = "dict[str, Any]"
_BARE = 4
"""So many members a run has that nothing more was told of than its ids: with its status and span, all plain."""
_PLAIN = 3
"""So many members a message with content has of which there is no more than that, its id and its role, all plain."""


def _longer(shown: str, was: Rope, rope: Rope) -> str:
    """Return the text of `rope`, where `shown` is that of `was`."""
    assert rope is not None
    # A delta behind the text is put behind it; only half of a surrogate pair could change what is in front of it.
    return shown + rope[0] if rope[1] is was and rope[0].isascii() else text(rope)


class View:
    """What a reader sees of a thread that goes on: `project(state, layout)`, brought up to date for what changed.

    `messages` and `origins` are persistent vectors, which later updates leave alone. What is in the messages is shared
    with the messages before and after: it is for reading, and nobody may change it. `snapshot()` gives fresh plain
    data, at the price of the whole. A view is for one task, or one thread, at a time.
    """

    def __init__(self, state: State = EMPTY, layout: Layout = Layout.STREAMED) -> None:
        self._laid = Laid(state, layout, Links.of(state))
        self._pending = self._laid.links.pending()
        self._items: list[Item] = []
        self._names: dict[str, Key] = {}
        self._at: dict[Key, list[int]] = {}
        # Messages are made when they are first asked for, so that whoever asks for changes alone needs none.
        self._messages: PVector[Message | None] = pvector()
        self._origins: PVector[Origin | None] = pvector()
        self._is_made = False
        self._run: tuple[Session | None, dict[str, Any]] = (None, {})
        # The pen that the last delta was written with, and what it is at.
        self._pen: tuple[Pen | None, Key] = (None, ())
        _, items = self._items_from(0)
        self._take(0, items)
        self._put(0, [(None, None)] * len(items))

    @property
    def state(self) -> State:
        """The state that is shown."""
        return self._laid.state

    @property
    def layout(self) -> Layout:
        """How messages are laid out."""
        return self._laid.layout

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
        return snapshot_of(self.state, to_wire([*self.messages]), [*self.origins], [*self._pending])

    def update(self, state: State) -> Changes:
        """Show `state` and return what differs; it costs what differs where both are of one thread."""
        before = self.state
        if state is before:
            return Changes()
        altered_one = self._written(before, state)
        if altered_one is not None:
            _, layout, links = self._laid
            self._laid = filled(Laid, (state, layout, links))
            return Changes([], [], [altered_one], [], *self._running(state), {})
        differing = touched(before, state)
        removed, placed, altered = self._follow(before, state, differing)
        pending = self._pending
        if any(key[0] == CALL for key in differing):
            self._pending = self._laid.links.pending()
        return told_of(before, state, (removed, placed, altered), pending, self._pending)

    def _written(self, before: State, state: State) -> Altered | None:
        """Write what one more delta has said, if nothing else differs, into the message that shows it; return that.

        A stream is mostly deltas, so this is the short way: `None` where anything is out of the ordinary.
        """
        position, live = state._position, state._live
        if (
            live is not before._live
            or state._conversation is not before._conversation
            or state._session is not before._session
            or not self._is_made
        ):
            return None
        pen, (known, key) = state._pen, self._pen
        if pen is not known or pen is not before._pen or state._ropes is not before._ropes:
            keys = written(before, state)
            if len(keys) != 1:
                return None
            [key] = keys
            if live[key][3] == pen[4]:
                self._pen = (pen, key)
        entity, _, _, place, _ = live[key]
        rope, was, shown = rope_at(state, place), rope_at(before, place), self._at.get(key)
        # Whatever the view was shown before, the delta is the last of all events.
        if was is None or rope is None or rope[3] != position - 1 or position <= before._position or shown is None:
            return None
        number = shown[-1]
        item = self._items[number]
        old: Any = self._messages[number]
        if key[0] == CALL:
            calls = [*old["toolCalls"]]
            within = item.calls.index(key)
            function = {"name": entity.name, "arguments": _longer(calls[within]["function"]["arguments"], was, rope)}
            calls[within] = {**calls[within], "function": function}
            message = {**old, "toolCalls": calls}
        elif entity.parts is not None or entity.rows or item.calls:
            return None
        else:
            message = old.copy()
            message["content"] = _longer(old["content"], was, rope)
        (first, _), run_id, owner = self._origins[number]  # type: ignore[misc]
        origin = filled(Origin, ((first, rope[3]), run_id, owner))
        self._messages = self._messages.set(number, message)
        self._origins = self._origins.set(number, origin)
        own = message.copy() if len(message) == _PLAIN and "content" in message else fresh(message)
        altered: Altered = filled(Altered, (own, origin))
        return altered

    def _running(self, state: State) -> tuple[list[dict[str, Any]], int | None]:
        """Return the run that goes on, and its index: with each event its span grows, and its record stays."""
        session, (known, told) = state.session, self._run
        last = len(session.runs) - 1
        if last < 0 or session.runs[last].status != "running":
            return [], None
        if known is not session:
            told = runs_told(state, last)[0]
            self._run = (session, told)
        told = told.copy() if len(told) == _BARE else fresh(told)
        told["span"] = [session.runs[last].first, state.position - 1]
        return [told], last

    def _follow(self, before: State, state: State, differing: Touched) -> Ops:
        """Show the messages of `state`, of which `differing` entities are not as they were; return what was done."""
        links, common = self._laid.links, common_rows(before, state, differing)
        settled = state.conversation.settled
        if settled is not before.conversation.settled or not common:
            # Nothing is known to be shared, so everything is compared.
            self._make_all()
            self._laid = Laid(state, self.layout, Links.of(state))
            return self._lay_out(0, differing)
        moved = [key for key, (old, new) in differing.items() if is_moved(key, old, new)]
        rows = max(len(state.conversation.timeline), len(before.conversation.timeline))
        start = links.reach(before, moved, common) if moved or common < rows else None
        links.advance(before, state, differing, common)
        self._laid = self._laid._replace(state=state)
        if start is None:
            return [], [], self._remade(differing, len(self._items))
        start = links.reach(state, moved, start)
        if self.layout is Layout.MERGED and settled is not None and start < settled.rows:
            start = 0
        return self._lay_out(start, differing)

    def _lay_out(self, start: int, differing: Touched) -> Ops:
        """Lay the timeline out from the row `start` on, and make what differs; return what was done."""
        laid = self._laid
        keep, items = self._items_from(start)
        old = self._items[keep:]
        shown = [*zip(self._messages[keep:], self._origins[keep:], strict=True)] if old else []
        altered = self._remade(differing, keep)
        self._take(keep, items)
        pairs = renewed(laid, items, old, shown, differing)
        self._put(keep, pairs)
        removed, placed, more = compared(laid, items, pairs, old, shown, self._items[keep - 1].name if keep else None)
        return removed, placed, altered + more

    def _items_from(self, start: int) -> tuple[int, list[Item]]:
        """Return how many messages stand before those of the row `start` on, and those."""
        laid, keep = self._laid, self._kept(start)
        items = laid.items(start)
        if laid.links.odd or self._collides(items, start, keep):
            # Ids that may be in use are made for the thread as a whole.
            laid.links.odd, keep = True, 0
            items = laid.items(0)
        return keep, items

    def _remade(self, differing: Touched, end: int) -> list[Altered]:
        """Make the messages before the place `end` again that an entity which differs is in; return them."""
        altered = []
        places = {place for key in differing for place in self._at.get(key, ()) if place < end}
        look = self._laid.look()
        for place in sorted(places):
            message, origin = self._laid.make(look, self._items[place])
            if is_other((self._messages[place], self._origins[place]), (message, origin)):
                self._messages = self._messages.set(place, message)
                self._origins = self._origins.set(place, origin)
                altered.append(Altered(fresh(message), origin))
        return altered

    def _make_all(self) -> None:
        """Make the messages that nobody has asked for."""
        if self._is_made:
            return
        self._is_made = True
        look = self._laid.look()
        pairs = zip(self._messages, self._origins, self._items, strict=True)
        self._put(0, [self._laid.make(look, item) if made is None else (made, origin) for made, origin, item in pairs])

    def _kept(self, start: int) -> int:
        """Return how many messages stand before those of the row `start` and after."""
        keep = len(self._items) if start else 0
        while keep and self._items[keep - 1].row >= start:
            keep -= 1
        return keep

    def _collides(self, items: list[Item], start: int, keep: int) -> bool:
        """Say whether an id that `items` or their entities have is another one's too."""
        links = self._laid.links
        replaced = {item.name for item in self._items[keep:]}
        named = [(item.name, item.key) for item in items]
        named += [(self._laid.name_of(key), key) for key in self._laid.look(start).timeline]
        taken: dict[str, Key] = {}
        for name, key in named:
            if taken.setdefault(name, key) != key or (name in self._names and name not in replaced):
                return True
            if name != key[1] and (name in links.first or links.given.get(name, key) != key):
                return True
        return len({item.name for item in items}) < len(items)

    def _take(self, keep: int, items: list[Item]) -> None:
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

    def _put(self, keep: int, pairs: Sequence[Pair]) -> None:
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

    Of states that share what did not change it looks at the end of the thread alone, as far back as what differs has
    to do with, and at the names of what was not shared. Whoever asks again and again keeps a `View`.
    """
    differing = touched(before, after)
    common = common_rows(before, after, differing)
    if before.conversation.settled is after.conversation.settled and common:
        ops = windowed(before, after, layout, differing, common) if differing else ([], [], [])
        if ops is not None:
            answers = any(key[0] == CALL and not _is_written(*pair) for key, pair in differing.items())
            pending = (pending_of(before), pending_of(after)) if answers else ([], [])
            return told_of(before, after, ops, *pending)
    return View(before, layout).update(after)


def _is_written(old: Entry | None, new: Entry | None) -> bool:
    """Say whether no more than what an entity has written differs."""
    return old is not None and new is not None and old.entity is new.entity
