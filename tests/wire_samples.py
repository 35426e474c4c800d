"""Values drawn from the table of the protocol: what each shape takes, what it refuses, and where it stands.

The table is what is under test, too: the SDK and the reference client hold it to the protocol (`test_wire.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

from reducer._schema import EVENTS
from reducer._shapes import (
    SAFE_INTEGER,
    Anything,
    Const,
    Content,
    Field,
    Flag,
    Integer,
    ListOf,
    OpenObject,
    Record,
    Shape,
    Text,
    Union,
    Words,
)

PathTo = tuple[str | int, ...]


class Place(NamedTuple):
    """A described value inside a sample.

    `tag` says that the word there tells the members of a union apart; `name` is the place's in the table, the same
    for all elements of a list.
    """

    path: PathTo
    field: Field
    tag: bool
    name: str


def samples(shape: Shape) -> list[Any]:  # noqa: C901, PLR0911 - a case for each shape
    """Return valid values of a shape: each word, member and element once, objects with all their fields."""
    match shape:
        case Text(pointer):
            return ["/a~1b/0" if pointer else "x"]
        case Integer(least):
            return [max(least, 0) + 7]
        case Flag():
            return [False]
        case Anything():
            return [{"k": [1, None, 2.5, {}]}]
        case OpenObject():
            return [{"k": None, "subagentRunId": [None]}]
        case Words(words):
            return sorted(words)
        case Const(word):
            return [word]
        case ListOf(item):
            return [samples(item)]
        case Content(part):
            return ["x", samples(part)]
        case Union(members=members):
            return [sample for member in members.values() for sample in samples(member)]
        case Record(fields):
            several = {name: samples(field.shape) for name, field in fields.items()}
            whole = {name: values[0] for name, values in several.items()}
            return [whole, *({**whole, name: value} for name, values in several.items() for value in values[1:])]


def events(kind: str) -> list[dict[str, Any]]:
    """Return events of a type: with the required fields, with one element of each list, with all, in each variety."""
    whole, *varieties = samples(EVENTS[kind])
    required = {name: whole[name] for name, field in EVENTS[kind].fields.items() if field.required}
    least = {name: [] if isinstance(value, list) else value for name, value in required.items()}
    # An SDK older than one message or part refuses the event that holds them all.
    single = [
        {**least, name: [element]} for name, value in whole.items() if isinstance(value, list) for element in value
    ]
    # Copies of copies: a change in one place of an event is to be a change in one place.
    return [json.loads(json.dumps(event)) for event in (least, *single, whole, *varieties)]


EVERY_EVENT = [(kind, event) for kind in EVENTS for event in events(kind)]


def wrong(shape: Shape) -> list[Any]:  # noqa: PLR0911 - a case for each shape
    """Return values that are malformed where the shape stands; null and unknown words aside."""
    match shape:
        case Text(pointer):
            return [42, True, [], {}, *(["no-slash", "/~2", "/~"] if pointer else [])]
        case Integer(least):
            return ["7", 1.5, True, [], {}, SAFE_INTEGER + 1, least - 1]
        case Flag():
            return [0, 1, "true", [], {}]
        case Words():
            return [42, True, [], {}]
        case Const():
            return [42, True, [], {}, "later"]
        case ListOf(least=least):
            return ["x", 42, {}, *([[]] if least else [])]
        case Content():
            return [42, True, {}]
        case OpenObject() | Record() | Union():
            return ["x", 42, []]
        case Anything():
            return []


def places(shape: Shape, value: Any, path: PathTo = (), name: str = "", tag: str | None = None) -> Iterator[Place]:
    """Yield where the described properties of a sample stand."""
    match shape:
        case Record(fields):
            for key, field in fields.items():
                if key in value:
                    there = f"{name}.{key}" if name else key
                    yield Place((*path, key), field, key == tag, there)
                    yield from places(field.shape, value[key], (*path, key), there)
        case Union(word, members):
            yield from places(members[value[word]], value, path, f"{name}:{value[word]}", word)
        case ListOf(item):
            for index, element in enumerate(value):
                yield from places(item, element, (*path, index), name)
        case Content(part) if isinstance(value, list):
            yield from places(ListOf(part), value, path, name)


def records(shape: Shape, value: Any, path: PathTo = (), name: str = "") -> Iterator[tuple[str, PathTo, Record]]:
    """Yield the described objects of a sample, with their names in the table."""
    match shape:
        case Record(fields):
            yield name, path, shape
            for key, field in fields.items():
                if key in value:
                    yield from records(field.shape, value[key], (*path, key), f"{name}.{key}")
        case Union(word, members):
            yield from records(members[value[word]], value, path, f"{name}:{value[word]}")
        case ListOf(item):
            for index, element in enumerate(value):
                yield from records(item, element, (*path, index), name)
        case Content(part) if isinstance(value, list):
            yield from records(ListOf(part), value, path, name)


def places_of(kind: str) -> list[tuple[dict[str, Any], Place]]:
    """Return each place that the table has in an event of a type, its type aside, with the first event that has it."""
    found: dict[str, tuple[dict[str, Any], Place]] = {}
    for event in events(kind):
        for place in places(EVENTS[kind], event):
            if place.path != ("type",):
                found.setdefault(place.name, (event, place))
    return list(found.values())


def records_of(kind: str) -> list[tuple[dict[str, Any], PathTo, Record]]:
    """Return each object that the table has in an event of a type, with the first event that has it."""
    found: dict[str, tuple[dict[str, Any], PathTo, Record]] = {}
    for event in events(kind):
        for name, path, record in records(EVENTS[kind], event):
            found.setdefault(name, (event, path, record))
    return list(found.values())


def at(value: Any, path: PathTo) -> Any:
    """Return what stands at a path."""
    for key in path:
        value = value[key]
    return value


def put(value: Any, path: PathTo, new: Any) -> Any:
    """Return a copy with something else at a path."""
    copy = deepcopy(value)
    at(copy, path[:-1])[path[-1]] = new
    return copy


def cut(value: Any, path: PathTo) -> Any:
    """Return a copy without what stands at a path."""
    copy = deepcopy(value)
    del at(copy, path[:-1])[path[-1]]
    return copy
