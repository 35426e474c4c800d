"""The records: immutable, equal by value, one line for humans; and the mappings and texts that states are made of."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from itertools import pairwise
from math import nan
from pathlib import Path
from typing import Any

import attrs
import pytest
from ag_ui.core import Event as AnyEvent
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from pydantic import TypeAdapter
from pyrsistent import PMap

import reducer
from reducer import (
    EMPTY,
    Anomaly,
    Changes,
    CheckpointError,
    Layout,
    MalformedEvent,
    Origin,
    Placed,
    ProtocolViolation,
    ReducerError,
    ResumeError,
    Snapshot,
    TruncatedRun,
    decode,
    dumps,
    fold,
    fold_all,
    loads,
    project,
    seed,
)
from reducer._index import FACTOR, SMALL, TOP, Index, assoc, dissoc
from reducer._records import Entry, Row
from reducer._session import Run, Session
from reducer._state import FIELDS, NO_PEN
from reducer._text import Rope, append, paired, pieces, same_text, text
from reducer.errors import show_path
from reducer.strategies import events, streams
from tests.cases.build import FINISHED, IN_RUN, after, call, said, seen, snapshot, started
from tests.cases.build import text as text_event

COPIES = pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))],  # noqa: S301 - this project's own
    ids=["copy", "deepcopy", "pickle"],
)
Again = Callable[[Any], Any]
WHOLE: Rope = ("ab", None, 1, 2)
CUT: Rope = ("b", ("a", None, 1, 1), 2, 2)
ADAPTER: TypeAdapter[Any] = TypeAdapter(AnyEvent)
MIDDLE = after(*said("m", "hi"), call("START"), text_event("START", "n"), text_event("CONTENT", "n", delta="on"))


class TestState:
    """A state is a value."""

    def test_is_immutable(self) -> None:
        """No field of a state can be set, and none deleted."""
        for field in FIELDS:
            with pytest.raises(AttributeError):
                setattr(MIDDLE, field, None)
            with pytest.raises(AttributeError):
                delattr(MIDDLE, field)
        with pytest.raises(AttributeError):
            MIDDLE.more = 7  # type: ignore[attr-defined]

    @given(streams(), st.integers(0, 30))
    def test_equals_by_history(self, stream: list[dict[str, Any]], place: int) -> None:
        """Equal histories make equal states, whose hashes are equal; another history makes another state."""
        one, other = reduce(fold, stream, EMPTY), fold_all(EMPTY, [decode(event) for event in stream])
        assert one == other
        assert hash(one) == hash(other)
        assert not one != other  # noqa: SIM202 - both operators are asked
        cut = reduce(fold, stream[: place % len(stream)], EMPTY)
        assert cut != one

    def test_equals_by_kind(self) -> None:
        """A state is equal to no other thing, and JSON in it is compared with its types."""
        assert [*FIELDS] != EMPTY
        assert EMPTY != 0
        assert seed([], {"n": 1}) != seed([], {"n": True})
        assert seed([], {"n": 1}) == seed([], {"n": 1.0})

    def test_results_equal_by_type(self) -> None:
        """A run's result is JSON like any other: `true` is not `1`."""
        one, other = (fold(IN_RUN, {**FINISHED, "result": result}) for result in (1, True))
        assert one != other

    def test_equals_wherever_the_pen_is(self) -> None:
        """What the last event wrote to is no part of what a state says."""
        written = fold(MIDDLE, ADAPTER.validate_python(text_event("CONTENT", "n", delta="!")))
        assert written.pen != NO_PEN
        assert written == fold(MIDDLE, text_event("CONTENT", "n", delta="!"))

    def test_equals_by_what_the_ids_lead_to(self) -> None:
        """States in which a message id leads elsewhere are not equal, though they hold the same entities."""
        conversation = MIDDLE.conversation
        elsewhere = conversation._replace(index=conversation.index.put("m", ("text", "another")))
        assert MIDDLE._replace(conversation=elsewhere) != MIDDLE

    def test_equals_wherever_the_texts_lie(self) -> None:
        """Where the text of an open entity lies among the others is no part of what a state says."""
        starts = [text_event("START", name) for name in "ab"]
        state = after(*starts, text_event("END", "a"), text_event("START", "c"), text_event("CONTENT", "c", delta="!"))
        again = loads(dumps(state))
        assert [one[3] for one in state.live.values()] != [one[3] for one in again.live.values()]
        assert state == again
        assert state != fold(again, text_event("CONTENT", "b", delta="!"))._replace(position=state.position)

    def test_prints_a_line(self) -> None:
        """A state prints how far it is, how the last run stands, and how much there is."""
        assert repr(EMPTY) == "<State after 0 events: no run, 0 rows, 0 open>"
        assert repr(MIDDLE) == "<State after 7 events: running, 3 rows, 2 open>"
        assert str(fold(MIDDLE, FINISHED)) == "<State after 8 events: finished, 3 rows, 0 open>"

    @COPIES
    @given(stream=events(max_size=15))
    def test_copies(self, again: Again, stream: list[dict[str, Any]]) -> None:
        """A copy is equal and goes on alike."""
        state = reduce(fold, stream, EMPTY)
        twin = again(state)
        assert twin == state
        assert fold(twin, FINISHED) == fold(state, FINISHED)
        assert project(twin).to_dict() == project(state).to_dict()

    def test_shares_structure(self) -> None:
        """What an event does not touch is the same object in the next state."""
        after_text = fold(MIDDLE, text_event("CONTENT", "n", delta="!"))
        assert after_text.session is MIDDLE.session
        assert fold(MIDDLE, {"type": "STATE_SNAPSHOT", "snapshot": 1}).conversation is MIDDLE.conversation

    @pytest.mark.parametrize(
        "record",
        [Row(1, 2), Entry(None, 1, 2), Run("r", "t", 0, 0), Session(), EMPTY.conversation, Index.of({})],
        ids=lambda record: type(record).__name__,
    )
    def test_parts(self, record: Any) -> None:
        """The records inside are equal by value, and equal to nothing of another sort."""
        twin = pickle.loads(pickle.dumps(record))  # noqa: S301 - this project's own
        assert record == twin
        assert not record != twin  # noqa: SIM202 - both operators are asked
        assert record != 5
        assert record is not None
        assert record != (5,)

    def test_parts_hash(self) -> None:
        """Records that may stand in sets hash by what equality looks at; an index does not hash."""
        one, other = Row(1, 2, WHOLE), Row(1, 2, CUT)
        assert one == other
        assert hash(one) == hash(other)
        assert hash(Entry(None, 1, 2, WHOLE)) == hash(Entry(None, 1, 2, CUT))
        assert hash(Session()) == hash(Session())
        assert hash(Run("r", "t", 0, 0)) == hash(Run("r", "t", 0, 0))
        with pytest.raises(TypeError):
            hash(Index.of({}))


class TestSnapshot:
    """A snapshot is a value of plain data."""

    def test_is_immutable(self) -> None:
        """No field of a snapshot can be set; what the fields hold is the reader's to change."""
        shown = project(MIDDLE)
        for field in ("messages", "state", "thread_id"):
            with pytest.raises(AttributeError):
                setattr(shown, field, None)
        shown.messages.clear()
        assert len(project(MIDDLE).messages) == 3

    @given(streams(), st.sampled_from(Layout))
    def test_equals_by_value(self, stream: list[dict[str, Any]], layout: Layout) -> None:
        """Two looks at one state are equal; the layouts are two names."""
        state = fold_all(EMPTY, stream)
        assert project(state, layout) == project(state, layout)
        assert isinstance(project(state, layout), Snapshot)
        assert Layout(layout.value) is layout

    @COPIES
    def test_copies(self, again: Again) -> None:
        """A copy is equal."""
        shown = project(fold(MIDDLE, text_event("END", "gone")))
        assert again(shown) == shown

    def test_prints_a_line(self) -> None:
        """A snapshot prints how many messages it has and how the last run stands."""
        assert repr(project(EMPTY)) == "<Snapshot of 0 messages, no run>"
        assert repr(project(MIDDLE)) == "<Snapshot of 3 messages, running>"

    def test_hashes_not(self) -> None:
        """Plain data does not hash, and a snapshot is equal to no other thing."""
        with pytest.raises(TypeError):
            hash(project(EMPTY))
        assert project(EMPTY) != project(EMPTY).to_dict()

    def test_origins(self) -> None:
        """Each message has an origin, which is immutable and equal by value."""
        [first, second, third] = seen(*said("m", "hi"), call("START"), text_event("CONTENT", "n", delta="on")).origins
        assert first == Origin((1, 3), "r", None)
        assert (second.span, third.span) == ((4, 4), (5, 5))
        with pytest.raises(AttributeError):
            first.run_id = "x"  # type: ignore[misc]

    def test_nobodys_run(self) -> None:
        """What stood before any run has no run."""
        stored = seed([{"id": "u", "role": "user", "content": "hi"}])
        assert project(stored).origins == [Origin((0, 0), None, None)]
        assert seen(started("r2"), onto=stored).origins[0].run_id in (None, "r2")


ANOMALY = Anomaly("text-not-open", 3, "TEXT_MESSAGE_END", "'m'")


class TestAnomaly:
    """An anomaly is a value."""

    def test_is_immutable(self) -> None:
        """No field can be set."""
        for field in ("code", "position", "event", "detail", "fatal"):
            with pytest.raises(AttributeError):
                setattr(ANOMALY, field, None)

    def test_equals_by_value(self) -> None:
        """Equal facts are equal anomalies, which hash alike."""
        twin = Anomaly("text-not-open", 3, "TEXT_MESSAGE_END", "'m'")
        assert twin == ANOMALY
        assert hash(twin) == hash(ANOMALY)
        assert Anomaly("text-not-open", 3, "TEXT_MESSAGE_END") != ANOMALY

    def test_knows_whether_it_is_fatal(self) -> None:
        """The table of rules decides."""
        assert ANOMALY.fatal
        assert not Anomaly("patch-failed", 3, "STATE_DELTA").fatal

    def test_prints_a_line(self) -> None:
        """All facts are in the line."""
        assert repr(ANOMALY) == ("Anomaly(code='text-not-open', position=3, event='TEXT_MESSAGE_END', detail=\"'m'\")")

    @COPIES
    def test_copies(self, again: Again) -> None:
        """A copy is equal."""
        assert again(ANOMALY) == ANOMALY


ERRORS: list[tuple[ReducerError, str]] = [
    (MalformedEvent(("messages", 0, "id"), 7, "must be a string"), "messages[0].id: must be a string (got 7)"),
    (MalformedEvent((), [1] * 99, "must be an object"), "(the event): must be an object (got [1, 1, 1, 1, 1, 1, ...])"),
    (MalformedEvent((0, "k"), None, "is required"), "[0].k: is required (got None)"),
    (
        ProtocolViolation("text-not-open", 3, "TEXT_MESSAGE_END", "basic/patterns/streaming", "'m'"),
        "event 3 (TEXT_MESSAGE_END): 'm' [text-not-open; spec: basic/patterns/streaming]",
    ),
    (
        ProtocolViolation("first-event", 0, "CUSTOM", "events/lifecycle"),
        "event 0 (CUSTOM): first-event [first-event; spec: events/lifecycle]",
    ),
    (TruncatedRun("r", 4), "the stream ended after 4 events inside run 'r'"),
    (
        TruncatedRun(None, 4, ("text 'm'", "step 's'")),
        "the stream ended after 4 events inside run None; still open: text 'm', step 's'",
    ),
    (
        ResumeError("unknown", ("i1", "i2")),
        "resume answers what is no open interrupt of this thread: 'i1', 'i2'",
    ),
    (CheckpointError("it is no JSON"), "it is no JSON"),
    (CheckpointError("a number is missing", "runs[0]"), "runs[0]: a number is missing"),
]
each_error = pytest.mark.parametrize(("error", "sentence"), ERRORS, ids=[sentence for _, sentence in ERRORS])


class TestErrors:
    """An error carries its facts as fields."""

    @each_error
    def test_prints_a_sentence(self, error: ReducerError, sentence: str) -> None:
        """The sentence has all that a human needs, in a line."""
        assert str(error) == sentence

    @each_error
    def test_equals_by_value(self, error: ReducerError, sentence: str) -> None:
        """Equal facts are equal errors, which hash alike; errors of two classes are never equal."""
        twin = type(error)(*error.args)
        assert twin == error
        assert hash(twin) == hash(error)
        assert error != ValueError(sentence)
        assert [other for other, _ in ERRORS if other == error] == [error]

    @each_error
    @COPIES
    def test_copies(self, error: ReducerError, sentence: str, again: Again) -> None:
        """A copy is equal, and says the same."""
        assert again(error) == error
        assert str(again(error)) == sentence

    @each_error
    def test_is_immutable(self, error: ReducerError, sentence: str) -> None:
        """No fact can be set or deleted, nor can the arguments; what Python and others add to an exception can."""
        error = copy.copy(error)
        for name in (*error._facts, "args"):
            with pytest.raises(AttributeError, match="immutable"):
                setattr(error, name, "other")
        for name in error._facts:
            with pytest.raises(AttributeError, match="immutable"):
                delattr(error, name)
        assert str(error) == sentence
        error.seen = "once"
        with pytest.raises(ReducerError) as raised:
            raise error from KeyError("k")
        assert isinstance(raised.value.__cause__, KeyError)
        assert pickle.loads(pickle.dumps(error)).seen == "once"  # noqa: S301 - this project's own
        del error.seen  # type: ignore[attr-defined]
        assert not hasattr(error, "seen")

    @pytest.mark.parametrize(
        ("one", "other", "equal"),
        [
            pytest.param(1, True, False, id="a number is no truth value"),
            pytest.param({"a": [0]}, {"a": [False]}, False, id="nor inside"),
            pytest.param(1, 1.0, True, id="one is one"),
            pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, id="keys have no order"),
            pytest.param({1}, {1}, True, id="what is no JSON compares as it does"),
            pytest.param({1}, [1], False, id="what is no JSON is no JSON"),
            pytest.param(nan, nan, True, id="the same object is equal"),
        ],
    )
    def test_values(self, one: Any, other: Any, *, equal: bool) -> None:
        """Values compare as JSON, by type, and equal errors hash alike."""
        first, second = (MalformedEvent(("value",), value, "must not be") for value in (one, other))
        assert (first == second) is equal
        assert not equal or hash(first) == hash(second)

    def test_values_that_contain_themselves(self) -> None:
        """A value that contains itself is equal to itself alone, and to look takes no time."""
        one: list[Any] = []
        one.append(one)
        other: list[Any] = []
        other.append(other)
        assert MalformedEvent((), one, "") == MalformedEvent((), one, "")
        assert MalformedEvent((), one, "") != MalformedEvent((), other, "")

    @each_error
    def test_is_one_of_this_library(self, error: ReducerError, sentence: str) -> None:
        """One base catches them all; what a value is to blame for is a `ValueError` too."""
        with pytest.raises(ReducerError) as raised:
            raise error
        assert str(raised.value) == sentence
        assert isinstance(error, ValueError) == isinstance(error, (MalformedEvent, CheckpointError))

    def test_the_base_has_no_facts(self) -> None:
        """The base alone is equal to itself."""
        assert ReducerError() == ReducerError()
        assert ReducerError() != MalformedEvent((), None, "")

    @pytest.mark.parametrize(
        ("path", "shown"),
        [((), "(the event)"), (("a",), "a"), (("a", 0, "b", 1), "a[0].b[1]"), ((3,), "[3]")],
        ids=repr,
    )
    def test_paths(self, path: tuple[str | int, ...], shown: str) -> None:
        """A path reads as it is written in most languages."""
        assert show_path(path) == shown


def rope_of(deltas: Iterable[str]) -> Rope:
    """Return the deltas, at positions from 0, as a rope."""
    rope: Rope = None
    for position, delta in enumerate(deltas):
        rope = append(rope, delta, position)
    return rope


DELTAS = st.lists(st.text(st.characters(codec=None), max_size=4), max_size=60)
"""Texts of any characters, halves of surrogate pairs among them."""


class TestRope:
    """A text that streams is what a string would be, at a price that does not grow."""

    @given(DELTAS)
    def test_is_its_deltas(self, deltas: list[str]) -> None:
        """A rope reads as its deltas joined, and every earlier rope reads as it did."""
        rope: Rope = None
        history: list[tuple[Rope, str]] = [(None, "")]
        for delta in deltas:
            rope = append(rope, delta, len(history))
            history.append((rope, history[-1][1] + delta))
        for earlier, whole in history:
            assert "".join(pieces(earlier)) == whole
            assert text(earlier) == paired(whole)

    @given(DELTAS)
    def test_an_empty_delta_changes_nothing(self, deltas: list[str]) -> None:
        """To append nothing gives the same rope."""
        rope = rope_of(deltas)
        assert append(rope, "", 9) is rope

    @given(DELTAS)
    def test_has_the_last_position(self, deltas: list[str]) -> None:
        """A rope knows the position of the last delta that was not empty."""
        told = [position for position, delta in enumerate(deltas) if delta]
        rope = rope_of(deltas)
        assert (None if rope is None else rope[3]) == (told[-1] if told else None)

    @given(DELTAS, st.integers(1, 5))
    def test_equals_by_text(self, deltas: list[str], size: int) -> None:
        """Ropes of one text are the same however it was cut, and ropes of two texts are not."""
        whole = "".join(deltas)
        other = rope_of(whole[place : place + size] for place in range(0, len(whole), size))
        rope = rope_of(deltas)
        assert same_text(rope, other)
        assert not same_text(rope, append(other, "x", len(deltas)))

    def test_is_a_few_pieces(self) -> None:
        """However many deltas there were, the pieces are a few dozen at most."""
        rope: Rope = None
        for number in range(5_000):
            rope = append(rope, str(number), number)
            assert len(pieces(rope)) < 40
        assert text(rope) == "".join(map(str, range(5_000)))

    @given(st.lists(DELTAS, max_size=4))
    def test_several_are_one_text(self, rows: list[list[str]]) -> None:
        """The ropes of several rows read as one text, in which pairs join across them."""
        ropes: list[Rope] = [rope_of(deltas) for deltas in rows]
        assert text(*ropes) == paired("".join("".join(deltas) for deltas in rows))

    @pytest.mark.parametrize(
        ("whole", "read"),
        [
            ("a", "a"),
            ("é", "é"),
            ("\ud83d\ude00", "\U0001f600"),
            ("\ud83d", "\ud83d"),
            ("\ude00\ud83d", "\ude00\ud83d"),
            ("x\ud83d\ude00\ud83d", "x\U0001f600\ud83d"),
        ],
        ids=ascii,
    )
    def test_pairs(self, whole: str, read: str) -> None:
        """Two halves of a pair are one character; a half without its other stays."""
        assert paired(whole) == read


KEYS, VALUES = st.integers(0, 60), st.integers(0, 3)


class IndexMachine(RuleBasedStateMachine):
    """An index and a dict in lock step; every earlier index stays as it was."""

    def __init__(self) -> None:
        super().__init__()
        self.index: Index[int, int] = Index.of({})
        self.twin: dict[int, int] = {}
        self.history: list[tuple[Index[int, int], dict[int, int]]] = []

    @rule(key=KEYS, value=VALUES | st.none())
    def put(self, key: int, value: int | None) -> None:
        """Set a key, or remove it."""
        self.all_of({key: value})

    @rule(entries=st.dictionaries(KEYS, VALUES | st.none(), max_size=40))
    def all_of(self, entries: dict[int, int | None]) -> None:
        """Set and remove several keys at once."""
        self.history.append((self.index, dict(self.twin)))
        given_ = dict(entries)
        [*alone] = entries.items()
        self.index = self.index.put(*alone[0]) if len(alone) == 1 else self.index.put_all(entries)
        assert entries == given_
        self.twin = {key: value for key, value in {**self.twin, **entries}.items() if value is not None}

    @rule(entries=st.dictionaries(KEYS, VALUES, max_size=40))
    def anew(self, entries: dict[int, int]) -> None:
        """Begin with a dict that the index takes over."""
        self.index, self.twin = Index.of(dict(entries)), entries

    @invariant()
    def agrees(self) -> None:
        """All keys read alike."""
        assert self.index.to_dict() == self.twin
        assert [self.index.get(key) for key in range(61)] == [self.twin.get(key) for key in range(61)]
        assert self.index == Index.of(dict(self.twin))
        assert repr(self.index).startswith("Index({")

    @invariant()
    def differs(self) -> None:
        """What differs from an earlier index is among the keys that it names, none of which holds the very same."""
        for index, twin in self.history[-3:]:
            differing = index.differing(self.index)
            changed = {key for key in range(61) if twin.get(key) != self.twin.get(key)}
            assert changed <= {*differing}

    @invariant()
    def layers(self) -> None:
        """The top is small, and each layer several times the size of the one before it."""
        assert len(self.index.top) <= TOP
        rest = self.index.rest
        for upper, lower in pairwise(rest):
            assert len(lower) >= FACTOR * len(upper)

    def teardown(self) -> None:
        """Look at all earlier ones again."""
        for index, twin in self.history:
            assert index.to_dict() == twin


TestIndex = IndexMachine.TestCase


def test_removed_below() -> None:
    """A key that was removed differs, though the value lies in a layer that both share."""
    before = Index.of({0: 1})
    assert before.differing(before.put(0, None)) == [0]
    assert before.put(0, None).differing(before) == [0]


class TestSmallMappings:
    """Mappings that are copied on each write, and persistent where they grow."""

    @given(st.lists(st.tuples(st.booleans(), KEYS, VALUES), max_size=120))
    def test_step_with_a_dict(self, steps: list[tuple[bool, int, int]]) -> None:
        """Setting and removing give what a dict would hold, and leave every earlier mapping as it was."""
        mapping: Mapping[int, int] = {}
        twin: dict[int, int] = {}
        history: list[tuple[Mapping[int, int], dict[int, int]]] = []
        for is_set, key, value in steps:
            history.append((mapping, dict(twin)))
            if is_set:
                mapping = assoc(mapping, key, value)
                twin[key] = value
            else:
                mapping = dissoc(mapping, key)
                twin.pop(key, None)
        for earlier, held in [*history, (mapping, twin)]:
            assert dict(earlier) == held
            assert not isinstance(earlier, dict) or len(earlier) <= SMALL

    def test_what_is_absent_changes_nothing(self) -> None:
        """To remove a key that is not there gives the same mapping."""
        small: Mapping[str, int] = {"a": 1}
        assert dissoc(small, "b") is small

    def test_grow_and_shrink(self) -> None:
        """What grows large is persistent, and a dict again when it has shrunk."""
        mapping: Mapping[int, int] = {}
        for number in range(SMALL + 1):
            mapping = assoc(mapping, number, number)
        assert isinstance(mapping, PMap)
        for number in range(SMALL):
            mapping = dissoc(mapping, number)
        assert mapping == {SMALL: SMALL}
        assert isinstance(mapping, dict)

    def test_a_large_dict_is_not_copied_twice(self) -> None:
        """A large dict that somebody made becomes persistent with the first write, or removal."""
        large = dict.fromkeys(range(100), 0)
        assert isinstance(assoc(large, 0, 1), PMap)
        assert isinstance(dissoc(large, 0), PMap)
        assert large == dict.fromkeys(range(100), 0)


class TestReference:
    """`docs/reference/api.md` describes every public name."""

    PAGE = (Path(__file__).parents[1] / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    SECTIONS: Mapping[str, str] = {part.partition("`")[0]: part.partition("`")[2] for part in PAGE.split("\n### `")[1:]}

    def test_names(self) -> None:
        """The page has a section for each name that the package gives, and for nothing else, and the list is sorted."""
        assert sorted(self.SECTIONS) == sorted(reducer.__all__)
        assert len(set(reducer.__all__)) == len(reducer.__all__)
        assert all(hasattr(reducer, name) for name in reducer.__all__)

    @pytest.mark.parametrize("name", reducer.__all__)
    def test_parameters(self, name: str) -> None:
        """The section of a function names all that goes in, the section of a record or error all that is in it."""
        given_ = getattr(reducer, name)
        if inspect.isfunction(given_):
            signature = f"`{name}({self.SECTIONS[name].partition(f'`{name}(')[2].partition('`')[0]}`"
            for parameter in inspect.signature(given_).parameters:
                assert re.search(rf"\b{parameter}\b", signature), parameter
        facts = attrs_of(given_)
        for fact in facts:
            assert f"`{fact}`" in self.SECTIONS[name], fact


def attrs_of(given_: Any) -> list[str]:
    """Return the public attributes of a record, or the facts of an error."""
    if isinstance(given_, type) and issubclass(given_, ReducerError):
        return [*given_._facts]
    if given_ in (Snapshot, Anomaly, Changes):
        return [field.name for field in attrs.fields(given_)]
    if given_ in (Origin, Placed):
        return [*given_._fields]
    if given_ is Layout:
        return [f"Layout.{member.name}" for member in Layout]
    return []


def test_inputs_are_left_alone() -> None:
    """What is passed to the library stays as it was, and what comes out reaches back into nothing."""
    told = [{"id": "u", "role": "user", "content": [{"type": "text", "text": "hi"}], "metadata": {"k": []}}]
    untouched = copy.deepcopy(told)
    state = fold(IN_RUN, snapshot(*told))
    project(state).messages[0]["metadata"]["k"].append(1)
    project(state).to_dict()["messages"][0]["content"].clear()
    assert told == untouched == project(state).messages
