"""Streams to other streams: equivalent ones with deltas cut elsewhere, and broken ones with one thing wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .held import CLOSES_ALL, CLOSES_ITS_LANE, ID_FIELDS, kind_of
from .material import Event, fresh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Edit = tuple[str, int, int]
"""What to do, at which of the places where it can be done, and how; numbers beyond the last one start over."""


def recut(stream: list[Event], edits: Iterable[Edit]) -> list[Event]:
    """Say the same with other deltas, or in the other spelling."""
    equivalent: list[Event] = fresh(stream)
    for name, where, how in edits:
        sites, edit = _RECUTS[name]
        places = [place for place in range(len(equivalent)) if sites(equivalent, place)]
        if places:
            edit(equivalent, places[where % len(places)], how)
    return equivalent


def broken(stream: list[Event], edit: Edit) -> list[Event]:
    """Put one thing wrong."""
    name, where, how = edit
    changed: list[Event] = fresh(stream)
    _BREAKS[name](changed, where % len(changed), how)
    return changed


def _delta(event: Event) -> str | None:
    """Give the delta of an event that extends something."""
    return event.get("delta") if kind_of(event["type"])[0] is not None else None


def _plain(event: Event, delta: str) -> Event:
    """Copy what an event says about its entity, with another delta."""
    return {key: value for key, value in event.items() if key not in {"metadata", "rawEvent"}} | {"delta": delta}


def _can_cut(stream: list[Event], place: int) -> bool:
    return len(_delta(stream[place]) or "") > 1


def _cut(stream: list[Event], place: int, how: int) -> None:
    event = stream[place]
    at = 1 + how % (len(event["delta"]) - 1)
    stream[place : place + 1] = [{**event, "delta": event["delta"][:at]}, _plain(event, event["delta"][at:])]


def _can_join(stream: list[Event], place: int) -> bool:
    if place + 1 >= len(stream) or _delta(stream[place]) is None or _delta(stream[place + 1]) is None:
        return False
    one, two = stream[place], stream[place + 1]
    if one["type"] != two["type"] or one.get("subagentRunId") != two.get("subagentRunId"):
        return False
    kind, verb = kind_of(one["type"])
    key = ID_FIELDS[kind or ""]
    return one.get(key) == two.get(key) or (verb == "CHUNK" and key not in two)


def _join(stream: list[Event], place: int, _how: int) -> None:
    one, two = stream[place : place + 2]
    joined = {**two, **one, "delta": one["delta"] + two["delta"]}
    if "metadata" in one or "metadata" in two:
        joined["metadata"] = {**one.get("metadata", {}), **two.get("metadata", {})}
    stream[place : place + 2] = [joined]


def _can_pad(stream: list[Event], place: int) -> bool:
    return _delta(stream[place]) is not None


def _pad(stream: list[Event], place: int, _how: int) -> None:
    stream.insert(place + 1, _plain(stream[place], ""))


def _triad(stream: list[Event], place: int) -> list[int] | None:
    """Give the places of an item from its start to its end, if nothing would end a chunk stream in between."""
    start = stream[place]
    kind, verb = kind_of(start["type"])
    if kind is None or verb != "START":
        return None
    key, owner = ID_FIELDS[kind], start.get("subagentRunId")
    places = [place]
    for later in range(place + 1, len(stream)):
        event = stream[later]
        itself = (
            kind_of(event["type"])[0] == kind and event.get(key) == start[key] and event["type"] != "TOOL_CALL_RESULT"
        )
        if itself and event.get("subagentRunId") == owner:
            places.append(later)
            if event["type"].endswith("_END"):
                return places
        elif event["type"] in CLOSES_ALL or (
            event.get("subagentRunId") == owner
            and (event["type"] in CLOSES_ITS_LANE or event["type"].endswith("_CHUNK"))
        ):
            return None
    return None


def _can_respell(stream: list[Event], place: int) -> bool:
    return _triad(stream, place) is not None


def _respell(stream: list[Event], place: int, how: int) -> None:
    places = _triad(stream, place) or []
    kind, _ = kind_of(stream[place]["type"])
    key = ID_FIELDS[kind or ""]
    opener = {name: value for name, value in stream[place].items() if name != "metadata"}
    opener["type"] = opener["type"].replace("_START", "_CHUNK")
    if kind == "reasoning":
        del opener["role"]
    tag = {name: value for name, value in opener.items() if name in {"type", "subagentRunId"}}
    continuing = (tag, {**tag, key: opener[key]}, opener)[how % 3]
    for later in places:
        said: Event = {name: stream[later][name] for name in ("metadata", "rawEvent", "delta") if name in stream[later]}
        stream[later] = {**(opener if later == place else continuing), **said}
    # The last chunk stands where the end stood: it is needed only for what the end said.
    if "metadata" not in stream[places[-1]]:
        del stream[places[-1]]


_RECUTS: dict[str, tuple[Callable[[list[Event], int], bool], Callable[[list[Event], int, int], None]]] = {
    "cut": (_can_cut, _cut),
    "join": (_can_join, _join),
    "respell": (_can_respell, _respell),
    "pad": (_can_pad, _pad),
}
RECUTS = tuple(_RECUTS)


def _drop(stream: list[Event], place: int, _how: int) -> None:
    del stream[place]


def _double(stream: list[Event], place: int, _how: int) -> None:
    stream.insert(place, fresh(stream[place]))


def _move(stream: list[Event], place: int, how: int) -> None:
    elsewhere = (place + 1 + how % max(1, len(stream) - 1)) % len(stream)
    stream.insert(elsewhere, stream.pop(place))


def _retag(stream: list[Event], place: int, how: int) -> None:
    tag = ("s1", "s2", "s9")[how % 3]
    if stream[place].get("subagentRunId") == tag:
        del stream[place]["subagentRunId"]
    else:
        stream[place]["subagentRunId"] = tag


def _rename(stream: list[Event], place: int, how: int) -> None:
    event = stream[place]
    fields = [name for name in event if name.endswith("Id") or name == "stepName"]
    if not fields:
        event["messageId"] = "m1"
        return
    field = fields[how % len(fields)]
    others = dict.fromkeys(one[field] for one in stream if field in one and one[field] != event[field])
    event[field] = [*others, "other"][how % (len(others) + 1)]


def _retype(stream: list[Event], place: int, how: int) -> None:
    others = sorted(({event["type"] for event in stream} | _TRIADS) - {stream[place]["type"]})
    stream[place]["type"] = others[how % len(others)]


_TRIADS = {f"{stem}_{verb}" for stem in ("TEXT_MESSAGE", "REASONING_MESSAGE") for verb in ("START", "CONTENT", "END")}

_BREAKS: dict[str, Callable[[list[Event], int, int], Any]] = {
    "drop": _drop,
    "double": _double,
    "move": _move,
    "retag": _retag,
    "rename": _rename,
    "retype": _retype,
}
BREAKS = tuple(_BREAKS)
