"""The shared state: any JSON value, replaced or patched (spec: events/state)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.build import Wire, codes, details, seen, snapshot, text


def state(value: Any, **fields: Any) -> Wire:
    """Return a state snapshot."""
    return {"type": "STATE_SNAPSHOT", "snapshot": value, **fields}


def delta(*operations: Wire, **fields: Any) -> Wire:
    """Return a state delta."""
    return {"type": "STATE_DELTA", "delta": list(operations), **fields}


def add(path: str, value: Any) -> Wire:
    """Return an operation that adds a value."""
    return {"op": "add", "path": path, "value": value}


class TestStateSnapshot:
    """STATE_SNAPSHOT replaces the shared state."""

    @pytest.mark.parametrize("value", [{"k": 1}, [], [None], "word", 7, 1.5, True, None, {}], ids=repr)
    def test_takes_any_json(self, value: Any) -> None:
        """The state is any JSON value, null included."""
        shown = seen(state({"old": 1}), state(value))
        assert shown.state == value
        assert type(shown.state) is type(value)

    def test_replaces_wholesale(self) -> None:
        """Nothing of the former state is merged in."""
        assert seen(state({"a": 1, "b": 2}), state({"b": 3})).state == {"b": 3}

    def test_keeps_nulls_and_order(self) -> None:
        """A null inside is data, and keys keep the order in which they came."""
        assert list(seen(state({"z": None, "a": [None, {}]})).state.items()) == [("z", None), ("a", [None, {}])]

    def test_is_one_state_for_all_lanes(self) -> None:
        """Agents share the state: a subagent's snapshot replaces it too."""
        assert seen(state({"a": 1}), state({"b": 2}, subagentRunId="s")).state == {"b": 2}

    def test_leaves_messages_alone(self) -> None:
        """Messages and what is open stay as they are."""
        assert codes(text("START"), state({}), text("CONTENT", delta="on"), text("END")) == []

    def test_is_left_alone_by_messages(self) -> None:
        """A messages snapshot does not touch the state."""
        assert seen(state([1]), snapshot()).state == [1]


class TestStateDelta:
    """STATE_DELTA patches the shared state (RFC 6902)."""

    def test_patches(self) -> None:
        """Operations apply one after another."""
        moved = {"op": "move", "from": "/a", "path": "/b"}
        assert seen(state({"a": 1}), delta(add("/list", []), add("/list/-", 5), moved)).state == {"list": [5], "b": 1}

    def test_starts_from_an_empty_object(self) -> None:
        """A state that nothing has set is an empty object."""
        assert seen(delta(add("/k", 1))).state == {"k": 1}

    def test_applies_whole_or_not_at_all(self) -> None:
        """A patch of which one operation fails leaves the state as it was and says which one failed and why."""
        broken = delta(add("/a", 1), {"op": "remove", "path": "/gone"})
        assert seen(state({"k": 1}), broken).state == {"k": 1}
        assert details(broken) == ["operation 1 (remove '/gone'): there is no 'gone' in <object of 1>"]
        assert codes(broken) == ["patch-failed"]

    def test_goes_on_after_a_failure(self) -> None:
        """The next patch applies to the state as it was."""
        assert seen(delta({"op": "remove", "path": "/gone"}), delta(add("/k", 1))).state == {"k": 1}

    def test_tests(self) -> None:
        """A test that holds changes nothing; `true` is not `1`."""
        one = state({"n": 1})
        assert codes(one, delta({"op": "test", "path": "/n", "value": 1.0})) == []
        assert codes(one, delta({"op": "test", "path": "/n", "value": True})) == ["patch-failed"]

    def test_replaces_the_root(self) -> None:
        """The empty pointer is the whole state."""
        assert seen(delta(add("", [1]), add("/-", 2))).state == [1, 2]

    def test_an_unknown_operation_is_left_out(self) -> None:
        """The other operations of the patch apply."""
        later = {"op": "merge", "path": "/a", "value": {}}
        assert seen(delta(later, add("/k", 1))).state == {"k": 1}
        assert codes(delta(later, add("/k", 1))) == ["unknown-member"]

    def test_an_empty_patch_changes_nothing(self) -> None:
        """No operations, no change."""
        assert seen(state({"k": 1}), delta()).state == {"k": 1}
