"""Which message a tool call belongs to, and which row shows it.

Calls of one lane without a parent share the lane's latest current group. A parent's current text row becomes a group
when a call joins it, and is cut for text; else the call joins the parent's current group, or opens one under that id.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from pyrsistent import pvector

from reducer._cases._entities import TOP, claim, close_row, cut, find, flag, holders, is_cut, merged, store, update
from reducer._cases._message import create
from reducer._index import assoc, dissoc
from reducer._state import CALL, TEXT, Call, Entry, Key, Lane, Message, Owner, Row, State


def place(
    state: State, event: Any, key: Key, shell: Entry | None, tool: str, *, parent: str | None, tag: Owner
) -> State:
    """Open the call `key` where it belongs; `shell` holds the arguments that came before its start, if any.

    `tag` is what its continuations have to agree with.
    """
    name, now = key[1], state.position
    if not all(isinstance(text, str) for text in (name, tool)):
        raise TypeError("a call's id and name are strings")
    state, home, owner = _home(state, event, name, parent)
    lane = state.conversation.lanes.get(owner) or TOP
    before, target = state, _target(state, lane, home, parent)
    state = State(now, state.live, cut(state, owner, CALL), state.session)
    if shell is None:
        call = Call(name, tool, home, owner, owner, len(state.session.runs))
        state, call = claim(state, "tool-call", call)
        shell = Entry(call, now, now)
    message = find(state, target)
    if message is None:
        state, message = create(state, event, target, role="assistant", owner=owner)
    state, message, fresh = _join(before, state, lane, target, message, key)
    call = shell.entity._replace(
        name=tool,
        home=home,
        owner=owner,
        tag=tag,
        run=len(state.session.runs),
        place=(target, message.entity.group),
        metadata=merged(shell.entity.metadata, event.metadata),
    )
    state = update(state, target, message)
    if fresh:
        lanes = state.conversation.lanes
        lane = (lanes.get(owner) or TOP)._replace(latest=target)
        conversation = state.conversation._replace(lanes=assoc(lanes, owner, lane))
        state = State(now, state.live, conversation, state.session)
    return store(state, key, Entry(call, now, now, shell.rope), is_open=True)


def _home(state: State, event: Any, name: str, parent: str | None) -> tuple[State, str, Owner]:
    """Return the id of the message that holds the call, and the call's owner, which is that message's."""
    tag = event.subagent_run_id
    if parent is None:
        return state, name, tag
    held = find(state, (TEXT, parent))
    if held is None:
        if not holders(state, parent):
            return state, parent, tag
    elif held.entity.role == "assistant":
        return state, parent, held.entity.owner
    return flag(state, event, "parent-not-assistant", repr(parent)), name, tag


def _target(state: State, lane: Lane, home: str, parent: str | None) -> Key:
    """Return the message whose row shows the call."""
    if parent is None and lane.latest is not None:
        latest = find(state, lane.latest)
        if latest is not None and latest.entity.group >= 0:
            return lane.latest
    key: Key = (TEXT, home)
    held = find(state, key)
    return key if held is None or held.entity.role == "assistant" else (TEXT, home, "assistant")


def _join(before: State, state: State, lane: Lane, target: Key, entry: Entry, call: Key) -> tuple[State, Entry, bool]:
    """Put the call into a row of its message; say whether that row is a group only now."""
    now = state.position
    message: Message = entry.entity
    if entry.first >= 0 and not is_cut(before.conversation, message, entry.first):
        entry = close_row(entry)
        message = entry.entity
        ordinal = len(message.rows) - 1
        row = message.rows[ordinal]._replace(last=now, calls=pvector([call]), since=now)
        return state, _with_row(entry, ordinal, row), True
    if message.group >= 0 and message.rows[message.group].since > lane.group:
        row = message.rows[message.group]
        calls = row.calls if row.calls is not None else pvector()
        return state, _with_row(entry, message.group, row._replace(last=now, calls=calls.append(call))), False
    entry = close_row(entry)
    conversation = state.conversation._replace(timeline=state.conversation.timeline.append(target))
    state = State(now, state.live, conversation, state.session)
    message = entry.entity._replace(rows=entry.entity.rows.append(Row(now, now)))
    row = Row(now, now, None, pvector([call]), now)
    return state, _with_row(entry._replace(entity=message), len(message.rows) - 1, row), True


def _with_row(entry: Entry, ordinal: int, row: Row) -> Entry:
    message = entry.entity._replace(rows=entry.entity.rows.set(ordinal, row), group=ordinal)
    return Entry(message, entry.first, row.last, entry.rope)


def _first(state: State, key: Key) -> int:
    entry = find(state, key)
    assert entry is not None
    return entry.first


def retire(state: State, key: Key, entry: Entry) -> State:
    """Make way for a new call under an id that is in use: the old one goes on under a key of its own."""
    old: Key = (*key, str(entry.first))
    holder, ordinal = entry.entity.place
    state = store(state, old, entry, is_open=False)
    message = find(state, holder)
    if message is not None:
        row = message.entity.rows[ordinal]
        # The calls of a row stand in the order in which they opened; those of a snapshot opened all at once.
        place = row.calls.index(key, bisect_left(row.calls, entry.first, key=lambda call: _first(state, call)))
        row = row._replace(calls=row.calls.set(place, old))
        rows = message.entity.rows.set(ordinal, row)
        state = update(state, holder, message._replace(entity=message.entity._replace(rows=rows)))
    return State(state.position, dissoc(state.live, key), state.conversation, state.session)
