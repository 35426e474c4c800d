"""The short way of an encrypted value: late for a settled entity, as most are, or for one that is open.

As `_short` says: what is out of the ordinary, such as an id that several messages share, gives `None`.
"""

from __future__ import annotations

from typing import Any

from reducer._index import SMALL
from reducer._records import ACTIVITY, CALL, TEXT, Call, Key, Message, Result, filled
from reducer._short import Short
from reducer._state import State, made, moved


def sealed(*, sdk: bool) -> Short:
    """Attach the value to the one entity that it can mean."""

    def attach(state: State, event: Any) -> State | None:
        subtype, name, value = event.subtype, event.entity_id, event.encrypted_value
        value_type = event.__dict__.get("encrypted_value_type") if sdk else event.encrypted_value_type
        tag, session, conversation = event.subagent_run_id, state.session, state.conversation
        index, live = conversation.index, state.live
        if (
            not session.active
            or subtype not in ("tool-call", "message")
            or type(name) is not str
            or type(value) is not str
            or (value_type is not None and type(value_type) is not str)
            or (tag is not None and type(tag) is not str)
            or event.metadata is not None
            or (event.__pydantic_extra__ if sdk else event.notes)
        ):
            return None
        key: Key | None = (CALL, name) if subtype == "tool-call" else index.get(name)
        # Several messages stand under the id where the first of them is no kind but a key.
        if key is None or type(key[0]) is not str or key[0] == ACTIVITY:
            return None
        one: Any = live.get(key)
        entry: Any = one or index.get(key)
        # What a snapshot has dropped is shown by nothing; there may be another one to find.
        if entry is None or (entry[1] < 0 and not entry[0].rows):
            return None
        entity, first = entry[0], entry[1]
        if tag is not None and not (
            entity.run == session.active and entity.tag == tag and (key[0] != TEXT or entity.started)
        ):
            return None
        position = state.position
        entity = with_value(entity, value, value_type)
        if one is None:
            index = index.put(key, (entity, first, position, entry[3]))
            timeline, lanes, opened = conversation.timeline, conversation.lanes, conversation.opened
            return moved(state, state.rope, state.pen, live, state.ropes, timeline, index, lanes, opened)
        if type(live) is not dict or len(live) > SMALL:
            return None
        live = {**live, key: (entity, first, position, *one[3:])}
        return made(position + 1, state.rope, state.pen, live, state.ropes, conversation, session)

    return attach


_AT = {kind: kind._fields.index("value") for kind in (Message, Call, Result)}


def with_value(entity: Any, value: str, value_type: str | None) -> Any:
    """Return what `entity._replace` would, in half the time."""
    kind = type(entity)
    at = _AT[kind]
    return filled(kind, (*entity[:at], value, value_type, *entity[at + 2 :]))


SHORT = {
    "REASONING_ENCRYPTED_VALUE": (lambda sdk: sealed(sdk=sdk), ("subtype", "entity_id", "encrypted_value")),
}
"""As `_short.SHORT`."""
