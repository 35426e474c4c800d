"""The open entities: put among them, taken from them.

`State.live` says what is established about each and where its text lies, `State.ropes` holds the texts, but for the one
at the pen: what stands here goes on from a state in which that is put down. While few are open that is a tuple, in
which a free place is taken again; when many are, it is a persistent vector that places are added to, and that is laid
out anew when most of them are free.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyrsistent import pvector

from reducer._index import SMALL, assoc, dissoc
from reducer._records import Call, Entry, Key
from reducer._state import HOLE, Open, Ropes, State, opened, with_rope


def with_open(state: State, key: Key, entry: Entry) -> State:
    """Return the state in which `key` is open, with `entry` as what it is and has written."""
    one, ropes = state.live.get(key), state.ropes
    if one is not None:
        place = one[3]
    elif isinstance(ropes, tuple) and HOLE in ropes:
        place = ropes.index(HOLE)
    else:
        place = len(ropes)
    live = assoc(state.live, key, _one(state, entry, place))
    return state._replace(live=live, ropes=with_rope(ropes, place, entry.rope))


def without(state: State, key: Key) -> State:
    """Return the state in which `key` is not open."""
    one = state.live.get(key)
    if one is None:
        return state
    live, ropes = dissoc(state.live, key), without_rope(state.ropes, one[3])
    state = state._replace(live=live, ropes=ropes)
    return state if len(ropes) <= 2 * len(live) + SMALL else with_all(state, opened(state))


def with_all(state: State, entries: Mapping[Key, Entry]) -> State:
    """Return the state in which just `entries` are open."""
    live = {key: _one(state, entry, place) for place, (key, entry) in enumerate(entries.items())}
    ropes = tuple(entry.rope for entry in entries.values())
    return state._replace(live=live, ropes=ropes if len(ropes) <= SMALL else pvector(ropes))


def without_rope(ropes: Ropes, place: int) -> Ropes:
    """Return `ropes` with `place` free."""
    if isinstance(ropes, tuple) and place == len(ropes) - 1:
        return ropes[:-1]
    return with_rope(ropes, place, HOLE)  # type: ignore[arg-type]


def _one(state: State, entry: Entry, place: int) -> Open:
    entity, first, last, _ = entry
    return (entity, first, last, place, entity.run == state.session.active > 0 and _is_quiet(entry))


def _is_quiet(entry: Entry) -> bool:
    """Say whether content does nothing but append to what is written, unless that was cut."""
    entity = entry.entity
    if isinstance(entity, Call):
        return entity.echo is None
    return bool(entry.first >= 0 and entity.started and entity.spoken)
