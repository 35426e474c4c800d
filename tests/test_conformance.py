"""The official conformance streams of the AG-UI specification, by file name.

They are read from a folder (`--conformance=DIR`) and are no part of this project. What their `README.md` says is not
ours to meet is listed here, and in `docs/reference/supported-protocol.md`, with the reason.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from reducer import EMPTY, Anomaly, Event, Layout, ReducerError, Snapshot, State, decode, finish, fold_strict, project
from reducer._event import UnknownEvent
from reducer.errors import show_path
from tests.conftest import conformance_folder

ROOT = Path(__file__).parents[1]

EXCLUDED = {
    "era-": "about what a client sends to a peer of another age; this library sends nothing",
    "current-peer-": "about what a client sends to a peer of its own age; this library sends nothing",
    "unknown-enum-value-role-fatal": "pins an admitted gap: an unknown role is unrecognised material, and stripped",
    "truncated-run-reported-as-completed": "pins an admitted gap: a truncated run is not a completed one",
}
"""What is not run, by the beginning of the file's name, and why."""

WORDINGS = {
    "Failed to apply state patch": "patch-failed",
    "1.1": "protocol-version",
    "cannot interpret": "protocol-version",
}
"""Warnings that are told by the reference client's own words, and the rules that say the same here."""


def consumed(stream: list[Any]) -> tuple[State, list[Event], ReducerError | None]:
    """Take a stream as far as a strict consumer does: the state, the events that reached it, the refusal."""
    state, taken = EMPTY, []
    try:
        for raw in stream:
            event = decode(json.dumps(raw))
            state = fold_strict(state, event)
            if not isinstance(event, UnknownEvent):
                taken.append(event)
        finish(state)
    except ReducerError as error:
        return state, taken, error
    return state, taken, None


def matches(expected: Any, actual: Any) -> bool:
    """Say whether `actual` is as expected: arrays of the same length, objects on the keys named, all else equal."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            key in actual and matches(value, actual[key]) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(actual, list) and len(actual) == len(expected) and all(map(matches, expected, actual))
    return type(actual) is type(expected) and bool(actual == expected)


def warns_of(anomaly: Anomaly, warning: str) -> bool:
    """Say whether the anomaly is the warning: about its path, about an event of its type, or of the rule it words."""
    if anomaly.fatal:
        return False
    if warning.startswith("/"):
        path = tuple(int(part) if part.isdigit() else part for part in warning[1:].split("/"))
        return anomaly.detail.startswith(f"{show_path(path)}:")
    return warning == anomaly.event or WORDINGS.get(warning) == anomaly.code


def at(events: list[Event], path: str) -> list[Any]:
    """Return what stands at a dotted path into the events, in a list that is empty where nothing does."""
    value: Any = [event.to_dict() for event in events]
    for part in path.split("."):
        members = dict(enumerate(value)) if isinstance(value, list) else value
        key = int(part) if isinstance(value, list) else part
        if not isinstance(members, dict) or key not in members:
            return []
        value = members[key]
    return [value]


def test_conformance(conformance_stream: Path) -> None:
    """An official stream has the outcome, the messages, the state and the warnings that its file asks for."""
    for beginning, reason in EXCLUDED.items():
        if conformance_stream.name.startswith(beginning):
            pytest.skip(reason)
    vector = json.loads(conformance_stream.read_text(encoding="utf-8"))
    expected = vector["expect"]
    state, taken, refusal = consumed(vector["stream"])
    assert (refusal is not None) == (expected["outcome"] == "failed"), refusal
    check_thread(expected, project(state, Layout.MERGED))
    check_events(expected, taken)


def check_thread(expected: dict[str, Any], snapshot: Snapshot) -> None:
    """Compare what the stream has built, and what it was warned about."""
    if "messages" in expected:
        assert matches(expected["messages"], snapshot.messages), snapshot.messages
    if "messageCount" in expected:
        assert len(snapshot.messages) == expected["messageCount"]
    if "state" in expected:
        assert matches(expected["state"], snapshot.state), snapshot.state
    if "runError" in expected:
        assert expected["runError"] in [run["error"]["message"] for run in snapshot.runs if "error" in run]
    for warning in expected.get("warnings", ()):
        assert any(warns_of(anomaly, warning) for anomaly in snapshot.anomalies), (warning, snapshot.anomalies)
    if expected.get("noWarnings"):
        assert not snapshot.anomalies


def check_events(expected: dict[str, Any], taken: list[Event]) -> None:
    """Compare what reaches the application."""
    types = [event.type for event in taken]
    assert types == expected.get("eventTypes", types)
    assert not set(types) & set(expected.get("eventTypesAbsent", ()))
    for path, value in expected.get("eventPaths", {}).items():
        assert at(taken, path) == [value]
    for path in expected.get("eventAbsentPaths", ()):
        assert at(taken, path) == []


def test_exclusions_are_documented() -> None:
    """The documentation lists what is left out, with the same reasons, and nothing else."""
    page = (ROOT / "docs" / "reference" / "supported-protocol.md").read_text(encoding="utf-8")
    section = page.partition("## Conformance\n")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\S+)` \| (.+) \|$", section, re.MULTILINE))
    assert rows == {f"{name}*" if name.endswith("-") else name: f"{reason}." for name, reason in EXCLUDED.items()}


def test_score(request: pytest.FixtureRequest) -> None:
    """The score in the documentation is that of these streams."""
    folder = conformance_folder(request.config)
    if folder is None:
        pytest.skip("no official streams here (--conformance=DIR)")
    names = [file.name for file in folder.rglob("*.json")]
    left_out = [name for name in names if name.startswith(tuple(EXCLUDED))]
    run = len(names) - len(left_out)
    page = (ROOT / "docs" / "reference" / "supported-protocol.md").read_text(encoding="utf-8")
    assert f"{run} of {run} pass; {len(left_out)} of {len(names)} are left out" in page
