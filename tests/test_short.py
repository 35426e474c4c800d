"""The short ways against the long one: the same states, event by event."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from ag_ui.core import Event as AnyEvent
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from reducer import EMPTY, MalformedEvent, decode, fold, fold_all
from reducer import _fold as folding
from reducer.strategies import broken_streams, events, streams

ADAPTER: TypeAdapter[Any] = TypeAdapter(AnyEvent)
ANY = st.one_of(streams(), streams(chunks=False, metadata=False), events(max_size=25), broken_streams())


def long_way(state: Any, event: Any) -> Any:
    """Fold an event as if there were no short ways."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folding, "_SHORT", {})
        return fold(state, event)


@given(ANY)
def test_decoded(stream: list[dict[str, Any]]) -> None:
    """Decoded events fold to the same state on the short way and on the long one, at every moment."""
    short = long = EMPTY
    try:
        decoded = [decode(event) for event in stream]
    except MalformedEvent:
        return
    for event in decoded:
        short, long = fold(short, event), long_way(long, event)
        assert short == long
    assert fold_all(EMPTY, decoded) == short


@given(streams(chunks=False, metadata=False))
def test_objects(stream: list[dict[str, Any]]) -> None:
    """Objects of the SDK fold to the state that their wire form folds to."""
    objects = [ADAPTER.validate_python(event) for event in stream]
    state = reduce(fold, objects, EMPTY)
    assert state == reduce(long_way, objects, EMPTY) == reduce(fold, stream, EMPTY)
    assert fold_all(EMPTY, objects) == state
