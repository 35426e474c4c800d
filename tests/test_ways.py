"""What each short way and the draft ask before they take an event: for each question a log that needs it.

All ways are held to the long one, from the first event on and from every moment on.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from reducer import EMPTY, decode, fold, fold_all, project
from tests.test_short import long_way, said

Wire = dict[str, Any]

RUN: Wire = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
END: Wire = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
AGAIN: Wire = {**RUN, "runId": "r2"}
ASKING: Wire = {
    **END,
    "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "input", "toolCallId": "c"}]},
}
SAID: Wire = {"id": "m", "role": "assistant", "content": "hi", "subagentRunId": "s"}
HOLDING: Wire = {
    "id": "m",
    "role": "assistant",
    "subagentRunId": "s",
    "toolCalls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}],
}


def told(*messages: Wire) -> Wire:
    """Return the start of a run whose input is told."""
    given = {"threadId": "t", "runId": "r2", "messages": [*messages], "tools": [], "context": [], "forwardedProps": {}}
    return {**AGAIN, "input": {"state": {}, **given}}


def restated(*messages: Wire) -> Wire:
    """Return a messages snapshot."""
    return {"type": "MESSAGES_SNAPSHOT", "messages": [*messages]}


def text(verb: str, name: str, **more: Any) -> Wire:
    """Return an event of a text message."""
    role = {"role": "assistant"} if verb == "START" else {}
    return {"type": f"TEXT_MESSAGE_{verb}", "messageId": name, **role, **more}


def thought(verb: str, name: str, **more: Any) -> Wire:
    """Return an event of a reasoning message."""
    role = {"role": "reasoning"} if verb == "START" else {}
    return {"type": f"REASONING_MESSAGE_{verb}", "messageId": name, **role, **more}


def span(verb: str, name: str, **more: Any) -> Wire:
    """Return an event of a reasoning span."""
    return {"type": f"REASONING_{verb}", "messageId": name, **more}


def call(verb: str, name: str, **more: Any) -> Wire:
    """Return an event of a tool call."""
    tool = {"toolCallName": "f"} if verb == "START" else {}
    return {"type": f"TOOL_CALL_{verb}", "toolCallId": name, **tool, **more}


def result(name: str, answers: str) -> Wire:
    """Return a result."""
    return {"type": "TOOL_CALL_RESULT", "messageId": name, "toolCallId": answers, "content": "done"}


def value(name: str, **more: Any) -> Wire:
    """Return an encrypted value of a message."""
    about = {"subtype": "message", "entityId": name, "encryptedValue": "v"}
    return {"type": "REASONING_ENCRYPTED_VALUE", **about, **more}


ACTIVITY: Wire = {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "p", "content": {}}
MANY = 30

LOGS: dict[str, list[Wire]] = {
    "a text that the input says is another's": [RUN, END, told(SAID), restated(), text("START", "m")],
    "a reasoning whose span is another's": [RUN, span("START", "m"), thought("START", "m", subagentRunId="u")],
    "an end in a chunk stream": [RUN, thought("CHUNK", "m", delta="x"), thought("END", "m")],
    "an end out of a run": [RUN, END, text("START", "m"), text("END", "m")],
    "a call that was answered": [RUN, result("x", "c"), call("START", "c")],
    "a call that the input says is another's": [RUN, END, told(HOLDING), restated(), call("START", "c")],
    "a call in another's message that is gone": [
        *(RUN, END, told(SAID), restated()),
        call("START", "c", parentMessageId="m"),
    ],
    "a call in what the input says is another's": [
        *(RUN, call("START", "q", parentMessageId="m"), call("END", "q"), END, told(SAID)),
        call("START", "c", parentMessageId="m"),
    ],
    "a call in an earlier run's message": [
        *(RUN, text("START", "m", subagentRunId="s"), text("END", "m"), END, AGAIN),
        call("START", "c", parentMessageId="m", subagentRunId="s"),
        call("START", "d", parentMessageId="m", subagentRunId="u"),
    ],
    "a call in a restated message that is open": [
        *(RUN, text("START", "m"), restated({**SAID, "subagentRunId": None})),
        call("START", "c", parentMessageId="m"),
    ],
    "a call that has the id of a message with a group that is not the latest": [
        *(RUN, text("START", "m"), restated({**HOLDING, "subagentRunId": None, "content": ""})),
        *(text("CONTENT", "m", delta="x"), call("START", "m")),
    ],
    "a call that ends a chunk stream": [RUN, text("CHUNK", "m", delta="x"), call("START", "c")],
    "a text that ends a chunk stream": [RUN, thought("CHUNK", "g", delta="x"), text("START", "m")],
    "a result that ends a chunk stream": [
        *(RUN, call("START", "c"), call("END", "c"), text("CHUNK", "m", delta="x"), result("r", "c")),
    ],
    "a result whose value has come": [RUN, call("START", "c"), call("END", "c"), value("r"), result("r", "c")],
    "a call whose value has come": [RUN, value("c", subtype="tool-call"), call("START", "c")],
    "a call that is open": [RUN, call("START", "c"), call("ARGS", "c", delta="x"), call("START", "c")],
    "a call that has ended": [RUN, call("START", "c"), call("END", "c"), call("START", "c"), call("START", "d")],
    "a call in another's message": [
        *(RUN, text("START", "m", subagentRunId="s"), text("END", "m"), call("START", "c", parentMessageId="m")),
        *(text("START", "n"), call("START", "d", parentMessageId="n", subagentRunId="s")),
    ],
    "a call beside another's message of its id": [
        *(RUN, text("START", "c", subagentRunId="s"), text("END", "c"), call("START", "c")),
    ],
    "a call in a message that is another's in this run": [
        *(RUN, text("START", "m", subagentRunId="s"), text("END", "m"), END),
        *(AGAIN, text("START", "m", subagentRunId="u"), text("END", "m")),
        call("START", "c", parentMessageId="m", subagentRunId="s"),
    ],
    "a call in a user's message": [
        *(RUN, text("START", "m", role="user"), call("START", "c", parentMessageId="m"), text("END", "m")),
        call("START", "d", parentMessageId="m"),
    ],
    "calls behind what their message said": [
        *(RUN, text("START", "m"), text("CONTENT", "m", delta="x"), text("END", "m")),
        *(call("START", "c", parentMessageId="m"), call("START", "d", parentMessageId="m"), call("END", "c")),
        *(result("x", "c"), call("START", "e", parentMessageId="m"), call("START", "f"), text("START", "n")),
        *(call("START", "g", parentMessageId="m"), call("START", "h")),
    ],
    "a result that answers an interrupt": [
        *(RUN, call("START", "c"), call("END", "c"), ASKING, AGAIN, result("x", "c")),
    ],
    "a span of what a snapshot dropped": [
        *(RUN, span("START", "g", subagentRunId="s"), thought("CONTENT", "g", delta="x", subagentRunId="u")),
        *(restated({"id": "z", "role": "reasoning", "content": "y"}), thought("END", "g"), span("END", "g")),
        thought("START", "g", subagentRunId="u"),
    ],
    "a span in a chunk stream": [RUN, text("CHUNK", "m", delta="x"), span("START", "g"), text("CHUNK", "m", delta="y")],
    "a span that ends a chunk stream, and is the last event": [RUN, text("CHUNK", "m", delta="x"), span("START", "g")],
    "a span's end that ends a chunk stream": [
        *(RUN, span("START", "g"), thought("START", "g"), thought("END", "g")),
        *(text("CHUNK", "m", delta="x"), span("END", "g")),
    ],
    "a span out of a run": [RUN, END, span("START", "m"), span("END", "m")],
    "more spans than a dict is good for": [
        *(RUN, *(span("START", f"m{number}") for number in range(MANY))),
        *(span("END", f"m{number}") for number in range(0, MANY, 3)),
    ],
    "a span of what the scope says is another's": [
        *(RUN, thought("START", "m", subagentRunId="s"), thought("END", "m"), restated(), span("START", "m")),
    ],
    "a span of an earlier run's message": [
        *(thought("START", "m"), RUN, span("START", "m"), span("END", "m")),
    ],
    "chunks that go on": [
        *(RUN, text("CHUNK", "m", delta="x"), text("CHUNK", "m", delta="y"), text("CHUNK", "m", delta="")),
        *(text("CHUNK", "m"), {"type": "TEXT_MESSAGE_CHUNK", "delta": "z"}, text("CHUNK", "n", delta="x")),
        *(text("CHUNK", "n", delta="y", role="user"), text("CHUNK", "n", delta="z", role="assistant")),
        *({**text("CHUNK", "n", delta="!"), "name": "who"}, text("CHUNK", "n", delta="?", metadata={"k": 1})),
    ],
    "chunks of two lanes": [
        *(RUN, text("CHUNK", "m", delta="x"), text("CHUNK", "n", delta="x", subagentRunId="s")),
        *(text("CHUNK", "m", delta="y"), text("CHUNK", "n", delta="y"), text("CHUNK", "m", delta="z")),
        *({"type": "TEXT_MESSAGE_CHUNK", "delta": "!"}, text("CHUNK", "m", delta="?", subagentRunId="s")),
        *(thought("CHUNK", "g", delta="x"), thought("CHUNK", "g", delta="y", subagentRunId="s"), END),
    ],
    "chunks of one lane that is not the parent agent's": [
        *(RUN, thought("CHUNK", "g", delta="x", subagentRunId="s"), thought("CHUNK", "g", delta="y")),
        *({"type": "REASONING_MESSAGE_CHUNK", "delta": "z"}, {"type": "TEXT_MESSAGE_CHUNK", "delta": "z"}),
    ],
    "chunks of what is cut": [
        *(RUN, text("CHUNK", "m", delta="x"), restated(), text("CHUNK", "m", delta="y")),
        *(text("CHUNK", "m", delta="z"), thought("START", "g"), text("CHUNK", "m", delta="!")),
    ],
    "chunks of calls": [
        *(RUN, call("CHUNK", "c", toolCallName="f", delta="x"), call("CHUNK", "c", delta="y")),
        *(call("CHUNK", "c", toolCallName="f", delta="z"), call("CHUNK", "c", toolCallName="g", delta="!")),
        *(call("CHUNK", "c", parentMessageId="m", delta="?"), call("CHUNK", "d", toolCallName="f")),
        *(call("CHUNK", "d", delta="x"), {"type": "TOOL_CALL_CHUNK", "delta": "y"}, END, call("CHUNK", "d", delta="z")),
    ],
    "a value out of a run": [RUN, text("START", "m"), text("END", "m"), END, value("m")],
    "a value of what a snapshot dropped": [RUN, text("START", "m"), restated(), value("m"), text("END", "m")],
    "a value of what has yet to open": [
        *(RUN, call("START", "c", parentMessageId="m", subagentRunId="s"), call("END", "c")),
        *(value("m", subagentRunId="s"), text("START", "m", subagentRunId="u")),
    ],
    "a value of an activity": [RUN, ACTIVITY, value("m")],
    "deltas that were decoded and deltas that were not": [
        *(RUN, text("START", "m"), text("CONTENT", "m", delta="x"), text("CONTENT", "m", delta="y")),
        *(call("START", "c"), call("ARGS", "c", delta="x"), call("ARGS", "c", delta="y"), text("START", "n")),
        *(text("CONTENT", "n", delta="x"), call("ARGS", "c", delta="z"), text("CONTENT", "n", delta="y")),
        *(call("ARGS", "c", delta="!"), text("CONTENT", "n", delta="z", subagentRunId="u")),
    ],
    "a delta in a chunk stream": [
        *(RUN, text("CHUNK", "m", delta="x", metadata={"k": 1}), text("CONTENT", "m", delta="y")),
    ],
    "a delta with another's tag": [
        *(RUN, call("START", "c"), call("ARGS", "c", delta="x"), call("ARGS", "c", delta="y", subagentRunId="u")),
    ],
    "a delta of a reasoning that a text cuts": [
        *(RUN, thought("START", "g"), text("START", "m"), thought("CONTENT", "g", delta="x")),
    ],
    "a delta of a text that a reasoning leaves": [
        *(RUN, text("START", "m"), thought("START", "g"), text("CONTENT", "m", delta="x")),
        *(thought("CONTENT", "g", delta="y"), text("CONTENT", "m", delta="z")),
    ],
    "a delta with metadata": [RUN, call("START", "c"), call("ARGS", "c", delta="x", metadata={"k": 1})],
    "a run in a run": [RUN, AGAIN, END],
    "a run with something open": [text("START", "m"), call("START", "c"), RUN, text("CONTENT", "m", delta="x")],
    "a run with a chunk stream open": [text("CHUNK", "m", delta="x"), RUN, text("CHUNK", "m", delta="y")],
    "a run whose input is told": [told(SAID)],
    "a run of another version": [{**RUN, "protocolVersion": "1.1"}, END, {**AGAIN, "protocolVersion": "1.2"}],
    "a run with a parent run": [RUN, END, {**AGAIN, "parentRunId": "r"}],
    "a run on another thread": [RUN, END, {**AGAIN, "threadId": "u"}],
    "a run with an unknown property": [{**RUN, "surplus": 1}, {**END, "surplus": 1}],
    "a run with metadata": [{**RUN, "metadata": {"k": 1}}, {**END, "metadata": {"k": 1}}],
    "an end of a text in the run after it": [
        *(RUN, text("START", "m"), text("CONTENT", "m", delta="x"), text("END", "m"), END),
        *(AGAIN, call("START", "c", parentMessageId="m"), text("CONTENT", "m", delta="y"), text("END", "m")),
    ],
    "a run's end without a run": [END, RUN, END, END],
    "a run's end with something open": [RUN, text("START", "m"), call("START", "c"), END],
    "a run's end with a chunk stream open": [RUN, text("CHUNK", "m", delta="x"), END],
    "a run with a chunk stream open, and its text closed": [
        *(text("CHUNK", "m", delta="x", subagentRunId="s"), text("END", "m"), RUN),
    ],
    "a run's end with a chunk stream open, and its text closed": [
        *(RUN, text("CHUNK", "m", delta="x", subagentRunId="s"), text("END", "m"), END),
    ],
    "a run's end with a span open": [RUN, span("START", "m"), END, AGAIN, span("START", "m")],
    "a run's end with a step open": [RUN, {"type": "STEP_STARTED", "stepName": "p"}, END],
    "a run's end with a subagent open": [
        *(RUN, {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"}, END),
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"},
    ],
    "a run's end that names another": [RUN, {**END, "runId": "other"}],
    "a run's end on another thread": [RUN, {**END, "threadId": "other"}],
    "a run's end that asks, and one that answers without saying": [RUN, ASKING, AGAIN, {**END, "runId": "r2"}],
    "a run's end that asks, and one that says what it answers": [
        *(RUN, ASKING, {**told(SAID), "runId": "r"}, END),
    ],
    "a run's end that says how it went": [
        *(RUN, {**END, "outcome": {"type": "success"}, "result": {"a": [1]}}, RUN, {**END, "result": 1}),
        *(RUN, {**END, "usage": [{"model": "m", "inputTokens": 1}]}, RUN, {**END, "outcome": {"type": "cancelled"}}),
    ],
    "many that are open": [
        *(RUN, *(text("START", f"m{number}") for number in range(MANY))),
        *(text("CONTENT", f"m{number % 2}", delta=str(number)) for number in range(4)),
        *(text("END", f"m{number}") for number in range(0, MANY, 3)),
        *(text("CONTENT", f"m{number}", delta="!") for number in (1, 2, 4)),
    ],
}


@pytest.mark.parametrize("form", [dict, decode, said], ids=["mappings", "decoded", "objects"])
@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS)
def test_alike(log: list[Wire], form: Any) -> None:
    """The log folds to the same states on all ways, one by one and many at once, begun anywhere."""
    events = [form(event) for event in log]
    states = [EMPTY]
    for event in events:
        states.append(long_way(states[-1], event))
    for number, event in enumerate(events):
        assert fold(states[number], event) == states[number + 1]
        rest = fold_all(states[number], events[number:])
        assert rest == states[-1]
        assert project(rest).to_dict() == project(states[-1]).to_dict()
    short = EMPTY
    for number, event in enumerate(events):
        short = fold(short, event)
        assert short == states[number + 1]
    # In another form every other time.
    mixed = [event if number % 2 else decode(log[number]) for number, event in enumerate(events)]
    assert reduce(fold, mixed, EMPTY) == fold_all(EMPTY, mixed) == reduce(long_way, mixed, EMPTY)
