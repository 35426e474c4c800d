"""Logs that real producers made, each with its snapshot in both layouts; `--update-golden` writes those anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Event as AnyEvent
from pydantic import TypeAdapter, ValidationError

from reducer import EMPTY, Layout, decode, fold, fold_all, project
from reducer.laws import LAWS, adjacency, nothing_lost, rejoining, unique_ids

LOGS = sorted((Path(__file__).parent / "golden").glob("*/*.jsonl"))
ADAPTER: TypeAdapter[Any] = TypeAdapter(AnyEvent)
golden = pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}/{path.stem}")


def events(log: Path) -> list[dict[str, Any]]:
    """Return the events of a log in wire form."""
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def sdk_object(event: dict[str, Any]) -> Any:
    """Return the event as an object of the installed SDK; in wire form, if that does not know it (yet, or any more)."""
    try:
        return ADAPTER.validate_python(event)
    except ValidationError:
        return event


@golden
@pytest.mark.parametrize("layout", list(Layout))
def test_snapshot(log: Path, layout: Layout, request: pytest.FixtureRequest) -> None:
    """A log folds to the snapshot that lies beside it."""
    path = log.with_suffix(f".{layout.value}.json")
    shown = project(reduce(fold, events(log), EMPTY), layout).to_dict()
    if request.config.getoption("update_golden"):
        path.write_text(json.dumps(shown, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert shown == json.loads(path.read_text(encoding="utf-8"))


@golden
def test_whichever_form(log: Path) -> None:
    """Wire mappings, JSON text, decoded events and the SDK's objects give the same state, in one batch or singly."""
    wire = events(log)
    state = reduce(fold, wire, EMPTY)
    assert fold_all(EMPTY, wire) == state
    assert reduce(fold, [decode(json.dumps(event)) for event in wire], EMPTY) == state
    objects = [sdk_object(event) for event in wire]
    assert reduce(fold, objects, EMPTY) == state
    assert fold_all(EMPTY, objects) == state


@golden
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_laws(log: Path, law: Callable[[Any], None]) -> None:
    """A log holds to every law that can be judged on one log."""
    law(events(log))


@golden
@pytest.mark.parametrize("law", [nothing_lost, unique_ids, adjacency, rejoining])
def test_every_moment(log: Path, law: Callable[..., None]) -> None:
    """Those that are quick to judge hold at every moment of it."""
    stream = events(log)
    law(stream, at=range(len(stream) + 1))
