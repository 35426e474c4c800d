"""The kinds of value that the table of the protocol is written in.

A shape says what a value may be. What happens to a value that is not so follows from the shape's kind
(spec: basic/processing): an unknown property, an unknown member of a `Union` and an unknown word of a `Words` are
*unrecognised* and stripped; whatever else does not fit, a wrong `Const` included, is *malformed* and refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import frozen

# JSON numbers survive a round trip through every peer only in this range.
SAFE_INTEGER: Final = 9007199254740991


@frozen
class Text:
    """A string; a `pointer` is one that RFC 6901 can read."""

    pointer: bool = False


@frozen
class Integer:
    """An integer from `least` to `SAFE_INTEGER`, never a boolean."""

    least: int = -SAFE_INTEGER


@frozen
class Flag:
    """`true` or `false`."""


@frozen
class Anything:
    """Any JSON value, kept whole."""


@frozen
class OpenObject:
    """An object whose keys are its data: kept whole."""


@frozen
class Words:
    """One of a closed set of strings; another string is a word from a later version."""

    words: frozenset[str]


@frozen
class Const:
    """A fixed string; another one is a defect, not a later version (conformance: reasoning-message-wrong-role)."""

    word: str


@frozen
class Field:
    """What a property holds, whether its object needs it, and the code of the note that a null on it earns."""

    shape: Shape
    required: bool = False
    null: str = "null-refused"


@frozen
class Record:
    """An object with described fields; an `open` one keeps what nobody described (RFC 6902, section 4)."""

    fields: Mapping[str, Field]
    open: bool = False


@frozen
class Union:
    """An object that is one of `members`, by the string under `tag`."""

    tag: str
    members: Mapping[str, Record]


@frozen
class ListOf:
    """An array of `item`, of `least` elements or more."""

    item: Shape
    least: int = 0


@frozen
class Content:
    """A string, or an array of content parts; `retired` ones are translated (spec: basic/versioning)."""

    part: Union
    retired: bool = False


Shape = Text | Integer | Flag | Anything | OpenObject | Words | Const | Record | Union | ListOf | Content


def need(shape: Shape) -> Field:
    """Return a field that its object must have."""
    return Field(shape, required=True)


def may(shape: Shape) -> Field:
    """Return a field that its object may leave out, and not spell null (spec: basic/index)."""
    return Field(shape)


def lenient(shape: Shape) -> Field:
    """Return an optional field on which producers before 1.0 sent null, which the protocol tolerates."""
    return Field(shape, null="null-as-absent")


def never_null(shape: Shape) -> Field:
    """Return an optional field on which the protocol refuses null (spec: events/subagents)."""
    return Field(shape, null="null-attribution")


def union(tag: str, **members: dict[str, Field]) -> Union:
    """Return the union of objects that the word under `tag` tells apart, which each of them requires."""
    return Union(tag, {word: Record({tag: need(Const(word)), **fields}) for word, fields in members.items()})
