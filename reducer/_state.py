"""The state: one immutable record, and the records of its concerns.

Hot and cold are kept apart. What a delta changes lies at the top: the position and `rope`, the text that the pen is
writing. What openings and ends change is `live`, the open entities, and the conversation; runs, shared state and
anomalies are the session. So a delta makes a node of a rope and one record, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

import attrs
from pyrsistent import PVector, pvector

from reducer._frozen import Frozen, Object, same
from reducer._index import SMALL, Index
from reducer._interrupts import NO_INTERRUPTS, Interrupts
from reducer._rules import RULES
from reducer._text import Rope, same_text

TEXT, REASONING, CALL, RESULT, ACTIVITY = "text", "reasoning", "call", "result", "activity"

Key = tuple[str, ...]
"""What an entity is known by: its kind and id; a result's message id and call id; an older call's id and position."""

Owner: TypeAlias = "str | None"
"""The subagent invocation that something belongs to; `None` is the parent agent."""


Record = TypeVar("Record")


class Row(NamedTuple):
    """A stretch of a message that is not current any more.

    `first` and `last` are the positions of its first and last event. Which calls it holds the calls say.
    """

    first: int
    last: int
    rope: Rope = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return self[:2] == other[:2] and same_text(self[2], other[2])

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:2])


class Message(NamedTuple):
    """A text or reasoning message: what is established about it, and its rows but for the current one.

    `owner` is whose it is, `tag` what continuations in the run number `run` have to agree with. `started` says that its
    text has opened (a call alone may have created it), `spoken` that it has a content of its own, be it empty,
    `stated` that a snapshot, an input or a stored thread brought it. `parts` is a content of parts.
    """

    kind: str
    id: str
    role: str
    name: str | None
    owner: Owner
    tag: Owner
    run: int = 0
    started: bool = True
    spoken: bool = True
    stated: bool = False
    metadata: Object | None = None
    value: str | None = None
    value_type: str | None = None
    parts: PVector[Any] | None = None
    rows: PVector[Row] = pvector()


class Call(NamedTuple):
    """A tool call.

    `home` is the message that holds it for the specification's consumer, `place` the message and the ordinal of the row
    that shows it (`None`: arguments came, but no start yet), where `rank` orders the calls that one event brought.
    `echo` counts the characters of stated arguments that the stream has repeated so far; `None`: it repeats nothing.
    """

    id: str
    name: str
    home: str
    owner: Owner
    tag: Owner
    run: int = 0
    place: tuple[Key, int] | None = None
    rank: int = 0
    stated: bool = False
    echo: int | None = None
    metadata: Object | None = None
    value: str | None = None
    value_type: str | None = None
    # Last, since a result makes the call anew with it.
    answered: bool = False


class Result(NamedTuple):
    """A tool result: a message of its own, `content` a string or parts; `tag` and `run` as a message has them."""

    id: str
    call_id: str
    owner: Owner
    content: Frozen
    error: str | None = None
    stated: bool = False
    metadata: Object | None = None
    value: str | None = None
    value_type: str | None = None
    tag: Owner = None
    run: int = 0


class Activity(NamedTuple):
    """An activity message, its content any JSON object; `tag` and `run` as a message has them."""

    id: str
    type: str
    owner: Owner
    content: Frozen
    metadata: Object | None = None
    tag: Owner = None
    run: int = 0


Entity: TypeAlias = "Message | Call | Result | Activity"


class Entry(NamedTuple):
    """An entity with what is written now: a message's current row, a call's arguments.

    `first` and `last` are event positions; `first` is -1 where a message has no current row.
    """

    entity: Any
    first: int
    last: int
    rope: Rope = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entry):
            return NotImplemented
        return self[:3] == other[:3] and same_text(self[3], other[3])

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[1:3])


class Lane(NamedTuple):
    """Where one owner's rows were cut last: a row that opened before the cut of its kind is not current.

    `groups` are the lane's current tool-call groups: for each message the ordinal of its row. `latest` is the message
    of the latest one.
    """

    text: int = -1
    reasoning: int = -1
    groups: Mapping[Key, int] = {}
    latest: Key | None = None


Closed: TypeAlias = "tuple[Any, int, int, Rope]"
"""An entity that is not open, as an `Entry` has it; a plain tuple, which takes a sixth of the time to make."""

Cuts: TypeAlias = "tuple[int, int, Mapping[Key, int], Key | None]"
"""A `Lane` as a plain tuple, likewise."""


@attrs.frozen
class Stream:
    """An open chunk stream: its entity, and what its opener said of each field that a continuation may repeat."""

    key: Key
    established: Mapping[str, str | None] = attrs.field(factory=dict)


@attrs.frozen
class Streams:
    """The open chunk streams: at most one in a lane (spec: basic/patterns/streaming).

    `lanes` holds each lane's stream, `kinds` for each kind the lanes of its open entities, `recent` for each kind the
    lane of its last chunk.
    """

    lanes: Mapping[Owner, Stream] = attrs.field(factory=dict)
    kinds: Mapping[str, Mapping[Key, Owner]] = attrs.field(factory=dict)
    recent: Mapping[str, Owner] = attrs.field(factory=dict)


@attrs.frozen
class Settled:
    """The order that a messages snapshot at `position` left for the MERGED layout, of the first `rows` rows."""

    order: tuple[Key, ...]
    rows: int
    position: int


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
            setattr(after, name, changes[name] if name in changes else getattr(self, name))
        return after

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Conversation):
            return NotImplemented
        return closed(self) == closed(other) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__ if name != "index"
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


@attrs.frozen
class Subagent:
    """An announced invocation of a subagent: `status` is running, finished, suspended, error or abandoned."""

    id: str
    name: str
    status: str
    first: int
    last: int
    started: Frozen = None
    ended: Frozen = None


class Run(NamedTuple):
    """One run. `status` is running, finished, interrupted, cancelled, error or truncated.

    `first` and `last` are the positions of its first and last event; while it is running `last` says nothing. `echoed`
    says that RUN_STARTED told the input, `subagents` are the invocations that it announced, once it is over.
    """

    run_id: str | None
    thread_id: str | None
    first: int
    last: int
    status: str = "running"
    parent_run_id: str | None = None
    protocol_version: str | None = None
    outcome: Frozen = None
    result: Frozen = None
    error: str | None = None
    code: str | None = None
    usage: PVector[Any] = pvector()
    echoed: bool = False
    subagents: Mapping[str, Subagent] = {}

    def __eq__(self, other: object) -> bool:
        # JSON compares by type, and to any depth.
        if not isinstance(other, Run) or not all(map(same, self[7:9], other[7:9])):
            return False
        return self[:7] == other[:7] and self[9:] == other[9:]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.run_id)


@cache
def _reader(cls: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    names = tuple(field.name for field in attrs.fields(cls))
    return names, attrgetter(*names)


def _replaced(record: Record, changes: dict[str, Any]) -> Record:
    """Return what `attrs.evolve` returns, in a quarter of its time."""
    cls: Any = type(record)
    names, read = _reader(cls)
    replaced: Record = cls(**{**dict(zip(names, read(record), strict=True)), **changes})
    return replaced


@attrs.define
class Scope:
    """What lasts until the next run boundary at most.

    `steps` are open steps by owner and name, `spans` open reasoning spans with their owners, `subagents` every
    invocation that was announced, `thinking` the ids given to open THINKING_* material. `owners` says, by kind and id,
    whose something is where neither an entity nor an open span does: a span that held no message, what the echoed
    input restated, what a snapshot dropped.
    """

    steps: Mapping[tuple[Owner, str], int] = {}
    spans: Mapping[str, Owner] = {}
    subagents: Mapping[str, Subagent] = {}
    thinking: Mapping[str, str] = {}
    owners: Mapping[Key, Owner] = {}

    def _replace(self, **changes: Any) -> Scope:
        return _replaced(self, changes)


@attrs.frozen
class Anomaly:
    """Something that broke a rule or could not be applied.

    `code` is the rule's, `position` the event's, `event` its type, `detail` what happened, `fatal` whether the
    specification makes it so.
    """

    code: str
    position: int
    event: str
    detail: str = ""

    @property
    def fatal(self) -> bool:
        """Whether the specification makes this fatal."""
        return RULES[self.code].fatal


KEPT = 128
"""How many anomalies are kept in full; all are counted."""


@attrs.frozen
class Anomalies:
    """`counts` for all codes, `first` ones in full, `latest` those of the last event that had any."""

    counts: Mapping[str, int] = attrs.field(factory=dict)
    first: PVector[Anomaly] = pvector()
    latest: PVector[Anomaly] = pvector()

    def adding(self, anomaly: Anomaly) -> Anomalies:
        """Return these and `anomaly`."""
        counts = {**self.counts, anomaly.code: self.counts.get(anomaly.code, 0) + 1}
        first = self.first.append(anomaly) if len(self.first) < KEPT else self.first
        same_event = self.latest and self.latest[-1].position == anomaly.position
        latest = self.latest.append(anomaly) if same_event else pvector([anomaly])
        return Anomalies(counts, first, latest)


@attrs.define(eq=False)
class Session:
    """What is not conversation: the shared state, the runs, the open interrupts in order, the anomalies, the scope.

    `begun` says that an event the protocol knows has arrived, which is when the first-event rule is judged; `active` is
    the number of the run that goes on, the first being 1, and 0 where none does.
    """

    shared: Frozen = Object({})
    runs: PVector[Run] = pvector()
    interrupts: Interrupts = NO_INTERRUPTS
    anomalies: Anomalies = Anomalies()
    thread_id: str | None = None
    begun: bool = False
    scope: Scope = Scope()  # noqa: RUF009 - nobody changes it
    active: int = 0

    def _replace(self, **changes: Any) -> Session:
        return _replaced(self, changes)

    def saying(self, shared: Frozen, scope: Scope) -> Session:
        """Return the session with these two, which change more often than the others."""
        return Session(
            shared, self.runs, self.interrupts, self.anomalies, self.thread_id, self.begun, scope, self.active
        )

    def __eq__(self, other: object) -> bool:
        # JSON compares by type, and to any depth.
        if not isinstance(other, Session) or not same(self.shared, other.shared):
            return False
        return _rest(self) == _rest(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.thread_id)


def _rest(session: Session) -> tuple[Any, ...]:
    """Return all fields but the shared state."""
    return attrs.astuple(session, recurse=False)[1:]


Open: TypeAlias = "tuple[Any, int, int, int, bool]"
"""An open entity: itself, its row's first position, the last one but for deltas, the place of its text, if it is quiet.

Quiet is an entity for which content does nothing but append: it opened in the run that goes on, what is written has to
repeat nothing, and a message has a row and has spoken. A plain tuple, since it is taken apart on every delta.
"""

Ropes: TypeAlias = "tuple[Any, ...] | PVector[Any]"
"""The text that each open entity writes, by place; `HOLE` where a place is free."""

HOLE: tuple[()] = ()

Pen: TypeAlias = "tuple[type | None, str, str, str | None, int]"
"""Where the last delta went: its class, the field that names the entity, that name, the entity's tag, its text's place.

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
    # subclass takes, and a fifth of an attrs record; `fold` does so in place, everything else by `made`.
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
