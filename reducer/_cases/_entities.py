"""What every case does with entities: find them, open and close them, flag what breaks a rule, cut rows.

Each function takes a state and gives one; `position` stays, the fold advances it when the whole event is folded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reducer._frozen import Object, freeze
from reducer._index import (
    Index,
    assoc,
    dissoc,
)
from reducer._live import with_open, without
from reducer._records import CALL, REASONING, TEXT, Entry, Key, Lane, Message, Owner, Row
from reducer._session import Anomaly, Scope
from reducer._state import NO_PEN, Conversation, State, closed_entry, held, lane_of, made, named, opened
from reducer._text import append


def flag(state: State, event: Any, code: str, detail: str = "") -> State:
    """Record that `event` broke the rule `code`."""
    kind = event.type
    anomaly = Anomaly(code, state.position, getattr(kind, "value", kind), detail)
    session = state.session._replace(anomalies=state.session.anomalies.adding(anomaly))
    return state._replace(session=session)


def find(state: State, key: Key) -> Entry | None:
    """Return the entity under `key`, open or not; one that a snapshot dropped and that has ended is none."""
    entry = held(state, key)
    if entry is not None:
        return entry
    entry = closed_entry(state.conversation, key)
    return None if entry is None or is_gone(entry) else entry


def is_gone(entry: Entry) -> bool:
    """Say whether a snapshot dropped the message while it was open, and it has said nothing since."""
    return entry.first < 0 and not entry.entity.rows


def unused(state: State, kind: str, name: str) -> str:
    """Return `name`, made longer until no entity of `kind` has it: a stored thread holds ids that were made before."""
    while find(state, (kind, name)) is not None:
        name += "'"
    return name


def store(state: State, key: Key, entry: Entry, *, is_open: bool) -> State:
    """Put `entry` among the open entities or among the others."""
    index = state.conversation.index
    if not is_open:
        return indexed(without(state, key), key, entry)
    # An entity stands in one place only, so that equal histories make equal states.
    if key not in state.live and index.get(key) is not None:
        state = indexed(state, key, None)
    return with_open(state, key, entry)


def indexed(state: State, key: Key, entry: Entry | None) -> State:
    """Put `entry` among the entities that are not open; `None` takes it from them."""
    index = state.conversation.index.put(key, entry)
    return state._replace(conversation=state.conversation._replace(index=index))


def update(state: State, key: Key, entry: Entry) -> State:
    """Put `entry` where its entity stands now."""
    return store(state, key, entry, is_open=key in state.live)


def merged(metadata: Object | None, more: Any) -> Object | None:
    """Merge an event's metadata key by key, the last write winning, no recursion (spec: basic/metadata)."""
    if more is None:
        return metadata
    metadata = metadata or Object({})
    for key, value in more.items():
        metadata = metadata.set(key, freeze(value, ("metadata", key)))
    return metadata


def on_record(state: State, key: Key, entity: Any) -> tuple[Owner] | None:
    """Return whose `entity` is in this run, `None` where nothing has said so yet: ownership is tracked run by run."""
    if in_run(state, key, entity):
        return (entity.tag,)
    scope = state.session.scope
    if key[0] == REASONING and key[1] in scope.spans:
        return (scope.spans[key[1]],)
    name = key[:2]
    return (scope.owners[name],) if name in scope.owners else None


def in_run(state: State, key: Key, entity: Any) -> bool:
    """Say whether an event of this run has said whose `entity` is.

    A message that only a call has named is nobody's before its text opens.
    """
    return entity is not None and entity.run == len(state.session.runs) and (key[0] != TEXT or entity.started)


def check_tag(state: State, event: Any, key: Key, entity: Any) -> State:
    """Flag a continuation whose tag disagrees with its opener's; no tag never does (spec: events/subagents)."""
    return state if event.subagent_run_id is None else established(state, event, key, entity)[0]


def established(state: State, event: Any, key: Key, entity: Any) -> tuple[State, Owner]:
    """Return whose `key` is in this run, by what said it first, which may be `event`; flag an event that disagrees."""
    tag, known = event.subagent_run_id, on_record(state, key, entity)
    if known is None:
        return state, tag
    if tag is not None and tag != known[0]:
        state = flag_owner(state, event, f"{key[0]} {key[1]!r}", known[0])
    return state, known[0]


def flag_owner(state: State, event: Any, what: str, owner: Owner) -> State:
    """Flag that the tag of `event` disagrees with whose `what` is."""
    says, has = (tag if tag is not None else "the parent agent" for tag in (event.subagent_run_id, owner))
    return flag(state, event, "attribution-mismatch", f"{says!r} on {what}, which belongs to {has!r}")


def cut(state: State, owner: Owner, kind: str) -> Conversation:
    """An entity of `kind` opens in the lane of `owner`: rows of other kinds there stop being current."""
    conversation, now = state.conversation, state.position
    lane = lane_of(conversation, owner)
    if kind == TEXT:
        lane = Lane(lane.text, now)
    elif kind == REASONING:
        lane = Lane(now, lane.reasoning, lane.groups, lane.latest)
    elif kind == CALL:
        lane = Lane(now, now, lane.groups, lane.latest)
    else:
        lane = Lane(now, now)
    return conversation._replace(lanes=assoc(conversation.lanes, owner, lane), opened=now)


def is_cut(conversation: Conversation, message: Message, first: int) -> bool:
    """Say whether the row of `message` that began at `first` is no longer current."""
    lane = lane_of(conversation, message.owner)
    return first < (lane.text if message.kind == TEXT else lane.reasoning)


def close_row(entry: Entry) -> Entry:
    """Move the current row, if there is one, to the message's rows."""
    message, first, last, rope = entry
    if first < 0:
        return entry
    rows = message.rows.append(Row(first, last, rope))
    return Entry(message._replace(rows=rows), -1, last)


def open_row(state: State, key: Key, entry: Entry) -> tuple[State, Entry]:
    """Give the message a new current row at the end of the timeline."""
    conversation = state.conversation
    conversation = conversation._replace(timeline=conversation.timeline.append(key))
    entry = close_row(entry)
    state = state._replace(conversation=conversation)
    return state, Entry(entry.entity, state.position, state.position)


def write(state: State, key: Key, entry: Entry, delta: str) -> State:
    """Append `delta` to the current row of an open message, or to a new one where that was cut."""
    if delta and (entry.first < 0 or is_cut(state.conversation, entry.entity, entry.first)):
        state, entry = open_row(state, key, entry)
    message = entry.entity if entry.entity.spoken else entry.entity._replace(spoken=True)
    written = Entry(message, entry.first, state.position, append(entry.rope, delta, state.position))
    return store(state, key, written, is_open=True)


def holders(state: State, name: str) -> list[Key]:
    """Return the keys of the messages, the first of each kind, under the message id `name`."""
    return [key for key in named(state.conversation.index, name) if find(state, key) is not None]


def identified(index: Index[Any, Any], key: Key) -> Index[Any, Any]:
    """Return `index` in which the id of the message `key` leads to it, unless to another one of its kind already."""
    known = named(index, key[1])
    if any(other[0] == key[0] for other in known):
        return index
    return index.put(key[1], tuple(sorted((*known, key))) if known else key)


def names_of(keys: Iterable[Key]) -> dict[str, Key | tuple[Key, ...]]:
    """Return what the index has of the ids of the messages `keys`; of one kind under one id the first counts."""
    found: dict[str, dict[str, Key]] = {}
    # A text with a role in its key was made beside another one, though that may have come to show after it.
    for key in sorted(keys, key=_is_beside):
        found.setdefault(key[1], {}).setdefault(key[0], key)
    several = {name: tuple(sorted(kinds.values())) for name, kinds in found.items()}
    return {name: keys[0] if len(keys) == 1 else keys for name, keys in several.items()}


def _is_beside(key: Key) -> bool:
    return key[0] == TEXT and len(key) > 2


def flag_shared(state: State, event: Any, key: Key) -> State:
    """Flag that another kind of message stands under the id of the message `key` that opens now."""
    others = [other[0] for other in holders(state, key[1]) if other != key]
    if others:
        return flag(state, event, "shared-id", f"{key[0]} {key[1]!r} beside {', '.join(others)}")
    return state


def claim(state: State, kind: str, entity: Any) -> tuple[State, Any]:
    """Give a new entity the encrypted value that arrived before it, if one did."""
    conversation = state.conversation
    kept = conversation.unclaimed.get((kind, entity.id))
    if kept is None:
        return state, entity
    conversation = conversation._replace(unclaimed=dissoc(conversation.unclaimed, (kind, entity.id)))
    state = state._replace(conversation=conversation)
    return state, entity._replace(value=kept[0], value_type=kept[1])


def close_all(state: State) -> State:
    """A run boundary: whatever is open closes, all rows and groups are cut, and nothing is in scope."""
    index, now = state.conversation.index.put_all(opened(state)), state.position
    base = Lane(now, now)
    conversation = state.conversation._replace(index=index, streams=None, lanes={}, opened=now, base=base)
    return made(now, None, NO_PEN, {}, (), conversation, state.session._replace(scope=Scope()))
