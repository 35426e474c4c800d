"""The law of the reference: on every stream that it accepts, MERGED is what the reference client holds."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from reducer import EMPTY, Layout, fold, project
from reducer.strategies import streams
from tests.reference_client import ReferenceClient

STREAMS = 2_500
"""How many streams are compared, a few seconds' worth."""


def _plain(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out what is empty and may as well be absent: a list of no calls, metadata without keys."""
    empty: dict[str, Any] = {"toolCalls": [], "metadata": {}}
    return [
        {name: value for name, value in message.items() if name not in empty or value != empty[name]}
        for message in messages
    ]


def _streams(count: int) -> list[list[dict[str, Any]]]:
    found: list[list[dict[str, Any]]] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(streams())
    def collect(stream: list[dict[str, Any]]) -> None:
        found.append(stream)

    collect()
    return found


def _retired(stream: list[dict[str, Any]], interrupts: list[dict[str, Any]]) -> set[str]:
    """Return which interrupts are answered after the run that they ended: by an entry, or by their call's result.

    The reference client holds on to them until the next run finishes, here they are over (spec:
    basic/patterns/interrupt-resume).
    """
    finishes = [place for place, event in enumerate(stream) if event["type"] == "RUN_FINISHED"]
    entries: set[str] = set()
    calls: set[str] = set()
    for event in stream[finishes[-1] :] if finishes else ():
        told = event.get("input", event)
        entries |= {entry["interruptId"] for entry in told.get("resume", ())}
        calls |= {one["toolCallId"] for one in (event, *told.get("messages", ())) if _is_result(one)}
    return entries | {one["id"] for one in interrupts if one.get("toolCallId") in calls}


def _is_result(one: dict[str, Any]) -> bool:
    return one.get("type") == "TOOL_CALL_RESULT" or one.get("role") == "tool"


@pytest.mark.reference
@pytest.mark.slow
def test_reference(reference: ReferenceClient) -> None:
    """MERGED equals the reference client on every valid stream, messages and state.

    Of the interrupts of the last run that finished those are open here that are open there and were not answered since.
    """
    valid = _streams(STREAMS)
    assert len(valid) >= 2_000
    asked = 0
    for stream, outcome in zip(valid, reference.replay(valid), strict=True):
        assert outcome.accepted, outcome.error
        snapshot = project(reduce(fold, stream, EMPTY), Layout.MERGED)
        assert _plain(snapshot.messages) == _plain(outcome.messages), stream
        assert snapshot.state == outcome.state, stream
        theirs = [one["id"] for one in outcome.interrupts]
        retired = _retired(stream, outcome.interrupts)
        found = [one["id"] for one in snapshot.interrupts if one["id"] in theirs]
        assert found == [name for name in theirs if name not in retired], stream
        asked += len(found)
    assert asked > 100
