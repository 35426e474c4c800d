"""Messages that arrive whole become entities: one row, nothing open, marked as stated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyrsistent import pvector

from reducer._cases._entities import claim, find, update
from reducer._cases._mark import is_current
from reducer._frozen import Object, freeze
from reducer._index import assoc, dissoc
from reducer._interrupts import Interrupts
from reducer._order import grouped
from reducer._records import ACTIVITY, CALL, REASONING, RESULT, TEXT, Activity, Call, Entry, Key, Message, Result, Row
from reducer._run import with_session
from reducer._state import State, held
from reducer._text import append


def key_of(message: Any) -> Key:
    """Return the entity that a message in wire form is."""
    role, name = message["role"], message["id"]
    if role == "tool":
        return (RESULT, name, message["toolCallId"])
    return ({"reasoning": REASONING, "activity": ACTIVITY}.get(role, TEXT), name)


def stated(
    state: State, key: Key, message: Any, before: Mapping[Key, Entry], made: dict[Key, Entry]
) -> tuple[State, dict[Key, Entry]]:
    """Return the entities that a message makes: itself and its calls.

    `before` is what the calls may have been, `made` what other messages have made; of calls that share an id the last
    one keeps it, and the one before it goes on under a key of its own.
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
    # What has waited for it is older than a value of its own.
    state, claimed = claim(state, "message", entity)
    entity = claimed if value is None else entity
    if kind == RESULT:
        return state, {key: Entry(entity, now, now)}
    rope = append(None, content, now) if isinstance(content, str) else None
    calls = message.get("toolCalls") or ()
    open_one = held(state, key)
    if open_one is not None and not calls and is_current(state, open_one):
        # The stream goes on in the restated row; what was closed goes on, if ever, in a row of its own.
        return state, {key: Entry(entity, now, now, rope)}
    found: dict[Key, Entry] = {}
    # A call that a message states twice stands once, as the last says and where the last is.
    stands = {call["id"]: number for number, call in enumerate(calls)}
    ranks = {number: rank for rank, number in enumerate(sorted(stands.values()))}
    for number, call in enumerate(calls):
        call_key: Key = (CALL, call["id"])
        if call_key in made:
            _displace(made, call_key)
        known = before.get((*call_key, key[1])) or before.get(call_key)
        state, found[call_key] = _call(state, key, entity, call, known, ranks.get(number, 0))
    entity = entity._replace(rows=pvector([Row(now, now, rope)]))
    return state, {key: Entry(entity, -1, now), **found}


def _displace(made: dict[Key, Entry], key: Key) -> None:
    """Put the call `key` of a message that was made before under a key of its own."""
    entry = made.pop(key)
    other: Key = (*key, entry.entity.home)
    made[other] = entry


def _call(state: State, key: Key, message: Message, told: Any, before: Entry | None, rank: int) -> tuple[State, Entry]:
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
        rank=rank,
        answered=before is not None and before.entity.answered,
        stated=before is None or before.entity.stated,
        metadata=_metadata(told),
        value=told.get("encryptedValue"),
        value_type=told.get("encryptedValueType"),
    )
    state, claimed = claim(state, "tool-call", call)
    call = claimed if call.value is None else call
    return state, Entry(call, now, now, append(None, told["function"]["arguments"], now))


def _metadata(told: Any) -> Object | None:
    metadata = freeze(told.get("metadata"), ("metadata",))
    return metadata if isinstance(metadata, Object) else None


def settle(state: State, keys: Iterable[Key], made: Mapping[Key, Entry]) -> State:
    """Mark the calls that results answer, where `keys` are messages in order and `made` has what was just stated.

    Interrupts that concern those calls are retired. A result answers the last call of its id before it, or else the
    next one.
    """
    calls = grouped(made)
    latest: dict[str, Key] = {}
    answered: dict[Key, None] = {}
    early = state.conversation.early
    for key in keys:
        if key[0] == RESULT:
            call = latest.get(key[2]) or (CALL, key[2])
            entry = find(state, call)
            if key[2] not in latest and (entry is None or entry.entity.place is None or call in made):
                early = assoc(early, key[2], True)
            answered[call] = None
        for call in (call for row in calls.get(key, {}).values() for call in row):
            if call[1] in early:
                early = dissoc(early, call[1])
                answered[call] = None
            latest[call[1]] = call
    state = state._replace(conversation=state.conversation._replace(early=early))
    for key in answered:
        entry = find(state, key)
        if entry is not None and entry.entity.place is not None and not entry.entity.answered:
            state = update(state, key, entry._replace(entity=entry.entity._replace(answered=True)))
    names = {key[1] for key in answered}
    interrupts = state.session.interrupts
    left = [interrupt for interrupt in interrupts if interrupt.get("toolCallId") not in names]
    return state if len(left) == len(interrupts) else with_session(state, interrupts=Interrupts().adding(left))
