"""Records of the state in a checkpoint: what is left out, what follows from the context, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import attrs
from pyrsistent import pvector

from reducer._state import FIELDS, Conversation, State
from reducer._stored.shapes import Read, Shape, each, flat, members
from reducer._stored.values import Wrong, tell

REQUIRED: Final[Any] = object()
"""There is no default."""

DERIVED: Final[Any] = object()
"""The default follows from the context: writer and reader both work it out."""

_ELSEWHERE: Final[Any] = object()


class Field(NamedTuple):
    """An attribute of a record of the state, and how it is stored."""

    attribute: str
    name: str
    shape: Shape
    default: Any = REQUIRED


class Record:
    """A record of the state, and how it is stored."""

    def __init__(self, kind: Any, *fields: Field, elsewhere: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self.fields = fields
        self.elsewhere = dict(elsewhere or {})
        self.attributes = attributes(kind)
        self._places = {attribute: place for place, attribute in enumerate(self.attributes)}
        self._blank = [_ELSEWHERE] * len(self.attributes)
        self._readers: dict[str, tuple[int, Read]] = {}
        self._plan: list[tuple[int, Field]] = []
        for field in fields:
            place = self._places[field.attribute]
            self._blank[place] = field.default
            self._readers[field.name] = (place, field.shape.read)
            if field.shape.holds is not None:
                self._readers[f"{field.name}*"] = (place, flat(field.shape))
            self._plan.append((place, field))
        self.names = frozenset(self._readers)
        self._required = [(place, field.name) for place, field in self._plan if field.default is REQUIRED]

    def told(
        self, values: Sequence[Any], told: dict[str, Any], derived: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Add the record, whose attributes are `values`, to `told`, an object of the file, and return that.

        `derived` has the defaults that follow from the context, by attribute.
        """
        for place, (attribute, name, shape, default) in self._plan:
            value = values[place]
            if default is DERIVED and derived is not None:
                default = derived[attribute]  # noqa: PLW2901 - the default there is
            if value is default or value == default:
                continue
            if shape[2] is None:
                told[name] = shape[0](value)
            else:
                tell(told, name, shape[0](value))
        return told

    def read(self, told: Any, last: int, more: frozenset[str] = frozenset()) -> list[Any]:
        """Return the attributes that the file tells, in order; those that it leaves out have their defaults.

        `more` are members that somebody else reads.
        """
        values, readers = self._blank.copy(), self._readers
        for name, value in members(told).items():
            reader = readers.get(name)
            if reader is None:
                if name not in more:
                    raise Wrong("is nothing that this version knows", f".{name}")
                continue
            try:
                values[reader[0]] = reader[1](value, last)
            except Wrong as wrong:
                raise wrong.under(f".{name}") from None
            if name[-1] == "*" and name[:-1] in told:
                raise Wrong("is told twice", f".{name}")
        for place, name in self._required:
            if values[place] is REQUIRED:
                raise Wrong("is missing", f".{name}")
        return values

    def fill(self, values: list[Any], found: Mapping[str, Any]) -> list[Any]:
        """Put what was `found` elsewhere into `values`, where the file has nothing else to say of it."""
        for attribute, value in found.items():
            place = self._places[attribute]
            if values[place] is DERIVED or values[place] is _ELSEWHERE:
                values[place] = value
        return values

    def value(self, values: list[Any], attribute: str) -> Any:
        """Return one of `values`."""
        return values[self._places[attribute]]

    def shape(self) -> Shape:
        """Return the record, of which all is stored in its fields, as what a field may hold."""

        def made(told: Any, last: int) -> Any:
            return self.kind(*self.read(told, last))

        return Shape(lambda value: self.told(values_of(value), {}), made)


def many(record: Record, make: Callable[[list[Any]], Any] = pvector) -> Shape:
    """Return a sequence of such records as what a field may hold."""
    one = record.shape()

    def read(told: Any, last: int) -> Any:
        return make(each(told, one.read, last))

    return Shape(lambda values: [one.write(value) for value in values], read)


def attributes(kind: Any) -> tuple[str, ...]:
    """Return the names of a record's attributes, in order."""
    if kind is State:
        return FIELDS
    if kind is Conversation:
        return Conversation.__slots__
    if issubclass(kind, tuple):
        return kind._fields  # type: ignore[no-any-return]
    return tuple(field.name for field in attrs.fields(kind))


def values_of(record: Any) -> Sequence[Any]:
    """Return a record's attributes, in order."""
    if isinstance(record, (State, Conversation)):
        return [getattr(record, name) for name in attributes(type(record))]
    return record if isinstance(record, tuple) else attrs.astuple(record, recurse=False)
