"""Many events at once: what `reduce(fold, events, state)` gives, for less.

Ordinary events go into a draft (see `_draft`); any other is folded, on the state that the draft makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reducer._draft import Draft
from reducer._draft_ways import WAYS, Way
from reducer._fold import admitted, fold
from reducer._routes import DELTAS, ROUTES, SHORTS
from reducer._state import CALL, State


def fold_all(state: State, events: Iterable[object]) -> State:  # noqa: C901, PLR0912 - as in `fold`
    """Return the state after all `events`: the same as folding them one by one, faster. Raises as `fold` does."""
    draft, position = Draft(state), state.position
    # The class of the last event, where that was a delta that was gathered, and the entity that it was for.
    last: type | None = None
    identity = name = ""
    one: Any = None
    append: Any = None
    for event in events:
        cls = type(event)
        try:
            if cls is last:
                fields = event.__dict__
                if (
                    fields[identity] == name and fields["metadata"] is None and not event.__pydantic_extra__  # type: ignore[attr-defined]
                ):
                    delta, tag = fields["delta"], fields["subagent_run_id"]
                    if delta and type(delta) is str and (tag is None or tag == one.tag):
                        append(delta)
                        position += 1
                        continue
            if last is not None:
                one.last, last = position - 1, None
            way = _TAKES.get(cls)
            if way is not None and way(draft, position, event):
                position += 1
                continue
            if cls in DELTAS:
                (kind, identity), fields = DELTAS[cls], event.__dict__
                if fields["metadata"] is None and not event.__pydantic_extra__:  # type: ignore[attr-defined]
                    # As `Draft.gathered`, without a call.
                    name, delta, tag = fields[identity], fields["delta"], fields["subagent_run_id"]
                    one = draft.open.get((kind, name)) or draft.writing((kind, name))
                    if (
                        one is not None
                        and one.quiet
                        and draft.is_plain
                        and delta
                        and type(delta) is str
                        and (tag is None or tag == one.tag)
                        and (one.first >= draft.opened or kind is CALL or draft.is_current(one, kind))
                    ):
                        last, append = cls, one.append
                        append(delta)
                        position += 1
                        continue
            elif way is None:
                if cls is dict or isinstance(event, Mapping):
                    event = admitted(event)  # noqa: PLW2901 - what it says, in the form that has short ways
                    cls = type(event)
                if (_TAKES.get(cls) or _takes(cls))(draft, position, event):
                    position += 1
                    continue
        except (TypeError, AttributeError, LookupError, ValueError):
            # It is for `fold` to say what is wrong with the event.
            if last is not None:
                one.last, last = position - 1, None
        draft.take(fold(draft.settle(position), event))
        position += 1
    if last is not None:
        one.last = position - 1
    return draft.settle(position)


_TAKES: dict[type, Way] = {}
"""How a draft takes in the events of a class: like the dicts in `_routes`, which say of what type they are."""


def _takes(cls: type) -> Way:
    """Return how a draft takes in the events of a class, and keep it once the class has a route."""
    if cls not in ROUTES:
        return _never
    route = ROUTES[cls]
    maker = WAYS.get(route.kind) if cls in SHORTS else None
    way = _TAKES[cls] = _never if maker is None else maker(not route.ready)
    return way


def _never(_draft: Draft, _position: int, _event: Any) -> bool:
    return False
