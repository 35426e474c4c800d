"""The way into a run that goes on, for a reader who comes late (spec: basic/patterns/streaming).

What stands is told as snapshots (see `_replay`). Then what the rest of the run will continue is opened again. The
order is what makes it right: what a snapshot dropped while it was open opens before the snapshot, which drops it
again; calls stand in the snapshot without their arguments, which are streamed again, so that a reader who shows
arguments as they come sees all of them; chunk streams open last, since most events would end them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reducer._cases._entities import find, on_record
from reducer._cases._mark import mark
from reducer._cases._stated import key_of
from reducer._frozen import thaw
from reducer._objects import Replayed, event_object
from reducer._project import held
from reducer._records import CALL, REASONING, TEXT, Entry, Key, Owner
from reducer._replay import Wire, finished, messages_snapshot, started
from reducer._run import current
from reducer._session import Run, Scope
from reducer._slots import CONTENT, END, START, about, in_order, reopening
from reducer._state import State, opened
from reducer._text import text


def rejoin(state: State) -> list[Replayed]:
    """Return the events that bring a reader who comes late to where `state` is; the rest of the stream follows them.

    Inside a run that is its thread so far, and what is open: messages, calls, reasoning, chunk streams, steps, spans
    and subagents. After a run it is the thread as `hydrate` tells it, with the end that the run had. Before anything
    it is nothing. It raises nothing. For the reference client, and in the MERGED layout, the events and the rest of a
    valid stream give what the whole stream gives, wherever it was cut (spec: basic/patterns/streaming).

    STREAMED shows after it each message that was there in one piece. Of earlier runs nothing is told but what they
    left, as one run in front where the run that goes on may give their ids to another owner: whose an id is holds for
    one run (spec: events/subagents). A thread that `seed` was given no id for is told under an empty one.
    """
    run = current(state)
    told = _going_on(state, run) if run is not None else _over(state)
    return [event_object(event) for event in told]


def _over(state: State) -> Iterator[Wire]:
    """Tell a thread between two runs."""
    runs = state.session.runs
    run = runs[-1] if runs else None
    messages, shared = _messages(state), thaw(state.session.shared)
    if messages or shared != {} or (run is not None and run.run_id is not None):
        yield from _interrupted(state, _ended_with(run))
        yield _opening(state, run)
        yield {"type": "STATE_SNAPSHOT", "snapshot": shared}
        yield messages_snapshot(messages, mark(state))
        yield from _unclaimed(state)
        yield from _ending(state, run)
    if run is not None and run.run_id is None:
        # A failure before any run: none is opened to report it, and it may follow the end of one.
        yield _failure(run)


def _messages(state: State) -> list[Wire]:
    return [message for _, message in held(state)]


def _ending(state: State, run: Run | None) -> Iterator[Wire]:
    """Tell how the last run ended, which may be twice: one that had finished can still fail."""
    thread_id, run_id = _identity(state, run)
    if run is None or run.run_id is None:
        # Its failure comes when the thread has been told.
        yield finished(thread_id, run_id, [])
        return
    failed = run.status == "error"
    if not failed or run.outcome is not None or run.result is not None:
        outcome, usage = None if _has_asked(run) else run.outcome, None if failed else run.usage or None
        told = {"outcome": outcome, "result": run.result, "usage": usage}
        ending = {name: thaw(value) for name, value in told.items() if value is not None}
        yield {**finished(thread_id, run_id, _asked(state, run)), **ending}
    if failed:
        yield _failure(run)


def _failure(run: Run) -> Wire:
    code = {} if run.code is None else {"code": run.code}
    usage = {"usage": thaw(run.usage)} if run.usage else {}
    return {"type": "RUN_ERROR", "message": run.error, **code, **usage}


def _identity(state: State, run: Run | None) -> tuple[str, str]:
    thread_id = run.thread_id if run is not None else None
    thread_id = state.session.thread_id if thread_id is None else thread_id
    run_id = run.run_id if run is not None else None
    return "" if thread_id is None else thread_id, "" if run_id is None else run_id


def _ended_with(run: Run | None) -> set[str]:
    """Return the ids of the interrupts that `run` ended with."""
    if run is None or not _has_asked(run):
        return set()
    return {interrupt["id"] for interrupt in thaw(run.outcome)["interrupts"]}


def _has_asked(run: Run) -> bool:
    """Say whether `run` ended with interrupts, whatever came after."""
    outcome: Any = run.outcome
    return outcome is not None and bool(outcome.get("type") == "interrupt")


def _asked(state: State, run: Run | None) -> list[Wire]:
    """Return the interrupts that `run` ended with and that wait for an answer."""
    asked = _ended_with(run)
    return [thaw(interrupt) for interrupt in state.session.interrupts if interrupt.get("id") in asked]


def _interrupted(state: State, later: set[str]) -> Iterator[Wire]:
    """Tell the interrupts that wait, but for those that are told `later`, as an earlier run that they ended."""
    interrupts = [thaw(interrupt) for interrupt in state.session.interrupts if interrupt.get("id") not in later]
    if interrupts:
        runs = [run for run in state.session.runs if run.status == "interrupted"]
        thread_id, run_id = _identity(state, runs[-1] if runs else None)
        yield started(thread_id, run_id)
        yield finished(thread_id, run_id, interrupts)


def _opening(state: State, run: Run | None, messages: Sequence[Wire] = ()) -> Wire:
    """Open a run again; one whose input was told ends otherwise than one whose input nobody knows.

    Such an input also said whose its messages are, which is said again of a subagent's in `messages`.
    """
    thread_id, run_id = _identity(state, run)
    if run is None:
        return started(thread_id, run_id)
    known = {"parentRunId": run.parent_run_id, "protocolVersion": run.protocol_version}
    more: Wire = {name: value for name, value in known.items() if value is not None}
    if run.echoed:
        owners = state.session.scope.owners
        owned = [one for one in messages if one.get("subagentRunId", ()) == owners.get(key_of(one)[:2])]
        told: Wire = {"messages": owned, "tools": [], "context": [], "forwardedProps": {}}
        more["input"] = {"threadId": thread_id, "runId": run_id, "state": thaw(state.session.shared), **told}
    return started(thread_id, run_id, **more)


def _going_on(state: State, run: Run) -> Iterator[Wire]:
    """Tell a run that goes on."""
    live = dict(sorted(opened(state).items(), key=lambda item: (item[1].first, item[0])))
    streams = in_order(state.conversation.streams)
    chunked = {stream.key for _, stream in streams}
    dropped = {key: entry for key, entry in live.items() if _is_dropped(key, entry)}
    explicit = {key: entry for key, entry in live.items() if key not in dropped and key not in chunked}
    messages = _without_arguments(_messages(state), live)
    apart = not dropped and _is_apart(state, messages)
    yield from _told_before(state, messages) if apart else _interrupted(state, set())
    yield _opening(state, run, messages if apart else ())
    if not apart:
        yield {"type": "STATE_SNAPSHOT", "snapshot": thaw(state.session.shared)}
    yield from _subagents(state.session.scope)
    for key, entry in dropped.items():
        yield _start(key, entry.entity, told=True)
    if not {entry.entity.home for key, entry in dropped.items() if key[0] == CALL}.isdisjoint(_ids(messages)):
        # A snapshot leaves a message where it is: one that a dropped call has made stood first.
        yield messages_snapshot([], {})
    if not apart:
        yield messages_snapshot(messages, mark(state))
    else:
        yield from _recorded(state, messages)
    yield from _phases(state, told=not apart)
    for key, entry in {**dropped, **explicit}.items():
        yield from _opened(key, entry, again=key in explicit, told=not apart)
    yield from _unclaimed(state)
    for lane, stream in streams:
        # An end that was not the stream's to send may have closed what it was about.
        still = live.get(stream.key)
        arguments = text(still.rope) if still is not None and stream.key[0] == CALL else ""
        name = still.entity.name if still is not None else None
        yield reopening(lane, stream, name, {"delta": arguments} if arguments else {})


def _told_before(state: State, messages: list[Wire]) -> Iterator[Wire]:
    """Tell the thread so far as an earlier run, which ends with the interrupts that wait."""
    runs, asked = state.session.runs[:-1], [thaw(interrupt) for interrupt in state.session.interrupts]
    thread_id, run_id = _identity(state, runs[-1] if runs else None)
    yield started(thread_id, run_id)
    yield {"type": "STATE_SNAPSHOT", "snapshot": thaw(state.session.shared)}
    yield messages_snapshot(messages, mark(state))
    yield finished(thread_id, run_id, asked)


def _is_apart(state: State, messages: list[Wire]) -> bool:
    """Say whether a snapshot inside of this run would say another thing than the run about whose the messages are.

    Whose an id is holds for one run: what this one has not used it may yet give to another owner, and what it has used
    may be another's than at first. What its input told of a subagent is said by an input again.
    """
    here, owners = len(state.session.runs), state.session.scope.owners
    for key, owner in _keys(messages).items():
        entry = find(state, key)
        if entry is None or entry.entity.run != here:
            if owners.get(key[:2], "") is not None:
                return True
        elif entry.entity.tag != owner or owners.get(key[:2]) is not None:
            return True
    return False


def _keys(messages: list[Wire]) -> dict[Key, Owner]:
    """Return the entities that `messages` tell, with their owners."""
    return {
        key: message.get("subagentRunId")
        for message in messages
        for key in (key_of(message), *((CALL, call["id"]) for call in message.get("toolCalls", ())))
    }


def _recorded(state: State, messages: list[Wire]) -> Iterator[Wire]:
    """Say whose the closed messages and calls are that a subagent has used in this run, by opening and closing them."""
    for key in _keys(messages):
        entry = find(state, key) if key[0] in (TEXT, REASONING, CALL) and key not in state.live else None
        known = entry and on_record(state, key, entry.entity)
        if entry is None or known is None or known == (None,):
            continue
        home: Key = (TEXT, entry.entity.home) if key[0] == CALL else key
        holder = find(state, home)
        if holder is None or on_record(state, home, holder.entity) in (None, known):
            yield _start(key, entry.entity._replace(tag=known[0]), told=False)
            yield about(key, END, known[0], {})


def _subagents(scope: Scope) -> Iterator[Wire]:
    subagents = sorted(scope.subagents.values(), key=lambda sub: sub.first)
    for sub in subagents:
        yield {"type": "SUBAGENT_STARTED", "subagentRunId": sub.id, "name": sub.name, **thaw(sub.started)}
    for sub in subagents:
        if sub.ended is not None:
            kind = "SUBAGENT_ERROR" if sub.status == "error" else "SUBAGENT_FINISHED"
            yield {"type": kind, "subagentRunId": sub.id, **thaw(sub.ended)}


def _phases(state: State, *, told: bool) -> Iterator[Wire]:
    """Open steps and reasoning spans; `told` says that this run has told the messages."""
    scope = state.session.scope
    for (owner, name), _ in sorted(scope.steps.items(), key=lambda step: step[1]):
        yield {"type": "STEP_STARTED", "stepName": name, **_tag(owner)}
    for name, owner in sorted(scope.spans.items(), key=lambda span: span[0]):
        key: Key = (REASONING, name)
        message = find(state, key)
        # A snapshot in this run has said whose the messages are, so only a tag that agrees may be repeated.
        agreed = not told or message is None or message.entity.owner == owner
        yield {"type": "REASONING_START", "messageId": name, **_tag(owner if agreed else None)}


def _tag(owner: Owner) -> Wire:
    return {} if owner is None else {"subagentRunId": owner}


def _unclaimed(state: State) -> Iterator[Wire]:
    """Tell the encrypted values whose entities have yet to come."""
    for (subtype, name), (value, value_type) in sorted(state.conversation.unclaimed.items(), key=lambda one: one[0]):
        typed = {} if value_type is None else {"encryptedValueType": value_type}
        event = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": subtype, "entityId": name}
        yield {**event, "encryptedValue": value, **typed}


def _is_dropped(key: Key, entry: Entry) -> bool:
    """Say whether a snapshot dropped what goes on streaming, so that nothing of it shows."""
    if key[0] == CALL:
        return entry.entity.place is None and entry.entity.name != ""
    return entry.first < 0 and not entry.entity.rows


def _ids(messages: list[Wire]) -> Iterator[str]:
    return (message["id"] for message in messages)


def _without_arguments(messages: list[Wire], live: Mapping[Key, Entry]) -> list[Wire]:
    for message in messages:
        for call in message.get("toolCalls", ()):
            entry = live.get((CALL, call["id"]))
            if entry is not None and entry.entity.home == message["id"]:
                call["function"]["arguments"] = ""
    return messages


def _start(key: Key, entity: Any, *, told: bool) -> Wire:
    tag = entity.tag if not told or entity.tag == entity.owner else None
    if key[0] == CALL:
        inside = entity.place is not None and entity.home != entity.id
        parent = {"parentMessageId": entity.home} if inside else {}
        return about(key, START, tag, {"toolCallName": entity.name, **parent})
    name = {} if key[0] != TEXT or entity.name is None else {"name": entity.name}
    return about(key, START, tag, {"role": entity.role, **name})


def _opened(key: Key, entry: Entry, *, again: bool, told: bool) -> Iterator[Wire]:
    """Open what goes on streaming, where that has still to be done, and tell the arguments so far."""
    never_started = key[0] == CALL and entry.entity.place is None and entry.entity.name == ""
    if again and not never_started:
        yield _start(key, entry.entity, told=told)
    arguments = text(entry.rope) if key[0] == CALL else ""
    if arguments or never_started:
        yield about(key, CONTENT, None, {"delta": arguments})
