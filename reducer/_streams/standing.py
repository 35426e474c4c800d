"""The strands that stand alone: steps, shared state, activities, what passes through, messages snapshots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .held import Held, Slot
from .lanes import Step, Voice, Weave, Woven, always, event
from .material import CLIENT_KEY, Event, fresh
from .recipes import Activity, Alone, Kept, Late, Phase, Restated, Restatement, Strand, Streaming
from .says import special
from .streamed import late, streaming


def phase(recipe: Phase, voice: Voice) -> Woven:
    """Write a step; each owner counts its own, so that two lanes have steps of one name."""
    voice.phases += 1
    name = f"step{voice.phases}"
    begin, end = (event(f"STEP_{verb}", stepName=name, **voice.tag) for verb in ("STARTED", "FINISHED"))
    return Woven(recipe.beside, (Step(0, always(begin)), Step(recipe.close, always(end))))


def alone(recipe: Alone, voice: Voice) -> Woven:
    """Write an event that is what it is."""
    return Woven(recipe.beside, (Step(recipe.gap, always({**recipe.event, **voice.inherited})),))


def activity(recipe: Activity, voice: Voice) -> Woven:
    """Write an activity; its changes follow when others may be running."""
    name = (voice.any_text if recipe.shared else None) or voice.names.new("a")

    def named(event_: Event, kind: str) -> Event:
        tag = voice.inherited if event_["type"] == "ACTIVITY_DELTA" else voice.tag
        return {**event_, "messageId": name, "activityType": kind, **tag}

    kind = recipe.first["activityType"]
    changes = [(one.gap, named(one.event, f"{kind}-2" if one.retyped else kind)) for one in recipe.changes]
    followers = tuple(Step(gap, always(change)) for gap, change in changes)
    return Woven(recipe.beside, (Step(0, always(named(recipe.first, kind))),), followers)


def restated(recipe: Restated, voice: Voice, *, drop_open: bool) -> Woven:
    """Write a messages snapshot; unless `drop_open`, it holds on to whatever still streams."""
    how = Restatement(**special(recipe.withs))
    new = [] if how.fresh is None else [_new(how.fresh, voice)]

    def make(held: Held) -> tuple[Event, ...]:
        with_reasoning = how.reasoning or how.fresh == "reasoning"
        left_out = {"reasoning": not with_reasoning, "activity": not how.activities, "tool": not how.results}
        moving = set() if drop_open else _moving(held)
        settled = [name for name in held.messages if name not in moving]
        gone = {Kept.ALL: 0, Kept.LATER_HALF: (len(settled) + 1) // 2, Kept.NONE: len(settled)}[how.kept]
        dropped = set(settled[:gone])
        chosen = [
            _copy(message, how)
            for name, message in held.messages.items()
            if name not in dropped and not left_out.get(message["role"], False)
        ]
        messages = [*(reversed(chosen) if how.backwards else chosen), *new]
        metadata = None if how.authority is None else {CLIENT_KEY: how.authority}
        return (event("MESSAGES_SNAPSHOT", metadata, messages=messages),)

    return Woven(recipe.beside, (Step(recipe.gap, make),))


def _moving(held: Held) -> set[Slot]:
    """Give the messages that still stream, or hold a call that does."""
    open_calls = {name for kind, name in held.open if kind == "call"}
    holding = {
        name
        for name, message in held.messages.items()
        if any(one["id"] in open_calls for one in message.get("toolCalls", ()))
    }
    return holding | {entity for entity in held.open if entity[0] != "call"}


def _copy(message: dict[str, Any], how: Restatement) -> dict[str, Any]:
    copy: dict[str, Any] = fresh(message)
    for thing in (copy, *copy.get("toolCalls", ())):
        if not how.values:
            thing.pop("encryptedValue", None)
    if how.altered:
        if isinstance(copy.get("content"), str):
            copy["content"] = f"{copy['id']} restated "
        for one in copy.get("toolCalls", ()):
            one["function"]["arguments"] = "{}"
    return copy


def _new(role: str, voice: Voice) -> dict[str, Any]:
    names = voice.names
    if role == "reasoning":
        return {"id": names.new("g"), "role": role, "content": "restored", **voice.tag}
    message: dict[str, Any] = {
        "id": names.new("m"),
        "role": "user" if role == "user" else "assistant",
        "content": "new",
        **voice.tag,
    }
    if role == "call":
        function = {"name": "search", "arguments": "{}"}
        message["toolCalls"] = [{"id": names.new("c"), "type": "function", "function": function}]
    return message


def weaver(*, drop_open: bool) -> Weave:
    """Give the function that writes any strand."""
    table: dict[type, Callable[[Any, Voice], Woven]] = {
        Streaming: streaming,
        Late: late,
        Phase: phase,
        Alone: alone,
        Activity: activity,
        Restated: lambda recipe, voice: restated(recipe, voice, drop_open=drop_open),
    }

    def weave(strand: Strand, voice: Voice) -> Woven:
        return table[type(strand)](strand, voice)

    return weave
