"""Runs: STARTED, then FINISHED or ERROR, one after the other on a thread (spec: events/lifecycle).

May change: the session's runs, interrupts and thread; `live`, which every boundary empties; and, where the event
echoes the run's input, the shared state and the conversation.
"""

from __future__ import annotations

from typing import Any

import attrs

from reducer._cases._entities import close_all, flag
from reducer._cases._stated import key_of
from reducer._cases.messages import append_unknown
from reducer._frozen import Object, freeze
from reducer._interrupts import NO_INTERRUPTS
from reducer._records import CALL, Key, Owner
from reducer._run import amend, current, scoped, with_session
from reducer._session import Run
from reducer._state import State

SPEAKS = (1, 1)
"""The protocol version that this library knows."""


def run_started(state: State, event: Any) -> State:
    """Open a run; an echoed input brings messages, the state and the answers to interrupts."""
    active = current(state)
    if active is not None:
        state = flag(state, event, "run-already-active", repr(active.run_id))
        state = _over(state, status="truncated", last=state.position - 1)
    thread = state.session.thread_id
    if thread is not None and thread != event.thread_id:
        state = flag(state, event, "thread-id-mismatch", f"{event.thread_id!r} on {thread!r}")
    state = _judge_version(close_all(state), event)
    run = Run(
        event.run_id,
        event.thread_id,
        state.position,
        state.position,
        parent_run_id=event.parent_run_id,
        protocol_version=event.protocol_version,
        echoed=event.input is not None,
    )
    state = _begun(state, run)
    return _echoed(state, event, event.input) if event.input is not None else state


def _judge_version(state: State, event: Any) -> State:
    declared = event.protocol_version
    if declared is None:
        return state
    parts = declared.split(".")
    readable = len(parts) == 2 and all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts)
    if readable and (int(parts[0]), int(parts[1])) <= SPEAKS:
        return state
    return flag(state, event, "protocol-version", repr(declared))


def _echoed(state: State, event: Any, told: Any) -> State:
    """Take over what the input says: unknown messages, the starting state, the interrupts that are answered."""
    if "state" in told:
        state = with_session(state, shared=freeze(told["state"], ("input", "state")))
    state = _owned(append_unknown(state, told.get("messages") or ()), told.get("messages") or ())
    for entry in told.get("resume") or ():
        answered, interrupts = entry["interruptId"], state.session.interrupts
        if answered in interrupts:
            state = with_session(state, interrupts=interrupts.without(answered))
        else:
            state = flag(state, event, "resume-unknown", repr(answered))
    return state


def _owned(state: State, messages: Any) -> State:
    """Put on record whose the messages of the input are, and their calls (spec: events/subagents)."""
    owners: dict[Key, Owner] = {}
    for message in messages:
        for key in (key_of(message)[:2], *((CALL, call["id"]) for call in message.get("toolCalls") or ())):
            owners.setdefault(key, message.get("subagentRunId"))
    return scoped(state, owners=owners)


def run_finished(state: State, event: Any) -> State:
    """Close the run: finished, interrupted or cancelled; nothing may still be open."""
    if not state.session.runs:
        # The log begins in the middle of a run, which is all that is wrong with it.
        state = _begun(state, Run(event.run_id, event.thread_id, state.position, state.position))
    run = current(state)
    if run is None:
        # Judged as an event out of place already; there is no run that it could close.
        return state
    if event.run_id != run.run_id:
        state = flag(state, event, "run-id-mismatch", f"{event.run_id!r} closes {run.run_id!r}")
    if event.thread_id != run.thread_id:
        state = flag(state, event, "thread-id-mismatch", f"{event.thread_id!r} closes a run on {run.thread_id!r}")
    still = still_open(state)
    if still:
        state = flag(state, event, "open-at-run-finish", ", ".join(still))
    outcome = event.outcome or {}
    kind = outcome.get("type", "success")
    status = {"interrupt": "interrupted", "cancelled": "cancelled"}.get(kind, "finished")
    told = {"outcome": freeze(event.outcome), "result": freeze(event.result), "usage": freeze(event.usage or [])}
    state = _over(state, status=status, last=state.position, **told)
    return _interrupts(close_all(state), event, kind, outcome, echoed=run.echoed)


def _interrupts(state: State, event: Any, kind: str, outcome: Any, *, echoed: bool) -> State:
    """An interrupt outcome opens interrupts; a plain end of a run whose input nobody told retires the earlier ones."""
    if kind == "success" and not echoed:
        return with_session(state, interrupts=NO_INTERRUPTS)
    if kind != "interrupt":
        return state
    raised: dict[str, Object] = {}
    told: Any = freeze(outcome.get("interrupts") or [], ("outcome", "interrupts"))
    for interrupt in told:
        name = interrupt.get("id")
        if name in raised:
            state = flag(state, event, "duplicate-interrupt-id", repr(name))
        raised[name] = interrupt
    return with_session(state, interrupts=state.session.interrupts.adding(raised.values()))


def run_error(state: State, event: Any) -> State:
    """End the run as failed, be it after it had finished; what it delivered stays."""
    runs = state.session.runs
    if not runs:
        state = _begun(state, Run(None, state.session.thread_id, state.position, state.position))
    elif runs[-1].status == "error":
        return state
    usage = freeze(event.usage or []) if event.usage or not runs else runs[-1].usage
    told = {"error": event.message, "code": event.code, "usage": usage}
    return close_all(_over(state, status="error", last=state.position, **told))


def still_open(state: State) -> tuple[str, ...]:
    """Return the names of what the run has open: messages, calls, spans, steps, subagents."""
    scope = state.session.scope
    found = [f"{key[0]} {key[1]!r}" for key in state.live]
    found += [f"span {name!r}" for name in scope.spans]
    found += [f"step {name!r}" for _, name in scope.steps]
    found += [f"subagent {name!r}" for name, sub in scope.subagents.items() if sub.status == "running"]
    return tuple(sorted(found))


def _begun(state: State, run: Run) -> State:
    """Add a run to the thread."""
    thread_id = state.session.thread_id
    runs = state.session.runs.append(run)
    thread_id = run.thread_id if thread_id is None else thread_id
    return with_session(state, runs=runs, active=len(runs), thread_id=thread_id)


def _over(state: State, **told: Any) -> State:
    """End the last run; subagents that it has not heard of again are abandoned."""
    subagents = {
        name: attrs.evolve(sub, status="abandoned") if sub.status == "running" else sub
        for name, sub in state.session.scope.subagents.items()
    }
    state = amend(state, subagents={**state.session.runs[-1].subagents, **subagents}, **told)
    return with_session(state, active=0)
