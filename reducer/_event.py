"""The decoded event: one immutable class per event type, made from the table of the protocol."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from reducer._findings import Note
from reducer._frozen import freeze, same, to_wire
from reducer._schema import EVENTS


class Event:
    """A decoded event: `type`, `notes`, and the type's fields in snake_case; an absent optional field reads None.

    Nested material is plain JSON in wire form, and the event's alone to hold. Events are immutable, equal where
    type and fields are (notes are no part of the event), and not hashable, since their fields may hold lists. `decode`
    makes them.
    """

    # Where the values stand is up to each class: most have a dict of what is there.
    __slots__ = ()

    type: str
    notes: tuple[Note, ...] = ()
    wire_names: ClassVar[dict[str, str]] = {"type": "type"}
    __hash__ = None  # type: ignore[assignment]

    if TYPE_CHECKING:
        # The fields come from the table, which a type checker cannot read.
        def __getattr__(self, name: str) -> Any: ...

    def to_dict(self) -> dict[str, Any]:
        """Return the event in wire form: fresh plain dicts and lists, camelCase, absent fields left out."""
        names = self.wire_names
        wire = {names[name]: value for name, value in self._held().items() if name != "notes"}
        return {"type": self.type, **to_wire(wire)}

    def _held(self) -> dict[str, Any]:
        """Return what is there, by the names of the attributes."""
        return self.__dict__

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"an event is immutable, {name!r} stays as it is")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an event is immutable, {name!r} stays")

    def __eq__(self, other: object) -> bool:
        # Events of one type have one table of names, wherever their values stand.
        if not isinstance(other, Event) or other.wire_names is not self.wire_names:
            return NotImplemented
        return same(freeze(self.to_dict()), freeze(other.to_dict()))

    def __repr__(self) -> str:
        held = {name: value for name, value in self._held().items() if name != "type" and (name != "notes" or value)}
        return f"<{' '.join([self.type, *(f'{name}={reprlib.repr(value)}' for name, value in held.items())])}>"


class UnknownEvent(Event):
    """An event that builds nothing: nobody described its type. Its payload is dropped, its one note says so."""


class DroppedEvent(UnknownEvent):
    """An event of a known type that what it requires, an unknown member, took with it. Its fields are dropped."""


def make(cls: type[Event], values: dict[str, Any]) -> Event:
    """Return an event of the class that holds `values`, which are checked, its own, and named in snake_case."""
    event = cls.__new__(cls)
    # The one way in: attributes cannot be set, and this is several times cheaper than setting them one by one.
    event.__dict__.update(values)
    return event


def snake(name: str) -> str:
    """Return a wire name as the Python SDK writes it: `subagentRunId` as `subagent_run_id`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _event_class(kind: str) -> type[Event]:
    names = {snake(name): name for name in EVENTS[kind].fields}
    space = {**dict.fromkeys(names), "type": kind, "wire_names": names, "__doc__": f"A {kind} event."}
    return type("".join(map(str.title, kind.split("_"))), (Event,), space)


EVENT_CLASSES: dict[str, type[Event]] = {kind: _event_class(kind) for kind in EVENTS}
# Where pickle looks for them.
globals().update({cls.__name__: cls for cls in EVENT_CLASSES.values()})
