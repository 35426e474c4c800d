"""The laws, each under its name: the docstring is the law as the documentation states it.

What judges is `reducer.laws`, which users have too; here it is given generated streams, and shown to find what is
wrong. The laws on replay (hydration, rejoining, compaction, resumption) stand with what they are about, the reference
law in `test_reference.py`, linearity in `test_linearity.py`; all on recorded logs in `test_golden.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reducer import EMPTY, MalformedEvent, Snapshot, decode, fold, laws, project, strategies
from reducer._laws.judging import difference, places
from reducer._objects import event_object
from reducer.laws import (
    LAWS,
    adjacency,
    batching,
    delta_insensitivity,
    idempotence,
    lane_independence,
    nothing_lost,
    purity,
    totality,
    unique_ids,
)
from reducer.strategies import broken_streams, events, interleavings, recuts, streams

Stream = list[dict[str, Any]]
ODD: dict[str, Any] = {"early_values": True, "echoed_state": True, "foreign_results": True, "surrogates": True}
VALID = st.one_of(streams(**ODD, drop_open=True), streams(**ODD, shared_ids=True))
WILD = st.one_of(events(max_size=25), broken_streams(**ODD))
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "laws.md"


def foldable(stream: Stream) -> Stream:
    """Return the stream without what no schema admits, which an event broken by another type may be."""
    return [event for event in stream if _is_foldable(event)]


def _is_foldable(event: dict[str, Any]) -> bool:
    try:
        fold(EMPTY, event)
    except MalformedEvent:
        return False
    return True


RUN = {"threadId": "t", "runId": "r"}
ECHO_BESIDE_ARGUMENTS: Stream = [
    {"type": "TOOL_CALL_ARGS", "toolCallId": "m", "delta": "{}"},
    {"type": "RUN_STARTED", **RUN, "input": {**RUN, "messages": [{"id": "m", "role": "assistant", "content": "hi"}]}},
]
"""Arguments without a call have no message, so the input's message is new."""


class TestPurity:
    """`fold` and `project` change nothing they are given; equal input gives equal results, under any hash seed."""

    @given(streams(), st.integers(0, 200))
    def test_purity(self, stream: Stream, place: int) -> None:
        """Events, earlier states and snapshots stay as they were, whatever is folded, projected or changed after."""
        purity(stream, at=[place % (len(stream) + 1), len(stream)])

    def test_hash_seed(self) -> None:
        """Two processes with different hash seeds print the same, whatever is made of a state."""
        one, other = _printed("1"), _printed("2")
        assert len(one) == len(other) > 100
        assert [(line[:80], again[:80]) for line, again in zip(one, other, strict=True) if line != again] == []


def _printed(seed: str) -> list[str]:
    root = str(Path(__file__).parents[1])
    env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": root}
    command = [sys.executable, "-m", "tests.printed"]
    return subprocess.run(command, env=env, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()  # noqa: S603


class TestTotality:
    """`fold` returns a state for every sequence of events, in any order, repeated or missing."""

    @given(st.one_of(events(max_size=25), streams()), st.integers(0, 2**32))
    def test_totality(self, stream: Stream, seed: int) -> None:
        """Well-formed events in any order fold, and states on the way can be looked at."""
        totality(stream, seed=seed)


class TestBatching:
    """`fold_all(state, events)` equals `reduce(fold, events, state)`, split anywhere."""

    @given(st.one_of(streams(), events(max_size=25), broken_streams()), st.integers(0, 30))
    def test_batching(self, stream: Stream, place: int) -> None:
        """Two batches give the state that single events give, and refuse what those refuse."""
        batching(stream, at=[place])


class TestDeltaInsensitivity:
    """Cutting or joining deltas, or chunks for triads, leaves the projection alone."""

    @given(recuts())
    def test_delta_insensitivity(self, pair: tuple[Stream, Stream]) -> None:
        """Two spellings of a stream show the same messages and state."""
        delta_insensitivity(*pair)


class TestLaneIndependence:
    """Every interleaving that keeps each lane's own order gives each lane the same rows, results' places aside."""

    @given(interleavings())
    def test_lane_independence(self, pair: tuple[Stream, Stream]) -> None:
        """Lanes merged and lanes in turn give each owner the same messages in the same order, but for results."""
        lane_independence(*pair)

    @given(VALID)
    def test_whatever_else_comes(self, stream: Stream) -> None:
        """Between snapshots, and beside lanes that speak for each other, lanes that do not are independent."""
        lane_independence(stream)


class TestNothingLost:
    """Every delta's text is in the snapshot once, in order; every encrypted value is on its entity."""

    @given(VALID)
    def test_nothing_lost(self, stream: Stream) -> None:
        """What was said of an entity is what its messages show: in any spelling, snapshots and shared ids included."""
        nothing_lost(stream)

    @given(WILD)
    @example(ECHO_BESIDE_ARGUMENTS)
    def test_whatever_comes(self, stream: Stream) -> None:
        """Nor is anything lost where the protocol is broken."""
        nothing_lost(foldable(stream))

    @given(VALID, st.integers(0, 60))
    def test_any_loss(self, stream: Stream, number: int) -> None:
        """Whichever text, arguments, result or encrypted value a snapshot loses, it is found."""
        held = len(list(_losable(project(reduce(fold, stream, EMPTY)).messages)))
        if not held:
            return

        def lose(messages: list[dict[str, Any]]) -> None:
            for part, name in list(_losable(messages))[number % held :][:1]:
                part[name] = "lost"

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(laws, "project", tampering(lose))
            with pytest.raises(AssertionError, match=r"^nothing_lost, after "):
                nothing_lost(stream, at=[len(stream)])


def _losable(messages: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield what holds something that was said, and under which name."""
    for message in messages:
        if message["role"] != "activity":
            parts = [message, *message.get("toolCalls", ())]
            yield from ((part, "encryptedValue") for part in parts if "encryptedValue" in part)
            yield from ((call["function"], "arguments") for call in message.get("toolCalls", ()))
            if message.get("content"):
                yield message, "content"


class TestUniqueIds:
    """No two messages of a snapshot share an id; no call id stands twice in one message."""

    @given(st.one_of(streams(), streams(shared_ids=True), events(max_size=25)))
    @example(
        [
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a#1", "delta": "x"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "x"},
            {"type": "REASONING_MESSAGE_CONTENT", "messageId": "g", "delta": "x"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "x"},
        ],
    )
    def test_unique_ids(self, stream: Stream) -> None:
        """Ids are unique at every moment of a stream."""
        unique_ids(stream, at=range(len(stream) + 1))


class TestAdjacency:
    """With reasoning and activity left out, each tool result follows its call's message."""

    @given(st.one_of(VALID, WILD))
    def test_adjacency(self, stream: Stream) -> None:
        """Between a result and the message that made its call stand only other results, whatever comes."""
        adjacency(foldable(stream))


class TestIdempotence:
    """Replaying a start, a result, an encrypted value or a snapshot changes no message."""

    @given(st.one_of(VALID, WILD))
    def test_idempotence(self, stream: Stream) -> None:
        """None changes a message at once, nor later what shows then and at the end, in both layouts."""
        idempotence(foldable(stream))


LOG: Stream = [
    {"type": "RUN_STARTED", **RUN},
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "so much for that"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
    {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "c", "content": "done"},
    {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m", "encryptedValue": "v"},
    {"type": "RUN_FINISHED", **RUN},
]


def tampering(change: Callable[[list[dict[str, Any]]], Any]) -> Callable[..., Snapshot]:
    """Return a projection whose messages are changed."""

    def tampered(*given: Any) -> Snapshot:
        snapshot = project(*given)
        change(snapshot.messages)
        return snapshot

    return tampered


def forgetful() -> Callable[..., Snapshot]:
    """Return a projection that shows fewer messages each time."""
    looks: list[int] = []

    def seen(*given: Any) -> Snapshot:
        looks.append(0)
        return tampering(lambda messages: messages.__delitem__(slice(len(looks) % 3, None)))(*given)

    return seen


def cut_short(messages: list[dict[str, Any]]) -> None:
    """Lose the end of a text."""
    for message in messages[:1]:
        message["content"] = message.get("content", "")[:-2]


def impossible(*_: Any) -> Any:
    """Divide by zero."""
    return 1 / 0


def doubling(state: Any, event: Any) -> Any:
    """Fold a start that comes again as a message of its own."""
    again = event["type"] == "TEXT_MESSAGE_START" and state.position > 1
    return fold(state, {"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "delta": "again"} if again else event)


BROKEN: list[tuple[str, str, Callable[..., Any], str]] = [
    ("purity", "project", forgetful(), "messages"),
    ("totality", "fold", impossible, "ZeroDivisionError"),
    ("batching", "fold_all", lambda *_: EMPTY, "in one batch: "),
    ("delta_insensitivity", "recut", lambda log, _: log[:3], "messages[0].toolCalls is absent"),
    ("lane_independence", "in_turn", lambda log: log[:3], "the parent agent.messages[0].toolCalls"),
    ("nothing_lost", "project", tampering(cut_short), "text 'm': "),
    ("unique_ids", "project", tampering(lambda shown: shown.extend(shown[:1])), "two messages have the id 'm'"),
    ("adjacency", "project", tampering(list.reverse), "the result 'x' of call 'c' is the first message"),
    ("hydration", "hydrate", lambda *_: [LOG[0], LOG[-1]], "messages[0] is absent"),
    ("rejoining", "rejoin", lambda _: LOG[:1], "after "),
    ("compaction", "compact", lambda log, **_: log[:1], "STREAMED.messages[0]"),
    ("idempotence", "fold", doubling, "TEXT_MESSAGE_START again after 2 events, STREAMED: messages[0] is {"),
    ("changes", "project", forgetful(), "messages"),
    ("resumption", "loads", lambda _: EMPTY, "after 1 events: "),
]


class TestFunctions:
    """`reducer.laws`: what it gives to users."""

    @pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
    def test_any_make(self, law: Callable[[Any], None]) -> None:
        """A log may hold mappings, objects of the SDK or decoded events, and may be read once."""
        law(iter(LOG))
        law([event_object(event) for event in LOG])
        law([decode(event) for event in LOG])
        law([])

    @pytest.mark.parametrize(("law", "name", "instead", "why"), BROKEN, ids=[law for law, *_ in BROKEN])
    def test_broken(
        self, law: str, name: str, instead: Callable[..., Any], why: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What breaks a law is an `AssertionError` that names the law, the place and the least difference."""
        monkeypatch.setattr(laws, name, instead)
        with pytest.raises(AssertionError) as caught:
            LAWS[law](LOG)
        assert str(caught.value).startswith(f"{law}, ")
        assert why in str(caught.value)

    def test_all_can_break(self) -> None:
        """For each law there is something that breaks it."""
        assert [law for law, *_ in BROKEN] == list(LAWS)

    def test_refusal(self) -> None:
        """What no schema admits is refused as `fold` refuses it."""
        for law in LAWS.values():
            if law is not batching:
                with pytest.raises(MalformedEvent):
                    law([{"type": "STEP_STARTED"}])

    def test_names(self) -> None:
        """The documentation states every law under its name, in the words of its function; two have none."""
        rows = dict(re.findall(r"^\| ([a-z ]+) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
        stated = {name.replace(" ", "_"): text for name, text in rows.items() if name != "law"}
        assert [*LAWS, "reference", "linearity"] == [*stated]
        for name, law in LAWS.items():
            first = str(law.__doc__).split("\n")[0]
            assert first.split(";")[0].split(",")[0].rstrip(".") in stated[name], name

    def test_exported(self) -> None:
        """`reducer.strategies` has them too."""
        assert all(getattr(strategies, name) is getattr(laws, name) for name in laws.__all__)


@pytest.mark.parametrize(
    ("found", "expected", "words"),
    [
        (1, True, "all of it is 1, should be True"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "a[1] is 2, should be 3"),
        ({"a": [1]}, {"a": [1, 3]}, "a[1] is absent, should be 3"),
        ({"a": 1, "b": {}}, {"a": 1}, "b is {}, should be absent"),
        ({"b": 2, "a": {"c": 1}}, {"a": {"c": 0}, "b": 3}, "a.c is 1, should be 0"),
        (
            "x" * 90 + "y" + "x" * 90,
            "x" * 181,
            f"all of it is ...{'x' * 15 + 'y' + 'x' * 14!r}, should be ...{'x' * 30!r}",
        ),
    ],
    ids=range(6),
)
def test_difference(found: Any, expected: Any, words: str) -> None:
    """The least difference is the first place, in order, that holds something else, and no more than that place."""
    assert difference(found, expected) == words


def test_places() -> None:
    """A short log is looked at everywhere, a long one at a few places, the first and the last among them."""
    assert places(12) == list(range(13))
    assert len(places(100_000)) < 20
    assert {0, 100_000} < set(places(100_000))
    assert places(3, [9, 2, 0, 2]) == [0, 2]
