"""What a log says, read off its events alone: what a snapshot has to hold if nothing is lost.

Kept for each entity are the texts that its messages may show, joined. Mostly that is one. A messages snapshot replaces
what it restates and drops what it leaves out (spec: events/state), so it takes back what was said before: from there
on what it states counts and what comes after. A call that was only ever stated may have its arguments repeated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import define, field

from reducer._laws.judging import difference
from reducer._streams.held import CLOSES_ALL, CLOSES_ITS_LANE, ID_FIELDS, Slot, kind_of, slot

Wire = dict[str, Any]
CALL = "call"


@define
class Life:
    """What one entity says, in pieces; of a call also where it is, and whether its first piece may be repeated."""

    pieces: list[str] = field(factory=list)
    repeatable: bool = False
    parent: str = ""
    answered: bool = False
    named: bool = True

    def texts(self) -> set[str]:
        """Return the texts that may show: all that was said, or what a call that was stated has after a repetition."""
        told = {whole("".join(self.pieces))}
        if self.repeatable:
            stated, after = self.pieces[0], "".join(self.pieces[1:])
            told |= {whole(longer) for longer, other in ((stated, after), (after, stated)) if longer.startswith(other)}
        return told


@define
class Said:
    """What the events so far have said."""

    position: int = 0
    messages: dict[Slot, Life] = field(factory=dict)
    calls: dict[str, list[Life]] = field(factory=dict)
    values: dict[tuple[str, str], str] = field(factory=dict)
    """The encrypted value that has to be there, by subtype and id."""
    all_values: dict[tuple[str, str], set[str]] = field(factory=dict)
    chunks: dict[str | None, tuple[str, str]] = field(factory=dict)
    thinking: str | None = None

    def hear(self, event: Wire) -> None:
        """Take in the next event, in wire form and without retired content."""
        event_type, lane = event["type"], event.get("subagentRunId")
        kind, verb = kind_of(event_type)
        if event_type in CLOSES_ALL:
            self.chunks.clear()
            self.thinking = self.thinking if event_type == "MESSAGES_SNAPSHOT" else None
        elif event_type in CLOSES_ITS_LANE:
            self.chunks.pop(lane, None)
        if event_type == "MESSAGES_SNAPSHOT":
            self._restated(event["messages"])
        elif event_type == "RUN_STARTED":
            self._echoed(event.get("input", {}).get("messages", ()))
        elif event_type == "TOOL_CALL_RESULT":
            self._answered(event["toolCallId"])
            self.messages["tool", event["messageId"], event["toolCallId"]] = Life([flat(event["content"])])
        elif event_type == "REASONING_ENCRYPTED_VALUE":
            self._valued(event["subtype"], event["entityId"], event["encryptedValue"])
        elif event_type.startswith("THINKING_TEXT_MESSAGE_"):
            self.thinking = self.thinking or f"thinking-{self.position}"
            self._message("reasoning", self.thinking).pieces.append(event.get("delta", ""))
            self.thinking = None if verb == "END" else self.thinking
        elif kind is not None and verb in ("START", "CONTENT", "ARGS", "CHUNK"):
            named = event.get(ID_FIELDS[kind])
            name = named if named is not None and verb != "CHUNK" else self._streamed(kind, named, lane)
            life = self._call(name, event) if kind == CALL else self._message(kind, name)
            life.pieces.append(event.get("delta") or "")
        self.position += 1

    def _streamed(self, kind: str, name: str | None, lane: str | None) -> str:
        """Return which entity a chunk continues or opens (spec: basic/patterns/streaming)."""
        held = [owner for owner, open_one in self.chunks.items() if open_one[0] == kind]
        if name is not None:
            lane = next((owner for owner in held if self.chunks[owner] == (kind, name)), lane)
        elif lane is None and None not in held and len(held) == 1:
            lane = held[0]
        if name is None:
            name = self.chunks[lane][1] if lane in held else f"chunk-{self.position}"
        self.chunks[lane] = (kind, name)
        return name

    def _message(self, kind: str, name: str) -> Life:
        return self.messages.setdefault((kind, name), Life())

    def _call(self, name: str, event: Wire) -> Life:
        """Return the call, a new one where a start reuses the id of one that has its result."""
        lives, parent = self.calls.setdefault(name, []), event.get("parentMessageId")
        if not lives or (parent is not None and lives[-1].answered and lives[-1].parent != parent):
            lives.append(Life(parent=parent or name, named=False))
        life = lives[-1]
        if not life.named and event["type"] != "TOOL_CALL_ARGS":
            life.named, life.parent = True, parent or name
        return life

    def _answered(self, call: str) -> None:
        for life in self.calls.get(call, ())[-1:]:
            life.answered = True

    def _valued(self, subtype: str, name: str, value: str) -> None:
        self.values[subtype, name] = value
        self.all_values.setdefault((subtype, name), set()).add(value)

    def _restated(self, messages: list[Wire]) -> None:
        """Forget all but what is told, and the reasoning that a snapshot without any leaves to the stream."""
        tracked = any(message["role"] == "reasoning" for message in messages)
        self.messages = {key: life for key, life in self.messages.items() if key[0] == "reasoning" and not tracked}
        self.calls, self.values = {}, {}
        told = {(*slot(message), message["role"]): message for message in messages}
        for message in told.values():
            self.messages.pop(slot(message), None)
        self._stated(told.values())

    def _echoed(self, messages: Iterable[Wire]) -> None:
        """Take in the messages that the thread did not hold, under their own ids or those it shows them under."""
        homes = {life.parent for lives in self.calls.values() for life in lives if life.named}
        fresh: dict[Slot, Wire] = {}
        for message in messages:
            key = slot(message)
            derived = "#" in key[1] and base(key[1], (name for _, name, *_ in self.messages)) != key[1]
            if key not in self.messages and not derived and not (key[0] == "text" and key[1] in homes):
                fresh.setdefault(key, message)
        self._stated(fresh.values())

    def _stated(self, messages: Iterable[Wire]) -> None:
        """Take in whole messages."""
        for message in messages:
            key, name = slot(message), message["id"]
            if message["role"] == "activity":
                continue
            if message["role"] == "tool":
                self._answered(message["toolCallId"])
            self.messages.setdefault(key, Life()).pieces.append(flat(message.get("content")))
            if "encryptedValue" in message:
                self._valued("message", name, message["encryptedValue"])
            for call in message.get("toolCalls", ()):
                life = Life([call["function"]["arguments"]], repeatable=True, parent=name)
                self.calls.setdefault(call["id"], []).append(life)
                if "encryptedValue" in call:
                    self._valued("tool-call", call["id"], call["encryptedValue"])


@define
class Shown:
    """What the messages of a snapshot show: texts by message, arguments by call, encrypted values by what has them."""

    messages: dict[Slot, str] = field(factory=dict)
    calls: dict[str, list[str]] = field(factory=dict)
    values: dict[tuple[str, str], set[str]] = field(factory=dict)


def shown(messages: Iterable[Wire], said: Said) -> Shown:
    """Return what messages show, under the ids that events name things by."""
    known: dict[str, list[str]] = {}
    for kind, name, *_ in said.messages:
        known.setdefault(kind, []).append(name)
    held = Shown()
    for message in messages:
        if message["role"] == "activity":
            continue
        kind, name, *more = slot(message)
        key = (kind, base(name, known.get(kind, ())), *more)
        held.messages[key] = held.messages.get(key, "") + flat(message.get("content"))
        if "encryptedValue" in message:
            held.values.setdefault(("message", key[1]), set()).add(message["encryptedValue"])
        for call in message.get("toolCalls", ()):
            held.calls.setdefault(call["id"], []).append(call["function"]["arguments"])
            if "encryptedValue" in call:
                held.values.setdefault(("tool-call", call["id"]), set()).add(call["encryptedValue"])
    return held


def losses(said: Said, messages: Iterable[Wire]) -> Iterator[str]:
    """Yield in words what was said and does not show as it should, and what shows that nobody said."""
    held = shown(messages, said)
    for key in {**said.messages, **held.messages}:
        texts = said.messages[key].texts() if key in said.messages else {""}
        found = whole(held.messages.get(key, ""))
        if found not in texts:
            yield f"{key[0]} {key[1]!r}: {difference(found, min(texts))}"
    for name in {**said.calls, **held.calls}:
        yield from _lost_arguments(name, said.calls.get(name, ()), held.calls.get(name, ()))
    for about, value in said.values.items():
        opened = about[1] in said.calls if about[0] == "tool-call" else any(key[1] == about[1] for key in said.messages)
        if opened and value not in held.values.get(about, ()):
            yield f"the encrypted value of {about[0]} {about[1]!r}: {value!r} is on nothing"
    for about, values in held.values.items():
        if not values <= said.all_values.get(about, set()):
            yield f"the encrypted value of {about[0]} {about[1]!r}: nobody sent {sorted(values)}"


def _lost_arguments(name: str, lives: Iterable[Life], shown: Iterable[str]) -> Iterator[str]:
    """Yield what the calls that share an id said and do not show, and what they show beside it."""
    left = [whole(arguments) for arguments in shown]
    for life in lives:
        if life.named:
            texts = life.texts()
            found = [arguments for arguments in left if arguments in texts]
            if not found:
                yield f"call {name!r}: {difference(left, [min(texts)])}"
                return
            left.remove(found[0])
    if left:
        yield f"call {name!r}: {difference(left, [])}"


def base(name: str, known: Iterable[str]) -> str:
    """Return the id that an id which the projection made was made of."""
    ids = set(known)
    left = name
    while left not in ids and "#" in left:
        stem = left.rstrip("'")
        left = stem if stem != left and stem in ids else left.rpartition("#")[0]
    return left if left in ids else name


def flat(content: Any) -> str:
    """Return a content as text: of parts the text of each, and what is no text as JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(
        part["text"]
        if part.get("type") == "text" and set(part) == {"type", "text"}
        else json.dumps(part, sort_keys=True)
        for part in content
    )


def whole(text: str) -> str:
    """Return a text in which halves of surrogate pairs that came apart are one character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
