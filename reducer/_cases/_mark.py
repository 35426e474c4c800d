"""What a snapshot that this library makes of a stream tells beside its messages, in `metadata["agui-reducer"]`.

A snapshot says what stands, not how it came to stand, and the fold asks three things about that: whether a call was
ever streamed (arguments streamed on top of stated ones may repeat them), whether it was answered by a result that an
earlier snapshot dropped, and whether a message that holds calls has opened as text. Everything else, other consumers
included, reads such a snapshot as any other.
"""

from __future__ import annotations

from typing import Any

from reducer._index import Index
from reducer._state import CALL, RESULT, TEXT, Entry, Key, State

MARK = "agui-reducer"
UNSTREAMED, ANSWERED, UNOPENED = "unstreamed", "answered", "unopened"


def mark(state: State) -> dict[str, Any]:
    """Return the metadata for a snapshot of all messages of `state`: the calls and messages that are exceptions."""
    entries = {**state.conversation.index.to_dict(), **state.live}
    results = {key[2] for key in state.conversation.timeline if key[0] == RESULT}
    calls = {key[1]: entry.entity for key, entry in entries.items() if key[0] == CALL and len(key) == 2}
    found = {
        UNSTREAMED: {name for name, call in calls.items() if call.stated},
        ANSWERED: {name for name, call in calls.items() if call.answered and name not in results},
        UNOPENED: {key[1] for key, entry in entries.items() if key[0] == TEXT and not entry.entity.started},
    }
    return {MARK: {name: sorted(ids) for name, ids in found.items() if ids}}


def marked(state: State, metadata: Any) -> State:
    """Return the state after a snapshot with what its metadata says about the calls and messages in it."""
    told = metadata.get(MARK) if metadata else None
    if not isinstance(told, dict):
        return state
    unstreamed, answered, unopened = (_ids(told.get(name)) for name in (UNSTREAMED, ANSWERED, UNOPENED))

    def known(key: Key, entry: Entry) -> Entry:
        if key[0] == CALL and entry.entity.place is not None:
            call = entry.entity
            call = call._replace(stated=key[1] in unstreamed, answered=call.answered or key[1] in answered)
            return entry._replace(entity=call)
        if key[0] == TEXT and key[1] in unopened:
            return entry._replace(entity=entry.entity._replace(started=False))
        return entry

    index = Index.of({key: known(key, entry) for key, entry in state.conversation.index.to_dict().items()})
    live = {key: known(key, entry) for key, entry in state.live.items()}
    return State(state.position, live, state.conversation._replace(index=index), state.session)


def _ids(told: Any) -> frozenset[str]:
    return frozenset(name for name in told if isinstance(name, str)) if isinstance(told, list) else frozenset()
