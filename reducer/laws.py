"""The laws as functions: each holds a log of events to one law, and raises `AssertionError` where it is broken.

A log is one thread's, from its first event on, as mappings in wire form, objects of the SDK, or both. So a suite of
yours holds its producer's logs to all of them:

    >>> from reducer.laws import LAWS
    >>> log = [
    ...     {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    ...     {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "hi"},
    ...     {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ... ]
    >>> for law in LAWS.values():
    ...     law(log)

The message of the error names the law, the place in the log and the least difference. Where a law speaks of every
place of a log, `at` says which to look at, as numbers of events before them; without it they are evenly spread, so
that long logs can be judged too. An event that no schema admits raises `MalformedEvent` instead.

Two laws are not here: the reference law needs the reference client, and linearity counts operations.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from random import Random
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from reducer._batch import fold_all
from reducer._checkpoint import dumps, loads
from reducer._compact import compact
from reducer._event import UnknownEvent
from reducer._fold import admitted, fold, fold_strict
from reducer._laws.judging import (
    after,
    agree,
    agree_as_states,
    apart_from_positions,
    copied,
    fail,
    has_made_ids,
    moments,
    places,
    thread,
    wired,
)
from reducer._laws.lanes import in_turn
from reducer._laws.replays import AT_ONCE, Replays
from reducer._laws.said import Said, losses
from reducer._project import Layout, Snapshot, project
from reducer._rejoin import rejoin
from reducer._replay import hydrate
from reducer._state import EMPTY, State
from reducer._streams.edits import RECUTS, recut
from reducer._view import View
from reducer._view import changes as what_changes
from reducer.errors import MalformedEvent, ProtocolViolation, ReducerError

__all__ = [
    "LAWS",
    "adjacency",
    "batching",
    "changes",
    "compaction",
    "delta_insensitivity",
    "hydration",
    "idempotence",
    "lane_independence",
    "nothing_lost",
    "purity",
    "rejoining",
    "resumption",
    "totality",
    "unique_ids",
]

Places = Iterable[int] | None


def purity(events: Iterable[Any], *, at: Places = None) -> None:
    """`fold` and `project` change nothing they are given; equal input gives equal results."""
    log = list(events)
    before, own = wired(log), [copied(event) for event in log]
    states = [state for _, state in moments(own, at)]
    shown = _all_shown(states)
    agree("purity", "the events after they were folded", wired(own), before)
    _vandalise(own)
    for state in states[-1:]:
        taken = project(state)
        for part in (taken.messages, taken.state, taken.runs, taken.interrupts, taken.usage):
            _vandalise(part)
    agree("purity", "once events and snapshots were changed by their owners", _all_shown(states), shown)
    again = _all_shown(state for _, state in moments(log, at))
    agree("purity", "folded a second time", again, shown)
    agree("purity", "the events after they were folded", wired(log), before)


def totality(events: Iterable[Any], *, seed: int = 0) -> None:
    """`fold` returns a state for every sequence of events, in any order, repeated or missing.

    The log is folded as it is, backwards, twice, and shuffled with some events missing and some repeated, by `seed`.
    """
    log = list(events)
    for event in log:
        admitted(event)
    chance = Random(seed)  # noqa: S311 - no secret, and the same on every run
    some = [event for event in log for _ in range(chance.choice((0, 1, 1, 2)))]
    chance.shuffle(some)
    for name, sequence in (("as it is", log), ("backwards", log[::-1]), ("twice", [*log, *log]), ("shuffled", some)):
        looks = {*places(len(sequence))} if name == "shuffled" else {len(sequence)}
        state = EMPTY
        for number, event in enumerate(sequence, 1):
            try:
                state = fold(state, event)
                if number in looks:
                    json.dumps([project(state, layout).to_dict() for layout in Layout])
            except Exception as error:
                raise AssertionError(f"totality, {name}, {after(number)}: {error!r}") from error
            if state.position != number:
                fail("totality", f"{name}, {after(number)}", f"the position is {state.position}")


def batching(events: Iterable[Any], *, at: Places = None) -> None:
    """`fold_all(state, events)` equals `reduce(fold, events, state)`, split anywhere."""
    log = list(events)
    try:
        expected = reduce(fold, log, EMPTY)
    except MalformedEvent as error:
        # Both ways refuse alike what no schema admits.
        try:
            fold_all(EMPTY, log)
        except MalformedEvent as again:
            agree("batching", "the refusal", str(again), str(error))
        else:
            fail("batching", "the refusal", f"there is none; should be {error}")
        return
    agree_as_states("batching", "in one batch", fold_all(EMPTY, iter(log)), expected)
    for place in places(len(log), at):
        found = fold_all(fold_all(EMPTY, log[:place]), log[place:])
        agree_as_states("batching", f"split {after(place)}", found, expected)


def delta_insensitivity(events: Iterable[Any], other: Iterable[Any] | None = None) -> None:
    """Cutting or joining deltas, or chunks for triads, leaves the projection alone.

    `other` is the log in another spelling; without it deltas are cut, joined and padded and triads respelled here.
    Ids that the fold makes of positions differ with the spelling, and a log that has such is not judged.
    """
    log = wired(events)
    state = reduce(fold, log, EMPTY)
    if other is not None:
        spellings = {"in the other spelling": list(other)}
    elif has_made_ids(state):
        return
    else:
        spellings = dict(_respelled(log))
    expected = [_content(state, layout) for layout in Layout]
    for name, spelled in spellings.items():
        found = reduce(fold, spelled, EMPTY)
        for layout, content in zip(Layout, expected, strict=True):
            agree("delta_insensitivity", f"{name}, {layout.name}", _content(found, layout), content)


def lane_independence(events: Iterable[Any], other: Iterable[Any] | None = None) -> None:
    """Every interleaving that keeps each lane's own order gives each lane the same rows, results' places aside.

    `other` is the log with its lanes interleaved otherwise; without it they are put one after another here, wherever
    they keep to themselves. Ids that the fold makes of positions differ with the order; such a log is not judged.
    """
    log = wired(events)
    state = reduce(fold, log, EMPTY)
    if other is None and has_made_ids(state):
        return
    turned = in_turn(log) if other is None else list(other)
    expected, found = (_by_owner(project(one).messages) for one in (state, reduce(fold, turned, EMPTY)))
    agree("lane_independence", "lanes in turn" if other is None else "interleaved otherwise", found, expected)


def nothing_lost(events: Iterable[Any], *, at: Places = None) -> None:
    """Every delta's text is in the snapshot once, in order; every encrypted value is on its entity.

    So is the content of every result, and what messages snapshots and echoed inputs state. A snapshot takes back what
    it leaves out and what it states otherwise. Arguments of a call that never starts show on nothing, nor does an
    encrypted value for what never opens.
    """
    log, said = wired(events), Said()
    done = 0
    for place, state in moments(log, at):
        for event in log[done:place]:
            said.hear(_heard(event))
        done = place
        for layout in Layout:
            for loss in losses(said, project(state, layout).messages):
                fail("nothing_lost", after(place, layout), loss)


def unique_ids(events: Iterable[Any], *, at: Places = None) -> None:
    """No two messages of a snapshot share an id; no call id stands twice in one message."""
    for place, state in moments(list(events), at):
        for layout in Layout:
            messages = project(state, layout).messages
            _unique(messages, after(place, layout), "messages")
            for message in messages:
                _unique(message.get("toolCalls", ()), after(place, layout), f"calls of message {message['id']!r}")


def adjacency(events: Iterable[Any], *, at: Places = None) -> None:
    """With reasoning and activity left out, each tool result follows its call's message.

    Between them stand only other results. A result of a call that no message holds follows nothing.
    """
    for place, state in moments(list(events), at):
        shown = [one for one in project(state).messages if one["role"] not in ("reasoning", "activity")]
        known = {call["id"] for message in shown for call in message.get("toolCalls", ())}
        holder: dict[str, Any] = {}
        for message in shown:
            if message["role"] != "tool":
                holder = message
            elif (call := message["toolCallId"]) in known and call not in _calls(holder):
                what = f"follows message {holder['id']!r}" if holder else "is the first message"
                fail("adjacency", after(place), f"the result {message['id']!r} of call {call!r} {what}")


def hydration(events: Iterable[Any], *, at: Places = None) -> None:
    """Folding `hydrate(project(s))` projects to the same messages, state and interrupts."""
    for place, state in moments(list(events), at):
        for layout in Layout:
            snapshot = project(state, layout)
            try:
                shown = project(reduce(fold_strict, hydrate(snapshot, "t", "r"), EMPTY), layout)
            except ReducerError as error:
                raise AssertionError(f"hydration, {after(place, layout)}: {error}") from error
            agree("hydration", after(place, layout), thread(shown), thread(snapshot))
            runs = [(run["threadId"], run["runId"], run["status"]) for run in shown.runs]
            status = "interrupted" if snapshot.interrupts else "finished"
            agree("hydration", f"{after(place, layout)}, the runs", runs, [("t", "r", status)])


def rejoining(events: Iterable[Any], *, at: Places = None) -> None:
    """`rejoin(s)` and then the rest of the stream gives, MERGED, what the whole stream gives, wherever it is cut.

    Where the log breaks no rule that is fatal, neither do they. A log with ids that the fold makes of positions is not
    judged.
    """
    log = list(events)
    whole = reduce(fold, log, EMPTY)
    if has_made_ids(whole):
        return
    expected, step = _told(project(whole, Layout.MERGED)), fold_strict if _is_allowed(log) else fold
    for place, state in moments(log, at):
        try:
            late = reduce(step, [*rejoin(state), *log[place:]], EMPTY)
        except ProtocolViolation as error:
            raise AssertionError(f"rejoining, {after(place)}: {error}") from error
        agree("rejoining", after(place), _told(project(late, Layout.MERGED)), expected)


def compaction(events: Iterable[Any], *, at: Places = None, restate: bool | None = None) -> None:
    """`compact(log)` and then any rest projects, in both layouts, as the log and that rest do.

    Positions aside; and compacting again changes nothing. Both with `restate` and without, unless one is asked for.
    Ids that the fold makes of positions differ in the rest, so a log that has such is compacted whole.
    """
    log = list(events)
    whole = reduce(fold, log, EMPTY)
    expected = apart_from_positions(whole)
    cuts = [len(log)] if has_made_ids(whole) else places(len(log), at)
    for restated in (True, False) if restate is None else (restate,):
        for place in cuts:
            where = f"{after(place)}, restate={restated}"
            shorter = compact(log[:place], restate=restated)
            if len(shorter) > place:
                fail("compaction", where, f"{len(shorter)} events are no fewer")
            found = reduce(fold, [*shorter, *log[place:]], EMPTY)
            agree("compaction", where, apart_from_positions(found), expected)
            again = wired(compact(shorter, restate=restated))
            agree("compaction", f"{where}, compacted again", again, wired(shorter))


def idempotence(events: Iterable[Any], *, at: Places = None) -> None:
    """Replaying a start, a result, an encrypted value or a snapshot changes no message.

    At once none of them does. Later, and in what follows, none does that is still the last word on what it is about: a
    start, which comes without its metadata then, a result, a value, a snapshot of the shared state; a snapshot of an
    activity or of the messages until that has changed. While chunks are streaming, which any event may end, and in a
    log with ids that the fold makes of positions, nothing is replayed later.
    """
    log = wired(events)
    states = [state for _, state in moments(log, range(len(log) + 1))]
    made = has_made_ids(states[-1])
    expected, replays = _messages(states[-1]), Replays()
    done = 0
    if at is None:
        replayable = [number for number, event in enumerate(log, 1) if event["type"].endswith(AT_ONCE)]
        at = [*places(len(log)), *(replayable[place - 1] for place in places(len(replayable)) if place)]
    for place in places(len(log), at):
        if place and log[place - 1]["type"].endswith(AT_ONCE):
            _unmoved(states[place], states[place], [log[place - 1]], place)
        for event in log[done:place]:
            replays.hear(_heard(event))
        done = place
        if made or states[place].conversation.streams is not None:
            continue
        found = reduce(fold, [*replays.now(), *log[place:]], states[place])
        if _messages(found) != expected:
            # All at once is quick; one at a time says which.
            for event in replays.now():
                _unmoved(states[place], states[place], [event], place)
                _unmoved(states[place], states[-1], [event], place, log[place:])
            _unmoved(states[place], states[-1], replays.now(), place, log[place:])


def changes(events: Iterable[Any], *, at: Places = None) -> None:
    """Applying `changes(a, b)` to `project(a)` gives `project(b)`, and a `View` that is brought to `b` is `project(b)`.

    Held against every two of the places that follow each other, both ways.
    """
    passed = list(moments(list(events), at))
    for layout in Layout:
        view = View(layout=layout)
        for (place, before), (later, state) in pairwise([*passed, *passed[-2::-1]]):
            where = f"from {place} to {later} events, {layout.name}"
            expected = project(state, layout).to_dict()
            told = what_changes(before, state, layout).apply(project(before, layout))
            agree("changes", where, told.to_dict(), expected)
            view.update(state)
            agree("changes", f"a view {where}", view.snapshot().to_dict(), expected)


def resumption(events: Iterable[Any], *, at: Places = None) -> None:
    """`loads(dumps(s))` equals `s`, at any point, and folds on alike."""
    log = list(events)
    stored, done = EMPTY, 0
    whole = reduce(fold, log, EMPTY)
    for place, state in moments(log, at):
        data = dumps(reduce(fold, log[done:place], stored))
        stored, done = loads(data), place
        agree_as_states("resumption", after(place), stored, state)
        if dumps(stored) != data:
            fail("resumption", after(place), "stored again it is other bytes")
        agree("resumption", after(place), _all_shown([stored]), _all_shown([state]))
        agree_as_states("resumption", f"stored {after(place)}, at the end", fold_all(stored, log[place:]), whole)


LAWS: Mapping[str, Callable[[Iterable[Any]], None]] = MappingProxyType(
    {
        law.__name__: law
        for law in (
            purity,
            totality,
            batching,
            delta_insensitivity,
            lane_independence,
            nothing_lost,
            unique_ids,
            adjacency,
            hydration,
            rejoining,
            compaction,
            idempotence,
            changes,
            resumption,
        )
    }
)
"""The laws by their names."""


def _vandalise(value: Any) -> None:
    """Change every container in place."""
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, BaseModel):
            todo += vars(one).values()
        elif isinstance(one, dict):
            todo += one.values()
            one["vandal"] = one.pop(next(iter(one), "nothing"), None)
        elif isinstance(one, list):
            todo += one
            one.append("vandal")


def _heard(event: Any) -> dict[str, Any]:
    """Return the event as the fold hears it, in wire form: without retired shapes, and nothing of what is dropped."""
    taken = admitted(event)
    return {"type": ""} if isinstance(taken, UnknownEvent) else taken.to_dict()


def _all_shown(states: Iterable[State]) -> list[Any]:
    return [project(state, layout).to_dict() for state in states for layout in Layout]


def _content(state: State, layout: Layout) -> dict[str, Any]:
    snapshot = project(state, layout)
    return {"messages": snapshot.messages, "state": snapshot.state}


def _messages(state: State) -> list[list[dict[str, Any]]]:
    return [project(state, layout).messages for layout in Layout]


def _told(snapshot: Snapshot) -> dict[str, Any]:
    """Return what a late reader has to end up with."""
    last = [{name: run.get(name) for name in ("runId", "status", "outcome", "error")} for run in snapshot.runs[-1:]]
    return {**thread(snapshot), "pendingToolCalls": sorted(snapshot.pending_tool_calls), "the last run": last}


def _respelled(log: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the log with one edit at a few places, and with many of a kind."""
    for name in RECUTS:
        for place in places(len(log)):
            yield f"{name} {place}", recut(log, [(name, place, place)])
        yield f"{name} everywhere", recut(log, [(name, 2 * place, place) for place in places(len(log))])


def _by_owner(messages: list[dict[str, Any]]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return each lane's messages, its results apart and in an order of their own."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for message in messages:
        owner = message.get("subagentRunId")
        lane = found.setdefault("the parent agent" if owner is None else repr(owner), {"messages": [], "results": []})
        lane["results" if message["role"] == "tool" else "messages"].append(message)
    for lane in found.values():
        lane["results"].sort(key=lambda message: str(message["id"]))
    return found


def _unique(things: Sequence[Mapping[str, Any]], where: str, what: str) -> None:
    seen: set[str] = set()
    for thing in things:
        if thing["id"] in seen:
            fail("unique_ids", where, f"two {what} have the id {thing['id']!r}")
        seen.add(thing["id"])


def _calls(message: Mapping[str, Any]) -> set[str]:
    return {call["id"] for call in message.get("toolCalls", ())}


def _is_allowed(log: list[Any]) -> bool:
    """Say whether the log breaks no rule that is fatal."""
    try:
        reduce(fold_strict, log, EMPTY)
    except ProtocolViolation:
        return False
    return True


def _unmoved(
    state: State, expected: State, replayed: list[dict[str, Any]], place: int, rest: Sequence[Any] = ()
) -> None:
    """Hold idempotence against one replay."""
    found = reduce(fold, [*replayed, *rest], state)
    again = " and ".join(f"{event['type']} again" for event in replayed[:3])
    for layout, one, other in zip(Layout, _messages(found), _messages(expected), strict=True):
        where = f"{again} {after(place, layout)}{', at the end' if rest else ''}"
        agree("idempotence", where, {"messages": one}, {"messages": other})
