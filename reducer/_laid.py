"""A thread laid out, all of it or its end alone: which messages there are, under which ids, made of what."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

from reducer._links import Links, instead
from reducer._order import Conversed, Shown, Stretch, merged_order, names, streamed_names, streamed_order
from reducer._project import Layout, Origin, homes_of, merged_message, streamed_message
from reducer._records import Key
from reducer._session import Run
from reducer._state import State


class Item(NamedTuple):
    """What a message is made of: its entity, its id, the ordinals of the rows it joins, its calls.

    `row` is the first row of all that the entity has.
    """

    row: int
    key: Key
    name: str
    ordinals: tuple[int, ...]
    calls: tuple[Key, ...]


class Laid(NamedTuple):
    """A state in a layout, with what hangs together in it."""

    state: State
    layout: Layout
    links: Links

    def look(self, start: int | None = None) -> Stretch:
        """Return a look at the timeline from the row `start` on; without it, at the entities alone."""
        rows = len(self.state.conversation.timeline)
        return Stretch(self.state, self.links.grouped, rows if start is None else start)

    def items(self, start: int) -> list[Item]:
        """Return the messages from the row `start` on, in order."""
        look = self.look(start)
        return self._streamed(look) if self.layout is Layout.STREAMED else self._merged(look)

    def make(self, look: Conversed, item: Item) -> tuple[dict[str, Any], Origin]:
        """Make the message of an item, and say where it comes from."""
        _, key, name, ordinals, calls = item
        if self.layout is Layout.MERGED:
            message, owner, span = merged_message(look, key, calls, name)
        else:
            rows = [look.rows(key)[ordinal] for ordinal in ordinals]
            shown = Shown(key, look.entries[key], rows, ordinals[0] if ordinals else 0, calls)
            message, owner, span = streamed_message(look, shown, name)
        runs = self.state.session.runs
        number = bisect_right(runs, span[0], key=_first)
        return message, Origin(span, runs[number - 1].run_id if number else None, owner)

    def _streamed(self, look: Stretch) -> list[Item]:
        order = streamed_order(look)
        rows = self.links.rows
        named = streamed_names(look, order) if self.links.odd else [self._shown_name(look, shown) for shown in order]
        items = []
        for (key, _, joined, ordinal, calls), name in zip(order, named, strict=True):
            ordinals: tuple[int, ...] = (ordinal,) if joined else ()
            if len(joined) > 1:
                visible = sorted(look.visible(key))
                begin = visible.index(ordinal)
                ordinals = tuple(visible[begin : begin + len(joined)])
            items.append(Item(rows[key][0], key, name, ordinals, tuple(calls)))
        return items

    def _merged(self, look: Stretch) -> list[Item]:
        order, homes = merged_order(look), homes_of(look)
        rows = self.links.rows
        named = names(look, order)[0] if self.links.odd else {key: self.name_of(key) for key in order}
        items = []
        for key in order:
            calls = homes.get(key, ())
            held = (key, *(look.entries[call].entity.place[0] for call in calls))
            row = min(rows[holder][0] for holder in held if holder in rows)
            items.append(Item(row, key, named[key], (), tuple(calls)))
        return items

    def _shown_name(self, look: Stretch, shown: Shown) -> str:
        """Return the id of a STREAMED message, if no other has it."""
        name = self.name_of(shown.key)
        return name if not shown.ordinal or shown.ordinal == look.head(shown.key) else f"{name}#{shown.ordinal}"

    def name_of(self, key: Key) -> str:
        """Return the id of an entity, if no other has it."""
        return key[1] if self.links.first.get(key[1], key) == key else instead(key)


def _first(run: Run) -> int:
    return run.first
