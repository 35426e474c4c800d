"""Many events at once: what `reduce(fold, events, state)` gives, for less.

Ordinary events go into a draft (see `_draft`); any other is folded, on the state that the draft makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reducer._draft import Draft
from reducer._draft_ways import WAYS, Way
from reducer._fold import admitted, fold
from reducer._records import CALL, TEXT
from reducer._routes import DELTAS, ROUTES, SHORTS
from reducer._state import State


def fold_all(state: State, events: Iterable[object]) -> State:  # noqa: C901, PLR0912, PLR0915 - as in `fold`
    """Return the state after all `events`: the same as folding them one by one, faster. Raises as `fold` does."""
    draft, position = Draft(), state.position
    written = draft.open
    # A state that the draft has yet to take: it is made for the first event that it may take in.
    ahead: State | None = state
    # The class of the last event, where that was a delta that was gathered; the entity that it was for, and how many of
    # its deltas are counted in `position`.
    last: type | None = None
    identity = name = ""
    one: Any = None
    deltas: list[str] = []
    counted = 0
    # To ask a local costs less than to ask a builtin, and this loop is what a delta costs.
    kind_of, text = type, str
    for event in events:
        try:
            if kind_of(event) is last:
                # Most events are the next delta for the same entity: nothing is asked twice, and nothing is counted.
                fields = event.__dict__
                if fields[identity] == name:
                    delta = fields["delta"]
                    if (
                        kind_of(delta) is text
                        and delta
                        and (fields["subagent_run_id"] is None or fields["subagent_run_id"] == one.tag)
                        and fields["metadata"] is None
                        and not event.__pydantic_extra__  # type: ignore[attr-defined]
                    ):
                        deltas.append(delta)
                        continue
            if last is not None:
                position += len(deltas) - counted
                one.last, last = position - 1, None
            cls = type(event)
            if cls in DELTAS:
                if ahead is not None:
                    draft.take(ahead)
                    ahead = None
                # As `Draft.gathered`, without a call.
                (kind, identity), fields = DELTAS[cls], event.__dict__
                name, delta, tag = fields[identity], fields["delta"], fields["subagent_run_id"]
                one = written[kind].get(name) or draft.writing(kind, name)
                if (
                    one is not None
                    and (kind is CALL or one.first >= (one.lane.text if kind is TEXT else one.lane.reasoning))
                    and type(delta) is str
                    and delta
                    and (tag is None or tag == one.tag)
                    and fields["metadata"] is None
                    and not event.__pydantic_extra__  # type: ignore[attr-defined]
                ):
                    last, deltas = cls, one.deltas
                    counted = len(deltas)
                    deltas.append(delta)
                    continue
            else:
                way = _TAKES.get(cls)
                if way is None:
                    if cls is dict or isinstance(event, Mapping):
                        event = admitted(event)  # noqa: PLW2901 - what it says, in the form that has short ways
                        cls = type(event)
                    way = _TAKES.get(cls) or _takes(cls)
                if way is not _never:
                    if ahead is not None:
                        draft.take(ahead)
                        ahead = None
                    if way(draft, position, event):
                        position += 1
                        continue
        except (TypeError, AttributeError, LookupError, ValueError):
            # It is for `fold` to say what is wrong with the event.
            if last is not None:
                position += len(deltas) - counted
                one.last, last = position - 1, None
        ahead = fold(draft.settle(position) if ahead is None else ahead, event)
        position += 1
    if last is not None:
        position += len(deltas) - counted
        one.last = position - 1
    return draft.settle(position) if ahead is None else ahead


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
