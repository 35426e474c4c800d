"""What measures the fold: its parts work, on logs too small to measure anything."""

from __future__ import annotations

from itertools import islice
from xml.etree import ElementTree as ET

import pytest

from tests.benchmarks import memory, run
from tests.benchmarks.logs import LOGS, chat, endless, fanout, long, settled, state, thread
from tests.benchmarks.picture import MARKS, Ratio, picture
from tests.benchmarks.systems import LIVE, READING, STATE, WHOLE, System, micros, share, systems

OURS = [system for several in (WHOLE, LIVE) for name, system in several.items() if name != "builder"]


def test_a_picture_shows_every_log_and_system() -> None:
    """The picture is well-formed, names each log, and has a mark with its figures for each ratio."""
    rows = {
        "chat": {"fold": Ratio(0.9, 0.8, 1.1), "client": Ratio(950, 900, 999)},
        "a<b": {"floor": Ratio(0.2, 0.2, 3)},
    }
    drawn = ET.fromstring(picture("title", dict.fromkeys(MARKS, "label"), rows))  # noqa: S314 - made here
    texts = [element.text for element in drawn.iter() if element.tag.endswith("}text")]
    assert {"title", "chat", "a<b"} <= set(texts)
    assert [element.text for element in drawn.iter() if element.tag.endswith("}title")] == [
        "chat, label: 0.9 (0.8 to 1.1)",
        "chat, label: 950 (900 to 999)",
        "a<b, label: 0.2 (0.2 to 3)",
    ]


@pytest.mark.parametrize("system", OURS)
@pytest.mark.parametrize("log", [chat(1), long(3), fanout(50), thread(2, 3)], ids=["chat", "long", "fanout", "thread"])
def test_a_system_takes_a_log(system: System, log: list[object]) -> None:
    """Each system takes each log, whole, and what it takes is some time."""
    assert micros(system, [], log) >= 0


def test_what_is_live_goes_on_from_what_is_settled() -> None:
    """The settled events of a thread are those before the last message."""
    log = thread(2, 3)
    assert log[settled(2)].message_id == "last"  # type: ignore[attr-defined]
    assert micros(LIVE["fold"], log[: settled(2)], log[settled(2) :]) >= 0


@pytest.mark.parametrize("system", STATE.values(), ids=STATE)
def test_patches_are_measured(system: System) -> None:
    """What takes patches takes the log of the state."""
    assert micros(system, [], state()[:5]) >= 0


@pytest.mark.parametrize("system", READING.values(), ids=READING)
def test_reading_is_measured(system: System) -> None:
    """What reads takes lines of bytes."""
    lines = [event.model_dump_json(by_alias=True, exclude_none=True).encode() for event in chat(1)]
    assert micros(system, (), lines) >= 0


def test_every_log_has_its_systems() -> None:
    """Each log has systems, the first of which the others are compared with, and a share for the client."""
    for name in LOGS:
        assert len(systems(name)) > 1
        assert share(name, 50_000, 7).events <= 50_000


def test_ratios_pair_rounds() -> None:
    """A ratio is taken within a round; the median stands between the least and the most."""
    found = run.ratios({"builder": [1.0, 2.0, 4.0], "fold": [1.0, 1.0, 1.0], "client": [9.0]})
    assert found == {"fold": Ratio(0.5, 0.25, 1.0), "client": Ratio(9.0, 9.0, 9.0)}
    assert [run.cell(found.get(name)) for name in ("fold", "client", "floor")] == ["0.50 (0.25 to 1.00)", "9.0", "-"]


def test_the_page_has_a_place_for_every_part() -> None:
    """What `--write` measures has its place in the documentation, once."""
    page = run.PAGE.read_text("utf-8")
    for part in ("speed", "reading", "memory"):
        assert page.count(f"<!-- {part}: written by tests/benchmarks/run.py -->\n") == 1
        assert page.count(f"<!-- {part} ends -->") == 1


def test_memory_is_what_is_kept() -> None:
    """What work returns is held; what it drops before it ends only shows at the peak."""
    held, peak = memory.traced(lambda: (bytes(1_000_000), len(bytes(5_000_000)))[0])
    assert 1_000_000 <= held < 2_000_000
    assert peak >= 6_000_000


def test_an_endless_log_is_made_as_it_is_asked_for() -> None:
    """The log of a million events begins as any run, and goes on."""
    first, *_, last = islice(endless(), 500)
    assert (first.type.value, last.type.value) == ("RUN_STARTED", "TEXT_MESSAGE_CONTENT")
