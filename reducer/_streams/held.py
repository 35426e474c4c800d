"""What a consumer holds while a stream is being made: just enough to know what the next event may say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import define, field

from .material import fresh

if TYPE_CHECKING:
    from .material import Event

Entity = tuple[str, str]
"""A kind, `text`, `reasoning`, `call` or `activity`, and an id."""

Slot = tuple[str, ...]
"""What a message is known by: its kind, `text`, `reasoning`, `activity` or `tool`, its id, and a result's call.

Kinds apart, as ids may be shared: a snapshot that restates an activity must not make a text of it.
"""

KINDS = {"TEXT_MESSAGE": "text", "REASONING_MESSAGE": "reasoning", "TOOL_CALL": "call"}
ID_FIELDS = {"text": "messageId", "reasoning": "messageId", "call": "toolCallId"}

CLOSES_ITS_LANE = frozenset(
    {
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "STATE_SNAPSHOT",
        "STATE_DELTA",
        "CUSTOM",
        "STEP_STARTED",
        "STEP_FINISHED",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "SUBAGENT_FINISHED",
        "SUBAGENT_ERROR",
    }
)
"""What ends the chunk stream of the lane it is tagged for (spec: basic/patterns/streaming)."""

CLOSES_ALL = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"})


def kind_of(event_type: str) -> tuple[str | None, str]:
    """Split the type of a streamed event into the kind of its entity and what happens to it."""
    stem, _, verb = event_type.rpartition("_")
    return KINDS.get(stem), verb


def slot(message: dict[str, Any]) -> Slot:
    """Give what a message is known by."""
    role = message["role"]
    if role == "tool":
        return (role, message["id"], message["toolCallId"])
    return (role if role in {"reasoning", "activity"} else "text", message["id"])


@define
class Held:
    """The messages, what is open, and what waits for an answer."""

    messages: dict[Slot, dict[str, Any]] = field(factory=dict)
    calls: dict[str, dict[str, Any]] = field(factory=dict)
    open: set[Entity] = field(factory=set)
    chunks: dict[str | None, Entity] = field(factory=dict)
    started: list[str] = field(factory=list)
    """The calls of the run."""
    answered: set[str] = field(factory=set)
    interrupts: list[str] = field(factory=list)
    unanswered: dict[str, str | None] = field(factory=dict)
    """The calls of the whole stream that have no result, and who made them."""

    def has(self, entity: Entity) -> bool:
        """Tell whether an entity is there to be claimed."""
        kind, name = entity
        return name in self.calls if kind == "call" else entity in self.messages

    def alone(self, kind: str, owner: str | None) -> bool:
        """Tell whether a chunk that names nothing can only mean the stream that `owner` has open."""
        return [lane for lane, entity in self.chunks.items() if entity[0] == kind] == [owner]

    def pending(self) -> list[str]:
        """Give the calls of the run that have no result, in their order."""
        return [call for call in self.started if call not in self.answered]

    def see(self, event: Event) -> None:
        """Take one event in."""
        event_type = event["type"]
        kind, verb = kind_of(event_type)
        if verb == "CHUNK" and kind is not None:
            self._chunk(kind, event)
            return
        if event_type in CLOSES_ALL:
            self.open.difference_update(self.chunks.values())
            self.chunks.clear()
        elif event_type in CLOSES_ITS_LANE:
            self._close(event.get("subagentRunId"))
        if kind is not None and verb in _STREAMED:
            entity = (kind, event[ID_FIELDS[kind]])
            if verb == "START":
                self._start(entity, event)
            elif verb == "END":
                self.open.discard(entity)
            else:
                self._extend(entity, event["delta"])
        elif event_type in _OTHERS:
            _OTHERS[event_type](self, event)

    def _close(self, owner: str | None) -> None:
        if owner in self.chunks:
            self.open.discard(self.chunks.pop(owner))

    def _chunk(self, kind: str, event: Event) -> None:
        name = event.get(ID_FIELDS[kind])
        owner = event.get("subagentRunId")
        if owner is None:
            owner = self._lane_of(kind, name)
        if name is not None and self.chunks.get(owner) != (kind, name):
            self._close(owner)
            self.chunks[owner] = (kind, name)
            self._start((kind, name), event)
        if "delta" in event and owner in self.chunks:
            self._extend(self.chunks[owner], event["delta"])

    def _lane_of(self, kind: str, name: str | None) -> str | None:
        lanes = [lane for lane, entity in self.chunks.items() if entity[0] == kind and name in {None, entity[1]}]
        return None if None in lanes or not lanes else lanes[0]

    def _start(self, entity: Entity, event: Event) -> None:
        self.open.add(entity)
        kind, name = entity
        if kind == "call":
            self._start_call(name, event)
        else:
            role = "reasoning" if kind == "reasoning" else event.get("role", "assistant")
            says = {"name": event["name"]} if "name" in event else {}
            self._message(name, role, event.get("subagentRunId"), content="", **says)

    def _start_call(self, name: str, event: Event) -> None:
        if name not in self.started:
            self.started.append(name)
            self.unanswered[name] = event.get("subagentRunId")
        if name not in self.calls:
            parent = self._message(event.get("parentMessageId", name), "assistant", event.get("subagentRunId"))
            call = {"id": name, "type": "function", "function": {"name": event["toolCallName"], "arguments": ""}}
            parent.setdefault("toolCalls", []).append(call)
            self.calls[name] = call

    def _message(self, name: str, role: str, owner: str | None, /, **says: Any) -> dict[str, Any]:
        """Give the message of a kind and an id, which holds what `says` where it is new."""
        tag = {} if owner is None else {"subagentRunId": owner}
        message = {"id": name, "role": role, **says, **tag}
        return self.messages.setdefault(slot(message), message)

    def _extend(self, entity: Entity, delta: str) -> None:
        kind, name = entity
        if kind == "call" and name in self.calls:
            self.calls[name]["function"]["arguments"] += delta
        elif kind != "call" and entity in self.messages:
            content = self.messages[entity].get("content")
            self.messages[entity]["content"] = (content if isinstance(content, str) else "") + delta

    def result(self, event: Event) -> None:
        """Take a result in."""
        self._answer(event["toolCallId"])
        call, owner = event["toolCallId"], event.get("subagentRunId")
        self._message(event["messageId"], "tool", owner, toolCallId=call).update(content=event["content"])

    def value(self, event: Event) -> None:
        """Attach an encrypted value."""
        if event["subtype"] == "tool-call":
            named = self.calls.get(event["entityId"])
        else:
            # Of messages that share the id the reasoning is meant, then the text, then a result.
            found = [key for key in self.messages if key[0] != "activity" and key[1] == event["entityId"]]
            named = self.messages[min(found, key=lambda key: _SEALED.index(key[0]))] if found else None
        if named is not None:
            named["encryptedValue"] = event["encryptedValue"]

    def activity(self, event: Event) -> None:
        """Create or replace an activity."""
        message = self._message(event["messageId"], "activity", event.get("subagentRunId"))
        if "content" not in message or event.get("replace", True):
            message.update(activityType=event["activityType"], content=event["content"])

    def snapshot(self, event: Event) -> None:
        """Reconcile with a messages snapshot."""
        restated = {slot(message): fresh(message) for message in event["messages"]}
        roles = {message["role"] for message in restated.values()}
        mine = {"activity", "reasoning"} - roles
        kept = {name: old for name, old in self.messages.items() if name in restated or old["role"] in mine}
        self.messages = {**kept, **restated}
        self._index()

    def run_started(self, event: Event) -> None:
        """Begin a run, with what its echo says."""
        self.started, self.answered, self.open = [], set(), set()
        for message in event.get("input", {}).get("messages", ()):
            self.messages.setdefault(slot(message), fresh(message))
            if message["role"] == "tool":
                self._answer(message["toolCallId"])
        self._index()

    def _answer(self, call: str) -> None:
        self.answered.add(call)
        self.unanswered.pop(call, None)

    def _index(self) -> None:
        self.calls = {call["id"]: call for message in self.messages.values() for call in message.get("toolCalls", ())}

    def run_finished(self, event: Event) -> None:
        """Keep the interrupts that a run ends with."""
        self.interrupts = [one["id"] for one in event.get("outcome", {}).get("interrupts", ())]


_SEALED = ("reasoning", "text", "tool")
_STREAMED = frozenset({"START", "CONTENT", "ARGS", "END"})

_OTHERS = {
    "TOOL_CALL_RESULT": Held.result,
    "REASONING_ENCRYPTED_VALUE": Held.value,
    "ACTIVITY_SNAPSHOT": Held.activity,
    "MESSAGES_SNAPSHOT": Held.snapshot,
    "RUN_STARTED": Held.run_started,
    "RUN_FINISHED": Held.run_finished,
}
