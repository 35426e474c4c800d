"""About how long a value is as JSON, to choose the shorter of two ways to say something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reducer._frozen import VECTOR, Object


def length(value: Any) -> int:
    """Return about how long a value is as JSON."""
    return sum(_cost(one) for one in _leaves(value))


def is_longer(value: Any, limit: int) -> bool:
    """Say whether a value is longer than `limit`, without looking at more of it than that."""
    for one in _leaves(value):
        limit -= _cost(one)
        if limit < 0:
            return True
    return False


def _leaves(value: Any) -> Iterator[Any]:
    todo = [value]
    while todo:
        one = todo.pop()
        yield one
        if type(one) is Object or type(one) is dict:
            for key, inside in one.items():
                yield key
                todo.append(inside)
        elif type(one) is VECTOR or type(one) is list:
            todo += one


def _cost(one: Any) -> int:
    return len(one) + 3 if type(one) is str else 2 if type(one) in (Object, VECTOR, dict, list) else len(repr(one)) + 1
