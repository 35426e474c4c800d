"""How ordinary events go into a draft: each as the short way of its type.

A way asks what the short way asks, but for how many of anything there may be. It returns whether it took the event in.
Where it did not, it has changed nothing, and the event is folded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from reducer import _short_state
from reducer._draft import Draft
from reducer._index import SMALL
from reducer._records import ACTIVITY, CALL, REASONING, RESULT, TEXT, Call, Closed, Key, Message, Result, Row, filled
from reducer._short import NO_ROWS, ROLES, TOOL
from reducer._short_value import with_value

Way: TypeAlias = "Callable[[Draft, int, Any], bool]"

_RUN, _PLACE, _VALUE = map(Call._fields.index, ("run", "place", "value"))


def start(kind: str, *, sdk: bool) -> Way:
    """Open a text or reasoning message that is new."""
    roles, is_text = ROLES[kind], kind == TEXT

    def open_message(draft: Draft, position: int, event: Any) -> bool:
        if sdk:
            fields, odd = event.__dict__, event.__pydantic_extra__
            name, role, speaker = fields["message_id"], fields["role"], fields["name"] if is_text else None
            tag, metadata = fields["subagent_run_id"], fields["metadata"]
        else:
            name, role, speaker = event.message_id, event.role, event.name if is_text else None
            tag, metadata, odd = event.subagent_run_id, event.metadata, event.notes
        key: Key = (kind, name)
        spans = draft.spans
        if (
            not draft.is_ready
            or type(name) is not str
            or (role is not None and type(role) is not str)
            or role not in roles
            or (speaker is not None and type(speaker) is not str)
            or metadata is not None
            or odd
            or (tag is not None and type(tag) is not str)
            or (draft.owners and draft.owners.get(key, tag) != tag)
            or (not is_text and (spans is None or (spans and spans.get(name, tag) != tag)))
            or name in draft.index
            or (draft.has_index and draft.indexed(name) is not None)
        ):
            return False
        lane = draft.lanes.get(tag) or draft.lane(tag)
        if is_text:
            lane.reasoning, lane.groups, lane.latest = position, {}, None
        else:
            lane.text = position
        role = role or "assistant"
        said = (kind, name, role, speaker, tag, tag, draft.run, True, True, False, None, None, None, None, NO_ROWS)
        draft.opens(key, filled(Message, said), tag, lane, position)
        draft.rows.append(key)
        draft.index[name] = key
        draft.opened = position
        return True

    return open_message


def end(kind: str, *, sdk: bool) -> Way:
    """Close an open message or call."""
    identity = "tool_call_id" if kind == CALL else "message_id"

    def close(draft: Draft, position: int, event: Any) -> bool:
        if sdk:
            fields, odd = event.__dict__, event.__pydantic_extra__
            name, tag, metadata = fields[identity], fields["subagent_run_id"], fields["metadata"]
        else:
            name, tag, metadata = getattr(event, identity), event.subagent_run_id, event.metadata
            odd = event.notes
        one = draft.open[kind].get(name) or draft.writing(kind, name)
        if one is None or metadata is not None or odd or not (tag is None or (type(tag) is str and tag == one.tag)):
            return False
        one.at = position
        if kind == CALL:
            one.pack()
            one.changed = True
            draft.ended[name] = one
        else:
            draft.index[one.key] = one.done()
        del draft.open[kind][name]
        if one.place >= 0:
            draft.closed.add(one.key)
        return True

    return close


def call(*, sdk: bool) -> Way:
    """Open a new call: in its parent's current row or group, in its lane's latest group, or in a group of its own."""

    def open_call(draft: Draft, position: int, event: Any) -> bool:
        if sdk:
            fields, odd = event.__dict__, event.__pydantic_extra__
            name, tool, parent = fields["tool_call_id"], fields["tool_call_name"], fields["parent_message_id"]
            tag, metadata = fields["subagent_run_id"], fields["metadata"]
        else:
            name, tool, parent = event.tool_call_id, event.tool_call_name, event.parent_message_id
            tag, metadata, odd = event.subagent_run_id, event.metadata, event.notes
        key: Key = (CALL, name)
        owners, index = draft.owners, draft.index
        if (
            not draft.is_ready
            or draft.has_early
            or type(name) is not str
            or type(tool) is not str
            or (parent is not None and type(parent) is not str)
            or metadata is not None
            or odd
            or (tag is not None and type(tag) is not str)
            or (owners and key in owners)
            or name in draft.ended
            or name in draft.open[CALL]
            or (draft.has_index and draft.indexed(key) is not None)
            or (draft.live and key in draft.live)
        ):
            return False
        lane = draft.lanes.get(tag) or draft.lane(tag)
        groups = lane.groups
        holder: Key = (TEXT, parent) if parent is not None else lane.latest or (TEXT, name)
        group = groups.get(holder)
        row: Closed | None = None
        is_new = False
        if group is None or parent is not None or lane.latest is None:
            if draft.entry(holder[1]) is None:
                if owners and holder in owners:
                    return False
                said = (TEXT, holder[1], "assistant", None, tag, tag, draft.run, False, False, False)
                message = filled(
                    Message, (*said, None, None, None, None, NO_ROWS.append(filled(Row, (position, position, None))))
                )
                group, row, is_new = 0, (message, -1, position, None), True
            else:
                one, entry = draft.open[TEXT].get(holder[1]) or draft.writing(TEXT, holder[1]), draft.entry(holder)
                if one is not None:
                    message, first = one.entity, one.first
                elif entry is not None:
                    message, first = entry[0], entry[1]
                else:
                    return False
                if (
                    message.role != "assistant"
                    or message.owner != tag
                    or (parent is not None and message.started and (message.tag != tag or message.run != draft.run))
                    or (owners and holder in owners)
                    # A snapshot has dropped it and it has ended: another one opens in its stead.
                    or (first < 0 and not message.rows)
                ):
                    return False
                if first >= lane.text and first >= 0:
                    group = len(message.rows)
                elif group is None:
                    if one is not None:
                        return False
                    # What the message has said, or the result of a call before, stands between: a row of its own.
                    rows = message.rows if first < 0 else message.rows.append(filled(Row, entry[1:4]))
                    group = len(rows)
                    message = filled(Message, (*message[:-1], rows.append(filled(Row, (position, position, None)))))
                    row = (message, -1, position, None)
        if groups.get(holder) != group:
            if len(groups) >= SMALL:
                return False
            # A new dict: the one that the lane had in front of the draft is a state's.
            groups = lane.groups = {**groups, holder: group}
            lane.latest = holder
        if row is not None:
            if is_new:
                index[holder[1]] = holder
            index[holder] = row
            draft.rows.append(holder)
        home = name if parent is None else parent
        called = (name, tool, home, tag, tag, draft.run, (holder, group), 0, False, None, None, None, None)
        draft.opens(key, called, tag, lane, position)
        lane.text = lane.reasoning = draft.opened = position
        return True

    return open_call


def result(*, sdk: bool) -> Way:
    """Add a new result of text for a call that is closed and has none."""

    def add_result(draft: Draft, position: int, event: Any) -> bool:
        if sdk:
            fields, odd = event.__dict__, event.__pydantic_extra__
            name, answers, said = fields["message_id"], fields["tool_call_id"], fields["content"]
            role, tag, metadata = fields["role"], fields["subagent_run_id"], fields["metadata"]
        else:
            name, answers, said, role = event.message_id, event.tool_call_id, event.content, event.role
            tag, metadata, odd = event.subagent_run_id, event.metadata, event.notes
        if (
            not draft.is_ready
            or draft.has_interrupts
            or type(said) is not str
            or type(name) is not str
            or type(answers) is not str
            or role not in TOOL
            or metadata is not None
            or odd
            or (tag is not None and type(tag) is not str)
            or draft.entry(name) is not None
        ):
            return False
        called = draft.ended.get(answers) or draft.ended_call(answers)
        # What has arguments and no place is no call yet: its start has to find the result that came before it.
        if called is None or called.answered or called.entity[_PLACE] is None:
            return False
        key: Key = (RESULT, name, answers)
        told = (name, answers, tag, said, None, False, None, None, None, tag, draft.run)
        draft.index[key] = (filled(Result, told), position, position, None)
        draft.index[name] = key
        called.answered = called.changed = True
        lane = draft.lanes.get(tag) or draft.lane(tag)
        lane.groups, lane.latest = {}, None
        lane.text = lane.reasoning = draft.opened = position
        draft.rows.append(key)
        return True

    return add_result


def span(*, opens: bool, sdk: bool) -> Way:
    """Open or close a reasoning span."""

    def bracket(draft: Draft, _: int, event: Any) -> bool:
        if sdk:
            fields, odd = event.__dict__, event.__pydantic_extra__
            name, tag, metadata = fields["message_id"], fields["subagent_run_id"], fields["metadata"]
        else:
            name, tag, metadata, odd = event.message_id, event.subagent_run_id, event.metadata, event.notes
        spans = draft.spans
        if (
            spans is None
            or len(spans) >= SMALL
            or not draft.is_plain
            or not draft.run
            or type(name) is not str
            or (tag is not None and type(tag) is not str)
            or metadata is not None
            or odd
        ):
            return False
        key: Key = (REASONING, name)
        one = draft.open[REASONING].get(name)
        held = None if one is not None else draft.entry(key) or draft.live.get(key)
        entity = one.entity if one is not None else held and held[0]
        if opens:
            if name in spans or key in draft.owners or entity is not None:
                return False
            spans[name] = tag
            return True
        if name not in spans or (tag is not None and tag != spans[name]):
            return False
        # Without a message, or with one that a snapshot dropped, the scope has to remember whose it was.
        if held is not None and held[1] < 0 and not held[0].rows:
            return False
        if entity is None or entity.run != draft.run or (tag is not None and entity.tag != tag):
            return False
        del spans[name]
        return True

    return bracket


def sealed(*, sdk: bool) -> Way:
    """Attach an encrypted value to the one entity that it can mean."""

    def attach(draft: Draft, position: int, event: Any) -> bool:
        subtype, name, value = event.subtype, event.entity_id, event.encrypted_value
        value_type = event.__dict__.get("encrypted_value_type") if sdk else event.encrypted_value_type
        tag = event.subagent_run_id
        if (
            not draft.run
            or subtype not in ("tool-call", "message")
            or type(name) is not str
            or type(value) is not str
            or (value_type is not None and type(value_type) is not str)
            or event.metadata is not None
            or (tag is not None and type(tag) is not str)
            or (event.__pydantic_extra__ if sdk else event.notes)
        ):
            return False
        if subtype == "tool-call":
            one = draft.writing(CALL, name) or draft.ended_call(name)
            if one is None or not (tag is None or (one.entity[_RUN] == draft.run and one.tag == tag)):
                return False
            one.entity, one.at, one.changed = (*one.entity[:_VALUE], value, value_type), position, True
            return True
        key: Key | None = draft.entry(name)
        # Several messages stand under the id where the first of them is no kind but a key.
        if key is None or type(key[0]) is not str or key[0] == ACTIVITY:
            return False
        one = draft.writing(key[0], name) if len(key) == 2 else None
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
            draft.index[key] = (entity, first, position, entry[3])
        return True

    return attach


def shared(kind: str, *, sdk: bool) -> Way:
    """Replace or patch the shared state; texts have nothing to do with it."""
    short = _short_state.SHORT[kind][0](sdk)

    def change(draft: Draft, _: int, event: Any) -> bool:
        after = short(draft.state, event)
        if after is None:
            return False
        # All else in it is as it was, and whoever settles at its position has added nothing to it.
        draft.state = after
        return True

    return change


WAYS: dict[str, Callable[[bool], Way]] = {
    "STATE_DELTA": lambda sdk: shared("STATE_DELTA", sdk=sdk),
    "STATE_SNAPSHOT": lambda sdk: shared("STATE_SNAPSHOT", sdk=sdk),
    "TEXT_MESSAGE_START": lambda sdk: start(TEXT, sdk=sdk),
    "TEXT_MESSAGE_END": lambda sdk: end(TEXT, sdk=sdk),
    "REASONING_START": lambda sdk: span(opens=True, sdk=sdk),
    "REASONING_MESSAGE_START": lambda sdk: start(REASONING, sdk=sdk),
    "REASONING_MESSAGE_END": lambda sdk: end(REASONING, sdk=sdk),
    "REASONING_END": lambda sdk: span(opens=False, sdk=sdk),
    "REASONING_ENCRYPTED_VALUE": lambda sdk: sealed(sdk=sdk),
    "TOOL_CALL_START": lambda sdk: call(sdk=sdk),
    "TOOL_CALL_END": lambda sdk: end(CALL, sdk=sdk),
    "TOOL_CALL_RESULT": lambda sdk: result(sdk=sdk),
}
"""The types that go into a draft; deltas, which do too, `fold_all` gathers itself."""
