"""What a snapshot that this library makes of a stream tells beside its messages, in `metadata["agui-reducer"]`.

A snapshot says what stands, not how it came to stand, and the fold asks about that. So the metadata names

- `unstreamed`: the calls that were never streamed (arguments streamed on top of stated ones may repeat those),
- `answered`: the calls that a result answered which is gone,
- `unanswered`: the calls that wait for a result though one that came before them names them,
- `unopened`: the messages that hold calls and have not opened as text,
- `shells`: the messages that have nothing to show and were never stated,
- `current`: the messages whose latest row is current,
- `rows`: how many rows messages have that have more than one.

Everything else, other consumers included, reads such a snapshot as any other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import attrs
from pyrsistent import pvector

from reducer._cases._entities import is_cut
from reducer._index import Index
from reducer._live import with_all
from reducer._order import grouped
from reducer._records import CALL, REASONING, RESULT, TEXT, Entry, Key, Row
from reducer._state import State, closed, opened

MARK = "agui-reducer"
UNSTREAMED, ANSWERED, UNANSWERED = "unstreamed", "answered", "unanswered"
UNOPENED, SHELLS, CURRENT, ROWS = "unopened", "shells", "current", "rows"
LISTS = (UNSTREAMED, ANSWERED, UNANSWERED, UNOPENED, SHELLS, CURRENT)
MOST_ROWS = 1_000
"""A number of rows beyond this one is nothing that this library wrote."""


def mark(state: State, keys: Collection[Key] | None = None) -> dict[str, Any]:
    """Return the metadata for a snapshot of what stands under `keys`.

    Without `keys` it is for one of all messages, which closes their rows and shows them whatever they hold.
    """
    entries = {**closed(state.conversation), **opened(state)}
    results = {key[2] for key in entries if key[0] == RESULT and len(key) > 2}
    told = {key: entry for key, entry in sorted(entries.items()) if keys is None or key in keys}
    calls = {key[1]: entry.entity for key, entry in told.items() if key[0] == CALL and len(key) == 2}
    messages = {key[1]: entry for key, entry in told.items() if key[0] in (TEXT, REASONING)}
    found: dict[str, Any] = {
        UNSTREAMED: sorted(name for name, call in calls.items() if call.stated),
        ANSWERED: sorted(name for name, call in calls.items() if call.answered and name not in results),
        UNANSWERED: sorted(name for name, call in calls.items() if not call.answered and name in results),
        UNOPENED: sorted(name for name, entry in messages.items() if not entry.entity.started),
    }
    if keys is not None:
        counts = {name: count_rows(entry) for name, entry in sorted(messages.items())}
        holders = {entry.entity.place[0] for key, entry in entries.items() if key[0] == CALL and entry.entity.place}
        shown = {key[1] for key in holders if len(key) == 2}
        found[SHELLS] = sorted(name for name, entry in messages.items() if name not in shown and is_shell(entry))
        found[CURRENT] = sorted(name for name, entry in messages.items() if is_current(state, entry))
        found[ROWS] = {name: count for name, count in counts.items() if count > 1}
    return {MARK: {name: ids for name, ids in found.items() if ids}}


def is_current(state: State, entry: Entry) -> bool:
    """Say whether content goes to the message's latest row."""
    return entry.first >= 0 and not is_cut(state.conversation, entry.entity, entry.first)


def is_shell(entry: Entry) -> bool:
    """Say whether a message has no text to show and no snapshot has stated it."""
    return not (entry.entity.stated or entry.rope or any(row.rope for row in entry.entity.rows))


def count_rows(entry: Entry) -> int:
    """Return how many rows a message has."""
    return len(entry.entity.rows) + (entry.first >= 0)


def marked(state: State, metadata: Any) -> State:
    """Return the state after a snapshot with what its metadata says about the calls and messages in it."""
    told = metadata.get(MARK) if metadata else None
    if not isinstance(told, dict):
        return state
    ids = {name: _ids(told.get(name)) for name in LISTS}
    counts = _counts(told.get(ROWS))

    def known(key: Key, entry: Entry) -> Entry:
        # Of calls that share an id it is the last one that is told about.
        if key[:-1] == (CALL,) and entry.entity.place is not None:
            return _known_call(entry, ids)
        if key[0] in (TEXT, REASONING) and entry.entity.stated:
            return _known_message(entry, ids, counts.get(key[1], 1), has_calls=key in holders)
        return entry

    holders = grouped({**closed(state.conversation), **opened(state)})
    conversation = state.conversation
    settled_ones = {key: known(key, entry) for key, entry in closed(conversation).items()}
    live = {key: known(key, entry) for key, entry in opened(state).items()}
    entries = {**settled_ones, **live}
    # An entity stands in the timeline once for each of its rows.
    timeline = pvector(
        key
        for key in conversation.timeline
        for _ in range(count_rows(entries[key]) if key[0] in (TEXT, REASONING) and key[1] in counts else 1)
    )
    settled = conversation.settled and attrs.evolve(conversation.settled, rows=len(timeline))
    index = Index.of(conversation.index.to_dict() | settled_ones)
    conversation = conversation._replace(timeline=timeline, index=index, settled=settled)
    return with_all(state._replace(conversation=conversation), live)


def _known_call(entry: Entry, ids: Mapping[str, frozenset[str]]) -> Entry:
    call = entry.entity
    answered = (call.answered or call.id in ids[ANSWERED]) and call.id not in ids[UNANSWERED]
    return entry._replace(entity=call._replace(stated=call.id in ids[UNSTREAMED], answered=answered))


def _known_message(entry: Entry, ids: Mapping[str, frozenset[str]], count: int, *, has_calls: bool) -> Entry:
    message, first, last, rope = entry
    started, stated = message.id not in ids[UNOPENED], message.id not in ids[SHELLS]
    if first < 0 and len(message.rows) == 1:
        row, rest = message.rows[0], [Row(last, last)] * (count - 1)
        if message.id in ids[CURRENT] and not has_calls:
            message = message._replace(started=started, stated=stated, rows=pvector(rest))
            return Entry(message, row.first, last, row.rope)
        message = message._replace(rows=pvector([row, *rest]))
    return Entry(message._replace(started=started, stated=stated), first, last, rope)


def _ids(told: Any) -> frozenset[str]:
    return frozenset(name for name in told if isinstance(name, str)) if isinstance(told, list) else frozenset()


def _counts(told: Any) -> dict[str, int]:
    counts = told.items() if isinstance(told, dict) else ()
    return {name: count for name, count in counts if type(count) is int and 1 <= count <= MOST_ROWS}
