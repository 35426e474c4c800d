"""What two states hold otherwise, told by identity: states of one thread share whatever did not change.

Two states are compared by the layers of the index that they do not share, by what is open, and by the end of the
timeline. So it costs what happened between them; of states that share nothing, everything differs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from reducer._cases._entities import find
from reducer._records import CALL, REASONING, TEXT, Entry, Key
from reducer._state import State, rope_at

Touched: TypeAlias = "dict[Key, tuple[Entry | None, Entry | None]]"
"""The entities that differ, with what they were and what they are."""


def touched(before: State, after: State) -> Touched:
    """Return the entities that are not the same in both states, or have not written the same."""
    found: Touched = {}
    for key in dict.fromkeys((*indexed(before, after), *_open(before, after))):
        old, new = find(before, key), find(after, key)
        if not _is_same(old, new):
            found[key] = (old, new)
    return found


def indexed(before: State, after: State) -> list[Key]:
    """Return the keys of what is not open, and may differ: what the layers that the two indexes share do not say."""
    old, new = before.conversation.index, after.conversation.index
    return [] if old is new else [key for key in old.differing(new) if not isinstance(key, str)]


def _open(before: State, after: State) -> Iterable[Key]:
    """Return the keys of what is open, and differs, in either of the states."""
    old, new = before.live, after.live
    return written(before, after) if old is new else (*old, *new)


def written(before: State, after: State) -> list[Key]:
    """Return which of the open entities, the same in both states, have not written the same."""
    live, pen, was, now = after.live, after.pen, before.ropes, after.ropes
    places = {before.pen[4], pen[4]} - {-1}
    if was is not now:
        places.update(place for place, (old, new) in enumerate(zip(was, now, strict=True)) if old is not new)
    places = {place for place in places if rope_at(before, place) is not rope_at(after, place)}
    if places == {pen[4]}:
        # Most often it is the one at the pen, which has a name.
        for kind in (TEXT, REASONING, CALL):
            one = live.get((kind, pen[2]))
            if one is not None and one[3] == pen[4]:
                return [(kind, pen[2])]
    return [key for key, one in live.items() if one[3] in places] if places else []


def _is_same(old: Entry | None, new: Entry | None) -> bool:
    if old is None or new is None:
        return old is new
    return old is new or (old[0] is new[0] and old[1:3] == new[1:3] and old[3] is new[3])


def is_moved(key: Key, old: Entry | None, new: Entry | None) -> bool:
    """Say whether the difference is one that the order of messages asks about, and not of what is in them alone."""
    if old is None or new is None or old.first != new.first or old.entity.owner != new.entity.owner:
        return True
    was: Any = old.entity
    now: Any = new.entity
    if key[0] == CALL:
        return bool((was.place, was.rank, was.home) != (now.place, now.rank, now.home))
    if key[0] not in (TEXT, REASONING):
        return getattr(was, "stated", None) != getattr(now, "stated", None)
    return (
        (was.role, was.stated, was.value is None) != (now.role, now.stated, now.value is None)
        or (old.rope is None) != (new.rope is None)
        or (was.rows is not now.rows and _rows(was) != _rows(now))
    )


def _rows(message: Any) -> list[tuple[int, bool]]:
    return [(row[0], row[2] is None) for row in message.rows]


def common_rows(before: State, after: State, differing: Touched) -> int:
    """Return how many rows, at least, the two timelines begin with alike; 0 where they need not share anything.

    A row that a timeline has and the other one has not is of an entity that differs. So what stands before a row of
    an entity that does not is shared, unless a messages snapshot came between.
    """
    old, new = before.conversation.timeline, after.conversation.timeline
    shortest = min(len(old), len(new))
    if old is new:
        return shortest
    if before.conversation.settled is not after.conversation.settled:
        return 0
    common = shortest
    while common and (old[common - 1] in differing or old[common - 1] != new[common - 1]):
        common -= 1
    while 0 < common < shortest and old[common] == new[common]:
        common += 1
    return common
