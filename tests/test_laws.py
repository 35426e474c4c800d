"""The laws, each under its name: the docstring is the law as the documentation states it.

The laws on replay (hydration, rejoining, compaction, resumption) stand with what they are about; the reference law in
`test_reference.py`, linearity in `test_linearity.py`.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections import defaultdict
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reducer import EMPTY, Layout, MalformedEvent, State, fold, fold_all, project
from reducer.strategies import broken_streams, events, interleavings, recuts, streams

LAYOUTS = pytest.mark.parametrize("layout", list(Layout))
Stream = list[dict[str, Any]]


def folded(stream: Stream, state: State = EMPTY) -> State:
    """Return the state after the stream, one event at a time."""
    return reduce(fold, stream, state)


def messages(stream: Stream, layout: Layout = Layout.STREAMED) -> list[dict[str, Any]]:
    """Return the messages after the stream."""
    return project(folded(stream), layout).messages


class TestPurity:
    """`fold` and `project` change nothing they are given; equal input gives equal results, under any hash seed."""

    @given(streams(), st.sampled_from(Layout))
    def test_purity(self, stream: Stream, layout: Layout) -> None:
        """Events, earlier states and snapshots stay as they were, whatever is folded, projected or changed after."""
        untouched, twin = copy.deepcopy(stream), copy.deepcopy(stream)
        states = [EMPTY]
        for event in stream:
            states.append(fold(states[-1], event))
        before = [project(state, layout).to_dict() for state in states]
        assert stream == untouched
        _vandalise(stream)
        taken = project(states[-1], layout)
        for part in (taken.messages, taken.state, taken.runs, taken.interrupts, taken.usage):
            _vandalise(part)
        assert [project(state, layout).to_dict() for state in states] == before
        assert project(folded(twin), layout).to_dict() == before[-1]

    def test_hash_seed(self) -> None:
        """Two processes with different hash seeds print the same, whatever is made of a state."""
        one, other = _printed("1"), _printed("2")
        assert len(one) == len(other) > 100
        assert [(line[:80], again[:80]) for line, again in zip(one, other, strict=True) if line != again] == []


def _vandalise(value: Any) -> None:
    """Change every container in place."""
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            todo += one.values()
            one["vandal"] = one.pop(next(iter(one), "nothing"), None)
        elif isinstance(one, list):
            todo += one
            one.append("vandal")


def _printed(seed: str) -> list[str]:
    root = str(Path(__file__).parents[1])
    env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": root}
    command = [sys.executable, "-m", "tests.printed"]
    return subprocess.run(command, env=env, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()  # noqa: S603


class TestTotality:
    """`fold` returns a state for every sequence of events, in any order, repeated or missing."""

    @given(events(max_size=25))
    def test_anything(self, stream: Stream) -> None:
        """Well-formed events in any order fold, and every state on the way can be looked at."""
        state = EMPTY
        for number, event in enumerate(stream):
            state = fold(state, event)
            assert state.position == number + 1
            for layout in Layout:
                json.dumps(project(state, layout).to_dict())

    @given(streams(), st.randoms(use_true_random=False))
    def test_shuffled(self, stream: Stream, chance: Any) -> None:
        """A stream whose events come in another order, some twice and some not at all, folds."""
        shuffled = [event for event in stream for _ in range(chance.choice((0, 1, 1, 2)))]
        chance.shuffle(shuffled)
        state = folded(shuffled)
        assert state.position == len(shuffled)
        for layout in Layout:
            project(state, layout).to_dict()


class TestBatching:
    """`fold_all(state, events)` equals `reduce(fold, events, state)`, split anywhere."""

    @given(st.one_of(streams(), events(max_size=25), broken_streams()), st.integers(0, 30))
    def test_batching(self, stream: Stream, place: int) -> None:
        """Two batches give the state that single events give."""
        try:
            one_by_one = folded(stream)
        except MalformedEvent as error:
            # A stream that was broken by another type for an event may have lost what that type requires.
            with pytest.raises(MalformedEvent) as caught:
                fold_all(EMPTY, stream)
            assert str(caught.value) == str(error)  # noqa: PT017 - both ways raise alike
            return
        assert fold_all(fold_all(EMPTY, stream[:place]), stream[place:]) == one_by_one
        assert fold_all(EMPTY, iter(stream)) == one_by_one


class TestDeltaInsensitivity:
    """Cutting or joining deltas, or chunks for triads, leaves the projection alone."""

    @given(recuts(), st.sampled_from(Layout))
    def test_delta_insensitivity(self, pair: tuple[Stream, Stream], layout: Layout) -> None:
        """Two spellings of a stream show the same messages and state."""
        one, other = (project(folded(stream), layout) for stream in pair)
        assert one.messages == other.messages
        assert one.state == other.state


class TestLaneIndependence:
    """Every interleaving that keeps each lane's own order gives each lane the same rows, results' places aside."""

    @given(interleavings())
    def test_lane_independence(self, pair: tuple[Stream, Stream]) -> None:
        """Lanes merged and lanes in turn give each owner the same messages in the same order, but for results."""
        merged, in_turn = (_by_owner(messages(stream)) for stream in pair)
        assert merged == in_turn


def _by_owner(shown: list[dict[str, Any]]) -> dict[Any, tuple[list[Any], list[Any]]]:
    found: dict[Any, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for message in shown:
        found[message.get("subagentRunId")][message["role"] == "tool"].append(message)
    for _, results in found.values():
        results.sort(key=lambda message: str(message["id"]))
    return dict(found)


class TestNothingLost:
    """Every delta's text is in the snapshot once, in order; every encrypted value is on its entity."""

    @given(streams(snapshots=False, chunks=False, echoes=False, early_values=True), st.sampled_from(Layout))
    def test_nothing_lost(self, stream: Stream, layout: Layout) -> None:
        """What the deltas of an entity said, joined, is what its messages say, joined."""
        told: dict[tuple[str, str], str] = defaultdict(str)
        values: dict[tuple[str, str], str] = {}
        for event in stream:
            kind = event["type"]
            if kind in ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT"):
                told["message", event["messageId"]] += event["delta"]
            elif kind == "TOOL_CALL_ARGS":
                told["tool-call", event["toolCallId"]] += event["delta"]
            elif kind == "REASONING_ENCRYPTED_VALUE":
                values[event["subtype"], event["entityId"]] = event["encryptedValue"]
        shown: dict[tuple[str, str], str] = defaultdict(str)
        kept: dict[tuple[str, str], str] = {}
        for message in project(folded(stream), layout).messages:
            name = message["id"].split("#")[0]
            if message["role"] not in ("tool", "activity") and isinstance(message.get("content"), str):
                shown["message", name] += message["content"]
            if "encryptedValue" in message:
                kept["message", name] = message["encryptedValue"]
            for call in message.get("toolCalls", ()):
                shown["tool-call", call["id"]] += call["function"]["arguments"]
                if "encryptedValue" in call:
                    kept["tool-call", call["id"]] = call["encryptedValue"]
        assert {key: text for key, text in shown.items() if text} == {key: text for key, text in told.items() if text}
        assert kept == values


class TestUniqueIds:
    """No two messages of a snapshot share an id; no call id stands twice in one message."""

    @given(st.one_of(streams(), streams(shared_ids=True), events(max_size=25)), st.sampled_from(Layout))
    @example(
        [
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a#1", "delta": "x"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "x"},
            {"type": "REASONING_MESSAGE_CONTENT", "messageId": "g", "delta": "x"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "x"},
        ],
        Layout.STREAMED,
    )
    def test_unique_ids(self, stream: Stream, layout: Layout) -> None:
        """Ids are unique at every moment of a stream."""
        state = EMPTY
        for event in stream:
            state = fold(state, event)
            shown = project(state, layout).messages
            ids = [message["id"] for message in shown]
            assert len(ids) == len(set(ids))
            for message in shown:
                calls = [call["id"] for call in message.get("toolCalls", ())]
                assert len(calls) == len(set(calls))


class TestAdjacency:
    """With reasoning and activity left out, each tool result follows its call's message."""

    @given(streams(shared_ids=True, foreign_results=True))
    def test_adjacency(self, stream: Stream) -> None:
        """Between a result and the message that made its call stand only other results."""
        shown = [message for message in messages(stream) if message["role"] not in ("reasoning", "activity")]
        calls = {call["id"] for message in shown for call in message.get("toolCalls", ())}
        before: dict[str, Any] = {}
        for message in shown:
            if message["role"] != "tool":
                before = message
            elif message["toolCallId"] in calls:
                assert message["toolCallId"] in {call["id"] for call in before.get("toolCalls", ())}


class TestIdempotence:
    """Replaying a start, a result, an encrypted value or a snapshot changes no message."""

    @given(streams(), st.sampled_from(Layout))
    def test_at_once(self, stream: Stream, layout: Layout) -> None:
        """An event of these that comes twice in a row changes nothing the second time."""
        state = EMPTY
        for event in stream:
            state = fold(state, event)
            if event["type"].endswith(("_START", "_RESULT", "_VALUE", "_SNAPSHOT")):
                assert project(fold(state, event), layout).messages == project(state, layout).messages

    @given(streams(snapshots=False, metadata=False, chunks=False), st.integers(0, 60), st.integers(0, 60))
    def test_later(self, stream: Stream, first: int, second: int) -> None:
        """A start that comes again at any later time changes no message, nor any that follows."""
        starts = [number for number, event in enumerate(stream) if event["type"].endswith("_START")]
        if not starts:
            return
        place = starts[first % len(starts)]
        later = place + 1 + second % (len(stream) - place)
        replayed = [*stream[:later], stream[place], *stream[later:]]
        assert messages(replayed) == messages(stream)
