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


@pytest.mark.reference
@pytest.mark.slow
def test_reference(reference: ReferenceClient) -> None:
    """MERGED equals the reference client on every valid stream, messages and state."""
    valid = _streams(STREAMS)
    assert len(valid) >= 2_000
    for stream, outcome in zip(valid, reference.replay(valid), strict=True):
        assert outcome.accepted, outcome.error
        snapshot = project(reduce(fold, stream, EMPTY), Layout.MERGED)
        assert _plain(snapshot.messages) == _plain(outcome.messages), stream
        assert snapshot.state == outcome.state, stream
