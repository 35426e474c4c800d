"""From wire form to objects of the installed SDK: what the functions that give events out hand over.

An object is only given where it says what the wire form says. What the installed SDK lacks, refuses or alters (an
older one knows fewer outcomes, sources and types) is given as `decode` gives it, and `fold` takes both.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias, get_args

from ag_ui.core import BaseEvent
from ag_ui.core import Event as Known
from pydantic import ValidationError

from reducer._event import Event
from reducer._frozen import same
from reducer._wire import admit, decode
from reducer.errors import MalformedEvent

Replayed: TypeAlias = BaseEvent | Event
"""An event as it is given out: an object of the installed SDK, or a decoded event where that SDK cannot say it."""


@lru_cache(maxsize=1)
def _classes() -> dict[str, type[BaseEvent]]:
    classes: tuple[type[BaseEvent], ...] = get_args(get_args(Known)[0])
    return {cls.model_fields["type"].default.value: cls for cls in classes}


def event_object(wire: Mapping[str, Any]) -> Replayed:
    """Return the event that `wire` is, an object of the SDK where that says the same. Raises `MalformedEvent`."""
    event = decode(wire)
    cls = _classes().get(event.type)
    if cls is None:
        return event
    try:
        made = cls.model_validate(wire)
        read = admit(made)
    except (ValidationError, MalformedEvent):
        return event
    # Comparing the fields is the short way, and enough for nearly all.
    return made if same(read.__dict__, event.__dict__) or read == event else event
