"""decode: wire JSON to events, by the processing model (spec: basic/processing).

1. Material that nobody described is no error: it is stripped, and noted.
2. A described value that is wrong is one, always: `MalformedEvent`, never a coercion.
3. A retired shape is read as its successor, and noted; a null in the place of an absent field is one of these.
4. The verdict is the protocol's, whichever SDK is installed: nothing here asks an SDK what a field may hold.
5. What comes out shares nothing with what went in.

Most events of a stream hold a few strings and nothing else. They take a short way (`_quick`, `_quick_model`), which
gives up on anything that could need a second look; the way round it is `_check`, and both give equal events.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, NamedTuple, NoReturn

from pydantic import BaseModel

from reducer._check import DROP, Check, compiled
from reducer._event import EVENT_CLASSES, DroppedEvent, Event, UnknownEvent, make, snake
from reducer._findings import Findings, Note
from reducer._frozen import Unfreezable, to_wire
from reducer._schema import EVENTS, RETIRED_EVENTS
from reducer._shapes import SAFE_INTEGER, Const, Content, Text, Words
from reducer.errors import MalformedEvent

__all__ = ["EVENT_CLASSES", "DroppedEvent", "Event", "Note", "UnknownEvent", "admit", "decode", "malformed"]


class _Plan(NamedTuple):
    """What decoding needs to know about one event type.

    `strings` gives the attributes of the fields that take a string, by their wire names; `words` the strings that
    some of them are limited to, whose names are spelled alike in both.
    """

    kind: str
    cls: type[Event]
    retired: bool
    check: Check
    attributes: dict[str, str]
    strings: dict[str, str]
    string_attributes: frozenset[str]
    words: dict[str, frozenset[str]]
    required: frozenset[str]


def _plan(kind: str) -> _Plan:
    attributes = {name: snake(name) for name in EVENTS[kind].fields}
    shapes = {attributes[name]: field.shape for name, field in EVENTS[kind].fields.items()}
    strings = {name for name, shape in shapes.items() if isinstance(shape, (Text, Content, Words, Const))}
    return _Plan(
        kind=kind,
        cls=EVENT_CLASSES[kind],
        retired=kind in RETIRED_EVENTS,
        check=compiled(EVENTS[kind]),
        attributes=attributes,
        strings={name: attribute for name, attribute in attributes.items() if attribute in strings},
        string_attributes=frozenset(strings),
        words={
            name: shape.words if isinstance(shape, Words) else frozenset({shape.word})
            for name, shape in shapes.items()
            if isinstance(shape, (Words, Const)) and name != "type"
        },
        required=frozenset(attributes[name] for name, field in EVENTS[kind].fields.items() if field.required),
    )


_PLANS: Final = {kind: _plan(kind) for kind in EVENTS}


def decode(data: Mapping[str, Any] | str | bytes) -> Event:
    """Return the event that `data` stands for: a mapping in wire form, or JSON text.

    What nobody described is stripped and listed in the event's `notes`. An unknown type gives an `UnknownEvent`; an
    unknown member in a place that the event cannot do without gives a `DroppedEvent`. Raises `MalformedEvent` for a
    described value that is wrong, and for what is no JSON object (spec: basic/processing).
    """
    found = Findings()
    if isinstance(data, (str, bytes)):
        data, found = _parsed(data), Findings(owned=True)
    return (_quick(data) if type(data) is dict else None) or _decoded(data, found)


def admit(event: object) -> Event:
    """Return `event` as the fold takes it: an `Event` as it is, a mapping or an object of any SDK version decoded.

    Of an SDK object, optional fields without a value are left out, and a described field that its class does not
    know yet may be there under either spelling. Raises `MalformedEvent` as `decode` does, and for anything else.
    """
    if type(event) is dict:
        return _quick(event) or _decoded(event, Findings())
    if isinstance(event, Event):
        return event
    if isinstance(event, BaseModel):
        return (None if event.__pydantic_extra__ else _quick_model(event.__dict__)) or _decoded_model(event)
    if isinstance(event, Mapping):
        return _decoded(event, Findings())
    raise MalformedEvent((), event, "must be an AG-UI event: an object of the SDK, or a mapping in wire form")


def _quick(data: dict[str, Any]) -> Event | None:
    """Return the event in a mapping that holds described strings and a timestamp and nothing else; else None."""
    kind = data.get("type")
    plan = _PLANS.get(kind) if type(kind) is str else None
    if plan is None or plan.retired:
        return None
    strings, words = plan.strings, plan.words
    values: dict[str, Any] = {}
    for name, value in data.items():
        if type(value) is str and name in strings and (name not in words or value in words[name]):
            values[strings[name]] = value
        elif name == "timestamp" and type(value) is int and -SAFE_INTEGER <= value <= SAFE_INTEGER:
            values[name] = value
        else:
            return None
    return make(plan.cls, values) if plan.required <= values.keys() else None


def _quick_model(held: dict[str, Any]) -> Event | None:
    """Return the event in an SDK object's fields, where `_quick` would for its wire form; else None."""
    kind = held.get("type")
    plan = _PLANS.get(kind) if isinstance(kind, str) else None
    if plan is None or plan.retired:
        return None
    attributes, words = plan.string_attributes, plan.words
    values: dict[str, Any] = {}
    for name, value in held.items():
        if value is None:
            continue  # an absent field, or one that will be missed below
        if type(value) is str and name in attributes and (name not in words or value in words[name]):  # noqa: SIM114
            values[name] = value
        elif name == "timestamp" and type(value) is int and -SAFE_INTEGER <= value <= SAFE_INTEGER:
            values[name] = value
        elif name == "type":
            values[name] = plan.kind
        else:
            return None
    return make(plan.cls, values) if plan.required <= values.keys() else None


def _decoded_model(event: BaseModel) -> Event:
    try:
        wire = to_wire(event)
    except Unfreezable as error:
        raise malformed(error) from error
    return _decoded(wire, Findings(owned=True, attributes=True))


def malformed(error: Unfreezable) -> MalformedEvent:
    """Return what to raise for material of an event that is no JSON."""
    return MalformedEvent(error.path, error.value, f"must be JSON: {error.why}")


def _decoded(data: Any, found: Findings) -> Event:
    """Return the event in `data`, whatever it is. Raises `MalformedEvent`."""
    if not isinstance(data, Mapping):
        raise MalformedEvent((), data, "must be a JSON object")
    kind = data.get("type")
    if not isinstance(kind, str):
        raise MalformedEvent(("type",), kind, "must be a string that names the event's type")
    kind = str.__str__(kind)
    plan = _PLANS.get(kind)
    if plan is None:
        note = Note("unknown-event", ("type",), f"nobody described {reprlib.repr(kind)}; dropped")
        return make(UnknownEvent, {"type": kind, "notes": (note,)})
    if plan.retired:
        found.note("retired-shape", ("type",), f"{kind} is retired; read as its REASONING successor")
    checked = plan.check(data, (), found)
    if checked is DROP:
        note = Note("unknown-member", (), "an unknown member where the event requires a known one; dropped")
        return make(DroppedEvent, {"type": kind, "notes": (note,)})
    if found.faults:
        raise MalformedEvent(*found.faults[0])
    values = {plan.attributes[name]: value for name, value in checked.items()}
    if notes := found.notes():
        values["notes"] = notes
    return make(plan.cls, values)


def _parsed(text: str | bytes) -> Any:
    """Return parsed JSON text. Raises `MalformedEvent` for text that is none, or more than this Python can read."""
    try:
        read = text if isinstance(text, str) else text.decode(json.detect_encoding(text), "surrogatepass")
        return _READER.decode(read)
    except json.JSONDecodeError as error:
        rule = f"must be JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    except RecursionError:
        rule = "must not be nested more deeply than this Python's JSON reader can follow"
    except ValueError as error:  # bad UTF-8, NaN, a number of thousands of digits
        rule = f"must be JSON: {error}"
    raise MalformedEvent((), text, rule)


def _float(digits: str) -> float:
    number = float(digits)
    return number if isfinite(number) else _refuse(digits)


def _refuse(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is no JSON number")


_READER: Final = json.JSONDecoder(parse_constant=_refuse, parse_float=_float)
