"""What a type checker makes of the public names: checked by mypy, never run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

from ag_ui.core import TextMessageContentEvent
from typing_extensions import assert_type

from reducer import (
    EMPTY,
    Anomaly,
    Changes,
    Layout,
    MalformedEvent,
    ProtocolViolation,
    ReducerError,
    Snapshot,
    State,
    View,
    changes,
    decode,
    decode_all,
    finish,
    fold,
    fold_all,
    fold_strict,
    project,
    seed,
)


def events_of_every_make(sdk: TextMessageContentEvent, wire: dict[str, Any]) -> None:
    """An event is an SDK object, a mapping, or what `decode` returns."""
    state = assert_type(fold(EMPTY, sdk), State)
    state = assert_type(fold(state, wire), State)
    state = assert_type(fold(state, decode(wire)), State)
    state = assert_type(fold_all(state, [sdk, wire, decode(b"{}"), decode("{}")]), State)
    state = assert_type(fold_all(state, decode_all([b"{}", "{}"])), State)
    state = assert_type(fold_strict(state, sdk), State)
    assert_type(finish(state), State)


def folds_like_any_function(events: list[dict[str, Any]]) -> None:
    """`fold` is what `reduce` and `accumulate` ask for."""
    assert_type(reduce(fold, events, EMPTY), State)
    assert_type(list(accumulate(events, fold, initial=EMPTY)), list[State])


def starts() -> None:
    """A state starts empty, or from a stored thread."""
    assert_type(EMPTY, State)
    assert_type(seed(), State)
    assert_type(seed([{"id": "m", "role": "user", "content": "hi"}], {"n": 1}, thread_id="t"), State)


def what_a_reader_sees(state: State) -> None:
    """A snapshot is plain data."""
    snapshot = assert_type(project(state), Snapshot)
    assert_type(project(state, Layout.MERGED), Snapshot)
    assert_type(project(state, layout=Layout.STREAMED), Snapshot)
    assert_type(changes(EMPTY, state, Layout.MERGED).apply(snapshot), Snapshot)
    view = View(state, layout=Layout.MERGED)
    assert_type(view.update(EMPTY), Changes)
    assert_type(view.messages, Sequence[dict[str, Any]])
    assert_type(view.snapshot(), Snapshot)
    assert_type(snapshot.messages, list[dict[str, Any]])
    assert_type(snapshot.interrupts, list[dict[str, Any]])
    assert_type(snapshot.anomalies, list[Anomaly])
    assert_type(snapshot.to_dict(), dict[str, Any])


def refused(state: State) -> None:
    """What must not pass a type checker does not."""
    state.session = state.session  # type: ignore[misc]
    project(state, "merged")  # type: ignore[arg-type]
    fold(None, {})  # type: ignore[arg-type]
    decode(1)  # type: ignore[arg-type]
    decode_all([{}])  # type: ignore[list-item]


def errors(error: ReducerError) -> None:
    """Errors carry their facts."""
    if isinstance(error, MalformedEvent):
        assert_type(error.path, tuple[str | int, ...])
        assert_type(error.rule, str)
    if isinstance(error, ProtocolViolation):
        assert_type(error.position, int)
        assert_type(error.page, str)
