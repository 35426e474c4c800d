"""What is settled told by one snapshot, in a log that is being compacted.

A snapshot brings messages as they are, where parts bring them as they came. The two may stand for each other where
nothing that can follow tells them apart, in neither layout. So this takes the longest beginning of the timeline that
a snapshot can tell, tells it right behind the first RUN_STARTED, and leaves the other parts where they are. In front
of all other runs no input that they echo comes before what it would come after, and no boundary is lost.

Whether that went well is not argued but looked at: the shorter log is folded, and has to come to a state that has all
that any later event asks about (`_essence`). Else the parts stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from reducer._batch import fold_all
from reducer._cases._mark import MOST_ROWS, is_current, is_shell, mark
from reducer._frozen import same
from reducer._order import Conversed, merged_order, streamed_order
from reducer._project import Layout, held, project
from reducer._records import ACTIVITY, CALL, REASONING, RESULT, TEXT, Entry, Key, Owner
from reducer._run import current
from reducer._slots import Kept, Part
from reducer._state import EMPTY, State, lane_of
from reducer._text import text

STARTED, SNAPSHOT = "RUN_STARTED", "MESSAGES_SNAPSHOT"


def restated(parts: list[Part], state: State, told: list[Any]) -> list[Any]:
    """Return `told`, the log that the parts say, or a shorter one that begins with a snapshot."""
    settled = _settled(state)
    if not settled or any(run.status == "truncated" for run in state.session.runs):
        return told
    shorter = _with_snapshot(parts, state, settled)
    if shorter is None or len(shorter) >= len(told):
        return told
    one, other = _essence(fold_all(EMPTY, shorter)), _essence(state)
    # What shows is plain JSON, which compares by type, and to any depth.
    return shorter if same(one[0], other[0]) and one[1:] == other[1:] else told


def _with_snapshot(parts: Iterable[Part], state: State, settled: set[Key]) -> list[Any] | None:
    """Return the log with a snapshot for what is settled; `None` where it does not begin as logs do."""
    kept = [part for part in parts if part.alive and part.key not in settled and not _is(part, SNAPSHOT)]
    if not kept or not _is(kept[0], STARTED):
        return None
    messages = [message for key, message in held(state) if key in settled]
    snapshot = {"type": SNAPSHOT, "messages": messages, "metadata": mark(state, settled)}
    return [*kept[0].told(), snapshot, *(event for part in kept[1:] for event in part.told())]


def _is(part: Part, kind: str) -> bool:
    return isinstance(part, Kept) and part.event is not None and part.event.type == kind


def _settled(state: State) -> set[Key]:
    """Return the messages, and their calls, at the beginning of the timeline that a snapshot can tell."""
    look = Conversed(state)
    shown = [one.key for one in streamed_order(look)]
    apart = {key for key, count in Counter(shown).items() if count > 1 and key[0] != RESULT} | _interrupted(look)
    order: dict[Key, tuple[Key, ...]] = {}
    names: set[str] = set()
    called: set[str] = set()
    for key in dict.fromkeys(look.timeline):
        calls = None if key in apart or key[1] in names else _calls(state, look, key)
        if calls is None or not called.isdisjoint(call[1] for call in calls):
            break
        order[key] = calls
        names.add(key[1])
        called.update(call[1] for call in calls)
    merged = [key for key in merged_order(look) if key in order]
    told = _agreed(list(order), merged, [key for key in shown if key in order])
    return {one for key in told for one in (key, *order[key])}


def _interrupted(look: Conversed) -> set[Key]:
    """Return the messages with anything but results of their lane between their rows, which may show one day."""
    latest: dict[Owner, Key] = {}
    seen: set[Key] = set()
    found: set[Key] = set()
    for key in look.timeline:
        if key[0] != RESULT:
            owner = look.entries[key].entity.owner
            if key in seen and latest.get(owner) != key:
                found.add(key)
            latest[owner] = key
            seen.add(key)
    return found


def _calls(state: State, look: Conversed, key: Key) -> tuple[Key, ...] | None:
    """Return the calls of what stands under `key`; `None` where there is more to say than a snapshot says."""
    entry, runs = look.entries[key], state.session.runs
    # What belongs to a run that goes on has to be told in that run.
    if current(state) is not None and len(runs) > 1 and entry.entity.run == len(runs):
        return None
    if key[0] in (RESULT, ACTIVITY):
        return ()
    rows = look.rows(key)
    calls = tuple(call for ordinal in range(len(rows)) for call in look.calls(key, ordinal))
    if len(key) > 2 or key in state.live or len(rows) > MOST_ROWS or _joinable(state, key, entry):
        return None
    if calls and is_current(state, entry):
        return None
    return calls if all(_is_plain(state, look.entries[call], call, key) for call in calls) else None


def _is_plain(state: State, entry: Entry, call: Key, holder: Key) -> bool:
    """Say whether a call is all that its message says about it."""
    return len(call) == 2 and call not in state.live and entry.entity.home == holder[1] and entry.entity.echo is None


def _joinable(state: State, key: Key, entry: Entry) -> bool:
    """Say whether a call may still join the calls of a message."""
    return key in lane_of(state.conversation, entry.entity.owner).groups


def _agreed(keys: list[Key], merged: list[Key], streamed: list[Key]) -> list[Key]:
    """Return the beginning of `keys` that both layouts have in the same order, and the timeline but for results."""
    place = {key: number for number, key in enumerate(keys)}
    visible, end = set(streamed), len(keys)
    opened = ([key for key in keys if key[0] != RESULT], [key for key in merged if key[0] != RESULT])
    for one, other in (opened, (streamed, [key for key in merged if key in visible])):
        pairs = enumerate(zip(one, other, strict=True))
        same = next((number for number, (here, there) in pairs if here != there), len(one))
        end = min([end, *(place[key] for key in one[same:])])
    return keys[:end]


def _essence(state: State) -> tuple[Any, ...]:
    """Return all of a state that shows, or that a later event asks about, without positions."""
    look, shown = Conversed(state), project(state)
    conversation, runs, scope = state.conversation, state.session.runs, state.session.scope
    count = len(runs)
    known = {key: entry.entity.tag for key, entry in look.entries.items() if getattr(entry.entity, "run", -1) == count}
    return (
        (shown.messages, project(state, Layout.MERGED).messages, shown.state, shown.interrupts),
        [(run._replace(first=0, last=0, subagents={}), {*run.subagents}) for run in runs],
        ({*scope.steps}, scope.spans, {*scope.subagents}, scope.thinking) if current(state) is not None else None,
        [key for key in dict.fromkeys(look.timeline) if key[0] != RESULT],
        _facts(state, look),
        {owner: latest for owner, (*_, latest) in conversation.lanes.items() if latest is not None},
        (conversation.unclaimed, conversation.streams and conversation.streams.lanes, set(state.live)),
        known if current(state) is not None else None,
    )


def _facts(state: State, look: Conversed) -> dict[Key, list[Any]]:
    """Return about each message and call what the fold may ask; of calls under one id in the order they came."""
    facts: dict[Key, list[Any]] = {}
    for key, entry in sorted(look.entries.items(), key=lambda item: (item[1].first, item[0])):
        kind, entity = key[0], entry.entity
        if kind == CALL:
            holder = entity.place and entity.place[0]
            call = entity._replace(run=0, tag=None, place=holder, rank=0)
            facts.setdefault(key[:2], []).append((call, text(entry.rope)))
        elif kind in (TEXT, REASONING):
            rows = look.rows(key)
            message = entity._replace(run=0, tag=None, rows=None, stated=key not in look.grouped and is_shell(entry))
            facts[key] = [message, len(rows), is_current(state, entry), _joinable(state, key, entry)]
    for one in streamed_order(look):
        if one.key[0] in (TEXT, REASONING):
            told = [text(*(row.rope for row in one.rows)), [call[:2] for call in one.calls]]
            # Which of its rows the first message shows is nothing that an id is made of.
            facts[one.key] += [told if len(facts[one.key]) == 4 else [one.ordinal, *told]]
    return facts
