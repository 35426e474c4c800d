"""The lanes of a log one after another, where they keep to themselves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from reducer._streams.held import CLOSES_ALL, kind_of

Wire = dict[str, Any]
_NAMES = ("messageId", "toolCallId", "parentMessageId", "entityId")


def in_turn(stream: Sequence[Wire]) -> list[Wire]:
    """Return the events between two boundaries lane by lane, in the order in which the lanes began.

    Boundaries are those of runs, and messages snapshots. Where a lane speaks of what another names, and where a chunk
    leaves it to its reader to find its lane, the order of events stays as it is.
    """
    shared = _shared(stream)
    turned: list[Wire] = []
    for boundary, group in groupby(stream, lambda event: event["type"] in CLOSES_ALL):
        events = list(group)
        if not boundary and all(_is_apart(event, shared) for event in events):
            lanes = list(dict.fromkeys(_lane(event) for event in events))
            events.sort(key=lambda event: lanes.index(_lane(event)))
        turned += events
    return turned


def _lane(event: Wire) -> Any:
    return event.get("subagentRunId")


def _shared(stream: Sequence[Wire]) -> set[str]:
    """Return the ids that more than one lane names."""
    owners: dict[str, set[Any]] = {}
    for event in stream:
        for name in _NAMES:
            if name in event:
                owners.setdefault(event[name], set()).add(_lane(event))
    return {name for name, lanes in owners.items() if len(lanes) > 1}


def _is_apart(event: Wire, shared: set[str]) -> bool:
    kind, verb = kind_of(event["type"])
    unnamed = verb == "CHUNK" and kind is not None and not event.keys() & {*_NAMES, "subagentRunId"}
    return not unnamed and not any(event.get(name) in shared for name in _NAMES)
