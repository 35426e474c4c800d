"""Whole messages: MESSAGES_SNAPSHOT, an echoed input, a stored thread (spec: events/state).

A snapshot replaces, in place, what it restates, appends what is new and drops what it leaves out, but for activities
and reasoning that the producer does not track. May change: the conversation and `live`, as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pyrsistent import pvector

from reducer._cases._entities import (
    find,
    flag,
    identified,
    is_gone,
    names_of,
    on_record,
)
from reducer._cases._group import retire
from reducer._cases._mark import marked
from reducer._cases._stated import key_of, settle, stated
from reducer._index import (
    Index,
    assoc,
)
from reducer._live import with_all
from reducer._order import (
    Conversed,
    Shown,
    grouped,
    merged_order,
    streamed_names,
    streamed_order,
)
from reducer._records import ACTIVITY, CALL, REASONING, RESULT, TEXT, Cuts, Entry, Key, Message, Owner, Settled
from reducer._run import scoped
from reducer._state import State, closed, lane_of, opened

OWNED = "authoritativeActivityTypes"


def messages_snapshot(state: State, event: Any) -> State:
    """Reconcile by id: restated messages in place, new ones at the end, the others dropped; the stream goes on."""
    told: dict[Key, Any] = {}
    ids: set[str] = set()
    for message in event.messages:
        key = key_of(message)
        if key[1] in ids:
            state = flag(state, event, "duplicate-id", repr(key[1]))
            if key in told and told[key]["role"] != message["role"]:
                key = (TEXT, key[1], message["role"])
        ids.add(key[1])
        told[key] = message
    return marked(_reconcile(state, told, _client_only(event.metadata, told)), event.metadata)


def _client_only(metadata: Any, told: dict[Key, Any]) -> Callable[[Key, Any], bool]:
    """Say which messages survive though the snapshot leaves them out: activities and reasoning it does not declare.

    The reference client lets a snapshot name the activity types it owns: `null` owns all, a list its types, anything
    else none; without that a snapshot that holds an activity owns all.
    """
    roles = {message["role"] for message in told.values()}
    owned: Any = None if "activity" in roles else ()
    about = metadata.get("@ag-ui/client", owned) if metadata else owned
    if metadata and "@ag-ui/client" in metadata:
        if not isinstance(about, dict):
            owned = ()
        elif OWNED in about:
            types = about[OWNED]
            listed = isinstance(types, list) and all(isinstance(kind, str) for kind in types)
            owned = None if types is None else frozenset(types) if listed else ()

    def survives(key: Key, entity: Any) -> bool:
        if key[0] == ACTIVITY:
            return owned is not None and entity.type not in owned
        return key[0] == REASONING and "reasoning" not in roles

    return survives


def _reconcile(state: State, told: dict[Key, Any], survives: Callable[[Key, Any], bool]) -> State:
    """Make the conversation what the messages `told` and the survivors say."""
    look = Conversed(state)
    before = {**closed(state.conversation), **opened(state)}

    def stays(key: Key) -> bool:
        return key in told or (key in before and survives(key, before[key].entity))

    merged = merged_order(look)
    instead = {**_readdressed(look, told), **_instead(state, merged, told, before)}
    order = [instead.get(key, key) for key in merged if key in instead or stays(key)]
    timeline = _timeline(look, told, stays, instead)
    seen = set(timeline)
    held = set(order)
    order += [key for key in told if key not in held]
    timeline += [key for key in told if key not in seen]
    entities = {key: entry for key, entry in before.items() if key not in told and key[0] != CALL and stays(key)}
    calls = {key: entry for key, entry in before.items() if key[0] == CALL and entry.entity.place is None}
    fresh: dict[Key, Entry] = {}
    for key, message in told.items():
        state, found = stated(state, key, message, before, fresh)
        fresh.update(found)
    entities = {**calls, **entities, **fresh}
    live: dict[Key, Entry] = {}
    for key, entry in opened(state).items():
        live[key] = entities.pop(key) if key in entities else _emptied(entry)
    now = state.position
    conversation = state.conversation._replace(
        timeline=pvector(timeline),
        index=Index.of(entities | names_of([*timeline, *(key for key in (*entities, *live) if key[0] != CALL)])),
        settled=Settled(tuple(order), len(timeline), now),
        early={},
        lanes=_lanes(state, {**entities, **live}, live),
    )
    state = with_all(state._replace(conversation=conversation), live)
    return _remembered(settle(state, timeline, {**entities, **live}), before)


def _lanes(state: State, entities: Mapping[Key, Entry], live: Mapping[Key, Entry]) -> Mapping[Owner, Cuts]:
    """Return the lanes, where a restated message that is open is a group that calls may join, and no other is."""
    conversation = state.conversation
    groups: dict[Owner, dict[Key, int]] = {}
    for key in grouped(entities):
        if key in live:
            groups.setdefault(live[key].entity.owner, {})[key] = 0
    lanes = conversation.lanes
    for owner in {**lanes, **groups}:
        lane, current = lane_of(conversation, owner), groups.get(owner, {})
        lane = lane._replace(groups=current, latest=lane.latest if lane.latest in current else None)
        lanes = assoc(lanes, owner, lane)
    return lanes


def _remembered(state: State, before: dict[Key, Entry]) -> State:
    """Keep whose the dropped messages and calls were: within its run an id stays its owner's."""
    here = len(state.session.runs)
    known = [(key, entry.entity) for key, entry in before.items() if key[0] != RESULT and entry.entity.run == here]
    left = [(key, entity) for key, entity in known if (entry := find(state, key)) is None or is_gone(entry)]
    # Of those that share an id it is the last one's that counts, which has the shorter key.
    left.sort(key=_in_turn)
    gone = [(key[:2], on_record(state, key, entity)) for key, entity in left]
    owners = {key: owner[0] for key, owner in gone if owner is not None}
    return scoped(state, owners={**state.session.scope.owners, **owners}) if owners else state


def _in_turn(one: tuple[Key, Any]) -> tuple[int, Key]:
    return -len(one[0]), one[0]


def _readdressed(look: Conversed, told: dict[Key, Any]) -> dict[Key, Key]:
    """Return which results the snapshot restates, by their ids, as results of other calls."""
    gone: dict[str, list[Key]] = {}
    for key in reversed(look.timeline):
        if key[0] == RESULT and key not in told:
            gone.setdefault(key[1], []).append(key)
    fresh = [key for key in told if key[0] == RESULT and key not in look.entries]
    return {gone[key[1]].pop(): key for key in fresh if gone.get(key[1])}


def _instead(state: State, order: list[Key], told: dict[Key, Any], before: dict[Key, Entry]) -> dict[Key, Key]:
    """Return which new message takes the place of one that a broken-off run left behind under an id of its own.

    A run that was cut off never told the ids that the producer stored its messages under. Where the snapshot has, after
    the same message, one of the same role that is new, it is that one.
    """
    runs = state.session.runs
    if all(run.status != "truncated" for run in runs):
        return {}
    follows: dict[Key | None, Key] = {}
    last: Key | None = None
    for key in told:
        if key not in before:
            follows[last] = key
        last = key
    instead: dict[Key, Key] = {}
    last = None
    for key in order:
        entry = before.get(key)
        successor = follows.get(last)
        if entry is not None and key not in told and successor is not None and isinstance(entry.entity, Message):
            run, role = entry.entity.run, told[successor]["role"]
            if run > 0 and runs[run - 1].status == "truncated" and role == entry.entity.role:
                instead[key] = successor
        last = instead.get(key, key)
    return instead


def _timeline(
    look: Conversed, told: dict[Key, Any], stays: Callable[[Key], bool], instead: dict[Key, Key]
) -> list[Key]:
    """Return the rows that are left: one for each restated message, all rows of what survives."""
    derived: dict[tuple[Key, int], list[Key]] = {}
    for key, message in _derived(look).items():
        # What a server read off the STREAMED layout comes back under the ids that were made there.
        if key in told:
            derived.setdefault((message.key, message.ordinal), []).append(key)
    timeline: list[Key] = []
    placed: set[Key] = set()
    counts: dict[Key, int] = {}
    for key in look.timeline:
        ordinal = counts[key] = counts.get(key, -1) + 1
        found = [key] if stays(key) else [instead[key]] if key in instead else []
        found += derived.get((key, ordinal), ())
        if key[0] == TEXT:
            homes = [(TEXT, look.entries[call].entity.home) for call in look.calls(key, ordinal)]
            found += [home for home in homes if home in told]
        for one in found:
            if one in told and one not in placed:
                placed.add(one)
                timeline.append(one)
            elif one == key and one not in told:
                timeline.append(one)
    return timeline


def _derived(look: Conversed) -> dict[Key, Shown]:
    """Return what the STREAMED layout shows under other ids than its own, by what a message of that id would be."""
    shown = streamed_order(look)
    named = zip(shown, streamed_names(look, shown), strict=True)
    # The call of a result is part of its key; the role of a text is not.
    found = {(one.key[0], name, *(one.key[2:] if one.key[0] == RESULT else ())): one for one, name in named}
    return {key: one for key, one in found.items() if key != one.key}


def _emptied(entry: Entry) -> Entry:
    """What a snapshot dropped while it was open stays open, with nothing to show."""
    if isinstance(entry.entity, Message):
        entity = entry.entity._replace(rows=pvector(), parts=None, spoken=False, stated=False)
        return Entry(entity._replace(value=None, value_type=None, metadata=None), -1, entry.last)
    call = entry.entity._replace(place=None, rank=0, echo=None, value=None, value_type=None, metadata=None)
    return Entry(call, entry.first, entry.last)


def _is_home(state: State, key: Key) -> bool:
    """Say whether the message is one that a call without a parent makes for the specification's consumer."""
    call = find(state, (CALL, key[1])) if key[0] == TEXT else None
    return call is not None and call.entity.place is not None and call.entity.home == key[1]


def append_unknown(state: State, messages: Iterable[Any]) -> State:
    """Append the messages that the thread does not hold yet, under their own ids or those that it shows them under."""
    fresh: dict[Key, Any] = {}
    for message in messages:
        key = key_of(message)
        if key not in fresh and find(state, key) is None and not _is_home(state, key):
            fresh[key] = message
    if not fresh:
        return state
    # Derived ids have a mark in them, so that most threads need not be laid out to know them.
    if any("#" in key[1] for key in fresh):
        derived = _derived(Conversed(state))
        fresh = {key: message for key, message in fresh.items() if key not in derived}
    entities: dict[Key, Entry] = {}
    for key, message in fresh.items():
        for call in message.get("toolCalls") or ():
            called = find(state, (CALL, call["id"]))
            if called is not None and called.entity.place is not None:
                state = retire(state, (CALL, call["id"]), called)
        state, found = stated(state, key, message, {}, entities)
        entities.update(found)
    conversation = state.conversation
    timeline, index = conversation.timeline.extend(fresh), conversation.index.put_all(entities)
    for key in fresh:
        index = identified(index, key)
    state = state._replace(conversation=conversation._replace(timeline=timeline, index=index))
    return settle(state, fresh, entities)
