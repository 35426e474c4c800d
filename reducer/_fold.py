"""The fold: one event, one case.

Theory of operation. `fold` finds the row of the table (`_table.CASES`) for the event's type and hands the event to the
row's function. Unless it was decoded already it is decoded first, so that every case reads the same attributes. Around
each case the fold does what no case has to know:

1. What decoding noted becomes anomalies.
2. The event is judged against the run's boundaries.
3. The event ends the chunk streams that it ends by arriving.
4. The position advances by one.

What ordinary streams are made of skips all of that: see `_short` and its neighbours `_short_*`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from reducer._cases import chunk, run
from reducer._cases._entities import flag
from reducer._cases.messages import append_unknown
from reducer._event import DroppedEvent, Event, UnknownEvent, make
from reducer._findings import Note
from reducer._frozen import Object, Unfreezable, freeze, to_wire
from reducer._records import CALL, TEXT
from reducer._routes import DELTAS, ROUTES, SHORTS, Route, route
from reducer._rules import RULES
from reducer._run import current, with_session
from reducer._state import EMPTY, State, put_down, with_rope
from reducer._table import ALL, CASES, NOTHING
from reducer._text import SPAN, pack
from reducer._wire import admit, decode, malformed
from reducer.errors import MalformedEvent, ProtocolViolation, TruncatedRun, show_path


def fold(state: State, event: object) -> State:  # noqa: C901, PLR0912, PLR0915 - one call for a delta, with no other in it
    """Return the state after `event`; nothing that is passed in changes.

    `event` is an object of the official SDK, what `decode` returned, or a wire mapping with camelCase keys. Whatever
    order events come in there is a next state: what breaks the protocol is recorded as an `Anomaly`. Raises
    `MalformedEvent` for a value that the schema rejects (spec: basic/processing).
    """
    cls = type(event)
    pen = state._pen
    last, identity, name, owner, place = pen
    try:
        if cls is last or cls in DELTAS:
            # As `_short.content`, in line here and in `fold_all`: most of a stream is deltas, and a call more would be
            # a tenth of what one costs. Fields are read from the object's dict, for less than by name.
            fields = event.__dict__
            position, rope, live = state._position, state._rope, state._live
            ropes, conversation = state._ropes, state._conversation
            if cls is not last or fields[identity] != name:
                kind, identity = DELTAS[cls]
                name, was, place = fields[identity], place, -1
                one = live.get((kind, name))
                if one is not None and one[4] and conversation.streams is None:
                    entity, first, _, here, _ = one
                    cut = -1
                    if first < conversation.opened and kind is not CALL:
                        # As `is_cut`, which is a call more.
                        lane = conversation.lanes.get(entity.owner, conversation.base)
                        cut = lane[0] if kind is TEXT else lane[1]
                    if first >= cut:
                        if was >= 0 and type(ropes) is tuple:
                            texts = [*ropes]
                            texts[was] = rope
                            ropes = tuple(texts)
                        elif was >= 0:
                            ropes = with_rope(ropes, was, rope)
                        place, rope, owner = here, ropes[here], entity.tag
                        pen = (cls, identity, name, owner, place)
            if place >= 0:
                delta, tag = fields["delta"], fields["subagent_run_id"]
                if (
                    type(delta) is str
                    and delta
                    and (tag is None or tag == owner)
                    and fields["metadata"] is None
                    and not event.__pydantic_extra__  # type: ignore[attr-defined]
                ):
                    if rope is None:
                        rope = (delta, None, 1, position)
                    elif rope[2] < SPAN:
                        rope = (delta, rope, rope[2] + 1, position)
                    else:
                        rope = pack(rope, delta, position)
                    after = State()
                    after._position = position + 1
                    after._rope = rope
                    after._pen = pen
                    after._live = live
                    after._ropes = ropes
                    after._conversation = conversation
                    after._session = state._session
                    return after
        else:
            if cls is dict:
                # What it says, in the form that has short ways.
                event = admitted(event)
                cls = type(event)
            if cls in SHORTS:
                short = SHORTS[cls](state, event)
                if short is not None:
                    return short
        way = ROUTES.get(cls)
        if way is None:
            way = route(event)
            if cls in ROUTES:
                # Found now, so that the first event of its class goes as all others do.
                return fold(state, event)
        return _general(state, event, way)
    except Unfreezable as error:
        raise malformed(error) from error
    except MalformedEvent:
        raise
    except (TypeError, AttributeError, LookupError, ValueError):
        # SDK objects can be changed after they were checked, and so can what lies inside a decoded event: the rules of
        # the wire say what is wrong with this one.
        if not isinstance(event, (BaseModel, Event)):
            raise
        return _general(state, _wire_form(event), Route(None, ready=False))


def _wire_form(event: BaseModel | Event) -> object:
    """Return an event that was changed as something that is decoded again. Raises `MalformedEvent`."""
    try:
        return event.to_dict() if isinstance(event, Event) else event
    except Unfreezable as error:
        raise malformed(error) from error


def _general(state: State, event: Any, way: Route) -> State:
    """Fold an event the long way (see the module's first lines)."""
    state, case = put_down(state), way.case
    if not way.ready:
        event = admitted(event)
        case = None if isinstance(event, UnknownEvent) else CASES[event.type]
    if case is None:
        state = _noted(state, event)
    else:
        state = _bounded(_noted(state, event), event)
        if case.ends is not NOTHING and state.conversation.streams is not None:
            state = _ended(state, event, case.ends)
        state = case.apply(state, event)
    return state._replace(position=state.position + 1)


def admitted(event: object) -> Event:
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
    seeded = with_session(EMPTY, thread_id=thread_id, shared=shared)
    return append_unknown(_noted(seeded, event), event.messages)
