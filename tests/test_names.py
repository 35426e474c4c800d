"""Ids that nothing else has: what the projection makes of ids that are in use."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from reducer import EMPTY, Layout, fold_all, project
from reducer._names import Taken

NAMES = st.builds("{}{}".format, st.sampled_from(["", "a", "a#1", "a'b"]), st.integers(0, 4).map("'".__mul__))


class TestTaken:
    """The ids in use, and what is free behind them."""

    @given(st.sets(NAMES), st.lists(NAMES))
    @example({"a"}, ["a", "a", "a"])
    @example({"a", "a'", "a''"}, ["a'", "a", "a'"])
    @example(set(), ["", "", "'"])
    def test_is_the_first_that_is_free(self, used: set[str], asked: list[str]) -> None:
        """An id gets as few apostrophes as make it another than all that are in use, and is in use from then on."""
        taken, known = Taken(set(used)), set(used)
        for name in asked:
            free = name
            while free in known:
                free += "'"
            known.add(free)
            assert taken.free(name) == free

    def test_costs_no_more_with_each(self) -> None:
        """To find an id takes as many steps behind 2,000 that are in use as behind 100."""
        short, long = (steps(count) / count for count in (100, 2_000))
        assert long <= short * 1.5


def steps(count: int) -> int:
    """Return the lines that run while ids are found behind so many."""
    taken = Taken({"a" + "'" * number for number in range(2 * count)})
    lines = 0

    def trace(_: FrameType, what: str, __: Any) -> Any:
        nonlocal lines
        lines += what == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for number in range(count):
            taken.free("a" + "'" * number)
    finally:
        sys.settrace(before)
    return lines


def test_ids_that_were_made_to_collide() -> None:
    """Ids like those that the projection derives make it derive others; each stands once, the same each time."""
    crafted = ("x", "x#c'", "x#c''", "x#c''''", "x#d")
    texts = [{"type": "TEXT_MESSAGE_CHUNK", "messageId": name, "delta": "x"} for name in crafted]
    results = [
        {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": call, "content": "ok"} for call in ("c", "c'", "d")
    ]
    state = fold_all(EMPTY, [{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}, *texts, *results])
    for layout in Layout:
        assert [message["id"] for message in project(state, layout).messages] == [*crafted, "x#c", "x#c'''", "x#d'"]
