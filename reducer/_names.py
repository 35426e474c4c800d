"""Ids that nothing else has, made of ids by apostrophes.

Whoever picks the ids of a log can have them all in use, up to any number of apostrophes. So what is free is not tried
one by one: for each id without its apostrophes there is a chain from the numbers in use to those to look at next, and a
walk along it shortens it.
"""

from __future__ import annotations


class Taken:
    """The ids that are in use."""

    def __init__(self, ids: set[str]) -> None:
        self._ids = ids
        self._chains: dict[str, dict[int, int]] = {}

    def free(self, name: str) -> str:
        """Return `name`, made longer until nothing else has it, and take it."""
        if name in self._ids:
            stem, count = _parted(name)
            name = stem + "'" * self._first(stem, count)
        self._ids.add(name)
        if self._chains:
            self._chain(name)
        return name

    def _first(self, stem: str, count: int) -> int:
        """Return how many apostrophes, at least `count`, make an id of `stem` that nothing has."""
        if not self._chains:
            # Only ids that were made to collide come here; then one look at all of them saves trying each in turn.
            for name in self._ids:
                self._chain(name)
        chain = self._chains[stem]
        passed = []
        while count in chain:
            passed.append(count)
            count = chain[count]
        chain.update(dict.fromkeys(passed, count))
        return count

    def _chain(self, name: str) -> None:
        """Note that after a number of apostrophes that is in use the next one has to be looked at."""
        stem, count = _parted(name)
        self._chains.setdefault(stem, {})[count] = count + 1


def _parted(name: str) -> tuple[str, int]:
    """Return an id without the apostrophes at its end, and how many these are."""
    stem = name.rstrip("'")
    return stem, len(name) - len(stem)
