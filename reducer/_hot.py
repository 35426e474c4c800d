"""The short way for what streams are made of: content for a row that is open, quiet and current.

It does what the case does and nothing else; where anything is out of the ordinary it returns `None` and the event
takes the long way. `docs/explanation/cost.md` says what each line of it buys.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from reducer._cases._entities import is_cut
from reducer._index import SMALL, assoc
from reducer._state import CALL, Entry, State

_entry: Callable[[type[Entry], tuple[Any, ...]], Entry] = tuple.__new__


def appender(kind: str, id_field: str) -> Callable[[State, Any], State | None]:
    """Return the short way for content events of entities of `kind`, whose id is the event's `id_field`."""
    identity = attrgetter(id_field)
    is_call = kind == CALL

    def append(state: State, event: Any) -> State | None:
        live, conversation = state.live, state.conversation
        key = (kind, identity(event))
        entry = live.get(key)
        if entry is None or event.metadata is not None or conversation.streams is not None:
            return None
        entity, first, _, rope = entry
        tag = event.subagent_run_id
        if tag is not None and tag != entity.tag:
            return None
        if is_call:
            if entity.echo is not None:
                return None
        elif first < conversation.opened and (first < 0 or is_cut(conversation, entity, first)):
            return None
        elif not entity.spoken or not entity.started:
            return None
        delta, position = event.delta, state.position
        if delta.__class__ is not str:
            return None
        if delta:
            while rope is not None and len(rope[0]) <= len(delta):
                delta = rope[0] + delta
                rope = rope[1]
            rope = (delta, rope)
        written = _entry(Entry, (entity, first, position, rope))
        if live.__class__ is dict and len(live) <= SMALL:
            live = live.copy()
            live[key] = written
        else:
            live = assoc(live, key, written)
        return State(position + 1, live, conversation, state.session)

    return append
