"""A draft of the next state: what `fold_all` writes to, in place, while it takes in ordinary events.

A state is never changed, so to fold one event means to copy what it changes. Many events in one call need one copy:
the draft gathers what they change, and `settle` makes the state of it. The draft never outlives the call.
"""

from __future__ import annotations

from typing import Any

import attrs

from reducer._index import assoc
from reducer._live import with_open, without
from reducer._state import CALL, NO_PEN, TEXT, Entry, Key, Lane, Owner, State, made, put_down
from reducer._text import append


class Writing:
    """An open entity: as in `State.live`, and the deltas that are not in its text yet, with the last one's position."""

    # What most have in common stands in the class, so that one is made with what is its own.
    last = 0
    quiet = True
    rope: Any = None
    # Where its text lies in the state in front of the draft, if that has it; and if more changed than the text.
    place = -1
    changed = False

    def __init__(self, entity: Any, first: int, at: int) -> None:
        self.entity = entity
        self.tag: Owner = entity.tag
        self.first = first
        self.at = at
        self.deltas: list[str] = []
        self.append = self.deltas.append

    def written(self) -> Any:
        """Return the text, with what waits."""
        return append(self.rope, "".join(self.deltas), self.last) if self.deltas else self.rope


class Draft:
    """A state, and what was added to it since."""

    def __init__(self, state: State) -> None:
        self.take(state)

    def take(self, state: State) -> None:
        """Go on from `state`, to which nothing was added."""
        self.state = state = put_down(state)
        conversation, session = state.conversation, state.session
        self.live, self.before = state.live, conversation.index.get
        # Most logs are folded from their first event on, and then there is nothing to look up in front of the draft.
        self.is_late = bool(conversation.index.rest or conversation.index.top)
        self.run: int = session.active
        self.owners, self.spans = session.scope.owners, session.scope.spans
        # Which events may be taken in at all: no chunk stream is open, and nothing waits for what opens.
        self.is_plain = conversation.streams is None
        self.is_ready = bool(self.run) and self.is_plain and not conversation.unclaimed
        self.is_early, self.is_asked = bool(conversation.early), bool(session.interrupts)
        # What was added: open entities, those that were open, all others, the rows, the lanes, the last cut.
        self.open: dict[Key, Writing] = {}
        self.closed: set[Key] = set()
        self.index: dict[Key | str, Any] = {}
        self.rows: list[Key] = []
        self.lanes: dict[Owner, tuple[int, int, dict[Key, int], Key | None]] = {}
        self.opened = conversation.opened

    def entry(self, key: Key | str) -> Any:
        """Return what the index has under `key`, or `None`."""
        found = self.index.get(key)
        return self.before(key) if found is None and self.is_late else found

    def writing(self, key: Key) -> Writing | None:
        """Return the open entity under `key`, or `None`."""
        one = self.open.get(key)
        if one is None and self.live and key not in self.closed:
            held = self.live.get(key)
            if held is not None:
                entity, first, at, place, quiet = held
                one = self.open[key] = Writing(entity, first, at)
                one.quiet, one.rope, one.place = quiet, self.state.ropes[place], place
        return one

    def lane(self, owner: Owner) -> Any:
        """Return the lane of `owner`, which is not for changing."""
        lane = self.lanes.get(owner)
        if lane is not None:
            return lane
        conversation = self.state.conversation
        return conversation.lanes.get(owner, conversation.base)

    def is_current(self, one: Writing, kind: str) -> bool:
        """Say whether nothing has cut the row that is written."""
        owner = one.entity.owner
        lane = self.lanes.get(owner) or self.lane(owner)
        return bool(one.first >= (lane[0] if kind is TEXT else lane[1]))

    def gathered(self, position: int, kind: str, name: Any, delta: Any, tag: Any) -> bool:
        """Gather a delta, if it does nothing but append, and say whether it was."""
        if not delta or type(delta) is not str or not self.is_plain:
            return False
        one = self.writing((kind, name))
        if one is None or not one.quiet or not (tag is None or tag == one.tag):
            return False
        if one.first < self.opened and kind is not CALL and not self.is_current(one, kind):
            return False
        one.append(delta)
        one.last = position
        return True

    def settle(self, position: int) -> State:
        """Return the state at `position`, with all that was added."""
        state = self.state
        conversation, session = state.conversation, state.session
        if self.opened != conversation.opened or self.index:
            lanes = conversation.lanes
            for owner, lane in self.lanes.items():
                lanes = assoc(lanes, owner, Lane(*lane))
            conversation = conversation._replace(
                timeline=conversation.timeline.extend(self.rows),
                index=conversation.index.put_all(self.index),
                lanes=lanes,
                opened=self.opened,
            )
        if self.spans is not session.scope.spans:
            session = attrs.evolve(session, scope=attrs.evolve(session.scope, spans=self.spans))
        state = made(position, None, NO_PEN, state.live, state.ropes, conversation, session)
        for key in self.closed:
            state = without(state, key)
        for key, one in self.open.items():
            if one.deltas or one.changed or one.place < 0:
                state = with_open(state, key, Entry(one.entity, one.first, one.at, one.written()))
        return state
