"""Reasoning: spans START .. END around messages START (CONTENT)* END, and encrypted values (spec: events/reasoning).

Spans and messages are separate namespaces that may share ids. May change: as text does; the run's open spans; the
encrypted value of a message or call, or the values that nothing has claimed.
"""

from __future__ import annotations

from typing import Any

from reducer._cases import _message
from reducer._cases._entities import check_tag, established, find, flag, holders, update
from reducer._index import assoc, dissoc
from reducer._run import amend, current
from reducer._state import ACTIVITY, CALL, REASONING, RESULT, TEXT, Key, State


def reasoning_start(state: State, event: Any) -> State:
    """Open a span: it brackets messages and builds nothing."""
    name, run = event.message_id, current(state)
    if run is None:
        return state
    if name in run.spans:
        state = flag(state, event, "span-already-open", repr(name))
    # A span and the messages in it are one agent's, so one id of both has one owner.
    key: Key = (REASONING, name)
    entry = find(state, key)
    state, owner = established(state, event, key, entry.entity if entry else None)
    return amend(state, spans=assoc(run.spans, name, owner), owners=assoc(run.owners, key, owner))


def reasoning_end(state: State, event: Any) -> State:
    """Close the span."""
    name, run = event.message_id, current(state)
    if run is None:
        return state
    if name not in run.spans:
        return flag(state, event, "span-not-open", repr(name))
    key: Key = (REASONING, name)
    entry = find(state, key)
    state = check_tag(state, event, key, entry.entity if entry else None)
    return amend(state, spans=dissoc(run.spans, name))


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
    key = target(state, subtype, name)
    value = (event.encrypted_value, event.encrypted_value_type)
    if key is None:
        conversation = state.conversation
        unclaimed = assoc(conversation.unclaimed, (subtype, name), value)
        conversation = conversation._replace(unclaimed=unclaimed)
        state = State(state.position, state.live, conversation, state.session)
        return flag(state, event, "value-unclaimed", f"{subtype} {name!r}")
    entry = find(state, key)
    assert entry is not None
    state = check_tag(state, event, key, entry.entity)
    entity = entry.entity._replace(value=value[0], value_type=value[1])
    return update(state, key, entry._replace(entity=entity, last=state.position))


def target(state: State, subtype: str, name: str) -> Key | None:
    """Return what a value names: a call; of the messages under one id the reasoning first, then text, then a result."""
    if subtype == "tool-call":
        return (CALL, name) if find(state, (CALL, name)) else None
    order = (REASONING, TEXT, RESULT)
    found = [key for key in holders(state, name) if key[0] != ACTIVITY]
    return min(found, key=lambda key: order.index(key[0]), default=None)
