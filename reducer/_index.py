"""Immutable mappings for what is looked up on every event: plain dicts that are copied, never changed.

A pyrsistent map costs ten times a dict for a lookup and twenty times for a write. So a mapping that stays small is
one dict copied on each write (`assoc`, `dissoc`), which turns into a persistent map where it does not stay small;
and the one that grows with the thread is an `Index`: a small dict copied on each write over larger ones that are
merged now and then, each several times the size of the one before, so that a write costs the same at any size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from pyrsistent import PMap, pmap

K = TypeVar("K")
V = TypeVar("V")

ABSENT: Any = object()

SMALL = 24
"""Up to this many entries copying a dict is cheaper than a persistent map's path."""

TOP = 16
"""So many entries an index's top layer holds, which is copied on each write."""

FACTOR = 4
"""How many times the size of a layer the one below it has at least."""


def assoc(mapping: Mapping[K, V], key: K, value: V) -> Mapping[K, V]:
    """Return `mapping` with `key` set; `mapping` itself stays as it was."""
    if isinstance(mapping, dict):
        if len(mapping) < SMALL or (len(mapping) == SMALL and key in mapping):
            copy = mapping.copy()
            copy[key] = value
            return copy
        mapping = pmap(mapping)
    assert isinstance(mapping, PMap)
    return mapping.set(key, value)


def dissoc(mapping: Mapping[K, V], key: K) -> Mapping[K, V]:
    """Return `mapping` without `key`; `mapping` itself where it has no such key."""
    if key not in mapping:
        return mapping
    if isinstance(mapping, dict):
        if len(mapping) <= SMALL:
            copy = mapping.copy()
            del copy[key]
            return copy
        mapping = pmap(mapping)
    assert isinstance(mapping, PMap)
    left = mapping.discard(key)
    # A persistent map that shrinks stays as wide as it was, and to walk through it costs that.
    return left if len(left) > SMALL // 2 else dict(left.items())


class Index(Generic[K, V]):
    """A persistent mapping of plain dicts in layers, the newest first; `None` as a value means absent.

    Its slots are filled where one is made and never again, which costs half of what a tuple's subclass does.
    """

    __slots__ = ("rest", "top")

    top: dict[Any, Any]
    rest: tuple[dict[Any, Any], ...]

    @classmethod
    def of(cls, entries: dict[K, V]) -> Index[K, V]:
        """Return an index of `entries`, which it takes over: the caller lets go of the dict."""
        index: Index[K, V] = cls()
        index.top, index.rest = {}, (entries,) if entries else ()
        return index

    @property
    def layers(self) -> tuple[dict[Any, Any], ...]:
        """All layers, the newest first."""
        return (self.top, *self.rest)

    def get(self, key: K) -> V | None:
        """Return what `key` holds, or `None`."""
        top = self.top
        if key in top:
            return top[key]  # type: ignore[no-any-return]
        for layer in self.rest:
            if key in layer:
                return layer[key]  # type: ignore[no-any-return]
        return None

    def put(self, key: K, value: V | None) -> Index[K, V]:
        """Return an index that holds `value` under `key`; `None` removes the key."""
        top = self.top
        if len(top) >= TOP:
            return self.put_all({key: value})
        index: Index[K, V] = Index()
        index.top = top = top.copy()
        index.rest = self.rest
        top[key] = value
        return index

    def put_all(self, entries: Mapping[K, V | None]) -> Index[K, V]:
        """Return an index that holds `entries` too; `None` removes a key."""
        index: Index[K, V] = Index()
        index.top = top = self.top.copy()
        index.rest = rest = self.rest
        top.update(entries)
        if len(top) > TOP:
            merged = 0
            while merged < len(rest) and len(rest[merged]) < FACTOR * len(top):
                top = {**rest[merged], **top}
                merged += 1
            index.top, index.rest = {}, (top, *rest[merged:])
        return index

    def differing(self, other: Index[K, V]) -> list[K]:
        """Return the keys that do not hold the very same in `other`, by the layers that the two do not share."""
        one, two, shared = self.layers, other.layers, 0
        while shared < min(len(one), len(two)) and one[-1 - shared] is two[-1 - shared]:
            shared += 1
        was, now = (
            {key: value for layer in reversed(layers[: len(layers) - shared]) for key, value in layer.items()}
            for layers in (one, two)
        )
        # What one holds as removed the other may hold further down, which is not looked into.
        found = [key for key, value in now.items() if was.get(key, ABSENT) is not value]
        return found + [key for key in was if key not in now]

    def to_dict(self) -> dict[K, V]:
        """Return all entries as one fresh dict, in no particular order."""
        merged: dict[Any, Any] = {}
        for layer in reversed(self.layers):
            merged.update(layer)
        return {key: value for key, value in merged.items() if value is not None}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Index):
            return NotImplemented
        return self is other or self.to_dict() == other.to_dict()

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Index({self.to_dict()!r})"
