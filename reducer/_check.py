"""The table of the protocol, compiled to functions that check a value and strip it (spec: basic/processing).

A checker takes a value, the path to it and the findings so far. It returns the value without what nobody described,
fresh where it is a container, or `DROP` where nobody described the value itself. It never raises: a malformed value
is a finding like a stripped one. For what is dropped takes all findings inside it with it, so only at the end is it
known whether a fault remains, and the verdict does not depend on the order of keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from reducer._event import snake
from reducer._findings import Findings
from reducer._frozen import ABSENT, Path, Unfreezable, to_wire
from reducer._legacy import MIRRORED, is_binary, upgraded
from reducer._shapes import (
    SAFE_INTEGER,
    Anything,
    Const,
    Content,
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

Check: TypeAlias = "Callable[[Any, Path, Findings], Any]"

DROP: Final[Any] = object()
_BAD_ESCAPE: Final = re.compile("~(?![01])")


def compiled(shape: Shape) -> Check:
    """Return the checker of a shape."""
    return _COMPILERS[type(shape)](shape)


def _text(shape: Text) -> Check:
    def check(value: Any, path: Path, found: Findings) -> Any:
        if not isinstance(value, str):
            return found.fault(path, value, "must be a string")
        if shape.pointer and ((value and value[0] != "/") or _BAD_ESCAPE.search(value)):
            return found.fault(path, value, "must be a JSON Pointer (RFC 6901)")
        return str.__str__(value)  # a string enum's value, too

    return check


def _integer(shape: Integer) -> Check:
    def check(value: Any, path: Path, found: Findings) -> Any:
        # JSON has one kind of number: 1.0 is an integer, as JSON Schema has it, and true is none.
        whole = isinstance(value, int) and not isinstance(value, bool)
        if (whole or (isinstance(value, float) and value.is_integer())) and shape.least <= value <= SAFE_INTEGER:
            return int(value)
        return found.fault(path, value, f"must be an integer from {shape.least} to {SAFE_INTEGER}")

    return check


def _flag(_: Flag) -> Check:
    def check(value: Any, path: Path, found: Findings) -> Any:
        return value if isinstance(value, bool) else found.fault(path, value, "must be true or false")

    return check


def _anything(_: Anything) -> Check:
    return _json


def _json(value: Any, path: Path, found: Findings) -> Any:
    try:
        return value if found.owned else to_wire(value)
    except Unfreezable as error:
        return found.fault((*path, *error.path), error.value, f"must be JSON: {error.why}")


def _open_object(_: OpenObject) -> Check:
    def check(value: Any, path: Path, found: Findings) -> Any:
        return _json(value, path, found) if _is_object(value) else found.fault(path, value, "must be an object")

    return check


def _words(shape: Words) -> Check:
    def check(value: Any, path: Path, found: Findings) -> Any:
        if not isinstance(value, str):
            return found.fault(path, value, "must be a string")
        return str.__str__(value) if value in shape.words else DROP

    return check


def _const(shape: Const) -> Check:
    def check(value: Any, path: Path, found: Findings) -> Any:
        same = isinstance(value, str) and value == shape.word
        return shape.word if same else found.fault(path, value, f"must be {shape.word!r}")

    return check


class _Object:
    """The checker of a `Record`."""

    __slots__ = ("_attributes", "_fields", "_open", "_required", "_texts")

    def __init__(self, shape: Record) -> None:
        self._open = shape.open
        self._fields = {name: (field, compiled(field.shape)) for name, field in shape.fields.items()}
        self._texts = {name: name for name, field in shape.fields.items() if field.shape == Text()}
        self._required = [name for name, field in shape.fields.items() if field.required]
        self._attributes = {snake(name): name for name in shape.fields}

    def __call__(self, value: Any, path: Path, found: Findings) -> Any:
        if not _is_object(value):
            return found.fault(path, value, "must be an object")
        texts = self._texts
        result: dict[str, Any] = {}
        for key, item in value.items():
            if type(item) is str and key in texts:
                result[texts[key]] = item
            elif (name := self._name(key, value, path, found)) is None:
                continue
            elif (kept := self._member(name, item, (*path, name), found)) is DROP:
                return DROP
            elif kept is not ABSENT:
                result[name] = kept
        for name in self._required:
            if name not in result:
                found.fault((*path, name), None, "is required and missing")
        return result

    def _name(self, key: Any, value: Mapping[str, Any], path: Path, found: Findings) -> str | None:
        """Return the name of a member to keep, or None once its key is noted."""
        if not isinstance(key, str):
            found.fault(path, key, "must have strings for keys")
            return None
        if key in self._fields or self._open:
            return str.__str__(key)
        # An SDK older than a field keeps it under the name that its caller wrote.
        if found.attributes and (name := self._attributes.get(key)) and name not in value:
            return name
        found.note("unknown-property", (*path, str.__str__(key)), "nobody described it; stripped")
        return None

    def _member(self, name: str, item: Any, path: Path, found: Findings) -> Any:
        """Return a member's value, `ABSENT` once it is noted that it goes, or `DROP` if its object goes with it."""
        if name not in self._fields:
            return _json(item, path, found)
        field, inner = self._fields[name]
        if item is None and not field.required:
            found.note(field.null, path, "null in the place of an absent field; read as absent")
            return ABSENT
        mark = found.mark()
        kept = inner(item, path, found)
        if kept is not DROP or field.required:
            return kept
        found.forget(mark)
        found.note("unknown-member", path, "nobody described it; stripped", item)
        return ABSENT


def _union(shape: Union) -> Check:
    members = {word: compiled(member) for word, member in shape.members.items()}

    def check(value: Any, path: Path, found: Findings) -> Any:
        if not _is_object(value):
            return found.fault(path, value, "must be an object")
        word = value.get(shape.tag)
        # An object without its tag is no member that anybody described, as for the reference client.
        member = members.get(word) if isinstance(word, str) else None
        return DROP if member is None else member(value, path, found)

    return check


def _list(shape: ListOf, *, retired: bool = False) -> Check:
    inner = compiled(shape.item)

    def check(value: Any, path: Path, found: Findings) -> Any:
        if not _is_array(value):
            return found.fault(path, value, "must be an array")
        result = []
        for index, item in enumerate(upgraded(value) if retired and any(map(is_binary, value)) else value):
            here = (*path, index)
            mark = found.mark()
            if item is MIRRORED:
                found.note("retired-shape", here, "a binary part beside its modern twin; left out")
                continue
            if item is not value[index]:
                found.note("retired-shape", here, f"a binary part; read as a part of type {item['type']}")
            checked = inner(item, here, found)
            if checked is not DROP:
                result.append(checked)
                continue
            found.forget(mark)
            found.note("unknown-member", here, "nobody described it; dropped from its list", item)
        if len(result) < shape.least:
            found.fault(path, value, f"must hold {shape.least} or more")
        return result

    return check


def _content(shape: Content) -> Check:
    parts = _list(ListOf(shape.part), retired=shape.retired)

    def check(value: Any, path: Path, found: Findings) -> Any:
        if isinstance(value, str):
            return str.__str__(value)
        if _is_array(value):
            return parts(value, path, found)
        return found.fault(path, value, "must be a string or an array of content parts")

    return check


def _is_object(value: Any) -> bool:
    return type(value) is dict or isinstance(value, Mapping)


def _is_array(value: Any) -> bool:
    return isinstance(value, (list, tuple))


_COMPILERS: dict[type, Callable[[Any], Check]] = {
    Text: _text,
    Integer: _integer,
    Flag: _flag,
    Anything: _anything,
    OpenObject: _open_object,
    Words: _words,
    Const: _const,
    Record: _Object,
    Union: _union,
    ListOf: _list,
    Content: _content,
}
