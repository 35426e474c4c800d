"""Recipes to lanes: the events of one owner in their order, each with how long the lane waits before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from .held import Held
from .material import Event

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .recipes import LaneRecipe, Strand

Make = Callable[[Held], Sequence[Event]]


@frozen
class Step:
    """One moment of a lane: how long the lane waits, and what it then sends, often one event."""

    gap: int
    make: Make


@frozen
class Lane:
    """All that one owner streams in a run, in its own order; `owner` is `None` for the parent agent."""

    owner: str | None
    steps: tuple[Step, ...]


@frozen
class Woven:
    """The steps of one strand: those that open and close it, and those that follow when others may be running."""

    beside: bool
    core: tuple[Step, ...]
    followers: tuple[Step, ...] = ()


@define
class Names:
    """The ids of a stream: short, and counted per kind."""

    counters: dict[str, count[int]] = field(factory=dict)
    lanes: dict[str | None, Voice] = field(factory=dict)
    suspended: list[str] = field(factory=list)
    """The subagents that wait to be continued in a later run."""
    suspending: list[str] = field(factory=list)
    """Those that this run suspends, whose ids it may not use again."""
    typed: bool = False
    """Whether encrypted values come with their type."""
    reopening: bool = True
    """Whether what has closed may open again."""

    def new(self, letter: str) -> str:
        """Give an id that the stream has not seen."""
        return f"{letter}{next(self.counters.setdefault(letter, count(1)))}"

    def voice(self, owner: str | None) -> Voice:
        """Give what is known about an owner, from this run or an earlier one."""
        return self.lanes.setdefault(owner, Voice(self, owner))


@define
class Voice:
    """One owner while its lane is written: how it attributes, and what the next strand may refer to."""

    names: Names
    owner: str | None
    untagged: bool = False
    text: str | None = None
    """The latest assistant text."""
    reasoning: str | None = None
    """The latest reasoning that no text has taken the id of."""
    any_text: str | None = None
    parent: str | None = None
    """The message of the latest call."""
    call: str | None = None
    reserved: str | None = None
    """An id that a call has promised for the next text."""
    phases: int = 0

    @property
    def tag(self) -> dict[str, Any]:
        """The attribution of what opens something."""
        return {} if self.owner is None else {"subagentRunId": self.owner}

    @property
    def inherited(self) -> dict[str, Any]:
        """The attribution of what continues something."""
        return {} if self.untagged else self.tag


Weave = Callable[["Strand", Voice], Woven]


def event(event_type: str, metadata: dict[str, Any] | None = None, raw: Any = None, /, **fields: Any) -> Event:
    """Write an event; what is `None` is absent."""
    made: Event = {"type": event_type}
    made.update({key: value for key, value in fields.items() if value is not None})
    if metadata is not None:
        made["metadata"] = metadata
    if raw is not None:
        made["rawEvent"] = raw
    return made


def always(made: Event) -> Make:
    """Make an event that depends on nothing."""
    return lambda _held: (made,)


def lay_out(strands: Iterable[Strand], voice: Voice, weave: Weave) -> tuple[Step, ...]:
    """Put the strands of a lane on one clock: each begins where the one before it closed, or began if beside it."""
    moments: list[tuple[int, Make]] = []
    began = closed = 0
    for strand in (weave(one, voice) for one in strands):
        clock = began = began if strand.beside else closed
        for step in strand.core:
            clock += step.gap
            moments.append((clock, step.make))
        closed = max(closed, clock)
        for step in strand.followers:
            clock += step.gap
            moments.append((clock, step.make))
    moments.sort(key=lambda moment: moment[0])
    clocks = [0, *(clock for clock, _ in moments)]
    return tuple(Step(clock - before, make) for (clock, make), before in zip(moments, clocks, strict=False))


def write(recipe: LaneRecipe, names: Names, weave: Weave, above: Lane | None) -> Lane:
    """Write a subagent's lane; `above` is the announced lane that may have spawned it."""
    conduct = recipe.conduct
    owner = names.suspended.pop() if conduct.continued and names.suspended else names.new("s")
    voice = names.voice(owner)
    voice.untagged = conduct.untagged
    steps = lay_out(recipe.strands, voice, weave)
    wait = recipe.gap
    if conduct.announced:
        spawner = above if conduct.nested else None
        # Nobody is spawned by an agent that is yet to start, wherever the clock would put it.
        wait += 0 if spawner is None else spawner.steps[0].gap
        begin = event(
            "SUBAGENT_STARTED",
            subagentRunId=owner,
            name="researcher",
            parentSubagentRunId=None if spawner is None else spawner.owner,
            parentToolCallId=None if spawner is None else names.voice(spawner.owner).call,
        )
        steps = (Step(0, always(begin)), *steps, Step(0, always(_end(owner, conduct.ending, names))))
    if steps:
        steps = (evolve(steps[0], gap=steps[0].gap + wait), *steps[1:])
    return Lane(owner, steps)


def _end(owner: str, ending: int, names: Names) -> Event:
    if ending == _FAILED:
        return event("SUBAGENT_ERROR", subagentRunId=owner, message="lost its way")
    if ending == _SUSPENDED:
        names.suspending.append(owner)
    outcome = {1: {"type": "success"}, _SUSPENDED: {"type": "suspended"}}.get(ending)
    return event("SUBAGENT_FINISHED", subagentRunId=owner, outcome=outcome)


_SUSPENDED, _FAILED = 2, 3
