"""A draft of the next state: what `fold_all` writes to, in place, while it takes in ordinary events.

A state is never changed, so to fold one event means to copy what it changes. Many events in one call need one copy:
the draft gathers what they change, and `settle` makes the state of it. The draft never outlives the call.

While something is written it stands under its id alone, in a dict for its kind: a string keeps its hash, a tuple is
hashed on each look-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reducer._index import SMALL, Index, assoc
from reducer._live import with_open, without
from reducer._records import CALL, REASONING, TEXT, Call, Closed, Cuts, Entry, Key, Owner, filled
from reducer._state import NO_PEN, State, made, put_down
from reducer._text import append


class DraftLane:
    """A lane while it is written: the fields of `Lane`, and in `was` what they were."""

    __slots__ = ("groups", "latest", "reasoning", "text", "was")

    def __init__(self, was: Cuts) -> None:
        self.was = was
        self.text, self.reasoning, self.groups, self.latest = was


class Writing:
    """A message or a call while it is written: as in `State.live`, and the deltas that are not in its text yet.

    Of a call, `entity` is all fields but the last, which says if it is answered. `last` is the last delta's position,
    `place` where its text lies in the state in front of the draft, -1 if that has none, and `changed` says that more
    than the text did. `lane` is the lane that can cut its row.
    """

    # Filled in place by `Draft.opens`, and by `Draft.ended_call` but for `lane`, `place` and `last`, which nobody asks
    # of a call that has ended: a constructor would take longer than all the rest.
    __slots__ = (
        "answered",
        "at",
        "changed",
        "deltas",
        "entity",
        "first",
        "key",
        "lane",
        "last",
        "place",
        "rope",
        "tag",
    )

    answered: bool
    at: int
    changed: bool
    deltas: list[str]
    entity: Any
    first: int
    key: Key
    lane: DraftLane
    last: int
    place: int
    rope: Any
    tag: Owner

    def pack(self) -> None:
        """Put what waits into the text."""
        if self.deltas:
            self.rope = append(self.rope, "".join(self.deltas), self.last)
            self.deltas.clear()

    def done(self) -> Closed:
        """Return what it is by now."""
        self.pack()
        entity = filled(Call, (*self.entity, self.answered)) if self.key[0] == CALL else self.entity
        return (entity, self.first, self.at, self.rope)


class Draft:
    """A state, and what was added to it since."""

    def __init__(self) -> None:
        # Open entities by kind and id; the calls that have ended, by id.
        self.open: dict[str, dict[str, Writing]] = {TEXT: {}, REASONING: {}, CALL: {}}
        self.ended: dict[str, Writing] = {}

    def take(self, state: State) -> None:
        """Go on from `state`, to which nothing was added."""
        self.state = state = put_down(state)
        conversation, session = state.conversation, state.session
        self.live, self.indexed = state.live, conversation.index.get
        # Most logs are folded from their first event on, and then there is nothing to look up in front of the draft.
        self.has_index = bool(conversation.index.rest or conversation.index.top)
        self.run: int = session.active
        self.owners = session.scope.owners
        # Which events may be taken in at all: no chunk stream is open, and nothing waits for what opens.
        self.is_plain = conversation.streams is None
        self.is_ready = bool(self.run) and self.is_plain and not conversation.unclaimed
        self.has_early, self.has_interrupts = bool(conversation.early), bool(session.interrupts)
        for written in self.open.values():
            written.clear()
        self.ended.clear()
        # What was added: all that is neither open nor a call, the rows, the lanes, the last cut, the spans; and which
        # of the entities that were open are not.
        self.index: dict[Key | str, Any] = {}
        self.rows: list[Key] = []
        self.lanes: dict[Owner, DraftLane] = {}
        self.opened = conversation.opened
        spans = session.scope.spans
        self.spans = spans.copy() if type(spans) is dict and len(spans) < SMALL else None
        self.closed: set[Key] = set()

    def entry(self, key: Key | str) -> Any:
        """Return what the index has under `key`, which is no call, or `None`."""
        found = self.index.get(key)
        return self.indexed(key) if found is None and self.has_index else found

    def lane(self, owner: Owner) -> DraftLane:
        """Return the lane of `owner`."""
        lane = self.lanes.get(owner)
        if lane is None:
            conversation = self.state.conversation
            lane = self.lanes[owner] = DraftLane(conversation.lanes.get(owner, conversation.base))
        return lane

    def opens(self, key: Key, entity: Any, tag: Owner, lane: DraftLane, position: int) -> Writing:
        """Add an entity that opens, and return it."""
        one = Writing()
        one.key, one.entity, one.tag, one.lane = key, entity, tag, lane
        one.first = one.at = one.last = position
        one.place, one.rope, one.changed, one.answered = -1, None, False, False
        one.deltas = []
        self.open[key[0]][key[1]] = one
        return one

    def writing(self, kind: str, name: str) -> Writing | None:
        """Return what is open under the kind and id, if content for it does nothing but append; or `None`."""
        one = self.open[kind].get(name)
        if one is None and self.live and self.is_plain:
            key = (kind, name)
            held = self.live.get(key)
            if held is not None and held[4] and key not in self.closed:
                entity, first, at, place, _ = held
                fields, answered = (entity[:-1], entity[-1]) if kind == CALL else (entity, False)
                one = self.opens(key, fields, entity.tag, self.lane(entity.owner), first)
                one.at, one.place, one.rope, one.answered = at, place, self.state.ropes[place], answered
        return one

    def ended_call(self, name: str) -> Writing | None:
        """Return the call `name` that has ended, or `None`."""
        one = self.ended.get(name)
        if one is None and self.has_index:
            key = (CALL, name)
            entry = self.indexed(key)
            if entry is not None:
                one = self.ended[name] = Writing()
                called, one.first, one.at, one.rope = entry
                one.key, one.entity, one.tag, one.answered = key, called[:-1], called.tag, called[-1]
                one.changed, one.deltas = False, []
        return one

    def settle(self, position: int) -> State:
        """Return the state at `position`, with all that was added."""
        state = self.state
        if position == state.position:
            return state
        conversation, session = state.conversation, state.session
        index: dict[Any, Any] = self.index
        for one in self.ended.values():
            if one.changed:
                index[one.key] = one.done()
        if self.opened != conversation.opened or index:
            conversation = conversation._replace(
                timeline=conversation.timeline.extend(self.rows),
                index=conversation.index.put_all(index) if self.has_index else Index.of(index),
                lanes=self._lanes(),
                opened=self.opened,
            )
        if self.spans is not None and self.spans != session.scope.spans:
            session = session.saying(session.shared, session.scope._replace(spans=self.spans))
        state = made(position, None, NO_PEN, state.live, state.ropes, conversation, session)
        for key in self.closed:
            state = without(state, key)
        opened = [one for written in self.open.values() for one in written.values()]
        # In the order in which they opened, as `fold` leaves them.
        for one in sorted(opened, key=lambda one: one.first):
            if one.deltas or one.changed or one.place < 0:
                state = with_open(state, one.key, Entry(*one.done()))
        return state

    def _lanes(self) -> Mapping[Owner, Cuts]:
        """Return all lanes, those that were written with what they are now."""
        lanes = self.state.conversation.lanes
        for owner, lane in self.lanes.items():
            now: Cuts = (lane.text, lane.reasoning, lane.groups, lane.latest)
            if now != lane.was:
                lanes = assoc(lanes, owner, now)
        return lanes
