"""What changed between two states: applied to the earlier snapshot it gives the later one, and a `View` keeps up."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from itertools import accumulate
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reducer import EMPTY, Layout, State, View, _window, changes, dumps, fold, loads, project
from reducer.strategies import events, interleavings, streams

Stream = list[dict[str, Any]]

ANY = st.one_of(
    streams(),
    streams(shared_ids=True, foreign_results=True, early_values=True),
    interleavings().map(lambda pair: pair[0]),
    events(max_size=25),
)


def states(stream: Stream) -> list[State]:
    """Return all states of a stream, the empty one first."""
    return list(accumulate(stream, fold, initial=EMPTY))


@pytest.fixture(params=[1, _window.FIRST_LOOK], ids=["short look", "usual look"], scope="class", autouse=True)
def _look(request: pytest.FixtureRequest) -> Iterator[None]:
    """How far `changes` looks back at first, so that short streams have a beginning that it does not look at."""
    with mock.patch.object(_window, "FIRST_LOOK", request.param):
        yield


class TestChanges:
    """Applying `changes(a, b)` to `project(a)` gives `project(b)`."""

    @given(ANY, st.sampled_from(Layout), st.integers(0, 60), st.integers(0, 60))
    def test_changes(self, stream: Stream, layout: Layout, one: int, other: int) -> None:
        """It does for any two positions of a stream, in either direction."""
        passed = states(stream)
        before, after = passed[one % len(passed)], passed[other % len(passed)]
        told = changes(before, after, layout)
        assert told.apply(project(before, layout)) == project(after, layout)
        json.dumps(told.to_dict())

    @given(ANY, ANY, st.sampled_from(Layout))
    def test_unrelated(self, one: Stream, other: Stream, layout: Layout) -> None:
        """It does for states of two threads, and of one that was loaded from a checkpoint it says nothing."""
        before, after = states(one)[-1], states(other)[-1]
        assert changes(before, after, layout).apply(project(before, layout)) == project(after, layout)
        assert not changes(before, loads(dumps(before)), layout)

    @given(ANY, ANY, st.sampled_from(Layout), st.integers(0, 60))
    def test_branches(self, one: Stream, other: Stream, layout: Layout, place: int) -> None:
        """It does for two states that went different ways from a common one."""
        common = states(one[: place % (len(one) + 1)])[-1]
        before = list(accumulate(one[place % (len(one) + 1) :], fold, initial=common))[-1]
        after = list(accumulate(other, fold, initial=common))[-1]
        assert changes(before, after, layout).apply(project(before, layout)) == project(after, layout)


class TestView:
    """At every position a view is what `project` gives, and what it says has changed makes it of what was before."""

    @given(ANY, st.sampled_from(Layout))
    def test_view(self, stream: Stream, layout: Layout) -> None:
        """It is after every event, and nothing that a view gave away changes later."""
        view = View(layout=layout)
        shown = project(EMPTY, layout)
        given_away: list[tuple[Any, Any]] = []
        for state in states(stream):
            told = view.update(state)
            whole = project(state, layout)
            assert view.snapshot() == whole
            assert [*view.messages] == whole.messages
            shown = told.apply(shown)
            assert shown == whole
            given_away.append((view.messages, copy.deepcopy([*view.messages])))
        assert all([*messages] == kept for messages, kept in given_away)

    @given(ANY, st.sampled_from(Layout), st.lists(st.integers(0, 60), max_size=8))
    def test_leaps(self, stream: Stream, layout: Layout, places: list[int]) -> None:
        """It is wherever it is brought, forward or back."""
        passed = states(stream)
        view = View(layout=layout)
        for place in places:
            state = passed[place % len(passed)]
            view.update(state)
            assert view.snapshot() == project(state, layout)


NAMES = ("abcd", "abcdefgh", "abcdefghijklmno", ("a", "b", "c", "1", "text"), ("a", "b", "c", "a#1", "text"))
"""Ids that collide often, seldom, and with those that are made of others."""


def crowded(chance: random.Random) -> Stream:
    """Return events in any order on few ids, of the kinds that share rows, calls and results."""
    names = chance.choice(NAMES)

    def event() -> dict[str, Any]:
        one, other, tag = chance.choice(names), chance.choice(names), chance.choice(({}, {}, {"subagentRunId": "s"}))
        role = chance.choice(("assistant", "assistant", "user"))
        parent = chance.choice(({}, {"parentMessageId": other}))
        subtype = chance.choice(("message", "tool-call"))
        kinds: dict[str, tuple[int, dict[str, Any]]] = {
            "TEXT_MESSAGE_START": (16, {"messageId": one, "role": role, **tag}),
            "TEXT_MESSAGE_CONTENT": (14, {"messageId": one, "delta": "x"}),
            "TEXT_MESSAGE_END": (6, {"messageId": one}),
            "REASONING_MESSAGE_START": (6, {"messageId": one, "role": "reasoning", **tag}),
            "REASONING_MESSAGE_CONTENT": (6, {"messageId": one, "delta": "y"}),
            "TOOL_CALL_START": (14, {"toolCallId": one, "toolCallName": "f", **parent, **tag}),
            "TOOL_CALL_ARGS": (6, {"toolCallId": one, "delta": "z"}),
            "TOOL_CALL_END": (4, {"toolCallId": one}),
            "TOOL_CALL_RESULT": (13, {"messageId": other, "toolCallId": one, "content": "r", **tag}),
            "REASONING_ENCRYPTED_VALUE": (5, {"subtype": subtype, "entityId": one, "encryptedValue": other}),
            "ACTIVITY_SNAPSHOT": (3, {"messageId": one, "activityType": "p", "content": {other: 1}}),
            "MESSAGES_SNAPSHOT": (1, {"messages": [stated(name) for name in chance.sample(names, 3)]}),
            "RUN_FINISHED": (1, {"threadId": "t", "runId": "r"}),
            "RUN_STARTED": (2, {"threadId": "t", "runId": other}),
        }
        kind = chance.choices([*kinds], [weight for weight, _ in kinds.values()])[0]
        return {"type": kind, **kinds[kind][1]}

    def stated(name: str) -> dict[str, Any]:
        call = {"id": chance.choice(names), "type": "function", "function": {"name": "f", "arguments": "{}"}}
        kinds: list[dict[str, Any]] = [
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": "w", "toolCalls": [call]},
            {"role": "tool", "toolCallId": chance.choice(names), "content": "q"},
        ]
        return {"id": name, **chance.choice(kinds)}

    return [event() for _ in range(chance.choice((15, 30, 50)))]


@pytest.mark.parametrize("layout", list(Layout))
@pytest.mark.parametrize("seed", range(6))
def test_crowded(seed: int, layout: Layout) -> None:
    """A view and the changes of two states are right on streams where nearly everything hangs together."""
    chance = random.Random(seed)
    for _ in range(8):
        view, shown, passed = View(layout=layout), [project(EMPTY, layout)], states(crowded(chance))
        for state in passed[1:]:
            told, whole = view.update(state), project(state, layout)
            assert told._messages(shown[-1]) == (whole.messages, whole.origins)
            assert [*view.messages] == whole.messages
            assert view._pending == whole.pending_tool_calls
            shown.append(whole)
        for _ in range(20):
            one = chance.randrange(len(passed))
            other = chance.choice((min(one + 1, len(passed) - 1), chance.randrange(len(passed))))
            told = changes(passed[one], passed[other], layout)
            assert told._messages(shown[one]) == (shown[other].messages, shown[other].origins)


START = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FAR: dict[str, Stream] = {
    "a call joins a group behind which another lane has opened": [
        {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "f", "subagentRunId": "s"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"},
        {"type": "TOOL_CALL_START", "toolCallId": "c2", "toolCallName": "f", "subagentRunId": "s"},
        {"type": "REASONING_MESSAGE_START", "messageId": "g", "role": "reasoning"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "y"},
    ],
    "an id arrives that was made": [
        {"type": "TEXT_MESSAGE_START", "messageId": "a"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "x"},
        {"type": "REASONING_MESSAGE_START", "messageId": "g", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "g", "delta": "x"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "y"},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": "z"} for name in ("n", "o", "p", "a#1", "q")),
    ],
    "a result has the id of a call that is a message of its own": [
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": "z"} for name in ("n", "o", "p")),
        {"type": "TOOL_CALL_RESULT", "messageId": "c", "toolCallId": "other", "content": "r"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "q", "delta": "z"},
    ],
    "a call has the id of a message far before": [
        {"type": "TEXT_MESSAGE_START", "messageId": "c", "subagentRunId": "s"},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": "z"} for name in ("n", "o")),
        {"type": "TOOL_CALL_START", "toolCallId": "b", "toolCallName": "f"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
    ],
    "a call is answered before it comes": [
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "n", "delta": "z"},
        {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "r"},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": "z"} for name in ("o", "p", "q")),
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
    ],
    "a call is made again under another parent": [
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "z"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "a"},
        {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "r"},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": "z"} for name in ("o", "p", "q")),
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "q"},
        {"type": "TOOL_CALL_RESULT", "messageId": "r2", "toolCallId": "c", "content": "r"},
    ],
    "an empty reasoning is claimed late": [
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "n", "delta": "z"},
        {"type": "REASONING_MESSAGE_START", "messageId": "g", "role": "reasoning"},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": "z"} for name in ("o", "p", "q")),
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "g", "encryptedValue": "v"},
    ],
}
"""Streams whose last events change what stands far before, or is named like it."""


@pytest.mark.parametrize("layout", list(Layout))
@pytest.mark.parametrize("stream", FAR.values(), ids=FAR)
def test_far(stream: Stream, layout: Layout) -> None:
    """A view and the changes of two states are right where the end of a thread hangs together with its beginning."""
    passed = states([START, *stream])
    view, shown = View(layout=layout), [project(state, layout) for state in passed]
    for number, state in enumerate(passed):
        view.update(state)
        assert view.snapshot() == shown[number]
        for earlier in range(number + 1):
            assert changes(passed[earlier], state, layout).apply(shown[earlier]) == shown[number]
            assert changes(state, passed[earlier], layout).apply(shown[number]) == shown[earlier]
