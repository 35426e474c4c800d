"""RFC 6902 over frozen JSON, atomic: a patch applies whole, or raises and has changed nothing.

A patch costs what it touches: the containers along its path are rebuilt, all else is shared. The one exception is to
insert into an array anywhere but at its end, or to remove from it, which costs the length of that array. What `copy`
shares a few operations could double again and again: so no copy makes a document larger than `LIMIT`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from attrs import define
from pyrsistent import pvector

from reducer._frozen import ABSENT, PLAIN, VECTOR, Frozen, Object, Unfreezable, brief, freeze, same
from reducer._size import LIMIT, LITTLE, carry, size

# Each operation, and the member that it must have beside `path` (RFC 6902, section 4).
_OPERAND: Final = {"add": "value", "remove": "", "replace": "value", "move": "from", "copy": "from", "test": "value"}
_BAD_ESCAPE: Final = re.compile("~(?![01])")
_INDEX: Final = re.compile("0|[1-9][0-9]*")
_DIGITS: Final = 18
_END: Final = "-"


class Patched(NamedTuple):
    """A patched document, and the places in the patch of elements whose `op` is unknown, which were skipped."""

    document: Frozen
    skipped: tuple[int, ...]


@define(eq=False)
class PatchError(ValueError):
    """A well-formed operation that does not apply: the `index`th, of type `op`, to the pointer `path`."""

    index: int
    op: str
    path: str
    why: str

    def __str__(self) -> str:
        return f"operation {self.index} ({self.op} {brief(self.path)}): {self.why}"


@define(eq=False)
class MalformedOperation(ValueError):
    """What is no JSON Patch: the `member` of the `index`th operation, or all of it if that is empty.

    `index` is `None` where the patch itself is no array.
    """

    index: int | None
    member: str
    why: str

    def __str__(self) -> str:
        where = "the patch" if self.index is None else f"operation {self.index}"
        return f"{where}{self.member and f', {self.member}'}: {self.why}"


class _Fault(Exception):
    """Why a pointer leads nowhere; becomes a `PatchError` where the operation is known."""


_Operation: TypeAlias = "tuple[int, str, str, list[str], list[str], Frozen]"
"""Its place in the patch, `op`, `path`, the tokens of that and of `from`, and `value`."""


def apply(document: Frozen, operations: object) -> Patched:
    """Apply a JSON Patch, an array of operations of any make that `freeze` takes, to a frozen document.

    All operations are read before any is applied. Those with an unknown `op` are skipped, unknown members ignored.
    Raises `MalformedOperation` for what is no JSON Patch, `PatchError` for one that does not apply.
    """
    if type(operations) is not list and (isinstance(operations, (str, bytes)) or not isinstance(operations, Sequence)):
        raise MalformedOperation(None, "", f"it must be an array, not {brief(operations)}")
    read: list[_Operation] = []
    skipped: list[int] = []
    copies = False
    for index, given in enumerate(operations):
        operation = _read(index, given)
        if operation is None:
            skipped.append(index)
            continue
        read.append(operation)
        copies = copies or operation[1] == "copy"
    if copies:
        # Here and not where it is needed: if the patch fails, what was counted stays with the document.
        size(document)
    for number, name, path, target, source, value in read:
        try:
            document = _applied(document, name, target, source, value)
        except _Fault as fault:  # noqa: PERF203 - which operation it was is part of the error
            raise PatchError(number, name, path, str(fault)) from None
    return Patched(document, tuple(skipped))


def _read(index: int, given: Any) -> _Operation | None:
    """Return an operation in its parts, or `None` if its `op` is unknown. Raises `MalformedOperation`."""
    members = given
    if type(given) is not dict and type(given) is not Object:
        members = _frozen(index, "", given)
        if type(members) is not Object:
            raise MalformedOperation(index, "", f"it must be an object, not {brief(members)}")
    name = _text(index, members, "op")
    if name not in _OPERAND:
        return None
    path = _text(index, members, "path")
    target = _tokens(index, "path", path)
    source: list[str] = []
    value: Any = None
    if _OPERAND[name] == "from":
        source = _tokens(index, "from", _text(index, members, "from"))
    elif _OPERAND[name] == "value":
        value = members.get("value", ABSENT)
        if value is ABSENT:
            raise MalformedOperation(index, "value", "it is missing")
        if type(members) is dict and type(value) not in PLAIN:
            value = _frozen(index, "value", value)
    return index, name, path, target, source, value


def _frozen(index: int, member: str, given: object) -> Frozen:
    try:
        return freeze(given)
    except Unfreezable as error:
        raise MalformedOperation(index, member, str(error)) from error


def _text(index: int, members: Any, member: str) -> str:
    text = members.get(member, ABSENT)
    if type(text) is str:
        return text
    if isinstance(text, str):
        return str.__str__(text)
    why = "it is missing" if text is ABSENT else f"it must be a string, not {brief(text)}"
    raise MalformedOperation(index, member, why)


def _tokens(index: int, member: str, pointer: str) -> list[str]:
    """Return the reference tokens of a JSON Pointer (RFC 6901)."""
    first, *tokens = pointer.split("/")
    if first:
        raise MalformedOperation(index, member, f"a pointer is empty or starts with a slash, unlike {brief(pointer)}")
    if "~" not in pointer:
        return tokens
    if _BAD_ESCAPE.search(pointer):
        raise MalformedOperation(index, member, f"a tilde is written ~0 and a slash ~1, unlike in {brief(pointer)}")
    return [token.replace("~1", "/").replace("~0", "~") for token in tokens]


def _applied(document: Frozen, name: str, target: list[str], source: list[str], value: Frozen) -> Frozen:
    """Return the document after one operation. Raises `_Fault`."""
    if name in _WRITES:
        return _rewritten(document, target, _WRITES[name], value)
    if name == "test":
        found = _trail(document, target)[-1]
        if not same(found, value):
            raise _Fault(f"{brief(found)} is not {brief(value)}")
        return document
    try:
        value = _trail(document, source)[-1]
    except _Fault as fault:
        raise _Fault(f"from: {fault}") from None
    if name == "copy":
        return _copied(document, target, value)
    if source == target:
        return document
    if source == target[: len(source)]:
        raise _Fault("a value cannot be moved into itself")
    return _rewritten(_rewritten(document, source, _without, None), target, _with, value)


def _copied(document: Frozen, target: list[str], value: Frozen) -> Frozen:
    """Return the document with a value of its at `target` too. Raises `_Fault` where it grows too large."""
    copied = _rewritten(document, target, _with, value)
    if size(value) > LITTLE and size(document) < size(copied) > LIMIT:
        raise _Fault(f"copies may not make a document larger than {LIMIT}, and this would make it {size(copied)}")
    return copied


def _trail(document: Any, tokens: list[str]) -> list[Any]:
    """Return the document and all values inside it that the tokens lead through. Raises `_Fault`."""
    trail = [document]
    for token in tokens:
        if type(document) is Object:
            inside = document.get(token, ABSENT)
            if inside is ABSENT:
                raise _Fault(f"there is no {brief(token)} in {brief(document)}")
            document = inside
        else:
            document = document[_place(document, token)]
        trail.append(document)
    return trail


def _place(array: Any, token: str, more: int = 0) -> int:
    """Return the index, among an array's elements and so many `more`, that a token means. Raises `_Fault`."""
    if type(array) is not VECTOR:
        raise _Fault(f"{brief(array)} holds nothing, so there is no {brief(token)} in it")
    if not _INDEX.fullmatch(token):
        raise _Fault(f"{brief(token)} is no index in {brief(array)}")
    # The length comes first: Python refuses to read thousands of digits, and is slow to read fewer.
    if len(token) > _DIGITS or int(token) >= len(array) + more:
        raise _Fault(f"{brief(token)} is out of bounds in {brief(array)}")
    return int(token)


def _rewritten(document: Frozen, tokens: list[str], write: Callable[[Any, str, Frozen], Any], value: Frozen) -> Frozen:
    """Return the document after `write` on the last container that the tokens lead through. Raises `_Fault`."""
    if not tokens:
        # What is left of a document without its root, RFC 6902 does not say; null, says the reference client.
        return value
    trail = _trail(document, tokens[:-1])
    old = trail.pop()
    fresh = write(old, tokens[-1], value)
    for token in tokens[-2::-1]:
        if fresh is old:
            return document
        old = trail.pop()
        fresh = old.set(token if type(old) is Object else int(token), fresh)
    carry(document, fresh, tokens)
    return fresh  # type: ignore[no-any-return]


def _with(container: Any, token: str, value: Frozen) -> Any:
    if type(container) is Object:
        return container.set(token, value)
    place = len(container) if token == _END and type(container) is VECTOR else _place(container, token, 1)
    if place == len(container):
        return container.append(value)
    elements = container.tolist()
    elements.insert(place, value)
    return pvector(elements)


def _without(container: Any, token: str, _: Frozen) -> Any:
    _trail(container, [token])
    if type(container) is Object:
        return container.remove(token)
    elements = container.tolist()
    del elements[int(token)]
    return pvector(elements)


def _exchanged(container: Any, token: str, value: Frozen) -> Any:
    if type(container) is Object and token in container:
        return container.set(token, value)
    if _trail(container, [token])[-1] is value:
        return container
    return container.set(token if type(container) is Object else int(token), value)


_WRITES: Final[dict[str, Callable[[Any, str, Frozen], Any]]] = {"add": _with, "remove": _without, "replace": _exchanged}
