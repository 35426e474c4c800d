"""Two layouts compared: what of the earlier one has to be taken out, put in and altered to have the later one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, TypeAlias

from reducer._changes import Altered, Changes, Placed
from reducer._diff import diff
from reducer._frozen import same, to_wire
from reducer._laid import Item, Laid
from reducer._project import TOLD, Origin, runs_told
from reducer._state import State
from reducer._touched import Touched

Message: TypeAlias = "dict[str, Any]"
Pair: TypeAlias = "tuple[Message | None, Origin | None]"
"""A message and where it comes from; `None` twice for one that nobody has asked for."""

Ops: TypeAlias = "tuple[list[str], list[Placed], list[Altered]]"
"""What was removed, placed and altered."""


def renewed(
    laid: Laid, items: Sequence[Item], old: Sequence[Item], shown: Sequence[Pair], differing: Touched
) -> list[Pair]:
    """Return the messages of `items`: those `shown` for the `old` ones where nothing differs, the others made anew."""
    known = {(item.key, item.ordinals[:1]): number for number, item in enumerate(old)}
    look = laid.look()
    pairs: list[Pair] = []
    for item in items:
        number = known.get((item.key, item.ordinals[:1]))
        is_same = number is not None and old[number][1:] == item[1:]
        if is_same and item.key not in differing and not any(call in differing for call in item.calls):
            pairs.append(shown[number])  # type: ignore[index]
        else:
            pairs.append(laid.make(look, item))
    return pairs


def compared(
    laid: Laid,
    items: Sequence[Item],
    pairs: Sequence[Pair],
    old: Sequence[Item],
    shown: Sequence[Pair],
    after: str | None,
) -> Ops:
    """Return what makes `items`, with their messages, of the `old` ones with theirs; `after` stands before them all."""
    was = {item.name: pair for item, pair in zip(old, shown, strict=True)}
    now = {item.name for item in items}
    stay = _in_order([item.name for item in old], [item.name for item in items])
    removed = [name for name in was if name not in now]
    placed: list[Placed] = []
    altered: list[Altered] = []
    for item, pair in zip(items, pairs, strict=True):
        if item.name not in stay:
            # One that only moved may never have been made.
            message, origin = laid.make(laid.look(), item) if pair[0] is None else pair
            placed.append(Placed(fresh(message), origin, after))  # type: ignore[arg-type]
        elif is_other(was[item.name], pair):
            altered.append(Altered(fresh(pair[0]), pair[1]))  # type: ignore[arg-type]
        after = item.name
    return removed, placed, altered


def told_of(before: State, after: State, messages: Ops, pending: list[str], now_pending: list[str]) -> Changes:
    """Return the changes from a state to another, of whose messages and calls without a result this is said."""
    old, new = before.session, after.session
    patch = [] if new.shared is old.shared else diff(old.shared, new.shared)
    values = {} if new is old else _values(before, after)
    if pending != now_pending:
        values["pending_tool_calls"] = [*now_pending]
    removed, placed, altered = messages
    runs, runs_from = runs_since(before, after)
    return Changes(removed, placed, altered, patch, runs, runs_from, values)


def fresh(message: Any) -> Message:
    """Return a message as plain data of its own; most of what is in one is text."""
    return {name: value if type(value) is str else to_wire(value) for name, value in message.items()}


def is_other(old: Pair, new: Pair) -> bool:
    """Say whether a message differs; one that was never made counts as different from one that was."""
    if old[0] is new[0] and old[1] is new[1]:
        return False
    return old[0] is None or old[1] != new[1] or not same(old[0], new[0])


def _in_order(old: list[str], new: list[str]) -> set[str]:
    """Return the names, as many as can be, that stand in both lists in the same order."""
    places = {name: place for place, name in enumerate(old)}
    # The longest increasing run of places: the least end of a run of each length, and what came before each.
    ends: list[int] = []
    before: dict[int, int] = {}
    for name in new:
        place = places.get(name)
        if place is not None:
            length = bisect_left(ends, place)
            if length:
                before[place] = ends[length - 1]
            ends[length : length + 1] = [place]
    stay: set[str] = set()
    place = ends[-1] if ends else None
    while place is not None:
        stay.add(old[place])
        place = before.get(place)
    return stay


def _values(before: State, after: State) -> dict[str, Any]:
    """Return those fields of a snapshot that are told of the session and differ, with what they are now."""
    values: dict[str, Any] = {}
    old, new = before.session, after.session
    for name, tell in TOLD.items():
        source = "runs" if name == "usage" else "anomalies" if name == "anomaly_counts" else name
        if getattr(old, source) is not getattr(new, source):
            was, now = tell(old), tell(new)
            if was != now or (name != "anomalies" and not same(was, now)):
                values[name] = now
    if old.thread_id != new.thread_id:
        values["thread_id"] = new.thread_id
    return values


def runs_since(before: State, after: State) -> tuple[list[dict[str, Any]], int | None]:
    """Return the runs from the first that differs on, and its index; `None` where none does.

    Runs before the last are over and stay as they are, so what stands before a run that two states share is shared.
    """
    old, new = before.session.runs, after.session.runs
    since = min(len(old), len(new))
    while since and old[since - 1] is not new[since - 1]:
        since -= 1
    # How far the run that goes on has come is not in its record.
    if since and new[since - 1].status == "running":
        since -= 1
    was, now = runs_told(before, since), runs_told(after, since)
    return ([], None) if same(was, now) else (now, since)
