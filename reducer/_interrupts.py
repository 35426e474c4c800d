"""The open interrupts of a thread, so that none of a hundred thousand costs a look at all the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
from pyrsistent import PVector, pvector

from reducer._frozen import Object, same
from reducer._index import assoc, dissoc

_NONE: Mapping[str, PVector[str]] = {}


@attrs.frozen(eq=False, repr=False)
class Interrupts:
    """Interrupts by id, in the order in which they were raised.

    `_calls` says which ids were raised about a call; what has been answered otherwise, or raised again about another
    call, may still be among them.
    """

    _held: Object = Object({})
    _calls: Mapping[str, PVector[str]] = _NONE

    def __iter__(self) -> Iterator[Any]:
        return (interrupt for _, interrupt in self._held.items())

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, name: object) -> bool:
        return name in self._held

    def adding(self, raised: Iterable[Any]) -> Interrupts:
        """Return these and what was `raised` now; of one that is raised again the last stands, at the end."""
        held, calls = self._held, self._calls
        for interrupt in raised:
            name, call = interrupt.get("id"), interrupt.get("toolCallId")
            held = (held.remove(name) if name in held else held).set(name, interrupt)
            if isinstance(call, str):
                calls = assoc(calls, call, calls.get(call, pvector()).append(name))
        return Interrupts(held, calls)

    def without(self, name: str) -> Interrupts:
        """Return these but for the one with the id `name`."""
        return Interrupts(self._held.remove(name), self._calls) if name in self._held else self

    def answered(self, call: str) -> Interrupts:
        """Return these but for those about a call; themselves where there are none."""
        names, held = self._calls.get(call), self._held
        if names is None:
            return self
        for name in names:
            interrupt = held.get(name)
            if isinstance(interrupt, Object) and interrupt.get("toolCallId") == call:
                held = held.remove(name)
        return Interrupts(held, dissoc(self._calls, call))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Interrupts) and same(pvector(self), pvector(other))

    __hash__ = None  # type: ignore[assignment]  # as for what they are made of

    def __repr__(self) -> str:
        return f"<{len(self)} interrupts>"


NO_INTERRUPTS = Interrupts()
"""No interrupt is open: to ask which object it is costs a fraction of asking how many there are."""
