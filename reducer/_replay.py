"""Events out of states: a stored thread as one run, and the way into a run that goes on (spec: events/lifecycle).

Both say what stands as snapshots, because a snapshot restates and a stream appends: whoever has some of it already
loses nothing and doubles nothing. `rejoin` then opens again, as streams do, what the rest of the run will continue.

The order in `rejoin` is what makes it right. What a snapshot dropped while it was open opens before the snapshot,
which drops it again. Calls stand in the snapshot without their arguments, which are streamed again, so that a reader
who shows arguments as they come sees all of them. Chunk streams open last, since most events would end them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reducer._cases._mark import mark
from reducer._findings import Note
from reducer._frozen import Unfreezable, thaw, to_wire
from reducer._objects import Replayed, event_object
from reducer._project import Snapshot, held
from reducer._run import current
from reducer._state import CALL, REASONING, TEXT, Entry, Key, Owner, Run, State, at_rest
from reducer._text import text
from reducer._wire import decode
from reducer.errors import MalformedEvent

Wire = dict[str, Any]
NOWHERE = ""
"""The thread id where no event and no caller has told one."""


def hydrate(snapshot: Snapshot | Mapping[str, Any], thread_id: str, run_id: str) -> list[Replayed]:
    """Return the events of one complete run that tells a stored thread: state, messages, then the open interrupts.

    `snapshot` is what `project` gave, in either layout, or its `to_dict`, from which `messages`, `state` and
    `interrupts` are read. Folded, the events project to the same three. Raises `MalformedEvent` where the snapshot is
    not one that a thread can have (spec: events/state): a value of the wrong shape, an unknown role or property, an
    id that stands twice; its path leads into the snapshot.
    """
    told = _parts(snapshot)
    _judge(told)
    return [event_object(wire) for wire in _whole(told, thread_id, run_id)]


def _parts(snapshot: object) -> Wire:
    """Return what a thread is told by: its messages, its state, its open interrupts."""
    names = ("messages", "state", "interrupts")
    if isinstance(snapshot, Snapshot):
        return to_wire({name: getattr(snapshot, name) for name in names})  # type: ignore[no-any-return]
    if not isinstance(snapshot, Mapping):
        raise MalformedEvent((), snapshot, "must be a snapshot, or the mapping that its to_dict returns")
    for name in names:
        if name not in snapshot:
            raise MalformedEvent((name,), None, "is required of a snapshot")
    try:
        return {name: to_wire(snapshot[name]) for name in names}
    except Unfreezable as error:
        raise MalformedEvent(error.path, error.value, f"must be JSON: {error.why}") from error


def _judge(told: Wire) -> None:
    """Refuse what the fold would have to guess about."""
    for place, wire in (
        ((), _messages(told["messages"])),
        (("interrupts",), _finished(NOWHERE, NOWHERE, told["interrupts"])),
    ):
        try:
            notes = decode(wire).notes
        except MalformedEvent as error:
            raise MalformedEvent(place + (error.path[2:] if place else error.path), error.value, error.rule) from None
        if lost := [note for note in notes if note.code in ("unknown-member", "unknown-property")]:
            raise MalformedEvent(place + _below(lost[0], place), None, "is nothing that this version describes")
    _unique(told["messages"], ("messages",))
    _unique(told["interrupts"], ("interrupts",))
    for number, message in enumerate(told["messages"]):
        _unique(message.get("toolCalls") or (), ("messages", number, "toolCalls"))


def _below(note: Note, place: tuple[str, ...]) -> tuple[str | int, ...]:
    return note.path[2:] if place else note.path


def _unique(things: Iterable[Any], path: tuple[str | int, ...]) -> None:
    seen: set[str] = set()
    for number, thing in enumerate(things):
        if thing["id"] in seen:
            raise MalformedEvent((*path, number, "id"), thing["id"], "must be no other's id")
        seen.add(thing["id"])


def _started(thread_id: str, run_id: str, **more: Any) -> Wire:
    return {"type": "RUN_STARTED", "threadId": thread_id, "runId": run_id, **more}


def _finished(thread_id: str, run_id: str, interrupts: Any) -> Wire:
    # Without one an outcome is a success, also to those who know no outcomes.
    outcome = {"outcome": {"type": "interrupt", "interrupts": interrupts}} if interrupts else {}
    return {"type": "RUN_FINISHED", "threadId": thread_id, "runId": run_id, **outcome}


def _messages(messages: Any, metadata: Wire | None = None) -> Wire:
    about = {} if metadata is None else {"metadata": metadata}
    return {"type": "MESSAGES_SNAPSHOT", "messages": messages, **about}


def _whole(told: Wire, thread_id: str, run_id: str) -> Iterator[Wire]:
    yield _started(thread_id, run_id)
    yield {"type": "STATE_SNAPSHOT", "snapshot": told["state"]}
    yield _messages(told["messages"])
    yield _finished(thread_id, run_id, told["interrupts"])


def rejoin(state: State) -> list[Replayed]:
    """Return the events that bring a reader who comes late to where `state` is; the rest of the stream continues them.

    Inside a run that is its thread so far and what is open: messages, calls, reasoning, chunk streams, steps, spans
    and subagents. After a run it is the thread as `hydrate` tells it, ended as the last run ended. Before any event
    it is nothing. Raises nothing. For the reference client and in the MERGED layout, `rejoin(state)` and the rest of
    a valid stream give what the whole stream gives, wherever it was cut (spec: basic/patterns/streaming).

    What no event can say is lost: after it the STREAMED layout shows each message that was there in one piece, and
    of earlier runs only what they left is told.
    """
    state = at_rest(state)
    run = current(state)
    told = _going_on(state, run) if run is not None else _over(state)
    return [event_object(wire) for wire in told]


def _over(state: State) -> Iterator[Wire]:
    """Tell a thread between two runs, with the end that the last run had."""
    runs = state.session.runs
    run = runs[-1] if runs else None
    never = run is None or run.run_id is None
    messages, shared = [message for _, message in held(state)], thaw(state.session.shared)
    if not never or messages or shared != {}:
        yield from _interrupted(state, _asked(state, run))
        yield _opening(state, run)
        yield {"type": "STATE_SNAPSHOT", "snapshot": shared}
        yield _messages(messages, mark(state))
        yield _ending(state, run)
    if run is not None and run.run_id is None:
        # A failure before any run: none is opened to report it, and it may follow the end of one.
        yield _failure(run)


def _ending(state: State, run: Run | None) -> Wire:
    """Tell how the last run ended."""
    thread_id, run_id = _identity(state, run)
    if run is not None and run.status == "error" and run.run_id is not None:
        return _failure(run)
    if run is None or run.status == "interrupted":
        return _finished(thread_id, run_id, _asked(state, run))
    about = {"outcome": run.outcome, "result": run.result, "usage": run.usage or None}
    told = {name: thaw(value) for name, value in about.items() if value is not None}
    return {"type": "RUN_FINISHED", "threadId": thread_id, "runId": run_id, **told}


def _identity(state: State, run: Run | None) -> tuple[str, str]:
    thread_id = run.thread_id if run is not None else None
    thread_id = state.session.thread_id if thread_id is None else thread_id
    run_id = run.run_id if run is not None else None
    return NOWHERE if thread_id is None else thread_id, NOWHERE if run_id is None else run_id


def _asked(state: State, run: Run | None) -> list[Any]:
    """Return the interrupts that `run` ended with and that wait for an answer."""
    if run is None or run.status != "interrupted":
        return []
    asked = {interrupt["id"] for interrupt in thaw(run.outcome)["interrupts"]}
    return [thaw(interrupt) for interrupt in state.session.interrupts if interrupt.get("id") in asked]


def _interrupted(state: State, later: list[Any]) -> Iterator[Wire]:
    """Tell the interrupts that wait, but for those the last run tells later, as an earlier run that they ended."""
    waiting = [thaw(interrupt) for interrupt in state.session.interrupts]
    interrupts = [interrupt for interrupt in waiting if interrupt not in later]
    if interrupts:
        runs = [run for run in state.session.runs if run.status == "interrupted"]
        thread_id, run_id = _identity(state, runs[-1] if runs else None)
        yield _started(thread_id, run_id)
        yield _finished(thread_id, run_id, interrupts)


def _failure(run: Run) -> Wire:
    code = {} if run.code is None else {"code": run.code}
    usage = {"usage": thaw(run.usage)} if run.usage else {}
    return {"type": "RUN_ERROR", "message": run.error, **code, **usage}


def _going_on(state: State, run: Run) -> Iterator[Wire]:
    """Tell a run that goes on."""
    live = dict(sorted(state.live.items(), key=lambda item: (item[1].first, item[0])))
    dropped = {key: entry for key, entry in live.items() if _is_dropped(key, entry)}
    streams = state.conversation.streams
    lanes = streams.lanes if streams is not None else {}
    chunked = {stream.key for stream in lanes.values()}
    explicit = {key: entry for key, entry in live.items() if key not in dropped and key not in chunked}
    yield from _interrupted(state, [])
    yield _opening(state, run)
    yield {"type": "STATE_SNAPSHOT", "snapshot": thaw(state.session.shared)}
    yield from _subagents(run)
    for key, entry in dropped.items():
        yield _start(key, entry.entity)
    yield _messages(_without_arguments([message for _, message in held(state)], live), mark(state))
    yield from _phases(run, state)
    for key, entry in {**dropped, **explicit}.items():
        yield from _opened(key, entry, again=key in explicit)
    for (subtype, name), (value, value_type) in state.conversation.unclaimed.items():
        about = {} if value_type is None else {"encryptedValueType": value_type}
        event = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": subtype, "entityId": name}
        yield {**event, "encryptedValue": value, **about}
    # The kind's latest lane comes last: it is the one that a bare chunk without any other clue continues.
    for lane in sorted(lanes, key=lambda lane: streams is not None and lane in streams.recent.values()):
        yield _chunk(lane, lanes[lane].key, lanes[lane].established, live)


def _opening(state: State, run: Run | None) -> Wire:
    """Open a run again; one whose input was told ends otherwise than one whose input nobody knows."""
    thread_id, run_id = _identity(state, run)
    if run is None:
        return _started(thread_id, run_id)
    known = {"parentRunId": run.parent_run_id, "protocolVersion": run.protocol_version}
    more: Wire = {name: value for name, value in known.items() if value is not None}
    if run.echoed:
        nothing: Wire = {"messages": [], "tools": [], "context": [], "forwardedProps": {}}
        more["input"] = {"threadId": thread_id, "runId": run_id, "state": thaw(state.session.shared), **nothing}
    return _started(thread_id, run_id, **more)


def _subagents(run: Run) -> Iterator[Wire]:
    subagents = sorted(run.subagents.values(), key=lambda sub: sub.first)
    for sub in subagents:
        yield {"type": "SUBAGENT_STARTED", "subagentRunId": sub.id, "name": sub.name, **thaw(sub.started)}
    for sub in subagents:
        if sub.ended is not None:
            kind = "SUBAGENT_ERROR" if sub.status == "error" else "SUBAGENT_FINISHED"
            yield {"type": kind, "subagentRunId": sub.id, **thaw(sub.ended)}


def _phases(run: Run, state: State) -> Iterator[Wire]:
    """Open steps and reasoning spans."""
    for (owner, name), _ in sorted(run.steps.items(), key=lambda step: step[1]):
        yield {"type": "STEP_STARTED", "stepName": name, **_tag(owner)}
    for name, owner in sorted(run.spans.items(), key=lambda span: span[0]):
        message = state.live.get((REASONING, name)) or state.conversation.index.get((REASONING, name))
        agreed = message is None or message.entity.owner == owner
        yield {"type": "REASONING_START", "messageId": name, **_tag(owner if agreed else None)}


def _tag(owner: Owner) -> Wire:
    return {} if owner is None else {"subagentRunId": owner}


def _is_dropped(key: Key, entry: Entry) -> bool:
    """Say whether a snapshot dropped what goes on streaming, so that nothing of it shows."""
    if key[0] == CALL:
        return entry.entity.place is None and entry.entity.name != ""
    return entry.first < 0 and not entry.entity.rows


def _without_arguments(messages: list[Wire], live: Mapping[Key, Entry]) -> list[Wire]:
    for message in messages:
        for call in message.get("toolCalls", ()):
            entry = live.get((CALL, call["id"]))
            if entry is not None and entry.entity.home == message["id"]:
                call["function"]["arguments"] = ""
    return messages


def _start(key: Key, entity: Any) -> Wire:
    # The snapshot has said whose it is, so only a tag that agrees may be repeated.
    tag = _tag(entity.tag if entity.tag == entity.owner else None)
    if key[0] == CALL:
        parent = {} if entity.home == entity.id or entity.place is None else {"parentMessageId": entity.home}
        return {"type": "TOOL_CALL_START", "toolCallId": entity.id, "toolCallName": entity.name, **parent, **tag}
    if key[0] == REASONING:
        return {"type": "REASONING_MESSAGE_START", "messageId": entity.id, "role": "reasoning", **tag}
    name = {} if entity.name is None else {"name": entity.name}
    return {"type": "TEXT_MESSAGE_START", "messageId": entity.id, "role": entity.role, **name, **tag}


def _opened(key: Key, entry: Entry, *, again: bool) -> Iterator[Wire]:
    """Open what goes on streaming, where that has still to be done, and tell the arguments so far."""
    shell = key[0] == CALL and entry.entity.name == "" and entry.entity.place is None
    if again and not shell:
        yield _start(key, entry.entity)
    arguments = text(entry.rope) if key[0] == CALL else ""
    if arguments or shell:
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": key[1], "delta": arguments}


def _chunk(lane: Owner, key: Key, established: Mapping[str, str | None], live: Mapping[Key, Entry]) -> Wire:
    """Open a chunk stream with what its opener said."""
    said = {name: value for name, value in established.items() if value is not None}
    if key[0] == CALL:
        entry = live[key]
        arguments = text(entry.rope)
        delta = {"delta": arguments} if arguments else {}
        return {"type": "TOOL_CALL_CHUNK", "toolCallId": key[1], "toolCallName": entry.entity.name} | said | delta | _tag(lane)
    kind = "TEXT_MESSAGE_CHUNK" if key[0] == TEXT else "REASONING_MESSAGE_CHUNK"
    return {"type": kind, "messageId": key[1], **said, **_tag(lane)}
