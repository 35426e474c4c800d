"""What comes out of the library, in bytes: run as a program, since a hash seed is a process's.

Prints all that is made of states of the recorded logs, and of a stream that holds more of everything than a plain dict
of the state does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from reducer import (
    EMPTY,
    Layout,
    ReducerError,
    State,
    compact,
    dumps,
    fold,
    hydrate,
    loads,
    project,
    rejoin,
    run_input,
)

Wire = dict[str, Any]
MANY = [f"s{number}" for number in range(40)]
RUN = {"threadId": "t", "runId": "r"}
MOMENTS = {"RUN_STARTED", "RUN_FINISHED", "MESSAGES_SNAPSHOT"}


def wide() -> Iterator[Wire]:
    """Yield a stream of many lanes, each with everything open at once, of which most is closed again."""
    yield {"type": "RUN_STARTED", **RUN}
    yield from ({"type": "SUBAGENT_STARTED", "subagentRunId": name, "name": name} for name in MANY)
    for name in MANY:
        yield from ({**event, "subagentRunId": name} for event in opened(name))
        yield {"type": "STEP_STARTED", "stepName": name}
    for name in MANY:
        value = {"type": "REASONING_ENCRYPTED_VALUE", "entityId": f"later {name}", "encryptedValue": name}
        yield from ({**value, "subtype": subtype} for subtype in ("message", "tool-call"))
    yield from (chunk(number) for number in range(len(MANY)))
    yield {"type": "STATE_SNAPSHOT", "snapshot": {f"k{number}": number for number in range(200)}}
    yield {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": f"/k{number}"} for number in range(150)]}
    for name in MANY[:30]:
        yield from ({**event, "subagentRunId": name} for event in closed(name))
    yield from ({"type": "TEXT_MESSAGE_START", "messageId": f"later {name}"} for name in MANY[:32])
    yield {"type": "MESSAGES_SNAPSHOT", "messages": [stated(f"later {name}") for name in MANY[:20]]}
    yield from (
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": "y", "subagentRunId": name} for name in MANY[5:]
    )
    interrupts = [{"id": f"i{name}", "reason": "x", "toolCallId": name} for name in MANY]
    yield {"type": "RUN_FINISHED", **RUN, "outcome": {"type": "interrupt", "interrupts": interrupts}}
    resume = [{"interruptId": f"i{name}", "status": "resolved"} for name in MANY[3:35]]
    told = {**RUN, "state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}, "resume": resume}
    yield {"type": "RUN_STARTED", **RUN, "input": told}
    for name in MANY:
        yield {"type": "TEXT_MESSAGE_START", "messageId": f"z{name}", "role": "user"}
        yield {"type": "REASONING_START", "messageId": f"z{name}"}
        yield {"type": "REASONING_MESSAGE_START", "messageId": f"z{name}", "role": "reasoning"}
    yield {"type": "RUN_ERROR", "message": "x"}


def opened(name: str) -> Iterator[Wire]:
    """Yield one opening of each kind."""
    yield {"type": "STEP_STARTED", "stepName": name}
    yield {"type": "REASONING_START", "messageId": f"span {name}"}
    yield {"type": "REASONING_MESSAGE_START", "messageId": name, "role": "reasoning"}
    yield {"type": "TEXT_MESSAGE_START", "messageId": name}
    yield {"type": "TOOL_CALL_START", "toolCallId": name, "toolCallName": "f"}
    yield {"type": "TOOL_CALL_ARGS", "toolCallId": name, "delta": "{}"}
    yield {"type": "TOOL_CALL_ARGS", "toolCallId": f"never {name}", "delta": "{}"}


def closed(name: str) -> Iterator[Wire]:
    """Yield the ends of most of that, and a result."""
    yield {"type": "STEP_FINISHED", "stepName": name}
    yield {"type": "REASONING_MESSAGE_END", "messageId": name}
    yield {"type": "REASONING_END", "messageId": f"span {name}"}
    yield {"type": "TOOL_CALL_END", "toolCallId": name}
    yield {"type": "TOOL_CALL_RESULT", "messageId": "result", "toolCallId": name, "content": "ok"}


def chunk(number: int) -> Wire:
    """Return a chunk that opens a stream in one of the lanes."""
    lane = MANY[number]
    kinds: list[Wire] = [
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": f"chunk {lane}"},
        {"type": "REASONING_MESSAGE_CHUNK", "messageId": f"chunk {lane}"},
        {"type": "TOOL_CALL_CHUNK", "toolCallId": f"chunk {lane}", "toolCallName": "f"},
    ]
    return {**kinds[number % len(kinds)], "delta": "x", "subagentRunId": lane}


def stated(name: str) -> Wire:
    """Return a message with a call."""
    call = {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return {"id": name, "role": "assistant", "content": "x", "toolCalls": [call]}


def printed(state: State) -> Iterator[str]:
    """Yield what is made of a state."""
    stored = dumps(state)
    yield from (stored.decode(), dumps(loads(stored)).decode(), repr(state), repr(project(state)))
    yield from (json.dumps(project(state, layout).to_dict()) for layout in Layout)
    yield in_words(rejoin(state))
    try:
        yield in_words(hydrate(project(state), "t", "r"))
        yield run_input(project(state), "r", allow_pending=True).model_dump_json()
    except ReducerError as error:
        yield repr(error)


def in_words(events: list[Any]) -> str:
    """Return events as JSON."""
    return json.dumps(
        [event.to_dict() if hasattr(event, "to_dict") else event.model_dump(mode="json") for event in events]
    )


def main() -> None:
    """Print all of it."""
    for path in sorted((Path(__file__).parent / "golden").glob("*/*.jsonl")):
        for state in [*accumulate(map(json.loads, path.read_text().splitlines()), fold, initial=EMPTY)][-1:]:
            sys.stdout.writelines(f"{path.name} {line}\n" for line in printed(state))
    log = list(wide())
    for number, state in enumerate(accumulate(log, fold, initial=EMPTY)):
        if number == len(log) or number % 100 == 99 or log[number]["type"] in MOMENTS:
            sys.stdout.writelines(f"{number} {line}\n" for line in printed(state))
            sys.stdout.write(f"{number} {in_words(compact(log[:number]))}\n")


if __name__ == "__main__":
    main()
