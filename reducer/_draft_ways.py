"""How ordinary events go into a draft: each as the short way of its type, with the same questions.

A way returns whether it took the event in. Where it did not, it has changed nothing, and the event is folded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from reducer import _short_state
from reducer._draft import Draft, Writing
from reducer._index import SMALL
from reducer._short import NO_ROWS, ROLES, TOOL, reader
from reducer._short_value import with_value
from reducer._state import (
    ACTIVITY,
    CALL,
    REASONING,
    RESULT,
    TEXT,
    Call,
    Entry,
    Key,
    Message,
    Result,
    Row,
)

Way: TypeAlias = "Callable[[Draft, int, Any], bool]"

_new: Callable[[type, tuple[Any, ...]], Any] = tuple.__new__


def start(kind: str, *, sdk: bool) -> Way:
    """Open a text or reasoning message that is new."""
    roles, is_text = ROLES[kind], kind == TEXT
    read = reader(sdk, "message_id", "role", *(("name",) if is_text else ()))

    def open_message(draft: Draft, position: int, event: Any) -> bool:
        tag, metadata, name, role, *named = read(event.__dict__ if sdk else event)
        key: Key = (kind, name)
        speaker = named[0] if is_text else None
        if (
            not draft.is_ready
            or type(name) is not str
            or (role is not None and type(role) is not str)
            or role not in roles
            or (speaker is not None and type(speaker) is not str)
            or metadata is not None
            or (tag is not None and type(tag) is not str)
            or (event.__pydantic_extra__ if sdk else event.notes)
            or (draft.owners and draft.owners.get(key, tag) != tag)
            or (not is_text and draft.spans and draft.spans.get(name, tag) != tag)
            or name in draft.index
            or (draft.is_late and draft.before(name) is not None)
        ):
            return False
        text, _, groups, latest = draft.lanes.get(tag) or draft.lane(tag)
        draft.lanes[tag] = (text, position, {}, None) if is_text else (position, _, groups, latest)
        role = role or "assistant"
        said = (kind, name, role, speaker, tag, tag, draft.run, True, True, False, None, None, None, None, NO_ROWS)
        draft.open[key] = Writing(_new(Message, said), position, position)
        draft.rows.append(key)
        draft.index[name] = key
        draft.opened = position
        return True

    return open_message


def content(kind: str) -> Way:
    """Gather a decoded delta; `fold_all` itself gathers the SDK's."""
    is_call = kind == CALL

    def gather(draft: Draft, position: int, event: Any) -> bool:
        if event.metadata is not None or event.notes:
            return False
        name = event.tool_call_id if is_call else event.message_id
        return draft.gathered(position, kind, name, event.delta, event.subagent_run_id)

    return gather


def end(kind: str, *, sdk: bool) -> Way:
    """Close an open message or call."""
    is_call = kind == CALL
    read = reader(sdk, "tool_call_id" if is_call else "message_id")

    def close(draft: Draft, position: int, event: Any) -> bool:
        tag, metadata, name = read(event.__dict__ if sdk else event)
        key: Key = (kind, name)
        one = draft.open.get(key) or draft.writing(key)
        if (
            one is None
            or not draft.is_plain
            or metadata is not None
            or (tag is not None and type(tag) is not str)
            or (event.__pydantic_extra__ if sdk else event.notes)
        ):
            return False
        if (tag is not None and not (one.quiet and tag == one.tag)) or not (one.quiet or (not is_call and draft.run)):
            return False
        draft.index[key] = _new(Entry, (one.entity, one.first, position, one.written()))
        del draft.open[key]
        if one.place >= 0:
            draft.closed.add(key)
        return True

    return close


def call(*, sdk: bool) -> Way:
    """Open a new call: in its parent's current row or group, in its lane's latest group, or in a group of its own."""
    read = reader(sdk, "tool_call_id", "tool_call_name", "parent_message_id")

    def open_call(draft: Draft, position: int, event: Any) -> bool:
        tag, metadata, name, tool, parent = read(event.__dict__ if sdk else event)
        key: Key = (CALL, name)
        owners, index, is_new = draft.owners, draft.index, False
        if (
            not draft.is_ready
            or draft.is_early
            or type(name) is not str
            or type(tool) is not str
            or (parent is not None and type(parent) is not str)
            or metadata is not None
            or (tag is not None and type(tag) is not str)
            or (event.__pydantic_extra__ if sdk else event.notes)
            or (owners and key in owners)
            or key in index
            or draft.writing(key) is not None
            or (draft.is_late and draft.before(key) is not None)
        ):
            return False
        text, _, groups, latest = draft.lanes.get(tag) or draft.lane(tag)
        holder: Key = (TEXT, parent) if parent is not None else latest or (TEXT, name)
        group = groups.get(holder)
        row: Entry | None = None
        if group is None or parent is not None:
            if draft.entry(holder[1]) is None:
                if owners and holder in owners:
                    return False
                said = (TEXT, holder[1], "assistant", None, tag, tag, draft.run, False, False, False)
                message = _new(
                    Message, (*said, None, None, None, None, NO_ROWS.append(_new(Row, (position, position, None))))
                )
                group, row, is_new = 0, _new(Entry, (message, -1, position, None)), True
            else:
                one, entry = draft.writing(holder), draft.entry(holder)
                if one is None and entry is None:
                    return False
                message, first = (one.entity, one.first) if one is not None else entry[:2]
                if (
                    message.role != "assistant"
                    or message.owner != tag
                    or (parent is not None and message.started and (message.tag != tag or message.run != draft.run))
                    or (owners and holder in owners)
                    or (first < 0 and not message.rows)
                ):
                    return False
                if first >= text and first >= 0:
                    group = len(message.rows)
                elif group is None:
                    if one is not None:
                        return False
                    rows = message.rows if first < 0 else message.rows.append(_new(Row, entry[1:4]))
                    group = len(rows)
                    message = _new(Message, (*message[:-1], rows.append(_new(Row, (position, position, None)))))
                    row = _new(Entry, (message, -1, position, None))
        if groups.get(holder) != group:
            if len(groups) >= SMALL:
                return False
            groups, latest = {**groups, holder: group}, holder
        if row is not None:
            if is_new:
                index[holder[1]] = holder
            index[holder] = row
            draft.rows.append(holder)
        home = name if parent is None else parent
        called = (name, tool, home, tag, tag, draft.run, (holder, group), 0, False, None, None, None, None, False)
        draft.open[key] = Writing(_new(Call, called), position, position)
        draft.lanes[tag] = (position, position, groups, latest)
        draft.opened = position
        return True

    return open_call


def result(*, sdk: bool) -> Way:
    """Add a new result of text for a call that is closed and has none."""
    read = reader(sdk, "message_id", "tool_call_id", "content", "role")

    def add_result(draft: Draft, position: int, event: Any) -> bool:
        tag, metadata, name, answers, said, role = read(event.__dict__ if sdk else event)
        if (
            not draft.is_ready
            or draft.is_asked
            or type(said) is not str
            or type(name) is not str
            or type(answers) is not str
            or role not in TOOL
            or metadata is not None
            or (tag is not None and type(tag) is not str)
            or (event.__pydantic_extra__ if sdk else event.notes)
        ):
            return False
        call_key: Key = (CALL, answers)
        answered = draft.entry(call_key)
        if answered is None or answered[0].answered or answered[0].place is None or draft.entry(name) is not None:
            return False
        key: Key = (RESULT, name, answers)
        told = (name, answers, tag, said, None, False, None, None, None, tag, draft.run)
        draft.index[key] = _new(Entry, (_new(Result, told), position, position, None))
        called, first, last, rope = answered
        draft.index[call_key] = _new(Entry, (_new(Call, (*called[:-1], True)), first, last, rope))
        draft.index[name] = key
        draft.lanes[tag] = (position, position, {}, None)
        draft.rows.append(key)
        draft.opened = position
        return True

    return add_result


def span(*, opens: bool, sdk: bool) -> Way:
    """Open or close a reasoning span."""
    read = reader(sdk, "message_id")

    def bracket(draft: Draft, _: int, event: Any) -> bool:
        tag, _metadata, name = read(event.__dict__ if sdk else event)
        spans: Any = draft.spans
        key: Key = (REASONING, name)
        if (
            not draft.is_plain
            or not draft.run
            or type(name) is not str
            or (tag is not None and type(tag) is not str)
            or (event.__pydantic_extra__ if sdk else event.notes)
            or type(spans) is not dict
            or len(spans) > SMALL - 1
        ):
            return False
        one = draft.writing(key)
        entity = one.entity if one is not None else None
        if one is None and (entry := draft.entry(key)) is not None:
            entity = entry[0]
        if opens:
            if name in spans or key in draft.owners or entity is not None:
                return False
            draft.spans = {**spans, name: tag}
            return True
        if name not in spans or (tag is not None and tag != spans[name]):
            return False
        if entity is None or entity.run != draft.run or (tag is not None and entity.tag != tag):
            return False
        draft.spans = {other: owner for other, owner in spans.items() if other != name}
        return True

    return bracket


def sealed(*, sdk: bool) -> Way:
    """Attach an encrypted value to the one entity that it can mean."""
    read = reader(sdk, "subtype", "entity_id", "encrypted_value")

    def attach(draft: Draft, position: int, event: Any) -> bool:
        tag, metadata, subtype, name, value = read(event.__dict__ if sdk else event)
        value_type = event.__dict__.get("encrypted_value_type") if sdk else event.encrypted_value_type
        if (
            not draft.run
            or subtype not in ("tool-call", "message")
            or type(name) is not str
            or type(value) is not str
            or (value_type is not None and type(value_type) is not str)
            or metadata is not None
            or (tag is not None and type(tag) is not str)
            or (event.__pydantic_extra__ if sdk else event.notes)
        ):
            return False
        key: Key | None = (CALL, name) if subtype == "tool-call" else draft.entry(name)
        if key is None or type(key[0]) is not str or key[0] == ACTIVITY:
            return False
        one = draft.writing(key)
        entry = None if one is not None else draft.entry(key)
        if one is not None:
            entity, first = one.entity, one.first
        elif entry is not None:
            entity, first = entry[:2]
        else:
            return False
        if (first < 0 and not entity.rows) or not (
            tag is None or (entity.run == draft.run and entity.tag == tag and (key[0] != TEXT or entity.started))
        ):
            return False
        entity = with_value(entity, value, value_type)
        if one is not None:
            one.entity, one.at, one.changed = entity, position, True
        elif entry is not None:
            draft.index[key] = _new(Entry, (entity, first, position, entry[3]))
        return True

    return attach


def shared(kind: str, *, sdk: bool) -> Way:
    """Replace or patch the shared state, which no text is asked about."""
    short = _short_state.SHORT[kind][0](sdk)

    def change(draft: Draft, _: int, event: Any) -> bool:
        after = short(draft.state, event)
        if after is None:
            return False
        draft.state = draft.state._replace(session=after.session)
        return True

    return change


WAYS: dict[str, Callable[[bool], Way]] = {
    "STATE_DELTA": lambda sdk: shared("STATE_DELTA", sdk=sdk),
    "STATE_SNAPSHOT": lambda sdk: shared("STATE_SNAPSHOT", sdk=sdk),
    "TEXT_MESSAGE_START": lambda sdk: start(TEXT, sdk=sdk),
    "TEXT_MESSAGE_CONTENT": lambda _: content(TEXT),
    "TEXT_MESSAGE_END": lambda sdk: end(TEXT, sdk=sdk),
    "REASONING_START": lambda sdk: span(opens=True, sdk=sdk),
    "REASONING_MESSAGE_START": lambda sdk: start(REASONING, sdk=sdk),
    "REASONING_MESSAGE_CONTENT": lambda _: content(REASONING),
    "REASONING_MESSAGE_END": lambda sdk: end(REASONING, sdk=sdk),
    "REASONING_END": lambda sdk: span(opens=False, sdk=sdk),
    "REASONING_ENCRYPTED_VALUE": lambda sdk: sealed(sdk=sdk),
    "TOOL_CALL_START": lambda sdk: call(sdk=sdk),
    "TOOL_CALL_ARGS": lambda _: content(CALL),
    "TOOL_CALL_END": lambda sdk: end(CALL, sdk=sdk),
    "TOOL_CALL_RESULT": lambda sdk: result(sdk=sdk),
}
"""The types that go into a draft."""
