"""The short ways: what ordinary streams are made of, folded at a fraction of the price.

Each does what its case does where nothing is out of the ordinary, and returns `None` where anything is: a broken rule,
a note, metadata, a chunk stream, a value that waits for its entity, an id that is known. Then the event takes the long
way, which decides. A law holds the two against each other: with no short way at all every state is the same.

They are fast for what they leave out: one look-up instead of several, one new record of each sort, made straight from
a tuple (half the price of a named tuple's own constructor). `docs/explanation/cost.md` has the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pyrsistent import PVector, pvector

from reducer._cases._entities import TOP, is_cut
from reducer._index import SMALL, Index, assoc
from reducer._state import (
    ACTIVITY,
    CALL,
    NO_PEN,
    REASONING,
    RESULT,
    TEXT,
    Call,
    Conversation,
    Entry,
    Key,
    Lane,
    Message,
    Result,
    Row,
    Run,
    State,
)
from reducer._text import SPAN, pack

Short: TypeAlias = "Callable[[State, Any], State | None]"

_new: Callable[[type, tuple[Any, ...]], Any] = tuple.__new__
_NO_ROWS: PVector[Row] = pvector()
_TEXT_OR_NONE = frozenset({str, type(None)})
_ROLES: dict[str, frozenset[str | None]] = {
    TEXT: frozenset({None, "assistant", "user", "system", "developer"}),
    REASONING: frozenset({REASONING}),
}


def content(kind: str, *, sdk: bool) -> Short:
    """Append a delta to a row that is open, quiet and current."""
    is_call = kind == CALL

    def append(state: State, event: Any) -> State | None:
        position, live, conversation, session, pen = state
        name = event.tool_call_id if is_call else event.message_id
        delta = event.delta
        if (
            event.metadata is not None
            or (event.__pydantic_extra__ if sdk else event.notes)
            or delta.__class__ is not str
        ):
            return None
        written, form, entity, first, rope = pen
        if written != name or form != kind:
            entry = live.get((kind, name))
            if (
                entry is None
                or conversation.streams is not None
                or active(session.runs) is None
                or not quiet(conversation, entry)
            ):
                return None
            if pen[1]:
                live = assoc(live, (form, written), _new(Entry, (entity, first, position - 1, rope)))
            entity, first, _, rope = entry
        tag = event.subagent_run_id
        if tag is not None and tag != entity.tag:
            return None
        if delta:
            # As in `_text.append`, which would be one more call for every event.
            if rope is None:
                rope = (delta, None, 1)
            elif rope[2] < SPAN:
                rope = (delta, rope, rope[2] + 1)
            else:
                rope = pack(rope, delta)
        return _new(State, (position + 1, live, conversation, session, (name, kind, entity, first, rope)))  # type: ignore[no-any-return]

    return append


def quiet(conversation: Conversation, entry: Entry) -> bool:
    """Say whether content for the entity does nothing but append to its current row."""
    entity, first = entry[0], entry[1]
    if isinstance(entity, Call):
        return entity.echo is None
    if first < 0 or not (entity.spoken and entity.started):
        return False
    return first >= conversation.opened or not is_cut(conversation, entity, first)


def start(kind: str, *, sdk: bool) -> Short:
    """Open a text or reasoning message that is new."""
    roles = _ROLES[kind]

    def open_message(state: State, event: Any) -> State | None:
        position, live, conversation, session, pen = state
        name, tag, role = event.message_id, event.subagent_run_id, event.role
        run = active(session.runs)
        if (
            run is None
            or event.metadata is not None
            or conversation.streams is not None
            or conversation.unclaimed
            or name.__class__ is not str
            or tag.__class__ not in _TEXT_OR_NONE
            or (event.__pydantic_extra__ if sdk else event.notes)
            or role.__class__ not in _TEXT_OR_NONE
            or role not in roles
        ):
            return None
        key: Key = (kind, name)
        if (run.owners and run.owners.get(key, tag) != tag) or known(live, conversation.index, name):
            return None
        lane = conversation.lanes.get(tag) or TOP
        if kind is TEXT:
            lane = _new(Lane, (lane[0], position, position, None))
            speaker = event.name
            if speaker.__class__ not in _TEXT_OR_NONE:
                return None
        else:
            lane = _new(Lane, (position, lane[1], lane[2], lane[3]))
            speaker = None
        runs = len(session.runs)
        message = (kind, name, role or "assistant", speaker, tag, tag, runs, True, True, False)
        entity = _new(Message, (*message, None, None, None, None, _NO_ROWS, -1))
        conversation = moved(conversation, key, conversation.index, tag, lane, position)
        live = with_entry(live, pen, position, key, _new(Entry, (entity, position, position, None)))
        return _new(State, (position + 1, live, conversation, session, NO_PEN))  # type: ignore[no-any-return]

    return open_message


def end(kind: str, *, sdk: bool) -> Short:
    """Close an open message or call."""
    is_call = kind == CALL

    def close(state: State, event: Any) -> State | None:
        position, live, conversation, session, pen = state
        name, tag = event.tool_call_id if is_call else event.message_id, event.subagent_run_id
        key: Key = (kind, name)
        if (
            active(session.runs) is None
            or event.metadata is not None
            or conversation.streams is not None
            or key not in live
            or live.__class__ is not dict
            or len(live) > SMALL
            or (event.__pydantic_extra__ if sdk else event.notes)
        ):
            return None
        live = live.copy()
        entity, first, _, rope = live.pop(key)
        if pen[1]:
            if pen[0] == name and pen[1] == kind:
                rope = pen[4]
            else:
                live[pen[1], pen[0]] = _new(Entry, (pen[2], pen[3], position - 1, pen[4]))
        if (tag is not None and tag != entity.tag) or (is_call and entity.echo is not None):
            return None
        timeline, index, lanes, _, unclaimed, settled, opened = conversation
        index = index.put_all({key: _new(Entry, (entity, first, position, rope))})
        conversation = _new(Conversation, (timeline, index, lanes, None, unclaimed, settled, opened))
        return _new(State, (position + 1, live, conversation, session, NO_PEN))  # type: ignore[no-any-return]

    return close


def call(*, sdk: bool) -> Short:
    """Open a new call: in its parent's current row or group, in its lane's latest group, or in a group of its own."""

    def open_call(state: State, event: Any) -> State | None:
        position, live, conversation, session, pen = state
        name, tool, parent = event.tool_call_id, event.tool_call_name, event.parent_message_id
        tag = event.subagent_run_id
        run, index = active(session.runs), conversation.index
        if (
            run is None
            or event.metadata is not None
            or conversation.streams is not None
            or conversation.unclaimed
            or name.__class__ is not str
            or tool.__class__ is not str
            or parent.__class__ not in _TEXT_OR_NONE
            or tag.__class__ not in _TEXT_OR_NONE
            or (event.__pydantic_extra__ if sdk else event.notes)
        ):
            return None
        key: Key = (CALL, name)
        if key in live or index.get(key) is not None or (run.owners and key in run.owners):
            return None
        timeline, _, lanes, _, unclaimed, settled, _ = conversation
        lane, runs = lanes.get(tag) or TOP, len(session.runs)
        holder: Key = (TEXT, parent) if parent is not None else lane[3] or (TEXT, name)
        held = live.get(holder)
        is_open = held is not None
        if is_open and pen[0] == holder[1] and pen[1] == TEXT:
            held = _new(Entry, (pen[2], pen[3], position - 1, pen[4]))
        if held is None:
            held = index.get(holder)
        if held is None:
            if known(live, index, holder[1]) or (run.owners and holder in run.owners):
                return None
            message = (TEXT, holder[1], "assistant", None, tag, tag, runs, False, False, False)
            held = _new(Entry, (_new(Message, (*message, None, None, None, None, _NO_ROWS, -1)), -1, position, None))
        message, first, last, rope = held
        if message.role != "assistant" or message.owner != tag or len(holder) > 2:
            return None
        if parent is not None and message.started and (message.tag != tag or message.run != runs):
            return None
        rows, group = message.rows, message.group
        latest: Key | None = holder
        if first >= 0 and first >= lane[0]:
            group = len(rows)
            rows = rows.append(_new(Row, (first, position, rope, pvector((key,)), position)))
            first, rope = -1, None
        elif group >= 0 and rows[group].since > lane[2]:
            one, latest = rows[group], lane[3]
            rows = rows.set(group, _new(Row, (one[0], position, one[2], one[3].append(key), one[4])))
        elif parent is None and lane[3] is not None:
            return None
        else:
            if first >= 0:
                rows = rows.append(_new(Row, (first, last, rope, None, -1)))
            group = len(rows)
            rows = rows.append(_new(Row, (position, position, None, pvector((key,)), position)))
            first, rope, timeline = -1, None, timeline.append(holder)
        held = _new(Entry, (_new(Message, (*message[:-2], rows, group)), first, position, rope))
        called = (name, tool, name if parent is None else parent, tag, tag, runs, (holder, group), False, False)
        entry = _new(Entry, (_new(Call, (*called, None, None, None, None)), position, position, None))
        live = with_entry(live, pen, position, key, entry)
        if is_open:
            live = assoc(live, holder, held)
        else:
            index = index.put(holder, held)
        lanes = assoc(lanes, tag, _new(Lane, (position, position, lane[2], latest)))
        conversation = _new(Conversation, (timeline, index, lanes, None, unclaimed, settled, position))
        return _new(State, (position + 1, live, conversation, session, NO_PEN))  # type: ignore[no-any-return]

    return open_call


def result(*, sdk: bool) -> Short:
    """Add a new result of text for a call that is closed and has none."""

    def add_result(state: State, event: Any) -> State | None:
        position, live, conversation, session, pen = state
        name, answers, said, tag = event.message_id, event.tool_call_id, event.content, event.subagent_run_id
        run, index = active(session.runs), conversation.index
        if (
            run is None
            or event.metadata is not None
            or conversation.streams is not None
            or conversation.unclaimed
            or session.interrupts
            or said.__class__ is not str
            or name.__class__ is not str
            or answers.__class__ is not str
            or tag.__class__ not in _TEXT_OR_NONE
            or event.role not in (None, "tool")
            or (event.__pydantic_extra__ if sdk else event.notes)
        ):
            return None
        call_key: Key = (CALL, answers)
        answered = index.get(call_key)
        if answered is None or answered[0].answered or known(live, index, name):
            return None
        key: Key = (RESULT, name, answers)
        entity = (name, answers, tag, said, None, False, None, None, None, tag, len(session.runs))
        called = answered[0]
        called = _new(Call, (*called[:7], True, *called[8:]))
        index = index.put_all(
            {
                key: _new(Entry, (_new(Result, entity), position, position, None)),
                key[:2]: _new(Entry, (key, position, position, None)),
                call_key: _new(Entry, (called, *answered[1:])),
            }
        )
        lane = _new(Lane, (position, position, position, None))
        conversation = moved(conversation, key, index, tag, lane, position)
        live = with_entry(live, pen, position)
        return _new(State, (position + 1, live, conversation, session, NO_PEN))  # type: ignore[no-any-return]

    return add_result


def span(*, opens: bool, sdk: bool) -> Short:
    """Open or close a reasoning span."""

    def bracket(state: State, event: Any) -> State | None:
        position, live, conversation, session, pen = state
        name, tag = event.message_id, event.subagent_run_id
        run = active(session.runs)
        if (
            run is None
            or conversation.streams is not None
            or name.__class__ is not str
            or tag.__class__ not in _TEXT_OR_NONE
            or (event.__pydantic_extra__ if sdk else event.notes)
        ):
            return None
        key: Key = (REASONING, name)
        spans, owners = run.spans, run.owners
        if opens:
            if name in spans or key in owners or key in live or conversation.index.get(key) is not None:
                return None
            spans, owners = assoc(spans, name, tag), assoc(owners, key, tag)
        else:
            if name not in spans or spans.__class__ is not dict or (tag is not None and tag != spans[name]):
                return None
            entry = live.get(key) or conversation.index.get(key)
            if tag is not None and entry is not None and entry[0].tag != tag:
                return None
            spans = {other: owner for other, owner in spans.items() if other != name}
        runs = session.runs
        # The last run but for its last position, open spans and owners.
        run = _new(Run, (*run[:3], position, *run[4:14], spans, *run[15:17], owners))
        session = _new(type(session), (session[0], runs.set(len(runs) - 1, run), *session[2:]))
        live = with_entry(live, pen, position)
        return _new(State, (position + 1, live, conversation, session, NO_PEN))  # type: ignore[no-any-return]

    return bracket


def active(runs: Any) -> Run | None:
    """Return the run that is active, if one is."""
    run = runs[-1] if runs else None
    return run if run is not None and run.status == "running" else None


def known(live: Mapping[Key, Entry], index: Index[Key, Entry], name: str) -> bool:
    """Say whether any message stands under the id `name`, or stood there."""
    text, reasoning, activity, alias = (TEXT, name), (REASONING, name), (ACTIVITY, name), (RESULT, name)
    if text in live or reasoning in live:
        return True
    # A loop, for a generator would cost as much as all it finds.
    for layer in index:  # noqa: SIM110
        if text in layer or reasoning in layer or activity in layer or alias in layer:
            return True
    return False


def moved(conversation: Conversation, key: Key, index: Any, owner: Any, lane: Lane, position: int) -> Conversation:
    """A row opens at the end of the timeline, and cuts its lane."""
    timeline, _, lanes, _, unclaimed, settled, _ = conversation
    lanes = assoc(lanes, owner, lane)
    return _new(Conversation, (timeline.append(key), index, lanes, None, unclaimed, settled, position))  # type: ignore[no-any-return]


def with_entry(live: Any, pen: Any, position: int, key: Key | None = None, entry: Entry | None = None) -> Any:
    """Put the pen's row back where it belongs, and open an entity, in one copy."""
    if live.__class__ is dict and len(live) < SMALL - 1:
        if not pen[1] and key is None:
            return live
        live = live.copy()
        if pen[1]:
            live[pen[1], pen[0]] = _new(Entry, (pen[2], pen[3], position - 1, pen[4]))
        if key is not None:
            live[key] = entry
        return live
    if pen[1]:
        live = assoc(live, (pen[1], pen[0]), _new(Entry, (pen[2], pen[3], position - 1, pen[4])))
    return live if key is None else assoc(live, key, entry)


SHORT: dict[str, tuple[Callable[[bool], Short], tuple[str, ...]]] = {
    "TEXT_MESSAGE_START": (lambda sdk: start(TEXT, sdk=sdk), ("message_id", "role", "name")),
    "TEXT_MESSAGE_CONTENT": (lambda sdk: content(TEXT, sdk=sdk), ("message_id", "delta")),
    "TEXT_MESSAGE_END": (lambda sdk: end(TEXT, sdk=sdk), ("message_id",)),
    "REASONING_START": (lambda sdk: span(opens=True, sdk=sdk), ("message_id",)),
    "REASONING_MESSAGE_START": (lambda sdk: start(REASONING, sdk=sdk), ("message_id", "role")),
    "REASONING_MESSAGE_CONTENT": (lambda sdk: content(REASONING, sdk=sdk), ("message_id", "delta")),
    "REASONING_MESSAGE_END": (lambda sdk: end(REASONING, sdk=sdk), ("message_id",)),
    "REASONING_END": (lambda sdk: span(opens=False, sdk=sdk), ("message_id",)),
    "TOOL_CALL_START": (lambda sdk: call(sdk=sdk), ("tool_call_id", "tool_call_name", "parent_message_id")),
    "TOOL_CALL_ARGS": (lambda sdk: content(CALL, sdk=sdk), ("tool_call_id", "delta")),
    "TOOL_CALL_END": (lambda sdk: end(CALL, sdk=sdk), ("tool_call_id",)),
    "TOOL_CALL_RESULT": (lambda sdk: result(sdk=sdk), ("message_id", "tool_call_id", "content", "role")),
}
"""The types that have a short way: how to make it, and the fields it reads besides `metadata` and `subagent_run_id`."""
