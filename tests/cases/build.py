"""Events in wire form, as short as the tests want them, and what folding them gives."""

from __future__ import annotations

from functools import reduce
from typing import Any

from reducer import EMPTY, Layout, Snapshot, State, decode, fold, fold_all, project

Wire = dict[str, Any]

RUN: Wire = {"threadId": "t", "runId": "r"}
STARTED: Wire = {"type": "RUN_STARTED", **RUN}
FINISHED: Wire = {"type": "RUN_FINISHED", **RUN}
IN_RUN = fold(EMPTY, STARTED)
"""Where most tests begin: one event folded, a run that has just started."""


def text(verb: str, name: str | None = "m", /, **fields: Any) -> Wire:
    """Return an event of the text message `name`."""
    return _event(f"TEXT_MESSAGE_{verb}", {"messageId": name}, fields)


def said(name: str, /, *deltas: str, **fields: Any) -> list[Wire]:
    """Return the whole of a text message; `fields` are its start's."""
    contents = [text("CONTENT", name, delta=delta) for delta in deltas]
    return [text("START", name, **fields), *contents, text("END", name)]


def thought(verb: str, name: str | None = "g", /, **fields: Any) -> Wire:
    """Return an event of the reasoning message `name`."""
    role = {"role": "reasoning"} if verb == "START" else {}
    return _event(f"REASONING_MESSAGE_{verb}", {"messageId": name}, {**role, **fields})


def mused(name: str, /, *deltas: str, **fields: Any) -> list[Wire]:
    """Return the whole of a reasoning message; `fields` are its start's."""
    contents = [thought("CONTENT", name, delta=delta) for delta in deltas]
    return [thought("START", name, **fields), *contents, thought("END", name)]


def call(verb: str, name: str | None = "c", /, **fields: Any) -> Wire:
    """Return an event of the tool call `name`, of the tool `find` unless the fields say another."""
    tool = {"toolCallName": "find"} if verb == "START" else {}
    return _event(f"TOOL_CALL_{verb}", {"toolCallId": name}, {**tool, **fields})


def called(name: str, /, *deltas: str, **fields: Any) -> list[Wire]:
    """Return the whole of a tool call; `fields` are its start's."""
    arguments = [call("ARGS", name, delta=delta) for delta in deltas]
    return [call("START", name, **fields), *arguments, call("END", name)]


def result(answers: str = "c", name: str = "x", content: Any = "done", /, **fields: Any) -> Wire:
    """Return the result `name` of a tool call."""
    return call("RESULT", answers, messageId=name, content=content, **fields)


def value(names: str, sealed: str = "v", subtype: str = "message", /, **fields: Any) -> Wire:
    """Return an encrypted value for what it names."""
    told = {"subtype": subtype, "entityId": names, "encryptedValue": sealed}
    return {"type": "REASONING_ENCRYPTED_VALUE", **told, **fields}


def activity(name: str = "a", content: Any = None, kind: str = "plan", /, **fields: Any) -> Wire:
    """Return an activity snapshot."""
    told = {"messageId": name, "activityType": kind, "content": content or {}}
    return {"type": "ACTIVITY_SNAPSHOT", **told, **fields}


def snapshot(*messages: Wire, **fields: Any) -> Wire:
    """Return a messages snapshot."""
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages), **fields}


def started(run: str = "r", /, **told: Any) -> Wire:
    """Return the start of a run that echoes its input."""
    ids = {"threadId": "t", "runId": run}
    return {"type": "RUN_STARTED", **ids, "input": {**ids, "messages": [], **told}}


def finished(run: str = "r", /, **fields: Any) -> Wire:
    """Return the end of a run."""
    return {**FINISHED, "runId": run, **fields}


def interrupted(*interrupts: Wire) -> Wire:
    """Return the end of a run that raises interrupts."""
    return finished(outcome={"type": "interrupt", "interrupts": list(interrupts)})


def interrupt(name: str, /, **fields: Any) -> Wire:
    """Return an interrupt."""
    return {"id": name, "reason": "approval", **fields}


def message(
    name: str, content: Any = None, calls: tuple[Wire, ...] = (), /, *, role: str = "assistant", **rest: Any
) -> Wire:
    """Return a message in wire form."""
    made: Wire = {"id": name, "role": role}
    if content is not None:
        made["content"] = content
    if calls:
        made["toolCalls"] = list(calls)
    return {**made, **rest}


def answer(call_id: str = "c", name: str = "x", content: Any = "done", /, **rest: Any) -> Wire:
    """Return a tool message."""
    return message(name, content, role="tool", toolCallId=call_id, **rest)


def made(name: str = "c", arguments: str = "", tool: str = "find", /, **rest: Any) -> Wire:
    """Return a tool call as messages hold it."""
    return {"id": name, "type": "function", "function": {"name": tool, "arguments": arguments}, **rest}


def after(*events: Wire, onto: State = IN_RUN) -> State:
    """Return the state after the events, which is the same for each form that they may come in."""
    state = reduce(fold, events, onto)
    decoded = [decode(event) for event in events]
    assert reduce(fold, decoded, onto) == state
    assert fold_all(onto, decoded) == state
    return state


def seen(*events: Wire, onto: State = IN_RUN, layout: Layout = Layout.STREAMED) -> Snapshot:
    """Return what a reader sees after the events."""
    return project(after(*events, onto=onto), layout)


def streamed(*events: Wire, onto: State = IN_RUN) -> list[Wire]:
    """Return the messages after the events, as they streamed."""
    return seen(*events, onto=onto).messages


def merged(*events: Wire, onto: State = IN_RUN) -> list[Wire]:
    """Return the messages after the events, one for each id."""
    return seen(*events, onto=onto, layout=Layout.MERGED).messages


def both(*events: Wire, onto: State = IN_RUN) -> list[Wire]:
    """Return the messages after the events, which are the same in both layouts."""
    messages = streamed(*events, onto=onto)
    assert merged(*events, onto=onto) == messages
    return messages


def codes(*events: Wire, onto: State = IN_RUN) -> list[str]:
    """Return which rules the events break, in order."""
    return [anomaly.code for anomaly in seen(*events, onto=onto).anomalies]


def details(*events: Wire, onto: State = IN_RUN) -> list[str]:
    """Return what the anomalies say of the rules that the events break."""
    return [anomaly.detail for anomaly in seen(*events, onto=onto).anomalies]


def _event(kind: str, ids: Wire, fields: Wire) -> Wire:
    return {"type": kind, **{field: name for field, name in ids.items() if name is not None}, **fields}
