"""The short ways against the long one: the same states, event by event."""

from __future__ import annotations

from functools import reduce
from typing import Any
from unittest.mock import patch

from ag_ui.core import Event as AnyEvent
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from reducer import EMPTY, MalformedEvent, decode, fold, fold_all
from reducer._routes import DELTAS, ROUTES, SHORTS, route
from reducer.strategies import broken_streams, events, streams

ADAPTER: TypeAdapter[Any] = TypeAdapter(AnyEvent)
ANY = st.one_of(streams(), streams(chunks=False, metadata=False), events(max_size=25), broken_streams())


def long_way(state: Any, event: Any) -> Any:
    """Fold an event as if there were no short ways, not even for deltas."""
    if type(event) not in ROUTES:
        route(event)
    with patch.dict(SHORTS, clear=True), patch.dict(DELTAS, clear=True):
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
    short = long = EMPTY
    for event in objects:
        short, long = fold(short, event), long_way(long, event)
        assert short == long
    assert short == reduce(fold, stream, EMPTY)
    assert fold_all(EMPTY, objects) == short
