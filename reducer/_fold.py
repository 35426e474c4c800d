"""The fold: one table of cases, one way through it.

Theory of operation. `fold` finds the row of CASES for the event's type and hands the event to the row's function. An
object of the installed SDK goes there as it is if its class has all that the case reads; everything else (wire
mappings, old classes, cold types) is decoded first, so that every case reads the same attributes. Around each case
the fold does what no case has to know:

1. What decoding noted becomes anomalies.
2. The event is judged against the run's boundaries.
3. The event ends the chunk streams that it ends by arriving.
4. The position advances by one.

What ordinary streams are made of skips all of that: see `_short`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from reducer._batch import Batch
from reducer._cases import (
    activity,
    chunk,
    passthrough,
    reasoning,
    retired,
    run,
    shared,
    step,
    subagent,
    text,
    tool_call,
)
from reducer._cases._entities import flag, is_cut
from reducer._cases.messages import append_unknown, messages_snapshot
from reducer._event import DroppedEvent, Event, UnknownEvent, make
from reducer._findings import Note
from reducer._frozen import Object, Unfreezable, freeze, to_wire
from reducer._rules import RULES
from reducer._run import current, with_session
from reducer._short import SHORT, Short
from reducer._state import CALL, REASONING, TEXT, State
from reducer._text import SPAN, pack
from reducer._wire import admit, decode, malformed
from reducer.errors import MalformedEvent, ProtocolViolation, TruncatedRun, show_path

NOTHING, LANE, ALL = "nothing", "lane", "all"


class Case(NamedTuple):
    """A row of the table: the function, and which chunk streams the event's arrival ends."""

    apply: Callable[[State, Any], State]
    ends: str = NOTHING


CASES: dict[str, Case] = {
    "RUN_STARTED": Case(run.run_started, ALL),
    "RUN_FINISHED": Case(run.run_finished, ALL),
    "RUN_ERROR": Case(run.run_error, ALL),
    "STEP_STARTED": Case(step.step_started, LANE),
    "STEP_FINISHED": Case(step.step_finished, LANE),
    "TEXT_MESSAGE_START": Case(text.text_message_start, LANE),
    "TEXT_MESSAGE_CONTENT": Case(text.text_message_content, LANE),
    "TEXT_MESSAGE_END": Case(text.text_message_end, LANE),
    "TEXT_MESSAGE_CHUNK": Case(chunk.text_message_chunk),
    "REASONING_START": Case(reasoning.reasoning_start, LANE),
    "REASONING_MESSAGE_START": Case(reasoning.reasoning_message_start, LANE),
    "REASONING_MESSAGE_CONTENT": Case(reasoning.reasoning_message_content, LANE),
    "REASONING_MESSAGE_END": Case(reasoning.reasoning_message_end, LANE),
    "REASONING_MESSAGE_CHUNK": Case(chunk.reasoning_message_chunk),
    "REASONING_END": Case(reasoning.reasoning_end, LANE),
    "REASONING_ENCRYPTED_VALUE": Case(reasoning.reasoning_encrypted_value),
    "TOOL_CALL_START": Case(tool_call.tool_call_start, LANE),
    "TOOL_CALL_ARGS": Case(tool_call.tool_call_args, LANE),
    "TOOL_CALL_END": Case(tool_call.tool_call_end, LANE),
    "TOOL_CALL_CHUNK": Case(chunk.tool_call_chunk),
    "TOOL_CALL_RESULT": Case(tool_call.tool_call_result, LANE),
    "STATE_SNAPSHOT": Case(shared.state_snapshot, LANE),
    "STATE_DELTA": Case(shared.state_delta, LANE),
    "MESSAGES_SNAPSHOT": Case(messages_snapshot, ALL),
    "ACTIVITY_SNAPSHOT": Case(activity.activity_snapshot),
    "ACTIVITY_DELTA": Case(activity.activity_delta),
    "SUBAGENT_STARTED": Case(subagent.subagent_started),
    "SUBAGENT_FINISHED": Case(subagent.subagent_finished, LANE),
    "SUBAGENT_ERROR": Case(subagent.subagent_error, LANE),
    "RAW": Case(passthrough.raw),
    "CUSTOM": Case(passthrough.custom, LANE),
    "THINKING_START": Case(retired.thinking_start, LANE),
    "THINKING_END": Case(retired.thinking_end, LANE),
    "THINKING_TEXT_MESSAGE_START": Case(retired.thinking_text_message_start, LANE),
    "THINKING_TEXT_MESSAGE_CONTENT": Case(retired.thinking_text_message_content, LANE),
    "THINKING_TEXT_MESSAGE_END": Case(retired.thinking_text_message_end, LANE),
}
"""What each event type does. A test holds it against the installed SDK's `EventType` and event union."""

UNKNOWN = Case(passthrough.unknown)

CONTENT = {"TEXT_MESSAGE_CONTENT": TEXT, "REASONING_MESSAGE_CONTENT": REASONING, "TOOL_CALL_ARGS": CALL}
"""The types that streams are made of, and what they write to."""


class Route(NamedTuple):
    """How events of a class go; `ready` says that they need no decoding, `kind` the type that the class says."""

    case: Case
    ready: bool
    kind: str = ""


_new: Callable[..., Any] = tuple.__new__
_ROUTES: dict[type, Route] = {}
_DELTAS: dict[type, tuple[str, str]] = {}
_SHORT: dict[type, Short] = {}
_GATHERS: dict[type, str] = {}


def fold(state: State, event: object) -> State:  # noqa: C901, PLR0912, PLR0915 - one call for a delta, with no other in it
    """Return the state after `event`; nothing that is passed in changes.

    `event` is an object of the official SDK, what `decode` returned, or a wire mapping with camelCase keys. Whatever
    order events come in there is a next state: what breaks the protocol is recorded as an `Anomaly`. Raises
    `MalformedEvent` for a value that the schema rejects (spec: basic/processing).
    """
    cls = type(event)
    try:
        delta_of = _DELTAS.get(cls)
        if delta_of is not None:
            # As `_short.content`, here and once more: most of a stream is deltas, and a call more would be a tenth of
            # what one costs. Fields are read from the object's dict, for less than by name.
            kind, identity = delta_of
            position, live, ropes, conversation, session, pen = state
            fields = event.__dict__
            name, delta, tag = fields[identity], fields["delta"], fields["subagent_run_id"]
            if (
                type(delta) is str and delta and fields["metadata"] is None and not event.__pydantic_extra__  # type: ignore[attr-defined]
            ):
                written, form, owner, place = pen
                if written != name or form is not kind:
                    place = -1
                    one = live.get((kind, name))
                    if one is not None and one[4] and conversation.streams is None:
                        entity, first, _, place, _ = one
                        if first < conversation.opened and kind is not CALL and is_cut(conversation, entity, first):
                            place = -1
                        owner = entity.tag
                        pen = (name, kind, owner, place)
                if place >= 0 and (tag is None or tag == owner):
                    rope = ropes[place]
                    if rope is None:
                        rope = (delta, None, 1, position)
                    elif rope[2] < SPAN:
                        rope = (delta, rope, rope[2] + 1, position)
                    else:
                        rope = pack(rope, delta, position)
                    if len(ropes) == 1:
                        ropes = (rope,)
                    elif type(ropes) is tuple:
                        changed = [*ropes]
                        changed[place] = rope
                        ropes = tuple(changed)
                    else:
                        ropes = ropes.set(place, rope)  # type: ignore[union-attr]
                    return _new(State, (position + 1, live, ropes, conversation, session, pen))  # type: ignore[no-any-return]
        elif cls in _SHORT:
            after = _SHORT[cls](state, event)
            if after is not None:
                return after
        route = _ROUTES.get(cls)
        if route is None:
            route = _route(event)
            if cls in _ROUTES:
                # Found now, so that the first event of its class goes as all others do.
                return fold(state, event)
        return _general(state, event, route)
    except Unfreezable as error:
        raise malformed(error) from error
    except MalformedEvent:
        raise
    except (TypeError, AttributeError, LookupError, ValueError):
        # SDK objects can be changed after they were checked, and so can what lies inside a decoded event: the rules of
        # the wire say what is wrong with this one.
        if not isinstance(event, (BaseModel, Event)):
            raise
        return _general(state, _wire_form(event), Route(UNKNOWN, ready=False))


def _wire_form(event: BaseModel | Event) -> object:
    """Return an event that was changed as something that is decoded again. Raises `MalformedEvent`."""
    try:
        return event.to_dict() if isinstance(event, Event) else event
    except Unfreezable as error:
        raise malformed(error) from error


def _route(event: object) -> Route:
    """Find the way for a class of events, and keep it where the class says its type."""
    cls = event.__class__
    if issubclass(cls, Event):
        kind = getattr(cls, "type", None)
        if not isinstance(kind, str):
            return Route(UNKNOWN, ready=True)
        return _kept(cls, kind, sdk=False)
    if isinstance(event, BaseModel) and cls.__module__.startswith("ag_ui."):
        fields = type(event).model_fields
        kind = getattr(fields["type"].default, "value", None) if "type" in fields else None
        if kind in SHORT and all(name in fields for name in ("metadata", "subagent_run_id", *SHORT[kind][1])):
            return _kept(cls, kind, sdk=True)
        return _ROUTES.setdefault(cls, Route(UNKNOWN, ready=False))
    return Route(UNKNOWN, ready=False)


def _kept(cls: type, kind: str, *, sdk: bool) -> Route:
    # An SDK's object can be changed after it was checked, so off the short way, which looks for itself, it is decoded.
    route = _ROUTES[cls] = Route(CASES[kind], ready=not sdk, kind=kind)
    if sdk and kind in CONTENT:
        _DELTAS[cls] = (CONTENT[kind], "tool_call_id" if CONTENT[kind] == CALL else "message_id")
    elif kind in SHORT:
        _SHORT[cls] = SHORT[kind][0](sdk)
    if kind in CONTENT:
        _GATHERS[cls] = CONTENT[kind]
    return route


def _general(state: State, event: Any, route: Route) -> State:
    """Fold an event the long way (see the module's first lines)."""
    case = route.case
    if not route.ready:
        event = _admitted(event)
        case = UNKNOWN if isinstance(event, UnknownEvent) else CASES[event.type]
    if case is UNKNOWN:
        state = _noted(state, event)
    else:
        state = _bounded(_noted(state, event), event)
        if case.ends is not NOTHING and state.conversation.streams is not None:
            state = _ended(state, event, case.ends)
        state = case.apply(state, event)
    return State(state.position + 1, *state[1:5])


def _admitted(event: object) -> Event:
    """Decode the event; one slip of real producers is not worth a thread: an encrypted value that names no subtype."""
    try:
        return admit(event)
    except MalformedEvent as error:
        kind = event.get("type") if isinstance(event, Mapping) else None
        if kind != "REASONING_ENCRYPTED_VALUE" or error.path != ("subtype",) or error.value is not None:
            raise
        note = Note("subtype-missing", ("subtype",), "it could be a message or a tool call; dropped")
        return make(DroppedEvent, {"type": kind, "notes": (note,)})


def _noted(state: State, event: Any) -> State:
    """Record what decoding did about the event."""
    for note in event.notes if isinstance(event, Event) else ():
        state = flag(state, event, note.code, f"{show_path(note.path)}: {note.detail}")
    return state


def _bounded(state: State, event: Any) -> State:
    """Judge the event by where it stands: first of the stream, inside a run, after its end (spec: events/lifecycle)."""
    session, kind = state.session, event.type
    if session.runs:
        status = session.runs[-1].status
        if status == "running" or kind == "RUN_STARTED" or (kind == "RUN_ERROR" and status != "error"):
            return state
        return flag(state, event, "after-run-closed", f"the run is {status}")
    if session.begun:
        return state
    state = with_session(state, begun=True)
    if kind in ("RUN_STARTED", "RUN_ERROR"):
        return state
    return flag(state, event, "first-event")


def _ended(state: State, event: Any, ends: str) -> State:
    if ends is ALL:
        return chunk.close_lanes(state, event)
    return chunk.close_lane(state, event, event.subagent_run_id)


def fold_all(state: State, events: Iterable[object]) -> State:  # noqa: C901, PLR0912 - as in `fold`
    """Return the state after all `events`: the same as folding them one by one, faster. Raises as `fold` does."""
    batch, position = Batch(state), state.position
    # The class of the last event, where that was a delta that was gathered, and the entity that it was for.
    last: type | None = None
    identity = name = ""
    one: Any = None
    for event in events:
        cls = type(event)
        after = None
        try:
            if cls is last:
                fields = event.__dict__
                if (
                    fields[identity] == name and fields["metadata"] is None and not event.__pydantic_extra__  # type: ignore[attr-defined]
                ):
                    delta, tag = fields["delta"], fields["subagent_run_id"]
                    if delta and type(delta) is str and (tag is None or tag == one.tag):
                        one.append(delta)
                        position += 1
                        continue
            if last is not None:
                one.last, last = position - 1, None
            if cls is dict or (cls not in _ROUTES and isinstance(event, Mapping)):
                event = _admitted(event)  # noqa: PLW2901 - what it says, in the form that has short ways
                cls = type(event)
            if cls in _DELTAS:
                (kind, identity), fields = _DELTAS[cls], event.__dict__
                if fields["metadata"] is None and not event.__pydantic_extra__:  # type: ignore[attr-defined]
                    name = fields[identity]
                    one = batch.gathered(position, kind, name, fields["delta"], fields["subagent_run_id"])
                    if one is not None:
                        last = cls
                        position += 1
                        continue
            elif cls in _GATHERS:
                if _gathered(batch, position, event, _GATHERS[cls]):
                    position += 1
                    continue
            elif cls in _SHORT:
                before = batch.before(position, _ROUTES[cls].kind, event)
                if before is not None:
                    after = _SHORT[cls](before, event)
        except (TypeError, AttributeError, KeyError, Unfreezable):
            # It is for `fold` to say what is wrong with the event.
            after = None
            if last is not None:
                one.last, last = position - 1, None
        batch.state = fold(batch.write(position), event) if after is None else after
        position += 1
    if last is not None:
        one.last = position - 1
    return batch.write(position)


def _gathered(batch: Batch, position: int, event: Any, kind: str) -> bool:
    """Gather a decoded delta, if it does nothing but append."""
    if event.metadata is not None or event.notes:
        return False
    name = event.tool_call_id if kind is CALL else event.message_id
    return batch.gathered(position, kind, name, event.delta, event.subagent_run_id) is not None


def fold_strict(state: State, event: object) -> State:
    """Return `fold(state, event)`, or raise `ProtocolViolation` where the specification makes the event fatal."""
    after = fold(state, event)
    if after.session.anomalies is not state.session.anomalies:
        for anomaly in after.session.anomalies.latest:
            if anomaly.fatal and anomaly.position == state.position:
                page = RULES[anomaly.code].page
                raise ProtocolViolation(anomaly.code, anomaly.position, anomaly.event, page, anomaly.detail)
    return after


def finish(state: State) -> State:
    """Return `state` where the stream may end here; raise `TruncatedRun` inside a run (spec: basic/transports)."""
    active = current(state)
    if active is not None:
        raise TruncatedRun(active.run_id, state.position, run.still_open(state))
    return state


def seed(messages: Iterable[Any] = (), state: Any = Object({}), thread_id: str | None = None) -> State:
    """Return the state of a stored thread, before its next run.

    `messages` are its messages (wire form or SDK objects), `state` its shared state (any JSON; an absent one is the
    empty object), `thread_id` its id. Raises `MalformedEvent` for messages that the schema rejects.
    """
    try:
        told = to_wire(list(messages))
        shared = freeze(state, ("state",))
    except Unfreezable as error:
        raise malformed(error) from error
    event = decode({"type": "MESSAGES_SNAPSHOT", "messages": told})
    seeded = with_session(State(), thread_id=thread_id, shared=shared)
    return append_unknown(_noted(seeded, event), event.messages)
