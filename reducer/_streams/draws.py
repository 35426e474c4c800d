"""Recipes as Hypothesis draws them: a strategy for each, from the switches that are on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from . import material
from .features import Features
from .recipes import (
    Activity,
    Alone,
    Change,
    Conduct,
    Ending,
    Kept,
    LaneRecipe,
    Late,
    Manner,
    Parent,
    Phase,
    Restated,
    RunRecipe,
    Span,
    Streaming,
)
from .says import PLAIN, Answered, Delta, End, Look, Next, Sealed, With

Drawn = st.SearchStrategy[Any]

# Waiting is drawn as numbers, not out of a table, so that the shrinker can move it from one event to the next.
_gap = st.integers(0, 3)
_beside = st.booleans()
_content = st.sampled_from(material.RESULTS)
_seal = st.builds(Sealed, _gap)
_end = st.builds(End)


@lru_cache(maxsize=64)
def runs(has: Features) -> st.SearchStrategy[list[RunRecipe]]:
    """Draw the runs of a stream."""
    withs = [With("ending", Ending.SUCCESS)] * 2
    if has.interrupts:
        withs += [With("ending", Ending.CANCELLED), *[With("ending", Ending.INTERRUPT)] * 3, With("bound", False)]
    if has.errors:
        withs += [
            With("ending", Ending.LATE_ERROR),
            *[With("ending", Ending.ERROR)] * 4,
            With("ending", Ending.UNSTARTED),
        ]
        withs += [With("lost", lost) for lost in (1, 2, 3, 5, 8)]
    if has.echoes:
        withs += [With("echo", (content,)) for content in material.USER_CONTENTS * 2] + [With("restated", True)] * 2
    if has.echoed_state:
        withs += [With("state", (state,)) for state in material.STATES]
    withs += [With("usage", usage) for usage in material.USAGES] + [
        With("returned", value) for value in material.RETURNS
    ]
    withs += [With("version", "1.0")] + [With("metadata", {"k": 1})] * has.metadata
    run = st.builds(RunRecipe, lanes(has), st.lists(st.sampled_from(withs), max_size=8))
    # Most of what goes wrong goes wrong in one run.
    one = st.lists(run, min_size=1, max_size=1)
    return st.one_of(one, st.lists(run, min_size=1, max_size=has.runs)) if has.runs > 1 else one


@lru_cache(maxsize=64)
def lanes(has: Features) -> st.SearchStrategy[list[LaneRecipe]]:
    """Draw the lanes of a run."""
    told = [(nested, ending) for nested in (False, True) for ending in (0, 1, 2, 3)]
    habits = [(False, False)] * 2 + [(True, False)] * has.untagged + [(False, True)] * has.interrupts
    conducts = [Conduct(False, False, 0, *habit) for habit in habits] * 4
    conducts += [Conduct(True, *way, *habit) for habit in habits for way in told]
    strands = [st.lists(st.one_of(*kinds), max_size=has.size) for kinds in _strands(has) if kinds]
    lane = st.builds(LaneRecipe, st.sampled_from(conducts), _gap, st.one_of(*strands) if strands else st.just(()))
    return st.lists(lane, max_size=3 if has.subagents else 1)


def _strands(has: Features) -> tuple[list[Drawn], list[Drawn]]:
    """Give strategies for the strands that have most to do with each other, and for all; the cheapest first."""
    talk: list[Drawn] = []
    if has.text:
        talk += [_text(has)] * 3
    if has.tools:
        talk += [_call(has)] * 6
    late = [st.builds(Late, _beside, _gap, _content)] * has.tools
    strands: list[Drawn] = []
    if has.steps:
        strands.append(st.builds(Phase, _beside, _gap))
    if has.state:
        strands += [_named("state", st.builds(Alone, _beside, _gap, st.sampled_from(material.STATE_EVENTS)))] * 2
    if has.passthrough:
        passed = [one for one in material.PASSED_EVENTS if has.metadata or "rawEvent" not in one]
        strands.append(_named("passed", st.builds(Alone, _beside, _gap, st.sampled_from(passed))))
    strands += [*late, *talk]
    if has.reasoning:
        strands += [_reasoning(has)] * 4
    if has.snapshots:
        withs = st.lists(st.sampled_from(_RESTATEMENTS), max_size=6)
        strands += [_named("restated", st.builds(Restated, _beside, _gap, withs))] * 3
    if has.activities:
        strands += [_activity(has)] * 2
    return [*late, *talk], strands


_RESTATEMENTS = (
    With("altered", True),
    *(With("reasoning", True),) * 3,
    *(With("activities", True),) * 5,
    With("kept", Kept.LATER_HALF),
    With("kept", Kept.NONE),
    With("results", False),
    With("values", False),
    With("backwards", True),
    *(With("fresh", role) for role in ("assistant", "call", "user", "reasoning")),
    *(With("authority", authority) for authority in material.AUTHORITIES),
)

_LOOKS = (
    *(PLAIN,) * 8,
    *(Look(form=form) for form in (1, 2, 1)),
    *(Look(metadata) for metadata in material.METADATA),
    *(Look(metadata, bare=True) for metadata in material.METADATA),
    Look(None, {"provider": "p"}),
    Look({"k": 2}, 0, 1),
)


def _named(name: str, strategy: Drawn) -> Drawn:
    """Give a strategy a short name: spelled out, all that it draws from fills screens."""

    def drawn(draw: st.DrawFn) -> Any:
        return draw(strategy)

    drawn.__name__ = name
    return st.composite(drawn)()


def _streaming(
    has: Features, kind: str, texts: Sequence[str], ways: Sequence[dict[str, Any]], says: Sequence[Drawn] = ()
) -> Drawn:
    """Draw something that streams; `ways` are what is often special about it, beside the spelling."""
    looks = [look for look in _LOOKS if has.metadata or look == Look(form=look.form)]
    deltas = (*texts, material.SPLIT, material.SPLIT) if has.surrogates else texts
    delta = st.builds(Delta, _gap, st.sampled_from(deltas), st.sampled_from(looks))
    spellings: list[dict[str, Any]] = [{}, {}, {"chunked": True}] if has.chunks else [{}]
    manners = [Manner(**spelling, **way) for way in ways for spelling in spellings]
    special = [With("metadata", pair) for pair in material.METADATA_PAIRS] * has.metadata
    special += [With("early", True)] * 6 * has.early_values
    if kind == "text":
        special += [With("speaker", speaker) for speaker in material.SPEAKERS] + [
            With("shared", 1)
        ] * 6 * has.shared_ids
    if kind == "call":
        special += [With("foreign", True)] * 4 * has.foreign_results
        special += [With("shared", 1), With("shared", 2)] * 2 * has.shared_ids
    # The cheapest first: examples shrink from what takes more choices to what takes fewer, not the other way.
    kinds = [_end, *[_seal] * has.values, *([st.sampled_from(special)] if special else []), *says]
    listed = st.lists(st.one_of(*kinds, *[delta] * 7), max_size=7)
    return _named(kind, st.builds(Streaming, st.just(kind), _beside, st.sampled_from(manners), listed))


def _text(has: Features) -> Drawn:
    return _streaming(has, "text", material.DELTAS, [{}])


def _call(has: Features) -> Drawn:
    often = (Parent.NONE, *(Parent.TEXT,) * 4, Parent.NONE, Parent.SAME, Parent.NEVER, Parent.NEXT)
    ways = [{"parent": parent} for parent in often] + [{"tool": "fetch"}]
    metadata = st.sampled_from((None, None, None, *material.METADATA)) if has.metadata else st.none()
    answered = st.builds(Answered, _gap, _content, metadata)
    return _streaming(has, "call", material.ARGUMENTS, ways, [answered, answered])


def _reasoning(has: Features) -> Drawn:
    ways: list[dict[str, Any]] = [{"span": span} for span in (Span.NONE, Span.OWN_ID, Span.SHARED_ID)]
    return _streaming(has, "reasoning", material.DELTAS, ways, [st.just(Next())])


def _activity(has: Features) -> Drawn:
    snapshots, changes = (
        [one for one in events if has.metadata or "metadata" not in one]
        for events in (material.ACTIVITY_SNAPSHOTS, material.ACTIVITY_CHANGES)
    )
    first = st.sampled_from(snapshots)
    # The name of a type belongs to the activity.
    events = [{name: value for name, value in one.items() if name != "activityType"} for one in (*changes, *snapshots)]
    change = st.builds(Change, _gap, st.sampled_from(events), st.sampled_from((False, False, False, True)))
    shared = {"shared": st.booleans()} if has.shared_ids else {}
    return _named("activity", st.builds(Activity, _beside, first, st.lists(change, max_size=3), **shared))
