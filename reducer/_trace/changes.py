"""What the page is given of changes: JSON values each kept once, and lists told as splices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reducer._trace.diff import SET, SPLICE, embedded, written


class Values:
    """JSON texts, each kept once, by number."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def number(self, value: Any) -> int:
        """Return the number of a value."""
        return self.texts.setdefault(written(value), len(self.texts))

    def operations(self, operations: Iterable[list[Any]]) -> list[list[Any]]:
        """Return operations with numbers for their values."""
        return [self._one(*operation) for operation in operations]

    def _one(self, verb: int, path: list[Any], *rest: Any) -> list[Any]:
        if verb == SET:
            return [SET, path, self.number(rest[0])]
        if verb == SPLICE:
            return [SPLICE, path, rest[0], rest[1], [self.number(value) for value in rest[2]]]
        return [verb, path, *rest]


class Listed:
    """A list that changes in one place at a time, told as splices `[position, start, gone, added]`."""

    def __init__(self) -> None:
        self.length = 0
        self.splices: list[str] = []

    def replace(self, position: int, behind: int, old: list[Any], new: list[Any]) -> None:
        """Put `new` for `old`, behind which `behind` items stand."""
        head, tail = shared_ends(old, new)
        added, gone = new[head : len(new) - tail], len(old) - tail - head
        if added or gone:
            start = self.length - behind - len(old) + head
            self.splices.append(embedded([position, start, gone, added]))
        self.length += len(new) - len(old)


def shared_ends(old: list[Any], new: list[Any]) -> tuple[int, int]:
    """Return how many items two lists share at their beginning, and how many of the others at their end."""
    least = min(len(old), len(new))
    head = next((place for place in range(least) if old[place] != new[place]), least)
    least -= head
    tail = next((place for place in range(least) if old[-1 - place] != new[-1 - place]), least)
    return head, tail
