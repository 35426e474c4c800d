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
from reducer._table import CONTENT


def fold_all(state: State, events: Iterable[object]) -> State:  # noqa: C901, PLR0912, PLR0915 - as in `fold`
    """Return the state after all `events`: the same as folding them one by one, faster. Raises as `fold` does."""
    draft, position = Draft(), state.position
    # Never another dict: a draft that takes a state clears these in place.
    written = draft.open
    # A state that is ahead of the draft, which takes it for the first event that may go in.
    ahead: State | None = state
    # While events are deltas for one entity: that entity, its deltas, how many of them are counted in `position`, and
    # the class of the events, in `said` for objects of an SDK and in `told` for what was decoded.
    one: Any = None
    deltas: list[str] = []
    counted = 0
    said: type | None = None
    told: type | None = None
    kind = identity = name = ""
    event: Any
    # To ask a local costs less than to ask a builtin, and this loop is what a delta costs.
    kind_of, text = type, str
    for event in events:
        try:
            if kind_of(event) is said:
                # Most events are the next delta for the same entity: nothing is asked twice, and nothing is counted.
                fields = event.__dict__
                if fields[identity] == name:
                    delta = fields["delta"]
                    if (
                        kind_of(delta) is text
                        and delta
                        and (fields["subagent_run_id"] is None or fields["subagent_run_id"] == one.tag)
                        and fields["metadata"] is None
                        and not event.__pydantic_extra__
                    ):
                        deltas.append(delta)
                        continue
            cls = kind_of(event)
            if cls is told and (event.tool_call_id if kind is CALL else event.message_id) == name:
                delta = event.delta
                if (
                    kind_of(delta) is text
                    and delta
                    and (event.subagent_run_id is None or event.subagent_run_id == one.tag)
                    and event.metadata is None
                    and not event.notes
                ):
                    deltas.append(delta)
                    continue
            if one is not None:
                position += len(deltas) - counted
                one.last = position - 1
                one = said = told = None
            is_delta = cls in _WRITES
            if not is_delta:
                way = _WAY_OF.get(cls)
                if way is None:
                    if cls is dict or isinstance(event, Mapping):
                        event = admitted(event)  # noqa: PLW2901 - what it says, in the form that has short ways
                        cls = type(event)
                    is_delta = cls in _WRITES
                    way = _never if is_delta else _WAY_OF.get(cls) or _way_of(cls)
                if way is not _never:
                    if ahead is not None:
                        draft.take(ahead)
                        ahead = None
                    if way(draft, position, event):
                        position += 1
                        continue
            if is_delta:
                if ahead is not None:
                    draft.take(ahead)
                    ahead = None
                kind, identity, is_sdk = _WRITES[cls]
                if is_sdk:
                    fields, odd = event.__dict__, event.__pydantic_extra__
                    name, delta = fields[identity], fields["delta"]
                    tag, metadata = fields["subagent_run_id"], fields["metadata"]
                else:
                    name, delta, odd = getattr(event, identity), event.delta, event.notes
                    tag, metadata = event.subagent_run_id, event.metadata
                found = written[kind].get(name) or draft.writing(kind, name)
                if (
                    found is not None
                    and (kind is CALL or found.first >= (found.lane.text if kind is TEXT else found.lane.reasoning))
                    and type(delta) is str
                    and delta
                    and (tag is None or tag == found.tag)
                    and metadata is None
                    and not odd
                ):
                    one, deltas = found, found.deltas
                    counted = len(deltas)
                    deltas.append(delta)
                    if is_sdk:
                        said = cls
                    else:
                        told = cls
                    continue
        except (TypeError, AttributeError, LookupError, ValueError):
            # It is for `fold` to say what is wrong with the event.
            if one is not None:
                position += len(deltas) - counted
                one.last = position - 1
                one = said = told = None
        ahead = fold(draft.settle(position) if ahead is None else ahead, event)
        position += 1
    if one is not None:
        position += len(deltas) - counted
        one.last = position - 1
    return draft.settle(position) if ahead is None else ahead


_WAY_OF: dict[type, Way] = {}
"""The way of each class into a draft, found with its first event and kept, as in `_routes`."""
_WRITES: dict[type, tuple[str, str, bool]] = {}
"""The deltas, which `fold_all` gathers itself: what they write to, the field that names it, if they are an SDK's."""


def _way_of(cls: type) -> Way:
    """Return how a draft takes in the first event of a class, and keep how it takes in the next."""
    if cls not in ROUTES:
        return _never
    route = ROUTES[cls]
    if route.kind in CONTENT and (cls in DELTAS or cls in SHORTS):
        kind = CONTENT[route.kind]
        _WRITES[cls] = kind, "tool_call_id" if kind == CALL else "message_id", not route.ready
        return _never
    maker = WAYS.get(route.kind) if cls in SHORTS else None
    way = _WAY_OF[cls] = _never if maker is None else maker(not route.ready)
    return way


def _never(_draft: Draft, _position: int, _event: Any) -> bool:
    return False
