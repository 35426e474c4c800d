"""The command line's compact, hydrate and run-input, on real logs."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from reducer import EMPTY, Layout, fold, project
from reducer.__main__ import main

ROOT = Path(__file__).parents[1]
FAN_OUT = str(ROOT / "docs/examples/fan_out.jsonl")
INTERRUPTED = str(ROOT / "tests/golden/agent-framework/request_info.jsonl")


def printed(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    """Return the JSON lines that were printed."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def events(path: str) -> list[Any]:
    """Return the events of a log."""
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def test_compact(capsys: pytest.CaptureFixture[str]) -> None:
    """The shorter log is shorter, and shows the same in both layouts."""
    assert main(["compact", FAN_OUT]) == 0
    short, log = printed(capsys), events(FAN_OUT)
    assert len(short) < len(log)
    for layout in Layout:
        shown, expected = (project(reduce(fold, one, EMPTY), layout) for one in (short, log))
        assert (shown.messages, shown.state) == (expected.messages, expected.state)


@pytest.mark.parametrize("layout", list(Layout))
def test_hydrate(capsys: pytest.CaptureFixture[str], layout: Layout) -> None:
    """The events replay what the log shows."""
    assert main(["hydrate", "--layout", layout.value, FAN_OUT]) == 0
    told = printed(capsys)
    assert [told[0]["type"], told[-1]["type"]] == ["RUN_STARTED", "RUN_FINISHED"]
    expected = project(reduce(fold, events(FAN_OUT), EMPTY), layout)
    assert project(reduce(fold, told, EMPTY), layout).messages == expected.messages


def test_run_input(capsys: pytest.CaptureFixture[str]) -> None:
    """The input holds the thread's messages without activities, and the next run's id."""
    assert main(["run-input", "--run-id", "r2", FAN_OUT]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["runId"] == "r2"
    assert {message["role"] for message in told["messages"]} == {"assistant", "reasoning", "tool"}


def test_run_input_refuses_what_is_unanswered(capsys: pytest.CaptureFixture[str]) -> None:
    """An answer to an interrupt that is not open is refused in one line, and nothing is printed."""
    answer = '[{"interruptId": "nobody", "status": "cancelled"}]'
    assert main(["run-input", "--run-id", "r9", "--resume", answer, FAN_OUT]) == 2
    assert "nobody" in capsys.readouterr().err


@pytest.mark.parametrize("resume", ["{", "{}"])
def test_resume_is_a_json_array(resume: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is no JSON array is refused by name."""
    with pytest.raises(SystemExit):
        main(["run-input", "--run-id", "r2", "--resume", resume, FAN_OUT])
    assert "must be" in capsys.readouterr().err
