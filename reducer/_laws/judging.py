"""What all laws share: logs of any make, the moments at which they are judged, and the least difference in words."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

from pydantic import BaseModel

from reducer._checkpoint import dumps
from reducer._event import Event
from reducer._fold import fold
from reducer._frozen import same
from reducer._project import Layout, Snapshot, project
from reducer._replay import json_of
from reducer._state import EMPTY, State

MOMENTS = 16
"""At how many places of a log, at least, a law that speaks of every place is held against it."""

Wire = dict[str, Any]
_MADE = ("chunk-", "thinking-")
_CLOSE = 30


def fail(law: str, where: str, why: str) -> NoReturn:
    """Raise `AssertionError` that says which law does not hold, where and why."""
    raise AssertionError(f"{law}, {where}: {why}")


def agree(law: str, where: str, found: Any, expected: Any) -> None:
    """Compare two JSON values, with their types. Raises `AssertionError` with the least difference."""
    if not same(found, expected):
        fail(law, where, difference(found, expected))


def agree_as_states(law: str, where: str, found: State, expected: State) -> None:
    """Compare two states. Raises `AssertionError` with the least difference of what is stored of them."""
    if found != expected:
        one, other = (json.loads(dumps(state))["state"] for state in (found, expected))
        fail(law, where, difference(one, other))


def difference(found: Any, expected: Any) -> str:
    """Return in words where two JSON values first differ, as deep inside as that can be said."""
    todo: list[tuple[str, Any, Any]] = [("", found, expected)]
    while todo:
        path, one, other = todo.pop()
        if same(one, other):
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            names = [*other, *(name for name in one if name not in other)]
            inside = [(f"{path}.{name}" if path else name, name) for name in reversed(names)]
            todo += [(where, one.get(name, _NOTHING), other.get(name, _NOTHING)) for where, name in inside]
        elif isinstance(one, list) and isinstance(other, list):
            length = max(len(one), len(other))
            padded = [[*values, *[_NOTHING] * (length - len(values))] for values in (one, other)]
            todo += [(f"{path}[{place}]", *pair) for place, pair in reversed([*enumerate(zip(*padded, strict=True))])]
        else:
            return f"{path or 'all of it'} is {_brief(one, other)}, should be {_brief(other, one)}"
    return "what is there is no JSON and differs"


class _Nothing:
    """What stands where nothing is."""

    def __repr__(self) -> str:
        return "absent"


_NOTHING = _Nothing()


def _brief(one: Any, other: Any) -> str:
    """Return a value in a few words; of a long text, from shortly before it parts from the other."""
    if not isinstance(one, str) or not isinstance(other, str):
        return reprlib.repr(one)
    pairs = zip(one, other, strict=False)
    start = next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other))) - _CLOSE // 2
    return reprlib.repr(one) if start <= 0 else f"...{one[start : start + _CLOSE]!r}"


def wired(events: Iterable[Any]) -> list[Wire]:
    """Return events in wire form, fresh. Raises `MalformedEvent` for what is no JSON."""
    return [event.to_dict() if isinstance(event, Event) else json_of(event, ()) for event in events]


def copied(event: Any) -> Any:
    """Return a copy of an event that shares nothing which could be changed."""
    if isinstance(event, Event):
        return event
    return event.model_copy(deep=True) if isinstance(event, BaseModel) else json_of(event, ())


def places(length: int, at: Iterable[int] | None = None) -> list[int]:
    """Return after how many events of so many to look: `at`, or evenly spread places with the first and the last."""
    if at is not None:
        return sorted({place for place in at if 0 <= place <= length})
    step = max(1, length // MOMENTS)
    return sorted({*range(0, length + 1, step), length})


def moments(events: Sequence[Any], at: Iterable[int] | None = None) -> Iterator[tuple[int, State]]:
    """Yield the places to look at, each with the state there. Raises `MalformedEvent`."""
    state, done = EMPTY, 0
    for place in places(len(events), at):
        for event in events[done:place]:
            state = fold(state, event)
        done = place
        yield place, state


def after(place: int, layout: Layout | None = None) -> str:
    """Return in words where it is that a law is judged."""
    where = f"after {place} events"
    return where if layout is None else f"{where}, {layout.name}"


def has_made_ids(state: State) -> bool:
    """Say whether the fold made ids of positions, which differ where anything is inserted or left out before."""
    return any(message["id"].startswith(_MADE) for message in project(state, Layout.MERGED).messages)


def thread(snapshot: Snapshot) -> dict[str, Any]:
    """Return what a thread is."""
    return {"messages": snapshot.messages, "state": snapshot.state, "interrupts": snapshot.interrupts}


def apart_from_positions(state: State) -> dict[str, Any]:
    """Return what a state shows, but for positions and what hangs on them."""
    told: dict[str, Any] = {}
    for layout in Layout:
        snapshot = project(state, layout)
        runs = [{name: value for name, value in run.items() if name != "span"} for run in snapshot.runs]
        for run in runs:
            subagents = run.get("subagents", ())
            run["subagents"] = [{name: value for name, value in one.items() if name != "span"} for one in subagents]
        pending = sorted(snapshot.pending_tool_calls)
        rest = {"pendingToolCalls": pending, "runs": runs, "usage": snapshot.usage, "threadId": snapshot.thread_id}
        told[layout.name] = {**thread(snapshot), **rest}
    return told
