"""RFC 6902 over frozen JSON: by example, against `jsonpatch`, and beside the reference client.

The reference client applies patches with `fast-json-patch` 3.1.1. Wherever RFC 6902 says what a patch means, and that
library does otherwise, this one follows the RFC. These are all the differences known, found by generating documents
and patches; `DIFFERENCES` pins each, and is itself compared with the client.

| operation | RFC 6902, and here | fast-json-patch |
| --- | --- | --- |
| `add` at an array index with leading zeros | refused | read as a decimal |
| `add`, `move` or `copy` to an empty token in an array | refused | index 0 |
| `add` at an array index from 2^31 on | out of bounds | taken modulo 2^32 |
| `move` or `copy` to an index beyond the array | out of bounds | appended |
| `move` of an array element into itself | refused | put into the element that takes its place |
| `move` of the whole scalar document into itself | refused | ignored |
| `move` whose target only resolves once the source is gone | done | refused |
| any, into a scalar that is the whole document | refused | ignored |
| `copy` or `move` to the root from what is not there | refused | `undefined`, which the client then ignores |
| `replace`, `remove`, `copy` of a name of `Object.prototype` | not there | there |
| `add` of `__proto__` | a key like any other | refused |
| `test` of an object with a key `hasOwnProperty` | compared | refused |
| `test` of integers beyond 2^53 | exact | as doubles |

Pointers with a bad escape (`~2`) never reach it, since the schema has them malformed; an operation it does not know
makes it refuse the patch, but the client takes such operations out before. To remove the root, about which the RFC says
nothing, leaves null with both. `jsonpatch` refuses that, and patches with an unknown operation; otherwise it agrees.
"""

from __future__ import annotations

import copy
import json
import pickle
import tracemalloc
from collections import deque
from enum import Enum
from math import nan
from typing import Any

import jsonpatch
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from reducer import _patch, _size
from reducer._frozen import VECTOR, Object, freeze, same, thaw
from reducer._patch import MalformedOperation, PatchError, apply
from reducer._size import LIMIT, size
from tests.reference_client import ReferenceClient

DEEP = 10_000


def patched(document: Any, *operations: Any) -> Any:
    """Return plain JSON after a patch."""
    return thaw(apply(freeze(document), list(operations)).document)


def op(name: str, path: str, value: Any = ..., *, source: str | None = None) -> dict[str, Any]:
    """Return an operation."""
    made: dict[str, Any] = {"op": name, "path": path}
    if value is not ...:
        made["value"] = value
    if source is not None:
        made["from"] = source
    return made


class TestOperations:
    """What each operation does: RFC 6902, appendix A, and what it leaves to section 4."""

    @pytest.mark.parametrize(
        ("document", "patch", "result"),
        [
            pytest.param({"a": 1}, [op("add", "/b", 2)], {"a": 1, "b": 2}, id="a member is added (A.1)"),
            pytest.param([1, 3], [op("add", "/1", 2)], [1, 2, 3], id="an element is added (A.2)"),
            pytest.param({"a": 1, "b": 2}, [op("remove", "/b")], {"a": 1}, id="a member is removed (A.3)"),
            pytest.param([1, 2, 3], [op("remove", "/1")], [1, 3], id="an element is removed (A.4)"),
            pytest.param({"a": 1, "b": 2}, [op("replace", "/a", 3)], {"a": 3, "b": 2}, id="a value is replaced (A.5)"),
            pytest.param(
                {"a": {"x": 1, "y": 2}, "b": {}},
                [op("move", "/b/z", source="/a/y")],
                {"a": {"x": 1}, "b": {"z": 2}},
                id="a value is moved (A.6)",
            ),
            pytest.param([1, 4, 2, 3], [op("move", "/3", source="/1")], [1, 2, 3, 4], id="an element is moved (A.7)"),
            pytest.param(
                {"a": "x", "b": [1, {"c": None}]},
                [op("test", "/a", "x"), op("test", "/b/1", {"c": None})],
                {"a": "x", "b": [1, {"c": None}]},
                id="a test that holds changes nothing (A.8)",
            ),
            pytest.param({}, [op("add", "/a", {"b": {}})], {"a": {"b": {}}}, id="an object is added (A.10)"),
            pytest.param({}, [{**op("add", "/a", 1), "who": [nan]}], {"a": 1}, id="other members are ignored (A.11)"),
            pytest.param(
                {"/": 1, "~1": 2}, [op("test", "/~01", 2)], {"/": 1, "~1": 2}, id="escapes are ordered (A.14)"
            ),
            pytest.param([1], [op("add", "/-", [2, {}])], [1, [2, {}]], id="an array is appended (A.16)"),
            pytest.param({"a": [1]}, [op("add", "/a", None)], {"a": None}, id="to add to a key in use replaces"),
            pytest.param([1], [op("add", "/1", 2)], [1, 2], id="the index after the last one appends"),
            pytest.param([], [op("add", "/0", 1)], [1], id="an empty array has an index after the last one"),
            pytest.param([1, 2], [op("replace", "/1", None)], [1, None], id="an element is replaced"),
            pytest.param({"": {"": 1}}, [op("replace", "//", 2)], {"": {"": 2}}, id="the empty key is a key"),
            pytest.param(
                {"-": 1, "01": 2}, [op("remove", "/-"), op("remove", "/01")], {}, id="only arrays have indices"
            ),
            pytest.param({"a/b": 1, "m~n": 2}, [op("remove", "/a~1b"), op("remove", "/m~0n")], {}, id="escapes"),
            pytest.param(
                {"a": [1]},
                [op("copy", "/b", source="/a"), op("add", "/b/-", 2)],
                {"a": [1], "b": [1, 2]},
                id="a copy is a copy",
            ),
            pytest.param([1, 2], [op("copy", "/-", source="/0")], [1, 2, 1], id="a copy can be appended"),
            pytest.param([1, 2, 3], [op("move", "/-", source="/0")], [2, 3, 1], id="an element is moved to the end"),
            pytest.param({"a": 1}, [op("move", "/a", source="/a")], {"a": 1}, id="a move onto itself does nothing"),
            pytest.param({"a": 1, "b": 2}, [op("move", "/b", source="/a")], {"b": 1}, id="a move replaces its target"),
            pytest.param({"ab": 1}, [op("move", "/a", source="/ab")], {"a": 1}, id="a longer name is no child"),
            pytest.param(
                {"a": {"b": 1}}, [op("move", "/a", source="/a/b")], {"a": 1}, id="a child replaces its parent"
            ),
            pytest.param(
                [[0], 1, [2]], [op("move", "/1/0", source="/0")], [1, [[0], 2]], id="a move finds its target afterwards"
            ),
            pytest.param({"a": 1}, [op("add", "", [1])], [1], id="the root is added to"),
            pytest.param([1], [op("replace", "", None)], None, id="the root is replaced"),
            pytest.param({"a": 1}, [op("remove", "")], None, id="the root is removed"),
            pytest.param({"a": [1]}, [op("move", "", source="/a")], [1], id="a child is moved to the root"),
            pytest.param({"a": [1]}, [op("copy", "", source="/a/0")], 1, id="a child is copied to the root"),
            pytest.param(
                {"a": 1}, [op("copy", "/b", source="")], {"a": 1, "b": {"a": 1}}, id="the root is copied into it"
            ),
            pytest.param({"a": 1}, [op("move", "", source="")], {"a": 1}, id="the root is moved onto itself"),
            pytest.param(5, [op("test", "", 5.0)], 5, id="the root is tested"),
            pytest.param({}, [op("add", "/__proto__", 1)], {"__proto__": 1}, id="no key is special"),
            pytest.param({"a": 1}, [], {"a": 1}, id="an empty patch does nothing"),
        ],
    )
    def test_by_example(self, document: Any, patch: list[Any], result: Any) -> None:
        """The patch applies, and gives this document."""
        assert same(freeze(patched(document, *patch)), freeze(result))

    @pytest.mark.parametrize(
        ("document", "operation", "why"),
        [
            pytest.param({"a": 1}, op("test", "/a", 2), "1 is not 2", id="a test that fails (A.9)"),
            pytest.param({}, op("add", "/a/b", 1), "there is no 'a' in <object of 0>", id="no parent to add to (A.12)"),
            pytest.param({"a": "10"}, op("test", "/a", 10), "'10' is not 10", id="a string is no number (A.15)"),
            pytest.param({"a": 1}, op("test", "/a", True), "1 is not True", id="a number is no truth value"),
            pytest.param(
                {"a": [1]}, op("test", "/a", [True]), "<array of 1> is not <array of 1>", id="nor inside an array"
            ),
            pytest.param(
                {}, op("test", "/a", None), "there is no 'a' in <object of 0>", id="what is absent is not null"
            ),
            pytest.param({}, op("remove", "/a"), "there is no 'a' in <object of 0>", id="an absent key is not removed"),
            pytest.param({}, op("replace", "/a", 1), "there is no 'a' in <object of 0>", id="nor replaced"),
            pytest.param(
                {"toString": 1},
                op("remove", "/constructor"),
                "there is no 'constructor' in <object of 1>",
                id="nothing is inherited",
            ),
            pytest.param([1], op("add", "/2", 1), "'2' is out of bounds in <array of 1>", id="added out of bounds"),
            pytest.param([1], op("remove", "/1"), "'1' is out of bounds in <array of 1>", id="removed out of bounds"),
            pytest.param(
                [1], op("replace", "/1", 1), "'1' is out of bounds in <array of 1>", id="replaced out of bounds"
            ),
            pytest.param(
                [1], op("replace", "/-", 1), "'-' is no index in <array of 1>", id="the end holds nothing to replace"
            ),
            pytest.param(
                [1], op("remove", "/-"), "'-' is no index in <array of 1>", id="the end holds nothing to remove"
            ),
            pytest.param(
                [1], op("test", "/-", 1), "'-' is no index in <array of 1>", id="the end holds nothing to test"
            ),
            pytest.param(
                [[]], op("add", "/-/0", 1), "'-' is no index in <array of 1>", id="the end holds nothing to go into"
            ),
            pytest.param([1, 2], op("replace", "/01", 1), "'01' is no index in <array of 2>", id="leading zeros"),
            pytest.param([1, 2], op("add", "/00", 1), "'00' is no index in <array of 2>", id="only zeros"),
            pytest.param([1, 2], op("remove", "/-1"), "'-1' is no index in <array of 2>", id="negative indices"),
            pytest.param([1, 2], op("remove", "/+1"), "'+1' is no index in <array of 2>", id="signs"),
            pytest.param([1, 2], op("remove", "/1.0"), "'1.0' is no index in <array of 2>", id="fractions"),
            pytest.param([1, 2], op("remove", "/1e0"), "'1e0' is no index in <array of 2>", id="exponents"),
            pytest.param([1, 2], op("remove", "/1_"), "'1_' is no index in <array of 2>", id="underscores"),
            pytest.param([1, 2], op("remove", "/1\n"), "'1\\n' is no index in <array of 2>", id="line ends"),
            pytest.param([1, 2], op("remove", "/ 1"), "' 1' is no index in <array of 2>", id="spaces"),
            pytest.param([1, 2], op("remove", "/\u0661"), "'\u0661' is no index in <array of 2>", id="other digits"),
            pytest.param([1, 2], op("remove", "/1\u0660"), "'1\u0660' is no index in <array of 2>", id="mixed digits"),
            pytest.param([1, 2], op("remove", "/"), "'' is no index in <array of 2>", id="no digits"),
            pytest.param([1, 2], op("remove", "/a"), "'a' is no index in <array of 2>", id="names"),
            pytest.param(
                {"a": "text"},
                op("add", "/a/0", 1),
                "'text' holds nothing, so there is no '0' in it",
                id="into a string",
            ),
            pytest.param(
                {"a": None}, op("add", "/a/b", 1), "None holds nothing, so there is no 'b' in it", id="into null"
            ),
            pytest.param(
                {"a": None}, op("add", "/a/-", 1), "None holds nothing, so there is no '-' in it", id="onto null"
            ),
            pytest.param(
                {"a": 1}, op("test", "/a/b/c", 1), "1 holds nothing, so there is no 'b' in it", id="through a number"
            ),
            pytest.param(
                {}, op("move", "/b", source="/a"), "from: there is no 'a' in <object of 0>", id="moved from nowhere"
            ),
            pytest.param(
                [], op("copy", "/-", source="/-"), "from: '-' is no index in <array of 0>", id="copied from nowhere"
            ),
            pytest.param(
                {},
                op("move", "/a", source="/a"),
                "from: there is no 'a' in <object of 0>",
                id="moved from nowhere to there",
            ),
            pytest.param(
                {"a": {}},
                op("move", "/a/b", source="/a"),
                "a value cannot be moved into itself",
                id="moved into itself",
            ),
            pytest.param(
                [{}, {}],
                op("move", "/0/a", source="/0"),
                "a value cannot be moved into itself",
                id="moved into what takes its place",
            ),
            pytest.param(
                {}, op("move", "/a", source=""), "a value cannot be moved into itself", id="the root is moved"
            ),
            pytest.param(
                [1, 2], op("move", "/2", source="/0"), "'2' is out of bounds in <array of 1>", id="moved out of bounds"
            ),
        ],
    )
    def test_refuses(self, document: Any, operation: dict[str, Any], why: str) -> None:
        """The operation does not apply, for this reason."""
        with pytest.raises(PatchError) as caught:
            patched(document, operation)
        error = caught.value
        assert (error.index, error.op, error.path, error.why) == (0, operation["op"], operation["path"], why)

    def test_an_error_says_which_and_why(self) -> None:
        """A failure names the operation by its place, its type and its path, and survives pickling."""
        with pytest.raises(PatchError) as caught:
            patched({"a": 1}, op("test", "/a", 1), op("remove", "/b~1c"))
        assert str(caught.value) == "operation 1 (remove '/b~1c'): there is no 'b/c' in <object of 1>"
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301 - just made

    def test_an_error_holds_plain_strings(self) -> None:
        """The facts of a failure are plain, of whatever class the operation's strings are."""

        class Word(str):
            __slots__ = ()

        with pytest.raises(PatchError) as caught:
            patched({}, {"op": Word("remove"), "path": Word("/a")})
        assert (type(caught.value.op), type(caught.value.path)) == (str, str)

    def test_a_huge_index_is_out_of_bounds(self) -> None:
        """An index of a million digits is refused at once, and by no means printed."""
        for digits in ("9" * 19, "1" * 5000, "9" * 1_000_000):
            with pytest.raises(PatchError, match="out of bounds") as caught:
                patched([1], op("add", f"/{digits}", 1))
            assert len(str(caught.value)) < 200
        with pytest.raises(PatchError, match="no index"):
            patched([1], op("add", f"/{'0' * 1_000_000}", 1))


class TestShape:
    """What is a JSON Patch at all."""

    @pytest.mark.parametrize(
        ("operations", "shown"),
        [
            ({"op": "remove", "path": ""}, "the patch: it must be an array, not {'op': 'remove', 'path': ''}"),
            ("[]", "the patch: it must be an array, not '[]'"),
            (None, "the patch: it must be an array, not None"),
            (5, "the patch: it must be an array, not 5"),
            (["remove"], "operation 0: it must be an object, not 'remove'"),
            ([op("remove", "/a"), [1]], "operation 1: it must be an object, not <array of 1>"),
            ([None], "operation 0: it must be an object, not None"),
            ([object], "operation 0: the value: Unable to serialize unknown type: <class 'type'>"),
            ([{}], "operation 0, op: it is missing"),
            ([{"op": None, "path": ""}], "operation 0, op: it must be a string, not None"),
            ([{"op": ["add"]}], "operation 0, op: it must be a string, not ['add']"),
            ([{"op": "remove"}], "operation 0, path: it is missing"),
            ([{"op": "remove", "path": ["a"]}], "operation 0, path: it must be a string, not ['a']"),
            ([op("add", "/a")], "operation 0, value: it is missing"),
            ([op("replace", "/a")], "operation 0, value: it is missing"),
            ([op("test", "/a")], "operation 0, value: it is missing"),
            ([op("move", "/a")], "operation 0, from: it is missing"),
            ([op("copy", "/a")], "operation 0, from: it is missing"),
            ([{**op("copy", "/a"), "from": 0}], "operation 0, from: it must be a string, not 0"),
            ([op("add", "/a", {"b": [nan]})], "operation 0, value: ['b'][0]: nan is no JSON number"),
            ([op("remove", "a")], "operation 0, path: a pointer is empty or starts with a slash, unlike 'a'"),
            ([op("remove", "#/a")], "operation 0, path: a pointer is empty or starts with a slash, unlike '#/a'"),
            ([op("remove", "/~2")], "operation 0, path: a tilde is written ~0 and a slash ~1, unlike in '/~2'"),
            ([op("remove", "/a~")], "operation 0, path: a tilde is written ~0 and a slash ~1, unlike in '/a~'"),
            (
                [op("copy", "", source="/~/0")],
                "operation 0, from: a tilde is written ~0 and a slash ~1, unlike in '/~/0'",
            ),
        ],
    )
    def test_refuses(self, operations: Any, shown: str) -> None:
        """What is no patch is refused, and the error says which member of which operation is wrong."""
        with pytest.raises(MalformedOperation) as caught:
            apply(freeze({}), operations)
        assert str(caught.value) == shown
        index = caught.value.index
        assert index == (None if shown.startswith("the patch") else len(operations) - 1)

    def test_is_looked_at_first(self) -> None:
        """A malformed operation is found before any other fails."""
        with pytest.raises(MalformedOperation) as caught:
            patched({}, op("remove", "/absent"), op("add", "/a"))
        assert (caught.value.index, caught.value.member) == (1, "value")

    def test_skips_what_it_does_not_know(self) -> None:
        """Operations with an unknown `op` are left out and reported, whatever else they hold."""
        increment = {"op": "increment", "path": 5, "value": nan}
        result = apply(freeze({"a": 1}), [increment, op("replace", "/a", 2), {"op": "ADD"}])
        assert thaw(result.document) == {"a": 2}
        assert result.skipped == (0, 2)
        assert apply(None, []).skipped == ()

    def test_takes_operations_of_any_make(self) -> None:
        """Plain, frozen, or models with their own spelling of `from`: an operation is an operation."""

        class Name(str, Enum):
            COPY = "copy"

        class Copy(BaseModel):
            model_config = ConfigDict(extra="allow")

            op: Name = Name.COPY
            from_: str = Field(alias="from")
            path: str

        copies = [op("copy", "/b", source="/a"), freeze(op("copy", "/c", source="/a"))]
        models = [Copy.model_validate({"path": "/d", "from": "/a"}), {**op("copy", "/e", source="/a"), "op": Name.COPY}]
        added = freeze(op("add", "/f", {"x": [1]}))
        expected = {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": {"x": [1]}}
        for make in (list, tuple, deque, freeze):
            assert thaw(apply(freeze({"a": 1}), make([*copies, *models, added])).document) == expected


def pointers(document: Any) -> list[str]:
    """Return a pointer to each value inside a document, the document aside."""
    found: list[str] = []
    todo: list[tuple[str, Any]] = [("", document)]
    while todo:
        at, value = todo.pop()
        pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        inside = [(f"{at}/{str(key).replace('~', '~0').replace('/', '~1')}", inner) for key, inner in pairs]
        found += [pointer for pointer, _ in inside]
        todo += inside
    return found


names = st.sampled_from(["a", "b", "", "~", "/", "~1", "0", "1", "-", "01"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 0.5]) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
documents = st.lists(values, min_size=1, max_size=4) | st.dictionaries(names, values, min_size=1, max_size=4) | values


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, list[dict[str, Any]]]:
    """Draw a document and a patch whose operations mostly apply, each to what the ones before it leave."""
    document = current = draw(documents)
    patch: list[dict[str, Any]] = []
    for name in draw(st.lists(st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), max_size=4)):
        inside = pointers(current)
        there = st.sampled_from(inside) if inside else st.just("/absent")
        # Beside what is there: a neighbour, a child, the end; sometimes none of them exists.
        near = st.builds(
            "{}/{}".format, st.sampled_from(["", *inside]), st.sampled_from(["-", "0", "1", "2", "a", "01"])
        )
        made: dict[str, Any] = {"op": name, "path": draw(there | near if name != "test" else there)}
        if name in {"move", "copy"}:
            made["from"] = draw(there)
        elif name in {"add", "replace"}:
            made["value"] = draw(values)
        elif name == "test":
            made["value"] = draw(st.just(jsonpatch.JsonPointer(made["path"]).get(current, 0)) | values)
        patch.append(made)
        try:
            current = jsonpatch.apply_patch(current, [made])
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
            continue
    return document, patch


class TestJsonpatch:
    """Agreement with an implementation by others."""

    @given(cases())
    @example(([1, 2], [op("move", "/2", source="/0")]))
    @example(([[0], 1, [2]], [op("move", "/1/0", source="/0")]))
    @example(([True], [op("test", "/0", 1)]))
    @example(({"a": [1]}, [op("copy", "/b", source="/a"), op("add", "/b/-", 2), op("test", "/a", [1])]))
    def test_agrees(self, case: tuple[Any, list[dict[str, Any]]]) -> None:
        """What the package makes of a patch is what is made of it here, refusals included."""
        document, patch = case
        try:
            expected = jsonpatch.apply_patch(copy.deepcopy(document), copy.deepcopy(patch))
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
            with pytest.raises(PatchError):
                patched(document, *patch)
        else:
            result = patched(document, *patch)
            assert same(freeze(result), freeze(expected))

    def test_differs_where_the_rfc_is_silent(self) -> None:
        """The package refuses to remove the root, and operations it does not know; both are something here."""
        for patch, result in (([op("remove", "")], None), ([{"op": "increment"}], {"a": 1})):
            with pytest.raises(jsonpatch.JsonPatchException):
                jsonpatch.apply_patch({"a": 1}, patch)
            assert patched({"a": 1}, *patch) == result


class TestPurity:
    """Nothing that goes in changes, and nothing that comes out is tied to it."""

    @given(cases())
    def test_leaves_its_inputs_alone(self, case: tuple[Any, list[dict[str, Any]]]) -> None:
        """The document and the patch are afterwards what they were, whether the patch applied or not."""
        document, patch = case
        frozen = freeze(document)
        twins = copy.deepcopy(case)
        try:
            first = thaw(apply(frozen, patch).document)
            assert json.dumps(thaw(apply(frozen, patch).document)) == json.dumps(first)
        except PatchError:
            pass
        assert json.dumps([thaw(frozen), patch]) == json.dumps(twins)

    def test_keeps_no_value_by_reference(self) -> None:
        """A value that changes after its patch was applied changes nothing in the document."""
        value = {"a": [1]}
        result = apply(freeze({}), [op("add", "/x", value), op("add", "/y", value)]).document
        value["a"].append(2)
        assert thaw(result) == {"x": {"a": [1]}, "y": {"a": [1]}}

    def test_applies_whole_or_not_at_all(self) -> None:
        """After a patch that fails at its end the document is the one before its beginning."""
        document = freeze({"a": [1, 2], "b": {}})
        edits = [op("add", "/b/c", 1), op("remove", "/a/0"), op("replace", "/a/0", 5), op("move", "/d", source="/a")]
        assert thaw(apply(document, edits).document) == {"b": {"c": 1}, "d": [5]}
        with pytest.raises(PatchError) as caught:
            apply(document, [*edits, op("test", "/d/0", 6)])
        assert caught.value.index == 4
        assert thaw(document) == {"a": [1, 2], "b": {}}

    @pytest.mark.parametrize(
        "operation",
        [
            op("test", "/a/b", 1),
            op("replace", "/a/b", 1),
            op("add", "/a/b", 1),
            op("replace", "/a/c/0", "x"),
            op("replace", "/a/e/0/f", 1),
            op("move", "/a/b", source="/a/b"),
            op("copy", "/a/d", source="/a/d"),
            op("copy", "", source=""),
        ],
        ids=str,
    )
    def test_nothing_changed_is_the_same_document(self, operation: dict[str, Any]) -> None:
        """A patch that changes nothing gives the document itself."""
        document = freeze({"a": {"b": 1, "c": ["x"], "d": {}, "e": [{"f": 1}]}})
        assert apply(document, [operation]).document is document


class TestOrder:
    """Where keys stand afterwards."""

    @pytest.mark.parametrize("width", [3, 300])
    def test_of_keys(self, width: int) -> None:
        """A replaced key keeps its place; an added one, and one that is moved, goes to the end."""
        document = {f"k{number}": number for number in range(width)}
        result = patched(document, op("replace", "/k0", 5), op("add", "/k1", 5), op("move", "/new", source="/k2"))
        assert list(result)[:2] == ["k0", "k1"]
        assert list(result)[-1] == "new"
        assert list(patched(document, op("remove", "/k0"), op("add", "/k0", 0)))[-1] == "k0"


class TestCost:
    """A patch costs what it touches."""

    def test_shares_what_it_does_not_touch(self) -> None:
        """Only the containers along the path are new."""
        document = freeze({"a": {"x": {}, "y": [[], []]}, "b": {"z": []}})
        result = apply(document, [op("add", "/a/y/1/0", 1)]).document
        assert type(document) is Object
        assert type(result) is Object
        old, new = document.get("a"), result.get("a")
        assert type(old) is Object
        assert type(new) is Object
        assert new is not old
        assert result.get("b") is document.get("b")
        assert new.get("x") is old.get("x")
        assert type(new.get("y")) is VECTOR
        assert new.get("y")[0] is old.get("y")[0]  # type: ignore[index]

    @pytest.mark.parametrize(
        "operation",
        [
            op("replace", "/items/700/name", "new"),
            op("add", "/items/700/more", {"a": 1}),
            op("add", "/items/-", {"a": 1}),
            op("remove", "/items/700/name"),
            op("copy", "/copied", source="/items"),
            op("move", "/wide/k5", source="/items/700/name"),
            op("test", "/items/700/name", "item 700"),
        ],
        ids=lambda operation: operation["op"] + operation["path"].replace("/", " "),
    )
    def test_does_not_grow_with_the_document(self, operation: dict[str, Any]) -> None:
        """A patch to a document of 20,000 values takes a few kilobytes, not the megabytes of a copy."""
        items = [{"name": f"item {number}", "tags": ["a", {"b": number}]} for number in range(5000)]
        document = freeze({"items": items, "wide": {f"k{number}": number for number in range(2000)}})
        tracemalloc.start()
        apply(document, [operation])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # Without pyrsistent's C extension, to walk through a vector takes a list of what is in it.
        assert peak < 20_000 + (0 if VECTOR.__module__ == "pvectorc" else 8 * len(items))


def written(value: Any) -> int:
    """Return how large plain JSON is: 16 for each value, one for each character of a string or a key."""
    total, todo = 0, [value]
    while todo:
        value = todo.pop()
        total += 16 + (len(value) if isinstance(value, str) else 0)
        if isinstance(value, dict):
            total += sum(map(len, value))
            todo += value.values()
        elif isinstance(value, list):
            todo += value
    return total


DOUBLE = op("copy", "/-", source="")
TEXT = "x" * 2_000


class TestSize:
    """How large a document may become by copies."""

    def test_doubling_ends(self) -> None:
        """A document that is doubled again and again grows up to the limit, and stays what it was from there on."""
        document = freeze([TEXT])
        for doubled in range(12):
            document = apply(document, [DOUBLE]).document
            assert size(document) == (2_032 << doubled + 1)
        with pytest.raises(PatchError) as caught:
            apply(document, [op("add", "/-", 1), DOUBLE])
        assert (caught.value.index, caught.value.op, caught.value.path) == (1, "copy", "/-")
        assert caught.value.why == (
            f"copies may not make a document larger than {LIMIT}, and this would make it {2 * (2_032 * 4_096 + 16)}"
        )
        assert written(thaw(document)) == size(document) == 2_032 * 4_096

    def test_up_to_the_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The limit itself is allowed, one character more is not."""
        monkeypatch.setattr(_patch, "LIMIT", 4_066)
        copied = op("copy", "/b", source="/a")
        assert written(patched({"a": TEXT}, copied)) == 4_050
        assert written(patched({"a": TEXT + 8 * "x"}, copied)) == 4_066
        with pytest.raises(PatchError, match=r"operation 0 \(copy '/b'\): copies may not"):
            patched({"a": TEXT + 8 * "x", "c": ""}, copied)

    def test_only_copies_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What a patch brings along may be any size, and what is too large may still be copied over what is larger."""
        monkeypatch.setattr(_patch, "LIMIT", 4_000)
        large = {"a": TEXT, "b": 2 * TEXT}
        assert patched({}, op("add", "", large), op("copy", "/b", source="/a")) == {"a": TEXT, "b": TEXT}
        assert patched(large, op("copy", "", source="/b")) == 2 * TEXT
        assert patched(large, op("add", "/c", 2 * TEXT), op("move", "/d", source="/a")) == {
            "b": 2 * TEXT,
            "c": 2 * TEXT,
            "d": TEXT,
        }

    def test_what_is_little_is_copied(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Up to 1,024 may be copied into a document of any size."""
        monkeypatch.setattr(_patch, "LIMIT", 4_000)
        large = {"a": 2 * TEXT, "b": 1_008 * "x", "c": 1_009 * "x"}
        assert patched(large, op("copy", "/d", source="/b")) == {**large, "d": 1_008 * "x"}
        with pytest.raises(PatchError, match="larger than 4000"):
            patched(large, op("copy", "/d", source="/c"))

    @given(st.lists(cases(), min_size=1, max_size=4), st.integers(16, 600))
    @example([({"a": ["b"]}, [op("copy", "/a/-", source="/a"), op("remove", "/a/0"), op("add", "/a/0", {"b": 1})])], 16)
    @example([({"a": {"b": ["a"]}}, [op("copy", "/a/b/0", source="/a"), op("move", "", source="/a/b")])], 600)
    def test_is_that_of_the_json(self, drawn: list[tuple[Any, list[dict[str, Any]]]], limit: int) -> None:
        """After any patches the size that was carried along is that of the JSON; a copy fails if it is too large."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_patch, "LIMIT", limit)
            for module in (_patch, _size):
                patch.setattr(module, "LITTLE", 15)
            document = freeze([case[0] for case in drawn])
            size(document)
            for place, (_, operations) in enumerate(drawn):
                for operation in operations:
                    pointed = {**operation, "path": f"/{place}{operation['path']}"}
                    if "from" in operation:
                        pointed["from"] = f"/{place}{operation['from']}"
                    after = outcome(document, pointed, limit)
                    assert after is not None
                    assert size(after) == written(thaw(after))
                    document = after

    def test_costs_what_is_touched(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A document is counted once, be it that each patch fails, and arrays of any length change in between."""
        looks = 0
        at_once = _size._at_once

        def counting(value: Any) -> int | None:
            nonlocal looks
            looks += 1
            return at_once(value)

        monkeypatch.setattr(_size, "_at_once", counting)
        document = freeze({"l": [*range(20_000)], "m": []})
        patch = [op("add", "/l/-", 1), op("copy", "/m", source="/l"), op("replace", "/m/7", TEXT)]
        for _ in range(100):
            with pytest.raises(PatchError):
                apply(document, [*patch, op("remove", "/absent")])
        for _ in range(100):
            document = apply(document, patch).document
        assert size(document) == 2 * 20_100 * 16 + len(TEXT) + 16 * 3 + 2
        assert looks < 20_000 + 200 * 50

    def test_is_forgotten(self) -> None:
        """Nothing is kept of a document that is gone."""
        known = len(_size._known)
        document = freeze({"a": [TEXT], "b": {"c": [[TEXT]]}})
        assert size(document) == written(thaw(document))
        assert len(_size._known) == known + 5
        del document
        assert len(_size._known) == known


def outcome(document: Any, operation: dict[str, Any], limit: int) -> Any:
    """Return the document after an operation, or as it was; a copy is refused just where it grows beyond the limit."""
    before = written(thaw(document))
    try:
        after = apply(document, [operation]).document
    except PatchError as error:
        refused = "copies may not" in error.why
        grown = written(jsonpatch.apply_patch(thaw(document), [operation])) if refused else 0
        return document if not refused or (operation["op"] == "copy" and before < grown > limit) else None
    return after if operation["op"] != "copy" or written(thaw(after)) <= max(limit, before) else None


class TestDepth:
    """Nesting is bounded by memory, not by the stack."""

    @staticmethod
    def nested(levels: int, inside: Any) -> Any:
        """Return a value under so many levels of objects and arrays, in turn."""
        for level in range(levels):
            inside = [inside] if level % 2 else {"a": inside}
        return inside

    def test_every_operation(self) -> None:
        """All six operations work at the end of a path of 10,000 tokens, and on values as deep."""
        document = self.nested(DEEP, {"x": 1})
        bottom = "/0/a" * (DEEP // 2)
        patch = [
            op("add", f"{bottom}/y", self.nested(DEEP, 5)),
            op("test", f"{bottom}/y", self.nested(DEEP, 5)),
            op("replace", f"{bottom}/x", 2),
            op("copy", f"{bottom}/z", source=f"{bottom}/x"),
            op("move", f"{bottom}/w", source=f"{bottom}/y"),
            op("remove", f"{bottom}/w{bottom[:-4]}"),
            op("test", f"{bottom}/z", 2),
        ]
        result = apply(freeze(document), patch).document
        assert same(result, freeze(self.nested(DEEP, {"x": 2, "z": 2, "w": self.nested(DEEP - 4, [{}])})))

    def test_sizes(self) -> None:
        """The size of what is nested 100,000 levels deep is counted, carried along and forgotten."""
        document = freeze(self.nested(100_000, {"x": TEXT}))
        bottom = "/0/a" * 50_000
        document = apply(document, [op("copy", f"{bottom}/y", source=f"{bottom}/x")]).document
        assert size(document) == 100_000 * 16 + 50_000 + 16 + 2 * 2_017
        del document

    def test_a_failure_far_down(self) -> None:
        """What fails at the end of a path of 10,000 tokens fails in few words."""
        document = freeze(self.nested(DEEP, {"x": 1}))
        bottom = "/0/a" * (DEEP // 2)
        for operation in (
            op("remove", f"{bottom}/y"),
            op("test", bottom, {}),
            op("move", f"{bottom}/x", source=bottom),
        ):
            with pytest.raises(PatchError) as caught:
                apply(document, [operation])
            assert len(str(caught.value)) < 200


# Document, operation, what stands here afterwards, what stands there; "refused" is a document left as it was.
DIFFERENCES = {
    "leading zeros": ([1, 2], op("add", "/01", 3), "refused", [1, 3, 2]),
    "an empty token in an array": ([1, 2], op("add", "/", 3), "refused", [3, 1, 2]),
    "an index beyond 32 bits": ([1, 2], op("add", "/4294967296", 3), "refused", [3, 1, 2]),
    "moved out of bounds": ([1, 2], op("move", "/2", source="/0"), "refused", [2, 1]),
    "copied out of bounds": ([1, 2], op("copy", "/9", source="/0"), "refused", [1, 2, 1]),
    "moved to an empty token": ({"a": [1], "b": 2}, op("move", "/a/", source="/b"), "refused", {"a": [2, 1]}),
    "moved into itself": ([{"a": 1}, {}], op("move", "/0/b", source="/0"), "refused", [{"b": {"a": 1}}]),
    "a scalar moved into itself": (1, op("move", "/a", source=""), "refused", 1),
    "a target that is there afterwards": ([0, 1, [2]], op("move", "/1/0", source="/0"), [1, [0, 2]], "refused"),
    "into a scalar document": (5, op("add", "/a", 1), "refused", 5),
    "copied from nowhere to the root": ({"a": 1}, op("copy", "", source="/b"), "refused", {"a": 1}),
    "moved from nowhere to the root": ({"a": 1}, op("move", "", source="/b"), "refused", {"a": 1}),
    "an inherited name replaced": ({}, op("replace", "/toString", 1), "refused", {"toString": 1}),
    "an inherited name removed": ({"a": 1}, op("remove", "/toString"), "refused", {"a": 1}),
    "__proto__": ({}, op("add", "/__proto__", 1), {"__proto__": 1}, "refused"),
    "beyond 2^53": (2**53 + 1, op("test", "", 2**53), "refused", 2**53),
    "hasOwnProperty": (
        {"a": {"hasOwnProperty": 1}},
        op("test", "/a", {"hasOwnProperty": 1}),
        {"a": {"hasOwnProperty": 1}},
        "refused",
    ),
}


@pytest.mark.parametrize("name", DIFFERENCES)
class TestDifferences:
    """Where this is not what the reference client does (the table above)."""

    def test_here(self, name: str) -> None:
        """The RFC is followed."""
        document, operation, here, _ = DIFFERENCES[name]
        if here == "refused":
            with pytest.raises(PatchError):
                patched(document, operation)
        else:
            assert patched(document, operation) == here

    def test_there(self, name: str, reference: ReferenceClient) -> None:
        """The reference client does as the table says."""
        document, operation, _, there = DIFFERENCES[name]
        run = {"threadId": "t", "runId": "r"}
        delta = {"type": "STATE_DELTA", "delta": [operation]}
        [outcome] = reference.replay(
            [
                [
                    {"type": "RUN_STARTED", **run},
                    {"type": "STATE_SNAPSHOT", "snapshot": document},
                    delta,
                    {"type": "RUN_FINISHED", **run},
                ]
            ]
        )
        assert outcome.accepted
        assert bool(outcome.warnings) is (there == "refused")
        assert outcome.state == (document if there == "refused" else there)
