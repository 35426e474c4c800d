"""The short ways: what ordinary streams are made of, folded at a fraction of the price.

Each does what its case does where nothing is out of the ordinary, and returns `None` where anything is: a broken rule,
a note, metadata, a chunk stream, a value that waits for its entity, an id that is known, more open entities than a
dict is good for. Then the event takes the long way, which decides. A law holds the two against each other: with no
short way at all every state is the same.

They are fast for what they leave out: one look-up instead of several, one new record of each sort, made straight from
its fields, without a constructor in Python. Fields of an SDK object are read from its dict, which costs
less. `docs/explanation/cost.md` has the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pyrsistent import PVector, pvector

from reducer._cases._entities import is_cut
from reducer._index import SMALL, assoc
from reducer._interrupts import NO_INTERRUPTS
from reducer._records import CALL, REASONING, RESULT, TEXT, Call, Cuts, Key, Message, Owner, Result, Row, filled
from reducer._session import Scope
from reducer._state import HOLE, NO_PEN, Open, State, made, moved, with_rope
from reducer._text import append, pack

Short: TypeAlias = "Callable[[State, Any], State | None]"

NO_ROWS: PVector[Row] = pvector()
_NO_GROUPS: Mapping[Key, int] = {}
_ONE_ROPE = (None,)
TOOL = (None, "tool")
ROLES: dict[str, frozenset[str | None]] = {
    TEXT: frozenset({None, "assistant", "user", "system", "developer"}),
    REASONING: frozenset({REASONING}),
}


def content(kind: str) -> Short:
    """Append a decoded delta to a row that is open, quiet and current; `fold` itself does so with the SDK's."""
    is_call = kind == CALL

    def append_delta(state: State, event: Any) -> State | None:
        name, delta, tag = event.tool_call_id if is_call else event.message_id, event.delta, event.subagent_run_id
        if event.metadata is not None or event.notes or type(delta) is not str or not delta:
            return None
        position, rope, pen = state._position, state._rope, state._pen
        live, ropes, conversation, session = state._live, state._ropes, state._conversation, state._session
        if pen[0] is kind and pen[2] == name:
            if tag is not None and tag != pen[3]:
                return None
        else:
            one = live.get((kind, name))
            if one is None:
                return None
            entity, first, _, place, quiet = one
            if (
                not quiet
                or conversation.streams is not None
                or (tag is not None and tag != entity.tag)
                or (not is_call and first < conversation.opened and is_cut(conversation, entity, first))
            ):
                return None
            if pen is not NO_PEN:
                ropes = with_rope(ropes, pen[4], rope)
            rope, pen = ropes[place], (kind, "", name, entity.tag, place)
        return made(position + 1, append(rope, delta, position), pen, live, ropes, conversation, session)

    return append_delta


def start(kind: str, *, sdk: bool) -> Short:
    """Open a text or reasoning message that is new."""
    roles, is_text = ROLES[kind], kind == TEXT

    def open_message(state: State, event: Any) -> State | None:
        position, rope, pen = state._position, state._rope, state._pen
        live, ropes, conversation, session = state._live, state._ropes, state._conversation, state._session
        timeline, index, lanes = conversation.timeline, conversation.index, conversation.lanes
        if sdk:
            fields, odd = event.__dict__, event.__pydantic_extra__
            name, role, speaker = fields["message_id"], fields["role"], fields["name"] if is_text else None
            tag, metadata = fields["subagent_run_id"], fields["metadata"]
        else:
            name, role, speaker = event.message_id, event.role, event.name if is_text else None
            tag, metadata, odd = event.subagent_run_id, event.metadata, event.notes
        key: Key = (kind, name)
        run, scope = session.active, session.scope
        if (
            not run
            or conversation.streams is not None
            or conversation.unclaimed
            or type(live) is not dict
            or len(live) >= SMALL
            or metadata is not None
            or odd
            or type(name) is not str
            or (tag is not None and type(tag) is not str)
            or (role is not None and type(role) is not str)
            or role not in roles
            or (speaker is not None and type(speaker) is not str)
            or (scope.owners and scope.owners.get(key, tag) != tag)
            or index.get(name) is not None
        ):
            return None
        lane = lanes.get(tag, conversation.base)
        if is_text:
            lane = (lane[0], position, _NO_GROUPS, None)
        else:
            if scope.spans and scope.spans.get(name, tag) != tag:
                return None
            lane = (position, *lane[1:])
        # In one literal, since each star in it would cost as much as all of it.
        role = role or "assistant"
        said = (kind, name, role, speaker, tag, tag, run, True, True, False, None, None, None, None, NO_ROWS)
        one = (filled(Message, said), position, position, len(live), True)
        if live or ropes:
            if pen is not NO_PEN:
                ropes = with_rope(ropes, pen[4], rope)
            live, ropes = opening(live, ropes, key, one)
        else:
            live, ropes = {key: one}, _ONE_ROPE
        lanes = {tag: lane} if tag in lanes and len(lanes) == 1 else in_lane(lanes, tag, lane)
        timeline, index = timeline.append(key), index.put(name, key)
        return moved(state, None, NO_PEN, live, ropes, timeline, index, lanes, position)

    return open_message


def end(kind: str, *, sdk: bool) -> Short:
    """Close an open message or call."""
    is_call, identity = kind == CALL, "tool_call_id" if kind == CALL else "message_id"

    def close(state: State, event: Any) -> State | None:
        position, rope, pen = state._position, state._rope, state._pen
        live, ropes, conversation, session = state._live, state._ropes, state._conversation, state._session
        if sdk:
            fields, odd = event.__dict__, event.__pydantic_extra__
            name, tag, metadata = fields[identity], fields["subagent_run_id"], fields["metadata"]
        else:
            name, tag, metadata = getattr(event, identity), event.subagent_run_id, event.metadata
            odd = event.notes
        key: Key = (kind, name)
        one = live.get(key)
        if one is None or metadata is not None or odd or conversation.streams is not None or not is_narrow(live):
            return None
        entity, first, _, place, quiet = one
        # What is not quiet takes the long way where that matters: a call may repeat what was stated, and in a run
        # another event may have said whose a message is.
        if (tag is not None and not (quiet and tag == entity.tag)) or not (quiet or (not is_call and session.active)):
            return None
        if pen[4] == place:
            written, rope, pen = rope, None, NO_PEN
        else:
            written = ropes[place]
        live, ropes = closing(live, ropes, key, place) if len(ropes) > 1 else ({}, ())
        if written is not None and written[2] > 1:
            # What is closed is kept for long: one piece of text, and not a link for each of its last deltas.
            written = pack(written, "", written[3])
        index = conversation.index.put(key, (entity, first, position, written))
        timeline, lanes, opened = conversation.timeline, conversation.lanes, conversation.opened
        return moved(state, rope, pen, live, ropes, timeline, index, lanes, opened)

    return close


def call(*, sdk: bool) -> Short:
    """Open a new call: in its parent's current row or group, in its lane's latest group, or in a group of its own."""

    def open_call(state: State, event: Any) -> State | None:
        position, rope, pen = state._position, state._rope, state._pen
        live, ropes, conversation, session = state._live, state._ropes, state._conversation, state._session
        timeline, index, lanes = conversation.timeline, conversation.index, conversation.lanes
        if sdk:
            fields, odd = event.__dict__, event.__pydantic_extra__
            name, tool, parent = fields["tool_call_id"], fields["tool_call_name"], fields["parent_message_id"]
            tag, metadata = fields["subagent_run_id"], fields["metadata"]
        else:
            name, tool, parent = event.tool_call_id, event.tool_call_name, event.parent_message_id
            tag, metadata, odd = event.subagent_run_id, event.metadata, event.notes
        key: Key = (CALL, name)
        run, owners = session.active, session.scope.owners
        if (
            not run
            or conversation.streams is not None
            or conversation.unclaimed
            or conversation.early
            or type(live) is not dict
            or len(live) >= SMALL
            or metadata is not None
            or odd
            or type(name) is not str
            or type(tool) is not str
            or (parent is not None and type(parent) is not str)
            or (tag is not None and type(tag) is not str)
            or key in live
            or (owners and key in owners)
            or index.get(key) is not None
        ):
            return None
        lane = lanes.get(tag, conversation.base)
        groups, latest = lane[2], lane[3]
        holder: Key = (TEXT, parent) if parent is not None else latest or (TEXT, name)
        group = groups.get(holder)
        if group is None or parent is not None or latest is None:
            # In the lane's latest group a call without a parent has nothing to ask its message.
            known = index.get(holder[1])
            one = None if known is None else live.get(holder) or index.get(holder)
            if one is None:
                if known is not None or (owners and holder in owners):
                    return None
                said = (TEXT, holder[1], "assistant", None, tag, tag, run, False, False, False)
                message = filled(
                    Message, (*said, None, None, None, None, NO_ROWS.append(filled(Row, (position, position, None))))
                )
                index = index.put_all({holder: (message, -1, position, None), holder[1]: holder})
                group, timeline = 0, timeline.append(holder)
            else:
                message, first = one[0], one[1]
                if (
                    message.role != "assistant"
                    or message.owner != tag
                    or (parent is not None and message.started and (message.tag != tag or message.run != run))
                    or (owners and holder in owners)
                    # A snapshot has dropped it and it has ended: another one opens in its stead.
                    or (first < 0 and not message.rows)
                ):
                    return None
                if first >= lane[0] and first >= 0:
                    group = len(message.rows)
                elif group is None:
                    if holder in live:
                        return None
                    # What the message has said, or the result of a call before, stands between: a row of its own.
                    rows = message.rows if first < 0 else message.rows.append(filled(Row, one[1:4]))
                    group = len(rows)
                    message = filled(Message, (*message[:-1], rows.append(filled(Row, (position, position, None)))))
                    index = index.put(holder, (message, -1, position, None))
                    timeline = timeline.append(holder)
        if groups.get(holder) != group:
            groups, latest = {**groups, holder: group}, holder
            if len(groups) > SMALL:
                return None
        home, place = name if parent is None else parent, (holder, group)
        called = (name, tool, home, tag, tag, run, place, 0, False, None, None, None, None, False)
        open_one = (filled(Call, called), position, position, len(live), True)
        if live or ropes:
            if pen is not NO_PEN:
                ropes = with_rope(ropes, pen[4], rope)
            live, ropes = opening(live, ropes, key, open_one)
        else:
            live, ropes = {key: open_one}, _ONE_ROPE
        lane = (position, position, groups, latest)
        lanes = {tag: lane} if tag in lanes and len(lanes) == 1 else in_lane(lanes, tag, lane)
        return moved(state, None, NO_PEN, live, ropes, timeline, index, lanes, position)

    return open_call


def result(*, sdk: bool) -> Short:
    """Add a new result of text for a call that is closed and has none."""

    def add_result(state: State, event: Any) -> State | None:
        position, rope, pen = state._position, state._rope, state._pen
        live, ropes, conversation, session = state._live, state._ropes, state._conversation, state._session
        timeline, index, lanes = conversation.timeline, conversation.index, conversation.lanes
        if sdk:
            fields, odd = event.__dict__, event.__pydantic_extra__
            name, answers, said = fields["message_id"], fields["tool_call_id"], fields["content"]
            role, tag, metadata = fields["role"], fields["subagent_run_id"], fields["metadata"]
        else:
            name, answers, said, role = event.message_id, event.tool_call_id, event.content, event.role
            tag, metadata, odd = event.subagent_run_id, event.metadata, event.notes
        if (
            not session.active
            or conversation.streams is not None
            or conversation.unclaimed
            or metadata is not None
            or odd
            or (session.interrupts is not NO_INTERRUPTS and session.interrupts)
            or type(said) is not str
            or type(name) is not str
            or type(answers) is not str
            or (tag is not None and type(tag) is not str)
            or role not in TOOL
        ):
            return None
        call_key: Key = (CALL, answers)
        answered = index.get(call_key)
        # What has arguments and no place is no call yet: its start has to find the result that came before it.
        if answered is None or answered[0].answered or answered[0].place is None or index.get(name) is not None:
            return None
        key: Key = (RESULT, name, answers)
        told = (name, answers, tag, said, None, False, None, None, None, tag, session.active)
        called, first, last, written = answered
        called = (filled(Call, (*called[:-1], True)), first, last, written)
        index = index.put_all({key: (filled(Result, told), position, position, None), call_key: called, name: key})
        lane = (position, position, _NO_GROUPS, None)
        lanes = {tag: lane} if tag in lanes and len(lanes) == 1 else in_lane(lanes, tag, lane)
        timeline = timeline.append(key)
        if pen is not NO_PEN:
            ropes = with_rope(ropes, pen[4], rope)
        return moved(state, None, NO_PEN, live, ropes, timeline, index, lanes, position)

    return add_result


def span(*, opens: bool, sdk: bool) -> Short:
    """Open or close a reasoning span."""

    def bracket(state: State, event: Any) -> State | None:
        position, rope, pen = state._position, state._rope, state._pen
        live, ropes, conversation, session = state._live, state._ropes, state._conversation, state._session
        if sdk:
            fields, odd = event.__dict__, event.__pydantic_extra__
            name, tag, metadata = fields["message_id"], fields["subagent_run_id"], fields["metadata"]
        else:
            name, tag, metadata, odd = event.message_id, event.subagent_run_id, event.metadata, event.notes
        scope, key = session.scope, (REASONING, name)
        spans, owners = scope.spans, scope.owners
        if (
            conversation.streams is not None
            or metadata is not None
            or odd
            or type(name) is not str
            or (tag is not None and type(tag) is not str)
            or type(spans) is not dict
            or len(spans) > SMALL - 1
            or not session.active
        ):
            return None
        if opens:
            if name in spans or key in owners or key in live or conversation.index.get(key) is not None:
                return None
            spans = {**spans, name: tag}
        else:
            if name not in spans or (tag is not None and tag != spans[name]):
                return None
            one = live.get(key) or conversation.index.get(key)
            # Without a message the scope has to remember whose it was.
            if one is None or one[0].run != session.active or (tag is not None and one[0].tag != tag):
                return None
            # It has none if a snapshot dropped it.
            if one[1] < 0 and not one[0].rows:
                return None
            spans = {other: owner for other, owner in spans.items() if other != name}
        scope = Scope(scope.steps, spans, scope.subagents, scope.thinking, owners)
        session = session.saying(session.shared, scope)
        return made(position + 1, rope, pen, live, ropes, conversation, session)

    return bracket


def is_narrow(live: Mapping[Key, Open]) -> bool:
    """Say whether so few entities are open that they are in a dict, and their texts in a tuple."""
    return type(live) is dict and len(live) < SMALL


def opening(live: Any, ropes: Any, key: Key, one: Open) -> tuple[Any, Any]:
    """Return what is open with `one` too, which has written nothing yet; for few open entities (`is_narrow`)."""
    live = live.copy()
    if len(ropes) == len(live):
        live[key] = one
        return live, (*ropes, None)
    place = ropes.index(HOLE)
    live[key] = (*one[:3], place, True)
    return live, with_rope(ropes, place, None)


def closing(live: Any, ropes: Any, key: Key, place: int) -> tuple[Any, Any]:
    """Return what is open without `key`, the text of which lies at `place`."""
    live = live.copy()
    del live[key]
    return live, ropes[:place] if place == len(ropes) - 1 else with_rope(ropes, place, HOLE)  # type: ignore[arg-type]


def in_lane(lanes: Mapping[Owner, Cuts], owner: Owner, lane: Cuts) -> Mapping[Owner, Cuts]:
    """Return `lanes` with that of `owner`."""
    if type(lanes) is not dict or len(lanes) >= SMALL:
        return assoc(lanes, owner, lane)
    lanes = lanes.copy()
    lanes[owner] = lane
    return lanes


SHORT: dict[str, tuple[Callable[[bool], Short], tuple[str, ...]]] = {
    "TEXT_MESSAGE_START": (lambda sdk: start(TEXT, sdk=sdk), ("message_id", "role", "name")),
    "TEXT_MESSAGE_CONTENT": (lambda _: content(TEXT), ("message_id", "delta")),
    "TEXT_MESSAGE_END": (lambda sdk: end(TEXT, sdk=sdk), ("message_id",)),
    "REASONING_START": (lambda sdk: span(opens=True, sdk=sdk), ("message_id",)),
    "REASONING_MESSAGE_START": (lambda sdk: start(REASONING, sdk=sdk), ("message_id", "role")),
    "REASONING_MESSAGE_CONTENT": (lambda _: content(REASONING), ("message_id", "delta")),
    "REASONING_MESSAGE_END": (lambda sdk: end(REASONING, sdk=sdk), ("message_id",)),
    "REASONING_END": (lambda sdk: span(opens=False, sdk=sdk), ("message_id",)),
    "TOOL_CALL_START": (lambda sdk: call(sdk=sdk), ("tool_call_id", "tool_call_name", "parent_message_id")),
    "TOOL_CALL_ARGS": (lambda _: content(CALL), ("tool_call_id", "delta")),
    "TOOL_CALL_END": (lambda sdk: end(CALL, sdk=sdk), ("tool_call_id",)),
    "TOOL_CALL_RESULT": (lambda sdk: result(sdk=sdk), ("message_id", "tool_call_id", "content", "role")),
}
"""The types that have a short way: how to make it, and the fields, besides `metadata` and `subagent_run_id`, without
which a class of the SDK has none."""
