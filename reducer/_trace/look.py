"""What tracing has to know of a state that `project` does not tell: the one module here that reads private records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyrsistent import pvector

from reducer._cases._entities import find
from reducer._frozen import Frozen, Object
from reducer._index import Index
from reducer._order import Conversed, grouped, merged_order, names, streamed_names, streamed_order
from reducer._project import Layout
from reducer._records import ACTIVITY, CALL, REASONING, RESULT, TEXT, Call, Entry, Key, Message, Owner
from reducer._session import Anomalies, Anomaly, Scope, Session
from reducer._state import EMPTY, State, closed, opened, rope_at
from reducer._text import Rope, pieces
from reducer._touched import indexed

__all__ = ["ACTIVITY", "CALL", "EMPTY", "REASONING", "RESULT", "TEXT", "Anomaly", "Entry", "Key", "Owner", "State"]

Altered = dict[Key, "tuple[Entry | None, Entry | None]"]
"""The entities that an event changed: what each was before, and what it is now."""

GROUP = "group"
CUTS = (TEXT, REASONING)
"""The kinds of entities whose rows are cut; groups of calls are too."""


def timeline(state: State) -> Any:
    """Return one key for each row, in opening order: a persistent vector."""
    return state.conversation.timeline


def entry_of(state: State, key: Key) -> Entry | None:
    """Return an entity with what is written now."""
    return find(state, key)


def is_open(state: State, key: Key) -> bool:
    """Say whether an entity is open."""
    return key in state.live


def restated(before: State, after: State) -> bool:
    """Say whether rows that stood before the event may stand elsewhere now."""
    one, other = before.conversation, after.conversation
    return one.settled is not other.settled or len(other.timeline) < len(one.timeline)


def altered(before: State, after: State) -> Altered:
    """Return what an event changed, in no order that means anything."""
    found: Altered = {}
    for key in _candidates(before, after):
        was, now = find(before, key), find(after, key)
        if was is None or now is None:
            if was is not now:
                found[key] = (was, now)
        elif was.entity is not now.entity or was[1:3] != now[1:3] or was.rope is not now.rope:
            found[key] = (was, now)
    return found


def _candidates(before: State, after: State) -> list[Key]:
    """Return the keys of what may have changed, and of little else."""
    one, other = before.live, after.live
    found = [
        key
        for key, now in other.items()
        if (was := one.get(key)) is not now or rope_at(before, was[3]) is not rope_at(after, now[3])
    ]
    found += [key for key in one if key not in other]
    return found + indexed(before, after)


def grown(before: Rope, after: Rope) -> str | None:
    """Return what was written behind a text, `None` where it is not the old text with something behind it."""
    if before is after:
        return ""
    if after is not None and after[1] is before:
        return after[0]
    was, now = ("".join(pieces(rope)) for rope in (before, after))
    return now[len(was) :] if now.startswith(was) else None


def is_boundary(before: State, after: State) -> bool:
    """Say whether a run began or ended, which cuts whatever is current."""
    return before.conversation.base is not after.conversation.base


def cuts(before: State, after: State) -> Iterator[tuple[Owner, str]]:
    """Yield the lanes, and what of each, that the event's opening cut."""
    now, lanes = before.position, before.conversation.lanes
    if after.conversation.opened != now:
        return
    for owner, lane in after.conversation.lanes.items():
        if lane is not lanes.get(owner):
            text, reasoning, groups, _ = lane
            if text == now:
                yield owner, TEXT
            if reasoning == now:
                yield owner, REASONING
            if not groups:
                yield owner, GROUP


def place_of(entry: Entry | None) -> tuple[Key, int] | None:
    """Return the message and the ordinal of the row that shows a call."""
    return entry.entity.place if entry is not None and isinstance(entry.entity, Call) else None


def row_written(entry: Entry) -> int | None:
    """Return the ordinal of a message's current row, `None` where it has none."""
    return len(entry.entity.rows) if isinstance(entry.entity, Message) and entry.first >= 0 else None


def calls_shown(state: State) -> dict[Key, list[Key]]:
    """Return the calls of each message that shows any."""
    calls = grouped({**closed(state.conversation), **opened(state)})
    return {key: [call for row in rows.values() for call in row] for key, rows in calls.items()}


def newest(before: State, after: State) -> Iterable[Anomaly]:
    """Return the anomalies that the event added."""
    known, anomalies = before.session.anomalies, after.session.anomalies
    return anomalies.latest if anomalies is not known else ()


def shared(state: State) -> Frozen:
    """Return the shared state, frozen."""
    return state.session.shared


def same_session(before: State, after: State) -> bool:
    """Say whether an event left all but the conversation, the shared state and the runs alone."""
    if before.session is after.session:
        return True
    return _rest(before.session) == _rest(after.session)


def _rest(session: Session) -> Session:
    return session._replace(shared=None, runs=pvector(), scope=Scope(), active=0)


def aside(state: State, runs: Iterable[int] = ()) -> State:
    """Return a state with nothing but the session, of its runs only those of these numbers: it costs little to project.

    Shared state and details of anomalies are left out too.
    """
    told = state.session
    anomalies = Anomalies(told.anomalies.counts)
    kept = pvector(told.runs[number] for number in runs)
    session = told._replace(shared=Object({}), runs=kept, anomalies=anomalies)
    return EMPTY._replace(position=state.position, session=session)


def runs_changed(before: State, after: State) -> list[int]:
    """Return the numbers of the runs that an event began or changed."""
    one, other = before.session, after.session
    old, new = one.runs, other.runs
    changed = []
    if old is not new:
        changed = [number for number, pair in enumerate(zip(old, new, strict=False)) if pair[0] is not pair[1]]
        changed += range(len(old), len(new))
    if new and one.scope.subagents is not other.scope.subagents and len(new) - 1 not in changed:
        changed.append(len(new) - 1)
    return changed


def uses(state: State, runs: Iterable[int]) -> bool:
    """Say whether one of these runs has told of tokens."""
    return any(state.session.runs[number].usage for number in runs)


def part(state: State, keys: list[Key], calls: Iterable[Key], *, first: bool) -> State:
    """Return a state of the rows `keys` and the calls in them alone; `first` says that no others stand before them."""
    settled = state.conversation.settled if first else None
    wanted = [*keys, *calls, *(settled.order if settled else ()), *((CALL, key[2]) for key in keys if key[0] == RESULT)]
    entries: dict[Key, Entry] = {}
    for key in wanted:
        entry = find(state, key)
        if entry is not None:
            entries[key] = entry
            home: Key = (TEXT, entry.entity.home) if key[0] == CALL else key
            held = find(state, home)
            if held is not None:
                entries[home] = held
    conversation = EMPTY.conversation._replace(timeline=pvector(keys), index=Index.of(entries), settled=settled)
    return EMPTY._replace(position=state.position, conversation=conversation)


def keys_shown(state: State, layout: Layout) -> list[Key]:
    """Return the entity of each message that `project` shows in that layout."""
    look = Conversed(state)
    if layout is Layout.MERGED:
        return merged_order(look)
    return [shown.key for shown in streamed_order(look)]


def rows_shown(state: State, layout: Layout) -> list[tuple[str, Key, int]]:
    """Return, for each message that `project` shows, its id, its entity and the ordinal of the first row in it."""
    look = Conversed(state)
    if layout is Layout.MERGED:
        order = merged_order(look)
        shown = names(look, order)[0]
        return [(shown[key], key, 0) for key in order]
    messages = streamed_order(look)
    return [(name, one.key, one.ordinal) for name, one in zip(streamed_names(look, messages), messages, strict=True)]


def visibility(state: State) -> Callable[[Key, int], bool]:
    """Return what says whether a row of a message shows."""
    look = Conversed(state)

    def is_visible(key: Key, ordinal: int) -> bool:
        return key[0] not in (TEXT, REASONING) or ordinal in look.visible(key)

    return is_visible
