"""A state as what the file holds: the rows in the order in which they streamed, then what else there is.

A row that begins its message tells what is established about the message too, and a call is told in the row that shows
it. So most of what ties records together is where they stand, and cannot be wrong.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from reducer._order import Conversed
from reducer._records import ACTIVITY, CALL, RESULT, Key, Lane, Owner, Row
from reducer._session import Run, Scope, Subagent
from reducer._state import Conversation, State
from reducer._stored import table
from reducer._stored.record import values_of
from reducer._stored.shapes import OWNER, in_order, span
from reducer._stored.values import told_text
from reducer._text import Rope, pieces

Told = dict[str, Any]


def document(state: State) -> Told:
    """Return what the file holds of `state`."""
    conversation, session = state.conversation, state.session
    rows = Rows(state)
    told = table.STATE.told(values_of(state), {})
    table.SESSION.told(values_of(session), told)
    scope = _scope(session.scope)
    runs = [_run(run) for run in session.runs]
    if runs and session.runs[-1].status == "running":
        runs[-1] |= scope
    else:
        _add(told, "scope", scope)
    _add(told, "runs", runs)
    _add(told, "rows", rows.told)
    _add(told, "apart", rows.apart())
    _add(told, "lanes", _lanes(conversation))
    if conversation.streams is not None:
        told["streams"] = _streams(conversation.streams)
    if conversation.settled is not None:
        order = [rows.items[key] for key in conversation.settled.order]
        told["settled"] = table.SETTLED.told(values_of(conversation.settled), {"order": order})
    return table.CONVERSATION.told(values_of(conversation), told)


def _add(told: Told, name: str, value: Any) -> None:
    if value:
        told[name] = value


def _run(run: Run) -> Told:
    return _with_subagents(table.RUN.told(run, {}), run.subagents)


def _scope(scope: Scope) -> Told:
    return _with_subagents(table.SCOPE.told(values_of(scope), {}), scope.subagents)


def _with_subagents(told: Told, subagents: Mapping[str, Subagent]) -> Told:
    _add(told, "subagents", [table.SUBAGENT.told(values_of(sub), {}) for _, sub in in_order(subagents)])
    return told


def _owned(owner: Owner) -> Told:
    return {} if owner is None else {"owner": OWNER.write(owner)}


def _lanes(conversation: Conversation) -> list[Told]:
    return [table.LANE.told(Lane(*lane), _owned(owner)) for owner, lane in in_order(conversation.lanes)]


def _streams(streams: Any) -> Told:
    lanes = [table.STREAM.told(values_of(stream), _owned(owner)) for owner, stream in in_order(streams.lanes)]
    return table.STREAMS.told(values_of(streams), {"lanes": lanes})


class Rows:
    """The rows of a state as the file has them; `items` says for each entity in which of them it is told."""

    def __init__(self, state: State) -> None:
        self.live = state.live
        self.look = Conversed(state)
        self.entries = self.look.entries
        self.starts = [run.first for run in state.session.runs]
        self.answered = {key[2] for key in self.entries if key[0] == RESULT}
        self.calls: set[Key] = set()
        self.items: dict[Key, int] = {}
        self.ordinals: dict[Key, int] = {}
        self.told: list[Told] = []
        for key in state.conversation.timeline:
            self.told.append(self._whole(key) if key[0] in (RESULT, ACTIVITY) else self._row(key))

    def _whole(self, key: Key) -> Told:
        """Tell a result or an activity."""
        assert key not in self.items
        entity, first, last, _ = self.entries[key]
        self.items[key] = len(self.told)
        if key[0] == ACTIVITY:
            return {**table.ACTIVITY.told(entity, {}, self._whose(entity, first)), "at": span(first, last)}
        told = table.RESULT.told(entity, {}, self._whose(entity, first))
        told["at"] = span(first, last)
        return told

    def _row(self, key: Key) -> Told:
        """Tell the next row of a message."""
        message, first, last, rope = self.entries[key]
        ordinal = self.ordinals.get(key, 0)
        self.ordinals[key] = ordinal + 1
        row = message.rows[ordinal] if ordinal < len(message.rows) else Row(first, last, rope)
        assert row.first >= 0
        if ordinal:
            told: Told = {"row": self.items[key]}
        else:
            self.items[key] = len(self.told)
            bare = row.rope is None and bool(self.look.calls(key, 0))
            told = self._message(key, row.first, bare=bare)
        told["at"] = span(row.first, row.last)
        self._text(told, row.rope)
        calls = self.look.calls(key, ordinal)
        _add(told, "calls", [self._call(call, message.owner, key[1]) for call in calls])
        # A row that came with nothing but calls takes no text.
        past = first < 0 and ordinal == len(message.rows) - 1
        if ordinal == len(self.look.rows(key)) - 1 and past is not (bool(calls) and row.rope is None):
            told["past"] = past
        return told

    def _message(self, key: Key, start: int, *, bare: bool = False) -> Told:
        """Tell what is established about a message, which is `bare` where it began with nothing but calls."""
        message, first, last, _ = self.entries[key]
        told: Told = {key[0]: told_text(key[1])}
        self._key(told, key)
        rows = message.rows
        derived = self._whose(message, start)
        derived |= {"role": table.ROLES[key[0]], "started": not bare, "spoken": not bare}
        if first < 0 and not (rows and rows[-1].last == last):
            told["last"] = last
        return table.MESSAGE.told(message, told, derived)

    def _call(self, key: Key, owner: Owner = None, home: str | None = None) -> Told:
        """Tell a call, in a row of the message `home` of `owner` or apart."""
        call, first, last, rope = self.entries[key]
        self.calls.add(key)
        answered = call.id in self.answered and len(key) == 2
        derived = {
            "home": call.id if home is None else home,
            "owner": owner,
            "answered": answered,
            **self._whose(call, first),
        }
        told = table.CALL.told(call, {}, derived)
        self._key(told, key)
        told["at"] = span(first, last)
        self._text(told, rope)
        return told

    def _key(self, told: Told, key: Key) -> None:
        """Tell what else there is in a key, and whether its entity is open."""
        if len(key) > 2:
            told["also"] = told_text(key[2])
        if key in self.live:
            told["open"] = True

    def _whose(self, entity: Any, first: int) -> dict[str, Any]:
        """Return whose an entity that began at `first` is where nothing else is told, and in which run."""
        return {"tag": entity.owner, "run": bisect_right(self.starts, first)}

    @staticmethod
    def _text(told: Told, rope: Rope) -> None:
        if rope is not None:
            told["t"] = told_text("".join(pieces(rope)))

    def apart(self) -> Told:
        """Tell what stands in no row: arguments without a start, and what a snapshot dropped while it was open."""
        told: Told = {}
        left = [key for key in self.entries if key not in self.items and key not in self.calls]
        left.sort(key=lambda key: (self.entries[key].last, key))
        # A row that the timeline lacks would be lost, here and in the projection.
        assert all(key[0] == CALL or self.entries[key][1] < 0 for key in left if key[0] != RESULT)
        calls = [self._call(key) for key in left if key[0] == CALL]
        messages = [self._message(key, self.entries[key].last) for key in left if key[0] in table.ROLES]
        _add(told, "calls", calls)
        _add(told, "messages", messages)
        return told
