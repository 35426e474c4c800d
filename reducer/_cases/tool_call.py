"""Tool calls: START (ARGS)* END, and RESULT, which is a message of its own (spec: events/tool-calls).

May change: `live`; of the conversation the timeline, the index, the lane's cuts and latest group, the values it
claims; of the session the interrupts that a result answers.
"""

from __future__ import annotations

from typing import Any

from reducer._cases._entities import (
    check_tag,
    claim,
    cut,
    established,
    find,
    flag,
    flag_owner,
    flag_shared,
    identified,
    merged,
    on_record,
    store,
    update,
)
from reducer._cases._group import place, retire, revived, serves
from reducer._frozen import freeze
from reducer._index import assoc
from reducer._records import CALL, RESULT, TEXT, Call, Entry, Key, Owner, Result
from reducer._run import with_session
from reducer._state import State, held
from reducer._text import append, text


def tool_call_start(state: State, event: Any) -> State:
    """Open a call in the message it belongs to, claim a shell that arguments left, or open a call again."""
    return start(state, event, event.tool_call_id, event.tool_call_name, event.parent_message_id)


def tool_call_args(state: State, event: Any) -> State:
    """Append to the call's arguments, which are kept as sent, valid JSON or not."""
    return args(state, event, event.tool_call_id, event.delta)


def tool_call_end(state: State, event: Any) -> State:
    """Close the call; its arguments are complete."""
    return end(state, event, event.tool_call_id)


def start(state: State, event: Any, name: str, tool: str, parent: str | None) -> State:
    """Open the call `name` of `tool`, in the message `parent` where that is given."""
    key: Key = (CALL, name)
    entry = find(state, key)
    if key in state.live:
        state = flag(state, event, "call-already-open", repr(name))
    state, owner = _owner(state, event, key, entry.entity if entry else None, parent)
    if entry is not None and entry.entity.place is not None:
        home = parent if parent is not None and serves(state, parent) else name
        if parent is None or not entry.entity.answered or home == entry.entity.home:
            return _again(state, event, key, entry, owner)
        older = revived(state, key, entry, home)
        if older is not None:
            return _again(older[0], event, key, older[1], owner)
        state = flag(retire(state, key, entry), event, "call-reused", repr(name))
        entry = None
    return place(state, event, key, entry, tool, parent=parent, tag=owner)


def _owner(state: State, event: Any, key: Key, call: Call | None, parent: str | None) -> tuple[State, Owner]:
    """Return whose the call is in this run: it inherits from the message that holds it, and has to agree with it."""
    tag, known = event.subagent_run_id, on_record(state, key, call)
    state, owner = established(state, event, key, call)
    if parent is None:
        return state, owner
    holder: Key = (TEXT, parent)
    entry = find(state, holder)
    held = on_record(state, holder, entry.entity if entry else None)
    if held is None:
        return state, owner
    if tag is None and known is None:
        return state, held[0]
    if held[0] != (owner if tag is None else tag):
        state = flag_owner(state, event, f"a call of {parent!r}", held[0])
    return state, owner


def _again(state: State, event: Any, key: Key, entry: Entry, owner: Owner) -> State:
    """A start for a call that has its place: it is neither doubled nor emptied; one that opens it again names it."""
    call, run = entry.entity, len(state.session.runs)
    tool = call.name if key in state.live else event.tool_call_name or call.name
    echo, metadata = 0 if call.stated else call.echo, merged(call.metadata, event.metadata)
    call = call._replace(name=tool, tag=owner, run=run, echo=echo, stated=False, metadata=metadata)
    return store(state, key, Entry(call, entry.first, state.position, entry.rope), is_open=True)


def args(state: State, event: Any, name: str, delta: str) -> State:
    """Append `delta` to the call `name`; for one that nothing opened keep a shell that a start may claim."""
    key: Key = (CALL, name)
    entry = find(state, key)
    if key not in state.live:
        state = flag(state, event, "call-not-open", repr(name))
    if entry is None:
        tag = event.subagent_run_id
        state, call = claim(state, "tool-call", Call(name, "", name, tag, tag, len(state.session.runs)))
        entry = Entry(call, state.position, state.position)
    call, first, _, rope = entry
    state = check_tag(state, event, key, call)
    if event.metadata is not None:
        call = call._replace(metadata=merged(call.metadata, event.metadata))
    if call.echo is not None:
        call, delta = _echoed(call, text(rope), delta)
    return store(state, key, Entry(call, first, state.position, append(rope, delta, state.position)), is_open=True)


def _echoed(call: Call, stated: str, delta: str) -> tuple[Call, str]:
    """A call known from a snapshot is streamed: what repeats the stated arguments word for word is the same text."""
    assert call.echo is not None
    so_far = call.echo + len(delta)
    if stated[call.echo : so_far] == delta:
        return call._replace(echo=so_far), ""
    return call._replace(echo=None), stated[: call.echo] + delta


def end(state: State, event: Any, name: str) -> State:
    """Close the call `name`."""
    key: Key = (CALL, name)
    entry = held(state, key)
    if entry is None:
        state = flag(state, event, "call-not-open", repr(name))
        entry = find(state, key)
        if entry is None or event.metadata is None:
            return state
    call, first, _, rope = entry
    state = check_tag(state, event, key, call)
    if event.metadata is not None:
        call = call._replace(metadata=merged(call.metadata, event.metadata))
    if call.echo is not None:
        stated = text(rope)
        # Only the whole of the stated arguments counts as said again; a part of them is an argument of its own.
        rope = rope if call.echo == len(stated) else append(rope, stated[: call.echo], state.position)
        call = call._replace(echo=None)
    return store(state, key, Entry(call, first, state.position, rope), is_open=False)


def tool_call_result(state: State, event: Any) -> State:
    """Add the tool message, or replace it where the same one is there; the call is answered."""
    name, call_id, owner = event.message_id, event.tool_call_id, event.subagent_run_id
    key: Key = (RESULT, name, call_id)
    content = freeze(event.content, ("content",))
    entry, run = find(state, key), len(state.session.runs)
    if entry is not None:
        metadata = merged(entry.entity.metadata, event.metadata)
        result = entry.entity._replace(content=content, metadata=metadata, tag=owner, run=run)
        return update(state, key, Entry(result, entry.first, state.position))
    state = flag_shared(state, event, key)
    result = Result(name, call_id, owner, content, metadata=merged(None, event.metadata), tag=owner, run=run)
    state, result = claim(state, "message", result)
    conversation = cut(state, owner, RESULT)
    state = state._replace(conversation=conversation)
    return answer(add_result(state, key, result), call_id)


def add_result(state: State, key: Key, result: Result) -> State:
    """Put a new result at the end of the timeline."""
    conversation, now = state.conversation, state.position
    index = conversation.index.put(key, Entry(result, now, now))
    timeline, index = conversation.timeline.append(key), identified(index, key)
    conversation = conversation._replace(timeline=timeline, index=index)
    return state._replace(conversation=conversation)


def answer(state: State, call_id: str) -> State:
    """Note that the call `call_id` has a result, which also retires the interrupts that concern it."""
    entry = find(state, (CALL, call_id))
    if entry is None or entry.entity.place is None:
        conversation = state.conversation
        state = state._replace(conversation=conversation._replace(early=assoc(conversation.early, call_id, True)))
    elif not entry.entity.answered:
        call = entry.entity._replace(answered=True)
        state = update(state, (CALL, call_id), entry._replace(entity=call))
    interrupts = state.session.interrupts.answered(call_id)
    return state if interrupts is state.session.interrupts else with_session(state, interrupts=interrupts)
