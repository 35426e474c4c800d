"""The values that streams are filled with; the first of each table is what examples shrink to."""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]
"""An event in wire form."""

THREAD = "t1"

LABEL = "<label>"
"""Stands for a text of its own, made of the entity's id and the delta's ordinal, so that no two are alike."""

DELTAS = (LABEL, LABEL, LABEL, "", "é", "e", "\u0301", "\U0001f600", "\U0001f469\u200d", "\U0001f680", "\u4e16\n")
"""Pieces of text: marks that combine with what stands before them, emoji that join over two deltas."""

SPLIT = "\ud83d\ude00"
"""One character as the two halves of a surrogate pair, sent as two deltas."""

ARGUMENTS = (LABEL, LABEL, '{"q":', "1}", "{}", "", "not json", '"\u00e9\U0001f600"', "}")

SPEAKERS: tuple[tuple[str | None, str | None], ...] = (
    *((role, None) for role in ("assistant", "user", "system", "developer")),
    (None, "Ada"),
    ("user", "Ada"),
)
"""Roles and names of authors."""


METADATA: tuple[dict[str, Any], ...] = ({"k": 1}, {"k": None, "trace": "x"}, {"usage": {"out": [1, 2]}})

METADATA_PAIRS = ((METADATA[0], None), (None, METADATA[2]), (METADATA[1], METADATA[0]))
"""What the start and the end of something carry."""

RESULTS: tuple[Any, ...] = (
    LABEL,
    LABEL,
    "",
    [{"type": "text", "text": "found"}],
    [
        {"type": "text", "text": "see", "metadata": {"title": "T"}},
        {"type": "image", "source": {"type": "url", "value": "https://example.com/i.png", "mimeType": "image/png"}},
        {"type": "document", "source": {"type": "file", "value": "file-1", "provider": "openai"}},
    ],
    [],
)

USER_CONTENTS: tuple[Any, ...] = (
    "hello",
    [
        {"type": "text", "text": "look"},
        {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
    ],
)

STATES: tuple[Any, ...] = ({}, {"a": 1}, {"a": {"b": [1, 2]}, "n": None}, [], None, "text", False, [1, {"x": None}])

STATE_PATCHES: tuple[list[dict[str, Any]], ...] = (
    [{"op": "add", "path": "/a", "value": 1}],
    [{"op": "add", "path": "/a", "value": {"b": [1, 2]}}],
    [{"op": "add", "path": "/a/b/-", "value": None}],
    [{"op": "replace", "path": "/a", "value": [True]}],
    [{"op": "remove", "path": "/a"}],
    [{"op": "test", "path": "/a", "value": 1}, {"op": "add", "path": "/t", "value": "ok"}],
    [{"op": "add", "path": "/x~1y", "value": 0}, {"op": "copy", "from": "/x~1y", "path": "/z~0"}],
    [{"op": "add", "path": "/m", "value": {"v": 1}}, {"op": "move", "from": "/m", "path": "/n"}],
    [{"op": "replace", "path": "", "value": {"a": {"b": []}}}],
    [{"op": "add", "path": "/kept", "value": 1}, {"op": "remove", "path": "/missing"}],
    [{"op": "replace", "path": "/missing", "value": 1}],
    [{"op": "add", "path": "/p/q/r", "value": 1}],
    [{"op": "test", "path": "", "value": {"never": "so"}}],
    [],
)
"""Patches that mostly apply to an object, and some that apply to nothing."""

STATE_EVENTS: tuple[Event, ...] = (
    *({"type": "STATE_SNAPSHOT", "snapshot": state} for state in STATES),
    *({"type": "STATE_DELTA", "delta": patch} for patch in STATE_PATCHES),
)

ACTIVITY_TYPES = ("plan", "search")
ACTIVITY_CONTENTS: tuple[dict[str, Any], ...] = ({"n": 0, "list": []}, {}, {"n": {"deep": [1, None]}, "list": ["é"]})
ACTIVITY_PATCHES: tuple[list[dict[str, Any]], ...] = (
    [{"op": "add", "path": "/n", "value": 1}],
    [{"op": "add", "path": "/list/-", "value": {"done": False}}],
    [{"op": "replace", "path": "/n", "value": {"deep": []}}],
    [{"op": "add", "path": "/kept", "value": 1}, {"op": "test", "path": "/n", "value": "never so"}],
    [{"op": "remove", "path": "/missing"}],
    [],
)

_FIRST: tuple[Event, ...] = (
    *({"content": content} for content in ACTIVITY_CONTENTS),
    {"content": {"n": 7}, "replace": False},
    {"content": {"n": 8, "list": []}, "replace": True, "metadata": {"k": 1}},
    {"content": {"n": 9}, "replace": False, "metadata": {"trace": None}},
)
ACTIVITY_SNAPSHOTS: tuple[Event, ...] = tuple(
    {"type": "ACTIVITY_SNAPSHOT", "activityType": kind, **first} for kind in ACTIVITY_TYPES for first in _FIRST
)
ACTIVITY_CHANGES: tuple[Event, ...] = (
    *({"type": "ACTIVITY_DELTA", "patch": patch} for patch in ACTIVITY_PATCHES),
    {"type": "ACTIVITY_DELTA", "patch": ACTIVITY_PATCHES[0], "metadata": {"k": 2}},
    {"type": "ACTIVITY_DELTA", "patch": ACTIVITY_PATCHES[4], "metadata": {"k": 3}},
)

PASSED_EVENTS: tuple[Event, ...] = (
    {"type": "CUSTOM", "name": "progress", "value": None},
    {"type": "CUSTOM", "name": "progress", "value": {"v": [1]}, "rawEvent": {"provider": "p"}},
    {"type": "RAW", "event": {"type": "provider.delta"}},
    {"type": "RAW", "event": None, "source": "provider", "rawEvent": 0},
)

AUTHORITIES: tuple[Any, ...] = (
    {"authoritativeActivityTypes": ["plan"]},
    {"authoritativeActivityTypes": None},
    {"authoritativeActivityTypes": []},
)
"""What a snapshot says under the reference client's own metadata key about the activities it leaves out."""

CLIENT_KEY = "@ag-ui/client"

RETURNS: tuple[Any, ...] = ({"answer": 42}, "done", False)

USAGES: tuple[list[dict[str, Any]], ...] = (
    [{"provider": "openai", "model": "x", "inputTokens": 3, "outputTokens": 2, "totalTokens": 5}],
    [{"provider": "openai", "model": "x", "inputTokens": 1, "cachedInputTokens": 1}, {"model": "y", "outputTokens": 0}],
)


def fresh(value: Any) -> Any:
    """Copy JSON deeply: two events never share a part, and none is part of these tables."""
    if isinstance(value, dict):
        return {key: fresh(item) for key, item in value.items()}
    if isinstance(value, list):
        return [fresh(item) for item in value]
    return value


def spread(text: str) -> tuple[str, ...]:
    """Give the deltas that a drawn piece of text is sent as: one, or two where it is a split character."""
    return tuple(text) if text == SPLIT else (text,)
