"""The rows of the file as entities, timeline and what is open."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import attrs
from pyrsistent import pvector

from reducer._cases._entities import names_of
from reducer._index import Index
from reducer._records import ACTIVITY, CALL, REASONING, RESULT, TEXT, Call, Entry, Key, Message, Row
from reducer._stored import table
from reducer._stored.record import Record
from reducer._stored.shapes import (
    FLAG,
    POSITION,
    Shape,
    array,
    mapped,
    members,
    span_of,
)
from reducer._stored.shapes import TEXT as STRING
from reducer._stored.values import Wrong, text_of, within
from reducer._text import Rope

Told = dict[str, Any]

_ROW = frozenset({"at", "t", "calls", "past"})
_APART = frozenset({TEXT, REASONING, "also", "open", "last"})
_BEGINS = _ROW | _APART
_CALL = frozenset({"also", "open", "at", "t"})
_WHOLE = frozenset({"at"})
_UNKNOWN = Entry(None, -1, -1)
_ID = 2
"""How many parts a key has at least: the kind and an id. What has more is another of that id."""


@attrs.define
class _Draft:
    """A message of which rows may still come."""

    key: Key
    values: list[Any]
    last: int | None
    rows: list[Row] = attrs.Factory(list)
    past: bool = False


class Rows:
    """What the rows make; `starts` are the positions at which runs began, `last` is that of the last event."""

    def __init__(self, starts: list[int], last: int) -> None:
        self.starts = starts
        self.last = last
        self.timeline: list[Key] = []
        self._entries: dict[Key, Entry] = {}
        self._open: dict[Key, None] = {}
        self._drafts: dict[int, _Draft] = {}
        self._items: dict[int, Key] = {}
        self._answered: set[str] = set()
        self._continued: set[int] = set()

    def read(self, told: Any) -> None:
        """Read all rows."""
        for number, one in enumerate(array(told)):
            if RESULT in within(f"[{number}]", members, one) and "call" in one:
                self._answered.add(within(f"[{number}].call", text_of, one["call"]))
            if type(one.get("row")) is int:
                self._continued.add(one["row"])
        for number, one in enumerate(told):
            within(f"[{number}]", self._item, number, one)
        for number, draft in self._drafts.items():
            within(f"[{number}]", self._finish, draft)

    def read_apart(self, told: Any) -> None:
        """Read what stands in no row."""
        members(told, "calls", "messages")
        for number, one in enumerate(within(".calls", array, told.get("calls", []))):
            within(f".calls[{number}]", self._call, one)
        for number, one in enumerate(within(".messages", array, told.get("messages", []))):
            within(f".messages[{number}]", self._message_apart, one)

    def key(self, number: Any, _: int) -> Key:
        """Return the entity that begins in the row `number`."""
        key = self._items.get(number) if type(number) is int else None
        if key is None:
            raise Wrong("must be the number of a row in which something begins")
        return key

    def index(self) -> Index[Any, Any]:
        """Return what is not open, and which messages stand under each id."""
        found: dict[Key | str, Any] = {key: one for key, one in self._entries.items() if key not in self._open}
        return Index.of(found | names_of([*self.timeline, *(key for key in self._entries if key[0] != CALL)]))

    def early(self) -> Mapping[str, bool]:
        """Return the ids of calls that were answered and have yet to come."""
        called = {key[1] for key, entry in self._entries.items() if key[0] == CALL and entry.entity.place is not None}
        return mapped((name, True) for name in sorted(self._answered - called))

    def live(self) -> dict[Key, Entry]:
        """Return what is open."""
        return {key: self._entries[key] for key in self._open}

    def _item(self, number: int, told: Told) -> None:
        """Read a row, and what begins in it."""
        if "row" in told:
            members(told, "row", *_ROW)
            draft = self._drafts.get(told["row"]) if type(told["row"]) is int else None
            if draft is None:
                raise Wrong("must be the number of a row before it, in which a message begins", ".row")
            self._row(draft, told, self._span(told))
        elif RESULT in told:
            self._items[number] = self._result(told)
        elif ACTIVITY in told:
            values = table.ACTIVITY.read(told, self.last, _WHOLE)
            self._items[number] = self._whole((ACTIVITY, values[0]), table.ACTIVITY, values, told)
        else:
            span = self._span(told)
            draft = self._message(told, _BEGINS, span[0])
            self._items[number] = draft.key
            self._row(draft, told, span)
            if number in self._continued:
                self._drafts[number] = draft
            else:
                self._finish(draft)

    def _message(self, told: Told, more: frozenset[str], start: int) -> _Draft:
        """Read what is established about a message."""
        if (TEXT in told) is (REASONING in told):
            raise Wrong("is nothing that this version knows")
        kind = TEXT if TEXT in told else REASONING
        name = self._read(told, kind, STRING)
        key = self._keyed((kind, name), told)
        values = table.MESSAGE.read(told, self.last, more)
        # What began with nothing but calls has most often said nothing of its own.
        speaks = "calls" not in told or "t" in told
        found = {"kind": kind, "id": name, "role": table.ROLES[kind], "started": speaks, "spoken": speaks}
        self._whose(table.MESSAGE, values, start, found)
        # Its place among the entities; what it holds is known when all rows are read.
        self._entries[key] = _UNKNOWN
        return _Draft(key, values, self._read(told, "last", POSITION))

    def _message_apart(self, told: Any) -> None:
        if "last" not in members(told):
            raise Wrong("is missing", ".last")
        self._finish(self._message(told, _APART, self._read(told, "last", POSITION)))

    def _row(self, draft: _Draft, told: Told, span: tuple[int, int]) -> None:
        if "calls" in told:
            within(".calls", self._calls, told["calls"], draft, (draft.key, len(draft.rows)))
        row = Row(*span, self._rope(told, span[1]))
        draft.past = self._read(told, "past", FLAG, "calls" in told and row.rope is None)
        draft.rows.append(row)
        self.timeline.append(draft.key)

    def _calls(self, told: Any, draft: _Draft, place: tuple[Key, int]) -> None:
        if not array(told) or draft.key[0] != TEXT:
            raise Wrong("must hold a call, in a text message")
        first, rank = -1, 0
        for number, one in enumerate(told):
            key = within(f"[{number}]", self._call, one, draft, place)
            # What one event brought stands in the order in which it brought it.
            rank = rank + 1 if self._entries[key].first == first else 0
            entry = self._entries[key]
            first = entry.first
            self._entries[key] = entry._replace(entity=entry.entity._replace(rank=rank))

    def _call(self, told: Any, draft: _Draft | None = None, place: tuple[Key, int] | None = None) -> Key:
        """Read a call, in a row or apart."""
        values = table.CALL.read(told, self.last, _CALL)
        first, last = self._span(told)
        name, rope = values[0], self._rope(told, last)
        key = self._keyed((CALL, name), told)
        found = {
            "home": name if draft is None else draft.key[1],
            "owner": None if draft is None else table.MESSAGE.value(draft.values, "owner"),
            "answered": len(key) == _ID and name in self._answered,
            "place": place,
            "rank": 0,
        }
        self._whose(table.CALL, values, first, found)
        call = Call(*values)
        if call.echo is not None and call.echo > (0 if rope is None else len(rope[0])):
            raise Wrong("is more than there are", ".echo")
        self._entries[key] = Entry(call, first, last, rope)
        return key

    def _result(self, told: Told) -> Key:
        values = table.RESULT.read(told, self.last, _WHOLE)
        return self._whole((RESULT, values[0], values[1]), table.RESULT, values, told)

    def _whole(self, key: Key, record: Record, values: list[Any], told: Told) -> Key:
        """Take a result or an activity."""
        first, last = self._span(told)
        self._whose(record, values, first, {})
        self._new(key)
        self._entries[key] = Entry(record.kind(*values), first, last)
        self.timeline.append(key)
        return key

    def _finish(self, draft: _Draft) -> None:
        """Make a message of which all rows are known."""
        rows = draft.rows
        first, rope, last = -1, None, draft.last
        if rows and not draft.past:
            if last is not None:
                raise Wrong("is said of a message that has a current row", ".last")
            first, last, rope = rows.pop()
        message = Message(*table.MESSAGE.fill(draft.values, {"rows": pvector(rows)}))
        self._entries[draft.key] = Entry(message, first, rows[-1].last if last is None else last, rope)

    def _keyed(self, key: Key, told: Told) -> Key:
        """Return the key of a message or call, which nothing else has, and note where it is open."""
        if "also" in told:
            key = (*key, self._read(told, "also", STRING))
        self._new(key)
        if self._read(told, "open", FLAG, False):
            self._open[key] = None
        return key

    def _new(self, key: Key) -> None:
        if key in self._entries:
            raise Wrong(f"is told twice: {key[0]} {', '.join(map(repr, key[1:]))}")

    def _whose(self, record: Record, values: list[Any], first: int, found: dict[str, Any]) -> None:
        """Put what was `found` into the values of an entity that began at `first`, then whose it is by default."""
        record.fill(values, found)
        record.fill(values, {"tag": record.value(values, "owner"), "run": bisect_right(self.starts, first)})
        if record.value(values, "run") > len(self.starts):
            raise Wrong("is more than there are", ".run")

    def _read(self, told: Told, name: str, shape: Shape, default: Any = None) -> Any:
        return within(f".{name}", shape.read, told[name], self.last) if name in told else default

    def _span(self, told: Told) -> tuple[int, int]:
        if "at" not in told:
            raise Wrong("is missing", ".at")
        span: tuple[int, int] = within(".at", span_of, told["at"], self.last)
        return span

    def _rope(self, told: Told, last: int) -> Rope:
        text = within(".t", text_of, told.get("t", ""))
        return (text, None, 0, last) if text else None
