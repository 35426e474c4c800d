"""The strands that stream: text messages, reasoning messages and tool calls, in either spelling."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from attrs import define, evolve, field

from .held import Entity, Held
from .lanes import Make, Step, Voice, Woven, always, event
from .material import LABEL, Event, spread
from .recipes import Late, Manner, Parent, Span, Streaming
from .says import PLAIN, Answered, Delta, End, Look, Next, Sealed, special


@define
class Streamed:
    """One entity while its events are written."""

    voice: Voice
    entity: Entity
    stem: str
    """What the types of its events begin with."""
    opens: dict[str, Any]
    """The fields of its opening event, its id first."""
    manner: Manner
    steps: list[Step]
    ordinals: Iterator[int] = field(factory=lambda: count(1), init=False)
    opened: bool = field(default=False, init=False)
    running: bool = field(default=False, init=False)

    @property
    def named(self) -> dict[str, str]:
        """The field that names the entity."""
        key = next(iter(self.opens))
        return {key: self.opens[key]}

    def say(self, make: Make, gap: int = 0) -> None:
        """Add a step."""
        self.steps.append(Step(gap, make))

    def open(self, gap: int = 0) -> None:
        """Start the entity, for the first time or once more; what is chunked starts with its next chunk."""
        if not self.opened and self.manner.early:
            self.say(self._seal(), gap)
        if not self.manner.chunked:
            metadata = None if self.opened else self.manner.metadata[0]
            role = {"role": "reasoning"} if self.entity[0] == "reasoning" else {}
            self.say(always(event(f"{self.stem}_START", metadata, **self.opens, **role, **self.voice.tag)), gap)
            self.opened = True
        self.running = True

    def extend(self, delta: Delta) -> None:
        """Send a piece of it."""
        gap = delta.gap
        if not self.running and self.opened and not self.manner.chunked:
            self.open(gap)
            gap = 0
        elif not self.running:
            self.open()
        text = f"{self.entity[1]}.{next(self.ordinals)} " if delta.text == LABEL else delta.text
        look = delta.look
        for part in spread(text):
            if self.manner.chunked:
                self._say_chunk(look, None if look.bare else part, gap)
            else:
                fields = {**self.named, "delta": part, **self.voice.inherited}
                verb = "ARGS" if self.entity[0] == "call" else "CONTENT"
                self.say(always(event(f"{self.stem}_{verb}", look.metadata, look.raw, **fields)), gap)

    def begin(self) -> None:
        """Start it, unless it has."""
        if not self.opened:
            self.open()
        if not self.opened:
            self._say_chunk(PLAIN, None)

    def close(self, *, first: bool) -> None:
        """End it; the `first` time, its end carries what it has to say."""
        if not self.manner.chunked:
            self.begin()
        # A chunk that comes later opens what has sent none so far.
        metadata = self.manner.metadata[1] if first and self.opened else None
        if self.running and not self.manner.chunked:
            self.say(always(event(f"{self.stem}_END", metadata, **self.named, **self.voice.inherited)))
        elif metadata is not None:
            self._say_chunk(Look(metadata), None)
        self.running = False

    def seal(self, gap: int) -> None:
        """Send an encrypted value for it; what is chunked has none before its first chunk."""
        if not self.manner.chunked:
            self.begin()
        if self.opened:
            sealed = self._seal()
            # A snapshot may have dropped what the value belongs to, and the producer knows that.
            self.say(lambda held: sealed(held) if held.has(self.entity) else (), gap)

    def answer(self, recipe: Answered) -> None:
        """Send a result for it."""
        self.say(always(_result(self.voice, self.entity[1], recipe, self.manner)), recipe.gap)

    def _say_chunk(self, look: Look, delta: str | None, gap: int = 0) -> None:
        opening = None if self.opened else self.manner.metadata[0]
        if opening is not None:
            look = evolve(look, metadata={**opening, **(look.metadata or {})})
        self.opened = True
        self.say(self._chunk(look, delta), gap)

    def _chunk(self, look: Look, delta: str | None) -> Make:
        voice = self.voice

        def make(held: Held) -> tuple[Event, ...]:
            if held.chunks.get(voice.owner) != self.entity:
                fields = {**self.opens, **voice.tag}
            elif look.form == 0:
                bare = voice.untagged and held.alone(self.entity[0], voice.owner)
                fields = {} if bare else voice.tag
            else:
                fields = {**(self.named if look.form == 1 else self.opens), **voice.inherited}
            return (event(f"{self.stem}_CHUNK", look.metadata, look.raw, **fields, delta=delta),)

        return make

    def _seal(self) -> Make:
        kind, name = self.entity
        names = self.voice.names
        value = names.new("v")
        return always(
            event(
                "REASONING_ENCRYPTED_VALUE",
                subtype="tool-call" if kind == "call" else "message",
                entityId=name,
                encryptedValue=value,
                encryptedValueType=f"type-{value}" if names.typed else None,
                **self.voice.inherited,
            )
        )


def streaming(recipe: Streaming, voice: Voice) -> Woven:
    """Write an entity, or several reasoning messages in one span."""
    manner = evolve(recipe.manner, **special(recipe.says))
    core: list[Step] = []
    followers: list[Step] = []
    made = _OPENS[recipe.kind](voice, manner, core)
    end = None
    if manner.span is not Span.NONE:
        span = made.entity[1] if manner.span is Span.SHARED_ID else voice.names.new("sp")
        made.say(always(event("REASONING_START", messageId=span, **voice.tag)))
        end = always(event("REASONING_END", messageId=span, **voice.inherited))
    closed = False

    def settle() -> None:
        """Close what is open, for the first time or once more."""
        nonlocal closed
        made.close(first=not closed)
        if not closed and end is not None:
            made.say(end)
        closed = True
        made.steps = followers

    for say in recipe.says:
        if isinstance(say, Delta) and (voice.names.reopening or not closed):
            made.extend(say)
        elif isinstance(say, Sealed):
            made.seal(say.gap)
        elif isinstance(say, End):
            settle()
        elif isinstance(say, Answered):
            settle()
            made.answer(say)
        elif isinstance(say, Next) and not closed:
            made.close(first=True)
            made = _reasoning(voice, evolve(manner, early=False), core)
    made.begin()
    settle()
    return Woven(recipe.beside, tuple(core), tuple(followers))


def _text(voice: Voice, manner: Manner, steps: list[Step]) -> Streamed:
    shared = voice.reasoning if manner.shared else None
    role, author = manner.speaker
    # A message that a call has named already is the assistant's.
    role = None if voice.reserved else role
    name = voice.reserved or shared or voice.names.new("m")
    voice.reserved = voice.reasoning = None
    voice.any_text = name
    if role in {None, "assistant"}:
        voice.text = name
    opens = {"messageId": name, "role": role, "name": author}
    opens = {key: value for key, value in opens.items() if value is not None}
    return Streamed(voice, ("text", name), "TEXT_MESSAGE", opens, manner, steps)


def _reasoning(voice: Voice, manner: Manner, steps: list[Step]) -> Streamed:
    name = voice.reasoning = voice.names.new("g")
    return Streamed(voice, ("reasoning", name), "REASONING_MESSAGE", {"messageId": name}, manner, steps)


def _call(voice: Voice, manner: Manner, steps: list[Step]) -> Streamed:
    name = voice.names.new("c")
    parent = _parent(manner.parent, voice)
    voice.call, voice.parent = name, parent
    opens = {"toolCallId": name, "toolCallName": manner.tool}
    if parent is not None:
        opens["parentMessageId"] = parent
    return Streamed(voice, ("call", name), "TOOL_CALL", opens, manner, steps)


_OPENS = {"text": _text, "reasoning": _reasoning, "call": _call}


def _parent(parent: Parent, voice: Voice) -> str | None:
    if parent is Parent.NEVER:
        return voice.names.new("m")
    if parent is Parent.NEXT or (parent is Parent.TEXT and voice.text is None):
        voice.reserved = voice.reserved or voice.names.new("m")
        return voice.reserved
    return {Parent.NONE: None, Parent.TEXT: voice.text, Parent.SAME: voice.parent}[parent]


def late(recipe: Late, voice: Voice) -> Woven:
    """Write a result that nobody waits for any more."""
    made = _result(voice, "", Answered(0, recipe.content, None), Manner())

    def make(held: Held) -> tuple[Event, ...]:
        streaming = held.open.difference(held.chunks.values())
        waiting = [
            name for name, owner in held.unanswered.items() if owner == voice.owner and ("call", name) not in streaming
        ]
        return ({**made, "toolCallId": waiting[0]},) if waiting else ()

    return Woven(recipe.beside, (Step(recipe.gap, make),))


def _result(voice: Voice, name: str, recipe: Answered, manner: Manner) -> Event:
    shared = {0: None, 1: voice.any_text, 2: name}[manner.shared]
    result = shared or voice.names.new("r")
    return event(
        "TOOL_CALL_RESULT",
        recipe.metadata,
        messageId=result,
        toolCallId=name,
        content=f"{result} " if recipe.content == LABEL else recipe.content,
        **({} if manner.foreign else voice.tag),
    )
