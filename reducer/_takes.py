"""Which part of a shorter log an event goes to: a function for each family of events that can be told in fewer.

Each takes the log, the event as it was given and decoded, and the states around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from reducer._cases._entities import find, unused
from reducer._cases.reasoning import target
from reducer._cases.retired import MESSAGE, SPAN
from reducer._event import EVENT_CLASSES, make
from reducer._records import ACTIVITY, CALL, REASONING, RESULT, Entry, Key
from reducer._slots import CHUNK, CONTENT, END, START, STEMS, Kept, Piece, Shared, Track, Whole
from reducer._state import State

if TYPE_CHECKING:
    from reducer._compact import Log

SAID = {"role": "role", "name": "name", "tool_call_name": "toolCallName", "parent_message_id": "parentMessageId"}
Take = Callable[["Log", Any, Any, State, State], None]


def streamed(kind: str, verb: str) -> Take:
    """Return the function for starts, content, ends or chunks of messages or calls."""
    identity = "tool_call_id" if kind == CALL else "message_id"

    def take(log: Log, original: Any, event: Any, before: State, after: State) -> None:
        name = getattr(event, identity)
        if name is None:
            # Which stream it continues depends on those that are open, and the shorter log may have others.
            key, original = _continued(kind, after), None
        else:
            key = (kind, name)
        _told(log, original, event, key, verb, before, after)

    return take


def _continued(kind: str, after: State) -> Key:
    """Return what a chunk without an id has just gone to."""
    streams = after.conversation.streams
    assert streams is not None
    return streams.lanes[streams.recent[kind]].key


def _told(log: Log, original: Any, event: Any, key: Key, verb: str, before: State, after: State) -> None:
    """Give an event to the track and the piece that it belongs to, new ones where something opens."""
    entry = find(after, key)
    if entry is None:
        log.add(Kept(original=event if original is None else original, event=event))
        return
    opens, placed = verb == START or _is_fresh(verb, key, before), _is_placed(key, entry, before, after)
    track = log.tracks.get(key)
    if track is None or (opens and not track.starts) or (placed and key[0] == CALL):
        track = _track(log, event, key, starts=verb in (START, CHUNK))
        # What names a call from here on names this one.
        log.values.pop(key, None)
    if opens and key[0] == CALL and event.tool_call_name is not None:
        track.said["toolCallName"] = event.tool_call_name
    if placed or not track.pieces:
        piece = Piece(key=key, track=track, original=original, timestamp=event.timestamp)
        track.pieces.append(piece)
        log.add(piece)
    track.say(event, speaks=verb == CONTENT or (verb == CHUNK and _speaks(event, opens=opens)))


def _track(log: Log, event: Any, key: Key, *, starts: bool) -> Track:
    said = {wire: getattr(event, name, None) for name, wire in SAID.items()} if starts else {}
    if key[0] == REASONING:
        log.reasoning.setdefault(key[1], event.subagent_run_id)
        said = {}
    said = {name: value for name, value in said.items() if value is not None}
    return log.track(Track(key, event.subagent_run_id, starts, said))


def _is_fresh(verb: str, key: Key, before: State) -> bool:
    """Say whether a chunk opens its stream."""
    streams = before.conversation.streams
    return verb == CHUNK and (streams is None or key not in streams.kinds.get(key[0], ()))


def _is_placed(key: Key, entry: Entry, before: State, after: State) -> bool:
    """Say whether the event has opened a row, or the call."""
    if key[0] == CALL:
        return entry.first == before.position and entry.entity.place is not None
    return len(after.conversation.timeline) > len(before.conversation.timeline)


def _speaks(event: Any, *, opens: bool) -> bool:
    """Say whether a chunk adds content, be it empty."""
    return event.delta is not None or (not opens and (event.metadata is not None or event.raw_event is not None))


def thought(verb: str) -> Take:
    """Return the function for the retired spelling of reasoning messages, told as what succeeded it."""
    kind = f"{STEMS[REASONING]}_{verb}"

    def take(log: Log, original: Any, event: Any, before: State, after: State) -> None:  # noqa: ARG001
        name = (before if verb == END else after).session.scope.thinking.get(MESSAGE)
        if name is None:
            name = unused(before, REASONING, f"thinking-{before.position}")
        values = {field: value for field, value in event.__dict__.items() if field not in ("type", "notes")}
        successor = make(EVENT_CLASSES[kind], {**values, "message_id": name})
        _told(log, None, successor, (REASONING, name), verb, before, after)

    return take


def bracketed(log: Log, original: Any, event: Any, before: State, after: State) -> None:
    """Keep a span's start or end until its run is over; a retired one as what succeeded it."""
    kind, name = event.type, getattr(event, "message_id", None)
    if name is None:
        starts = kind == "THINKING_START"
        name = (after if starts else before).session.scope.thinking.get(SPAN)
        kind = "REASONING_START" if starts else "REASONING_END"
        if name is None:
            return
        event = original = make(EVENT_CLASSES[kind], {"message_id": name})
    log.spans.append(log.add(Kept(original=original, event=event)))


def answered(log: Log, original: Any, event: Any, before: State, after: State) -> None:  # noqa: ARG001
    """A result that comes again stands once, as it came last."""
    key: Key = (RESULT, event.message_id, event.tool_call_id)
    if key in log.wholes:
        log.wholes[key].merge(event.metadata)["content"] = event.to_dict()["content"]
    else:
        log.wholes[key] = log.add(Whole(key=key, original=original, event=event))


def acted(log: Log, original: Any, event: Any, before: State, after: State) -> None:  # noqa: ARG001
    """An activity is told once, as it is at the end of the segment; one that nothing created is told by nothing."""
    key: Key = (ACTIVITY, event.message_id)
    if key in log.wholes:
        log.wholes[key].merge(event.metadata)
    elif find(after, key) is not None:
        log.wholes[key] = log.add(Whole(key=key, original=original, event=event))


def shared(log: Log, original: Any, event: Any, before: State, after: State) -> None:
    """The state is told once, as it is at the end of the segment."""
    part = log.shared
    if part is None:
        part = log.shared = log.add(Shared(original=original, event=event))
    part.events += 1
    if event.type == "STATE_SNAPSHOT":
        part.replaced, part.operations = True, []
    elif _failures(after) == _failures(before):
        part.operations += event.to_dict()["delta"]


def _failures(state: State) -> int:
    return state.session.anomalies.counts.get("patch-failed", 0)


def sealed(log: Log, original: Any, event: Any, before: State, after: State) -> None:  # noqa: ARG001
    """Of the encrypted values for one thing the last one stays."""
    key = target(before, event.subtype, event.entity_id) or ("unclaimed", event.subtype, event.entity_id)
    if key in log.values:
        log.values[key].alive = False
    log.values[key] = log.add(Kept(key=key, original=original, event=event))


TAKES: dict[str, Take] = {
    **{f"{STEMS[kind]}_{verb}": streamed(kind, verb) for kind in STEMS for verb in (START, CONTENT, END, CHUNK)},
    "TOOL_CALL_ARGS": streamed(CALL, CONTENT),
    **{f"THINKING_TEXT_MESSAGE_{verb}": thought(verb) for verb in (START, CONTENT, END)},
    **dict.fromkeys(("REASONING_START", "REASONING_END", "THINKING_START", "THINKING_END"), bracketed),
    "REASONING_ENCRYPTED_VALUE": sealed,
    "TOOL_CALL_RESULT": answered,
    "ACTIVITY_SNAPSHOT": acted,
    "ACTIVITY_DELTA": acted,
    "STATE_SNAPSHOT": shared,
    "STATE_DELTA": shared,
}
"""What each event type goes to; a type that is not here stays as it is."""
