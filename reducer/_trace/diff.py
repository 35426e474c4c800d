"""What changed between two JSON values, in few operations that a reader applies one after another.

An operation is a list `[verb, path, ...]`: `SET` a value, `DROP` a key, `APPEND` to a string, `SPLICE` an array.
"""

from __future__ import annotations

import json
import re
from typing import Any

from reducer._frozen import ABSENT, VECTOR, Object

SET, DROP, APPEND, SPLICE = range(4)
DEEP = 24
"""Values that differ further down are set whole."""
DEEPEST = 400
"""What stands further down is left out."""
_HALF = re.compile("[\ud800-\udfff]")
_EXACT = 2**53
TOO_DEEP = "(nests too deeply to be shown)"


def diff(old: Any, new: Any) -> list[list[Any]]:
    """Return the operations that make `new` of `old`; either may be plain or frozen."""
    operations: list[list[Any]] = []
    _diff(old, new, [], operations)
    return operations


def _diff(old: Any, new: Any, path: list[str | int], operations: list[list[Any]]) -> None:
    if old is new:
        return
    one, other = _kind(old), _kind(new)
    if one is not other or len(path) == DEEP:
        operations.append([SET, path, new])
    elif one is dict:
        _objects(old, new, path, operations)
    elif one is list:
        _arrays(old, new, path, operations)
    elif old != new:
        if one is str and old and new.startswith(old):
            operations.append([APPEND, path, new[len(old) :]])
        else:
            operations.append([SET, path, new])


def _kind(value: Any) -> type:
    kind = type(value)
    return dict if kind is Object else list if kind is VECTOR else kind


def _objects(old: Any, new: Any, path: list[str | int], operations: list[list[Any]]) -> None:
    # Of a large object that shares nearly all with the one before it, most is the same object.
    held = dict(old.items())
    changed = [(key, value) for key, value in new.items() if held.get(key, ABSENT) is not value]
    if len(new) != len(held) or any(key not in held for key, _ in changed):
        operations += [[DROP, [*path, key]] for key in held if key not in new]
    for key, value in changed:
        if key in held:
            _diff(held[key], value, [*path, key], operations)
        else:
            operations.append([SET, [*path, key], value])


def _arrays(old: Any, new: Any, path: list[str | int], operations: list[list[Any]]) -> None:
    """Items keep their places from the front; what was added or removed is taken to be in one place."""
    head, least = 0, min(len(old), len(new))
    if len(old) == len(new):
        for place in range(least):
            _diff(old[place], new[place], [*path, place], operations)
        return
    while head < least and _same(old[head], new[head]):
        head += 1
    tail = 0
    while tail < least - head and _same(old[len(old) - 1 - tail], new[len(new) - 1 - tail]):
        tail += 1
    added = [new[place] for place in range(head, len(new) - tail)]
    operations.append([SPLICE, path, head, len(old) - tail - head, added])


def _same(old: Any, new: Any) -> bool:
    if old is new:
        return True
    found: list[list[Any]] = []
    _diff(old, new, [], found)
    return not found


def written(value: Any) -> str:
    """Return the JSON text of a value, plain or frozen, for a page (see `embedded`).

    An integer that JavaScript cannot hold is an object of its digits under `#int`; what stands further down than a
    reader that recurses can follow is a text that says so.
    """
    return embedded(_plain(value))


def embedded(value: Any) -> str:
    """Return the JSON text of plain data, without anything that could end the script it stands in or half a pair."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return text if text.isascii() else _HALF.sub(_escape, text)


def _escape(half: re.Match[str]) -> str:
    return f"\\u{ord(half[0]):04x}"


def _plain(value: Any) -> Any:
    """Return the value as JSON that JavaScript reads exactly, sharing nothing with it."""
    root: list[Any] = [value]
    todo: list[tuple[Any, int]] = [(root, 0)]
    while todo:
        holder, depth = todo.pop()
        for place, held in [*(holder.items() if type(holder) is dict else enumerate(holder))]:
            kind = _kind(held)
            if kind is int:
                if not -_EXACT < held < _EXACT:
                    holder[place] = {"#int": str(held)}
            elif kind in (dict, list):
                if depth == DEEPEST:
                    holder[place] = TOO_DEEP
                    continue
                holder[place] = inner = dict(held.items()) if kind is dict else list(held)
                todo.append((inner, depth + 1))
    return root[0]
