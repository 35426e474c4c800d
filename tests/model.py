"""The oracle: the whole semantics as a plain, slow, mutable model, which imports nothing of `reducer`.

It is written from the AG-UI specification (cited as `spec: PAGE`) and from what this library adds to it: rows and
cuts, two layouts, and an anomaly where a rule is broken. `observe` takes events in wire form, well formed as the
schema has it; `project` tells what a reader sees. Speed is of no concern here: whatever can be computed when it is
asked for is computed then, by walking over everything.

How the parts hang together:

- An `Entity` is a message: a kind and an id. A text and the tool calls that name it as their parent are one entity,
  and so are the tool calls without a parent, each under its own id (`spec: events/tool-calls`).
- `entities` stand in the order in which they came to be, which decides who keeps an id that several want.
- `merged` holds the same entities in the order of the MERGED layout, which is the reference client's.
- `timeline` holds `Row`s in the order in which they opened: what the STREAMED layout is made of.
- A `Call` is in the row where it streamed (STREAMED) and has a home, the entity that holds it in MERGED.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

Wire = dict[str, Any]

RETIRED = {
    "THINKING_START",
    "THINKING_TEXT_MESSAGE_START",
    "THINKING_TEXT_MESSAGE_CONTENT",
    "THINKING_TEXT_MESSAGE_END",
    "THINKING_END",
}
KNOWN = RETIRED | {
    *("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "STEP_STARTED", "STEP_FINISHED"),
    *("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TEXT_MESSAGE_CHUNK"),
    *("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK", "TOOL_CALL_RESULT"),
    *("REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END"),
    *("REASONING_MESSAGE_CHUNK", "REASONING_END", "REASONING_ENCRYPTED_VALUE"),
    *("STATE_SNAPSHOT", "STATE_DELTA", "MESSAGES_SNAPSHOT", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"),
    *("SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR", "RAW", "CUSTOM"),
}

# What does not end a chunk stream of its lane (spec: basic/patterns/streaming, "Closing a chunk stream").
STANDS_ASIDE = {"RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"}
ENDS_ALL_CHUNKS = {"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"}

# Fields whose null is a value (spec: basic/index, "Absent means absent").
MAY_BE_NULL = {"snapshot", "value", "event"}

PROTOCOL = (1, 1)
COUNTS = ("input", "output", "total", "reasoning", "cachedInput", "cacheWriteInput")
CLIENT_KEY = "@ag-ui/client"


@dataclass(eq=False)
class Entity:
    """A message. `kind` is text, reasoning, activity or result; what a kind does not have stays as it is here."""

    kind: str
    id: str
    role: str
    name: str | None = None
    owner: str | None = None
    metadata: Wire | None = None
    value: str | None = None
    value_type: str | None = None
    open: bool = False
    begun: bool = False
    """A text that only a tool call has brought about has not begun."""
    has_content: bool = False
    """Whether MERGED shows the content of a text: one that only a call has brought about has none."""
    rows: list[Row] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    """The calls that MERGED shows in it."""
    content: Any = None
    """Of an activity or a result."""
    activity_type: str = ""
    call_id: str = ""
    opened: int = -1
    """The position of the event that made a result."""
    error: str | None = None
    merged_as: tuple[str, str | None, str | None] | None = None
    """Role, name and owner in MERGED, where a call in another's row was there before the text of its id."""
    twin: bool = False
    """A text whose id another text has, which only stated messages of another role and their calls can bring about."""
    met: bool = False
    """Whether a row of it has ever been streamed."""
    said: tuple[int, str | None] | None = None
    """What this library calls its tag: the number of the run that last said whose it is, and whose it said."""


@dataclass(eq=False)
class Row:
    """One stretch of an entity in the timeline. What it takes, it takes until it is cut."""

    entity: Entity
    text: str = ""
    parts: list[Any] | None = None
    """The content of a stated user message that is no string."""
    calls: list[Call] = field(default_factory=list)
    takes_text: bool = False
    takes_calls: bool = False
    stated: bool = False


@dataclass(eq=False)
class Call:
    """A tool call. Without a row it is a shell, whose arguments came before its start, or dropped by a snapshot."""

    id: str
    name: str | None = None
    parent: str | None = None
    arguments: str = ""
    metadata: Wire | None = None
    value: str | None = None
    value_type: str | None = None
    open: bool = False
    home: Entity | None = None
    row: Row | None = None
    opened: int = -1
    """The position of the event that placed it."""
    streamed: bool = True
    """Whether any event of its own has come, rather than only a message that states it."""
    held: str | None = None
    """Streamed arguments of a stated call that so far repeat the stated ones."""
    answered: bool = False
    """Whether it has ever had a result."""
    said: tuple[int, str | None] | None = None
    """As an entity has it."""


@dataclass(eq=False)
class Message:
    """What STREAMED shows of one or several rows of an entity."""

    rows: list[Row]
    id: str = ""


class Model:
    """The state of everything, changed in place."""

    def __init__(self) -> None:
        self.position = 0
        self.anomalies: Counter[str] = Counter()
        # The conversation.
        self.entities: list[Entity] = []
        self.merged: list[Entity] = []
        self.timeline: list[Row] = []
        self.calls: list[Call] = []
        self.groups: list[Row] = []  # rows in the order in which they began to take calls
        self.dropped: list[Entity] = []  # open when a messages snapshot left them out
        self.kept: dict[tuple[str, str], tuple[str, str | None]] = {}  # encrypted values for what has not come yet
        self.chunks: dict[str | None, Wire] = {}  # the chunk stream of each lane
        # The shared state.
        self.state: Any = {}
        # Runs.
        self.phase = "none"  # then active, finished, failed
        self.began = False
        self.thread: str | None = None
        self.runs: list[Wire] = []
        self.interrupts: dict[str, Wire] = {}
        self.usage: list[Wire] = []
        self.steps: set[tuple[str | None, str]] = set()
        self.spans: dict[str, str | None] = {}
        self.subagents: set[str] = set()
        self.ended_subagents: set[str] = set()
        self.openers: dict[tuple[str, str], str | None] = {}  # whose that is which nothing here tells
        self.thinking: dict[str, str] = {}  # the ids of what THINKING_* events have opened
        self.early: set[str] = set()  # the calls that a result has answered and that have yet to come

    # ------------------------------------------------------------------------------------------------- the two doors

    def observe(self, event: Wire) -> None:
        """Take one event in."""
        kind = event["type"]
        if kind not in KNOWN:
            self.anomaly("unknown-event")  # spec: basic/processing
        else:
            known = {k: v for k, v in copy.deepcopy(event).items() if v is not None or k in MAY_BE_NULL}
            if kind in RETIRED:
                self.anomaly("retired-shape")
            self.check_boundaries(kind)
            self.end_chunks_before(known)
            getattr(self, kind.lower())(known)
        self.position += 1

    def project(self, layout: str) -> Wire:
        """Tell what a reader sees; `layout` is streamed or merged."""
        return copy.deepcopy(
            {
                "messages": self.streamed_messages() if layout == "streamed" else self.merged_messages(),
                "state": self.state,
                "interrupts": list(self.interrupts.values()),
                "runs": self.runs,
                "pending_tool_calls": self.pending(),
                "usage": self.usage,
                "anomalies": self.anomalies,
            }
        )

    def anomaly(self, code: str) -> None:
        """Record that a rule is broken; the event counts all the same."""
        self.anomalies[code] += 1

    # --------------------------------------------------------------------- runs and steps (spec: events/lifecycle)

    def check_boundaries(self, kind: str) -> None:
        """A stream begins with RUN_STARTED or RUN_ERROR; a closed run admits few events (spec: events/lifecycle)."""
        if not self.began and kind not in {"RUN_STARTED", "RUN_ERROR"}:
            self.anomaly("first-event")
        self.began = True
        if kind == "RUN_STARTED":
            if self.phase == "active":
                self.anomaly("run-already-active")
        elif self.phase == "failed" or (self.phase == "finished" and kind != "RUN_ERROR"):
            self.anomaly("after-run-closed")

    def check_thread(self, event: Wire) -> None:
        """Every run of a stream is on one thread (spec: basic/run-input)."""
        if self.thread is None:
            self.thread = event["threadId"]
        elif self.thread != event["threadId"]:
            self.anomaly("thread-id-mismatch")

    def run_started(self, event: Wire) -> None:
        """Opens a run, with nothing open; may echo the input, whose unknown messages and state it starts from."""
        self.check_thread(event)
        if newer(event.get("protocolVersion")):
            self.anomaly("protocol-version")  # spec: basic/versioning
        if self.phase == "active":
            self.runs[-1]["status"] = "truncated"
        self.close_everything()
        self.begin_run(event)
        echo = event.get("input", {})
        shown = self.shown_elsewise()
        for message in map(without_nulls, echo.get("messages", ())):
            self.echo(message, shown)
            self.openers.setdefault((kind_of(message), message["id"]), message.get("subagentRunId"))
            for call in message.get("toolCalls") or ():
                self.openers.setdefault(("call", call["id"]), message.get("subagentRunId"))
        if echo.get("state") is not None:
            self.state = echo["state"]
        for entry in echo.get("resume") or ():  # spec: basic/patterns/interrupt-resume
            if self.interrupts.pop(entry["interruptId"], None) is None:
                self.anomaly("resume-unknown")

    def run_finished(self, event: Wire) -> None:
        """Closes a run that did not fail; its outcome may raise interrupts (spec: basic/patterns/interrupt-resume)."""
        if not self.runs:
            self.begin_run(event)  # the log begins in the middle of a run
        if self.phase != "active":
            return
        run = self.runs[-1]
        if run["run_id"] != event["runId"]:
            self.anomaly("run-id-mismatch")
        if run["thread_id"] != event["threadId"]:
            self.anomaly("thread-id-mismatch")
        self.add_usage(event.get("usage", ()))
        outcome = event.get("outcome", {"type": "success"})
        statuses = {"success": "finished", "interrupt": "interrupted", "cancelled": "cancelled"}
        run.update(status=statuses[outcome["type"]], result=event.get("result"))
        if outcome["type"] == "success" and not run["echoed"]:
            self.interrupts.clear()  # nothing in this log says which of them were answered
        if self.anything_open():
            self.anomaly("open-at-run-finish")
        self.close_everything()
        raised = set()
        for interrupt in map(without_nulls, outcome.get("interrupts", ())):
            if interrupt["id"] in raised:
                self.anomaly("duplicate-interrupt-id")
            elif interrupt["id"] in self.interrupts:
                del self.interrupts[interrupt["id"]]  # raised again, it is the newest
            raised.add(interrupt["id"])
            self.interrupts[interrupt["id"]] = interrupt
        self.phase = "finished"

    def begin_run(self, event: Wire) -> None:
        """A run is there."""
        self.phase = "active"
        self.thread = self.thread or event.get("threadId")
        self.runs.append(
            {
                "thread_id": event.get("threadId", self.thread),
                "run_id": event.get("runId"),
                "parent_run_id": event.get("parentRunId"),
                "status": "running",
                "result": None,
                "error": None,
                "echoed": "input" in event,
            }
        )

    def run_error(self, event: Wire) -> None:
        """Ends a run that failed, be it before it began or after it had finished; what was delivered stays."""
        if self.phase == "failed":
            return
        self.add_usage(event.get("usage", ()))
        if not self.runs:
            self.begin_run(event)
        self.runs[-1].update(status="error", error={"message": event["message"], "code": event.get("code")})
        self.close_everything()
        self.phase = "failed"

    def anything_open(self) -> bool:
        """Whether the run has left something open."""
        entities = any(entity.open for entity in self.entities + self.dropped)
        calls = any(call.open for call in self.calls)
        return entities or calls or bool(self.spans) or bool(self.steps) or bool(self.subagents)

    def close_everything(self) -> None:
        """Nothing open crosses the boundary of a run, and no row takes anything any more (spec: events/lifecycle)."""
        for entity in self.entities:
            entity.open = False
            self.forget(entity)
        for call in self.calls:
            self.close_call(call)
        for row in self.timeline:
            row.takes_text = row.takes_calls = False
        self.calls = [call for call in self.calls if call.row or call.home is None]
        self.dropped = []
        self.spans = {}
        self.steps = set()
        self.subagents = set()
        self.ended_subagents = set()
        self.openers = {}
        self.thinking = {}

    def add_usage(self, entries: Any) -> None:
        """Sum per provider and model; an absent count is not zero (spec: events/lifecycle, "Token usage")."""
        for entry in map(without_nulls, entries):
            who = (entry.get("provider"), entry.get("model"))
            total = next((one for one in self.usage if (one.get("provider"), one.get("model")) == who), None)
            if total is None:
                total = without_nulls({"provider": who[0], "model": who[1]})
                self.usage.append(total)
            for key in (f"{name}Tokens" for name in COUNTS):
                if key in entry:
                    total[key] = total.get(key, 0) + entry[key]

    def step_started(self, event: Wire) -> None:
        """Opens a step, which is known by its owner and its name."""
        step = (event.get("subagentRunId"), event["stepName"])
        if step in self.steps:
            self.anomaly("step-already-open")
        self.steps.add(step)

    def step_finished(self, event: Wire) -> None:
        """Closes a step of the same owner."""
        step = (event.get("subagentRunId"), event["stepName"])
        if step not in self.steps:
            self.anomaly("step-not-open")
        self.steps.discard(step)

    # --------------------------------------------------------------------------- subagents (spec: events/subagents)

    def subagent_started(self, event: Wire) -> None:
        """Announces an invocation, whose id no other has had in the run and whose parent the run has seen."""
        one = event["subagentRunId"]
        if one in self.subagents:
            self.anomaly("subagent-already-active")
            return
        if one in self.ended_subagents:
            self.anomaly("subagent-reused")
            return
        if event.get("parentSubagentRunId") not in {None} | self.subagents | self.ended_subagents:
            self.anomaly("subagent-parent-unknown")
        self.subagents.add(one)

    def subagent_finished(self, event: Wire) -> None:
        """Ends an invocation that is active, well or in an error."""
        one = event["subagentRunId"]
        if one not in self.subagents:
            self.anomaly("subagent-not-active")
        else:
            self.subagents.discard(one)
            self.ended_subagents.add(one)

    subagent_error = subagent_finished

    def whose(self, kind: str, name: str, one: Entity | Call | None) -> tuple[str | None] | None:
        """Whose something is, as this run has said; `None` where it has not (spec: events/subagents)."""
        if one is not None and one.said and one.said[0] == len(self.runs) and (kind != "text" or begun(one)):
            return (one.said[1],)
        if kind == "reasoning" and name in self.spans:
            return (self.spans[name],)
        return (self.openers[kind, name],) if (kind, name) in self.openers else None

    def check_owner(self, kind: str, name: str, one: Entity | Call | None, tag: str | None) -> str | None:
        """A tag agrees with what this run's opener has said; another run's need not. Returns whose it is."""
        known = self.whose(kind, name, one)
        if known is None:
            return tag
        if tag is not None and tag != known[0]:
            self.anomaly("attribution-mismatch")
        return known[0]

    def say(self, one: Entity | Call, owner: str | None) -> None:
        """This run says whose something is."""
        one.said = (len(self.runs), owner)

    # -------------------------------------------------------------------------------------------- finding and making

    def find(self, kind: str, name: str, role: str | None = None) -> Entity | None:
        """The first entity of a kind and id, be it one that a snapshot has dropped and that is still open."""
        for entity in self.entities + self.dropped:
            if entity.kind == kind and entity.id == name and role in {None, entity.role}:
                return entity
        return None

    def find_result(self, name: str, call: str) -> Entity | None:
        """The result of a message id and a call id."""
        return next((e for e in self.entities if e.kind == "result" and (e.id, e.call_id) == (name, call)), None)

    def find_call(self, name: str) -> Call | None:
        """The newest call of an id."""
        return next((call for call in reversed(self.calls) if call.id == name), None)

    def create(self, entity: Entity) -> Entity:
        """Let an entity come to be: at the end in MERGED, with the encrypted value that has waited for it."""
        self.entities.append(entity)
        if entity not in self.merged:
            self.merged.append(entity)
        if entity.kind != "activity":
            value = self.kept.pop(("message", entity.id), None)
            if value is not None and entity.value is None:
                entity.value, entity.value_type = value
        return entity

    def add_row(self, entity: Entity, **what: Any) -> Row:
        """Open a row, at the end of the timeline. The first one is when the entity's id is seen."""
        others = filter(standing, self.entities + self.dropped)
        if not entity.met and any(other.id == entity.id and other is not entity for other in others):
            self.anomaly("shared-id")
        entity.met = True
        row = Row(entity, **what)
        entity.rows.append(row)
        self.timeline.append(row)
        if row.takes_calls:
            self.groups.append(row)
        return row

    def restore(self, entity: Entity) -> None:
        """An open entity that a snapshot has dropped comes back."""
        if entity in self.dropped:
            self.dropped.remove(entity)
            self.create(entity)

    def cut(self, lane: str | None, *what: str) -> None:
        """An opening ends the current rows of other kinds in its lane."""
        for row in self.timeline:
            if row.entity.owner == lane:
                if row.entity.kind in what:
                    row.takes_text = False
                if "group" in what:
                    row.takes_calls = False

    def standing(self, kind: str, name: str) -> Entity | None:
        """The first message of a kind and id, unless only calls in another's row have brought it about."""
        entity = self.find(kind, name)
        return entity if entity is not None and standing(entity) else None

    def begin(self, entity: Entity, role: str, label: str | None, tag: str | None) -> None:
        """A text begins under an id that a call has brought about: as its row has it, where it has one."""
        if not entity.rows and entity.calls:
            entity.merged_as = (entity.role, entity.name, entity.owner)
            entity.role, entity.name, entity.owner = role, label, tag
            self.say(entity, tag)
        self.open_row(entity)

    def open_row(self, entity: Entity) -> None:
        """A text or a reasoning message opens: it cuts, and has a row before it has content."""
        self.cut(entity.owner, *(("reasoning", "group") if entity.kind == "text" else ("text",)))
        entity.begun = True
        self.add_row(entity, takes_text=True)

    # ----------------------------- text and reasoning (spec: basic/patterns/streaming, events/text-messages, reasoning)

    def start(self, kind: str, name: str, event: Wire) -> None:
        """Open a message, or open one again: what was established stands (spec: events/text-messages)."""
        tag = event.get("subagentRunId")
        role = event.get("role", "assistant") if kind == "text" else "reasoning"
        entity = self.find(kind, name)
        owner = self.check_owner(kind, name, entity, tag)
        if entity is not None and entity.open:
            self.anomaly(f"{kind}-already-open")
        if entity is None:
            entity = self.create(Entity(kind, name, role, event.get("name"), tag, has_content=True))
            self.open_row(entity)
        elif entity.begun and not entity.rows:
            self.restore(entity)
            self.open_row(entity)
        elif not entity.begun:
            entity.has_content = entity.has_content or not entity.rows
            self.begin(entity, role, event.get("name"), tag)
        entity.open = True
        self.say(entity, owner)
        merge_metadata(entity, event)

    def extend(self, kind: str, name: str, event: Wire) -> None:
        """Append to a message, to its current row; what nothing opened opens by this."""
        tag, delta = event.get("subagentRunId"), event.get("delta", "")
        entity = self.find(kind, name)
        if entity is None or not entity.open:
            self.anomaly(f"{kind}-not-open")
        if self.standing(kind, name):
            self.check_owner(kind, name, entity, tag)
        if entity is None:
            entity = self.create(Entity(kind, name, "assistant" if kind == "text" else "reasoning", None, tag))
            self.say(entity, tag)
        if delta:
            self.restore(entity)
        if not entity.begun:
            self.begin(entity, "assistant", None, tag)
        entity.open = entity.has_content = True
        row = next((row for row in reversed(entity.rows) if row.takes_text), None)
        if row is None and delta:
            row = self.add_row(entity, takes_text=True)  # a continuation, which cuts nothing
        if row is not None:
            row.text = joined(row.text, delta)
        merge_metadata(entity, event)

    def end(self, kind: str, name: str, event: Wire) -> None:
        """Close a message; late metadata is not lost."""
        entity = self.standing(kind, name)
        if entity is None or not entity.open:
            self.anomaly(f"{kind}-not-open")
        if entity is not None and (entity.open or "metadata" in event):
            self.check_owner(kind, name, entity, event.get("subagentRunId"))
            entity.open = False
            merge_metadata(entity, event)
        if entity is not None:
            self.forget(entity)

    def forget(self, entity: Entity) -> None:
        """A message that a snapshot has dropped and that has said nothing since ends: it is none."""
        if entity in self.dropped:
            self.dropped.remove(entity)
        elif entity.merged_as is not None and not entity.rows:
            # A call has its message still.
            entity.role, entity.name, entity.owner = entity.merged_as
            entity.merged_as = entity.said = entity.metadata = entity.value = entity.value_type = None
            entity.begun = entity.has_content = False

    def text_message_start(self, event: Wire) -> None:
        """Opens a text message; an absent role means assistant."""
        self.start("text", event["messageId"], event)

    def text_message_content(self, event: Wire) -> None:
        """Extends a text message."""
        self.extend("text", event["messageId"], event)

    def text_message_end(self, event: Wire) -> None:
        """Closes a text message, which a new start may reopen."""
        self.end("text", event["messageId"], event)

    def reasoning_message_start(self, event: Wire) -> None:
        """Opens a reasoning message."""
        if "role" not in event:
            self.anomaly("role-missing")
        self.start("reasoning", event["messageId"], event)

    def reasoning_message_content(self, event: Wire) -> None:
        """Extends a reasoning message."""
        self.extend("reasoning", event["messageId"], event)

    def reasoning_message_end(self, event: Wire) -> None:
        """Closes a reasoning message."""
        self.end("reasoning", event["messageId"], event)

    # ------------------------------------------------- reasoning spans, encrypted values (spec: events/reasoning)

    def reasoning_start(self, event: Wire) -> None:
        """A span opens no message. Where one has its id, they have one owner (the reference client)."""
        name, tag = event["messageId"], event.get("subagentRunId")
        if name in self.spans:
            self.anomaly("span-already-open")
        self.spans[name] = self.check_owner("reasoning", name, self.find("reasoning", name), tag)

    def reasoning_end(self, event: Wire) -> None:
        """Closes a span."""
        name = event["messageId"]
        if name not in self.spans:
            self.anomaly("span-not-open")
        else:
            self.check_owner("reasoning", name, self.find("reasoning", name), event.get("subagentRunId"))
            self.openers["reasoning", name] = self.spans.pop(name)

    def reasoning_encrypted_value(self, event: Wire) -> None:
        """The value goes to what it names, early or late; its type goes with it (spec: events/reasoning)."""
        name, tag = event["entityId"], event.get("subagentRunId")
        value = (event["encryptedValue"], event.get("encryptedValueType"))
        if event["subtype"] == "tool-call":
            call = self.find_call(name)
            if call is not None:
                self.check_owner("call", name, call, tag)
                call.value, call.value_type = value
                return
        else:
            for kind in ("reasoning", "text", "result"):
                entity = self.standing(kind, name)
                if entity is not None:
                    self.check_owner(kind, name, entity, tag)
                    entity.value, entity.value_type = value
                    return
            home = self.find("text", name)
            if home is not None:
                # Only MERGED has shown it: the message of a call that streamed in another's row.
                self.add_row(home, takes_text=True)
                home.value, home.value_type = value
                return
        self.anomaly("value-unclaimed")
        self.kept[event["subtype"], name] = value

    # ------------------------------------------------------------------------ tool calls (spec: events/tool-calls)

    def pending(self) -> list[str]:
        """The ids of the calls that wait for a result, in the order in which they opened."""
        calls = sorted((call for row in self.timeline for call in row.calls), key=lambda call: call.opened)
        return list(dict.fromkeys(call.id for call in calls if not call.answered))

    def start_call(self, name: str, tool: str, parent: str | None, event: Wire) -> None:
        """Open a call, or open one again."""
        tag = event.get("subagentRunId")
        call = self.find_call(name)
        if call is not None and call.open:
            # By a start, or by arguments that came before any.
            self.anomaly("call-already-open")
        owner = self.caller(call, name, parent, tag)
        call = self.call_meant(call, parent)
        if call is None:
            call = self.make_call(name)
        if call.row is None:
            call.name, call.parent = tool, parent
            self.place(call, tag)
        else:
            if not call.open:
                # A reopening start replaces the name (spec: events/tool-calls leaves it open; the reference client).
                call.name = tool or call.name
            call.held = call.held if call.streamed else ""
        call.open = call.streamed = True
        self.say(call, owner)
        merge_metadata(call, event)

    def caller(self, call: Call | None, name: str, parent: str | None, tag: str | None) -> str | None:
        """Whose a call is in this run: its parent's, with which it has to agree (spec: events/subagents)."""
        known = self.whose("call", name, call)
        owner = self.check_owner("call", name, call, tag)
        holder = None if parent is None else self.whose("text", parent, self.find("text", parent))
        if holder is None:
            return owner
        if tag is None and known is None:
            return holder[0]
        if holder[0] != (owner if tag is None else tag):
            self.anomaly("attribution-mismatch")
        return owner

    def call_meant(self, call: Call | None, parent: str | None) -> Call | None:
        """The call that a start is for; `None` where it is a new one.

        A local model counts its calls anew in every reply: the id of an answered call under another parent is another
        call. But a call that its message holds already is that call.
        """
        if call is None or call.row is None or parent is None or not call.answered:
            return call
        home = parent if self.may_hold_calls(parent) else call.id
        if call.home and call.home.id == home:
            return call
        call.open = False
        there = [one for one in self.calls if one.id == call.id and one.home and one.home.id == home]
        if there:
            self.calls.remove(there[-1])
            self.calls.append(there[-1])
            return there[-1]
        self.anomaly("call-reused")
        self.close_call(call)
        return None

    def make_call(self, name: str) -> Call:
        """A call comes to be, as a shell, with the encrypted value that has waited for it."""
        call = Call(name)
        self.calls.append(call)
        self.claim_call_value(call)
        return call

    def claim_call_value(self, call: Call) -> None:
        """Give a call the encrypted value that has waited for it, unless it brings its own."""
        value = self.kept.pop(("tool-call", call.id), None)
        if value is not None and call.value is None:
            call.value, call.value_type = value

    def may_hold_calls(self, parent: str) -> bool:
        """Whether an id is an assistant message's, or nobody's yet."""
        text = self.standing("text", parent)
        return text.role == "assistant" if text else not any(self.standing(e.kind, parent) for e in self.known(parent))

    def known(self, name: str) -> list[Entity]:
        """Everything that has an id."""
        return [entity for entity in self.entities + self.dropped if entity.id == name]

    def home_of(self, call: Call, tag: str | None) -> Entity:
        """The message that holds a call: its parent, else one of its own id."""
        if call.parent is not None and self.may_hold_calls(call.parent):
            home = self.find("text", call.parent)
            return home or self.create(Entity("text", call.parent, "assistant", None, tag))
        home = self.find("text", call.id, "assistant") or next(
            (e for e in self.dropped if (e.kind, e.id) == ("text", call.id)), None
        )
        twin = home is None and self.find("text", call.id) is not None
        return home or self.create(Entity("text", call.id, "assistant", None, tag, twin=twin))

    def place(self, call: Call, tag: str | None) -> None:
        """Give a call its home and its row.

        Without a parent it joins the latest current group of its lane, else it goes to its home's current row.
        """
        if call.parent is not None and not self.may_hold_calls(call.parent):
            self.anomaly("parent-not-assistant")
        groups = [row for row in self.groups if row.takes_calls and row.entity.owner == tag and call.parent is None]
        home = self.home_of(call, tag)
        if groups and home in self.dropped:
            home.merged_as = ("assistant", None, tag)
        elif home.role != "assistant":
            home.role, home.name = "assistant", None  # it was another's, which a snapshot has dropped
        self.restore(home)
        texts = [row for row in home.rows if row.takes_text]
        own = [row for row in home.rows if row.takes_calls]
        row = next(reversed(groups or texts or own), None)
        lane = row.entity.owner if row else home.owner
        if row is not None and row.takes_text:
            # The text row is the lane's group from here on; text that goes on goes behind it.
            row.takes_text, row.takes_calls = False, True
            self.groups.append(row)
        self.cut(lane, "text", "reasoning")
        if row is None:
            if home.calls and not home.rows:
                home.merged_as = (home.role, home.name, home.owner)
                home.owner = lane = tag
                self.say(home, tag)
            row = self.add_row(home, takes_calls=True)
        elif home.value is not None and not home.rows:
            self.add_row(home, takes_text=True)  # the value that has waited for it shows
        if home.said is None:
            self.say(home, lane)
        row.calls.append(call)
        home.calls.append(call)
        call.row, call.home, call.opened = row, home, self.position
        call.answered = call.id in self.early
        self.early.discard(call.id)

    def extend_call(self, name: str, event: Wire) -> None:
        """Append arguments, valid JSON or not; those of a call that nothing opened wait in a shell for its start."""
        tag, delta = event.get("subagentRunId"), event.get("delta", "")
        call = self.find_call(name)
        if call is None or not call.open:
            self.anomaly("call-not-open")
        if call is None:
            call = self.make_call(name)
            self.say(call, tag)
        self.check_owner("call", name, call, tag)
        call.open = True
        if call.held is None:
            call.arguments = joined(call.arguments, delta)
        else:
            # A stated call that is streamed once more: the same text, unless it turns out to be another one.
            call.held = joined(call.held, delta)
            if not call.arguments.startswith(call.held):
                call.arguments, call.held = joined(call.arguments, call.held), None
        merge_metadata(call, event)

    def end_call(self, name: str, event: Wire) -> None:
        """Close a call; late metadata is not lost."""
        call = self.find_call(name)
        if call is None or not call.open:
            self.anomaly("call-not-open")
        if call is not None and (call.open or "metadata" in event):
            self.check_owner("call", name, call, event.get("subagentRunId"))
            merge_metadata(call, event)
            self.close_call(call)

    def close_call(self, call: Call) -> None:
        """Nothing more comes: what has been held back is part of another text, unless it was all of the stated one."""
        call.open = False
        if call.held is not None and call.held != call.arguments:
            call.arguments = joined(call.arguments, call.held)
        call.held = None

    def tool_call_start(self, event: Wire) -> None:
        """Opens a call, in the assistant message that its parent id names."""
        self.start_call(event["toolCallId"], event["toolCallName"], event.get("parentMessageId"), event)

    def tool_call_args(self, event: Wire) -> None:
        """Extends a call's arguments."""
        self.extend_call(event["toolCallId"], event)

    def tool_call_end(self, event: Wire) -> None:
        """Closes a call: its arguments are complete, which does not make them valid."""
        self.end_call(event["toolCallId"], event)

    def tool_call_result(self, event: Wire) -> None:
        """A result is a message; several may share a message id; one sent twice replaces itself."""
        name, call_id, tag = event["messageId"], event["toolCallId"], event.get("subagentRunId")
        call = self.find_call(call_id)
        result = self.find_result(name, call_id)
        if result is None:
            result = self.create(Entity("result", name, "tool", None, tag, call_id=call_id, opened=self.position))
            self.cut(tag, "text", "reasoning", "group")
            self.add_row(result)
            self.put_behind_call(result)
            if call is None or call.row is None:
                self.early.add(call_id)
            else:
                call.answered = True
        result.content = event["content"]
        self.say(result, tag)
        merge_metadata(result, event)
        self.retire_interrupts_of(call_id)

    def put_behind_call(self, result: Entity) -> None:
        """MERGED: a result goes behind the message that holds its call, and the tool messages there."""
        calls = [call for row in self.timeline for call in row.calls if call.id == result.call_id]
        if calls:
            # Of those that one event stated the last in the timeline.
            home = max(reversed(calls), key=lambda call: call.opened).home
            assert home is not None
            self.merged.remove(result)
            place = self.merged.index(home) + 1
            while place < len(self.merged) and self.merged[place].kind == "result":
                place += 1
            self.merged.insert(place, result)

    def retire_interrupts_of(self, call_id: str) -> None:
        """An interrupt whose call has a result waits no longer."""
        self.interrupts = {k: v for k, v in self.interrupts.items() if v.get("toolCallId") != call_id}

    # ------------------------------------------------------------------------ chunks (spec: basic/patterns/streaming)

    def end_chunks_before(self, event: Wire) -> None:
        """Most events end the chunk stream of their lane, those about the whole run all of them."""
        kind = event["type"]
        if kind in ENDS_ALL_CHUNKS:
            for lane in list(self.chunks):
                self.end_chunks(lane)
        elif kind not in STANDS_ASIDE and not kind.endswith("_CHUNK"):
            self.end_chunks(event.get("subagentRunId"))

    def end_chunks(self, lane: str | None) -> None:
        """The end that no chunk says."""
        stream = self.chunks.pop(lane, None)
        if stream is not None and stream["kind"] == "call":
            self.end_call(stream["id"], {})
        elif stream is not None:
            self.end(stream["kind"], stream["id"], {})

    def chunk(self, kind: str, name: str | None, event: Wire, established: Wire) -> None:
        """A chunk is its triad; `established` holds what later chunks may repeat, as this one has it."""
        lane = self.lane_of_chunk(kind, name, event.get("subagentRunId"))
        stream = self.chunks.get(lane)
        if stream is not None and stream["kind"] == kind and name in {None, stream["id"]}:
            speaks = any(key in event for key in ("delta", "rawEvent", "metadata"))
            for key, value in stream["established"].items():
                if key in event and event[key] != value:
                    self.anomaly("chunk-conflict")
            if not speaks:
                one = self.find_call(stream["id"]) if kind == "call" else self.find(kind, stream["id"])
                self.check_owner(kind, stream["id"], one, event.get("subagentRunId"))
        else:
            speaks = "delta" in event
            self.end_chunks(lane)
            if name is None:
                self.anomaly("chunk-without-id")
                name = f"chunk-{self.position}"
            stream = self.chunks[lane] = {"kind": kind, "id": name, "established": established}
            if kind != "call":
                self.start(kind, name, event)
            else:
                if "toolCallName" not in event:
                    self.anomaly("chunk-without-name")
                self.start_call(name, event.get("toolCallName", ""), event.get("parentMessageId"), event)
        stream["used"] = self.position
        if speaks and kind == "call":
            self.extend_call(stream["id"], event)
        elif speaks:
            self.extend(kind, stream["id"], event)

    def lane_of_chunk(self, kind: str, name: str | None, tag: str | None) -> str | None:
        """By id where its stream is open, by tag, else the parent's stream, else the only one of the kind."""
        open_ = {lane: stream for lane, stream in self.chunks.items() if stream["kind"] == kind}
        if name is not None:
            return next((lane for lane, stream in open_.items() if stream["id"] == name), tag)
        if tag is not None or None in open_ or not open_:
            return tag
        if len(open_) > 1:
            self.anomaly("chunk-ambiguous")
        return max(open_, key=lambda lane: open_[lane]["used"])

    def text_message_chunk(self, event: Wire) -> None:
        """Stands for the events of a text message."""
        established = {"role": event.get("role", "assistant"), "name": event.get("name")}
        self.chunk("text", event.get("messageId"), event, established)

    def reasoning_message_chunk(self, event: Wire) -> None:
        """Stands for the events of a reasoning message."""
        self.chunk("reasoning", event.get("messageId"), event, {})

    def tool_call_chunk(self, event: Wire) -> None:
        """Stands for the events of a tool call."""
        established = {key: event.get(key) for key in ("toolCallName", "parentMessageId")}
        self.chunk("call", event.get("toolCallId"), event, established)

    # -------------------------------------------------- retired events (spec: basic/versioning, "Retired shapes")

    def thinking_start(self, event: Wire) -> None:
        """Is REASONING_START, under an id of this library's making."""
        self.reasoning_start({**event, "messageId": self.thinking_id("span")})

    def thinking_end(self, event: Wire) -> None:
        """Is REASONING_END."""
        self.reasoning_end({**event, "messageId": self.thinking_id("span")})
        del self.thinking["span"]

    def thinking_text_message_start(self, event: Wire) -> None:
        """Is REASONING_MESSAGE_START; repeated while its message is open it is a repeated start."""
        self.reasoning_message_start({**event, "messageId": self.thinking_id("message"), "role": "reasoning"})

    def thinking_text_message_content(self, event: Wire) -> None:
        """Is REASONING_MESSAGE_CONTENT."""
        self.reasoning_message_content({**event, "messageId": self.thinking_id("message")})

    def thinking_text_message_end(self, event: Wire) -> None:
        """Is REASONING_MESSAGE_END."""
        self.reasoning_message_end({**event, "messageId": self.thinking_id("message")})
        del self.thinking["message"]

    def thinking_id(self, what: str) -> str:
        """The id of the span or message that is open; one made of the position where none is."""
        return self.thinking.setdefault(what, f"thinking-{self.position}")

    # ------------------------------------------------ state and activities (spec: events/state, events/activity)

    def state_snapshot(self, event: Wire) -> None:
        """Replaces the shared state, by any JSON value."""
        self.state = event["snapshot"]

    def state_delta(self, event: Wire) -> None:
        """Amends the shared state by a patch, which applies whole or not at all."""
        try:
            self.state = patched(self.state, event["delta"])
        except PatchFailed:
            self.anomaly("patch-failed")

    def activity_snapshot(self, event: Wire) -> None:
        """Creates an activity or replaces its content, unless it declines to."""
        name, tag = event["messageId"], event.get("subagentRunId")
        activity = self.find("activity", name)
        if activity is None:
            activity = self.create(Entity("activity", name, "activity", None, tag))
            self.add_row(activity)
            replaces = True
        else:
            replaces = event.get("replace", True)
        if replaces:
            # It mints the activity anew, its owner included; metadata goes on gathering (spec: events/activity).
            activity.activity_type, activity.content, activity.owner = event["activityType"], event["content"], tag
            self.say(activity, tag)
        else:
            known = self.whose("activity", name, activity)
            self.say(activity, known[0] if known else tag)
        merge_metadata(activity, event)

    def activity_delta(self, event: Wire) -> None:
        """Amends an activity; one that nothing created is left alone."""
        activity = self.find("activity", event["messageId"])
        if activity is None:
            self.anomaly("activity-unknown")
            return
        self.check_owner("activity", activity.id, activity, event.get("subagentRunId"))
        merge_metadata(activity, event)
        try:
            activity.content = patched(activity.content, event["patch"])
            activity.activity_type = event["activityType"]
        except PatchFailed:
            self.anomaly("patch-failed")

    # ---------------------------------------------------------------- pass through (spec: events/passthrough)

    def raw(self, event: Wire) -> None:
        """Builds nothing."""

    custom = raw

    # ------------------------------------------------------------------ stated messages (spec: events/state)

    def messages_snapshot(self, event: Wire) -> None:
        """The complete set of the producer's messages, reconciled by id in place."""
        pairs = self.stated_pairs([without_nulls(message) for message in event["messages"]])
        stated = [entity for entity, _ in pairs]
        roles = {message["role"] for _, message in pairs}
        kept = [e for e in self.entities if e not in stated and self.is_clients_own(e, roles, event.get("metadata"))]
        owners = self.owners_of(self.entities, self.calls)
        stand_ins = self.stand_ins(stated)
        self.reconcile_timeline(stated, kept, stand_ins)

        # What is absent goes; what was open then stays open, with nothing to show.
        gone = [entity for entity in self.entities if entity.open and entity not in kept + stated]
        self.dropped = [left_open(entity) for entity in self.dropped + gone]
        new = [entity for entity in stated if entity not in self.entities]
        owner_of = {row: row.entity.owner for row in self.groups}
        self.entities = [entity for entity in self.entities if entity in kept + stated]
        self.merged = [stand_ins.get(entity, entity) for entity in self.merged]
        self.merged = [entity for entity in self.merged if entity in kept + stated]

        for entity, message in pairs:
            self.state_message(entity, message)
            if entity not in new:
                continue
            before = self.find(entity.kind, entity.id)
            if before in self.dropped:
                self.dropped.remove(before)
                entity.open = True
                entity.rows[0].takes_calls = bool(entity.calls)
            self.create(entity)
        self.settle_calls(self.calls, [call for entity in stated for call in entity.calls])
        self.groups = [row for row in self.groups if row.takes_calls and row.entity.owner == owner_of[row]]
        self.early = set()
        self.bind_results(self.timeline)
        for (kind, name), owner in owners.items():
            left = self.find_call(name) if kind == "call" else self.find(kind, name)
            if left is None or left in self.dropped:
                self.openers[kind, name] = owner

    def stated_pairs(self, messages: list[Wire]) -> list[tuple[Entity, Wire]]:
        """Each message with what it restates, or with a new entity; of two copies of a role the later one."""
        unique: dict[tuple[str, str, str], Wire] = {}
        for message in messages:
            if any(message["id"] == name for _, name, _ in unique):
                self.anomaly("duplicate-id")
            unique[message["role"], message["id"], message.get("toolCallId", "")] = message
        messages = list(unique.values())
        pairs = []
        for entity, message in zip(self.held_copies(messages), messages, strict=True):
            pairs.append((entity or stub_of(message), message))
            pairs[-1][0].twin = is_twin(message, messages[: len(pairs) - 1])
        return pairs

    def reconcile_timeline(self, stated: list[Entity], kept: list[Entity], stand_ins: dict[Entity, Entity]) -> None:
        """STREAMED keeps the order of the timeline.

        A restated message has one row, in the place of its first one; a new one that has the id under which a
        continuation shows takes the place of that.
        """
        new = [entity for entity in stated if entity not in self.entities]
        shown = self.shown_elsewise()
        places = [(entity, former.rows[0]) for former, entity in stand_ins.items() if former.rows]
        places += [(e, shown[e.kind, e.id, e.call_id]) for e in new if (e.kind, e.id, e.call_id) in shown]
        # Streamed without a parent in another call's group, and now stated as a message of its own.
        places += [(call.home, row) for row in self.timeline for call in row.calls if call.home in stated]
        for entity in stated:
            entity.rows = entity.rows or [Row(entity)]
        timeline: list[Row] = []
        for row in self.timeline:
            if row.entity in kept:
                timeline.append(row)
            here = [row.entity] if row.entity in stated and row is row.entity.rows[0] else []
            here += [entity for entity, place in places if place is row]
            timeline += [one.rows[0] for one in dict.fromkeys(here) if one.rows[0] not in timeline]
        latest = {row.entity.owner: row.entity for row in self.groups if row.takes_calls}
        for entity in stated:
            current = entity.open and any(row.takes_text for row in entity.rows)
            del entity.rows[1:]
            entity.rows[0].takes_text, entity.rows[0].takes_calls = current, False
            if entity.rows[0] not in timeline:
                timeline += entity.rows
        self.timeline, self.groups = timeline, [entity.rows[0] for entity in latest.values() if entity in stated]

    def held_copies(self, messages: list[Wire]) -> list[Entity | None]:
        """What each stated message restates: its kind and id. The second text of an id is told apart by its role."""
        copies: list[Entity | None] = [None] * len(messages)
        for any_call in (False, True):
            for index, message in enumerate(messages):
                twin = is_twin(message, messages[:index])
                for entity in self.entities:
                    same = (entity.kind, entity.id, entity.twin) == (kind_of(message), message["id"], twin)
                    same = same and (not twin or entity.role == message["role"])
                    same = same and (any_call or entity.call_id == message.get("toolCallId", ""))
                    if same and entity not in copies:
                        copies[index] = copies[index] or entity
        return copies

    def stand_ins(self, stated: list[Entity]) -> dict[Entity, Entity]:
        """An answer that a truncated run left may come back whole under another id, behind the same message."""
        found: dict[Entity, Entity] = {}
        following = stated[:1]
        for entity in self.merged:
            one = entity
            new = [stated for stated in following if stated not in self.entities and stated.role == entity.role]
            if new and entity not in stated and self.broke_off(entity):
                one = found[entity] = new[0]
            following = stated[stated.index(one) + 1 :][:1] if one in stated else []
        return found

    def broke_off(self, entity: Entity) -> bool:
        """Whether a run that was cut off has left a text or a reasoning message."""
        run = entity.said[0] if entity.said and entity.kind in {"text", "reasoning"} and standing(entity) else 0
        return run > 0 and bool(self.runs[run - 1]["status"] == "truncated")

    def is_clients_own(self, entity: Entity, roles: set[str], metadata: Wire | None) -> bool:
        """Activities and reasoning that no producer tracks survive a snapshot without any (spec: events/state)."""
        if entity.kind == "activity":
            types = authoritative_activity_types(metadata)
            if types is None:
                return "activity" not in roles
            return types != "all" and entity.activity_type not in types
        return entity.kind == "reasoning" and "reasoning" not in roles

    def shown_elsewise(self) -> dict[tuple[str, str, str], Row]:
        """What STREAMED shows under ids that are made of others: by kind, that id, and the call of a result."""
        rows = {shown.id: shown.rows[0] for shown in self.streamed()}
        return {(r.entity.kind, name, r.entity.call_id): r for name, r in rows.items() if name != r.entity.id}

    def echo(self, message: Wire, shown: dict[tuple[str, str, str], Row]) -> None:
        """A message of the echoed input is news unless it is known, or is the continuation that shows under its id."""
        kind, name = kind_of(message), message["id"]
        known = self.find_result(name, message["toolCallId"]) if kind == "result" else self.find(kind, name)
        if known or (kind, name, message.get("toolCallId", "")) in shown:
            return
        entity = stub_of(message)
        self.timeline.append(entity.rows[0])
        self.state_message(entity, message)
        self.create(entity)
        self.settle_calls(self.calls, entity.calls, keep=True)
        self.bind_results(entity.rows)

    def state_message(self, entity: Entity, message: Wire) -> None:
        """Replace all of an entity by a message, its encrypted value included (spec: events/reasoning)."""
        row = entity.rows[0]
        entity.role, entity.name, entity.owner = message["role"], message.get("name"), message.get("subagentRunId")
        entity.merged_as = None
        entity.metadata = message.get("metadata")
        entity.value, entity.value_type = message.get("encryptedValue"), message.get("encryptedValueType")
        entity.begun, entity.has_content = True, "content" in message
        row.stated, row.text, row.parts, row.calls = True, "", None, []
        entity.opened = self.position
        self.say(entity, entity.owner)
        if entity.kind in {"activity", "result"}:
            entity.content, entity.activity_type = message["content"], message.get("activityType", "")
            entity.call_id = message.get("toolCallId", "")
            entity.error = message.get("error")
            return
        if isinstance(message.get("content"), list):
            row.parts = message["content"]
        else:
            row.text = message.get("content", "")
        for stated in map(without_nulls, message.get("toolCalls", ())):
            function = stated["function"]
            call = Call(stated["id"], function["name"], entity.id, function["arguments"], stated.get("metadata"))
            call.value, call.value_type = stated.get("encryptedValue"), stated.get("encryptedValueType")
            call.home, call.row, call.streamed, call.opened = entity, row, False, self.position
            row.calls = [*(one for one in row.calls if one.id != call.id), call]
            self.say(call, entity.owner)
        entity.calls = list(row.calls)
        if row.calls:
            row.takes_text, row.takes_calls = False, entity.open  # for those that name it

    def settle_calls(self, old: list[Call], stated: list[Call], *, keep: bool = False) -> None:
        """The last stated call of an id goes on as that; `keep` what no message states, as an input does."""
        last = {call.id: call for call in stated}
        for call in stated:
            former = [one for one in old if one.id == call.id and not keep]
            former = [one for one in former if one.home and one.home.id == call.parent] or former
            if former:
                call.answered, call.streamed = former[-1].answered, former[-1].streamed
            self.claim_call_value(call)
        self.calls = []
        for one in old:
            if keep and one.row is not None:
                self.calls.append(one)
            elif one.id in last:
                last[one.id].open = last[one.id].open or one.open
            elif one.row is None:
                self.calls.append(one)
            elif one.open:
                # It stays open, with nothing to show.
                left = Call(one.id, one.name, open=True, said=one.said, answered=one.answered, streamed=one.streamed)
                self.calls.append(left)
        self.calls += stated

    def bind_results(self, rows: list[Row]) -> None:
        """A result answers the last call of its id that stands before it, else the next one to come.

        It also retires the interrupts that concern the call (spec: basic/patterns/interrupt-resume).
        """
        latest: dict[str, Call] = {}
        for row in rows:
            if row.entity.kind == "result":
                name = row.entity.call_id
                call = latest.get(name) or self.find_call(name)
                if call is not None and call.row is not None:
                    call.answered = True
                if name not in latest and (call is None or call.row is None or call.row in rows):
                    self.early.add(name)
                self.retire_interrupts_of(name)
            for call in row.calls:
                call.answered = call.answered or call.id in self.early
                self.early.discard(call.id)
                latest[call.id] = call

    def owners_of(self, entities: list[Entity], calls: list[Call]) -> dict[tuple[str, str], str | None]:
        """Whose messages and calls are, as this run has said."""
        found = {("call", call.id): call.said for call in calls}
        found |= {(e.kind, e.id): e.said for e in entities if e.kind != "result" and e.begun}
        return {key: said[1] for key, said in found.items() if said and said[0] == len(self.runs)}

    # ------------------------------------------------------------------------------------------------ ids of messages

    def names(self, entities: list[Entity]) -> dict[Entity, str]:
        """The id that each entity shows under: its own, unless one that was seen earlier has it."""
        real = {entity.id for entity in entities}
        names: dict[Entity, str] = {}
        for entity in entities:
            name = entity.id
            if any(other.id == entity.id for other in names):
                label = entity.role if entity.twin else entity.call_id or entity.kind
                name = f"{entity.id}#{label}"
                while name in real or name in names.values():
                    name += "'"
            names[entity] = name
        return names

    def seen(self) -> list[Entity]:
        """What has a row, in the order of the timeline."""
        return list(dict.fromkeys(row.entity for row in self.timeline))

    # -------------------------------------------------------------------------------------------- the STREAMED layout

    def streamed(self) -> list[Message]:
        """The messages in the order in which they streamed, each result behind its call, under their ids."""
        shown = [row for row in self.timeline if self.shows(row)]
        messages: list[Message] = []
        for index, row in enumerate(shown):
            message = next((m for m in reversed(messages) if m.rows[-1].entity is row.entity), None)
            if message is not None and self.continues(message, row, shown[:index]):
                message.rows.append(row)
            else:
                messages.append(Message([row]))
        moved = [(message, self.holder(message, messages)) for message in messages]
        messages = [message for message, holder in moved if holder is None]
        for message, holder in moved:
            if holder is not None:
                self.put_behind(messages, message, holder, shown)
        self.number(messages)
        return messages

    def holder(self, message: Message, messages: list[Message]) -> Message | None:
        """The message that a result stands behind: the one with the latest call of its id before it, else the first."""
        result = message.rows[0].entity
        if result.kind != "result":
            return None
        calls = [
            (c.opened, index)
            for index, m in enumerate(messages)
            for r in m.rows
            for c in r.calls
            if c.id == result.call_id
        ]
        before = [one for one in calls if one < (result.opened, messages.index(message))]
        return messages[(max(before) if before else min(calls))[1]] if calls else None

    def shows(self, row: Row) -> bool:
        """A shell shows when something has claimed it; metadata alone does not."""
        entity = row.entity
        if entity.kind in {"activity", "result"} or has_something(row):
            return True
        return entity.value is not None and row is entity.rows[0] and not any(map(has_something, entity.rows))

    def continues(self, message: Message, row: Row, before: list[Row]) -> bool:
        """Whether a row is one message with rows of its entity shown before it.

        Not if something of their lane shows in between: but a result moves away, to its call. Not if it is text after
        the calls of its own message, for calls show after text.
        """
        if row.text and any(one.calls for one in message.rows):
            return False
        if row.parts is not None or any(one.parts is not None for one in message.rows):
            return False
        lane = row.entity.owner
        between = [other for other in before[before.index(message.rows[-1]) + 1 :] if other.entity.owner == lane]
        return all(row.entity.kind == "text" and self.moves_within(lane, other) for other in between)

    def moves_within(self, lane: str | None, row: Row) -> bool:
        """Whether a row is a result whose call is in the lane, too."""
        call = self.find_call(row.entity.call_id) if row.entity.kind == "result" else None
        return call is not None and call.row is not None and call.row.entity.owner == lane

    def put_behind(self, messages: list[Message], result: Message, holder: Message, shown: list[Row]) -> None:
        """Behind its call's message, and what follows it there: other results, reasoning and activities from before."""
        place = messages.index(holder) + 1
        for message in messages[place:]:
            earlier = shown.index(message.rows[0]) < shown.index(result.rows[0])
            if message.rows[0].entity.kind == "text" or not earlier:
                break
            place += 1
        messages.insert(place, result)

    def number(self, messages: list[Message]) -> None:
        """The first message of an entity has its name, a continuation one made of it and its ordinal."""
        names = self.names(self.seen())
        taken = {entity.id for entity in names} | set(names.values())
        for entity, name in names.items():
            own = [message for message in messages if message.rows[0].entity is entity]
            own.sort(key=lambda message: entity.rows.index(message.rows[0]))
            for message in own:
                message.id = name
                if message is not own[0]:
                    message.id = f"{name}#{entity.rows.index(message.rows[0])}"
                    while message.id in taken:
                        message.id += "'"
                    taken.add(message.id)

    def streamed_messages(self) -> list[Wire]:
        wire = []
        seen: set[Entity] = set()
        for message in self.streamed():
            entity = message.rows[0].entity
            calls = [call for row in message.rows for call in row.calls]
            text = joined(*(row.text for row in message.rows))
            made = self.message(entity, message.id, text or (None if calls else ""), message.rows[0].parts, calls)
            if entity in seen:
                for key in ("metadata", "encryptedValue", "encryptedValueType"):
                    made.pop(key, None)
            seen.add(entity)
            wire.append(made)
        return wire

    # ---------------------------------------------------------------------------------------------- the MERGED layout

    def merged_messages(self) -> list[Wire]:
        names = self.names(list(dict.fromkeys(self.seen() + self.merged)))
        wire = []
        for entity in self.merged:
            text = joined(*(row.text for row in entity.rows)) if entity.has_content else None
            # The reference client forgets the parts of a message that text is streamed into.
            parts = next((row.parts for row in entity.rows if row.parts is not None), None)
            made = self.message(entity, names[entity], text, None if text else parts, entity.calls)
            if entity.merged_as is not None:
                made.update(zip(("role", "name", "subagentRunId"), entity.merged_as, strict=True))
            wire.append(without_nulls(made))
        return wire

    def message(self, entity: Entity, name: str, text: str | None, parts: list[Any] | None, calls: list[Call]) -> Wire:
        made: Wire = {"id": name, "role": entity.role}
        if entity.kind == "activity":
            made.update(activityType=entity.activity_type, content=entity.content)
        elif entity.kind == "result":
            made.update(toolCallId=entity.call_id, content=entity.content, error=entity.error)
        else:
            made.update(content=text if parts is None else parts, name=entity.name)
        if calls:
            made["toolCalls"] = [
                without_nulls(
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": call.arguments},
                        "metadata": call.metadata,
                        "encryptedValue": call.value,
                        "encryptedValueType": call.value_type,
                    }
                )
                for call in calls
            ]
        made.update(
            metadata=entity.metadata,
            encryptedValue=entity.value,
            encryptedValueType=entity.value_type,
            subagentRunId=entity.owner,
        )
        return without_nulls(made)


# ------------------------------------------------------------------------------------------------------- small things


def kind_of(message: Wire) -> str:
    """The kind of a stated message."""
    return {"reasoning": "reasoning", "activity": "activity", "tool": "result"}.get(message["role"], "text")


def is_twin(message: Wire, earlier: list[Wire]) -> bool:
    """Whether a stated message is the second text of its id."""
    return kind_of(message) == "text" and any(kind_of(one) == "text" and one["id"] == message["id"] for one in earlier)


def stub_of(message: Wire) -> Entity:
    """An entity with one row, for a stated message that nobody had."""
    entity = Entity(kind_of(message), message["id"], message["role"], call_id=message.get("toolCallId", ""), met=True)
    entity.rows = [Row(entity)]
    return entity


def standing(one: Entity) -> bool:
    """Whether a message is more than one that MERGED makes for a call in another's row."""
    return one.begun or bool(one.rows)


def begun(one: Entity | Call) -> bool:
    """Whether a message has begun, which one that only a call has named has not."""
    return isinstance(one, Call) or one.begun


def left_open(one: Entity) -> Entity:
    """What is left of an open message that a snapshot drops: it stays open, with nothing to show."""
    return Entity(one.kind, one.id, one.role, one.name, one.owner, open=True, begun=True, met=True, said=one.said)


def has_something(row: Row) -> bool:
    return bool(row.text or row.calls or row.stated)


def without_nulls(value: Wire) -> Wire:
    """Without the fields that a null leaves out (spec: basic/versioning)."""
    return {key: item for key, item in value.items() if item is not None}


def merge_metadata(target: Entity | Call, event: Wire) -> None:
    """Key by key, the last write wins, no recursion (spec: basic/metadata)."""
    if "metadata" in event:
        target.metadata = {**(target.metadata or {}), **event["metadata"]}


def joined(*texts: str) -> str:
    """Two halves of a surrogate pair in two deltas are one character."""
    return "".join(texts).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def newer(version: str | None) -> bool:
    """Whether a protocol version is newer than this one, or unreadable (spec: basic/versioning)."""
    if version is None:
        return False
    numbers = re.fullmatch(r"(\d+)\.(\d+)", version)
    return numbers is None or (int(numbers[1]), int(numbers[2])) > PROTOCOL


def authoritative_activity_types(metadata: Wire | None) -> list[str] | str | None:
    """The reference client's own key: the types whose set is complete, or all; `None` where it says nothing."""
    if metadata is None or CLIENT_KEY not in metadata:
        return None
    scope = metadata[CLIENT_KEY]
    if not scope or not isinstance(scope, dict):
        return []
    if "authoritativeActivityTypes" not in scope:
        return None
    types = scope["authoritativeActivityTypes"]
    if types is None:
        return "all"
    return types if isinstance(types, list) and all(isinstance(one, str) for one in types) else []


# --- JSON Patch (RFC 6902, spec: basic/patterns/snapshots)


class PatchFailed(Exception):
    """An operation does not apply."""


def patched(document: Any, operations: list[Wire]) -> Any:
    """The document with all operations applied, or `PatchFailed`; the given one stays as it is."""
    document = copy.deepcopy(document)
    for operation in operations:
        document = apply(document, operation)
    return document


def apply(document: Any, operation: Wire) -> Any:
    op, path = operation["op"], pointer(operation["path"])
    if op == "add":
        return added(document, path, operation["value"])
    if op == "remove":
        return removed(document, path)
    if op == "replace":
        found(document, path)
        return replaced(document, path, operation["value"])
    if op == "copy":
        return added(document, path, copy.deepcopy(found(document, pointer(operation["from"]))))
    if op == "move":
        source = pointer(operation["from"])
        value = found(document, source)
        if path[: len(source)] == source and path != source:
            raise PatchFailed("moved into itself")
        return document if path == source else added(removed(document, source), path, value)
    if op == "test":
        if not equal(found(document, path), operation["value"]):
            raise PatchFailed("not as tested")
        return document
    return document  # an operation from a later version, which is dropped


def pointer(text: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def step(holder: Any, key: str, *, end: bool = False) -> Any:
    """The key or index of a member that is there; with `end` of a place where one may be added."""
    if isinstance(holder, dict):
        if key in holder or end:
            return key
    elif isinstance(holder, list):
        if end and key == "-":
            return len(holder)
        if re.fullmatch(r"0|[1-9][0-9]*", key, re.ASCII) and int(key) < len(holder) + end:
            return int(key)
    raise PatchFailed(f"nothing at {key!r}")


def found(document: Any, path: list[str]) -> Any:
    for key in path:
        document = document[step(document, key)]
    return document


def added(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return copy.deepcopy(value)
    holder = found(document, path[:-1])
    key = step(holder, path[-1], end=True)
    if isinstance(holder, list):
        holder.insert(key, copy.deepcopy(value))
    else:
        holder[key] = copy.deepcopy(value)
    return document


def removed(document: Any, path: list[str]) -> Any:
    if not path:
        return None  # as the reference client has it; RFC 6902 does not say what is left
    holder = found(document, path[:-1])
    del holder[step(holder, path[-1])]
    return document


def replaced(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return copy.deepcopy(value)
    holder = found(document, path[:-1])
    holder[step(holder, path[-1])] = copy.deepcopy(value)
    return document


def equal(one: Any, other: Any) -> bool:
    """Equal as JSON: a number is no boolean, and 1 is 1.0 (RFC 6902, section 4.6)."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
