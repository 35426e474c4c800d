"""Hypothesis strategies for AG-UI streams, for this library's tests and for yours (extra: `hypothesis`).

Whatever folds, stores or shows AG-UI events can be tested with them. Events come in wire form, plain dicts with
camelCase keys, so nothing of this library is needed on the other side:

    from hypothesis import given
    from reducer.strategies import streams

    @given(streams())
    def test_my_store_keeps_every_reply(stream):
        ...

`streams` gives whole streams that the specification allows, `broken_streams` such streams with one thing wrong,
`events` anything well-formed in any order. `interleavings` and `recuts` give pairs for laws on two runs: one set of
lanes merged and one after another, one stream with its deltas cut in two ways.

Every strategy that gives valid streams takes the same keywords, the fields of `Features`, to switch parts of the
protocol off, or on where they are off because consumers disagree about them:

    streams(subagents=False, snapshots=False)

The laws of `reducer.laws`, which hold on all of them, are here too: `LAWS` by name, and each under its own.

An interleaving is drawn as waiting times: each event carries how long its lane waits before it, and lanes are merged
by clock. So examples shrink to one lane after another wherever the order does not matter, and to few, short lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from reducer._streams import draws
from reducer._streams.edits import BREAKS, RECUTS, broken, recut
from reducer._streams.features import Features
from reducer._streams.lanes import Lane, Names, Step
from reducer._streams.runs import bare_run, by_clock, one_by_one, write_lanes, write_stream
from reducer._streams.standing import weaver
from reducer._streams.wild import PATCH_POINTERS, well_formed
from reducer.laws import (
    LAWS,
    adjacency,
    batching,
    changes,
    compaction,
    delta_insensitivity,
    hydration,
    idempotence,
    lane_independence,
    nothing_lost,
    purity,
    rejoining,
    resumption,
    totality,
    unique_ids,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

Event = dict[str, Any]
Stream = list[Event]

__all__ = [
    "LAWS",
    "Event",
    "Features",
    "Lane",
    "Step",
    "Stream",
    "adjacency",
    "batching",
    "broken_streams",
    "changes",
    "compaction",
    "delta_insensitivity",
    "events",
    "hydration",
    "idempotence",
    "in_turn",
    "interleavings",
    "json_values",
    "lane_independence",
    "lanes",
    "merge",
    "nothing_lost",
    "patches",
    "purity",
    "recuts",
    "rejoining",
    "resumption",
    "streams",
    "totality",
    "unique_ids",
]


def streams(**features: Any) -> st.SearchStrategy[Stream]:
    """Give whole streams that the specification allows, of one or more runs."""
    return _streams(Features(**features))


def lanes(**features: Any) -> st.SearchStrategy[list[Lane]]:
    """Give the lanes of one run, each in its own order, to be merged; the first is the parent agent's."""
    return _lanes(Features(**features))


def merge(lanes: Sequence[Lane]) -> Stream:
    """Merge lanes by clock into a stream of one run."""
    return bare_run(by_clock(lanes))


def in_turn(lanes: Sequence[Lane]) -> Stream:
    """Put lanes one after another into a stream of one run."""
    return bare_run(one_by_one(lanes))


def interleavings(**features: Any) -> st.SearchStrategy[tuple[Stream, Stream]]:
    """Give pairs of streams: the same lanes merged, and in turn.

    Lanes that speak for each other are off unless asked for: snapshots, untagged continuations, foreign results.
    """
    return lanes(**{"snapshots": False, "untagged": False, **features}).map(
        lambda drawn: (merge(drawn), in_turn(drawn))
    )


def recuts(**features: Any) -> st.SearchStrategy[tuple[Stream, Stream]]:
    """Give pairs of streams that differ only in where deltas are cut, and in which spelling items have."""
    edits = st.lists(st.tuples(st.sampled_from(RECUTS), _index, _index), min_size=1, max_size=4)
    drawn = _streams(Features(**{"untagged": False, **features}))
    return st.tuples(drawn, edits).map(lambda pair: (pair[0], recut(*pair)))


def broken_streams(**features: Any) -> st.SearchStrategy[Stream]:
    """Give streams with one mutation: an event dropped, doubled, moved, retagged, renamed or of another type."""
    edit = st.tuples(st.sampled_from(BREAKS), _index, _index)
    return st.tuples(_streams(Features(**features)), edit).map(lambda pair: broken(*pair))


def events(*, max_size: int = 12) -> st.SearchStrategy[Stream]:
    """Give well-formed events in any order, whose few ids collide within kinds and across them."""
    small = st.integers(0, 5)
    return st.lists(st.builds(well_formed, _index, small, small, small, small), max_size=max_size)


def json_values(*, max_leaves: int = 8) -> st.SearchStrategy[Any]:
    """Give JSON values; integers fit in what every JSON reader keeps exact, and no float is a whole number."""
    exact = st.integers(-(2**53) + 1, 2**53 - 1)
    halves = st.integers(-1000, 1000).map(lambda number: number + 0.5)
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    keys = st.sampled_from(("a", "b", "", "x/y", "m~n", "0", "é"))
    leaves = st.none() | st.booleans() | exact | halves | texts
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=max_leaves,
    )


def patches(*, max_size: int = 4) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Give RFC 6902 patches over few, colliding pointers; many do not apply to most documents."""
    path = st.sampled_from(PATCH_POINTERS)
    value = json_values(max_leaves=3)
    operation = st.one_of(
        st.fixed_dictionaries({"op": st.sampled_from(("add", "replace", "test")), "path": path, "value": value}),
        st.fixed_dictionaries({"op": st.just("remove"), "path": path}),
        st.fixed_dictionaries({"op": st.sampled_from(("move", "copy")), "from": path, "path": path}),
    )
    return st.lists(operation, max_size=max_size)


_index = st.integers(0, 60)


# Composites, because the whole of what they draw makes a name that fills screens when an example fails.
@st.composite
def _streams(draw: st.DrawFn, has: Features) -> Stream:
    drawn = draw(draws.runs(has))
    return write_stream(drawn, Names(typed=has.value_types, reopening=has.reopening), weaver(drop_open=has.drop_open))


@st.composite
def _lanes(draw: st.DrawFn, has: Features) -> list[Lane]:
    drawn = draw(draws.lanes(has))
    return write_lanes(drawn, Names(typed=has.value_types, reopening=has.reopening), weaver(drop_open=has.drop_open))
