"""The thread's next `RunAgentInput`: what goes back to the agent (spec: basic/run-input)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from ag_ui.core import RunAgentInput
from pydantic import ValidationError

from reducer._project import Snapshot
from reducer._replay import Wire, json_of, judge, started, thread_of, unique
from reducer.errors import MalformedEvent, ResumeError


def run_input(
    snapshot: Snapshot | Mapping[str, Any],
    run_id: str,
    resume: Iterable[Any] = (),
    *,
    messages: Iterable[Any] = (),
    tools: Iterable[Any] = (),
    context: Iterable[Any] = (),
    forwarded_props: Any = None,
    thread_id: str | None = None,
    protocol_version: str | None = "1.1",
    now: datetime | None = None,
    allow_pending: bool = False,
) -> RunAgentInput:
    """Return the input of the run `run_id`, which continues the thread that `snapshot` shows (spec: basic/run-input).

    `snapshot` is what `project` gave, in either layout, or its `to_dict`. Its messages go along but for activities,
    which never travel back, then `messages`: what the user says, and results of calls, each behind its call. Its state
    goes along, and encrypted values stay where they are. `resume` holds an answer to every open interrupt; `now` is
    the time that their `expiresAt` is held against, and without it none has expired. Messages, entries, tools and
    context are wire forms or objects of the SDK. `thread_id` is needed where the snapshot tells none.

    Raises `ResumeError` for interrupts that are not answered, or no longer to be answered, for answers to none, and
    for tool calls without a result, unless an answered interrupt concerns them or `allow_pending` says that they may
    stay so (spec: basic/patterns/interrupt-resume, events/tool-calls). Raises `MalformedEvent` for what the schema
    rejects or the installed SDK cannot say.
    """
    told = thread_of(snapshot)
    entries = json_of(list(resume), ("resume",))
    thread = [message for message in told["messages"] if message["role"] != "activity"]
    wire: Wire = {
        "threadId": _thread_id(snapshot, thread_id),
        "runId": run_id,
        "state": told["state"],
        "tools": json_of(list(tools), ("tools",)),
        "context": json_of(list(context), ("context",)),
        "forwardedProps": {} if forwarded_props is None else json_of(forwarded_props, ("forwardedProps",)),
    }
    wire |= {} if protocol_version is None else {"protocolVersion": protocol_version}
    wire |= {"resume": entries} if entries else {}
    wire["messages"] = json_of(list(messages), ("messages",))
    wire = judge(started("", "", input=wire), below=1).input
    for message in wire["messages"]:
        _add(thread, message)
    unique(thread, ("messages",))
    _check_resume(told["interrupts"], wire.get("resume", []), now)
    if not allow_pending:
        _check_pending(thread, told["interrupts"])
    return _object({**wire, "messages": thread})


def _thread_id(snapshot: Snapshot | Mapping[str, Any], given: str | None) -> str:
    known = snapshot.get("threadId") if isinstance(snapshot, Mapping) else snapshot.thread_id
    thread_id = known if given is None else given
    if not isinstance(thread_id, str):
        raise MalformedEvent(("threadId",), thread_id, "must be a string; where the snapshot has none, pass thread_id")
    return thread_id


def _add(thread: list[Wire], message: Wire) -> None:
    """Put a new message at the end, a result behind the message with its call, where model providers look for it."""
    if message["role"] == "activity":
        return
    place = len(thread)
    if message["role"] == "tool":
        holders = [number for number, one in enumerate(thread) if message["toolCallId"] in _call_ids(one)]
        if holders:
            place = holders[-1] + 1
            while place < len(thread) and thread[place]["role"] == "tool":
                place += 1
    thread.insert(place, message)


def _call_ids(message: Wire) -> list[str]:
    return [call["id"] for call in message.get("toolCalls", ())]


def _check_resume(interrupts: list[Wire], entries: list[Wire], now: datetime | None) -> None:
    """Refuse a list of answers that is not one for each open interrupt."""
    answered = [entry["interruptId"] for entry in entries]
    waiting = {interrupt["id"]: interrupt for interrupt in interrupts}
    expired = {name for name, interrupt in waiting.items() if _is_expired(interrupt, now)}
    late = [entry["interruptId"] for entry in entries if entry["status"] != "cancelled"]
    for problem, ids in (
        ("unknown", [name for name in answered if name not in waiting]),
        ("repeated", [name for number, name in enumerate(answered) if name in answered[:number]]),
        ("uncovered", [name for name in waiting if name not in answered]),
        ("expired", [name for name in late if name in expired]),
    ):
        if ids:
            raise ResumeError(problem, tuple(dict.fromkeys(ids)))


def _is_expired(interrupt: Wire, now: datetime | None) -> bool:
    """Judge `expiresAt` as the reference client does: a date, and what is none never comes."""
    told = interrupt.get("expiresAt")
    if told is None or now is None:
        return False
    try:
        expires = datetime.fromisoformat(told[:-1] + "+00:00" if told.endswith(("Z", "z")) else told)
    except ValueError:
        return False
    return _in_utc(expires) <= _in_utc(now)


def _in_utc(time: datetime) -> datetime:
    return time.replace(tzinfo=timezone.utc) if time.tzinfo is None else time


def _check_pending(thread: list[Wire], interrupts: list[Wire]) -> None:
    """Refuse to go on while calls wait for results; to those that an interrupt concerns its entry is the answer."""
    answered = {message["toolCallId"] for message in thread if message["role"] == "tool"}
    answered |= {interrupt["toolCallId"] for interrupt in interrupts if interrupt.get("toolCallId") is not None}
    waiting = [name for message in thread for name in _call_ids(message) if name not in answered]
    if waiting:
        raise ResumeError("unanswered", tuple(dict.fromkeys(waiting)))


def _object(wire: Wire) -> RunAgentInput:
    try:
        return RunAgentInput.model_validate(wire)
    except ValidationError as error:
        first = error.errors()[0]
        rule = f"cannot be said with the installed SDK: {first['msg']}"
        raise MalformedEvent(tuple(first["loc"]), first["input"], rule) from error
