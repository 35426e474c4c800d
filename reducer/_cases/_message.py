"""Text and reasoning messages stream alike: start, content, end (spec: basic/patterns/streaming).

They differ in their kind, in the names of the rules, and in that a tool call may create a text message first.
"""

from __future__ import annotations

from typing import Any

from reducer._cases._entities import (
    check_tag,
    claim,
    cut,
    established,
    find,
    flag,
    flag_shared,
    identified,
    is_gone,
    merged,
    open_row,
    store,
    write,
)
from reducer._records import Entry, Key, Message, Owner
from reducer._state import State, held


def create(
    state: State, event: Any, key: Key, *, role: str, name: str | None = None, owner: Owner
) -> tuple[State, Entry]:
    """Make the message `key`, not open yet and without rows."""
    kind, identity = key[0], key[1]
    message = Message(kind, identity, role, name, owner, owner, len(state.session.runs), started=False, spoken=False)
    state, message = claim(flag_shared(state, event, key), "message", message)
    conversation = state.conversation
    state = state._replace(conversation=conversation._replace(index=identified(conversation.index, key)))
    return state, Entry(message, -1, state.position)


def enter(state: State, key: Key, entry: Entry) -> tuple[State, Entry]:
    """The message opens as text or reasoning: its opening cuts, and a row of its own begins."""
    conversation = cut(state, entry.entity.owner, key[0])
    state, entry = open_row(state._replace(conversation=conversation), key, entry)
    return state, entry._replace(entity=entry.entity._replace(started=True))


def start(state: State, event: Any, key: Key, *, role: str, name: str | None = None) -> State:
    """Open a message, or open it again: what was established stands."""
    tag, entry = event.subagent_run_id, find(state, key)
    state, owner = established(state, event, key, entry.entity if entry else None)
    if entry is not None and key in state.live and entry.entity.started:
        state = flag(state, event, f"{key[0]}-already-open", repr(key[1]))
    if entry is None:
        state, entry = create(state, event, key, role=role, name=name, owner=tag)
        entry = entry._replace(entity=entry.entity._replace(spoken=True))
    if not entry.entity.started or is_gone(entry):
        state, entry = enter(state, key, entry)
    metadata = merged(entry.entity.metadata, event.metadata)
    entity = entry.entity._replace(tag=owner, run=len(state.session.runs), metadata=metadata)
    return store(state, key, entry._replace(entity=entity, last=state.position), is_open=True)


def content(state: State, event: Any, key: Key, delta: str) -> State:
    """Append to a message; one that nothing opened is an anomaly and opens all the same."""
    entry = find(state, key)
    if key not in state.live:
        state = flag(state, event, f"{key[0]}-not-open", repr(key[1]))
    if entry is None:
        role = "assistant" if key[0] == "text" else key[0]
        state, entry = create(state, event, key, role=role, owner=event.subagent_run_id)
    else:
        state = check_tag(state, event, key, entry.entity)
    if not entry.entity.started:
        state, entry = enter(state, key, entry)
    if event.metadata is not None:
        entity = entry.entity._replace(metadata=merged(entry.entity.metadata, event.metadata))
        entry = entry._replace(entity=entity)
    return write(state, key, entry, delta)


def end(state: State, event: Any, key: Key) -> State:
    """Close a message; being open is membership, so only where it stands changes."""
    entry = held(state, key)
    if entry is None:
        state = flag(state, event, f"{key[0]}-not-open", repr(key[1]))
        entry = find(state, key)
        if entry is None or event.metadata is None:
            return state
    state = check_tag(state, event, key, entry.entity)
    entity = entry.entity
    if event.metadata is not None:
        entity = entity._replace(metadata=merged(entity.metadata, event.metadata))
    return store(state, key, Entry(entity, entry.first, state.position, entry.rope), is_open=False)
