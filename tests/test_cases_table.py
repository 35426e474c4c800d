"""The table of cases, held against the installed SDK, the documentation, the rule of names and the tests.

Where an SDK upgrade adds an event type, what fails here is the to-do list.
"""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path
from typing import get_args

import ag_ui.core
import pytest
from ag_ui.core import BaseEvent, EventType
from ag_ui.core import Event as AnyEvent

from reducer._event import EVENT_CLASSES
from reducer._schema import EVENTS, RETIRED_EVENTS
from reducer._table import CASES

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "reference"

YOUNGER = {"SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR"}
"""What the oldest SDK that serves does not know yet."""

RETIRED_IN_SDK = {member.value for member in EventType} & RETIRED_EVENTS
"""The retired types that the installed SDK still knows."""

each_type = pytest.mark.parametrize("kind", CASES)


def module_of(kind: str) -> str:
    """Return the module that an event type's name leads to: that of its family, or of how it is spelled."""
    for family, module in (
        ("THINKING_", "retired"),
        ("MESSAGES_", "messages"),
        ("STATE_", "shared"),
        ("RAW", "passthrough"),
        ("CUSTOM", "passthrough"),
    ):
        if kind.startswith(family):
            return module
    if kind.endswith("_CHUNK"):
        return "chunk"
    words = kind.lower().split("_")
    return "tool_call" if words[:2] == ["tool", "call"] else words[0]


def classes_in(module: str) -> set[str]:
    """Return the test classes that stand in the tests of a case module."""
    file = ROOT / "tests" / "cases" / f"test_{module}.py"
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef)}


class TestSdk:
    """Each event type of the installed SDK has a case, and no case is for anything else."""

    def test_event_types(self) -> None:
        """The cases are the SDK's event types, those that it does not know yet, and the retired ones."""
        known = {member.value for member in EventType}
        assert known - set(CASES) == set()
        assert set(CASES) - known <= YOUNGER | RETIRED_EVENTS
        assert known.isdisjoint(YOUNGER) or known >= YOUNGER

    def test_retired_types(self) -> None:
        """The retired types are five; an SDK has all of them or none."""
        assert set(RETIRED_EVENTS) == {
            "THINKING_START",
            "THINKING_END",
            "THINKING_TEXT_MESSAGE_START",
            "THINKING_TEXT_MESSAGE_CONTENT",
            "THINKING_TEXT_MESSAGE_END",
        }
        assert RETIRED_IN_SDK in (set(), set(RETIRED_EVENTS))

    def test_event_union(self) -> None:
        """The members of the SDK's union of events have a case each, whatever the union leaves out."""
        members = get_args(get_args(AnyEvent)[0])
        kinds = {str(member.model_fields["type"].default.value) for member in members}
        assert len(kinds) == len(members)
        assert kinds <= set(CASES)
        assert {member.value for member in EventType} - kinds <= RETIRED_EVENTS

    def test_event_classes(self) -> None:
        """Every event class that the SDK exports is of a type that has a case."""
        exported = [getattr(ag_ui.core, name) for name in ag_ui.core.__all__]
        classes = [
            one for one in exported if isinstance(one, type) and issubclass(one, BaseEvent) and one is not BaseEvent
        ]
        assert classes
        assert {str(one.model_fields["type"].default.value) for one in classes} <= set(CASES)


class TestSchema:
    """The table of cases and the table of the protocol have the same event types."""

    def test_same_types(self) -> None:
        """What can be decoded can be folded, and the other way round."""
        assert set(CASES) == set(EVENTS) == set(EVENT_CLASSES)


class TestNames:
    """An event's name leads to its case and to its tests by a mechanical rule."""

    @each_type
    def test_function(self, kind: str) -> None:
        """The function has the event's name in small letters and stands in the module of the event's family."""
        function = CASES[kind].apply
        assert function.__name__ == kind.lower()
        assert function.__module__ == f"reducer._cases.{module_of(kind)}"

    @each_type
    def test_test_class(self, kind: str) -> None:
        """The tests are a class with the event's name, in the file of the module."""
        assert f"Test{kind.title().replace('_', '')}" in classes_in(module_of(kind))

    @each_type
    def test_docstring(self, kind: str) -> None:
        """A case says the protocol's rule in one sentence."""
        doc = CASES[kind].apply.__doc__
        assert doc is not None
        assert doc == doc.strip()
        assert "\n\n" not in doc
        assert doc.endswith(".")

    def test_every_case_is_in_the_table(self) -> None:
        """A module of cases has no public function of an event's shape that the table does not know."""
        listed = {case.apply for case in CASES.values()}
        for module in {function.__module__ for function in listed}:
            tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
            found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            named = {case.apply.__name__ for case in CASES.values() if case.apply.__module__ == module}
            assert named == {name for name in found if name.upper() in CASES}


class TestDocumentation:
    """`docs/reference/events.md` has a row for each event type."""

    ROWS = re.findall(
        r"^\| `([A-Z_]+)` \| `([a-z_.]+)` \| (.+) \| ([a-z/-]+) \|$",
        (PAGES / "events.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )

    def test_rows(self) -> None:
        """Each event type has one row, and each row is about an event type."""
        kinds = [row[0] for row in self.ROWS]
        assert sorted(kinds) == sorted(CASES)

    @each_type
    def test_function(self, kind: str) -> None:
        """The row names the function that folds the event."""
        [named] = [row[1] for row in self.ROWS if row[0] == kind]
        function = CASES[kind].apply
        assert named == f"{function.__module__.rpartition('.')[2]}.{function.__name__}"

    @each_type
    def test_page(self, kind: str) -> None:
        """The row cites a page of the specification: the one that the case's module opens with, or of chunks."""
        [page] = [row[3] for row in self.ROWS if row[0] == kind]
        module = import_module(CASES[kind].apply.__module__)
        assert f"spec: {page}" in (module.__doc__ or "")
