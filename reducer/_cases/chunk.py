"""Chunks: a compact spelling of start, content and end, one stream to a lane (spec: basic/patterns/streaming).

A chunk does what the events it stands for do. What this module adds is whose stream a chunk continues, and when a
stream is over. May change: what those events change, and the open chunk streams.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reducer._cases import _message, tool_call
from reducer._cases._entities import check_tag, find, flag, unused
from reducer._index import assoc, dissoc
from reducer._records import CALL, REASONING, TEXT, Key, Owner, Stream, Streams
from reducer._state import State

NONE = Streams()


def text_message_chunk(state: State, event: Any) -> State:
    """Open or continue a text message."""
    told = {"role": event.role, "name": event.name}
    opened = {"role": event.role or "assistant", "name": event.name}

    def open_text(state: State, key: Key) -> State:
        return _message.start(state, event, key, role=opened["role"] or "assistant", name=event.name)

    def append(state: State, key: Key) -> State:
        return _message.content(state, event, key, event.delta or "")

    return _chunk(state, event, (TEXT, event.message_id), told, opened, open_text, append)


def reasoning_message_chunk(state: State, event: Any) -> State:
    """Open or continue a reasoning message."""

    def open_reasoning(state: State, key: Key) -> State:
        return _message.start(state, event, key, role=REASONING)

    def append(state: State, key: Key) -> State:
        return _message.content(state, event, key, event.delta or "")

    return _chunk(state, event, (REASONING, event.message_id), {}, {}, open_reasoning, append)


def tool_call_chunk(state: State, event: Any) -> State:
    """Open or continue a tool call."""
    told = {"toolCallName": event.tool_call_name, "parentMessageId": event.parent_message_id}

    def open_call(state: State, key: Key) -> State:
        if event.tool_call_name is None:
            state = flag(state, event, "chunk-without-name", repr(key[1]))
        return tool_call.start(state, event, key[1], event.tool_call_name or "", event.parent_message_id)

    def append(state: State, key: Key) -> State:
        return tool_call.args(state, event, key[1], event.delta or "")

    return _chunk(state, event, (CALL, event.tool_call_id), told, told, open_call, append)


def _chunk(
    state: State,
    event: Any,
    named: tuple[str, str | None],
    told: dict[str, str | None],
    opened: dict[str, str | None],
    start: Callable[[State, Key], State],
    append: Callable[[State, Key], State],
) -> State:
    """Continue the lane's stream where the chunk does, else open another; `told` is what the chunk says itself."""
    kind, name = named
    state, lane = _lane(state, event, kind, name)
    streams = state.conversation.streams or NONE
    stream = streams.lanes.get(lane)
    if stream is not None and stream.key[0] == kind and name in (None, stream.key[1]):
        key, fresh = stream.key, False
        for field, value in told.items():
            if value is not None and value != stream.established.get(field):
                state = flag(state, event, "chunk-conflict", f"{field} {value!r} on {key[1]!r}")
    else:
        state = close_lane(state, event, lane)
        if name is None:
            name = unused(state, kind, f"chunk-{state.position}")
            state = flag(state, event, "chunk-without-id", f"kept as {name!r}")
        key, fresh = (kind, name), True
        state = start(state, key)
    state = _remember(state, lane, stream if stream and not fresh else Stream(key, opened))
    if event.delta is not None or (not fresh and (event.metadata is not None or event.raw_event is not None)):
        return append(state, key)
    entry = find(state, key)
    return state if fresh or entry is None else check_tag(state, event, key, entry.entity)


def _remember(state: State, lane: Owner, stream: Stream) -> State:
    streams, kind = state.conversation.streams or NONE, stream.key[0]
    held = assoc(streams.kinds.get(kind, {}), stream.key, lane)
    streams = Streams(assoc(streams.lanes, lane, stream), {**streams.kinds, kind: held}, {**streams.recent, kind: lane})
    conversation = state.conversation._replace(streams=streams)
    return state._replace(conversation=conversation)


def _lane(state: State, event: Any, kind: str, name: str | None) -> tuple[State, Owner]:
    """Whose stream a chunk belongs to: by its id, by its tag, the parent agent's, or the only one of its kind."""
    streams, tag = state.conversation.streams or NONE, event.subagent_run_id
    held = streams.kinds.get(kind, {})
    if name is not None and (kind, name) in held:
        return state, held[(kind, name)]
    if name is not None or tag is not None:
        return state, tag
    parent = streams.lanes.get(None)
    if not held or (parent is not None and parent.key[0] == kind):
        return state, None
    if len(held) == 1:
        return state, next(iter(held.values()))
    recent = streams.recent.get(kind)
    stream = streams.lanes.get(recent)
    state = flag(state, event, "chunk-ambiguous", f"{len(held)} lanes could own it")
    return state, recent if stream is not None and stream.key[0] == kind else None


def close_lane(state: State, event: Any, lane: Owner) -> State:
    """End the chunk stream of a lane, as the end event that is never sent would."""
    streams = state.conversation.streams
    stream = streams.lanes.get(lane) if streams is not None else None
    if streams is None or stream is None:
        return state
    lanes = dissoc(streams.lanes, lane)
    kinds = {**streams.kinds, stream.key[0]: dissoc(streams.kinds[stream.key[0]], stream.key)}
    left = Streams(lanes, kinds, streams.recent) if lanes else None
    conversation = state.conversation._replace(streams=left)
    state = state._replace(conversation=conversation)
    silent = _End(event.type)
    if stream.key[0] == CALL:
        return tool_call.end(state, silent, stream.key[1])
    return _message.end(state, silent, stream.key)


def close_lanes(state: State, event: Any) -> State:
    """End every chunk stream."""
    streams = state.conversation.streams
    for lane in streams.lanes if streams is not None else ():
        state = close_lane(state, event, lane)
    return state


class _End:
    """The end event that stands for the end of a chunk stream."""

    metadata = None
    subagent_run_id = None

    def __init__(self, kind: str) -> None:
        self.type = kind
