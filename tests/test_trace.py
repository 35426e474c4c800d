"""trace and explain: what the page shows is what `project` returns, whatever the log says, and the words are true."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reducer import EMPTY, Layout, MalformedEvent, State, decode, fold, project
from reducer.__main__ import main
from reducer._trace.diff import DEEP, DEEPEST, TOO_DEEP, diff, written
from reducer._trace.page import page
from reducer._trace.shown import Follower
from reducer._trace.story import tell
from reducer.strategies import broken_streams, events, json_values, streams
from tests.browser import Browser, Page, browser  # noqa: F401 - a fixture

ROOT = Path(__file__).parents[1]
GOLDEN = sorted(ROOT.glob("tests/golden/*/*.jsonl"))
FAN_OUT = ROOT / "docs/examples/fan_out.jsonl"
each_golden = pytest.mark.parametrize("log", GOLDEN, ids=[f"{log.parent.name}-{log.stem}" for log in GOLDEN])

Json = dict[str, Any]
STARTED: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED: Json = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
# One event of everything that the page treats in a way of its own, in two lanes.
SCENE: list[Json] = [
    STARTED,
    {"type": "SUBAGENT_STARTED", "subagentRunId": "sub", "name": "helper"},
    {"type": "REASONING_MESSAGE_START", "messageId": "g", "role": "reasoning"},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "g", "delta": "hm "},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "g", "delta": "so "},
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Let me "},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "look. "},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "g", "delta": "well"},
    {"type": "REASONING_MESSAGE_END", "messageId": "g"},
    {"type": "TEXT_MESSAGE_START", "messageId": "s", "role": "assistant", "subagentRunId": "sub"},
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "find", "parentMessageId": "m"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "s", "delta": "meanwhile", "subagentRunId": "sub"},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
    {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "found"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "There it is."},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "g", "encryptedValue": "c2VjcmV0"},
    {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "later", "encryptedValue": "ZWFybHk="},
    {"type": "REASONING_MESSAGE_START", "messageId": "later", "role": "reasoning"},
    {"type": "REASONING_MESSAGE_END", "messageId": "later"},
    {"type": "TEXT_MESSAGE_END", "messageId": "nobody"},
    {"type": "STATE_SNAPSHOT", "snapshot": {"n": [1, 2]}},
    {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/n/-", "value": {"deep": True}}]},
    {"type": "TEXT_MESSAGE_END", "messageId": "s", "subagentRunId": "sub"},
    {"type": "SUBAGENT_FINISHED", "subagentRunId": "sub"},
    FINISHED,
]


def well_formed(wire: Sequence[Json]) -> list[Any]:
    """Return the events that decoding lets through."""
    decoded = []
    for event in wire:
        with suppress(MalformedEvent):
            decoded.append(decode(event))
    return decoded


def states(log: Sequence[Any]) -> list[State]:
    """Return the state after none of the events, after one, and so on."""
    found = [EMPTY]
    for event in log:
        found.append(fold(found[-1], event))
    return found


def nested(depth: int, value: Any) -> Any:
    """Return a value in so many arrays."""
    for _ in range(depth):
        value = [value]
    return value


class Replayed:
    """A page's data, applied by the rules that the page goes by: what it shows after any event, in Python."""

    def __init__(self, log: Sequence[Any]) -> None:
        followers: list[Follower] = []

        def watched(story: Any) -> Any:
            followers.append(Follower(story.numbers))
            return followers[0].follow

        tell(log, watched)
        self.follower = followers[0]
        self.values = list(self.follower.values.texts)
        self.sides: list[Json] = [
            {"order": [], "messages": {}, "spans": {}, "changes": [json.loads(text) for text in side.changes],
             "splices": [json.loads(text) for text in side.order.splices]}
            for side in self.follower.sides
        ]  # fmt: skip
        self.pending: list[str] = []
        self.aside: Any = None
        self.take(-1)

    def take(self, position: int) -> None:
        """Take in what the event at `position` changed."""
        for told in map(json.loads, self.follower.aside):
            if told[0] == position:
                self.aside = self.applied(self.aside, told[1])
        for splice in map(json.loads, self.follower.pending.splices):
            self.splice(position, splice, self.pending)
        for number, side in enumerate(self.sides):
            for change in side["changes"]:
                if change[0] == position:
                    slot, operations = change[1], change[5] if len(change) > 5 else []
                    side["messages"][slot] = self.applied(side["messages"].get(slot), operations)
                    side["spans"][slot] = tuple(change[2:4])
            for target, at, delta in self.follower.deltas:
                place = json.loads(self.follower.targets[target])[number]
                if at == position and place is not None:
                    slot, path = place
                    message = self.applied(side["messages"][slot], [[2, path, delta]])
                    side["messages"][slot] = json.loads(json.dumps(message))
                    side["spans"][slot] = (side["spans"][slot][0], position)
            for splice in side["splices"]:
                self.splice(position, splice, side["order"])

    @staticmethod
    def splice(position: int, splice: list[Any], items: list[Any]) -> None:
        """Put what a splice adds for what it takes away."""
        at, start, gone, added = splice
        if at == position:
            items[start : start + gone] = added

    def applied(self, value: Any, operations: list[list[Any]]) -> Any:
        """Apply operations whose values are numbers."""
        return apply(value, operations, lambda number: json.loads(self.values[number]))

    def shown(self, number: int) -> tuple[list[Json], list[tuple[int, int]]]:
        """Return the messages and spans of a layout."""
        side = self.sides[number]
        return [side["messages"][slot] for slot in side["order"]], [side["spans"][slot] for slot in side["order"]]


def apply(value: Any, operations: list[list[Any]], valued: Callable[[Any], Any]) -> Any:
    """Apply the operations of a `diff`, which writes to the value."""
    for verb, path, *rest in operations:
        holder: Any = [value]
        steps = [0, *path]
        for step in steps[:-1]:
            holder = holder[step]
        if verb == 0:
            holder[steps[-1]] = valued(rest[0])
        elif verb == 1:
            del holder[steps[-1]]
        elif verb == 2:
            holder[steps[-1]] += rest[0]
        else:
            start, gone, added = rest
            holder[steps[-1]][start : start + gone] = [valued(item) for item in added]
        if not path:
            value = holder[0]
    return value


def plain(value: Any) -> Any:
    """Return JSON as it is after a way through text, with whole numbers that JavaScript cannot hold told apart."""
    return json.loads(written(value))


def typed(value: Any) -> str:
    """Return JSON as text, in which 1 is not true."""
    return json.dumps(value, sort_keys=True)


def check(log: Sequence[Any]) -> None:
    """Compare what the page would show after every event with what `project` returns."""
    replayed = Replayed(log)
    for position, state in enumerate(states(log)):
        if position:
            replayed.take(position - 1)
        for number, layout in enumerate(Layout):
            expected = project(state, layout)
            messages, spans = replayed.shown(number)
            assert typed(messages) == typed(plain(expected.messages))
            assert spans == [origin.span for origin in expected.origins]
            told = expected.to_dict()
            rest = {name: told[name] for name in replayed.aside}
            for run in rest["runs"]:
                if run["status"] == "running":
                    assert run["span"][1] == position - 1
                    run["span"][1] = None
            assert typed(replayed.aside) == typed(plain(rest))
            assert replayed.pending == told["pendingToolCalls"]


class TestFollower:
    """What is kept of each event gives what `project` does."""

    @each_golden
    def test_real_logs(self, log: Path) -> None:
        """It does after every event of a real producer's log, in both layouts."""
        check([decode(line) for line in log.read_bytes().splitlines()])

    @given(stream=st.one_of(streams(), broken_streams(), st.lists(events(), max_size=30)))
    def test_generated_logs(self, stream: Any) -> None:
        """It does after every event of a valid stream, of a broken one, and of events in any order."""
        check(well_formed(stream))

    @pytest.mark.parametrize("name", ["m", "m#x", "y#" * 12])
    def test_ids_that_look_derived(self, name: str) -> None:
        """It does where an id is one that the projection would make of another, far from where that one is."""
        between = [
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": f"between-{number}", "delta": "b", "subagentRunId": "sub"}
            for number in range(3)
        ]
        log = [
            STARTED,
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": f"{name}#1", "delta": "taken", "subagentRunId": "sub"},
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": f"{name}#reasoning", "delta": "taken", "subagentRunId": "sub"},
            *between,
            {"type": "TEXT_MESSAGE_START", "messageId": name},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": "a"},
            {"type": "REASONING_MESSAGE_CHUNK", "messageId": name, "delta": "hm"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": "b"},
            FINISHED,
        ]
        check(well_formed(log))

    def test_snapshot_in_the_middle_of_a_message(self) -> None:
        """It does where a messages snapshot changes under which id the text that streams on is shown."""
        delta = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"}
        told = [
            {"id": "r", "role": "reasoning", "content": "other"},
            {"id": "m", "role": "assistant", "content": "aaa"},
        ]
        log = [
            STARTED,
            {"type": "REASONING_MESSAGE_CHUNK", "messageId": "m", "delta": "hm"},
            {"type": "TEXT_MESSAGE_START", "messageId": "m"},
            *[delta] * 3,
            {"type": "MESSAGES_SNAPSHOT", "messages": told},
            *[delta] * 3,
        ]
        check(well_formed(log))

    def test_types_of_values(self) -> None:
        """It does where a value changes in nothing but its type."""
        result = {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "found"}
        check(well_formed([STARTED, *({**result, "metadata": {"n": value}} for value in (1, True, 1.0, 0))]))

    def test_late_result_of_an_early_call(self) -> None:
        """It does where a result comes long after its call, and a call joins a group that stands far up."""
        quiet = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "z", "delta": "z", "subagentRunId": "sub"}
        call = {"type": "TOOL_CALL_START", "toolCallName": "find"}
        log = [
            STARTED,
            {**call, "toolCallId": "a"},
            quiet,
            {**quiet, "messageId": "y"},
            {**call, "toolCallId": "b"},
            {**quiet, "messageId": "x"},
            {"type": "TOOL_CALL_RESULT", "messageId": "rb", "toolCallId": "b", "content": "2"},
            {"type": "TOOL_CALL_RESULT", "messageId": "ra", "toolCallId": "a", "content": "1"},
            {"type": "TOOL_CALL_RESULT", "messageId": "rc", "toolCallId": "c", "content": "0"},
            {**quiet, "messageId": "w"},
            {**call, "toolCallId": "c"},
        ]
        check(well_formed(log))

    def test_deltas_are_stored_once(self) -> None:
        """A message of many deltas costs what they say, in each layout no more than a number."""
        delta = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "0123456789"}
        log = [decode(event) for event in [STARTED, {"type": "TEXT_MESSAGE_START", "messageId": "m"}, *[delta] * 500]]
        follower = Replayed(log).follower
        assert len(follower.deltas) == 498
        assert sum(len(text) for side in follower.sides for text in side.changes) < 1_000
        assert sum(map(len, follower.values.texts)) < 1_000

    def test_work_does_not_grow_with_the_thread(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The rows that are projected for an event are those of its neighbourhood, however long the thread."""
        sizes: list[int] = []
        real = Follower._project

        def counted(self: Follower, position: int, after: State, segment: Any) -> Any:
            sizes.append(len(segment.keys))
            return real(self, position, after, segment)

        monkeypatch.setattr(Follower, "_project", counted)
        log = [decode(event) for event in long_log(4_000)]
        Replayed.__init__(object.__new__(Replayed), log)
        assert len(sizes) > 200
        assert max(sizes) <= 6


class TestDiff:
    """What changed between two JSON values."""

    @given(old=json_values(), new=json_values())
    def test_applied_to_the_old_gives_the_new(self, old: Any, new: Any) -> None:
        """The operations make the new value of the old one, types included."""
        copy = json.loads(json.dumps(old))
        assert json.dumps(apply(copy, diff(old, new), lambda value: value), sort_keys=True) == json.dumps(
            new, sort_keys=True
        )

    @pytest.mark.parametrize(("old", "new"), [(1, True), (1, 1.0), (0, False), ([1], [True]), ({"a": 0}, {"a": False})])
    def test_types_tell_values_apart(self, old: Any, new: Any) -> None:
        """A number that becomes a truth value has changed."""
        assert diff(old, new)

    def test_deep_values_are_set_whole(self) -> None:
        """What differs far down is set from there on, and nothing recurses without bound."""
        deep = nested(50_000, 1)
        other = nested(50_000, 2)
        [[verb, path, value]] = diff(deep, other)
        assert (verb, len(path)) == (0, DEEP)
        assert json.loads(written(value)) == nested(DEEPEST, TOO_DEEP)

    @given(value=json_values())
    def test_written_is_the_value(self, value: Any) -> None:
        """What is written reads as the value, has no `<` and no line separator, and is UTF-8."""
        text = written(value)
        text.encode()
        assert not {"<", "\u2028", "\u2029"} & set(text)

    def test_numbers_that_javascript_cannot_hold(self) -> None:
        """A whole number beyond 2**53 is told by its digits."""
        assert written([2**53 - 1, -(2**60), {"n": 10**30}]) == (
            '[9007199254740991,{"#int":"-1152921504606846976"},{"n":{"#int":"1000000000000000000000000000000"}}]'
        )


def long_log(size: int) -> list[Json]:
    """Return a thread of at least so many events: runs of four agents that interleave, delta by delta."""
    log: list[Json] = []
    run = 0
    while len(log) < size:
        lanes = [_lane(f"{run}-{number}", None if number == 0 else f"agent-{number}") for number in range(4)]
        log.append({"type": "RUN_STARTED", "threadId": "t", "runId": f"run-{run}"})
        log += [event for turn in zip(*lanes, strict=True) for event in turn]
        log.append({"type": "RUN_FINISHED", "threadId": "t", "runId": f"run-{run}"})
        run += 1
    return log


def _lane(name: str, owner: str | None) -> Iterator[Json]:
    tag = {} if owner is None else {"subagentRunId": f"{owner}-{name}"}
    told: list[Json] = [{"type": "REASONING_MESSAGE_START", "messageId": f"g{name}", "role": "reasoning"}]
    told += [{"type": "REASONING_MESSAGE_CONTENT", "messageId": f"g{name}", "delta": f"{word} "} for word in range(60)]
    told.append({"type": "REASONING_MESSAGE_END", "messageId": f"g{name}"})
    told.append({"type": "TEXT_MESSAGE_START", "messageId": f"m{name}"})
    told += [{"type": "TEXT_MESSAGE_CONTENT", "messageId": f"m{name}", "delta": f"{word} "} for word in range(60)]
    told.append({"type": "TEXT_MESSAGE_END", "messageId": f"m{name}"})
    told.append(
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": f"g{name}", "encryptedValue": "eA=="}
    )
    return ({**event, **tag} for event in told)


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:  # noqa: F811
    """Open the page of a log, and see to it that nothing in it went wrong."""
    pages: list[Page] = []

    def open_page(log: Sequence[Any], name: str = "log.jsonl", **how: Any) -> Page:
        file = tmp_path / f"{len(pages)}.html"
        with file.open("w", encoding="utf-8") as written_to:
            written_to.writelines(page(log, name))
        pages.append(browser.open(file, **how))
        return pages[-1]

    yield open_page
    for one in pages:
        assert one.complaints() == []
        one.close()


def as_javascript(value: Any) -> str:
    """Return JSON as text, in which 1 is not true, but 1.0 is 1: JavaScript has one sort of number."""
    return typed(
        json.loads(json.dumps(value), parse_float=lambda text: int(n) if (n := float(text)).is_integer() else n)
    )


def compare(shown: Page, log: Sequence[Any], positions: Sequence[int]) -> None:
    """Compare what a page shows after so many events with what `project` returns."""
    wanted = set(positions)
    expected = {position: state for position, state in enumerate(states(log)) if position in wanted}
    for layout in Layout:
        told = shown.run(f"{json.dumps(list(positions))}.map((p) => trace.snapshot(p, '{layout.value}'))")
        for position, snapshot in zip(positions, told, strict=True):
            expected_text = as_javascript(plain(project(expected[position], layout).to_dict()))
            assert as_javascript(snapshot) == expected_text, (position, layout)


def anywhere(total: int, step: int = 1) -> list[int]:
    """Return positions forwards, then some backwards, since a reader goes both ways."""
    return [*range(0, total + 1, step), total, total // 2, total // 3, 0, total - 1 if total else 0]


class TestPage:
    """The page in a browser."""

    @each_golden
    def test_shows_what_project_returns(self, opened: Callable[..., Page], log: Path) -> None:
        """After any event of a real producer's log the page's snapshot is the library's, in both layouts."""
        decoded = [decode(line) for line in log.read_bytes().splitlines()]
        compare(opened(decoded), decoded, anywhere(len(decoded), 3))

    def test_shows_what_project_returns_of_generated_logs(self, opened: Callable[..., Page]) -> None:
        """After any event of generated streams, valid and broken, the page's snapshot is the library's."""
        logs: list[list[Any]] = []

        @settings(max_examples=12, database=None, derandomize=True)
        @given(stream=st.one_of(streams(), broken_streams(), st.lists(events(), max_size=30)))
        def collect(stream: Any) -> None:
            logs.append(well_formed(stream))

        collect()
        for log in sorted(logs, key=len)[-6:]:
            compare(opened(log), log, anywhere(len(log)))

    @pytest.mark.slow
    def test_fifty_thousand_events(self, opened: Callable[..., Page]) -> None:
        """A long log is shown right, and what is in the document stays little wherever one goes in it."""
        log = [decode(event) for event in long_log(50_000)]
        shown = opened(log)
        total = len(log)
        compare(shown, log, [total, total // 2 + 1, 1, total - 1, total // 7])
        count = "document.querySelectorAll('*').length"
        for position in (0, 1, total // 3, total // 2, total):
            assert shown.run(f"(trace.go({position}), trace.render(), {count})") < 700
        shown.press("End", "j", "/")
        assert shown.run(f"(trace.search('run'), trace.render(), {count})") < 700

    def test_slider_moves_through_the_events(self, opened: Callable[..., Page]) -> None:
        """The slider's value is the number of events folded, and says the event for who cannot see it."""
        shown = opened(well_formed(SCENE))
        assert shown.run("document.querySelector('#slider').max") == str(len(SCENE))
        told = shown.run(
            """(() => { const slider = document.querySelector('#slider'); slider.value = 8;
            slider.dispatchEvent(new Event('input')); trace.render();
            const event = document.querySelector('#event').textContent;
            return [trace.state.position, slider.getAttribute('aria-valuetext'), event,
                    [...document.querySelectorAll('.card .body')].map((one) => one.textContent)]; })()"""
        )
        assert told[:2] == [8, "event 7, TEXT_MESSAGE_CONTENT"]
        assert "look. " in told[2]
        assert told[3] == ["hm so ", "Let me look. "]

    def test_keys(self, opened: Callable[..., Page]) -> None:
        """Everything goes by keyboard: events, messages, the events of a message, anomalies, the layout."""
        shown = opened(well_formed(SCENE))
        state = "(trace.render(), [trace.state.position, trace.state.layout, trace.state.slot === null])"
        shown.press("Home")
        assert shown.run(state) == [0, "streamed", True]
        shown.press("ArrowRight", "ArrowRight", "ArrowLeft")
        assert shown.run(state)[0] == 1
        shown.press("a")
        assert shown.run(state)[0] == 20
        assert "No" not in shown.run("document.querySelector('#event .warn').textContent")
        shown.press("End", "l", "j")
        assert shown.run(state) == [len(SCENE), "merged", False]
        shown.press("p")
        assert shown.run(state)[0] < len(SCENE)
        shown.press("Escape")
        assert shown.run(state)[2]
        shown.press("?")
        assert shown.run("document.querySelector('#keys').open")

    def test_click_on_a_message_shows_what_built_it(self, opened: Callable[..., Page]) -> None:
        """A message that is clicked lists its events, its late encrypted value among them, and nobody else's."""
        shown = opened(well_formed(SCENE))
        shown.run("trace.render()")
        shown.click(".card")
        built = "(trace.render(), [...document.querySelectorAll('#built .at')].map((one) => Number(one.textContent)))"
        assert shown.run(built) == [2, 3, 4, 18]
        shown.run("trace.lay('merged')")
        assert shown.run(built) == [2, 3, 4, 8, 9, 18]

    def test_click_on_a_row_selects_its_message(self, opened: Callable[..., Page]) -> None:
        """A click on a bar in the lanes selects the message that shows the row."""
        shown = opened(well_formed(SCENE))
        box = shown.run("document.querySelector('#canvas').getBoundingClientRect().toJSON()")
        # The parent agent's lane is the first, and its first row its first track.
        shown.click_at(box["x"] + 12 + 3.5 * (box["width"] - 24) / len(SCENE), box["y"] + 34 + 8 + 18 + 6)
        assert (
            shown.run("(trace.render(), document.querySelector('.card[aria-selected=true] .mono').textContent)") == "g"
        )

    def test_search_finds_messages_and_events(self, opened: Callable[..., Page]) -> None:
        """A search finds messages by what they say, though no event says it all, and events by type, id and content."""
        shown = opened(well_formed(SCENE))

        def found(query: str) -> list[str]:
            items = "[...document.querySelectorAll('#panel .item')].map((one) => one.textContent)"
            told: list[str] = shown.run(f"(trace.search({json.dumps(query)}), trace.render(), {items})")
            return told

        assert found("nothing like it") == []
        assert [line[1:] for line in found("Me LOOK")] == ["assistant m  Let me look. "]
        assert found("look. there") == []
        shown.run("trace.lay('merged')")
        assert [line[1:] for line in found("look. there")] == ["assistant m  Let me look. There it is."]
        assert [line.split()[0] for line in found("STATE_DELTA")] == ["24STATE_DELTA"]

    @pytest.mark.parametrize("name", ["look-inside-a-log", "look-inside-a-log-dark"])
    def test_picture_in_the_docs(self, opened: Callable[..., Page], request: pytest.FixtureRequest, name: str) -> None:
        """The pictures in the documentation are of this page and small; `--update-golden` takes them anew."""
        picture = ROOT / f"docs/how-to/{name}.png"
        if request.config.getoption("update_golden"):
            log = [decode(line) for line in (ROOT / "docs/examples/weekend.jsonl").read_bytes().splitlines()]
            shown = opened(log, "weekend.jsonl", dark=name.endswith("dark"), height=720)
            shown.run("(trace.go(75), trace.render())")
            shown.press("j", "j")
            shown.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            picture.write_bytes(shown.picture())
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 300_000

    def test_lanes_are_drawn(self, opened: Callable[..., Page]) -> None:
        """Rows of two kinds have their own colours where they stand, in light and in dark, and fainter ones before."""
        seen = set()
        for dark in (False, True):
            shown = opened(well_formed(SCENE), dark=dark)
            # Reasoning, then text, then nothing, at the foot of the bars of the first lane.
            colours = """((position) => {
                trace.go(position);
                trace.render();
                const canvas = document.querySelector('#canvas');
                const copy = new OffscreenCanvas(canvas.width, canvas.height);
                const pen = copy.getContext('2d', { willReadFrequently: true });
                pen.drawImage(canvas, 0, 0);
                const wide = (canvas.width - 24) / trace.total;
                return [3, 6, 27].map((at) => pen.getImageData(12 + (at + 0.5) * wide, 79, 1, 1).data.join());
            })"""
            after, before = shown.run(f"{colours}(28)"), shown.run(f"{colours}(1)")
            assert len({*after, *before[:2]}) == 5
            seen |= {*after, *before}
        assert len(seen) == 10

    def test_search_marks_what_it_found(self, opened: Callable[..., Page]) -> None:
        """In the messages, what is sought is marked, in the letters that stand there."""
        shown = opened(well_formed(SCENE))
        shown.run("trace.search('LET')")
        shown.click("#tab-messages")
        assert shown.run("(trace.render(), [...document.querySelectorAll('mark')].map((one) => one.textContent))") == [
            "Let"
        ]


HOSTILE = [
    "</script><script>window.harmed = 1</script>",
    "<!--<script>",
    "<img src=x onerror='window.harmed = 1'>",
    "\u2028\u2029\u0000\u202e",
    "__proto__",
    "constructor",
    "]]>${window.harmed = 1}`'\"\\",
    "x" * 20_000,
    "\ud83d",
]


class TestHostile:
    """A log that means harm."""

    @pytest.mark.parametrize("evil", HOSTILE, ids=range(len(HOSTILE)))
    def test_nothing_runs_and_nothing_breaks(self, opened: Callable[..., Page], evil: str) -> None:
        """Whatever ids, names, keys and contents say, no script of theirs runs, and the page shows them as they are."""
        log = well_formed(
            [
                {"type": "RUN_STARTED", "threadId": evil, "runId": evil},
                {"type": "SUBAGENT_STARTED", "subagentRunId": evil, "name": evil},
                {"type": "TEXT_MESSAGE_START", "messageId": evil, "name": evil, "subagentRunId": evil},
                *[{"type": "TEXT_MESSAGE_CONTENT", "messageId": evil, "delta": evil}] * 3,
                {"type": "TOOL_CALL_START", "toolCallId": evil, "toolCallName": evil, "metadata": {evil: evil}},
                *[{"type": "TOOL_CALL_ARGS", "toolCallId": evil, "delta": evil}] * 2,
                {"type": "STATE_SNAPSHOT", "snapshot": {evil: {evil: [evil]}}},
                {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": {evil: 2**80}}]},
                {"type": "CUSTOM", "name": evil, "value": {evil: evil}},
                {"type": "RUN_ERROR", "message": evil},
            ]
        )
        shown = opened(log, name=evil[:200])
        compare(shown, log, anywhere(len(log)))
        shown.press("j")
        for name in ("state", "runs", "anomalies", "messages"):
            shown.click(f"#tab-{name}")
            shown.run("trace.render()")
        shown.run("(trace.search('x'), trace.render())")
        assert shown.run("window.harmed ?? null") is None
        assert shown.run("({}).polluted ?? null") is None

    def test_deep_json(self, opened: Callable[..., Page]) -> None:
        """JSON that nests deeper than anybody can follow leaves the page standing, without what lies that deep."""
        deep = nested(20_000, 1)
        log = well_formed(
            [
                STARTED,
                {"type": "STATE_SNAPSHOT", "snapshot": deep},
                {"type": "CUSTOM", "name": "n", "value": deep},
                {
                    "type": "TOOL_CALL_RESULT",
                    "messageId": "r",
                    "toolCallId": "c",
                    "content": "x",
                    "metadata": {"a": deep},
                },
                FINISHED,
            ]
        )
        shown = opened(log)
        assert shown.run("trace.snapshot(5, 'streamed').state") == nested(DEEPEST, TOO_DEEP)
        shown.press("j")
        assert "metadata" in shown.run("(trace.render(), document.querySelector('.card').textContent)")
        shown.click("#tab-state")
        assert "[" in shown.run("(trace.render(), document.querySelector('#panel').textContent)")

    def test_empty_log(self, opened: Callable[..., Page]) -> None:
        """A log without events is a page that says so."""
        shown = opened([])
        compare(shown, [], [0])
        assert "No message" in shown.run("(trace.render(), document.querySelector('#panel').textContent)")


class _Tags(HTMLParser):
    """The tags of a page, with what would be fetched from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count scripts; note addresses."""
        self.scripts += tag == "script"
        self.fetched += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "srcset", "data", "action")]


class TestCommand:
    """trace."""

    @pytest.mark.parametrize("evil", HOSTILE, ids=range(len(HOSTILE)))
    def test_page_is_self_contained(self, evil: str) -> None:
        """The page has two scripts, its data and its own, and fetches nothing, whatever the log says."""
        log = well_formed([STARTED, {"type": "TEXT_MESSAGE_CHUNK", "messageId": evil, "delta": evil}, FINISHED])
        text = "".join(page(log, evil[:200]))
        tags = _Tags()
        tags.feed(text.encode("utf-8", "replace").decode())
        assert (tags.scripts, tags.fetched) == (2, [])
        assert "http" not in text.replace("http-equiv", "").replace(evil, "")

    def test_script_and_template_agree(self) -> None:
        """Every element that the script asks for by its id is in the template once, and no id there is unused."""
        template, script, style = (
            (ROOT / f"reducer/_trace/page.{kind}").read_text(encoding="utf-8") for kind in ("html", "js", "css")
        )
        ids = re.findall(r'\sid="([^"]+)"', template)
        assert len(ids) == len(set(ids))
        asked = set(re.findall(r'\$\("([\w-]+)"\)', script))
        assert asked <= set(ids)
        named = set(re.findall(r'(?:labelledby|controls|for)="([^"]+)"', template))
        assert named <= set(ids)
        # The buttons of the transport are asked for in a loop, the tabs by their names.
        assert set(ids) - asked - named <= {"first", "back", "on", "last", "tab-state"}
        names = set(re.findall(r"--([a-z]+):", style))
        assert set(re.findall(r"var\(--([a-z]+)\)", style)) <= names

    def test_writes_the_page(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """-o names the file, - is standard output, and both are the same page, the same each time."""
        output = tmp_path / "trace.html"
        assert main(["trace", str(FAN_OUT), "-o", str(output)]) == 0
        assert capsys.readouterr() == ("", "")
        assert main(["trace", str(FAN_OUT), "-o", "-"]) == 0
        assert capsys.readouterr().out == output.read_text(encoding="utf-8")

    def test_at(self, tmp_path: Path) -> None:
        """--at traces the first events alone; more than there are is refused, and nothing is written."""
        output = tmp_path / "trace.html"
        assert main(["trace", str(FAN_OUT), "-o", str(output), "--at", "125"]) == 2
        assert not output.exists()
        assert main(["trace", str(FAN_OUT), "-o", str(output), "--at", "7"]) == 0
        assert output.read_text(encoding="utf-8").count('"types":[0,') == 1

    def test_log_is_not_overwritten(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """An output that is the log is refused."""
        log = tmp_path / "log.jsonl"
        log.write_bytes(FAN_OUT.read_bytes())
        assert main(["trace", str(log), "-o", str(log)]) == 2
        assert capsys.readouterr().err == f"agui-reduce: {log}: is the log\n"
        assert log.read_bytes() == FAN_OUT.read_bytes()

    def test_output_that_cannot_be_written_is_named(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """An output in a folder that is not there is an error of one line."""
        output = tmp_path / "missing" / "trace.html"
        assert main(["trace", str(FAN_OUT), "-o", str(output)]) == 2
        assert capsys.readouterr().err == f"agui-reduce: {output}: No such file or directory\n"

    def test_malformed_line_says_how_to_go_on(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A log with a bad line is refused with its line, and with how to look at what came before."""
        log = tmp_path / "log.jsonl"
        log.write_text(f'{json.dumps(STARTED)}\n{{"type": "STEP_STARTED", "stepName": 7}}\n')
        assert main(["trace", str(log), "-o", "-"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.splitlines()[0].startswith(f"agui-reduce: {log}: line 2: stepName")
        assert err.splitlines()[1] == "(--at 1 looks at the events before it)"


@pytest.fixture
def scene(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Explain something of the scene."""
    log = tmp_path / "scene.jsonl"
    log.write_text("".join(f"{json.dumps(event)}\n" for event in SCENE))

    def explain(name: str, *more: str) -> Any:
        code = main(["explain", str(log), "--message", name, *more])
        out, err = capsys.readouterr()
        return json.loads(out) if "--json" in more else (code, out.splitlines(), err)

    return explain


class TestExplain:
    """explain."""

    def test_message_with_a_call(self, scene: Callable[..., Any]) -> None:
        """A text message tells its rows, what cut them and why, its call, and where the result stands."""
        code, lines, err = scene("m")
        assert (code, err) == (0, "")
        assert lines == [
            "text message m (assistant), of the parent agent, in run r",
            "  opened by event 5 (TEXT_MESSAGE_START), last touched by event 17 (TEXT_MESSAGE_END)",
            "  shown as m, m#1 (streamed); m (merged)",
            "  row 0: events 5 to 14, shown as m",
            "    holds calls since event 11",
            "    cut by event 11 (TOOL_CALL_START): a tool call opened in its lane, which cuts text and reasoning",
            "  row 1: events 16 to 17, a continuation, shown as m#1",
            "  call c of find, events 11 to 14, of the parent agent, in row 0 of m: its parentMessageId says so",
            "    answered by event 15 (TOOL_CALL_RESULT): result r",
        ]

    def test_derived_id(self, scene: Callable[..., Any]) -> None:
        """The id of a continuation, of either layout, leads to the same message."""
        assert scene("m#1") == scene("m")

    def test_late_and_early_values(self, scene: Callable[..., Any]) -> None:
        """An encrypted value is late where what it names was closed, and early where that had not opened."""
        _, late, _ = scene("g")
        assert "  encrypted value by event 18, late: what it names was closed" in late
        assert any("cut by event 5 (TEXT_MESSAGE_START)" in line for line in late)
        _, early, _ = scene("later")
        assert "  encrypted value by event 19, early: before what it names, which claimed it at event 20" in early

    def test_result(self, scene: Callable[..., Any]) -> None:
        """A result tells whose call it answers and behind what it stands."""
        _, lines, _ = scene("r")
        assert "  answers call c of find; stands behind m, which holds the call" in lines

    def test_call(self, scene: Callable[..., Any]) -> None:
        """A call has an id of its own to ask for."""
        [told] = scene("c", "--json")
        assert (told["kind"], told["in"], told["row"], told["answered"]["result"]["streamed"]) == (
            "tool call",
            "m",
            0,
            ["r"],
        )

    def test_owner(self, scene: Callable[..., Any]) -> None:
        """A subagent's message says whose it is, by id and by name."""
        assert scene("s")[1][0] == "text message s (assistant), of subagent sub (helper), in run r"

    @pytest.mark.parametrize("name", ["nobody", "mm"])
    def test_unknown_id(self, scene: Callable[..., Any], name: str) -> None:
        """An id that nothing has is refused in one line, with those that are most like it."""
        code, lines, err = scene(name)
        assert (code, lines, err.count("\n")) == (2, [], 1)
        assert f"no message {name}; there is " in err
        assert name != "mm" or " m" in err

    def test_near_matches(self, scene: Callable[..., Any]) -> None:
        """An id that is nearly another is told which."""
        assert scene("latr")[2].endswith("no message latr; there is later\n")

    def test_cut_while_closed(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A message that was closed when something opened, and goes on later, says what made that a row of its own."""
        log = tmp_path / "log.jsonl"
        told = [
            {"type": "REASONING_MESSAGE_START", "messageId": "g", "role": "reasoning"},
            {"type": "REASONING_MESSAGE_CONTENT", "messageId": "g", "delta": "a"},
            {"type": "REASONING_MESSAGE_END", "messageId": "g"},
        ]
        wire = [STARTED, *told, {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "b"}, *told]
        log.write_text("".join(f"{json.dumps(event)}\n" for event in wire))
        assert main(["explain", str(log), "--message", "g", "--json"]) == 0
        [one] = json.loads(capsys.readouterr().out)
        assert [row["cut"] and row["cut"]["position"] for row in one["rows"]] == [4, None]

    def test_cut_by_a_run(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A message that goes on in the next run says that the end of the one before cut it."""
        log = tmp_path / "log.jsonl"
        told = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "a"}
        wire = [STARTED, told, FINISHED, {**STARTED, "runId": "r2"}, told]
        log.write_text("".join(f"{json.dumps(event)}\n" for event in wire))
        assert main(["explain", str(log), "--message", "m"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[4] == "    cut by event 2 (RUN_FINISHED): a run began or ended, which cuts everything"

    def test_log_without_messages(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Of a log without messages that is said."""
        log = tmp_path / "empty.jsonl"
        log.write_text("")
        assert main(["explain", str(log), "--message", "m"]) == 2
        assert capsys.readouterr().err.endswith("no message m; there are no messages at all\n")

    def test_anomalies(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """What of a message breaks a rule is told with the rule; ids that do not print are escaped."""
        log = tmp_path / "log.jsonl"
        wire = [STARTED, {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a\x1b[2J", "delta": "x"}]
        log.write_text("".join(f"{json.dumps(event)}\n" for event in wire))
        assert main(["explain", str(log), "--message", "a\x1b[2J"]) == 0
        out = capsys.readouterr().out
        assert (
            "anomaly at event 1 (TEXT_MESSAGE_CONTENT): Content or an end for a text message that is not open." in out
        )
        assert "\x1b" not in out

    @pytest.mark.parametrize(
        ("calls", "why"),
        [
            (
                [{"toolCallId": "a"}],
                "it names no parent and its lane had no current group, so it opened one under its own id",
            ),
            ([{"toolCallId": "b"}, {"toolCallId": "a"}], "it names no parent, so it joined its lane's current group"),
            (
                [{"toolCallId": "a", "parentMessageId": "u"}],
                "its parentMessageId names 'u', which is no assistant message",
            ),
            ([{"toolCallId": "a", "parentMessageId": "new"}], "its parentMessageId says so"),
        ],
    )
    def test_why_a_call_stands_where_it_stands(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], calls: list[Json], why: str
    ) -> None:
        """A call says what decided its row."""
        log = tmp_path / "log.jsonl"
        user = [{"type": f"TEXT_MESSAGE_{verb}", "messageId": "u"} for verb in ("START", "END")]
        user[0]["role"] = "user"
        wire = [STARTED, *user, *({"type": "TOOL_CALL_START", "toolCallName": "find", **call} for call in calls)]
        log.write_text("".join(f"{json.dumps(event)}\n" for event in wire))
        assert main(["explain", str(log), "--message", "a", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        call = next(
            one for one in (*told, *told[0].get("calls", ())) if one["kind"] == "tool call" and one["id"] == "a"
        )
        assert call["why"] == why

    @each_golden
    def test_every_message_can_be_explained(self, log: Path) -> None:
        """Each message of a real producer's log, in either layout, is explained under its id."""
        from reducer._trace.explanation import explained, ids_of
        from reducer._trace.words import sentences

        decoded = [decode(line) for line in log.read_bytes().splitlines()]
        story = tell(decoded)
        for layout in Layout:
            for message in project(story.state, layout).messages:
                told = explained(story, message["id"])
                assert told
                assert list(sentences(told))
                assert message["id"] in ids_of(story)

    @given(stream=st.one_of(streams(), broken_streams(), st.lists(events(), max_size=30)))
    def test_every_id_of_any_log_can_be_explained(self, stream: Any) -> None:
        """Whatever the log, every id that is listed is explained."""
        from reducer._trace.explanation import explained, ids_of
        from reducer._trace.words import sentences

        story = tell(well_formed(stream))
        for name in ids_of(story):
            told = explained(story, name)
            assert told or name not in {row.key[1] for row in story.rows}
            assert all(line.isprintable() for line in sentences(told))
