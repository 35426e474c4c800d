"""Messages that arrive whole become entities: one row, nothing open, marked as stated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyrsistent import pvector

from reducer._cases._entities import claim
from reducer._frozen import Object, freeze
from reducer._interrupts import Interrupts
from reducer._run import with_session
from reducer._state import (
    ACTIVITY,
    CALL,
    REASONING,
    RESULT,
    TEXT,
    Activity,
    Call,
    Entry,
    Key,
    Message,
    Result,
    Row,
    State,
)
from reducer._text import append


def key_of(message: Any) -> Key:
    """Return the entity that a message in wire form is."""
    role, name = message["role"], message["id"]
    if role == "tool":
        return (RESULT, name, message["toolCallId"])
    return ({"reasoning": REASONING, "activity": ACTIVITY}.get(role, TEXT), name)


def stated(
    state: State, key: Key, message: Any, before: Mapping[Key, Entry], taken: Mapping[Key, Entry]
) -> tuple[State, dict[Key, Entry]]:
    """Return the entities that a message makes: itself and its calls.

    `before` is what the calls may have been, `taken` holds calls that other messages keep under their ids.
    """
    kind, now, owner = key[0], state.position, message.get("subagentRunId")
    value, value_type = message.get("encryptedValue"), message.get("encryptedValueType")
    metadata = _metadata(message)
    content = freeze(message.get("content"), ("content",))
    entity: Any
    if kind == ACTIVITY:
        entity = Activity(key[1], message["activityType"], owner, content, metadata, owner, len(state.session.runs))
        return state, {key: Entry(entity, now, now)}
    if kind == RESULT:
        run = len(state.session.runs)
        error = message.get("error")
        entity = Result(key[1], key[2], owner, content, error, True, metadata, value, value_type, owner, run)
    else:
        parts = None if content is None or isinstance(content, str) else content
        entity = Message(
            kind,
            key[1],
            message["role"],
            message.get("name"),
            owner,
            owner,
            len(state.session.runs),
            spoken=content is not None,
            stated=True,
            metadata=metadata,
            value=value,
            value_type=value_type,
            parts=parts,  # type: ignore[arg-type]
        )
    if value is None:
        state, entity = claim(state, "message", entity)
    if kind == RESULT:
        return state, {key: Entry(entity, now, now)}
    rope = append(None, content) if isinstance(content, str) else None
    calls = message.get("toolCalls") or ()
    is_open = key in state.live
    if is_open and not calls:
        # The stream goes on in the restated row; what was closed goes on, if ever, in a row of its own.
        return state, {key: Entry(entity, now, now, rope)}
    found: dict[Key, Entry] = {}
    for call in calls:
        call_key: Key = (CALL, call["id"])
        if call_key in taken:
            call_key = (*call_key, key[1])
        state, found[call_key] = _call(state, key, entity, call, before.get(call_key))
    row = Row(now, now, rope, pvector(found) if found else None, now if is_open else -1)
    entity = entity._replace(rows=pvector([row]), group=0 if found else -1)
    return state, {key: Entry(entity, -1, now), **found}


def _call(state: State, key: Key, message: Message, told: Any, before: Entry | None) -> tuple[State, Entry]:
    """Make a call of a stated message; one that was streamed before has not to be streamed again."""
    now = state.position
    call = Call(
        told["id"],
        told["function"]["name"],
        message.id,
        message.owner,
        message.owner,
        len(state.session.runs),
        place=(key, 0),
        answered=before is not None and before.entity.answered,
        stated=before is None or before.entity.stated,
        metadata=_metadata(told),
        value=told.get("encryptedValue"),
        value_type=told.get("encryptedValueType"),
    )
    if call.value is None:
        state, call = claim(state, "tool-call", call)
    return state, Entry(call, now, now, append(None, told["function"]["arguments"]))


def _metadata(told: Any) -> Object | None:
    metadata = freeze(told.get("metadata"), ("metadata",))
    return metadata if isinstance(metadata, Object) else None


def index_results(entities: dict[Key, Entry]) -> None:
    """Let results be found by their message id too, in a fresh dict of entities."""
    for key in [key for key in entities if key[0] == RESULT and len(key) == 2]:
        del entities[key]
    results = [(key, entry) for key, entry in entities.items() if key[0] == RESULT]
    for result, entry in results:
        entities.setdefault(result[:2], Entry(result, entry.first, entry.first))


def settle(state: State) -> State:
    """Mark the calls that have a result, and retire the interrupts that those answer."""
    index, live = state.conversation.index, dict(state.live)
    answered = {key[2] for key in state.conversation.timeline if key[0] == RESULT}
    for name in sorted(answered):
        key: Key = (CALL, name)
        entry = live.get(key) or index.get(key)
        if entry is not None and not entry.entity.answered:
            entry = entry._replace(entity=entry.entity._replace(answered=True))
            if key in live:
                live[key] = entry
            else:
                index = index.put(key, entry)
    conversation = state.conversation._replace(index=index)
    state = State(state.position, live, conversation, state.session)
    interrupts = state.session.interrupts
    left = [interrupt for interrupt in interrupts if interrupt.get("toolCallId") not in answered]
    return state if len(left) == len(interrupts) else with_session(state, interrupts=Interrupts().adding(left))
