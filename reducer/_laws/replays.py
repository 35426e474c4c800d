"""What of a log may come again at a later moment and change no message.

A start may always, but for its metadata, which is merged; so may a snapshot of the shared state. What replaces may as
long as it is the last word: a result or an encrypted value until another for the same, a snapshot of an activity until
the activity changes, one of the messages until anything is said. A messages snapshot is the last word on all before it.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from attrs import define, field

Wire = dict[str, Any]
AT_ONCE = ("_START", "_RESULT", "_VALUE", "_SNAPSHOT")
"""How the types of events end that may come twice in a row."""

_SILENT = frozenset({"STATE_SNAPSHOT", "STATE_DELTA", "STEP_STARTED", "STEP_FINISHED", "RAW", "CUSTOM"})
_KINDS = ("TEXT_MESSAGE", "REASONING_MESSAGE", "TOOL_CALL_RESULT")


@define
class Replays:
    """The events that may be replayed now, by what they are the last word on."""

    last: dict[Hashable, Wire] = field(factory=dict)
    kinds: dict[str, set[str]] = field(factory=dict)
    """Which kinds of messages an id has had."""

    def hear(self, event: Wire) -> None:
        """Take in the next event of the log."""
        kind, name = event["type"], event.get("messageId")
        for stem in _KINDS:
            if kind.startswith(stem) and name is not None:
                self.kinds.setdefault(name, set()).add(stem)
        if kind not in _SILENT:
            self.last.pop("MESSAGES_SNAPSHOT", None)
        if kind == "MESSAGES_SNAPSHOT":
            self.last = {key: kept for key, kept in self.last.items() if key == "STATE_SNAPSHOT"}
        if kind.startswith("ACTIVITY_"):
            self.last.pop(("ACTIVITY", name), None)
        if (about := _about(event)) is not None:
            self.last[about] = event if not kind.endswith("_START") else _without_metadata(event)

    def now(self) -> list[Wire]:
        """Return what may come again. Where messages share an id, a value for it goes to what opened by then."""
        return [event for event in self.last.values() if len(self.kinds.get(event.get("entityId", ""), ())) <= 1]


def _about(event: Wire) -> Hashable:
    """Return what the event is the last word on; `None` where it is none."""
    kind: str = event["type"]
    name = event.get("messageId")
    if kind in ("MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"):
        return kind
    if kind == "ACTIVITY_SNAPSHOT":
        return "ACTIVITY", name
    if kind == "TOOL_CALL_RESULT":
        return kind, name, event["toolCallId"]
    if kind == "REASONING_ENCRYPTED_VALUE":
        return kind, event["subtype"], event["entityId"]
    # Those of THINKING_* carry no id to find again what they opened.
    return (
        (kind, event.get("toolCallId", name)) if kind.endswith("_START") and not kind.startswith("THINKING_") else None
    )


def _without_metadata(event: Wire) -> Wire:
    return {field: value for field, value in event.items() if field != "metadata"}
