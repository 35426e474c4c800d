"""The edge: what freezes, what does not, and that nothing leaks through it in either direction."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
import tracemalloc
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import Enum, IntEnum
from functools import partial
from math import inf, nan
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from ag_ui.core import AssistantMessage, EventType, FunctionCall, StateSnapshotEvent, ToolCall
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, computed_field, field_serializer
from pyrsistent import pmap, pvector

from reducer._frozen import VECTOR, Object, Unfreezable, brief, freeze, same, thaw, to_wire

DEEP = 10_000
# Where an object becomes wide; the tests go well to either side.
WIDE = 128

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


class Color(str, Enum):
    """An enumeration of strings."""

    RED = "red"


class Level(IntEnum):
    """An enumeration of integers."""

    HIGH = 3


class Word(str):
    """A string of a class of its own."""

    __slots__ = ()


class Share(float):
    """A number of a class of its own."""

    __slots__ = ()


@dataclass
class Point:
    """A plain dataclass."""

    x: Any
    more: list[Any] = field(default_factory=list)


class Card(BaseModel):
    """A model with each kind of field there is."""

    model_config = ConfigDict(extra="allow")

    card_id: str = Field(alias="cardId")
    required: str | None
    optional: str | None = None
    titled: str | None = "title"
    empty: str = ""
    listed: list[Any] = Field(default_factory=list)
    secret: str = Field(default="secret", exclude=True)
    written: str | None = Field(default=None, serialization_alias="writtenAs")


class Spelled(BaseModel):
    """A model that says itself how a field is written."""

    value: int

    @field_serializer("value")
    def spell(self, value: int) -> str:
        """Write the number in words, after a fashion."""
        return f"number {value}"


class Sized(BaseModel):
    """A model with a field that is computed."""

    items: list[int]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def size(self) -> int:
        """How many items there are."""
        return len(self.items)


def nested(levels: int, *, inside: Any = 1) -> Any:
    """Return a value under so many levels of arrays and objects, in turn."""
    for level in range(levels):
        inside = [inside] if level % 2 else {"a": inside}
    return inside


def containers(value: Any) -> list[Any]:
    """Return the containers in a value, itself included."""
    if not isinstance(value, (dict, list)):
        return []
    inside = value.values() if isinstance(value, dict) else value
    return [value, *(container for one in inside for container in containers(one))]


def tagged(value: Any) -> Any:
    """Return plain JSON so that Python's own equality is that of JSON."""
    if isinstance(value, dict):
        return {key: tagged(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [tagged(inner) for inner in value]
    return (isinstance(value, bool), value)


class TestFreeze:
    """JSON in: what is taken, and as what."""

    @given(values)
    @example({"b": [None, True, 0, -0.5, ""], "a": {}})
    def test_comes_back_as_it_was(self, value: Any) -> None:
        """What is frozen and thawed is the value, with the order of its keys."""
        assert json.dumps(thaw(freeze(value))) == json.dumps(value)

    @given(values)
    def test_leaves_its_input_alone(self, value: Any) -> None:
        """Freezing changes nothing in what it is given."""
        twin = copy.deepcopy(value)
        freeze(value)
        assert json.dumps(value) == json.dumps(twin)

    def test_keeps_nothing_that_could_change(self) -> None:
        """A container that is changed afterwards does not reach into its frozen twin."""
        value = {"a": [{"b": 1}]}
        frozen = freeze(value)
        value["a"][0]["b"] = 2
        value["a"].append({})
        assert thaw(frozen) == {"a": [{"b": 1}]}

    @pytest.mark.parametrize(
        ("value", "plain"),
        [
            (None, None),
            (True, True),
            (10**30, 10**30),
            (0.5, 0.5),
            ("\ud83d", "\ud83d"),
            (Color.RED, "red"),
            (Level.HIGH, 3),
            (Word("word"), "word"),
            (Share(0.25), 0.25),
            ({Color.RED: Word("w")}, {"red": "w"}),
            ((1, (2,)), [1, [2]]),
            (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
            (MappingProxyType({"a": [()]}), {"a": [[]]}),
            (pmap({"a": 1}), {"a": 1}),
            (pvector([{"a": pvector()}]), [{"a": []}]),
            (deque([1, 2]), [1, 2]),
            (range(3), [0, 1, 2]),
            (b"bytes", "bytes"),
            (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
            (datetime(2025, 1, 2, tzinfo=timezone.utc), "2025-01-02T00:00:00Z"),
            (Point(x=(1,), more=[{}]), {"x": [1], "more": [{}]}),
            ([Spelled(value=1)], [{"value": "number 1"}]),
            (Sized(items=[1, 2]), {"items": [1, 2], "size": 2}),
            (RootModel[list[Color]]([Color.RED]), ["red"]),
            (EventType.RUN_ERROR, "RUN_ERROR"),
            ([1e300, 1.0, Share(1)], [1e300, 1.0, 1.0]),
        ],
    )
    def test_takes_json_of_any_make(self, value: Any, plain: Any) -> None:
        """Whatever stands for JSON freezes to that JSON, in plain types, and `to_wire` gives the same."""
        frozen = freeze(value)
        for result in (thaw(frozen), to_wire(value)):
            assert json.dumps(result) == json.dumps(plain)
            assert type(result) is type(plain)
        assert same(frozen, freeze(plain))

    def test_scalars_lose_their_class(self) -> None:
        """No subclass of a scalar, and no enumeration, gets through, as a value or as a key."""
        frozen = thaw(freeze({Color.RED: [Color.RED, Level.HIGH, Word("w"), Share(0.5)]}))
        [(key, inside)] = frozen.items()
        assert [type(key), *map(type, inside)] == [str, str, int, str, float]

    def test_makes_arrays_and_objects(self) -> None:
        """Arrays freeze to vectors, objects to `Object`s."""
        assert type(freeze([])) is VECTOR
        assert type(freeze({})) is Object

    def test_takes_objects_as_they_are(self) -> None:
        """An `Object` is frozen already, wherever it stands."""
        frozen = Object({"a": 1})
        assert freeze(frozen) is frozen
        outer = freeze([frozen])
        assert type(outer) is VECTOR
        assert outer[0] is frozen
        assert to_wire([frozen]) == [{"a": 1}]

    def test_takes_one_value_in_two_places(self) -> None:
        """A container that stands in two places contains itself in neither."""
        twice = {"a": [1]}
        assert thaw(freeze([twice, [twice], twice["a"]])) == [twice, [twice], [1]]


class TestModels:
    """Pydantic models go by their wire form."""

    def test_goes_by_wire_names(self) -> None:
        """Names are the wire's, optional fields without value are absent, and every other null is data."""
        given = {"cardId": "1", "required": None, "titled": None, "listed": [None, {"a": None}], "some_extra": None}
        card = Card.model_validate(given)
        wire = {
            "cardId": "1",
            "required": None,
            "titled": None,
            "empty": "",
            "listed": [None, {"a": None}],
            "some_extra": None,
        }
        assert to_wire(card) == thaw(freeze(card)) == wire
        assert to_wire(Card(cardId="1", required="", written="w"))["writtenAs"] == "w"

    def test_goes_by_what_is_there(self) -> None:
        """A model that was made without validation, and lacks a field, is written without it."""
        assert to_wire(Card.model_construct(listed=[1])) == {"titled": "title", "empty": "", "listed": [1]}

    def test_agrees_with_the_sdk(self) -> None:
        """An SDK model freezes to what the SDK of today itself writes, extras included."""
        call = ToolCall(id="c", function=FunctionCall(name="f", arguments="{}"))
        message = AssistantMessage(id="m", tool_calls=[call], extra_key=None)  # type: ignore[call-arg]
        function = {"name": "f", "arguments": "{}"}
        wire = {"id": "m", "role": "assistant", "toolCalls": [{"id": "c", "type": "function", "function": function}]}
        assert to_wire(message) == thaw(freeze(message)) == {**wire, "extra_key": None}

    def test_keeps_nulls_of_state(self) -> None:
        """The null of a state snapshot, and those inside one, are data."""
        assert to_wire(StateSnapshotEvent(snapshot=None)) == {"type": "STATE_SNAPSHOT", "snapshot": None}
        assert to_wire(StateSnapshotEvent(snapshot={"a": [None]}))["snapshot"] == {"a": [None]}

    def test_models_and_dataclasses_nest(self) -> None:
        """What lies in models and dataclasses is looked into in the same way."""
        point = Point(x=Card(cardId="1", required=(Color.RED)), more=[Point(x=None)])
        wire = to_wire({"p": point})
        assert wire["p"]["x"]["required"] == "red"
        assert "optional" not in wire["p"]["x"]
        assert wire["p"]["more"] == [{"x": None, "more": []}]
        event = to_wire(StateSnapshotEvent(snapshot=[point]))
        assert event["snapshot"] == [wire["p"]]


class TestUnfreezable:
    """What is no JSON is refused, with the place where it stands."""

    @pytest.mark.parametrize(
        ("value", "path"),
        [
            (nan, ()),
            ({"a": [0.5, inf]}, ("a", 1)),
            ([Share("-inf")], (0,)),
            ({"a": {1: 2}}, ("a",)),
            ([{None: 2}], (0,)),
            ({True: 1}, ()),
            ({0.5: 1}, ()),
            ({"a": {1, 2}}, ("a",)),
            ([frozenset()], (0,)),
            ({"a": iter([1])}, ("a",)),
            ([object()], (0,)),
            ({"a": [{"b": b"\xff"}]}, ("a", 0, "b")),
            ({"a": Point}, ("a",)),
            ([Card], (0,)),
            ([len], (0,)),
            (Point(x=[nan]), ("x", 0)),
            (Card(cardId="1", required="", listed=[1, {"a": nan}]), ("listed", 1, "a")),
            (Card.model_construct(listed={2: 1}), ("listed",)),
        ],
    )
    def test_names_the_place(self, value: Any, path: tuple[str | int, ...]) -> None:
        """The error leads to what is wrong, from the place that the caller names."""
        with pytest.raises(Unfreezable) as caught:
            freeze(value, ("delta", 0))
        assert caught.value.path == ("delta", 0, *path)
        with pytest.raises(Unfreezable) as caught:
            to_wire(value)
        assert caught.value.path == path
        assert str(caught.value).endswith(f": {caught.value.why}")

    def test_says_what_is_wrong(self) -> None:
        """The error holds the value, says why, and survives pickling."""
        with pytest.raises(Unfreezable) as caught:
            freeze({"a": [{5: 1}]})
        assert str(caught.value) == "['a'][0]: a key must be a string, not 5"
        assert caught.value.value == {5: 1}
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301 - just made
        with pytest.raises(Unfreezable, match=r"^the value: nan is no JSON number$"):
            freeze(nan)

    def test_names_the_first_place(self) -> None:
        """Of several values that are no JSON the first one is named."""
        with pytest.raises(Unfreezable) as caught:
            freeze([[1], [{"a": [nan]}, inf], {1: 2}])
        assert caught.value.path == (1, 0, "a", 0)

    def test_an_iterator_is_not_used_up(self) -> None:
        """A refused iterator can still be read."""
        left = iter([1, 2])
        with pytest.raises(Unfreezable):
            freeze([left])
        assert list(left) == [1, 2]

    @pytest.mark.parametrize("convert", [freeze, to_wire])
    def test_a_cycle_ends(self, convert: Callable[[Any], Any]) -> None:
        """A value that contains itself, directly or far down, is refused where it would begin again."""
        array: list[Any] = [1]
        array.append(array)
        record: dict[str, Any] = {"a": {"b": [{}]}}
        record["a"]["b"][0]["c"] = record
        point = Point(x=1)
        point.more.append({"p": point})
        deep = nested(DEEP, inside=[])
        for value, path in ((array, (1,)), (record, ("a", "b", 0, "c")), (point, ("more", 0, "p"))):
            with pytest.raises(Unfreezable, match="it contains itself") as caught:
                convert(value)
            assert caught.value.path == path
        bottom = deep
        while bottom:
            bottom = bottom["a"] if isinstance(bottom, dict) else bottom[0]
        bottom.append(deep)
        with pytest.raises(Unfreezable, match="it contains itself") as caught:
            convert(deep)
        assert len(caught.value.path) == DEEP + 1

    def test_a_cycle_that_pydantic_finds_ends(self) -> None:
        """A cycle through a model that writes itself is refused as well."""
        model = Sized.model_construct(items=[])
        model.items.append(model)  # type: ignore[arg-type]
        with pytest.raises(Unfreezable):
            freeze(model)


class TestThaw:
    """Frozen out: plain and fresh."""

    @given(values)
    def test_shares_nothing(self, value: Any) -> None:
        """What is thawed or made for the wire has no container in common with the value, nor with another such."""
        frozen = freeze([value, value])
        made = [thaw(frozen), thaw(frozen), to_wire(frozen), to_wire([value, value])]
        fresh = [id(container) for one in made for container in containers(one)]
        assert len({*fresh, *map(id, containers(value))}) == len(fresh) + len({*map(id, containers(value))})


class TestSame:
    """Equality of JSON."""

    @pytest.mark.parametrize(
        ("one", "other", "equal"),
        [
            (1, 1.0, True),
            (0, -0.0, True),
            (1, True, False),
            (0.0, False, False),
            (None, False, False),
            (None, 0, False),
            ("1", 1, False),
            ("", None, False),
            (2**53 + 1, float(2**53), False),
            ([], {}, False),
            ([], None, False),
            ({}, None, False),
            (1, [1], False),
            ([1, 2], [2, 1], False),
            ([1], [1, 2], False),
            ([1, [True]], [1.0, [True]], True),
            ([1, [True]], [1, [1]], False),
            ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
            ({"a": 1}, {"a": True}, False),
            ({"a": None}, {"b": None}, False),
            ({"a": None}, {}, False),
            ({"a": {"b": [{}]}}, {"a": {"b": [[]]}}, False),
        ],
    )
    def test_by_example(self, one: Any, other: Any, *, equal: bool) -> None:
        """Numbers are equal by value, truth values are no numbers, and keys have no order."""
        assert same(freeze(one), freeze(other)) is equal
        assert same(freeze(other), freeze(one)) is equal

    @given(values, values)
    @example({"a": [1, {"b": 0.0}]}, {"a": [1.0, {"b": 0}]})
    def test_is_equality_with_types(self, one: Any, other: Any) -> None:
        """It is Python's equality once truth values are told from numbers."""
        assert same(freeze(one), freeze(other)) is (tagged(one) == tagged(other))
        assert same(freeze(one), freeze(copy.deepcopy(one)))

    def test_operator(self) -> None:
        """`==` on objects is the same equality, and an object is equal to no plain dict."""
        assert Object({"a": 1}) == Object({"a": 1.0})
        assert Object({"a": 1}) != Object({"a": True})
        assert Object({}) != {}


keys = st.integers(0, WIDE + 40).map(str)
writes = st.lists(st.tuples(st.sampled_from(["set", "set", "remove"]), keys, st.integers(0, 3)), max_size=60)


class TestObject:
    """The immutable object, narrow and wide."""

    @given(st.sampled_from([0, 3, WIDE - 5, WIDE, WIDE + 5]), writes)
    @example(WIDE, [("set", "x", 1), ("remove", "0", 0), ("set", "0", 2), ("set", "5", 0)])
    @example(WIDE + 1, [("remove", str(number), 0) for number in range(WIDE)])
    def test_steps_with_a_dict(self, size: int, steps: list[tuple[str, str, int]]) -> None:
        """It does what a dict does, in the order of a dict, and every version stays as it was."""
        twin = {str(number): number for number in range(size)}
        made = Object(dict(twin))
        versions = [(made, dict(twin))]
        for step, key, value in steps:
            if step == "set":
                made = made.set(key, value)
                twin[key] = value
            elif key in twin:
                made = made.remove(key)
                del twin[key]
            else:
                with pytest.raises(KeyError):
                    made.remove(key)
            versions.append((made, dict(twin)))
        for version, plain in versions:
            assert list(version.items()) == list(plain.items())
            assert len(version) == len(plain)
            assert [(version.get(key, "none"), key in version) for key in "7x"] == [
                (plain.get(key, "none"), key in plain) for key in "7x"
            ]
            assert version == Object(dict(reversed(plain.items())))

    @pytest.mark.parametrize("size", [1, WIDE + 1])
    def test_what_stands_there_already_changes_nothing(self, size: int) -> None:
        """Setting a key to what it holds gives the object itself."""
        inside = Object({})
        made = Object({str(number): inside for number in range(size)})
        assert made.set("0", inside) is made
        assert made.set("0", Object({})) is not made

    def test_an_absent_key(self) -> None:
        """What is absent is null, or what the caller says."""
        for made in (Object({}), Object({str(number): number for number in range(WIDE + 1)})):
            assert made.get("x") is None
            assert made.get("x", 5) == 5

    def test_is_no_key(self) -> None:
        """It does not hash, as no container of JSON does."""
        with pytest.raises(TypeError):
            hash(Object({}))

    def test_copies_are_itself(self) -> None:
        """What cannot change need not be copied."""
        made = Object({"a": Object({})})
        assert copy.deepcopy(made) is made
        assert copy.deepcopy([made])[0] is made

    def test_reads_well(self) -> None:
        """Its representation shows the first keys, and containers by their size."""
        made = freeze({"a": 1, "b": [1, 2], "c": {"d": "long " * 40}, "d": 10**50})
        assert repr(made) == "Object({'a': 1, 'b': <array of 2>, 'c': <object of 1>, 'd': <huge integer>})"
        assert repr(Object({str(number): 0 for number in range(9)})).endswith("'7': 0, ...})")
        assert len(brief("long " * 1000)) < 40

    def test_a_wide_write_costs_what_it_touches(self) -> None:
        """A write to 100,000 keys takes a few kilobytes, not the megabytes of a copy."""
        wide = Object({str(number): number for number in range(100_000)})
        for write in (partial(wide.set, "500", "old"), partial(wide.set, "x", "new"), partial(wide.remove, "500")):
            tracemalloc.start()
            write()
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 20_000

    def test_a_shrunken_object_forgets(self) -> None:
        """An object costs what is there, not what it lost, nor how often it was written to."""
        made = Object({str(number): number for number in range(10 * WIDE)})
        for number in range(10 * WIDE - 1):
            made = made.remove(str(number))
        assert made._rows is None
        wide = Object({str(number): number for number in range(2 * WIDE)})
        for number in range(2 * WIDE):
            wide = wide.set("5", str(number))
        assert wide._rows is not None
        assert len(wide._rows) == len(wide)
        assert list(made.items()) == [(str(10 * WIDE - 1), 10 * WIDE - 1)]


class TestDepth:
    """Nesting is bounded by memory, not by the stack."""

    def test_every_way_through(self) -> None:
        """10,000 levels freeze, thaw, compare, copy and print."""
        frozen = freeze(nested(DEEP))
        assert same(frozen, freeze(to_wire(nested(DEEP))))
        assert same(frozen, freeze(thaw(frozen)))
        assert not same(frozen, freeze(nested(DEEP, inside=2)))
        assert not same(frozen, freeze(nested(DEEP - 2)))
        assert len(brief(frozen)) < 30
        inside = Object({"a": frozen})
        assert inside == Object({"a": freeze(nested(DEEP))})
        assert copy.deepcopy(inside) is inside
        assert len(repr(inside)) < 50

    def test_an_error_far_down(self) -> None:
        """What is wrong at level 10,000 is found, and the way to it is given in full."""
        with pytest.raises(Unfreezable) as caught:
            freeze(nested(DEEP, inside=nan))
        assert len(caught.value.path) == DEEP


ORDER = """
from reducer._frozen import Object, freeze, thaw
for size in (5, 500):
    made = freeze({f"key {n}": n for n in range(size)}).remove("key 2").set("key 2", 0).set("key 3", 5)
    print(list(thaw(made)), repr(made))
"""


def test_order_does_not_hang_on_the_hash_seed() -> None:
    """The order of keys is the same under every hash seed, in narrow and in wide objects."""
    root = Path(__file__).parents[1]
    printed = {
        subprocess.run(  # noqa: S603 - the script stands above
            [sys.executable, "-c", ORDER],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1
    assert "'key 1', 'key 3', 'key 4', 'key 2'" in printed.pop()
