"""What a field of a checkpoint may hold: how it is written, and how it is read and checked.

A reader takes what stands in the file and the position of the last event, which no position can be beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from pyrsistent import pmap, pvector

from reducer._frozen import VECTOR, Frozen, Object, freeze
from reducer._index import SMALL
from reducer._interrupts import Interrupts
from reducer._records import CALL, REASONING
from reducer._records import TEXT as TEXT_KIND
from reducer._rules import RULES
from reducer._stored.values import Wrong, made, text_of, told_text, within

Read: TypeAlias = Callable[[Any, int], Any]


class Shape(NamedTuple):
    """`write` gives what stands in the file, `read` what the state holds.

    JSON of any depth, which may stand there in two forms, has `holds` too: what the state holds of it, frozen.
    """

    write: Callable[[Any], Any]
    read: Read
    holds: Callable[[Any], Any] | None = None


def array(told: Any) -> list[Any]:
    """Return an array of the file."""
    if type(told) is not list:
        raise Wrong("must be an array")
    return told


def members(told: Any, *names: str) -> dict[str, Any]:
    """Return an object of the file, which has no members but `names`, where these are given."""
    if type(told) is not dict:
        raise Wrong("must be an object")
    for name in told if names else ():
        if name not in names:
            raise Wrong("is nothing that this version knows", f".{name}")
    return told


def each(told: Any, read: Read, last: int) -> list[Any]:
    """Return what the members of an array are read as."""
    return [within(f"[{number}]", read, one, last) for number, one in enumerate(array(told))]


def fixed(told: Any, last: int, *reads: Read) -> Iterable[Any]:
    """Return what the members of an array of fixed length are read as."""
    if len(array(told)) != len(reads):
        raise Wrong(f"must be an array of {len(reads)}")
    return [read(one, last) for one, read in zip(told, reads, strict=True)]


def in_order(mapping: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Return the items of a mapping of the state, in an order that no hash seed changes.

    A dict may have been a persistent map before, or come from one, so that its order says nothing either.
    """
    return sorted(mapping.items(), key=lambda item: repr(item[0]))


def mapped(pairs: Iterable[tuple[Any, Any]]) -> Mapping[Any, Any]:
    """Return pairs as the mapping that the fold would have made."""
    pairs = list(pairs)
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Wrong("has one key twice")
    return found if len(found) <= SMALL else pmap(found)


def integer(least: int, *, bounded: bool) -> Shape:
    """An integer from `least`, and no later than the last event where it is `bounded`."""

    def read(told: Any, last: int) -> int:
        if type(told) is not int or told < least:
            raise Wrong(f"must be an integer from {least}")
        if bounded and told > last:
            raise Wrong(f"is beyond the last event, {last}")
        return told

    return Shape(int, read)


def one_of(*words: str) -> Shape:
    """One of the strings `words`."""

    def read(told: Any, _: int) -> str:
        if type(told) is not str or told not in words:
            raise Wrong(f"must be one of {', '.join(words)}")
        return told

    return Shape(str, read)


def _json(what: str, holds: Callable[[Any], bool]) -> Shape:
    """JSON of any depth, which is `what`."""

    def held(value: Frozen) -> Frozen:
        if not holds(value):
            raise Wrong(f"must be {what}")
        return value

    return Shape(lambda value: value, lambda told, _: held(freeze(told)), held)


def flat(shape: Shape) -> Read:
    """Return the reader of JSON that is stored flat."""
    holds = shape.holds
    assert holds is not None
    return lambda told, _: holds(made(told))


def _flag(told: Any, _: int) -> bool:
    if type(told) is not bool:
        raise Wrong("must be true or false")
    return told


TEXT: Final = Shape(told_text, lambda told, _: text_of(told))
OWNER: Final = Shape(
    lambda owner: None if owner is None else told_text(owner), lambda told, _: None if told is None else text_of(told)
)
FLAG: Final = Shape(bool, _flag)
POSITION: Final = integer(0, bounded=True)
MARK: Final = integer(-1, bounded=True)
COUNT: Final = integer(0, bounded=False)
RULE: Final = one_of(*RULES)


def _objects(value: Any) -> bool:
    return type(value) is VECTOR and {Object}.issuperset(map(type, value))


def _counted(value: Any) -> bool:
    return _objects(value) and not any(type(held) in (Object, VECTOR) for one in value for _, held in one.items())


def named(value: Any) -> bool:
    """Say whether a value is an array of objects that have ids."""
    return _objects(value) and all(type(one.get("id")) is str for one in value)


ANY: Final = _json("JSON", lambda _: True)
OBJECT: Final = _json("an object", lambda value: type(value) is Object)
USAGE: Final = _json("an array of objects of strings and numbers", _counted)
PARTS: Final = _json("an array", lambda value: type(value) is VECTOR)
CONTENT: Final = _json("a string or an array", lambda value: type(value) is str or type(value) is VECTOR)


def _interrupts(value: Any) -> Interrupts:
    if not named(value):
        raise Wrong("must be an array of objects with ids")
    found = Interrupts().adding(value)
    if len(found) < len(value):
        raise Wrong("has one id twice")
    return found


INTERRUPTS: Final = Shape(pvector, lambda told, _: _interrupts(freeze(told)), _interrupts)


def span(first: int, last: int) -> Any:
    """Return two positions as the file has them: the first, and how far the last is from it, where it is another."""
    return first if first == last else [first, last - first]


def span_of(told: Any, last: int) -> tuple[int, int]:
    """Return the two positions."""
    first, length = told if type(told) is list and len(told) == 2 else (told, 0)
    if type(first) is int and type(length) is int and first >= 0 and length >= 0 and first + length <= last:
        return first, first + length
    raise Wrong(f"must be a position up to that of the last event, {last}, or one and the distance to another")


def _key(what: str, kinds: frozenset[str], most: int) -> Shape:
    def read(told: Any, last: int) -> tuple[str, ...]:
        key = tuple(each(told, TEXT.read, last))
        if not 2 <= len(key) <= most or key[0] not in kinds:
            raise Wrong(f"must name {what}")
        return key

    return Shape(lambda key: [told_text(part) for part in key], read)


MESSAGE_KEY: Final = _key("a text message", frozenset({TEXT_KIND}), 3)
STREAM_KEY: Final = _key("a message or call", frozenset({TEXT_KIND, REASONING, CALL}), 2)


def _mapping(*shapes: Shape, joined: bool = False) -> Shape:
    """A mapping: an array of arrays that end in the value; what comes before it is the key, a tuple if `joined`."""

    def write(mapping: Mapping[Any, Any]) -> list[Any]:
        rows = [(*key, value) if joined else (key, value) for key, value in in_order(mapping)]
        return [[shape.write(one) for shape, one in zip(shapes, row, strict=True)] for row in rows]

    def pair(told: Any, last: int) -> tuple[Any, Any]:
        *key, value = fixed(told, last, *[shape.read for shape in shapes])
        return (tuple(key) if joined else key[0]), value

    return Shape(write, lambda told, last: mapped(each(told, pair, last)))


COUNTS: Final = _mapping(RULE, integer(1, bounded=False))
NAMES: Final = _mapping(TEXT, TEXT)
MAYBES: Final = _mapping(TEXT, OWNER)
STEPS: Final = _mapping(OWNER, TEXT, POSITION, joined=True)
GROUPS: Final = _mapping(MESSAGE_KEY, COUNT)
OWNERS: Final = _mapping(TEXT, TEXT, OWNER, joined=True)


def _value(told: Any, last: int) -> tuple[Any, Any]:
    kind, name, *value = fixed(told, last, _SUBTYPE.read, TEXT.read, TEXT.read, OWNER.read)
    return (kind, name), tuple(value)


_SUBTYPE: Final = one_of("message", "tool-call")
VALUES: Final = Shape(
    lambda values: [[*key[:1], *map(OWNER.write, (key[1], *value))] for key, value in in_order(values)],
    lambda told, last: mapped(each(told, _value, last)),
)
