"""Many events at once: what `reduce(fold, events, state)` gives, for less.

Deltas for open, quiet rows are gathered per entity and written when an event comes that touches their entity or cuts
their lane, in one piece. All other events are folded one by one, on a state in which gathered text is still missing
where the event does not look.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from reducer import _short_state
from reducer._cases._entities import is_cut
from reducer._fold import admitted, fold
from reducer._frozen import Unfreezable
from reducer._routes import DECODED, DELTAS, ROUTES, SHORTS
from reducer._state import CALL, NO_PEN, REASONING, TEXT, Key, Owner, State
from reducer._text import append

_new: Callable[[type, tuple[Any, ...]], Any] = tuple.__new__


def fold_all(state: State, events: Iterable[object]) -> State:  # noqa: C901, PLR0912 - as in `fold`
    """Return the state after all `events`: the same as folding them one by one, faster. Raises as `fold` does."""
    batch, position = Batch(state), state.position
    # The class of the last event, where that was a delta that was gathered, and the entity that it was for.
    last: type | None = None
    identity = name = ""
    one: Any = None
    for event in events:
        cls = type(event)
        after = None
        try:
            if cls is last:
                fields = event.__dict__
                if (
                    fields[identity] == name and fields["metadata"] is None and not event.__pydantic_extra__  # type: ignore[attr-defined]
                ):
                    delta, tag = fields["delta"], fields["subagent_run_id"]
                    if delta and type(delta) is str and (tag is None or tag == one.tag):
                        one.append(delta)
                        position += 1
                        continue
            if last is not None:
                one.last, last = position - 1, None
            if cls is dict or (cls not in ROUTES and isinstance(event, Mapping)):
                event = admitted(event)  # noqa: PLW2901 - what it says, in the form that has short ways
                cls = type(event)
            if cls in DELTAS:
                (kind, identity), fields = DELTAS[cls], event.__dict__
                if fields["metadata"] is None and not event.__pydantic_extra__:  # type: ignore[attr-defined]
                    name = fields[identity]
                    one = batch.gathered(position, kind, name, fields["delta"], fields["subagent_run_id"])
                    if one is not None:
                        last = cls
                        position += 1
                        continue
            elif cls in DECODED:
                if _gathered(batch, position, event, DECODED[cls]):
                    position += 1
                    continue
            elif cls in SHORTS:
                before = batch.before(position, ROUTES[cls].kind, event)
                if before is not None:
                    after = SHORTS[cls](before, event)
        except (TypeError, AttributeError, KeyError, Unfreezable):
            # It is for `fold` to say what is wrong with the event.
            after = None
            if last is not None:
                one.last, last = position - 1, None
        batch.state = fold(batch.write(position), event) if after is None else after
        position += 1
    if last is not None:
        one.last = position - 1
    return batch.write(position)


def _gathered(batch: Batch, position: int, event: Any, kind: str) -> bool:
    """Gather a decoded delta, if it does nothing but append."""
    if event.metadata is not None or event.notes:
        return False
    name = event.tool_call_id if kind is CALL else event.message_id
    return batch.gathered(position, kind, name, event.delta, event.subagent_run_id) is not None


class _Waiting:
    """The deltas of an open entity that are not in the state yet: whose they are, and the last one's position."""

    __slots__ = ("append", "deltas", "key", "last", "owner", "place", "tag")

    def __init__(self, key: Key, entity: Any, place: int) -> None:
        self.key = key
        self.tag: Owner = entity.tag
        self.owner: Owner = entity.owner
        self.place = place
        self.last = 0
        self.deltas: list[str] = []
        self.append = self.deltas.append


class Batch:
    """One call of `fold_all`: the state so far, and what waits to be written to it. Never outlives the call."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.waiting: dict[Key, _Waiting] = {}

    def gathered(self, position: int, kind: str, name: Any, delta: Any, tag: Any) -> _Waiting | None:
        """Gather a delta that says nothing else, and return what waits for its entity.

        Return `None` where it could do more than append.
        """
        if not delta or type(delta) is not str:
            return None
        key: Key = (kind, name)
        one = self.waiting.get(key) or self._begun(key)
        if one is None or not (tag is None or tag == one.tag):
            return None
        self.waiting[key] = one
        one.append(delta)
        one.last = position
        return one

    def _begun(self, key: Key) -> _Waiting | None:
        """Begin to gather deltas for an entity, if it is open, quiet and its row current."""
        conversation = self.state.conversation
        open_one = self.state.live.get(key)
        if open_one is None or conversation.streams is not None:
            return None
        entity, first, _, place, quiet = open_one
        if not quiet or (first < conversation.opened and key[0] is not CALL and is_cut(conversation, entity, first)):
            return None
        return _Waiting(key, entity, place)

    def before(self, position: int, kind: str, event: Any) -> State | None:
        """Return the state in front of an event of the type `kind`, with all written that it touches.

        Return `None` where that could be anything.
        """
        waiting = self.waiting
        if not waiting or kind in APART:
            return self.write(position, ())
        ends = ENDS.get(kind)
        if ends is not None:
            one = waiting.get((ends, event.tool_call_id if ends is CALL else event.message_id))
            return self.write(position, () if one is None else (one,))
        owner = event.subagent_run_id
        if kind not in OPENS or not (owner is None or isinstance(owner, str)) or len(waiting) > MANY:
            return None
        if kind == "TOOL_CALL_START" and event.parent_message_id is not None:
            one = waiting.get((TEXT, event.parent_message_id))
            if one is not None and one.owner != owner:
                return None
        return self.write(position, [one for one in waiting.values() if one.owner == owner])

    def write(self, position: int, chosen: Collection[_Waiting] | None = None) -> State:
        """Write what waits, or the `chosen` part of it, and return the state at `position`."""
        state = self.state
        if chosen is None:
            chosen = [*self.waiting.values()]
        if not chosen and state[0] == position:
            return state
        _, live, ropes, conversation, session, _ = state
        if chosen:
            # One copy serves for all: nobody has seen it yet.
            fresh: Any = list(ropes) if isinstance(ropes, tuple) else ropes.evolver()
            for one in chosen:
                fresh[one.place] = append(fresh[one.place], "".join(one.deltas), one.last)
                del self.waiting[one.key]
            ropes = tuple(fresh) if isinstance(ropes, tuple) else fresh.persistent()
        self.state = _new(State, (position, live, ropes, conversation, session, NO_PEN))
        return self.state


APART = frozenset({"REASONING_START", "REASONING_END", *_short_state.SHORT})
"""What looks at no text and cuts none."""

MANY = 64
"""With more than so many entities waiting all are written, since to look through them for each opening is dearer."""

OPENS = frozenset({"TEXT_MESSAGE_START", "REASONING_MESSAGE_START", "TOOL_CALL_START", "TOOL_CALL_RESULT"})
ENDS = {"TEXT_MESSAGE_END": TEXT, "REASONING_MESSAGE_END": REASONING, "TOOL_CALL_END": CALL}
