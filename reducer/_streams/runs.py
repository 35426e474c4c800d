"""Lanes to runs, and runs to streams: merging by clock, and the boundaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .held import Held
from .lanes import Lane, Names, event, lay_out, write
from .material import THREAD, Event, fresh
from .recipes import Circumstances, Ending, LaneRecipe, RunRecipe
from .says import special

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .lanes import Make, Weave


def by_clock(lanes: Sequence[Lane]) -> list[Make]:
    """Merge lanes by clock; where two speak at once, the one that stands first goes first."""
    moments: list[tuple[int, int, Make]] = []
    for place, lane in enumerate(lanes):
        clock = 0
        for step in lane.steps:
            clock += step.gap
            moments.append((clock, place, step.make))
    moments.sort(key=lambda moment: moment[:2])
    return [make for _, _, make in moments]


def one_by_one(lanes: Sequence[Lane]) -> list[Make]:
    """Put lanes one after another."""
    return [step.make for lane in lanes for step in lane.steps]


def write_lanes(recipes: Sequence[LaneRecipe], names: Names, weave: Weave) -> list[Lane]:
    """Write the lanes of one run; the first is the parent agent's."""
    lanes: list[Lane] = []
    above: Lane | None = None
    for place, recipe in enumerate(recipes):
        if place == 0:
            lanes.append(Lane(None, lay_out(recipe.strands, names.voice(None), weave)))
        else:
            lane = write(recipe, names, weave, above)
            above = lane if recipe.conduct.announced else above
            lanes.append(lane)
    names.suspended += names.suspending
    names.suspending = []
    return lanes


def play(makes: Iterable[Make], held: Held) -> list[Event]:
    """Make the events, each knowing those before it."""
    played: list[Event] = []
    for make in makes:
        for made in make(held):
            one: Event = fresh(made)
            held.see(one)
            played.append(one)
    return played


def bare_run(makes: Iterable[Make]) -> list[Event]:
    """Put the plainest boundaries around the events of one run."""
    names: dict[str, Any] = {"threadId": THREAD, "runId": "run1"}
    return play([lambda _: [event("RUN_STARTED", **names)], *makes, lambda _: [event("RUN_FINISHED", **names)]], Held())


def write_stream(recipes: Sequence[RunRecipe], names: Names, weave: Weave) -> list[Event]:
    """Write a whole stream."""
    held = Held()
    stream: list[Event] = []
    for recipe in recipes:
        stream.extend(play(_run(recipe, names, weave, first=not stream), held))
    return stream


def _run(recipe: RunRecipe, names: Names, weave: Weave, *, first: bool) -> list[Make]:
    how = Circumstances(**special(recipe.withs))
    run = {"threadId": THREAD, "runId": names.new("run")}
    error = event("RUN_ERROR", how.metadata, message="out of luck", code="E1", usage=how.usage)
    if how.ending is Ending.UNSTARTED and first:
        return [lambda _: [error]]
    makes: list[Make] = [lambda held: [_start(how, names, held, run)]]
    makes.extend(by_clock(write_lanes(recipe.lanes, names, weave)))
    if how.ending in {Ending.ERROR, Ending.UNSTARTED}:
        kept = max(1, len(makes) - how.lost)
        return [*makes[:kept], lambda _: [error]]
    makes.append(lambda held: [_finish(how, names, held, run)])
    if how.ending is Ending.LATE_ERROR:
        makes.append(lambda _: [event("RUN_ERROR", message="lost the connection")])
    return makes


def _start(how: Circumstances, names: Names, held: Held, run: dict[str, str]) -> Event:
    echo: dict[str, Any] | None = None
    if how.echo is not None:
        known = [message for message in held.messages.values() if message["role"] != "activity"]
        # Whoever continues a thread answers the calls that the run before left to it.
        answers = [
            {"id": names.new("r"), "role": "tool", "toolCallId": call, "content": "done"}
            for call in ([] if held.interrupts else held.pending())
        ]
        user = {"id": names.new("u"), "role": "user", "content": how.echo[0]}
        echo = {**run, "messages": [*(known if how.restated else ()), *answers, user], "tools": [], "context": []}
        if how.state is not None:
            echo["state"] = how.state[0]
        if held.interrupts:
            echo["resume"] = [
                {"interruptId": name, "status": "cancelled"}
                if number
                else {"interruptId": name, "status": "resolved", "payload": {"ok": True}}
                for number, name in enumerate(held.interrupts)
            ]
    return event("RUN_STARTED", how.metadata, **run, protocolVersion=how.version, input=echo)


def _finish(how: Circumstances, names: Names, held: Held, run: dict[str, str]) -> Event:
    outcome: dict[str, Any] | None = None
    pending = held.pending()
    if how.ending is Ending.SUCCESS:
        outcome = {"type": "success"} | ({"pendingToolCallIds": pending} if pending else {})
    elif how.ending is Ending.INTERRUPT:
        outcome = {"type": "interrupt", "interrupts": _interrupts(pending if how.bound else [], names, held)}
    elif how.ending is Ending.CANCELLED:
        outcome = {"type": "cancelled"}
    returned = None if how.ending in {Ending.CANCELLED, Ending.INTERRUPT} else how.returned
    return event("RUN_FINISHED", how.metadata, **run, outcome=outcome, result=returned, usage=how.usage)


def _interrupts(calls: list[str], names: Names, held: Held) -> list[dict[str, Any]]:
    raised = [{"id": names.new("i"), "reason": "input", "message": "which one?"}]
    for call in calls[:2]:
        owner = held.unanswered[call]
        bound: dict[str, Any] = {"id": names.new("i"), "reason": "approval", "toolCallId": call}
        raised.append(bound if owner is None else {**bound, "subagentRunId": owner})
    return raised
