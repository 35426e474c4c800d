"""The short way for what streams are made of: content for a row that is open, quiet and current.

It does what the case does and nothing else; where anything is out of the ordinary it returns `None` and the event
takes the long way. `docs/explanation/cost.md` says what each line of it buys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reducer._cases._entities import is_cut
from reducer._index import assoc
from reducer._state import CALL, Call, Conversation, Entry, State
from reducer._text import SPAN, pack

_new: Callable[[type, tuple[Any, ...]], Any] = tuple.__new__
"""Makes a named tuple at half the price of its own constructor."""


def appender(kind: str, id_field: str, *, sdk: bool) -> Callable[[State, Any], State | None]:
    """Return the short way for content events of entities of `kind`, whose id is the event's `id_field`.

    `sdk` says that the events are objects of the SDK, not decoded ones: what speaks against the short way is the
    unknown material on the one, the notes on the other.
    """
    is_call = kind == CALL

    def append(state: State, event: Any) -> State | None:
        position, live, conversation, session, pen = state
        name, delta, tag = event.tool_call_id if is_call else event.message_id, event.delta, event.subagent_run_id
        if (
            event.metadata is not None
            or delta.__class__ is not str
            or (event.__pydantic_extra__ if sdk else event.notes)
        ):
            return None
        if pen is not None and pen[0] == name and pen[1] is kind:
            entity, first, rope = pen[2], pen[3], pen[4]
        else:
            entry = live.get((kind, name))
            if entry is None or conversation.streams is not None or not _quiet(conversation, entry):
                return None
            if pen is not None:
                live = assoc(live, (pen[1], pen[0]), _new(Entry, (pen[2], pen[3], position - 1, pen[4])))
            entity, first, _, rope = entry
        if tag is not None and tag != entity.tag:
            return None
        if delta:
            # As in `_text.append`, which would be one more call for every event.
            if rope is None:
                rope = (delta, None, 1)
            elif rope[2] < SPAN:
                rope = (delta, rope, rope[2] + 1)
            else:
                rope = pack(rope, delta)
        pen = (name, kind, entity, first, rope)
        return _new(State, (position + 1, live, conversation, session, pen))  # type: ignore[no-any-return]

    return append


def _quiet(conversation: Conversation, entry: Entry) -> bool:
    """Say whether content for the entity does nothing but append to its current row."""
    entity, first = entry[0], entry[1]
    if isinstance(entity, Call):
        return entity.echo is None
    if first < 0 or not (entity.spoken and entity.started):
        return False
    return first >= conversation.opened or not is_cut(conversation, entity, first)
