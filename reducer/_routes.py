"""Which way the events of a class go: found with the first of them, and kept.

The dicts here are looked into for every event. Like whatever else is kept between calls they hold what is known of a
class, which never changes.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic import BaseModel

from reducer import _short, _short_chunk, _short_run, _short_state, _short_value
from reducer._event import EVENT_CLASSES, Event
from reducer._records import CALL
from reducer._short import Short
from reducer._table import CASES, CONTENT, Case


class Route(NamedTuple):
    """How events of a class go; `ready` says that they need no decoding, `kind` the type that the class says.

    Without a case it is for decoding to say the type, or a type that nobody knows.
    """

    case: Case | None
    ready: bool
    kind: str = ""


SHORT = {**_short.SHORT, **_short_chunk.SHORT, **_short_run.SHORT, **_short_state.SHORT, **_short_value.SHORT}
ROUTES: dict[type, Route] = {}
DELTAS: dict[type, tuple[str, str]] = {}
"""The SDK's deltas: what they write to, and by which field they name it."""
SHORTS: dict[type, Short] = {}
"""The short way of a class; the SDK's deltas go an even shorter one, in `fold` itself."""


def route(event: object) -> Route:
    """Find the way for a class of events, and keep it where the class says its type."""
    cls = event.__class__
    if issubclass(cls, Event):
        kind = getattr(cls, "type", None)
        if not isinstance(kind, str):
            return Route(None, ready=True)
        return _kept(cls, kind, sdk=False)
    if isinstance(event, BaseModel) and cls.__module__.startswith("ag_ui."):
        fields = type(event).model_fields
        kind = getattr(fields["type"].default, "value", None) if "type" in fields else None
        if (
            kind in SHORT
            and all(name in fields for name in ("metadata", *SHORT[kind][1]))
            and ("subagent_run_id" in fields or kind in _short_run.SHORT)
            # Where a value is looked at for decoding, there may be nothing that only decoding knows what to do with.
            and (kind not in _short_state.SHORT or fields.keys() <= EVENT_CLASSES[kind].wire_names.keys())
        ):
            return _kept(cls, kind, sdk=True)
        return ROUTES.setdefault(cls, Route(None, ready=False))
    return Route(None, ready=False)


def _kept(cls: type, kind: str, *, sdk: bool) -> Route:
    if sdk and kind in CONTENT:
        DELTAS[cls] = (CONTENT[kind], "tool_call_id" if CONTENT[kind] == CALL else "message_id")
    elif kind in SHORT:
        SHORTS[cls] = SHORT[kind][0](sdk)
    # Last, for whoever finds a route looks, perhaps in another thread, what else there is for the class.
    # An SDK's object can be changed after it was checked, so off the short way, which looks for itself, it is decoded.
    route = ROUTES[cls] = Route(CASES[kind], ready=not sdk, kind=kind)
    return route
