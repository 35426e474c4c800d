"""JSON inside a checkpoint: as it is, or flat where that would not come back.

Python's JSON reader follows no deep nesting, joins the halves of a surrogate pair wherever they meet, and refuses
integers of thousands of digits. A state may hold all three. A value that has any of them is stored flat, as steps of
a stack machine: a step is a scalar, or an object with one member, an operator.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from pyrsistent import pvector

from reducer._frozen import VECTOR, Frozen, Object

DEEP: Final = 32
"""How many containers may lie in each other where a value is stored as it is."""

BITS: Final = 2000
"""How long an integer may be there: whatever limit a Python has on digits, it is longer."""

ARRAY, OBJECT, TEXT, INTEGER = "array", "object", "text", "integer"

_BETWEEN_HALVES: Final = re.compile("(?<=[\ud800-\udbff])(?=[\udc00-\udfff])")
_HEX: Final = re.compile("-?[0-9a-f]+", re.ASCII)
_FLAT: Final[Any] = object()


class Wrong(ValueError):
    """Something in a checkpoint that cannot be: `why`, and the `path` to it from where it was found."""

    def __init__(self, why: str, *path: str) -> None:
        super().__init__(why)
        self.why = why
        self.path = path

    def under(self, *path: str) -> Wrong:
        """Return this with `path` before its own."""
        return Wrong(self.why, *path, *self.path)


def within(path: str, read: Callable[..., Any], *told: Any) -> Any:
    """Return what is read at `path`."""
    try:
        return read(*told)
    except Wrong as wrong:
        raise wrong.under(path) from None


def told_text(text: str) -> str | list[str]:
    """Return text for a checkpoint: cut between the halves of each surrogate pair that are no one character here."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        pieces = _BETWEEN_HALVES.split(text)
        return text if len(pieces) == 1 else pieces
    return text


def text_of(told: Any) -> str:
    """Return the text that `told_text` told."""
    if type(told) is str:
        return told
    if type(told) is list and {str}.issuperset(map(type, told)) and told_text(text := "".join(told)) == told:
        return text
    raise Wrong("must be a string, or an array of its pieces where halves of a surrogate pair stay apart")


def tell(told: dict[str, Any], name: str, value: Frozen) -> None:
    """Put a JSON value into a record of a checkpoint, under `name`, or flat under `name*`."""
    plain = _plain(value)
    if plain is _FLAT:
        told[f"{name}*"] = _steps(value)
    else:
        told[name] = plain


def _plain(value: Any) -> Any:
    """Return `value` as fresh plain JSON, or `_FLAT` where that cannot be stored."""
    root = [value]
    level: list[Any] = [root]
    depth = 0
    while level:
        below: list[Any] = []
        for fresh in level:
            is_object = type(fresh) is dict
            if is_object and not all(map(_is_safe, fresh)):
                return _FLAT
            for key, inside in fresh.items() if is_object else enumerate(fresh):
                kind = type(inside)
                if kind is Object or kind is VECTOR:
                    fresh[key] = opened = dict(inside.items()) if kind is Object else inside.tolist()
                    below.append(opened)
                elif (kind is str or kind is int) and not _is_safe(inside):
                    return _FLAT
        level, depth = below, depth + 1
        if depth > DEEP:
            return _FLAT
    return root[0]


def _is_safe(scalar: Any) -> bool:
    if isinstance(scalar, str):
        return scalar.isascii() or type(told_text(scalar)) is str
    return scalar.bit_length() <= BITS  # type: ignore[no-any-return]


def _steps(value: Any) -> list[Any]:
    """Return the steps that make `value`: what is in a container comes before it."""
    steps: list[Any] = []
    todo: list[Any] = [value]
    while todo:
        one = todo.pop()
        kind = type(one)
        if kind is Object:
            steps.append({OBJECT: [told_text(key) for key, _ in one.items()]})
            todo += [inside for _, inside in one.items()]
        elif kind is VECTOR:
            steps.append({ARRAY: len(one)})
            todo += one
        elif kind is str:
            told = told_text(one)
            steps.append(told if type(told) is str else {TEXT: told})
        elif kind is int and not _is_safe(one):
            steps.append({INTEGER: f"{one:x}"})
        else:
            steps.append(one)
    # Written from the outside in and from the last to the first, so it is read the other way round.
    steps.reverse()
    return steps


def made(steps: Any) -> Frozen:
    """Return the frozen value that steps make."""
    if type(steps) is not list:
        raise Wrong("must be an array of steps")
    stack: list[Any] = []
    for number, step in enumerate(steps):
        if type(step) is dict:
            stack.append(within(f"[{number}]", _operated, step, stack))
        elif type(step) is list:
            raise Wrong("is no step", f"[{number}]")
        else:
            stack.append(step)
    if len(stack) != 1:
        raise Wrong(f"makes {len(stack)} values instead of one")
    return stack[0]  # type: ignore[no-any-return]


def _operated(step: dict[str, Any], stack: list[Any]) -> Any:
    """Return what an operator makes of what it takes from the stack."""
    (name, about), *more = step.items() or [("", None)]
    if more:
        raise Wrong("must be one operator")
    if name == ARRAY and type(about) is int and 0 <= about <= len(stack):
        return pvector(_taken(stack, about))
    if name == OBJECT and type(about) is list and len(about) <= len(stack):
        keys = [text_of(key) for key in about]
        if len(set(keys)) < len(keys):
            raise Wrong("has one key twice")
        return Object(dict(zip(keys, _taken(stack, len(keys)), strict=True)))
    if name == TEXT and type(about) is list:
        return text_of(about)
    if name == INTEGER and type(about) is str and _HEX.fullmatch(about):
        return int(about, 16)
    raise Wrong("is no operator that this version knows, or takes more than there is")


def _taken(stack: list[Any], count: int) -> list[Any]:
    start = len(stack) - count
    taken = stack[start:]
    del stack[start:]
    return taken
