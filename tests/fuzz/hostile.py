"""Logs that somebody writes to hurt: each a function of its size, and the table of what they cost.

    python tests/fuzz/hostile.py            # all of them, at full size
    python tests/fuzz/hostile.py open_lanes # one
    python tests/fuzz/hostile.py --scale=0.1

Each log is folded in a process of its own at a quarter of its size and at its full size, event by event and with
`fold_all`, then projected in both layouts. Times are processor time, without Python's garbage collector, whose cost
depends on all else that a process holds. A growth near 4 is linear.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any, NamedTuple

Wire = dict[str, Any]
Log = Iterator[Wire]

STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
LONG_PATH = 100_000
MESSAGES = 2_000
MILLION_DIGITS = "9" * 1_000_000


class Hostile(NamedTuple):
    """A log by its size, the full size, and what it is in a few words, `{n}` being the size."""

    log: Callable[[int], Log]
    size: int
    about: str


def start(name: str, owner: str | None = None) -> Wire:
    """Return the start of a text message."""
    return {"type": "TEXT_MESSAGE_START", "messageId": name} | owned(owner)


def delta(name: str, text: str = "word", owner: str | None = None) -> Wire:
    """Return a piece of a text message."""
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": text} | owned(owner)


def end(name: str, owner: str | None = None) -> Wire:
    """Return the end of a text message."""
    return {"type": "TEXT_MESSAGE_END", "messageId": name} | owned(owner)


def thought(name: str, text: str = "") -> Log:
    """Yield a reasoning message, a shell where it has no text."""
    yield {"type": "REASONING_MESSAGE_START", "messageId": name, "role": "reasoning"}
    if text:
        yield {"type": "REASONING_MESSAGE_CONTENT", "messageId": name, "delta": text}
    yield {"type": "REASONING_MESSAGE_END", "messageId": name}


def call(name: str, parent: str | None = None) -> Wire:
    """Return the start of a tool call."""
    wire = {"type": "TOOL_CALL_START", "toolCallId": name, "toolCallName": "f"}
    return wire if parent is None else wire | {"parentMessageId": parent}


def result(name: str, call_id: str) -> Wire:
    """Return a tool result."""
    return {"type": "TOOL_CALL_RESULT", "messageId": name, "toolCallId": call_id, "content": "ok"}


def owned(owner: str | None) -> Wire:
    """Return the tag of an owner."""
    return {} if owner is None else {"subagentRunId": owner}


def chunk(name: str | None, owner: str | None = None) -> Wire:
    """Return a text chunk; one without a name is a bare continuation."""
    wire = {"type": "TEXT_MESSAGE_CHUNK", "delta": "word"} | owned(owner)
    return wire if name is None else wire | {"messageId": name}


def patch(*operations: Wire) -> Wire:
    """Return a patch of the shared state."""
    return {"type": "STATE_DELTA", "delta": list(operations)}


def message(name: str, text: str = "hello") -> Wire:
    """Return a whole message."""
    return {"id": name, "role": "assistant", "content": text}


def interrupted(*interrupts: Wire, run: str = "r") -> Wire:
    """Return the end of a run that asks."""
    return {**FINISHED, "runId": run, "outcome": {"type": "interrupt", "interrupts": list(interrupts)}}


def distinct_ids(size: int) -> Log:
    """Yield messages and tool results, each under an id of its own; no event but an end names an id again."""
    yield STARTED
    for number in range(size // 3):
        yield start(f"m{number}")
        yield end(f"m{number}")
        yield result(f"r{number}", f"c{number}")


def one_delta(size: int) -> Log:
    """Yield one delta of so many characters."""
    yield from (STARTED, start("m"), delta("m", "é" * (size // 2)), end("m"))


def many_deltas(size: int) -> Log:
    """Yield a text of so many characters in deltas of a thousand."""
    yield from (STARTED, start("m"))
    for number in range(size // 1000):
        yield delta("m", f"{number:1000}")
    yield end("m")


def open_lanes(size: int) -> Log:
    """Yield a subagent each with an open message, and a delta for each, and again."""
    yield STARTED
    for number in range(size):
        yield {"type": "SUBAGENT_STARTED", "subagentRunId": f"s{number}", "name": "a"}
        yield start(f"m{number}", f"s{number}")
    for _ in range(2):
        for number in range(size):
            yield delta(f"m{number}", "word", f"s{number}")


def lanes_waiting(size: int) -> Log:
    """Yield deltas for as many open lanes, then openings in one other lane."""
    yield STARTED
    for number in range(size):
        yield start(f"m{number}", f"s{number}")
    for number in range(size):
        yield delta(f"m{number}")
    for number in range(size):
        yield start(f"n{number}")
        yield end(f"n{number}")


def chunk_lanes(size: int) -> Log:
    """Yield an open chunk stream in each lane, then bare continuations that any of them could own."""
    yield STARTED
    for number in range(size):
        yield chunk(f"m{number}", f"s{number}")
    for _ in range(size):
        yield chunk(None)


def chunk_lanes_closed(size: int) -> Log:
    """Yield as many chunk streams, end all but one, then bare continuations of that one."""
    yield STARTED
    for number in range(size):
        yield chunk(f"m{number}", f"s{number}")
    for number in range(1, size):
        yield {"type": "CUSTOM", "name": "x", "value": 1, "subagentRunId": f"s{number}"}
    for _ in range(size):
        yield chunk(None)


def open_messages(size: int) -> Log:
    """Yield messages that are open when the run finishes."""
    yield STARTED
    for number in range(size):
        yield start(f"m{number}")
    yield FINISHED


def open_across_snapshots(size: int) -> Log:
    """Yield open messages, a snapshot of them all, then a delta and an end for each."""
    yield STARTED
    for number in range(size):
        yield start(f"m{number}")
    yield {"type": "MESSAGES_SNAPSHOT", "messages": [message(f"m{number}") for number in range(size)]}
    for number in range(size):
        yield delta(f"m{number}")
    for number in range(size):
        yield end(f"m{number}")


def parentless_calls(size: int) -> Log:
    """Yield calls without a parent: one group."""
    yield STARTED
    for number in range(size):
        yield call(f"c{number}")
        yield {"type": "TOOL_CALL_END", "toolCallId": f"c{number}"}
    for number in range(size):
        yield result(f"r{number}", f"c{number}")


def anomalies(size: int) -> Log:
    """Yield an anomaly with each event."""
    yield STARTED
    for number in range(size):
        yield end(f"m{number}")


def anomalies_at_once(size: int) -> Log:
    """Yield one event that breaks a rule so many times."""
    yield STARTED
    yield {"type": "MESSAGES_SNAPSHOT", "messages": [message("m")] * size}
    yield interrupted(*({"id": "i", "reason": "x"},) * size)


def unknown_properties(size: int) -> Log:
    """Yield one event with so many properties that nobody described."""
    yield {**STARTED, **{f"x{number}": number for number in range(size)}}
    yield {"type": "MESSAGES_SNAPSHOT", "messages": [{**message(str(n)), "x": n} for n in range(size)]}


def huge_indices(size: int) -> Log:
    """Yield patches whose index has a million digits."""
    yield STARTED
    yield {"type": "STATE_SNAPSHOT", "snapshot": [1, 2, 3]}
    for _ in range(size):
        yield patch({"op": "replace", "path": f"/{MILLION_DIGITS}", "value": 1})


def long_paths(size: int) -> Log:
    """Yield patches along 100,000 segments."""
    yield STARTED
    snapshot: Any = 1
    for _ in range(LONG_PATH):
        snapshot = {"a": snapshot}
    yield {"type": "STATE_SNAPSHOT", "snapshot": snapshot}
    for number in range(size):
        yield patch({"op": "replace", "path": "/a" * LONG_PATH, "value": number})
        yield patch({"op": "add", "path": "/b" * LONG_PATH, "value": number})


def nesting(size: int) -> Log:
    """Yield a state so many levels deep, in every container that takes anything."""
    yield STARTED
    deep: Any = 1
    for number in range(size):
        deep = [deep] if number % 2 else {"a": deep}
    yield {"type": "STATE_SNAPSHOT", "snapshot": deep}
    yield patch({"op": "copy", "from": "", "path": "/a"}, {"op": "test", "path": "/b", "value": deep})
    yield {**start("m"), "metadata": {"a": deep}}
    yield {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "x", "content": {"a": deep}}
    yield {**FINISHED, "result": deep}


def deeper_by_copies(size: int) -> Log:
    """Yield copies of the state into itself: one level deeper for each small event."""
    yield STARTED
    for _ in range(size):
        yield patch({"op": "copy", "from": "", "path": "/a"})


def doubling(size: int) -> Log:
    """Yield copies that double the state up to the limit, and from there on have no effect."""
    yield STARTED
    yield {"type": "STATE_SNAPSHOT", "snapshot": {"l": ["word" * 500]}}
    for _ in range(size):
        yield patch({"op": "add", "path": "/l/0", "value": "word"}, {"op": "copy", "from": "/l", "path": "/l/-"})


def wide_object(size: int) -> Log:
    """Yield a key added, replaced and removed with each event."""
    yield STARTED
    for number in range(size):
        yield patch({"op": "add", "path": f"/k{number}", "value": number})
    for number in range(size):
        yield patch({"op": "replace", "path": f"/k{number}", "value": 0}, {"op": "remove", "path": f"/k{number}"})


def one_snapshot(size: int) -> Log:
    """Yield a snapshot of so many messages, twice."""
    yield STARTED
    told = {"type": "MESSAGES_SNAPSHOT", "messages": [message(f"m{number}") for number in range(size)]}
    yield told
    yield told


def many_snapshots(size: int) -> Log:
    """Yield snapshots of as many messages each."""
    yield STARTED
    told = {"type": "MESSAGES_SNAPSHOT", "messages": [message(f"m{number}") for number in range(MESSAGES)]}
    for _ in range(size):
        yield told


def echoed_inputs(size: int) -> Log:
    """Yield runs that echo an input without messages, on a thread that grows by one message a run."""
    for number in range(size):
        told = {
            "threadId": "t",
            "runId": "r",
            "state": {},
            "messages": [],
            "tools": [],
            "context": [],
            "forwardedProps": 1,
        }
        yield {**STARTED, "input": told}
        yield start(f"m{number}")
        yield end(f"m{number}")
        yield FINISHED


def reopened(size: int) -> Log:
    """Yield one message, cut by shown reasoning before each of its deltas: as many rows."""
    yield from (STARTED, start("m"))
    for number in range(size):
        yield from thought(f"g{number}", "hm")
        yield start("m")
        yield delta("m")
        yield end("m")


def reopened_unseen(size: int) -> Log:
    """Yield one message, cut by a reasoning shell before each of its deltas: as many rows, shown as one."""
    yield from (STARTED, start("m"))
    for number in range(size):
        yield from thought(f"g{number}")
        yield delta("m")


def reused_call(size: int) -> Log:
    """Yield one call id, answered and used again under another parent each time."""
    yield STARTED
    for number in range(size):
        yield call("c", f"p{number}")
        yield {"type": "TOOL_CALL_END", "toolCallId": "c"}
        yield result(f"r{number}", "c")


def reused_calls(size: int) -> Log:
    """Yield calls in one group, all answered, then each used again under one other parent while messages are open."""
    yield STARTED
    for number in range(size):
        yield call(f"c{number}", "p")
        yield {"type": "TOOL_CALL_END", "toolCallId": f"c{number}"}
    for number in range(size):
        yield result(f"r{number}", f"c{number}")
    for number in range(size):
        yield call(f"c{number}", "q")


def replayed_start(size: int) -> Log:
    """Yield the start of one call again and again."""
    yield STARTED
    for _ in range(size):
        yield call("c", "p")


def runs(size: int) -> Log:
    """Yield runs in which nothing happens."""
    for number in range(size):
        yield {**STARTED, "runId": f"r{number}"}
        yield {**FINISHED, "runId": f"r{number}"}


def open_steps(size: int) -> Log:
    """Yield steps that stay open, and spans."""
    yield STARTED
    for number in range(size):
        yield {"type": "STEP_STARTED", "stepName": f"s{number}"}
        yield {"type": "REASONING_START", "messageId": f"g{number}"}
    yield FINISHED


def interrupts(size: int) -> Log:
    """Yield one run that ends with so many interrupts, and one that answers all of them."""
    asked = ({"id": f"i{number}", "reason": "x", "toolCallId": f"c{number}"} for number in range(size))
    yield from (STARTED, interrupted(*asked))
    answers = [{"interruptId": f"i{number}", "status": "resolved"} for number in range(size)]
    told = {"threadId": "t", "runId": "r", "state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": 1}
    yield {**STARTED, "input": {**told, "resume": answers}}


def interrupts_answered(size: int) -> Log:
    """Yield one run that ends with so many interrupts, and a result for each in the next."""
    asked = ({"id": f"i{number}", "reason": "x", "toolCallId": f"c{number}"} for number in range(size))
    yield from (STARTED, interrupted(*asked), STARTED)
    for number in range(size):
        yield result(f"r{number}", f"c{number}")


def interrupts_piled(size: int) -> Log:
    """Yield runs that each end with one more interrupt."""
    for number in range(size):
        yield {**STARTED, "runId": f"r{number}"}
        yield interrupted({"id": f"i{number}", "reason": "x"}, run=f"r{number}")


def unclaimed_values(size: int) -> Log:
    """Yield encrypted values for what never comes."""
    yield STARTED
    for number in range(size):
        yield {
            "type": "REASONING_ENCRYPTED_VALUE",
            "subtype": "message",
            "entityId": f"m{number}",
            "encryptedValue": "v",
        }


def shared_ids(size: int) -> Log:
    """Yield results of one message id for as many calls: ids that the projection has to tell apart."""
    yield STARTED
    for number in range(size):
        yield result("r", f"c{number}")


def crafted_ids(size: int) -> Log:
    """Yield the ids that the projection would derive, and what they are derived from: of so many characters in all."""
    yield STARTED
    yield chunk("x")
    count = math.isqrt(size)
    for number in range(2 * count):
        yield chunk("x#c" + "'" * number)
    for number in range(count):
        yield result("x", "c" + "'" * number)


HOSTILE: dict[str, Hostile] = {
    "distinct_ids": Hostile(distinct_ids, 1_000_000, "{n} distinct ids"),
    "one_delta": Hostile(one_delta, 100_000_000, "{n} bytes in one delta"),
    "many_deltas": Hostile(many_deltas, 100_000_000, "{n} bytes in deltas of 1,000"),
    "open_lanes": Hostile(open_lanes, 100_000, "{n} open lanes of subagents, two deltas in each"),
    "lanes_waiting": Hostile(lanes_waiting, 100_000, "deltas in {n} lanes, then {n} openings in another"),
    "chunk_lanes": Hostile(chunk_lanes, 100_000, "{n} open chunk streams, then bare continuations"),
    "chunk_lanes_closed": Hostile(chunk_lanes_closed, 100_000, "all but one of them closed, then bare continuations"),
    "open_messages": Hostile(open_messages, 100_000, "{n} messages open when the run finishes"),
    "open_across_snapshots": Hostile(open_across_snapshots, 100_000, "a snapshot while {n} messages are open"),
    "parentless_calls": Hostile(parentless_calls, 100_000, "{n} calls in one group, with results"),
    "anomalies": Hostile(anomalies, 100_000, "{n} anomalies, one an event"),
    "anomalies_at_once": Hostile(anomalies_at_once, 100_000, "{n} anomalies in each of two events"),
    "unknown_properties": Hostile(unknown_properties, 100_000, "{n} unknown properties in each of two events"),
    "huge_indices": Hostile(huge_indices, 100, "{n} patches, each with an index of a million digits"),
    "long_paths": Hostile(long_paths, 20, "{n} times two patches along 100,000 segments"),
    "nesting": Hostile(nesting, 100_000, "values nested {n} levels deep"),
    "deeper_by_copies": Hostile(deeper_by_copies, 100_000, "{n} copies of the state into itself"),
    "doubling": Hostile(doubling, 100_000, "{n} copies that would double the state"),
    "wide_object": Hostile(wide_object, 100_000, "{n} keys added, replaced and removed by patches"),
    "one_snapshot": Hostile(one_snapshot, 100_000, "two snapshots of {n} messages"),
    "many_snapshots": Hostile(many_snapshots, 200, "{n} snapshots of 2,000 messages"),
    "echoed_inputs": Hostile(echoed_inputs, 40_000, "{n} runs that echo an input without messages"),
    "reopened": Hostile(reopened, 100_000, "one message in {n} rows, cut by reasoning"),
    "reopened_unseen": Hostile(reopened_unseen, 100_000, "the same, cut by reasoning that does not show"),
    "reused_call": Hostile(reused_call, 100_000, "one call id used for {n} calls"),
    "reused_calls": Hostile(reused_calls, 100_000, "{n} calls of one group whose ids are used again"),
    "replayed_start": Hostile(replayed_start, 100_000, "the start of one call, {n} times"),
    "runs": Hostile(runs, 100_000, "{n} runs"),
    "open_steps": Hostile(open_steps, 100_000, "{n} open steps and reasoning spans"),
    "interrupts": Hostile(interrupts, 100_000, "{n} interrupts of one run, all answered by the next"),
    "interrupts_answered": Hostile(interrupts_answered, 100_000, "{n} interrupts answered by tool results"),
    "interrupts_piled": Hostile(interrupts_piled, 100_000, "{n} runs that leave an interrupt each"),
    "unclaimed_values": Hostile(unclaimed_values, 100_000, "{n} encrypted values that nothing claims"),
    "shared_ids": Hostile(shared_ids, 100_000, "{n} results under one message id"),
    "crafted_ids": Hostile(crafted_ids, 4_000_000, "{n} characters of ids that the projection has to avoid"),
}


def cost(name: str, size: int) -> Wire:
    """Return what a log of the size costs in this process: seconds of processor time, and megabytes at the peak."""
    import resource

    from reducer import EMPTY, Layout, decode, fold, fold_all, project

    def timed(work: Callable[[], Any]) -> float:
        before = time.process_time()
        work()
        return time.process_time() - before

    log = HOSTILE[name].log
    count = 0
    gc.disable()

    def counted(events: Iterable[Wire]) -> Log:
        nonlocal count
        for event in events:
            count += 1
            yield event

    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    states: list[Any] = [EMPTY]

    def folding() -> None:
        states[0] = reduce(fold, counted(log(size)), EMPTY)

    took = {"fold": timed(folding)}
    took["project"] = timed(lambda: [project(states[0], layout) for layout in Layout])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    states.clear()
    took["fold_all"] = timed(lambda: fold_all(EMPTY, map(decode, log(size))))
    return {"events": count, "took": took, "peak": (peak - base) / 1024}


def measured(name: str, size: int, limit: float) -> Wire | None:
    """Return the cost in a process of its own, or None where that takes too long."""
    command = [sys.executable, __file__, name, f"--size={size}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=True)  # noqa: S603
    except subprocess.TimeoutExpired:
        return None
    found: Wire = json.loads(done.stdout)
    return found


def say(*cells: object) -> None:
    """Write a row of the table."""
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")
    sys.stdout.flush()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", nargs="*")
    parser.add_argument("--size", type=int, help="measure one size in this process")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for one measurement")
    told = parser.parse_args()
    if told.size:
        sys.stdout.write(json.dumps(cost(told.name[0], told.size)))
        return
    say("log", "name", "events", "fold", "project", "fold_all", "growth of each", "peak")
    say(*["---"] * 8)
    for name in told.name or HOSTILE:
        one = HOSTILE[name]
        full = max(4, int(one.size * told.scale))
        about = one.about.format(n=f"{full:,}")
        small, large = measured(name, full // 4, told.limit), measured(name, full, told.limit)
        if small is None or large is None:
            say(about, f"`{name}`", f"more than {told.limit:.0f} s", *[""] * 5)
            continue
        took = [f"{large['took'][part]:.2f} s" for part in large["took"]]
        growth = [f"{large['took'][part] / max(small['took'][part], 1e-3):.1f}" for part in large["took"]]
        say(about, f"`{name}`", f"{large['events']:,}", *took, " / ".join(growth), f"{large['peak']:.0f} MB")


if __name__ == "__main__":
    main()
