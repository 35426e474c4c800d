"""How large frozen JSON is, written out: what bounds the `copy` of a patch, which shares what it copies.

A size is counted once for each container and kept while that lives; a patch carries it on to the containers that it
rebuilds. So it costs no more to know sizes than it did to read what has them, however much of it is shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from weakref import ref

from reducer._frozen import ABSENT, VECTOR, Frozen, Object

VALUE: Final = 16
"""What each value counts, about the bytes that it takes; each character of a string or a key counts one."""

LIMIT: Final = 16_000_000
"""The size up to which a document may grow by copies: a million values, or 16 MB of text."""

LITTLE: Final = 1024
"""A container up to this size is counted anew each time: it has 64 values at most."""


class _Known(ref[Any]):
    """The size of a container that lives, found by the identity of that; what equals it may share other parts."""

    __slots__ = ("place", "size")
    place: int
    size: int


_known: dict[int, _Known] = {}


def size(value: Frozen) -> int:
    """Return how large `value` is, what it shares counted as often as it stands there."""
    total = _at_once(value)
    if total is not None:
        return total
    # The containers that are being counted, outermost first: each with what is left of it, and the sum so far.
    todo: list[tuple[Any, Iterator[Any]]] = [(value, _inside(value))]
    sums = [_shell(value)]
    while todo:
        container, rest = todo[-1]
        for inner in rest:
            known = _at_once(inner)
            if known is None:
                todo.append((inner, _inside(inner)))
                sums.append(_shell(inner))
                break
            sums[-1] += known
        else:
            todo.pop()
            total = sums.pop()
            _keep(container, total)
            if sums:
                sums[-1] += total
    assert total is not None
    return total


def carry(old: Frozen, fresh: Frozen, tokens: list[str]) -> None:
    """Keep how large `fresh` is, which a patch made of `old` at the end of `tokens`, if the size of `old` is kept."""
    if id(old) not in _known:
        return
    path: list[tuple[Any, Any]] = [(old, fresh)]
    for token in tokens[:-1]:
        one, other = path[-1]
        path.append((one.get(token), other.get(token)) if type(one) is Object else (one[int(token)], other[int(token)]))
    grown = _growth(*path[-1], tokens[-1])
    for one, other in path:
        _keep(other, size(one) + grown)


def _growth(old: Any, fresh: Any, token: str) -> int:
    """Return how much larger a container has become by one write."""
    if type(old) is Object:
        here = [one.get(token, ABSENT) for one in (old, fresh)]
        before, after = (0 if value is ABSENT else len(token) + size(value) for value in here)
        return after - before
    if len(fresh) > len(old):
        return size(fresh[int(token) if token.isdigit() else -1])
    lost = size(old[int(token)])
    return -lost if len(fresh) < len(old) else size(fresh[int(token)]) - lost


def _at_once(value: Any) -> int | None:
    """Return the size of a value that has nothing inside or that was counted before."""
    if type(value) is str:
        return VALUE + len(value)
    if type(value) is not Object and type(value) is not VECTOR:
        return VALUE
    known = _known.get(id(value))
    return known.size if known is not None else None if len(value) else VALUE


def _inside(container: Any) -> Iterator[Any]:
    return (value for _, value in container.items()) if type(container) is Object else iter(container)


def _shell(container: Any) -> int:
    """Return the size of a container without what lies inside."""
    return VALUE + sum(len(key) for key, _ in container.items()) if type(container) is Object else VALUE


def _keep(container: Any, total: int) -> None:
    if total > LITTLE:
        known = _Known(container, _forget)
        known.place, known.size = id(container), total
        _known[known.place] = known


def _forget(known: _Known) -> None:
    if _known.get(known.place) is known:
        del _known[known.place]
