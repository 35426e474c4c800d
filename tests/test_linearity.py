"""The law of linearity, counted in operations: work per event does not grow with the thread or the message.

No clock: what is counted are the instructions that the interpreter executes for each event, the entries that mappings
copy, and the characters that ropes join.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import accumulate
from types import FrameType
from typing import Any

import pytest

from reducer import EMPTY, Layout, State, View, decode, fold, project
from reducer import _index as indexing
from reducer import _text as texts

Events = list[Any]


def run(*events: dict[str, Any]) -> Events:
    """Return a run of one thread, decoded."""
    started = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    return [decode(event) for event in (started, *events)]


def text(name: str, deltas: int) -> Iterator[dict[str, Any]]:
    """Yield a text message of so many deltas."""
    yield {"type": "TEXT_MESSAGE_START", "messageId": name}
    for _ in range(deltas):
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": "word"}
    yield {"type": "TEXT_MESSAGE_END", "messageId": name}


def turn(name: str) -> Iterator[dict[str, Any]]:
    """Yield reasoning, a text, a call of the text and its result."""
    yield {"type": "REASONING_MESSAGE_START", "messageId": f"g{name}", "role": "reasoning"}
    yield {"type": "REASONING_MESSAGE_CONTENT", "messageId": f"g{name}", "delta": "hm"}
    yield {"type": "REASONING_MESSAGE_END", "messageId": f"g{name}"}
    yield from text(f"m{name}", 2)
    yield {"type": "TOOL_CALL_START", "toolCallId": f"c{name}", "toolCallName": "f", "parentMessageId": f"m{name}"}
    yield {"type": "TOOL_CALL_ARGS", "toolCallId": f"c{name}", "delta": "{}"}
    yield {"type": "TOOL_CALL_END", "toolCallId": f"c{name}"}
    yield {"type": "TOOL_CALL_RESULT", "messageId": f"r{name}", "toolCallId": f"c{name}", "content": "ok"}


class Counter:
    """Counts instructions while events are folded."""

    def __init__(self) -> None:
        self.count = 0

    def _trace(self, frame: FrameType, what: str, _: Any) -> Callable[..., Any]:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if what == "opcode":
            self.count += 1
        return self._trace

    def fold(self, state: State, events: Events) -> State:
        """Fold the events, counting."""

        def step(event: Any) -> None:
            nonlocal state
            state = fold(state, event)

        self.run(step, events)
        return state

    def run(self, step: Callable[[Any], Any], events: Iterable[Any]) -> None:
        """Do a step for each of the events, or states, counting."""
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            for event in events:
                step(event)
        finally:
            sys.settrace(before)


def per_event(before: Events, events: Events) -> float:
    """Return the instructions for each of `events` after `before`."""
    counter = Counter()
    counter.fold(reduce(fold, before, EMPTY), events)
    return counter.count / len(events)


@pytest.mark.slow
class TestLinearity:
    """Work per event does not grow with the thread or the message, counted in operations, not seconds."""

    def test_long_message(self) -> None:
        """A delta takes as many instructions in a message of 30,000 deltas as in one of 300."""
        deltas = [decode(event) for event in text("m", 320)][1:-1]
        short = per_event(run(*text("m", 300))[:-1], deltas)
        long = per_event(run(*text("m", 30_000))[:-1], deltas)
        assert long <= short * 1.1

    def test_long_thread(self) -> None:
        """A turn takes as many instructions on a thread of 2,000 turns as on one of 50, but for a few layers more."""
        last = [decode(event) for number in range(40) for event in turn(f"x{number}")]
        short = per_event(run(*(event for number in range(50) for event in turn(str(number)))), last)
        long = per_event(run(*(event for number in range(2_000) for event in turn(str(number)))), last)
        assert long <= short * 1.34

    def test_many_open(self) -> None:
        """A delta takes as many instructions with 4,000 messages open as with 100, but for a persistent map's depth."""

        def opened(count: int) -> Events:
            return run(*({"type": "TEXT_MESSAGE_START", "messageId": f"m{number}"} for number in range(count)))

        few, many = (
            per_event(opened(count), [decode(event) for n in range(99) for event in list(text(f"m{n}", 1))[1:2]])
            for count in (100, 4_000)
        )
        assert many <= few * 1.6

    @pytest.mark.parametrize("layout", list(Layout))
    def test_view(self, layout: Layout) -> None:
        """To follow a turn takes a view as many instructions on a thread of 1,000 turns as on one of 50, nearly."""
        last = [decode(event) for number in range(20) for event in turn(f"x{number}")]
        figures = []
        for turns in (50, 1_000):
            before = reduce(fold, run(*(event for number in range(turns) for event in turn(str(number)))), EMPTY)
            view, counter = View(before, layout), Counter()
            assert len(view.messages) == 3 * turns
            states = list(accumulate(last, fold, initial=before))
            counter.run(view.update, states)
            assert [*view.messages] == project(states[-1], layout).messages
            figures.append(counter.count / len(last))
        assert figures[1] <= figures[0] * 1.34

    def test_copied_entries(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Mappings copy a bounded number of entries for each event, at any size of the thread."""
        copied = 0

        def counting(put: Any) -> Any:
            def counted(self: Any, *entries: Any) -> Any:
                nonlocal copied
                after = put(self, *entries)
                old = {id(layer) for layer in self.layers}
                copied += sum(len(layer) for layer in after.layers if id(layer) not in old)
                return after

            return counted

        for name in ("put", "put_all"):
            monkeypatch.setattr(indexing.Index, name, counting(getattr(indexing.Index, name)))
        figures = []
        for turns in (200, 4_000):
            copied = 0
            events = run(*(event for number in range(turns) for event in turn(str(number))))
            reduce(fold, events, EMPTY)
            figures.append(copied / len(events))
        assert figures[1] <= figures[0] * 1.5
        assert figures[1] < 40

    def test_joined_characters(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each character of a long text is joined a few times, not once for every delta."""
        joined = 0
        pack = texts.pack

        def counting(rope: Any, delta: str, position: int) -> Any:
            nonlocal joined
            after = pack(rope, delta, position)
            assert after is not None
            joined += len(after[0])
            return after

        monkeypatch.setattr(texts, "pack", counting)
        monkeypatch.setattr("reducer._fold.pack", counting)
        figures = []
        for deltas in (2_000, 100_000):
            joined = 0
            reduce(fold, run(*text("m", deltas)), EMPTY)
            figures.append(joined / (4 * deltas))
        assert figures[1] <= figures[0] + 8
        assert figures[1] < 20

    def test_pieces(self) -> None:
        """A text of 100,000 deltas lies in a few dozen pieces, so that a look at it is cheap at any moment."""
        state = reduce(fold, run(*text("m", 100_000))[:-1], EMPTY)
        assert len(texts.pieces(state.ropes[0])) < 60
        assert project(state).messages[0]["content"] == "word" * 100_000
