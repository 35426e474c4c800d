"""Bad input: nothing but `ReducerError`s leaves the library, whatever comes in, and no log costs more than its size.

What hurts by its size is written in `fuzz/hostile.py`, which says what it costs; here a small one of each is folded.
`fuzz/decode_fold_project.py` is the coverage-guided fuzzer, run by hand.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any, get_args

import pytest
from ag_ui import core
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reducer import (
    EMPTY,
    CheckpointError,
    Layout,
    MalformedEvent,
    ReducerError,
    State,
    decode,
    dumps,
    fold,
    fold_all,
    fold_strict,
    loads,
    project,
    seed,
)
from reducer._schema import EVENTS
from reducer.strategies import events, json_values
from tests.fuzz import hostile
from tests.fuzz.hostile import HOSTILE

Wire = dict[str, Any]

GOLDEN = sorted((Path(__file__).parent / "golden").rglob("*.jsonl"))
FIELDS = sorted({"type", *(name for shape in EVENTS.values() for name in shape.fields)})
MODELS: list[Any] = list(get_args(get_args(core.Event)[0]))

RUN: Wire = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
START: Wire = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}


class Plain:
    """An object of a class that means nothing to JSON."""


class Name(str):
    """A string of a class of its own."""

    __slots__ = ()


# What JSON cannot hold, or holds in another way.
odd = st.sampled_from(
    [
        Plain(),
        Plain,
        b"bytes",
        b"\xff",
        {1, 2},
        math.nan,
        math.inf,
        1e300,
        10**400,
        -(2**63),
        decimal.Decimal("NaN"),
        dt.datetime(2025, 1, 1),  # noqa: DTZ001 - any will do
        (1, "x"),
        range(2),
        {1: 2},
        {("a",): None},
        MappingProxyType({"a": [Plain()]}),
        Name("a"),
        core.EventType.RAW,
        core.UserMessage(id="u", content="hi"),
        "\ud800",
        iter(()),
        len,
    ]
)
nested = st.recursive(
    odd, lambda one: st.lists(one, max_size=2) | st.dictionaries(st.text(max_size=2), one, max_size=2), max_leaves=3
)
anything = json_values() | nested
names = st.sampled_from(FIELDS)
kinds = st.sampled_from(sorted(EVENTS))
wires = events().map(lambda stream: [RUN, *stream])


@st.composite
def windows(draw: st.DrawFn) -> list[Wire]:
    """Give some lines in a row of a log that a real producer wrote."""
    lines = draw(st.sampled_from(GOLDEN)).read_bytes().splitlines()
    start = draw(st.integers(0, len(lines) - 1))
    return [RUN, *map(json.loads, lines[start : start + draw(st.integers(1, 8))])]


@st.composite
def mappings(draw: st.DrawFn) -> Any:
    """Give mappings with fields of events, and any values; most say the type of an event."""
    fields: dict[Any, Any] = draw(st.dictionaries(names | st.text(max_size=3) | st.integers(), anything, max_size=5))
    if draw(st.integers(0, 4)):
        fields["type"] = draw(kinds)
    return MappingProxyType(fields) if draw(st.booleans()) else fields


@st.composite
def mutated(draw: st.DrawFn) -> list[Any]:
    """Give streams, made up and real, with a few members replaced, removed, renamed or exchanged, at any depth."""
    stream: list[Any] = json.loads(json.dumps(draw(wires | windows())))
    for _ in range(draw(st.integers(1, 3))):
        spots = [spot for event in stream for spot in _spots(event)]
        holder, key = draw(st.sampled_from(spots))
        if key not in holder if isinstance(holder, dict) else key >= len(holder):
            continue
        what = draw(st.sampled_from(("replace", "remove", "rename", "exchange", "repeat")))
        if what == "replace":
            holder[key] = draw(anything)
        elif what == "remove":
            del holder[key]
        elif what == "rename" and isinstance(holder, dict):
            holder[draw(names)] = holder.pop(key)
        elif what == "exchange":
            other, place = draw(st.sampled_from(spots))
            if place in other if isinstance(other, dict) else place < len(other):
                holder[key] = json.loads(json.dumps(other[place], default=repr))
        elif isinstance(holder, list):
            holder.insert(key, holder[key])
    return stream


def _spots(value: Any) -> list[tuple[Any, Any]]:
    """Return every place of a JSON value, with what holds it."""
    found: list[tuple[Any, Any]] = []
    todo = [value]
    while todo:
        one = todo.pop()
        places = list(one) if isinstance(one, dict) else range(len(one))
        found += [(one, place) for place in places]
        todo += [one[place] for place in places if isinstance(one[place], (dict, list))]
    return found


@st.composite
def changed_models(draw: st.DrawFn) -> list[Any]:
    """Give objects of the SDK, of which some were changed after they were checked, or never were."""
    given_out: list[Any] = [core.RunStartedEvent(thread_id="t", run_id="r")]
    shared = st.sampled_from(("m", "c", "x"))
    for _ in range(draw(st.integers(1, 6))):
        cls = draw(st.sampled_from(MODELS))
        fields = sorted(cls.model_fields)
        values: dict[str, Any] = {}
        for field in fields:
            if field == "type" or not draw(st.integers(0, 7)):
                continue
            likely = shared if field.endswith("_id") and field != "subagent_run_id" else st.none() | shared
            values[field] = draw(anything) if not draw(st.integers(0, 5)) else draw(likely)
        event = cls.model_construct(**values)
        if not draw(st.integers(0, 9)):
            event.type = draw(anything | kinds)
        if not draw(st.integers(0, 9)):
            event.__dict__.pop(draw(st.sampled_from(fields)), None)
        given_out.append(event)
    return given_out


def survives(stream: list[Any]) -> State:
    """Fold what can be folded, in every way: all agree, and what results can be shown, stored and loaded."""
    state = EMPTY
    taken: list[Any] = []
    for event in stream:
        after, refused = attempt(fold, state, event)
        strict, violated = attempt(fold_strict, state, event)
        whole, refused_whole = attempt(fold_all, EMPTY, [*taken, event])
        assert told(refused_whole) == told(refused)
        if refused is not None:
            assert told(violated) == told(refused)
            continue
        assert whole == after
        assert strict in (None, after)
        state = after
        taken.append(event)
    for layout in Layout:
        shown = json.loads(json.dumps(project(state, layout).to_dict(), allow_nan=False))
        ids = [message["id"] for message in shown["messages"]]
        assert len(set(ids)) == len(ids)
    assert loads(dumps(state)) == state
    return state


def told(error: ReducerError | None) -> Any:
    """Return what an error says, in which NaN is NaN."""
    return None if error is None else (type(error), str(error))


def attempt(work: Callable[..., State], *given_in: Any) -> tuple[Any, ReducerError | None]:
    """Return what `work` gives, or the error it raises on purpose."""
    try:
        return work(*given_in), None
    except ReducerError as error:
        return None, error


class TestDecode:
    """`decode` gives an event or raises `MalformedEvent`."""

    @given(json_values() | odd | mappings())
    def test_any_value(self, value: Any) -> None:
        """Whatever `decode` is handed, it gives an event that folds, or raises `MalformedEvent`."""
        try:
            event = decode(value)
        except MalformedEvent:
            return
        else:
            survives([event])

    @given(st.text() | json_values().map(json.dumps))
    @example("")
    @example('{"type":"RAW","type":5,"event":1}')
    @example("\ufeff{}")
    @example("[" * 200_000)
    @example('{"a":' * 200_000)
    @example('{"type":"RAW","event":1e999}')
    @example('{"type":"RAW","event":NaN}')
    @example('{"type":"RAW","event":' + "9" * 5_000 + "}")
    def test_any_text(self, text: str) -> None:
        """Any text gives an event or raises `MalformedEvent`."""
        attempt_decode(text)

    @given(st.binary() | json_values().map(lambda value: json.dumps(value).encode("utf-16")))
    @example(b"\xff\xfe{")
    @example(b"\x00")
    def test_any_bytes(self, data: bytes) -> None:
        """Any bytes give an event or raise `MalformedEvent`."""
        attempt_decode(data)

    @given(st.data())
    def test_flipped_bytes(self, data: st.DataObject) -> None:
        """A line of a real log with bytes changed, cut out or doubled is an event, or raises `MalformedEvent`."""
        line = bytearray(data.draw(st.sampled_from(real_lines())))
        for _ in range(data.draw(st.integers(1, 3))):
            place = data.draw(st.integers(0, max(len(line) - 1, 0)))
            match data.draw(st.sampled_from(("flip", "cut", "double"))):
                case "flip" if line:
                    line[place] ^= 1 << data.draw(st.integers(0, 7))
                case "cut":
                    del line[place : place + data.draw(st.integers(1, 9))]
                case _:
                    line[place:place] = line[place : place + data.draw(st.integers(1, 9))]
        attempt_decode(bytes(line))


def attempt_decode(data: Any) -> None:
    """Decode the data, and fold what it gives."""
    try:
        event = decode(data)
    except MalformedEvent:
        return
    else:
        survives([RUN, event])


def real_lines() -> list[bytes]:
    """Return a few lines of every real log, one of each type in it."""
    found: dict[tuple[Path, str], bytes] = {}
    for log in GOLDEN:
        for line in log.read_bytes().splitlines():
            found.setdefault((log, json.loads(line)["type"]), line)
    return list(found.values())


class TestFold:
    """The folds raise `ReducerError`s and nothing else, and the same ones."""

    @given(st.lists(mappings(), max_size=4))
    @settings(max_examples=settings().max_examples // 2)
    def test_any_mappings(self, stream: list[Any]) -> None:
        """Any mappings fold or raise `MalformedEvent`, with `fold`, `fold_all` and `fold_strict` alike."""
        survives([RUN, *stream])

    @given(mutated())
    def test_mutated_streams(self, stream: list[Any]) -> None:
        """Streams with members replaced, removed, renamed and exchanged fold or raise, in every way alike."""
        survives(stream)

    @given(changed_models())
    @settings(max_examples=settings().max_examples * 2)
    @example(
        [core.RunStartedEvent(thread_id="t", run_id="r"), core.TextMessageStartEvent.model_construct(message_id=[])]
    )
    @example([core.RunStartedEvent(thread_id="t", run_id="r"), core.TextMessageContentEvent.model_construct(delta="x")])
    def test_changed_models(self, stream: list[Any]) -> None:
        """Objects of the SDK with any attributes set to any value fold or raise, in every way alike."""
        survives(stream)

    @pytest.mark.parametrize("field", ["message_id", "role", "name", "subagent_run_id", "metadata"])
    @pytest.mark.parametrize(
        "value", [5, [], math.nan, {"a": Plain()}, Plain()], ids=["int", "list", "nan", "in a dict", "object"]
    )
    def test_changed_start(self, field: str, value: Any) -> None:
        """A start with an attribute of another type is refused as its wire form would be."""
        event = core.TextMessageStartEvent(message_id="m", role="assistant")
        object.__setattr__(event, field, value)
        state = survives([RUN, event])
        assert state.position == 1

    def test_changed_delta(self) -> None:
        """Of many deltas that are gathered the first that is no string is refused, as `fold` refuses it."""
        good, bad = (core.TextMessageContentEvent(message_id="m", delta="x") for _ in range(2))
        bad.delta = 5  # type: ignore[assignment]
        with pytest.raises(MalformedEvent) as error:
            fold_all(EMPTY, [decode(RUN), decode(START), good, bad, {"type": 5}])
        assert error.value.path == ("delta",)

    def test_metadata_changed_after_decoding(self) -> None:
        """What an event holds in lists and objects may be changed behind the library's back, and is still checked."""
        event = decode({**START, "metadata": {"a": 1}})
        event.metadata["a"] = Plain()
        with pytest.raises(MalformedEvent):
            fold(fold(EMPTY, RUN), event)

    @given(st.lists(anything, max_size=2), anything)
    def test_seed(self, messages: list[Any], state: Any) -> None:
        """A thread of any messages and state is stored, or raises `MalformedEvent`."""
        try:
            seeded = seed(messages, state)
        except MalformedEvent:
            return
        else:
            json.dumps(project(seeded).to_dict(), allow_nan=False)


class TestLoads:
    """`loads` raises `CheckpointError` and nothing else."""

    @given(st.binary() | st.text() | odd)
    def test_any_data(self, data: Any) -> None:
        """Whatever `loads` is handed that is no checkpoint raises `CheckpointError`."""
        with pytest.raises(CheckpointError):
            loads(data)


class Counter:
    """Counts the instructions that the interpreter executes, up to those of C code."""

    def __init__(self) -> None:
        self.count = 0

    def _trace(self, frame: FrameType, what: str, _: Any) -> Callable[..., Any]:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self.count += what == "opcode"
        return self._trace

    def spent(self, work: Callable[[], Any]) -> int:
        """Return the instructions that `work` takes."""
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            work()
        finally:
            sys.settrace(before)
        return self.count


@pytest.mark.slow
class TestHostile:
    """Hostile logs cost what their size says."""

    @pytest.mark.parametrize("name", HOSTILE)
    def test_folds(self, name: str) -> None:
        """A hostile log folds, in one piece and event by event alike, and shows in both layouts."""
        one = HOSTILE[name]
        size = min(3_000, one.size // 10)
        state = reduce(fold, one.log(size), EMPTY)
        assert fold_all(EMPTY, map(decode, one.log(size))) == state
        for layout in Layout:
            project(state, layout).to_dict()

    @pytest.mark.parametrize("name", HOSTILE)
    def test_is_linear(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Four times a hostile log costs at most five times as many instructions, to fold and to project."""
        monkeypatch.setattr(hostile, "LONG_PATH", 500)
        monkeypatch.setattr(hostile, "MESSAGES", 20)
        # Above the sizes at which a small mapping turns into a persistent one.
        small = max(2, min(150, HOSTILE[name].size // 100))

        def all_of_it(size: int) -> None:
            state = reduce(fold, HOSTILE[name].log(size), EMPTY)
            fold_all(EMPTY, HOSTILE[name].log(size))
            for layout in Layout:
                project(state, layout)

        assert Counter().spent(lambda: all_of_it(4 * small)) <= 5 * Counter().spent(lambda: all_of_it(small))
