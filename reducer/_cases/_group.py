"""Which message a tool call belongs to, and which row shows it.

Calls of one lane without a parent share the lane's latest current group. A parent's current text row becomes a group
when a call joins it, and is cut for text; else the call joins the parent's current group, or opens one under that id.
"""

from __future__ import annotations

from typing import Any

from reducer._cases._entities import (
    claim,
    close_row,
    cut,
    find,
    flag,
    holders,
    indexed,
    is_cut,
    is_gone,
    merged,
    open_row,
    store,
    update,
)
from reducer._cases._message import create
from reducer._index import assoc, dissoc
from reducer._live import without
from reducer._records import CALL, TEXT, Call, Entry, Key, Lane, Owner, Row
from reducer._state import Conversation, State, lane_of


def place(
    state: State, event: Any, key: Key, shell: Entry | None, tool: str, *, parent: str | None, tag: Owner
) -> State:
    """Open the call `key` where it belongs; `shell` holds the arguments that came before its start, if any.

    `tag` is what its continuations have to agree with.
    """
    name, now = key[1], state.position
    state, home, owner = _home(state, event, name, parent)
    lane = lane_of(state.conversation, owner)
    target = _target(state, lane, home, parent)
    message = find(state, target)
    if message is not None:
        # A row is in its message's lane, whoever calls in it.
        owner = message.entity.owner
        if message.entity.role != "assistant":
            # It was another's, which a snapshot has dropped.
            message = message._replace(entity=message.entity._replace(role="assistant", name=None))
        lane = lane_of(state.conversation, owner)
    before = state.conversation
    state = state._replace(conversation=cut(state, owner, CALL))
    if shell is None:
        call = Call(name, tool, home, owner, owner, len(state.session.runs))
        state, call = claim(state, "tool-call", call)
        shell = Entry(call, now, now)
    if message is None:
        state, message = create(state, event, target, role="assistant", owner=owner)
    ordinal = _row(before, lane, target, message, parent)
    if ordinal is None:
        state, message = _opened(state, target, message)
        ordinal = len(message.entity.rows) - 1
    if lane.groups.get(target) != ordinal:
        lanes = state.conversation.lanes
        lane = lane_of(state.conversation, owner)._replace(groups=assoc(lane.groups, target, ordinal), latest=target)
        state = state._replace(conversation=state.conversation._replace(lanes=assoc(lanes, owner, lane)))
    if ("message", home) in state.conversation.unclaimed:
        state = own_message(state, event, home, owner)
    # A result that came before its call is that call's.
    early = state.conversation.early
    call = shell.entity._replace(
        answered=name in early,
        name=tool,
        home=home,
        owner=owner,
        tag=tag,
        run=len(state.session.runs),
        place=(target, ordinal),
        metadata=merged(shell.entity.metadata, event.metadata),
    )
    state = state._replace(conversation=state.conversation._replace(early=dissoc(early, name)))
    return store(state, key, Entry(call, now, now, shell.rope), is_open=True)


def _home(state: State, event: Any, name: str, parent: str | None) -> tuple[State, str, Owner]:
    """Return the id of the message that holds the call, and the call's owner, which is that message's."""
    tag = event.subagent_run_id
    if parent is None:
        return state, name, tag
    if not serves(state, parent):
        return flag(state, event, "parent-not-assistant", repr(parent)), name, tag
    held = find(state, (TEXT, parent))
    return state, parent, tag if held is None else held.entity.owner


def serves(state: State, parent: str) -> bool:
    """Say whether the message `parent` may hold calls: an assistant message, or one that nothing has said a word of."""
    held = find(state, (TEXT, parent))
    return held.entity.role == "assistant" if held is not None else not holders(state, parent)


def _target(state: State, lane: Lane, home: str, parent: str | None) -> Key:
    """Return the message whose row shows the call."""
    if parent is None and lane.latest is not None:
        return lane.latest
    key: Key = (TEXT, home)
    held = find(state, key)
    beside = held is not None and held.entity.role != "assistant" and not is_gone(held)
    return (TEXT, home, "assistant") if beside else key


def _row(before: Conversation, lane: Lane, target: Key, entry: Entry, parent: str | None) -> int | None:
    """Return which row of the message `target` the call joins, as things stood `before`; `None` where it opens one."""
    group = lane.groups.get(target)
    # Without a parent it is the group that the call joins, whatever text its message has gone on with.
    if group is not None and parent is None and target == lane.latest:
        return group
    if entry.first >= 0 and not is_cut(before, entry.entity, entry.first):
        return len(entry.entity.rows)
    return group


def own_message(state: State, event: Any, name: str, owner: Owner) -> State:
    """Make the message of a call that only the specification's consumer has had: an encrypted value names it."""
    key: Key = (TEXT, name)
    if find(state, key) is not None:
        return state
    state, entry = create(state, event, key, role="assistant", owner=owner)
    state, entry = open_row(state, key, entry)
    return store(state, key, entry, is_open=False)


def _opened(state: State, target: Key, entry: Entry) -> tuple[State, Entry]:
    """Open a row of the message that holds calls alone."""
    conversation, now = state.conversation, state.position
    state = state._replace(conversation=conversation._replace(timeline=conversation.timeline.append(target)))
    entry = close_row(entry)
    entry = Entry(entry.entity._replace(rows=entry.entity.rows.append(Row(now, now))), -1, now)
    return update(state, target, entry), entry


def retire(state: State, key: Key, entry: Entry) -> State:
    """Make way for another call under an id that is in use: the one before goes on under a key of its own, closed."""
    state = store(without(state, key), (*key, entry.entity.home), entry, is_open=False)
    return indexed(state, key, None)


def revived(state: State, key: Key, entry: Entry, home: str) -> tuple[State, Entry] | None:
    """Give the id of `key` back to the call that had it before and that the message `home` holds, if there is one."""
    before = find(state, (*key, home))
    if before is None:
        return None
    state = indexed(retire(state, key, entry), (*key, home), None)
    return store(state, key, before, is_open=False), before
