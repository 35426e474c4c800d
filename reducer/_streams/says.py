"""What an entity says, in the order in which it says it, and what is special about things: the smallest recipes."""

from __future__ import annotations

from typing import Any

from attrs import fields, frozen


def brief(self: Any) -> str:
    """Show of a record only what is special: Hypothesis names strategies by what they choose from."""
    shown = [
        f"{one.name}={getattr(self, one.name)!r}"
        for one in fields(type(self))
        if getattr(self, one.name) != one.default
    ]
    return f"{type(self).__name__}({', '.join(shown)})"


@frozen(repr=False)
class Look:
    """How a delta is dressed."""

    metadata: dict[str, Any] | None = None
    raw: Any = None
    form: int = 0
    """How a chunk names what it continues: 0 not at all, 1 by id, 2 by repeating all that its opener said."""
    bare: bool = False
    """Whether a chunk comes without a delta."""
    __repr__ = brief


PLAIN = Look()


@frozen
class Delta:
    """A piece of an entity; where the entity has closed, it opens once more."""

    gap: int
    text: str
    look: Look


@frozen
class Sealed:
    """An encrypted value for the entity."""

    gap: int


@frozen
class End:
    """The entity closes; what follows comes when other strands may be running.

    It waits for nothing: could it, an entity that closes late and opens again would be another way to say that a piece
    comes late, and examples would end up in either.
    """


@frozen
class Answered:
    """A result for the call."""

    gap: int
    content: Any
    metadata: dict[str, Any] | None


@frozen
class Next:
    """Another reasoning message in the same span."""


@frozen
class With:
    """Something special about a strand or a run: a field of what it is about, and its value."""

    field: str
    value: Any


Say = Delta | Sealed | End | Answered | Next | With


def special(withs: tuple[Any, ...]) -> dict[str, Any]:
    """Gather what is special; of two values for one field, the later counts."""
    return {one.field: one.value for one in withs if isinstance(one, With)}
