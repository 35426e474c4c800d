"""Reasoning: spans START .. END around messages START (CONTENT)* END, and encrypted values (spec: events/reasoning).

Spans and messages are separate namespaces that may share ids. May change: what text does; the scope's spans and owners;
the encrypted value of a message or call, or the values that nothing has claimed.
"""

from __future__ import annotations

from typing import Any

from reducer._cases import _message
from reducer._cases._entities import (
    check_tag,
    established,
    find,
    flag,
    holders,
    in_run,
    update,
)
from reducer._cases._group import own_message
from reducer._index import assoc, dissoc
from reducer._records import ACTIVITY, CALL, REASONING, RESULT, TEXT, Key
from reducer._run import scoped
from reducer._state import State


def reasoning_start(state: State, event: Any) -> State:
    """Open a span: it brackets messages and builds nothing."""
    name = event.message_id
    if name in state.session.scope.spans:
        state = flag(state, event, "span-already-open", repr(name))
    # A span and the messages in it are one agent's, so one id of both has one owner.
    key: Key = (REASONING, name)
    entry = find(state, key)
    state, owner = established(state, event, key, entry.entity if entry else None)
    return scoped(state, spans=assoc(state.session.scope.spans, name, owner))


def reasoning_end(state: State, event: Any) -> State:
    """Close the span."""
    name, scope = event.message_id, state.session.scope
    if name not in scope.spans:
        return flag(state, event, "span-not-open", repr(name))
    key: Key = (REASONING, name)
    entry = find(state, key)
    entity = entry.entity if entry else None
    state = check_tag(state, event, key, entity)
    # Whose it was is remembered where no message of this run says it.
    owners = scope.owners if in_run(state, key, entity) else assoc(scope.owners, key, scope.spans[name])
    return scoped(state, spans=dissoc(scope.spans, name), owners=owners)


def reasoning_message_start(state: State, event: Any) -> State:
    """Open a reasoning message; its role is fixed, so one that is missing is known."""
    if event.role is None:
        state = flag(state, event, "role-missing")
    return _message.start(state, event, (REASONING, event.message_id), role=REASONING)


def reasoning_message_content(state: State, event: Any) -> State:
    """Append the delta to the open reasoning message's current row."""
    return _message.content(state, event, (REASONING, event.message_id), event.delta)


def reasoning_message_end(state: State, event: Any) -> State:
    """Close the reasoning message."""
    return _message.end(state, event, (REASONING, event.message_id))


def reasoning_encrypted_value(state: State, event: Any) -> State:
    """Attach the value and its type to what it names, whenever it comes; the last one wins."""
    subtype, name = event.subtype, event.entity_id
    state, key = _named(state, event, subtype, name)
    value = (event.encrypted_value, event.encrypted_value_type)
    if key is None:
        conversation = state.conversation
        unclaimed = assoc(conversation.unclaimed, (subtype, name), value)
        conversation = conversation._replace(unclaimed=unclaimed)
        state = state._replace(conversation=conversation)
        return flag(state, event, "value-unclaimed", f"{subtype} {name!r}")
    entry = find(state, key)
    assert entry is not None
    state = check_tag(state, event, key, entry.entity)
    entity = entry.entity._replace(value=value[0], value_type=value[1])
    return update(state, key, entry._replace(entity=entity, last=state.position))


def _named(state: State, event: Any, subtype: str, name: str) -> tuple[State, Key | None]:
    """Return what a value names, and make it where only the specification's consumer has it: a call's own message."""
    key = target(state, subtype, name)
    call = find(state, (CALL, name)) if key is None and subtype == "message" else None
    if call is None or call.entity.place is None or call.entity.home != name:
        return state, key
    return own_message(state, event, name, call.entity.owner), (TEXT, name)


def target(state: State, subtype: str, name: str) -> Key | None:
    """Return what a value names: a call; of the messages under one id the reasoning first, then text, then a result."""
    if subtype == "tool-call":
        return (CALL, name) if find(state, (CALL, name)) else None
    order = (REASONING, TEXT, RESULT)
    found = [key for key in holders(state, name) if key[0] != ACTIVITY]
    return min(found, key=lambda key: order.index(key[0]), default=None)
