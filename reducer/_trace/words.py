"""What `explanation` found out of a message, in sentences for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reducer._project import Layout
from reducer._rules import RULES

Json = dict[str, Any]
LONG = 80
"""So much of an id is printed."""


def sentences(told: list[Json]) -> Iterator[str]:
    """Yield what `explained` returned, line by line."""
    for number, one in enumerate(told):
        if number:
            yield ""
        yield from _call_said(one, "") if one["kind"] == "tool call" else _message_said(one)


def _message_said(one: Json) -> Iterator[str]:
    role = f" ({one['role']})" if one["role"] else ""
    run = "" if one["run"] is None else f", in run {quoted(one['run'])}"
    yield f"{one['kind']} {quoted(one['id'])}{role}, of {_owner(one)}{run}"
    yield f"  opened by {_event(one['opened'])}, last touched by {_event(one['last'])}"
    shown = [f"{', '.join(map(quoted, names))} ({layout})" for layout, names in one["shownAs"].items() if names]
    yield f"  shown as {'; '.join(shown)}" if shown else "  not shown: it holds nothing, or a snapshot has dropped it"
    if "answers" in one:
        tool = f" of {quoted(one['tool'])}" if one["tool"] else ", which no start has named"
        place = (
            f"stands behind {quoted(one['behind'])}, which holds the call" if one["behind"] else "stands where it came"
        )
        yield f"  answers call {quoted(one['answers'])}{tool}; {place}"
    for row in one["rows"]:
        yield from _row_said(row)
    for call in one.get("calls", ()):
        yield from _call_said(call, "  ")
    yield from _rest_said(one, "  ")


def _row_said(row: Json) -> Iterator[str]:
    shown = "nothing of it shows" if row["shownAs"] is None else f"shown as {quoted(row['shownAs'])}"
    what = "brought whole, by a snapshot or an input" if row["brought"] else "a continuation" if row["row"] else ""
    yield f"  row {row['row']}: {_span(row['events'])}, {', '.join(filter(None, (what, shown)))}"
    if row["group"] is not None:
        yield f"    holds calls since event {row['group']}"
    if row["cut"] is not None:
        yield f"    cut by {_event(row['cut'])}: {row['cut']['why']}"


def _call_said(call: Json, indent: str) -> Iterator[str]:
    place = "" if call["row"] is None else f", in row {call['row']} of {quoted(call['in'])}"
    shown = "" if call["shownIn"] in (None, call["in"]) else f" (shown as {quoted(call['shownIn'])})"
    span = _span([call["opened"]["position"], call["last"]["position"]])
    what = f"call {quoted(call['id'])} of {quoted(call['name'])}, {span}, of {_owner(call)}"
    yield f"{indent}{what}{place}{shown}: {call['why']}"
    if call["answered"] is None:
        yield f"{indent}  no result has come"
    else:
        result = call["answered"]["result"] or {}
        names = result.get(Layout.STREAMED.value) or result.get(Layout.MERGED.value) or ()
        yield f"{indent}  answered by {_event(call['answered'])}" + "".join(
            f": result {quoted(name)}" for name in names[:1]
        )
    yield from _rest_said(call, f"{indent}  ")


def _rest_said(one: Json, indent: str) -> Iterator[str]:
    for value in one["encryptedValues"]:
        if value["claimed"] is not None:
            when = f"early: before what it names, which claimed it at event {value['claimed']}"
        else:
            when = "late: what it names was closed" if value["late"] else "in time: what it names was open"
        yield f"{indent}encrypted value by event {value['position']}, {when}"
    for anomaly in one["anomalies"]:
        rule = RULES[anomaly["code"]]
        attitude = "fatal" if anomaly["fatal"] else "warning"
        detail = f" {quoted(anomaly['detail'])}" if anomaly["detail"] else ""
        where = f"event {anomaly['position']} ({anomaly['event']})"
        yield f"{indent}anomaly at {where}: {rule.meaning}{detail} [{anomaly['code']}, {attitude}]"


def _event(event: Json) -> str:
    return f"event {event['position']} ({event['type']})"


def _span(events: list[int]) -> str:
    first, last = events
    return f"event {first}" if first == last else f"events {first} to {last}"


def _owner(one: Json) -> str:
    if one["owner"] is None:
        return "the parent agent"
    name = f" ({quoted(one['ownerName'])})" if one["ownerName"] else ""
    return f"subagent {quoted(one['owner'])}{name}"


def quoted(name: str) -> str:
    """Return an id as a terminal may have it: what does not print is escaped, what is long is cut."""
    text = name if name and name.isprintable() else repr(name)
    return text if len(text) <= LONG else f"{text[:LONG]}..."
