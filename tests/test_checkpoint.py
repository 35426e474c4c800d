"""`_checkpoint.py`: what `dumps` writes `loads` reads, today's and every earlier version's, and nothing else."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from functools import reduce
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reducer import (
    EMPTY,
    CheckpointError,
    Layout,
    MalformedEvent,
    State,
    _records,
    _session,
    _state,
    dumps,
    fold,
    fold_all,
    loads,
    project,
    seed,
)
from reducer._checkpoint import VERSION
from reducer._frozen import same
from reducer._records import Call, Message, Row
from reducer._state import Conversation
from reducer._stored.record import Record, attributes
from reducer._stored.table import RECORDS
from reducer.laws import resumption
from reducer.strategies import broken_streams, events, json_values, streams
from tests.benchmarks import logs
from tests.test_laws import foldable

Stream = list[dict[str, Any]]
FOLDER = Path(__file__).parent / "checkpoints"
EVERYTHING = FOLDER / "everything.jsonl"

ODD = {"early_values": True, "shared_ids": True, "surrogates": True, "value_types": True, "echoed_state": True}
ANY = st.one_of(
    streams(**ODD, foreign_results=True, drop_open=True),
    broken_streams(**ODD, drop_open=True),
    events(max_size=25),
)
DEEP = 10_000

CALLS = [{"id": name, "type": "function", "function": {"name": "f", "arguments": ""}} for name in ("c1", "c2")]
HOLDER: dict[str, Any] = {"id": "m", "role": "assistant", "toolCalls": CALLS}
THOUGHT: dict[str, Any] = {"id": "other", "role": "reasoning", "content": "so"}
NOTHING: dict[str, Any] = {"type": "MESSAGES_SNAPSHOT", "messages": []}
DROPPED: list[Stream] = [
    [
        {"type": "TOOL_CALL_START", "toolCallId": "c2", "toolCallName": "f"},
        {"type": "MESSAGES_SNAPSHOT", "messages": [HOLDER]},
        NOTHING,
    ],
    [
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "user"},
        NOTHING,
        {"type": "TOOL_CALL_START", "toolCallId": "m", "toolCallName": "f"},
    ],
    [
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "g", "delta": "so"},
        {"type": "MESSAGES_SNAPSHOT", "messages": [THOUGHT]},
        {"type": "REASONING_MESSAGE_END", "messageId": "g"},
        NOTHING,
    ],
    [
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "user"},
        NOTHING,
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    ],
    [
        {"type": "MESSAGES_SNAPSHOT", "messages": [{**HOLDER, "id": "c1", "subagentRunId": "s"}]},
        NOTHING,
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "c1", "role": "user", "content": "hi"}]},
        {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "f"},
        {"type": "TEXT_MESSAGE_START", "messageId": "c1"},
        {"type": "TEXT_MESSAGE_END", "messageId": "c1"},
        NOTHING,
    ],
]
"""Streams in which a snapshot leaves out what is open."""


def read(log: Path) -> Stream:
    """Return the events of a log in wire form."""
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def after(state: State, event: dict[str, Any]) -> State:
    """Return the state after an event, which is the state before it where no schema admits the event."""
    try:
        return fold(state, event)
    except MalformedEvent:
        return state


def states(stream: Stream) -> list[State]:
    """Return the state after each event."""
    return list(accumulate(stream, after, initial=EMPTY))[1:]


def shown(state: State) -> list[dict[str, Any]]:
    """Return what a state shows in both layouts."""
    return [project(state, layout).to_dict() for layout in Layout]


def held(state: State) -> int:
    """Return how many characters of text the messages of a state hold."""
    messages = project(state, Layout.MERGED).messages
    calls = [call["function"]["arguments"] for message in messages for call in message.get("toolCalls", ())]
    return sum(map(len, calls)) + sum(len(message.get("content") or "") for message in messages)


def document(data: bytes) -> Any:
    """Return what a checkpoint holds below its header."""
    return json.loads(data)["state"]


def sealed(told: Any, version: int = VERSION) -> bytes:
    """Return a checkpoint that holds `told`, JSON or its text, with a header that fits."""
    text = told if isinstance(told, str) else json.dumps(told, separators=(",", ":"))
    body = text.encode()
    header = {"format": "agui-reducer/checkpoint", "version": version, "bytes": len(body)}
    start = json.dumps({**header, "sha256": sha256(body).hexdigest()}, separators=(",", ":"))
    return start[:-1].encode() + b',"state":' + body + b"}"


def refused(data: Any) -> CheckpointError:
    """Return the error that `loads` raises."""
    with pytest.raises(CheckpointError) as caught:
        loads(data)
    return caught.value


class TestResumption:
    """`loads(dumps(s))` equals `s`, at any point, and folds on alike."""

    @given(ANY)
    def test_resumption(self, stream: Stream) -> None:
        """A state that is stored and loaded, time and again, is and shows what it was, and folds on alike."""
        resumption(foldable(stream))

    @given(ANY)
    def test_batches(self, stream: Stream) -> None:
        """It makes no difference to the bytes whether the events were folded one by one or in a batch."""
        try:
            state = reduce(fold, stream, EMPTY)
        except MalformedEvent:
            return
        assert dumps(fold_all(EMPTY, stream)) == dumps(state)

    def test_a_seed(self) -> None:
        """A stored thread that no event has been folded on yet is a state like any other."""
        calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
        state = seed(
            [{"id": "u", "role": "user", "content": "hi"}, {"id": "a", "role": "assistant", "toolCalls": calls}]
        )
        assert loads(dumps(state)) == state
        assert loads(dumps(EMPTY)) == EMPTY

    def test_many_lanes(self) -> None:
        """Where a mapping of the state has outgrown a plain dict it does so again."""
        lanes = [f"s{number}" for number in range(60)]
        chunks = [{"type": "TEXT_MESSAGE_CHUNK", "messageId": f"m-{s}", "delta": s, "subagentRunId": s} for s in lanes]
        values = [
            {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": f"late-{s}", "encryptedValue": s}
            for s in lanes
        ]
        steps = [{"type": "STEP_STARTED", "stepName": s, "subagentRunId": s} for s in lanes]
        stream = [{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}, *steps, *values, *chunks]
        for state in states(stream):
            assert loads(dumps(state)) == state

    @pytest.mark.parametrize("stream", DROPPED, ids=["call", "message", "closed", "boundary", "beside"])
    def test_dropped(self, stream: Stream) -> None:
        """What a snapshot dropped while it was open comes back as it is, and so do ids that it shares."""
        for number, state in enumerate(states(stream), 1):
            stored = loads(dumps(state))
            assert stored == state
            assert fold_all(stored, stream[number:]) == fold_all(state, stream[number:])

    def test_no_hash_seed(self) -> None:
        """Two processes with different hash seeds write the same bytes."""
        script = (
            "import sys; from reducer import EMPTY, dumps, fold_all\n"
            "lanes = [f's{n}' for n in range(60)]\n"
            "events = [{'type': 'STEP_STARTED', 'stepName': s, 'subagentRunId': s} for s in lanes]\n"
            "events += [{'type': 'TEXT_MESSAGE_START', 'messageId': s, 'subagentRunId': s} for s in lanes]\n"
            "run = {'type': 'RUN_STARTED', 'threadId': 't', 'runId': 'r'}\n"
            "sys.stdout.buffer.write(dumps(fold_all(EMPTY, [run, *events])))\n"
        )
        written = set()
        for seeded in ("1", "2"):
            env = {**os.environ, "PYTHONHASHSEED": seeded}
            done = subprocess.run([sys.executable, "-c", script], env=env, check=True, capture_output=True)  # noqa: S603
            written.add(done.stdout)
        assert len(written) == 1


def test_pending_calls() -> None:
    """Pending calls stand in the order of the rows that show them."""
    calls = [{"id": name, "type": "function", "function": {"name": "f", "arguments": ""}} for name in ("c1", "c2")]
    told = [{"id": f"m{n}", "role": "assistant", "toolCalls": [call]} for n, call in enumerate(calls)]
    stream = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "f"},
        {"type": "MESSAGES_SNAPSHOT", "messages": told},
        {"type": "TOOL_CALL_END", "toolCallId": "c1"},
    ]
    state = reduce(fold, stream, EMPTY)
    assert project(loads(dumps(state))).pending_tool_calls == project(state).pending_tool_calls == ["c1", "c2"]


class TestValues:
    """What JSON cannot say, or Python's reader does not read, comes back all the same."""

    @given(json_values())
    def test_json(self, value: Any) -> None:
        """Any JSON comes back as it was, with its types: `1` is no `1.0` and no `true`."""
        for state in (seed(state=value), seed(state=[[value]])):
            stored = loads(dumps(state))
            assert same(stored.session.shared, state.session.shared)
            assert repr(project(stored).state) == repr(project(state).state)

    @pytest.mark.parametrize(
        "value",
        [
            0,
            -0.0,
            1.0,
            1e300,
            2**64,
            -(10**5000),
            "\ud83d",
            "\ud83d\ude00",
            ["\ude00", "\ud83d"],
            {"\ud83d\ude00": 1, "\U0001f600": 2},
            {"": [], "text": {}},
            [True, False, None, {"array": 1}],
            '\u2028\x00\\"',
        ],
        ids=range(13),
    )
    @pytest.mark.parametrize("depth", [0, 31, 32, 100, DEEP])
    def test_scalars(self, value: Any, depth: int) -> None:
        """Halves of surrogate pairs stay apart, integers of any length whole, at any depth."""
        for _ in range(depth):
            value = [value]
        state = seed(state=value)
        stored = loads(dumps(state))
        assert same(stored.session.shared, state.session.shared)
        assert dumps(stored) == dumps(state)

    def test_call_stated_twice(self) -> None:
        """Calls that a message states twice leave no gap in the order of its calls."""
        calls = [{"id": name, "type": "function", "function": {"name": "f", "arguments": ""}} for name in "cdced"]
        message = {"id": "m", "role": "assistant", "toolCalls": calls}
        state = fold(EMPTY, {"type": "MESSAGES_SNAPSHOT", "messages": [message]})
        assert loads(dumps(state)) == state
        assert [call["id"] for call in project(state).messages[0]["toolCalls"]] == ["c", "e", "d"]

    def test_deep_everywhere(self) -> None:
        """JSON may be nested ten thousand levels deep wherever an event brings JSON."""
        deep: dict[str, Any] = {}
        for _ in range(DEEP):
            deep = {"deeper": deep}
        run = {"threadId": "t", "runId": "r"}
        outcome = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x", "responseSchema": deep}]}
        stream = [
            {"type": "RUN_STARTED", **run},
            {"type": "STATE_SNAPSHOT", "snapshot": deep},
            {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "x", "content": deep, "metadata": deep},
            {"type": "TEXT_MESSAGE_START", "messageId": "m", "metadata": deep},
            {
                "type": "TOOL_CALL_RESULT",
                "messageId": "x",
                "toolCallId": "c",
                "content": [{"type": "text", "text": "x", "metadata": deep}],
            },
            {"type": "RUN_FINISHED", **run, "result": deep, "outcome": outcome},
        ]
        data = dumps(fold_all(EMPTY, stream))
        assert data.count(b"deeper") == 8 * DEEP
        assert dumps(loads(data)) == data

    @pytest.mark.parametrize("name", ["\ud83d\ude00", "\ud83d", "", "#", "\n"])
    def test_names(self, name: str) -> None:
        """Ids, owners and names may be any strings."""
        run = {"type": "RUN_STARTED", "threadId": name, "runId": name}
        tag = {"subagentRunId": name}
        stream = [
            run,
            {"type": "SUBAGENT_STARTED", "name": name, **tag},
            {"type": "STEP_STARTED", "stepName": name, **tag},
            {"type": "REASONING_START", "messageId": name, **tag},
            {"type": "TEXT_MESSAGE_START", "messageId": name, "name": name, **tag},
            {"type": "TOOL_CALL_START", "toolCallId": name, "toolCallName": name, **tag},
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": name, "parentMessageId": name, **tag},
            {"type": "TOOL_CALL_RESULT", "messageId": name, "toolCallId": name, "content": name, **tag},
            {"type": "REASONING_MESSAGE_CHUNK", "messageId": name, "delta": name, **tag},
            {
                "type": "REASONING_ENCRYPTED_VALUE",
                "subtype": "message",
                "entityId": f"{name}!",
                "encryptedValue": name,
                "encryptedValueType": name,
            },
            run,
        ]
        for state in states(stream):
            stored = loads(dumps(state))
            assert stored == state
            assert shown(stored) == shown(state)

    def test_halves_in_two_deltas(self) -> None:
        """A pair whose second half has not come yet is whole once it has."""
        start = [
            {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
            {"type": "TEXT_MESSAGE_START", "messageId": "m"},
        ]
        first, second = ({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": half} for half in "\ud83d\ude00")
        state = loads(dumps(fold_all(EMPTY, [*start, first])))
        assert b"\\ud83d" in dumps(state)
        state = loads(dumps(fold(state, second)))
        assert project(state).messages[0]["content"] == "\U0001f600"
        assert state == fold_all(EMPTY, [*start, first, second])


class TestFormat:
    """A checkpoint is one JSON object: what it is, and the state."""

    def test_header(self) -> None:
        """Its first members say what it is, in which version, how long and with which digest."""
        data = dumps(states(read(EVERYTHING))[20])
        told = json.loads(data)
        assert list(told) == ["format", "version", "bytes", "sha256", "state"]
        body = data[data.index(b'"state":') + len(b'"state":') : -1]
        assert told["format"] == "agui-reducer/checkpoint"
        assert (told["version"], told["bytes"], told["sha256"]) == (VERSION, len(body), sha256(body).hexdigest())

    def test_whatever_holds_it(self) -> None:
        """It may come back as bytes of any make or as text, with space around it."""
        state = states(read(EVERYTHING))[-1]
        data = dumps(state)
        for form in (data, data.decode(), bytearray(data), memoryview(data), data + b"\n", f"  {data.decode()}\r\n"):
            assert loads(form) == state

    @pytest.mark.parametrize(("log", "times"), [(logs.chat(46), 2), (logs.long(5_000), 1.1)], ids=["chat", "long"])
    def test_size(self, log: Any, times: float) -> None:
        """It is at most twice as long as the text in it, where that is of ordinary length; a long text is its size."""
        state = fold_all(EMPTY, log)
        assert len(dumps(state)) < times * held(state)

    def test_fields(self) -> None:
        """Every field of every record of the state is stored, or read off something else that is."""
        modules = (_records, _session, _state)
        own = [
            kind for one in modules for kind in vars(one).values() if getattr(kind, "__module__", "") == one.__name__
        ]
        records = {kind for kind in own if isinstance(kind, type) and (attrs.has(kind) or issubclass(kind, tuple))}
        assert set(RECORDS) == {*records, State, Conversation}
        for kind, record in RECORDS.items():
            stored = {field.attribute for field in record.fields}
            assert stored.isdisjoint(record.elsewhere)
            assert stored | record.elsewhere.keys() == set(attributes(kind)), kind.__name__

    def test_documented(self) -> None:
        """Every name in the format stands in the reference."""
        page = (FOLDER.parents[1] / "docs" / "reference" / "checkpoint-format.md").read_text(encoding="utf-8")
        for record in RECORDS.values():
            for name in (field.name for field in record.fields):
                assert f"`{name}`" in page, name


SAMPLES = (
    *(f"everything.{position}" for position in (8, 24, 29, 36, 48, 56, 59, 62)),
    "ag-ui-langgraph.subagents.20",
    "agent-framework.fan_out_text.30",
    "agno.paused.20",
    "pydantic-ai.chat.50",
)
"""Which logs there are checkpoints of, and after how many events."""

STORED = sorted(path for path in FOLDER.glob("v*/*.json") if not path.name.endswith(".shown.json"))


def sample(name: str) -> tuple[Stream, int]:
    """Return the log of a sample, and how much of it was folded."""
    *folders, log, position = name.split(".")
    path = FOLDER.with_name("golden").joinpath(*folders) if folders else FOLDER
    return read(path / f"{log}.jsonl"), int(position)


class TestForEver:
    """What a release wrote every later one loads."""

    @pytest.mark.parametrize("name", SAMPLES)
    def test_samples(self, name: str, request: pytest.FixtureRequest) -> None:
        """There is a checkpoint of every sample, in the version that is written now."""
        path = FOLDER / f"v{VERSION}" / f"{name}.json"
        if request.config.getoption("update_golden"):
            stream, position = sample(name)
            state = fold_all(EMPTY, stream[:position])
            path.write_bytes(dumps(state) + b"\n")
            text = json.dumps(shown(state), ensure_ascii=False) + "\n"
            path.with_suffix(".shown.json").write_text(text, encoding="utf-8", errors="backslashreplace")
        assert path.exists()

    @pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}/{path.stem}")
    def test_loads(self, path: Path) -> None:
        """A stored checkpoint loads, shows what it showed, and folds on as its log did."""
        stream, position = sample(path.stem)
        state = loads(path.read_bytes())
        assert state.position == position
        assert shown(state) == json.loads(path.with_suffix(".shown.json").read_text(encoding="utf-8"))
        assert shown(fold_all(state, stream[position:])) == shown(fold_all(EMPTY, stream))

    def test_every_field(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The checkpoints that are kept use every field of every record."""
        used: set[tuple[Any, str]] = set()
        original = Record.read

        def read(record: Record, told: Any, *more: Any) -> list[Any]:
            used.update((record.kind, name) for name in told)
            return original(record, told, *more)

        monkeypatch.setattr(Record, "read", read)
        for path in STORED:
            loads(path.read_bytes())
        for kind, record in RECORDS.items():
            for field in record.fields:
                # What is said of a row is read with the message that begins in it.
                assert (Message if kind is Row else kind, field.name) in used, f"{kind.__name__}.{field.attribute}"
        for name in ("text", "reasoning", "at", "t", "calls", "past", "last", "open", "also"):
            assert (Message, name) in used, name
        for name in ("at", "t", "open", "also"):
            assert (Call, name) in used, name


class TestDamage:
    """Whatever is not the whole of a checkpoint, unchanged, is refused."""

    data = dumps(fold_all(EMPTY, read(EVERYTHING)[:30]))

    def test_cut_off(self) -> None:
        """One that is cut off at any byte says so."""
        for end in range(len(self.data)):
            error = refused(self.data[:end])
            assert "cut off" in error.why

    def test_flipped(self) -> None:
        """A bit that is flipped anywhere is noticed, and so is a byte that is lost, doubled or changed."""
        chance = random.Random(1)
        for place in range(len(self.data)):
            flipped = bytearray(self.data)
            flipped[place] ^= 1 << chance.randrange(8)
            refused(bytes(flipped))
            if place % 7 == 0:
                refused(self.data[:place] + self.data[place + 1 :])
                refused(self.data[:place] + self.data[place : place + 1] + self.data[place:])

    @given(st.binary() | st.text() | json_values().map(json.dumps))
    def test_anything(self, data: bytes | str) -> None:
        """Anything else is refused, bytes or text."""
        refused(data)

    @given(st.text() | json_values().map(json.dumps))
    def test_anything_sealed(self, text: str) -> None:
        """A digest that fits makes no state of what is none."""
        refused(sealed(text.encode("utf-8", "replace").decode()))

    def test_half_a_pair(self) -> None:
        """Text that has no UTF-8 is none that was written."""
        assert refused(self.data.decode() + "\ud83d").where == f"character {len(self.data.decode())}"

    @pytest.mark.parametrize("data", [None, 1, [], {}, object(), Path("x")], ids=lambda data: type(data).__name__)
    def test_no_data(self, data: Any) -> None:
        """What is neither bytes nor text is refused."""
        assert "bytes or a string" in refused(data).why

    @pytest.mark.parametrize("version", [0, VERSION + 1, 999_999_999])
    def test_other_versions(self, version: int) -> None:
        """A version that this release does not know is named."""
        error = refused(sealed({"whatever": "comes"}, version))
        assert error == CheckpointError(
            f"it is of version {version} of the format; this release reads up to {VERSION}", "version"
        )

    @pytest.mark.parametrize(
        "text", ["", "{", "NaN", "[1e999]", "[" * 100_000, '"\\x"', "1" * 5000, "{}{}"], ids=range(8)
    )
    def test_no_json(self, text: str) -> None:
        """A body that is no JSON is refused."""
        refused(sealed(text))

    def test_rewritten(self) -> None:
        """One that some tool wrote anew, the same JSON in other bytes, is refused: its digest says nothing any more."""
        refused(json.dumps(json.loads(self.data)))
        refused(json.dumps(json.loads(self.data), separators=(",", ":"), sort_keys=True))


def base() -> Any:
    """Return the body of a checkpoint that has some of everything."""
    stream: Stream = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u", "role": "user", "content": "hi"}]},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "one"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"},
        {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "c", "content": "ok"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "two"},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan", "content": {}},
        {"type": "REASONING_MESSAGE_CHUNK", "messageId": "g", "delta": "so", "subagentRunId": "s"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "z", "delta": "{}"},
    ]
    return document(dumps(fold_all(EMPTY, stream)))


GONE: Any = object()

BAD: list[tuple[str, Any, str | None]] = [
    # What is changed, what stands there then, and where the fault is found if that is another place.
    ("events", GONE, None),
    ("events", -1, None),
    ("events", True, None),
    ("events", 8, "apart.calls[0].at"),
    ("events", 2, "rows[1].at"),
    ("state", GONE, None),
    ("state*", [], None),
    ("state*", [{}], "state*[0]"),
    ("state*", [1, 2], None),
    ("state*", [{"array": 1}], "state*[0]"),
    ("state*", [{"array": -1}], "state*[0]"),
    ("state*", [{"array": 0, "text": []}], "state*[0]"),
    ("state*", [1, 2, {"object": ["a", "a"]}], "state*[2]"),
    ("state*", [{"text": ["a", "b"]}], "state*[0]"),
    ("state*", [{"integer": "0x1"}], "state*[0]"),
    ("state*", [[]], "state*[0]"),
    ("state*", {}, None),
    ("state*", [1], None),
    ("thread", 1, None),
    ("thread", ["a", "b"], None),
    ("begun", 1, None),
    ("whatever", 1, None),
    ("interrupts", [{"reason": "no id"}], None),
    ("interrupts", [{"id": "i"}, {"id": "i"}], None),
    ("interrupts*", ["i", {"object": ["id"]}, {"array": 1}, {"array": 1}], None),
    ("anomalies.counts", [["no-such-rule", 1]], "anomalies.counts[0]"),
    ("anomalies.counts", [["text-not-open", 1]], None),
    ("anomalies.counts", [["text-not-open", 0]], "anomalies.counts[0]"),
    ("anomalies.counts", [["text-not-open"]], "anomalies.counts[0]"),
    ("anomalies.first.0.at", 9, "anomalies.first[0].at"),
    ("anomalies.first.0", [], "anomalies.first[0]"),
    ("anomalies.latest", GONE, None),
    ("runs", {}, None),
    ("runs.0.status", "done", "runs[0].status"),
    ("runs.0.status", [], "runs[0].status"),
    ("runs.0.status", "error", "runs[0].error"),
    ("runs.0.status", "interrupted", "runs[0].outcome"),
    ("runs.0.outcome", [], "runs[0].outcome"),
    ("runs.0.id", None, "runs[0].id"),
    ("runs.0.id", GONE, "runs[0].id"),
    ("runs.0.first", 1, "runs[0].last"),
    ("runs.0.first", -1, "runs[0].first"),
    ("runs.0.usage", [[]], "runs[0].usage"),
    ("runs.0.usage", [{"inputTokens": []}], "runs[0].usage"),
    ("runs.0.steps", [[None, "s"]], "runs[0].steps[0]"),
    ("runs.0.steps", [[None, "s", 9]], "runs[0].steps[0]"),
    ("runs.0.spans", [["s", None], ["s", "x"]], "runs[0].spans"),
    ("runs.0.subagents", [{"id": "s", "name": "s", "status": "running", "first": 0}], "runs[0].subagents[0].last"),
    ("events", 0, "runs[0].first"),
    ("runs.1", {"id": "q", "thread": "t", "first": 0, "last": 0, "status": "running"}, "runs[1]"),
    ("runs.1", {"id": "q", "thread": "t", "first": 1, "last": 1, "status": "running"}, "runs[0]"),
    ("rows", {}, None),
    ("rows.0", [], "rows[0]"),
    ("rows.0", {}, "rows[0].at"),
    ("rows.0", {"at": 1}, "rows[0]"),
    ("rows.0.reasoning", "u", "rows[0]"),
    ("rows.0.at", GONE, "rows[0].at"),
    ("rows.0.at", -1, "rows[0].at"),
    ("rows.0.at", 9, "rows[0].at"),
    ("rows.0.at", [1, 8], "rows[0].at"),
    ("rows.0.at", [1, -1], "rows[0].at"),
    ("rows.0.at", [1], "rows[0].at"),
    ("rows.0.t", 1, "rows[0].t"),
    ("rows.0.since", 0, "rows[0].since"),
    ("rows.0.past", 1, "rows[0].past"),
    ("rows.0.text", 1, "rows[0].text"),
    ("rows.0.text", "m", "rows[1]"),
    ("rows.0.run", 2, "rows[0].run"),
    ("rows.0.parts", {}, "rows[0].parts"),
    ("rows.0.metadata", [], "rows[0].metadata"),
    ("rows.0.last", 9, "rows[0].last"),
    ("rows.5.last", 8, "rows[5].last"),
    ("rows.1.calls", [], "rows[1].calls"),
    ("rows.1.calls.0.id", GONE, "rows[1].calls[0].id"),
    ("rows.1.calls.0.id", "z", "apart.calls[0]"),
    ("rows.1.calls.0.echo", 1, "rows[1].calls[0].echo"),
    ("rows.1.calls.0.run", 2, "rows[1].calls[0].run"),
    ("rows.1.open", "yes", "rows[1].open"),
    ("rows.2.call", GONE, "rows[2].call"),
    ("rows.2.call", 1, "rows[2].call"),
    ("rows.2.t", {}, "rows[2].t"),
    ("rows.2.t*", ["ok"], "rows[2].t*"),
    ("rows.2.open", True, "rows[2].open"),
    ("rows.3.row", 0.0, "rows[3].row"),
    ("rows.3.row", 2, "rows[3].row"),
    ("rows.3.row", 3, "rows[3].row"),
    ("rows.3.row", 5, "rows[3].row"),
    ("rows.3.row", 99, "rows[3].row"),
    ("rows.3.role", "user", "rows[3].role"),
    ("rows.4.content", "text", "rows[4].content"),
    ("rows.5.calls", [{"id": "y", "name": "f", "at": 7}], "rows[5].calls"),
    ("rows.6", {"result": "x", "call": "c", "t": "", "at": 8}, "rows[6]"),
    ("apart.messages", [{"text": "n"}], "apart.messages[0].last"),
    ("apart.messages", [{"last": 8}], "apart.messages[0]"),
    ("apart.messages", [{"text": "m", "last": 8}], "apart.messages[0]"),
    ("apart.messages", [{"text": "n", "last": 8, "t": ""}], "apart.messages[0].t"),
    ("apart.rows", [], "apart.rows"),
    ("lanes.0.owner", None, "lanes"),
    ("lanes.0.text", -2, "lanes[0].text"),
    ("lanes.0.groups", [[["text", "m"], -1]], "lanes[0].groups[0]"),
    ("lanes.0.latest", ["call", "c"], "lanes[0].latest"),
    ("lanes.0.latest", ["text"], "lanes[0].latest"),
    ("streams", [], None),
    ("streams.lanes", [], None),
    ("streams.recent", [], None),
    ("streams.lanes.0.key", ["activity", "a"], "streams.lanes[0].key"),
    ("streams.lanes.1", {"owner": "q", "key": ["reasoning", "g"]}, "streams"),
    ("unclaimed", [["text", "m", "v", None]], "unclaimed[0]"),
    ("settled.order", [1, 1], None),
    ("settled.order", [3], "settled.order[0]"),
    ("settled.order", [6], "settled.order[0]"),
    ("settled.order", GONE, None),
    ("settled.rows", 7, None),
    ("settled.at", 9, None),
    ("opened", 9, None),
]


class TestHandmade:
    """A body that no `dumps` writes is refused, with the place and the reason, or is a state that works."""

    def test_base(self) -> None:
        """What is changed below is a checkpoint as it is."""
        told = base()
        assert document(dumps(loads(sealed(told)))) == told

    @pytest.mark.parametrize(("path", "value", "where"), BAD, ids=range(len(BAD)))
    def test_refused(self, path: str, value: Any, where: str | None) -> None:
        """What cannot be is refused, and the error says where it is."""
        told = base()
        holder, name = _found(told, path)
        if value is GONE:
            del holder[name]
        elif isinstance(holder, list) and name == len(holder):
            holder.append(value)
        else:
            holder[name] = value
        error = refused(sealed(told))
        assert error.where == (path if where is None else where), error

    def test_scope_of_a_run(self) -> None:
        """What is open in a run that goes on is told there, and what is over has nothing open."""
        run = {"id": "r", "thread": "t", "first": 0, "last": 0, "status": "running"}
        told = {"events": 1, "state": {}, "runs": [run], "scope": {"spans": [["g", None]]}}
        assert refused(sealed(told)).where == "scope"
        over = {**run, "status": "finished", "spans": [["g", None]]}
        assert refused(sealed({"events": 1, "state": {}, "runs": [over]})).where == "runs[0]"

    @given(ANY, st.integers(0, 60), st.randoms(use_true_random=False))
    def test_changed(self, stream: Stream, cut: int, chance: random.Random) -> None:
        """A body changed at random is refused, or loads as a state that shows, folds on and is stored like others."""
        found = [EMPTY, *states(stream)]
        told = document(dumps(found[cut % len(found)]))
        for _ in range(chance.randrange(1, 4)):
            _change(told, chance)
        try:
            state = loads(sealed(told))
        except CheckpointError:
            return
        for _ in range(2):
            shown(state)
            assert loads(dumps(state)) == state
            state = reduce(after, stream, state)


def _found(told: Any, path: str) -> tuple[Any, Any]:
    """Return the container that `path` leads into, and what leads on from there."""
    *way, name = (int(part) if part.isdigit() else part for part in path.split("."))
    return reduce(lambda holder, part: holder[part], way, told), name


JUNK = [None, True, -1, 0, 3, 10**6, 1.5, "", "m1", "text", [], {}, [0], ["text", "m1"], {"id": "x"}, "running"]


def _change(told: Any, chance: random.Random) -> None:
    """Change one thing in JSON: put something else there, take it away, double it, or put it elsewhere."""
    places: list[tuple[Any, Any]] = []
    todo = [told]
    while todo:
        one = todo.pop()
        inside = [*one] if isinstance(one, dict) else [*range(len(one))]
        places += [(one, name) for name in inside]
        todo += [one[name] for name in inside if isinstance(one[name], (dict, list))]
    if not places:
        return
    holder, name = chance.choice(places)
    other, elsewhere = chance.choice(places)
    edit = chance.randrange(6)
    if edit == 0:
        holder[name] = chance.choice(JUNK)
    elif edit == 1:
        del holder[name]
    elif edit == 2 and isinstance(holder, list):
        holder.insert(name, holder[name])
    elif edit == 3 and isinstance(holder, dict) and isinstance(elsewhere, str):
        holder[elsewhere] = json.loads(json.dumps(other[elsewhere]))
    elif edit == 4 and type(holder[name]) is int:
        holder[name] += chance.choice((-3, -1, 1, 3))
    else:
        holder[name] = json.loads(json.dumps(other[elsewhere]))
