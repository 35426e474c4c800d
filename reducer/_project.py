"""The projection: what a reader sees of a state, in one of two layouts.

This is the one place that makes messages out of entities: fresh plain dicts in wire form that reach back nowhere.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple

import attrs

from reducer._frozen import freeze, same, thaw
from reducer._order import Conversed, Shown, merged_order, names, streamed_names, streamed_order
from reducer._records import ACTIVITY, RESULT, Entry, Key, Row
from reducer._session import Anomaly, Run, Session
from reducer._state import State
from reducer._text import text


class Layout(Enum):
    """How messages are laid out: as they streamed, or one per id as the specification's consumer holds them."""

    STREAMED = "streamed"
    MERGED = "merged"


class Origin(NamedTuple):
    """Where a message comes from: the positions of its first and last event, the run it began in, its owner."""

    span: tuple[int, int]
    run_id: str | None
    owner: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the origin as JSON, camelCase."""
        return {"span": list(self.span), "runId": self.run_id, "owner": self.owner}


@attrs.frozen(eq=False, repr=False)
class Snapshot:
    """A thread as a reader sees it. All of it is fresh plain data in wire form; changing it changes nothing else.

    `messages` in order, `origins` one for each of them, `state` the shared state, `interrupts` the open ones, `runs`
    in order, `pending_tool_calls` the ids of calls without a result, `usage` the tokens summed per provider and model,
    `anomalies` the first ones in full and `anomaly_counts` all of them by code.
    """

    messages: list[dict[str, Any]]
    origins: list[Origin]
    state: Any
    interrupts: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    pending_tool_calls: list[str]
    usage: list[dict[str, Any]]
    anomalies: list[Anomaly]
    anomaly_counts: dict[str, int]
    thread_id: str | None = None

    def __eq__(self, other: object) -> bool:
        # JSON compares by type, and to any depth.
        return isinstance(other, Snapshot) and same(freeze(self.to_dict()), freeze(other.to_dict()))

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: object) -> Snapshot:
        told = {field.name for field in attrs.fields(Snapshot)} - {"origins", "anomalies"}
        plain = {name: thaw(freeze(getattr(self, name))) for name in told}
        return Snapshot(**plain, origins=[*self.origins], anomalies=[*self.anomalies])

    def __repr__(self) -> str:
        status = self.runs[-1]["status"] if self.runs else "no run"
        return f"<Snapshot of {len(self.messages)} messages, {status}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the snapshot as one JSON object, camelCase, fresh."""
        told = {
            "threadId": self.thread_id,
            "messages": self.messages,
            "origins": [origin.to_dict() for origin in self.origins],
            "state": self.state,
            "interrupts": self.interrupts,
            "runs": self.runs,
            "pendingToolCalls": self.pending_tool_calls,
            "usage": self.usage,
            "anomalies": [anomaly_told(anomaly) for anomaly in self.anomalies],
            "anomalyCounts": self.anomaly_counts,
        }
        return {name: thaw(freeze(value)) for name, value in told.items()}


def anomaly_told(anomaly: Anomaly) -> dict[str, Any]:
    """Return an anomaly in wire form."""
    return {
        "code": anomaly.code,
        "position": anomaly.position,
        "event": anomaly.event,
        "detail": anomaly.detail,
        "fatal": anomaly.fatal,
    }


def project(state: State, layout: Layout = Layout.STREAMED) -> Snapshot:
    """Return what a reader sees of `state`; the state stays as it is, and nothing in the snapshot reaches into it."""
    look = Conversed(state)
    made = _streamed(look) if layout is Layout.STREAMED else _merged(look)
    runs = state.session.runs
    messages: list[dict[str, Any]] = []
    origins: list[Origin] = []
    starts = [run.first for run in runs]
    names = [None, *(run.run_id for run in runs)]
    for message, owner, span in made:
        messages.append(message)
        origins.append(Origin(span, names[bisect_right(starts, span[0])], owner))
    return snapshot_of(state, messages, origins, pending_calls(look))


def snapshot_of(
    state: State, messages: list[dict[str, Any]], origins: list[Origin], pending_tool_calls: list[str]
) -> Snapshot:
    """Return the snapshot of `state` that these messages, origins and calls without a result are in."""
    session = state.session
    return Snapshot(
        messages=messages,
        origins=origins,
        state=thaw(session.shared),
        runs=runs_told(state),
        pending_tool_calls=pending_tool_calls,
        thread_id=session.thread_id,
        **{name: tell(session) for name, tell in TOLD.items()},
    )


TOLD: dict[str, Callable[[Session], Any]] = {
    "interrupts": lambda session: [thaw(interrupt) for interrupt in session.interrupts],
    "usage": lambda session: _usage(session.runs),
    "anomalies": lambda session: list(session.anomalies.first),
    "anomaly_counts": lambda session: dict(sorted(session.anomalies.counts.items())),
}
"""How fields of a snapshot are told of the session."""

Made = tuple[dict[str, Any], "str | None", tuple[int, int]]
"""A message, its owner and its span."""


def _streamed(look: Conversed) -> Iterable[Made]:
    order = streamed_order(look)
    for shown, name in zip(order, streamed_names(look, order), strict=True):
        yield streamed_message(look, shown, name)


def streamed_message(look: Conversed, shown: Shown, name: str) -> Made:
    """Make a message of the STREAMED layout, under the id `name`."""
    key, entry, rows, ordinal, calls = shown
    entity, first, last, _ = entry
    if not rows:
        return _whole(name, key, entry), entity.owner, (first, last)
    content = text(*[row[2] for row in rows])
    heads = not ordinal or ordinal == look.head(key)
    message: dict[str, Any] = {"id": name, "role": entity.role}
    if entity.name is not None:
        message["name"] = entity.name
    if heads and entity.parts is not None:
        message["content"] = _parts(entity.parts, content)
    elif content or not calls:
        message["content"] = content
    if calls:
        message["toolCalls"] = [_call(look.entries[call]) for call in calls]
    if heads:
        _described(message, entity)
    if entity.owner is not None:
        message["subagentRunId"] = entity.owner
    if len(rows) == 1 and not calls:
        return message, entity.owner, rows[0][:2]
    return message, entity.owner, _span(look, rows, calls)


def _span(look: Conversed, rows: Iterable[Row], calls: Iterable[Key]) -> tuple[int, int]:
    bounds = [row[:2] for row in rows]
    bounds += [look.entries[call][1:3] for call in calls]
    return min(bound[0] for bound in bounds), max(bound[1] for bound in bounds)


def held(state: State) -> list[tuple[Key, dict[str, Any]]]:
    """Return the MERGED messages with their keys, under the ids that events name them by, which several may share."""
    look = Conversed(state)
    return list(zip(merged_order(look), (message for message, _, _ in _merged(look, own=True)), strict=True))


def _merged(look: Conversed, *, own: bool = False) -> Iterable[Made]:
    order = merged_order(look)
    shown = {key: key[1] for key in order} if own else names(look, order)[0]
    homes = homes_of(look)
    for key in order:
        yield merged_message(look, key, homes.get(key, ()), shown[key])


def merged_message(look: Conversed, key: Key, calls: Sequence[Key], name: str) -> Made:
    """Make a message of the MERGED layout, which holds `calls`, under the id `name`."""
    entry = look.entries.get(key)
    if entry is not None and key[0] in (RESULT, ACTIVITY):
        return _whole(name, key, entry), entry.entity.owner, (entry.first, entry.last)
    rows = look.rows(key) if entry is not None else ()
    message: dict[str, Any] = {"id": name, "role": "assistant"}
    opener: Any = entry.entity if entry is not None else None
    if calls and (not rows or look.entries[calls[0]].first < rows[0].first):
        opener = look.entries[calls[0]].entity
    elif opener is not None:
        message["role"] = opener.role
        if opener.name is not None:
            message["name"] = opener.name
    if entry is not None and entry.entity.spoken:
        content = text(*[row[2] for row in rows])
        parts = entry.entity.parts
        message["content"] = content if parts is None else _parts(parts, content)
    if calls:
        message["toolCalls"] = [_call(look.entries[call]) for call in calls]
    if entry is not None:
        _described(message, entry.entity)
    if opener is not None and opener.owner is not None:
        message["subagentRunId"] = opener.owner
    span = rows[0][:2] if len(rows) == 1 and not calls else _span(look, rows, calls)
    return message, opener.owner, span


def homes_of(look: Conversed) -> dict[Key, list[Key]]:
    """Return the calls of each MERGED message, in the order in which they opened."""
    homes: dict[Key, list[Key]] = {}
    for key in dict.fromkeys(look.timeline):
        for calls in look.grouped.get(key, {}).values():
            for call in calls:
                homes.setdefault(look.home(look.entries[call]), []).append(call)
    for calls in homes.values():
        calls.sort(key=lambda call: look.entries[call].first)
    return homes


def _parts(parts: Any, content: str) -> list[Any]:
    """A content of parts that text was streamed behind has that text as its last part."""
    told: list[Any] = thaw(parts)
    return [*told, {"type": "text", "text": content}] if content else told


def _call(entry: Entry) -> dict[str, Any]:
    call = entry.entity
    made = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": text(entry.rope)}}
    _described(made, call)
    return made


def _whole(name: str, key: Key, entry: Entry) -> dict[str, Any]:
    """Return a tool or activity message."""
    entity = entry.entity
    message: dict[str, Any] = {"id": name, "role": "tool" if key[0] == RESULT else "activity"}
    if key[0] == RESULT:
        message["toolCallId"] = entity.call_id
    else:
        message["activityType"] = entity.type
    message["content"] = thaw(entity.content)
    if key[0] == RESULT:
        if entity.error is not None:
            message["error"] = entity.error
        _described(message, entity)
    elif entity.metadata is not None:
        message["metadata"] = thaw(entity.metadata)
    if entity.owner is not None:
        message["subagentRunId"] = entity.owner
    return message


def _described(made: dict[str, Any], entity: Any) -> None:
    """Add what may ride on any message but an activity, and on calls."""
    if entity.value is not None:
        made["encryptedValue"] = entity.value
    if entity.value_type is not None:
        made["encryptedValueType"] = entity.value_type
    if entity.metadata is not None:
        made["metadata"] = thaw(entity.metadata)


def runs_told(state: State, since: int = 0) -> list[dict[str, Any]]:
    """Return the runs in wire form, from the one with the index `since` on."""
    session = state.session
    runs = [session.runs[number] for number in range(since, len(session.runs))]
    if runs and runs[-1].status == "running":
        runs[-1] = runs[-1]._replace(last=state.position - 1, subagents=session.scope.subagents)
    return [_run(run) for run in runs]


def _run(run: Run) -> dict[str, Any]:
    told: dict[str, Any] = {"runId": run.run_id, "threadId": run.thread_id, "status": run.status}
    told["span"] = [run.first, run.last]
    for name, value in (
        ("parentRunId", run.parent_run_id),
        ("protocolVersion", run.protocol_version),
        ("outcome", run.outcome),
        ("result", run.result),
    ):
        if value is not None:
            told[name] = thaw(value)
    if run.error is not None:
        told["error"] = {"message": run.error} | ({} if run.code is None else {"code": run.code})
    if run.usage:
        told["usage"] = thaw(run.usage)
    if run.subagents:
        told["subagents"] = [
            {"subagentRunId": sub.id, "name": sub.name, "status": sub.status, "span": [sub.first, sub.last]}
            | thaw(sub.started)
            | ({} if sub.ended is None else thaw(sub.ended))
            for sub in sorted(run.subagents.values(), key=lambda sub: sub.first)
        ]
    return told


def pending_calls(look: Conversed) -> list[str]:
    """Return the ids of the calls that have no result, in the order in which they opened."""
    calls = [
        look.entries[call]
        for key in dict.fromkeys(look.timeline)
        for _, shown in sorted(look.grouped.get(key, {}).items())
        for call in shown
    ]
    # Stable, for what one event stated has one position.
    calls.sort(key=_first)
    return list(dict.fromkeys(entry.entity.id for entry in calls if not entry.entity.answered))


def _first(entry: Entry) -> int:
    return entry.first


def _usage(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """Sum the token usage of all runs per provider and model; a count that nobody reported stays absent."""
    sums: dict[tuple[Any, Any], dict[str, Any]] = {}
    for run in runs:
        for used in run.usage:
            key = (used.get("provider"), used.get("model"))
            total = sums.setdefault(key, {})
            for name, value in used.items():
                known = total.get(name)
                total[name] = known + value if isinstance(value, int) and isinstance(known, int) else value
    return [dict(total) for total in sums.values()]
