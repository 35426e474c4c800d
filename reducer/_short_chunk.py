"""The short way of a chunk that goes on: the next delta for the stream of its lane, and nothing else.

As `_short` says: what is out of the ordinary gives `None`. That includes a chunk that opens a stream, or that goes on
with another lane's than the last chunk of its kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reducer._cases._entities import is_cut
from reducer._index import ABSENT
from reducer._records import CALL, REASONING, TEXT
from reducer._short import Short
from reducer._state import NO_PEN, State, made, ropes_of, with_rope
from reducer._text import append


def chunk(kind: str, *, sdk: bool) -> Short:
    """Append the delta of a chunk to what its stream writes."""
    is_call, is_text = kind == CALL, kind == TEXT
    identity = "tool_call_id" if is_call else "message_id"
    # What the opener of the stream has established, by the names of the event's fields and of the protocol's.
    repeated = (
        (("tool_call_name", "toolCallName"), ("parent_message_id", "parentMessageId"))
        if is_call
        else (("role", "role"), ("name", "name"))
        if is_text
        else ()
    )

    def go_on(state: State, event: Any) -> State | None:
        streams = state.conversation.streams
        if streams is None:
            return None
        name, tag = getattr(event, identity), event.subagent_run_id
        # The lane of the last chunk of this kind, which is most often this one's too.
        lane = streams.recent.get(kind, ABSENT)
        stream = streams.lanes.get(lane)
        if (
            stream is None
            or stream.key[0] != kind
            or (stream.key[1] != name if name is not None else lane != tag)
            or event.metadata is not None
            or (event.__pydantic_extra__ if sdk else event.notes)
        ):
            return None
        for field, wire in repeated:
            said = getattr(event, field)
            if said is not None and (type(said) is not str or said != stream.established.get(wire)):
                return None
        delta, one = event.delta, state.live.get(stream.key)
        if one is None or type(delta) is not str or not delta:
            return None
        entity, first, _, place, quiet = one
        conversation = state.conversation
        if (
            not quiet
            or (tag is not None and tag != entity.tag)
            or (not is_call and first < conversation.opened and is_cut(conversation, entity, first))
        ):
            return None
        # Not at the pen, which is for contents: the next of those ends the stream.
        ropes = ropes_of(state)
        ropes = with_rope(ropes, place, append(ropes[place], delta, state.position))
        return made(state.position + 1, None, NO_PEN, state.live, ropes, conversation, state.session)

    return go_on


SHORT: dict[str, tuple[Callable[[bool], Short], tuple[str, ...]]] = {
    "TEXT_MESSAGE_CHUNK": (lambda sdk: chunk(TEXT, sdk=sdk), ("message_id", "delta", "role", "name")),
    "REASONING_MESSAGE_CHUNK": (lambda sdk: chunk(REASONING, sdk=sdk), ("message_id", "delta")),
    "TOOL_CALL_CHUNK": (
        lambda sdk: chunk(CALL, sdk=sdk),
        ("tool_call_id", "delta", "tool_call_name", "parent_message_id"),
    ),
}
"""As `_short.SHORT`."""
