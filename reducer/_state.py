"""The state and the conversation in it; their records are in `_records`, the session in `_session`.

Hot and cold are kept apart. What a delta changes lies at the top: the position and `rope`, the text that the pen is
writing. What openings and ends change is `live`, the open entities, and the conversation; runs, shared state and
anomalies are the session. So a delta makes a node of a rope and one record, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, TypeAlias

from pyrsistent import PVector, pvector

from reducer._index import SMALL, Index
from reducer._records import Cuts, Entry, Key, Lane, Owner, Settled, Streams
from reducer._session import Session
from reducer._text import Rope


class Conversation:
    """`timeline` has one key per row in opening order, `index` every entity that is not open, `lanes` the cuts.

    Under a message id itself the index has the key of the message that stands under it, or a tuple of such keys where
    messages of several kinds do, of each kind the first.
    `streams` are the open chunk streams, `None` where there are none, `unclaimed` the encrypted values that came before
    their entity, `settled` what a messages snapshot left, `opened` the position of the last opening that cut anything.
    `base` is the lane of an owner who has opened nothing since the last run boundary, which cuts all rows and groups,
    `early` has the ids of calls that were answered and have yet to come.
    """

    # Slots that are filled where one is made and never again: every opening and every end makes one.
    __slots__ = ("base", "early", "index", "lanes", "opened", "settled", "streams", "timeline", "unclaimed")

    timeline: PVector[Key]
    index: Index[Any, Any]
    lanes: Mapping[Owner, Cuts]
    streams: Streams | None
    unclaimed: Mapping[Key, tuple[str, str | None]]
    settled: Settled | None
    opened: int
    base: Cuts
    early: Mapping[str, bool]

    def _replace(self, **changes: Any) -> Conversation:
        after = Conversation()
        for name in self.__slots__:
            setattr(after, name, changes.pop(name) if name in changes else getattr(self, name))
        assert not changes
        return after

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Conversation):
            return NotImplemented
        return (
            closed(self) == closed(other)
            and _ids(self) == _ids(other)
            and all(getattr(self, name) == getattr(other, name) for name in self.__slots__ if name != "index")
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]


def _silent() -> Conversation:
    """Return the conversation before any event."""
    silent = Conversation()
    silent.timeline, silent.index, silent.lanes, silent.streams = pvector(), Index.of({}), {}, None
    silent.unclaimed, silent.settled, silent.opened, silent.base, silent.early = {}, None, -1, Lane(), {}
    return silent


Open: TypeAlias = "tuple[Any, int, int, int, bool]"
"""An open entity: itself, its row's first position, the last one but for deltas, the place of its text, if it is quiet.

Quiet is an entity for which content does nothing but append: it opened in the run that goes on, what is written has to
repeat nothing, and a message has a row and has spoken. A plain tuple, since it is taken apart on every delta.
"""

Ropes: TypeAlias = "tuple[Any, ...] | PVector[Any]"
"""The text that each open entity writes, by place; `HOLE` where a place is free."""

HOLE: tuple[()] = ()

Pen: TypeAlias = "tuple[type | str | None, str, str, str | None, int]"
"""Where the last delta went: its class, the field that names the entity, that name, the entity's tag, its text's place.

A decoded delta leaves its kind in place of the class: what `fold` reads from an SDK object is not all there.

A stream is mostly deltas for the entity that the last delta was for. For those nothing has to be looked up: whatever
could have cut the row or closed the entity has put the pen down. States are equal whatever entity it is at.
"""

NO_PEN: Pen = (None, "", "", None, -1)
"""The last event was no delta."""


class State:
    """All that the events so far have said. Make one with `EMPTY` or `seed`, go on with `fold`, look with `project`.

    `position` is the number of events folded. What else is in here is not public: it may change with any release.
    """

    # One is made for every event. To fill the slots of a bare object and to read them takes half of what a tuple's
    # subclass takes; `fold` and `moved` do so in place, everything else by `made`.
    __slots__ = ("_conversation", "_live", "_pen", "_position", "_rope", "_ropes", "_session")

    _position: int
    _rope: Rope
    _pen: Pen
    _live: Mapping[Key, Open]
    _ropes: Ropes
    _conversation: Conversation
    _session: Session

    @property
    def position(self) -> int:
        """How many events were folded."""
        return self._position

    @property
    def rope(self) -> Rope:
        """What the entity at the pen has written."""
        return self._rope

    @property
    def pen(self) -> Pen:
        """Where the last delta went."""
        return self._pen

    @property
    def live(self) -> Mapping[Key, Open]:
        """The open entities."""
        return self._live

    @property
    def ropes(self) -> Ropes:
        """What the open entities have written, but for an older text in the place of the pen's: see `ropes_of`."""
        return self._ropes

    @property
    def conversation(self) -> Conversation:
        """Rows, entities and lanes."""
        return self._conversation

    @property
    def session(self) -> Session:
        """Runs, shared state, interrupts, anomalies."""
        return self._session

    def _replace(self, **changes: Any) -> State:
        return made(**{**dict(zip(FIELDS, _fields(self), strict=True)), **changes})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State) or self.position != other.position:
            return False
        if self.conversation != other.conversation or self.session != other.session:
            return False
        # Where a text lies among the others says nothing.
        return opened(self) == opened(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.position)

    def __copy__(self) -> State:
        return self

    def __deepcopy__(self, memo: object) -> State:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # A checkpoint holds values of any depth, and what another release writes.
        from reducer._checkpoint import dumps, loads  # noqa: PLC0415 - it needs this module

        return loads, (dumps(self),)

    def __repr__(self) -> str:
        runs = self.session.runs
        status = runs[-1].status if runs else "no run"
        rows, still = len(self.conversation.timeline), len(self.live)
        return f"<State after {self.position} events: {status}, {rows} rows, {still} open>"


def named(index: Index[Any, Any], name: str) -> tuple[Key, ...]:
    """Return the first message of each kind that stands under the id `name`, by kind."""
    found: Any = index.get(name)
    return () if found is None else (found,) if isinstance(found[0], str) else found


def closed_entry(conversation: Conversation, key: Key) -> Entry | None:
    """Return the entity under `key` that is not open, with what it has written, or `None`."""
    found = conversation.index.get(key)
    return None if found is None else Entry(*found)


def closed(conversation: Conversation) -> dict[Key, Entry]:
    """Return all entities that are not open, as a fresh dict."""
    return {key: Entry(*held) for key, held in conversation.index.to_dict().items() if not isinstance(key, str)}


def _ids(conversation: Conversation) -> dict[str, Any]:
    """Return what the message ids lead to."""
    return {name: keys for name, keys in conversation.index.to_dict().items() if isinstance(name, str)}


def lane_of(conversation: Conversation, owner: Owner) -> Lane:
    """Return the lane of `owner`."""
    return Lane(*conversation.lanes.get(owner, conversation.base))


def held(state: State, key: Key) -> Entry | None:
    """Return the open entity under `key`, with what it has written, or `None`."""
    one = state.live.get(key)
    return None if one is None else entry_of(one, rope_at(state, one[3]))


def opened(state: State) -> dict[Key, Entry]:
    """Return all open entities, with what they have written, as a fresh dict."""
    ropes = ropes_of(state)
    return {key: entry_of(one, ropes[one[3]]) for key, one in state.live.items()}


def ropes_of(state: State) -> Ropes:
    """Return the texts of the open entities, by place."""
    place = state.pen[4]
    return state.ropes if place < 0 else with_rope(state.ropes, place, state.rope)


def put_down(state: State) -> State:
    """Return the state with the pen put down, which is what everything but the next delta goes on from."""
    if state.pen is NO_PEN:
        return state
    return made(state.position, None, NO_PEN, state.live, ropes_of(state), state.conversation, state.session)


def with_rope(ropes: Ropes, place: int, rope: Rope) -> Ropes:
    """Return `ropes` with `rope` at `place`, which may be the next one."""
    if isinstance(ropes, tuple):
        if place == len(ropes):
            return (*ropes, rope) if place < SMALL else pvector((*ropes, rope))
        changed = [*ropes]
        changed[place] = rope
        return tuple(changed)
    return ropes.append(rope) if place == len(ropes) else ropes.set(place, rope)


def rope_at(state: State, place: int) -> Rope:
    """Return the text at `place`."""
    rope: Rope = state.rope if place == state.pen[4] else state.ropes[place]
    return rope


def entry_of(one: Open, rope: Rope) -> Entry:
    """Return an open entity with `rope` as what it has written."""
    entity, first, last, _, _ = one
    return Entry(entity, first, last if rope is None or rope[3] < last else rope[3], rope)


FIELDS = ("position", "rope", "pen", "live", "ropes", "conversation", "session")
_fields = attrgetter(*(f"_{name}" for name in FIELDS))


def made(
    position: int,
    rope: Rope,
    pen: Pen,
    live: Mapping[Key, Open],
    ropes: Ropes,
    conversation: Conversation,
    session: Session,
) -> State:
    """Return the state of these fields."""
    state = State()
    state._position = position
    state._rope = rope
    state._pen = pen
    state._live = live
    state._ropes = ropes
    state._conversation = conversation
    state._session = session
    return state


def moved(
    state: State,
    rope: Rope,
    pen: Pen,
    live: Mapping[Key, Open],
    ropes: Ropes,
    timeline: PVector[Key],
    index: Index[Any, Any],
    lanes: Mapping[Owner, Cuts],
    opened: int,
) -> State:
    """Return the state after an event that changed what is open and the rows: two records in one call."""
    before = state._conversation
    conversation = Conversation()
    conversation.timeline = timeline
    conversation.index = index
    conversation.lanes = lanes
    conversation.streams = before.streams
    conversation.unclaimed = before.unclaimed
    conversation.settled = before.settled
    conversation.opened = opened
    conversation.base = before.base
    conversation.early = before.early
    after = State()
    after._position = state._position + 1
    after._rope = rope
    after._pen = pen
    after._live = live
    after._ropes = ropes
    after._conversation = conversation
    after._session = state._session
    return after


EMPTY = made(0, None, NO_PEN, {}, (), _silent(), Session())
"""The state before any event."""
