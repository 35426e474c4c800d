"""What a reader sees after every event, in both layouts, as changes that are each stored once.

Projecting the whole after every event would cost the square of the thread. So the timeline is kept in segments that are
projected on their own (`segments`), and an event costs the projection of those that it touches. A delta that only
writes on is not even projected: where the last one for the same row went, this one goes, as long as nothing else of its
segment has changed. A test holds what comes out against `project`.
"""

from __future__ import annotations

from typing import Any

from reducer._project import Layout, project
from reducer._trace import look
from reducer._trace.changes import Listed, Values
from reducer._trace.diff import APPEND, SET, SPLICE, diff, embedded
from reducer._trace.look import CALL, REASONING, TEXT, Altered, Key, State
from reducer._trace.segments import Path, Segment, Segments, Slot, Target

LAYOUTS = (Layout.STREAMED, Layout.MERGED)
Learned = list[list[tuple[Slot, list[Any]]]]
"""For each layout, the operations on each message that changed."""


class Side:
    """A layout: its messages by id, their order, and every change of them.

    A change is `[position, message, first, last, entity, operations]`.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.order = Listed()
        self.slots: dict[str, Slot] = {}
        self.changes: list[str] = []


class Follower:
    """Follows a log from event to event and keeps what each changed of the snapshot.

    `sides` are the messages, `deltas` what was written on (to which of `targets`, when, what), `pending` the calls that
    wait for a result, `aside` the changes of everything else, `values` what those are made of.
    """

    def __init__(self, numbers: dict[Key, int]) -> None:
        """Take the numbers of all entities, which whoever follows keeps up to date."""
        self.values = Values()
        self.sides = tuple(Side(layout) for layout in LAYOUTS)
        self.pending = Listed()
        self.aside: list[str] = []
        self.targets: list[str] = []
        self.deltas: list[tuple[int, int, str]] = []
        self._numbers = numbers
        self._segments = Segments()
        self._rest = _rest_of(look.EMPTY)
        self._runs: list[dict[str, Any]] = []
        self._usage: list[dict[str, Any]] = []
        self._say_aside(-1, [[SET, [], {**self._rest, "state": look.shared(look.EMPTY), "runs": [], "usage": []}]])

    def follow(self, before: State, after: State, altered: Altered) -> None:
        """Take in the event that made `after` of `before`, where `altered` is what it did to entities."""
        position = before.position
        self._follow_aside(position, before, after)
        if look.restated(before, after):
            self._project(position, after, self._segments.restart(after))
            return
        if not altered and look.timeline(before) is look.timeline(after):
            return
        wrote = _written(before, after, altered)
        if wrote is not None and self._write_on(position, *wrote):
            return
        for segment in self._segments.touched(before, after, altered):
            learned = self._project(position, after, segment)
            if wrote is None:
                segment.targets.clear()
            else:
                self._learn(segment, *wrote, learned)

    def _write_on(self, position: int, key: Key, delta: str) -> bool:
        """Write to where the row's last delta went; say whether that is known."""
        segment = self._segments.of(key)
        target = segment.targets.get(key) if segment is not None else None
        if segment is None or target is None:
            return False
        segment.unsaid.setdefault(key, []).append(delta)
        for place in target.places:
            if place is not None:
                slot = place[0]
                slot.span = (slot.span[0], position)
        self.deltas.append((target.number, position, delta))
        return True

    def _learn(self, segment: Segment, key: Key, delta: str, learned: Learned) -> None:
        """Keep where the text of the row went, where that is plain to see."""
        places: list[tuple[Slot, Path] | None] = []
        for changes in learned:
            operations = [(slot, operation) for slot, operations in changes for operation in operations]
            if not changes:
                places.append(None)
            elif delta and len(changes) == len(operations) == 1 and operations[0][1][0] == APPEND:
                slot, (_, path, text) = operations[0]
                if text != delta:
                    return
                places.append((slot, path))
            else:
                return
        described = [None if place is None else [place[0].number, place[1]] for place in places]
        segment.targets[key] = Target(tuple(places), len(self.targets))
        self.targets.append(embedded(described))

    def _follow_aside(self, position: int, before: State, after: State) -> None:
        """Follow what is no conversation."""
        operations: list[list[Any]] = []
        if look.shared(before) is not look.shared(after):
            changed = diff(look.shared(before), look.shared(after))
            operations += [[verb, ["state", *path], *rest] for verb, path, *rest in changed]
        if not look.same_session(before, after):
            rest = _rest_of(after)
            operations += diff(self._rest, rest)
            self._rest = rest
        operations += self._follow_runs(before, after)
        if operations:
            self._say_aside(position, operations)

    def _follow_runs(self, before: State, after: State) -> list[list[Any]]:
        """Return what changed of the runs, of which a thread may have many."""
        changed = look.runs_changed(before, after)
        operations: list[list[Any]] = []
        if not changed:
            return operations
        told, known = project(look.aside(after, changed)).runs, len(self._runs)
        for number, run in zip(changed, told, strict=True):
            if run["status"] == "running":
                # It lasts until the event before, whichever that is.
                run["span"][1] = None
            if number < known:
                was = self._runs[number]
                operations += [[verb, ["runs", number, *path], *rest] for verb, path, *rest in diff(was, run)]
                self._runs[number] = run
            else:
                operations.append([SPLICE, ["runs"], number, 0, [run]])
                self._runs.append(run)
        if look.uses(after, changed):
            usage = project(look.aside(after, range(len(self._runs)))).usage
            operations += [[verb, ["usage", *path], *rest] for verb, path, *rest in diff(self._usage, usage)]
            self._usage = usage
        return operations

    def _say_aside(self, position: int, operations: list[list[Any]]) -> None:
        self.aside.append(embedded([position, self.values.operations(operations)]))

    def _project(self, position: int, after: State, segment: Segment) -> Learned:
        """Project a segment anew."""
        segment.settle()
        behind = self._segments.behind(segment)
        part = look.part(after, segment.keys, segment.calls, first=self._segments.is_first(segment))
        learned: Learned = []
        for number, side in enumerate(self.sides):
            snapshot = project(part, side.layout)
            old, changes = segment.slots[number][:], []
            segment.slots[number].clear()
            keys = look.keys_shown(part, side.layout)
            for message, origin, key in zip(snapshot.messages, snapshot.origins, keys, strict=True):
                slot, operations = self._slot(side, message, origin.span, key, position)
                segment.slots[number].append(slot)
                if operations is not None:
                    changes.append((slot, operations))
            numbers = ([slot.number for slot in slots] for slots in (old, segment.slots[number]))
            side.order.replace(position, sum(len(other.slots[number]) for other in behind), *numbers)
            learned.append(changes)
            if side.layout is Layout.STREAMED:
                waiting = snapshot.pending_tool_calls
                self.pending.replace(position, sum(len(other.pending) for other in behind), segment.pending, waiting)
                segment.pending = waiting
        return learned

    def _slot(
        self, side: Side, message: dict[str, Any], span: tuple[int, int], key: Key, position: int
    ) -> tuple[Slot, list[Any] | None]:
        """Return the slot of a message, and what has changed of it, `None` where nothing has."""
        slot, entity = side.slots.get(message["id"]), self._numbers.get(key, -1)
        if slot is None:
            slot = side.slots[message["id"]] = Slot(len(side.slots), message, span, entity)
            operations = [[SET, [], message]]
        else:
            operations = [] if _equal(slot.message, message) else diff(slot.message, message)
            if not operations and (slot.span, slot.entity) == (span, entity):
                return slot, None
            slot.message, slot.span, slot.entity = message, span, entity
        told = self.values.operations(operations)
        side.changes.append(embedded([position, slot.number, *span, entity, *([told] if told else [])]))
        return slot, operations


def _written(before: State, after: State, altered: Altered) -> tuple[Key, str] | None:
    """Return the row or call and what was written to it, where that is all that the event did."""
    if len(altered) != 1 or look.timeline(before) is not look.timeline(after):
        return None
    [(key, (was, now))] = altered.items()
    if was is None or now is None or was.entity is not now.entity or was.first != now.first:
        return None
    # A first text may make a row show, and that may change the ids of others.
    if was.first < 0 or was.rope is None or key[0] not in (TEXT, REASONING, CALL):
        return None
    delta = look.grown(was.rope, now.rope)
    return None if delta is None else (key, delta)


def _equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Say quickly whether two messages are the same JSON, types included; `diff` has the last word."""
    try:
        return one == other and repr(one) == repr(other)
    except RecursionError:
        return False


def _rest_of(state: State) -> dict[str, Any]:
    """Return the snapshot without what is followed in other ways."""
    told = project(look.aside(state)).to_dict()
    for name in ("messages", "origins", "pendingToolCalls", "state", "anomalies", "runs", "usage"):
        del told[name]
    return told
