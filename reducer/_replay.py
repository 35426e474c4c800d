"""A stored thread as events: one complete run that tells it in snapshots (spec: events/lifecycle).

History is restated, not streamed again, because a snapshot replaces and a stream appends: whoever has some of the
thread already loses nothing and doubles nothing. What such a run is made of, `rejoin` and `run_input` use too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reducer._event import Event
from reducer._frozen import Unfreezable, to_wire
from reducer._objects import Replayed, event_object
from reducer._project import Snapshot
from reducer._wire import decode
from reducer.errors import MalformedEvent

Wire = dict[str, Any]
Path = tuple[Any, ...]


def hydrate(snapshot: Snapshot | Mapping[str, Any], thread_id: str, run_id: str) -> list[Replayed]:
    """Return the events of one complete run that tells a stored thread: state, messages, and the open interrupts.

    `snapshot` is what `project` gave, in either layout, or its `to_dict`, from which `messages`, `state` and
    `interrupts` are read; `thread_id` and `run_id` are the run's. Folded, the events project to the same three in
    that layout. Raises `MalformedEvent` for what no thread can hold, such as a value of the wrong shape, an unknown
    role or property, an id that stands twice; its path leads into the snapshot (spec: events/state).
    """
    told = thread_of(snapshot)
    events = [
        started(thread_id, run_id),
        {"type": "STATE_SNAPSHOT", "snapshot": told["state"]},
        messages_snapshot(told["messages"]),
        finished(thread_id, run_id, told["interrupts"]),
    ]
    return [event_object(event) for event in events]


def started(thread_id: str, run_id: str, **more: Any) -> Wire:
    """Return the start of a run."""
    return {"type": "RUN_STARTED", "threadId": thread_id, "runId": run_id, **more}


def messages_snapshot(messages: list[Wire], metadata: Wire | None = None) -> Wire:
    """Return the event that restates `messages`."""
    about = {} if metadata is None else {"metadata": metadata}
    return {"type": "MESSAGES_SNAPSHOT", "messages": messages, **about}


def finished(thread_id: str, run_id: str, interrupts: list[Wire]) -> Wire:
    """Return the end of a run that leaves `interrupts` open."""
    # Without one an outcome is a success, also to those who know no outcomes.
    outcome = {"outcome": {"type": "interrupt", "interrupts": interrupts}} if interrupts else {}
    return {"type": "RUN_FINISHED", "threadId": thread_id, "runId": run_id, **outcome}


def thread_of(snapshot: Snapshot | Mapping[str, Any]) -> Wire:
    """Return the messages, the state and the open interrupts of a snapshot as fresh wire forms.

    What the fold would have to guess about is refused. Raises `MalformedEvent`.
    """
    if not isinstance(snapshot, (Snapshot, Mapping)):
        raise MalformedEvent((), snapshot, "must be a snapshot, or the mapping that its to_dict returns")
    told: Wire = {}
    for name in ("messages", "state", "interrupts"):
        if isinstance(snapshot, Mapping) and name not in snapshot:
            raise MalformedEvent((name,), None, "is required of a snapshot")
        value = snapshot[name] if isinstance(snapshot, Mapping) else getattr(snapshot, name)
        told[name] = json_of(value, (name,))
    told["messages"] = judge(messages_snapshot(told["messages"]), below=0).messages
    unique(told["messages"], ("messages",))
    for number, message in enumerate(told["messages"]):
        unique(message.get("toolCalls", ()), ("messages", number, "toolCalls"))
    if told["interrupts"] != []:
        outcome = {"type": "interrupt", "interrupts": told["interrupts"]}
        judged = judge({**finished("", "", []), "outcome": outcome}, below=1)
        told["interrupts"] = judged.outcome["interrupts"]
        unique(told["interrupts"], ("interrupts",))
    return told


def json_of(value: object, at: Path) -> Any:
    """Return `value` as fresh plain JSON. Raises `MalformedEvent`, whose path begins with `at`."""
    try:
        return to_wire(value)
    except Unfreezable as error:
        raise MalformedEvent((*at, *error.path), error.value, f"must be JSON: {error.why}") from error


def judge(wire: Wire, *, below: int) -> Event:
    """Return the event, in which retired shapes are translated; refuse one that holds anything wrong or unknown.

    Raises `MalformedEvent`, whose path is the one in the event without its first `below` names.
    """
    try:
        event = decode(wire)
    except MalformedEvent as error:
        raise MalformedEvent(error.path[below:], error.value, error.rule) from None
    for note in event.notes:
        if note.code in ("unknown-member", "unknown-property"):
            value: Any = wire
            for step in note.path:
                value = value[step]
            raise MalformedEvent(note.path[below:], value, "is nothing that AG-UI describes")
    return event


def unique(things: Iterable[Wire], path: Path) -> None:
    """Refuse things that share an id. Raises `MalformedEvent`."""
    seen: set[str] = set()
    for number, thing in enumerate(things):
        if thing["id"] in seen:
            raise MalformedEvent((*path, number, "id"), thing["id"], "must be no other's id")
        seen.add(thing["id"])
