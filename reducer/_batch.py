"""Many events at once: what `reduce(fold, events, state)` gives, for less.

Deltas for open, quiet rows are gathered per entity and written when an event comes that touches their entity or cuts
their lane, in one piece. All other events are folded one by one, on a state in which gathered text is still missing
where the event does not look.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reducer._index import assoc
from reducer._short import quiet
from reducer._state import CALL, REASONING, TEXT, Entry, Key, Owner, State, at_rest
from reducer._text import append
from reducer.errors import MalformedEvent


class _Waiting:
    """The deltas of an open entity that are not in the state yet: whose they are, and the last one's position."""

    __slots__ = ("deltas", "key", "last", "owner", "tag")

    def __init__(self, key: Key, tag: Owner, owner: Owner) -> None:
        self.key = key
        self.tag = tag
        self.owner = owner
        self.last = 0
        self.deltas: list[str] = []


class Batch:
    """One call of `fold_all`: the state so far, and what waits to be written to it. Never outlives the call."""

    def __init__(self, state: State) -> None:
        self.state = at_rest(state)
        self.waiting: dict[str, dict[str, _Waiting]] = {TEXT: {}, REASONING: {}, CALL: {}}

    def gather(self, kind: str, name: str, position: int) -> _Waiting | None:
        """Begin to gather deltas for an entity; `None` where one of them could do more than append."""
        state = self.state
        entry = state.live.get((kind, name))
        if entry is None or state.conversation.streams is not None or not quiet(state.conversation, entry):
            return None
        runs = state.session.runs
        if not runs or runs[-1].status != "running":
            return None
        entity = entry.entity
        waiting = self.waiting[kind][name] = _Waiting((kind, name), entity.tag, entity.owner)
        waiting.last = position
        return waiting

    def write(self, position: int, chosen: Iterable[_Waiting] | None = None) -> State:
        """Write what waits, or the `chosen` part of it, and return the state at `position`."""
        everything = [one for kind in self.waiting.values() for one in kind.values()]
        live = self.state.live
        for one in list(everything if chosen is None else chosen):
            entity, first, _, rope = live[one.key]
            live = assoc(live, one.key, Entry(entity, first, one.last, append(rope, _joined(one.deltas))))
            del self.waiting[one.key[0]][one.key[1]]
        _, _, conversation, session, _ = self.state
        self.state = State(position, live, conversation, session)
        return self.state

    def touched(self, kind: str, event: Any) -> list[_Waiting] | None:
        """Return what waits that an event of the type `kind` touches; `None` where that could be anything."""
        ends = ENDS.get(kind)
        if ends is not None:
            name = event.tool_call_id if ends == CALL else event.message_id
            one = self.waiting[ends].get(name)
            return [] if one is None else [one]
        if kind not in OPENS or event.subagent_run_id.__class__ not in (str, type(None)):
            return None
        owner = event.subagent_run_id
        found = [one for kind_ in self.waiting.values() for one in kind_.values() if one.owner == owner]
        if kind == "TOOL_CALL_START" and event.parent_message_id is not None:
            one = self.waiting[TEXT].get(event.parent_message_id)
            if one is not None and one.owner != owner:
                return None
        return found


OPENS = frozenset({"TEXT_MESSAGE_START", "REASONING_MESSAGE_START", "TOOL_CALL_START", "TOOL_CALL_RESULT"})
ENDS = {"TEXT_MESSAGE_END": TEXT, "REASONING_MESSAGE_END": REASONING, "TOOL_CALL_END": CALL}


def _joined(deltas: list[str]) -> str:
    try:
        return "".join(deltas)
    except TypeError:
        wrong = next(delta for delta in deltas if not isinstance(delta, str))
        raise MalformedEvent(("delta",), wrong, "must be a string") from None
