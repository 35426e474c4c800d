"""The command line: what it reads, what it prints, how it ends."""

from __future__ import annotations

import gzip
import io
import json
import os
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reducer import EMPTY, Layout, decode, fold, fold_all, project
from reducer.__main__ import BROKEN_PIPE, COMMANDS, INTERRUPTED, main
from reducer._cli import source
from reducer._cli.command import Failure
from reducer._cli.output import as_json
from reducer._cli.read import Log
from reducer._cli.source import Progress
from reducer._cli.verify import MALFORMED, TRUNCATED
from reducer._rules import RULES

ROOT = Path(__file__).parents[1]
GOLDEN = sorted(ROOT.glob("tests/golden/*/*.jsonl"))
FAN_OUT = ROOT / "docs/examples/fan_out.jsonl"
each_golden = pytest.mark.parametrize("log", GOLDEN, ids=[f"{log.parent.name}-{log.stem}" for log in GOLDEN])

Json = dict[str, Any]
STARTED: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
TEXT: Json = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
DELTA: Json = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}
ENDED: Json = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
FINISHED: Json = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
RUN = [STARTED, TEXT, DELTA, ENDED, FINISHED]


class Ran(NamedTuple):
    """How the command line ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def told(self) -> Any:
        """The JSON that was printed."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """The lines that were printed."""
        return self.out.splitlines()


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in this process."""

    def run(*args: object, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        return Ran(main([str(arg) for arg in args]), *capsys.readouterr())

    return run


def started(*args: object, **how: Any) -> subprocess.Popen[bytes]:
    """Start the command line as a command."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    command = [sys.executable, "-m", "reducer", *map(str, args)]
    # A shell that runs the tests in the background has them ignore interrupts, and what is ignored is inherited.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, cwd=ROOT, **pipes)  # noqa: S603 - this project's own
    finally:
        signal.signal(signal.SIGINT, before)


def events_in(log: Path) -> list[Json]:
    """Return the events of a golden log."""
    return [json.loads(line) for line in log.read_bytes().splitlines()]


def json_lines(events: Iterable[Json]) -> bytes:
    """Write one event a line."""
    return b"".join(json.dumps(event, ensure_ascii=False).encode() + b"\n" for event in events)


def json_array(events: Iterable[Json]) -> bytes:
    """Write an array on one line."""
    return json.dumps(list(events)).encode()


def pretty_array(events: Iterable[Json]) -> bytes:
    """Write an array as people read it, with room around it."""
    return b"\n \n" + json.dumps(list(events), indent=4, ensure_ascii=False).encode() + b"\n\n"


def sse(events: Iterable[Json], newline: bytes = b"\n") -> bytes:
    """Write server-sent events, as the protocol frames them."""
    return b"".join(b"data: " + json.dumps(event).encode() + 2 * newline for event in events)


def noisy_sse(events: Iterable[Json], newline: bytes = b"\n") -> bytes:
    """Write server-sent events with all that may stand between, and each event on several lines."""
    written = [b": hello", b"retry: 10", b"", b"data", b""]
    for number, event in enumerate(events):
        written += [b"id: %d" % number, b"event: message", b"dataset: none"]
        written += [b"data:" + line for line in json.dumps(event, indent=1, ensure_ascii=False).encode().split(b"\n")]
        written += [b"", b": ping", b"", b""]
    return newline.join(written[:-3]) + newline


FORMATS: dict[str, Callable[[Iterable[Json]], bytes]] = {
    "JSON lines": json_lines,
    "JSON lines, CRLF": lambda events: json_lines(events).replace(b"\n", b"\r\n"),
    "JSON lines, blank ones": lambda events: b"\n \n" + json_lines(events).replace(b"\n", b"\n\n"),
    "JSON lines, byte order mark": lambda events: b"\xef\xbb\xbf" + json_lines(events),
    "JSON lines, last newline missing": lambda events: json_lines(events).removesuffix(b"\n"),
    "JSON array": json_array,
    "JSON array, pretty": pretty_array,
    "JSON array, byte order mark": lambda events: b"\xef\xbb\xbf" + json_array(events),
    "stream": sse,
    "stream, CRLF": lambda events: sse(events, b"\r\n"),
    "stream, CR": lambda events: sse(events, b"\r"),
    "stream, byte order mark": lambda events: b"\xef\xbb\xbf" + sse(events),
    "stream, last newline missing": lambda events: sse(events).removesuffix(b"\n\n"),
    "stream, noisy": noisy_sse,
    "stream, noisy, CRLF": lambda events: noisy_sse(events, b"\r\n"),
    "stream, curl -i": lambda events: b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + sse(events),
    "gzip": lambda events: gzip.compress(json_lines(events)),
    "gzip, stream": lambda events: gzip.compress(noisy_sse(events)),
    "gzip, twice": lambda events: gzip.compress(b"") + gzip.compress(json_lines(events)),
}
each_format = pytest.mark.parametrize("written", FORMATS.values(), ids=FORMATS)


class TestRead:
    """What a log may look like."""

    @each_format
    @given(deltas=st.lists(st.text(max_size=8), max_size=4))
    def test_every_format_holds_the_same_events(
        self, written: Callable[[Iterable[Json]], bytes], deltas: list[str]
    ) -> None:
        """The same events come out of every format, whatever characters they hold."""
        events = [STARTED, *({**DELTA, "delta": delta.encode("utf-8", "replace").decode()} for delta in deltas)]
        data = written(events)
        data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        log = Log("log", io.BufferedReader(io.BytesIO(data)), Progress(None))
        assert [json.loads(text) for text in log] == events
        assert log.events == len(events)

    @each_format
    @pytest.mark.parametrize("stdin", [False, True], ids=["file", "stdin"])
    def test_format_is_found_out(
        self, run: Run, tmp_path: Path, written: Callable[[Iterable[Json]], bytes], *, stdin: bool
    ) -> None:
        """A log reads alike in every format, under any name, from a file and from standard input."""
        data = written(events_in(FAN_OUT))
        log = tmp_path / "log"
        log.write_bytes(data)
        ran = run("snapshot", "-", stdin=data) if stdin else run("snapshot", log)
        assert ran == run("snapshot", FAN_OUT)

    @pytest.mark.parametrize("log", ["", "\n \r\n", "[]", " [\n]\n", ": ping\n\n", "data:\n\n", "\ufeff"])
    def test_log_without_events_is_no_error(self, run: Run, log: str) -> None:
        """A log that holds no events gives the empty snapshot."""
        empty = project(EMPTY).to_dict()
        ran = run("snapshot", "--anomalies", "--origins", "-", stdin=log.encode())
        assert (ran.code, ran.told, ran.err) == (0, empty, "")
        assert run("verify", "-", stdin=log.encode()) == (0, "-: ok, 0 events\n", "")

    @pytest.mark.parametrize(
        ("log", "why"),
        [
            (json_lines(RUN[:2]) + b'{"type": \n', "line 3: must be JSON: Expecting value (column 9)"),
            (json_lines(RUN[:2]) + b'{"type":"RUN_ST', "line 3: must be JSON: "),
            (json_lines(RUN[:2]) + b"{} {}\n", "line 3: must be JSON: Extra data (column 4)"),
            (json_lines(RUN[:2]) + b'{"a": NaN}\n', "line 3: must be JSON: NaN is no JSON number"),
            (sse(RUN[:2]) + b": hm\ndata: {\ndata:]\n\n", "line 6: must be JSON: "),
            (sse(RUN[:2], b"\r\n") + b"data: [DONE]\n\n", "line 5: must be JSON: "),
            (sse(RUN[:2]) + b'data: {"ty', "line 5: must be JSON: "),
            (b"[" + json_lines(RUN[:1]) + b",\n" + json_lines(RUN[1:2]) + b"}", "line 4: must be JSON: "),
            (json_array(RUN[:2]) + b"\n\n{}", "line 3: must be JSON: Extra data (column 1)"),
            (json_array(RUN[:2])[:-1] + b"\n,\n]", "line 3: must be JSON: Expecting value (column 1)"),
            (json_array(RUN[:2])[:-1] + b",\nNaN]", "line 2: must be JSON: NaN is no JSON number"),
            (json_array(RUN[:2])[:-1] + b",\n" + b"9" * 5000 + b"]", "line 2: must be JSON: Exceeds the limit"),
            (json_array(RUN[:2])[:-1] + b",\n" + b"[" * 99_999, "line 2: must be JSON: "),
        ],
    )
    def test_line_without_json_is_named(self, run: Run, log: bytes, why: str) -> None:
        """A line that is no JSON is an error that names it, for all commands; the events before it can be shown."""
        code, out, err = run("snapshot", "-", stdin=log)
        assert (code, out) == (2, "")
        first, hint = err.splitlines()
        assert first.startswith(f"agui-reduce: -: {why}")
        assert hint == "(--at 2 shows the state after the events before it)"
        assert run("snapshot", "--at", 2, "-", stdin=log) == run("snapshot", "-", stdin=json_lines(RUN[:2]))
        code, out, err = run("verify", "-", stdin=log)
        assert (code, err) == (2, "")
        assert out.startswith(f"-: unreadable: {why}")
        assert out.endswith(" (after 2 events)\n")

    @pytest.mark.parametrize(
        ("log", "line", "why"),
        [
            (json_lines(RUN[:2]) + b'\n\n{"type":"RUN_FINISHED"}\n', 5, "threadId: is required and missing (got None)"),
            (json_lines(RUN[:2]) + b"[]\n", 3, "(the event): must be a JSON object (got [])"),
            (json_lines(RUN[:2]) + b'"x"\n', 3, "(the event): must be a JSON object (got 'x')"),
            (json_lines([*RUN[:2], {**DELTA, "delta": 7}]), 3, "delta: must be a string (got 7)"),
            (sse(RUN[:2]) + b"data: 42\n\n", 5, "(the event): must be a JSON object (got 42)"),
            (pretty_array(RUN[:2])[:-4] + b",\n\n  null\n]", 15, "(the event): must be a JSON object (got None)"),
        ],
    )
    def test_malformed_event_is_named(self, run: Run, log: bytes, line: int, why: str) -> None:
        """An event that the schema rejects is an error that names the line, the path, the rule and the value."""
        code, out, err = run("snapshot", "-", stdin=log)
        assert (code, out) == (2, "")
        assert err.splitlines()[0] == f"agui-reduce: -: line {line}: {why}"
        verified = run("verify", "-", stdin=log)
        assert verified.code == 1
        assert f": line {line}: event 2 " in verified.lines[0]
        assert f": {why} [malformed-event; " in verified.lines[0]

    @pytest.mark.parametrize(
        ("log", "why"),
        [
            (b"\n\n2024-05-01 INFO started\n", "line 3: must begin a JSON object, a JSON array or a stream"),
            (b"database: x\n", "line 1: must begin a JSON object, a JSON array or a stream"),
            ('{"type": 1}'.encode("utf-16"), "line 1: must be UTF-8, not UTF-16"),
            (b'[\n"\xff"]', "line 2: must be UTF-8: invalid start byte"),
            (b'{"type": "\xff"}', "line 1: must be JSON: 'utf-8' codec can't decode byte 0xff"),
            (b"\x1f\x8b\x07nothing", "Unknown compression method"),
            (
                gzip.compress(b"\n" * 99, mtime=0)[:-9],
                "Compressed file ended before the end-of-stream marker was reached",
            ),
            (gzip.compress(b"\n" * 99, mtime=0)[:-8] + b"\0" * 8, "CRC check failed"),
            (gzip.compress(b"\n" * 99, mtime=0)[:10] + b"\xff" * 9, "Error -3"),
        ],
    )
    def test_what_is_no_log_is_named(self, run: Run, log: bytes, why: str) -> None:
        """What holds no events from its first byte on is an error that says why."""
        code, out, err = run("snapshot", "-", stdin=log)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"agui-reduce: -: {why}")
        verified = run("verify", "-", stdin=log)
        assert (verified.code, verified.err) == (2, "")
        assert verified.out.startswith(f"-: unreadable: {why}")

    def test_file_that_cannot_be_opened_is_named(self, run: Run, tmp_path: Path) -> None:
        """A log that is missing, or a folder, is an error."""
        missing = tmp_path / "missing"
        assert run("snapshot", missing) == (2, "", f"agui-reduce: {missing}: No such file or directory\n")
        assert run("snapshot", tmp_path) == (2, "", f"agui-reduce: {tmp_path}: Is a directory\n")
        verified = run("verify", missing, FAN_OUT)
        assert verified.lines[0] == f"{missing}: unreadable: No such file or directory (after 0 events)"
        assert verified.lines[1] == f"{FAN_OUT}: ok, 124 events"
        assert verified.code == 2


class TestSnapshot:
    """snapshot."""

    @each_golden
    @pytest.mark.parametrize("layout", list(Layout))
    def test_prints_what_project_returns(self, run: Run, log: Path, layout: Layout) -> None:
        """The snapshot of a real producer's log is the library's, in both layouts."""
        expected = project(fold_all(EMPTY, map(decode, log.read_bytes().splitlines())), layout).to_dict()
        ran = run("snapshot", log, "--layout", layout.value, "--anomalies", "--origins")
        assert (ran.code, ran.told, ran.err) == (0, expected, "")
        del expected["anomalies"], expected["origins"]
        assert run("snapshot", "--layout", layout.value, log).told == expected

    def test_layout_is_streamed_unless_told(self, run: Run) -> None:
        """Without --layout, messages show as they streamed."""
        assert run("snapshot", FAN_OUT) == run("snapshot", "--layout=streamed", FAN_OUT)
        assert run("snapshot", FAN_OUT) != run("snapshot", "--layout=merged", FAN_OUT)

    def test_at_is_the_state_after_so_many_events(self, run: Run) -> None:
        """--at N shows the state after N events, from none to all."""
        state = EMPTY
        for at, event in enumerate([*events_in(FAN_OUT), None]):
            ran = run("snapshot", "--at", at, "--anomalies", "--origins", FAN_OUT)
            assert ran.told == project(state).to_dict()
            state = state if event is None else fold(state, event)

    def test_at_beyond_the_end_is_refused(self, run: Run) -> None:
        """A log that ends before --at is an error."""
        why = "there is no state after 125 events; it holds 124"
        assert run("snapshot", "--at", 125, FAN_OUT) == (2, "", f"agui-reduce: {FAN_OUT}: {why}\n")

    def test_at_reads_no_further(self, run: Run) -> None:
        """What follows the event of --at is not read, so it may be anything."""
        assert run("snapshot", "--at", 1, "-", stdin=json_lines(RUN[:1]) + b"{").code == 0

    @pytest.mark.parametrize("indent", [0, 1, 2, 7])
    def test_indent(self, run: Run, indent: int) -> None:
        """--indent says how far the JSON is indented; 0 is one line without spaces."""
        told = run("snapshot", FAN_OUT).told
        expected = json.dumps(told, indent=indent or None, separators=None if indent else (",", ":"))
        ran = run("snapshot", "--indent", indent, FAN_OUT)
        assert json.dumps(ran.told) == json.dumps(told)
        assert len(ran.lines) == len(expected.splitlines())
        assert indent or len(ran.out) == len(json.dumps(told, separators=(",", ":"), ensure_ascii=False)) + 1

    def test_characters_are_themselves(self) -> None:
        """The output is UTF-8 in every locale; half a surrogate pair, which UTF-8 lacks, is the escape of JSON."""
        log = json_lines([STARTED, TEXT]) + b'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\xc3\xa9\\ud83d"}'
        command = started("snapshot", "-", env={**os.environ, "PYTHONIOENCODING": "ascii"})
        out, err = command.communicate(log)
        assert b'"content": "\xc3\xa9\\ud83d"' in out
        assert json.loads(out)["messages"][0]["content"] == "\u00e9\ud83d"
        assert (command.returncode, err) == (0, b"")

    def test_result_too_deep_to_print_is_an_error(self) -> None:
        """What patches nested deeper than Python writes JSON is an error, not a crash."""
        value: list[Any] = []
        for _ in range(200_000):
            value = [value]
        with pytest.raises(Failure, match="the result nests more deeply than this Python's JSON writer can follow"):
            as_json(value)


BROKEN = [STARTED, DELTA, {**DELTA, "messageId": 7}, {**ENDED, "more": 1}, {**STARTED, "runId": "s"}, {"x": 1}, TEXT]


class TestVerify:
    """verify."""

    @each_golden
    def test_real_logs_are_sound(self, run: Run, log: Path) -> None:
        """What real producers streamed breaks no rule."""
        ran = run("verify", log)
        assert (ran.code, ran.err, len(ran.lines)) == (0, "", 1)
        assert ran.out.startswith(f"{log}: ok, {len(events_in(log))} events")

    def test_lists_every_violation(self, run: Run) -> None:
        """Each violation gets a line with the log's line, the position, the rule, the detail and the page."""
        ran = run("verify", "-", stdin=b"\n" + json_lines(BROKEN))
        assert ran.code == 1
        assert ran.lines == [
            (
                "-: line 3: event 1 (TEXT_MESSAGE_CONTENT): Content or an end for a text message that is not open: 'm' "
                "[text-not-open; spec: basic/patterns/streaming]"
            ),
            (
                "-: line 4: event 2 (TEXT_MESSAGE_CONTENT): A value that the schema rejects: messageId: must be a "
                "string (got 7) [malformed-event; spec: basic/processing]"
            ),
            (
                "-: line 6: event 4 (RUN_STARTED): RUN_STARTED while a run is still active: 'r' "
                "[run-already-active; spec: events/lifecycle]"
            ),
            (
                "-: line 7: event 5 (no known type): A value that the schema rejects: type: must be a string that "
                "names the event's type (got None) [malformed-event; spec: basic/processing]"
            ),
            (
                "-: line 8: the end: The stream ends inside a run: 's'; still open: text 'm' "
                "[truncated-run; spec: basic/transports]"
            ),
            "-: 5 violations, 7 events, 1 warning",
        ]

    def test_warnings_are_listed_on_demand(self, run: Run) -> None:
        """--warnings lists what the specification only warns of; such a log is sound."""
        log = json_lines([STARTED, {**FINISHED, "more": 1}])
        assert run("verify", "-", stdin=log) == (0, "-: ok, 2 events, 1 warning\n", "")
        ran = run("verify", "--warnings", "-", stdin=log)
        assert ran.code == 0
        assert ran.lines[0].startswith("-: line 2: event 1 (RUN_FINISHED): warning: A property nobody described")
        assert ran.lines[1:] == ["-: ok, 2 events, 1 warning"]

    def test_json_says_the_same(self, run: Run) -> None:
        """--json prints an object for each line."""
        log = json_lines(BROKEN) + b"{"
        lines = run("verify", "--warnings", "-", stdin=log).lines
        ran = run("verify", "--warnings", "--json", "-", stdin=log)
        assert ran.code == 2
        *found, whole = map(json.loads, ran.lines)
        assert whole == {
            "log": "-",
            "verdict": "unreadable",
            "events": 7,
            "violations": 4,
            "warnings": 1,
            "error": "line 8: must be JSON: Expecting property name enclosed in double quotes (column 2)",
        }
        assert lines[-1] == f"-: unreadable: {whole['error']} (after 4 violations, 7 events, 1 warning)"
        assert found[0] == {
            "log": "-",
            "line": 2,
            "position": 1,
            "event": "TEXT_MESSAGE_CONTENT",
            "code": "text-not-open",
            "fatal": True,
            "meaning": "Content or an end for a text message that is not open.",
            "detail": "'m'",
            "page": "basic/patterns/streaming",
        }
        assert len(found) == len(lines) - 1
        for object_, line in zip(found, lines, strict=False):
            assert line.startswith(f"-: line {object_['line']}: event {object_['position']} ")
            assert line.endswith(f"[{object_['code']}; spec: {object_['page']}]")
            assert ("warning" in line) is not object_["fatal"]

    def test_lists_more_than_the_state_keeps(self, run: Run) -> None:
        """A state keeps the first anomalies in full; verify lists them all."""
        ran = run("verify", "-", stdin=json_lines([STARTED, *[ENDED] * 500, FINISHED]))
        assert [line.split(" (")[0] for line in ran.lines[:-1]] == [
            f"-: line {n + 1}: event {n}" for n in range(1, 501)
        ]
        assert ran.lines[-1] == "-: 500 violations, 502 events"

    def test_worst_log_decides(self, run: Run, tmp_path: Path) -> None:
        """The exit code is that of the worst log, and every log gets its line."""
        logs = {"sound": json_lines(RUN), "cut": json_lines(RUN[:1]), "junk": b"junk"}
        for name, data in logs.items():
            (tmp_path / name).write_bytes(data)
        sound, cut, junk = (tmp_path / name for name in logs)
        assert run("verify", sound, sound).code == 0
        assert run("verify", cut, sound).code == 1
        assert run("verify", junk, cut, sound).code == 2
        assert [line.split(": ")[0] for line in run("verify", junk, cut, sound).lines] == [
            str(junk),
            str(cut),
            str(cut),
            str(sound),
        ]

    def test_own_codes_are_no_rules_of_the_fold(self) -> None:
        """The two codes that verify adds are not in the table of rules."""
        assert not {MALFORMED, TRUNCATED} & set(RULES)


class Growing:
    """A log that others write while it is followed: each look that finds no more takes the next step."""

    def __init__(self, log: Path, steps: Iterable[Callable[[Path], object]]) -> None:
        self.log = log
        self.steps = iter(steps)
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        """Take a step, in the place of sleep."""
        self.waits.append(seconds)
        next(self.steps)(self.log)


Follow = Callable[..., Ran]


def append(data: bytes) -> Callable[[Path], object]:
    """Return the step that writes more."""

    def more(log: Path) -> None:
        with log.open("ab") as file:
            file.write(data)

    return more


def interrupt(_: Path) -> None:
    """Press Ctrl-C."""
    raise KeyboardInterrupt


def move(log: Path) -> None:
    """Give it another name."""
    log.rename(log.with_suffix(".1"))


def replace(log: Path) -> None:
    """Put another log in its place, as log rotation does."""
    move(log)
    log.write_bytes(b"{")


class TestFollow:
    """verify --follow."""

    @pytest.fixture
    def follow(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Follow:
        """Follow a log while others take steps."""

        def follow(data: bytes, *steps: Callable[[Path], object], options: tuple[object, ...] = ()) -> Ran:
            log = tmp_path / "log"
            log.write_bytes(data)
            self.growing = Growing(log, steps)
            monkeypatch.setattr(source, "sleep", self.growing.sleep)
            ran = run("verify", "--follow", *options, log)
            assert not [*self.growing.steps]
            return ran._replace(out=ran.out.replace(str(log), "log"))

        return follow

    @pytest.mark.parametrize("written", [json_lines, sse, FORMATS["stream, noisy"]])
    def test_reads_what_is_added(self, follow: Follow, written: Callable[[Iterable[Json]], bytes]) -> None:
        """A log is read on as it grows, wherever it was cut; it ends when it is removed."""
        data = written(RUN)
        ran = follow(data[:9], append(data[9:11]), append(data[11:-9]), append(b""), append(data[-9:]), Path.unlink)
        assert ran == (0, "log: ok, 5 events\n", "")

    def test_may_begin_empty(self, follow: Follow) -> None:
        """A log may be followed from before its first event."""
        assert follow(b"", append(b"\n"), append(json_lines(RUN)), Path.unlink).lines == ["log: ok, 5 events"]

    def test_polls(self, follow: Follow) -> None:
        """--poll says how long it waits for more, in seconds."""
        assert follow(b"", append(json_lines(RUN)), Path.unlink, options=("--poll", 0.25)).code == 0
        assert self.growing.waits == [0.25, 0.25]
        assert follow(b"", Path.unlink).code == 0
        assert self.growing.waits == [0.5]

    def test_what_was_written_before_the_end_counts(self, follow: Follow) -> None:
        """What is written between the last look and the removal is read, a line without its end too."""

        def last_words(log: Path) -> None:
            append(json_lines(RUN[2:]).removesuffix(b"\n"))(log)
            log.unlink()

        assert follow(json_lines(RUN[:2]), last_words) == (0, "log: ok, 5 events\n", "")

    @pytest.mark.parametrize("end", [Path.unlink, move, replace])
    def test_log_that_is_gone_has_ended(self, follow: Follow, end: Callable[[Path], object]) -> None:
        """A log that is removed, moved or replaced has ended; the run in it is truncated."""
        ran = follow(json_lines(RUN[:1]), end)
        assert ran.code == 1
        assert ran.lines[0].startswith("log: line 1: the end: The stream ends inside a run: 'r'")

    def test_interrupt_ends_it(self, follow: Follow) -> None:
        """Ctrl-C ends it with the verdict so far; a run that still goes on is no violation."""
        assert follow(json_lines(RUN[:2]), interrupt) == (0, "log: ok, 2 events\n", "")
        assert follow(json_lines([STARTED, ENDED]), interrupt).lines[-1] == "log: 1 violation, 2 events"

    def test_violations_show_at_once(self, follow: Follow, capsys: pytest.CaptureFixture[str]) -> None:
        """A violation is printed when its event arrives."""
        shown = []

        def look(_: Path) -> None:
            shown.append(capsys.readouterr().out)

        follow(json_lines(RUN[:1]), look, append(json_lines([ENDED])), look, Path.unlink)
        assert shown[0] == ""
        assert "event 1 (TEXT_MESSAGE_END)" in shown[1]

    def test_log_that_shrinks_is_unreadable(self, follow: Follow) -> None:
        """A log that is cut short while it is followed is an error."""
        ran = follow(json_lines(RUN), lambda log: log.write_bytes(b""))
        assert ran == (2, "log: unreadable: the file was cut short while it was followed (after 5 events)\n", "")

    @pytest.mark.parametrize("array", [json_array(RUN), pretty_array(RUN), b"\xef\xbb\xbf["])
    def test_array_is_refused(self, follow: Follow, array: bytes) -> None:
        """An array cannot be followed, for it has no events before its end."""
        why = "a JSON array cannot be followed; it is read whole"
        assert follow(array) == (2, f"log: unreadable: {why} (after 0 events)\n", "")

    def test_follows_one_log(self, run: Run) -> None:
        """--follow takes one log."""
        assert run("verify", "--follow", FAN_OUT, FAN_OUT) == (2, "", "agui-reduce: --follow follows one log\n")

    def test_standard_input_is_followed_to_its_end(self, run: Run) -> None:
        """Standard input is read as it comes, until it ends."""
        assert run("verify", "--follow", "-", stdin=json_lines(RUN)).lines == ["-: ok, 5 events"]

    @pytest.mark.skipif(os.name != "posix", reason="needs signals")
    @pytest.mark.parametrize("stdin", [False, True], ids=["file", "stdin"])
    def test_real_log_is_followed(self, tmp_path: Path, *, stdin: bool) -> None:
        """A command that follows prints each violation while the log grows, and ends on SIGINT."""
        log = tmp_path / "log"
        log.write_bytes(json_lines([STARTED, ENDED]))
        command = started("verify", "--follow", "--poll", 0.01, "-" if stdin else log)
        with command:
            assert command.stdin
            assert command.stdout
            with command.stdin if stdin else log.open("ab") as pen:
                for number in range(1, 4):
                    if number > 1 or stdin:
                        pen.write(json_lines([STARTED, ENDED] if number == 1 else [ENDED]))
                        pen.flush()
                    assert (
                        f": line {number + 1}: event {number} (TEXT_MESSAGE_END)".encode() in command.stdout.readline()
                    )
                command.send_signal(signal.SIGINT)
                assert command.stdout.read().endswith(b": 3 violations, 4 events\n")
        assert command.returncode == 1


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a log that takes a while."""
    log = tmp_path_factory.mktemp("long") / "log"
    deltas = [{**DELTA, "delta": "x" * 1000}] * 3000
    log.write_bytes(json_lines([STARTED, ENDED, TEXT, *deltas, ENDED, ENDED, FINISHED]))
    assert log.stat().st_size > 2 * source.LONG
    return log


def on_terminal(*args: object, **how: Any) -> tuple[int, bytes, bytes]:
    """Run the command line with a terminal for standard error; return the exit code, the output, and what it showed."""
    import fcntl
    import termios

    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    shown = b""
    with tempfile.TemporaryFile() as out:
        command = started(*args, stdout=out, stderr=theirs, **how)
        os.close(theirs)
        # So Linux says that the terminal was closed.
        with suppress(OSError):
            while more := os.read(ours, 1 << 16):
                shown += more
        os.close(ours)
        command.communicate()
        out.seek(0)
        return command.returncode, out.read(), shown


@pytest.mark.skipif(os.name != "posix", reason="needs pseudo-terminals")
class TestProgress:
    """The progress bar."""

    def test_shows_on_a_terminal(self, long: Path) -> None:
        """A long log shows a bar on a terminal while it is read, and leaves no trace of it."""
        pytest.importorskip("tqdm")
        code, out, shown = on_terminal("snapshot", long)
        assert (code, json.loads(out)["messages"][0]["content"]) == (0, "x" * 3_000_000)
        assert b"%|" in shown
        assert b"/3." in shown
        assert shown.rsplit(b"\r", 2)[-2].strip() == b""

    def test_has_no_end_on_a_pipe(self, long: Path) -> None:
        """Of a pipe nobody knows how much is to come, so the bar counts."""
        pytest.importorskip("tqdm")
        with subprocess.Popen(["cat", long], stdout=subprocess.PIPE) as cat:  # noqa: S603
            _, _, shown = on_terminal("snapshot", "-", stdin=cat.stdout)
        assert b"MB [" in shown
        assert b"%|" not in shown

    def test_gives_way_to_lines(self, long: Path) -> None:
        """What is printed is the same with a bar and without."""
        assert on_terminal("verify", long, long)[1] == started("verify", long, long).communicate()[0]

    def test_needs_a_long_log_and_a_terminal(self, long: Path) -> None:
        """A short log shows none, nor does a pipe."""
        assert on_terminal("snapshot", FAN_OUT)[2] == b""
        assert started("snapshot", long).communicate()[1] == b""

    def test_is_left_out_without_tqdm(self, long: Path, tmp_path: Path) -> None:
        """Without the extra `cli` all works but the bar."""
        (tmp_path / "tqdm.py").write_text("raise ImportError")
        code, out, shown = on_terminal("snapshot", long, env={**os.environ, "PYTHONPATH": str(tmp_path)})
        assert (code, shown) == (0, b"")
        assert out == started("snapshot", long).communicate()[0]


class TestEnd:
    """How the command ends."""

    @pytest.mark.skipif(os.name != "posix", reason="needs signals")
    def test_reader_that_leaves_is_no_error(self, long: Path) -> None:
        """Where whoever reads the output has enough of it, the command ends without a word."""
        # Where nothing is buffered Python says of half a write that it was one.
        command = started("snapshot", long, env={**os.environ, "PYTHONUNBUFFERED": ""})
        assert command.stdout
        assert command.stderr
        with command:
            assert command.stdout.readline() == b"{\n"
            command.stdout.close()
            assert command.stderr.read() == b""
        assert command.returncode == BROKEN_PIPE

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_full_disk_is_an_error(self) -> None:
        """Output that cannot be written is an error in one line."""
        with open("/dev/full", "wb") as full:  # noqa: PTH123
            command = started("snapshot", FAN_OUT, stdout=full)
            _, err = command.communicate()
        assert (command.returncode, err) == (2, b"agui-reduce: standard output: No space left on device\n")

    def test_interrupt_ends_without_a_word(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ctrl-C ends any command quietly, with the exit code that shells expect."""

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("reducer._cli.read.line_decoder", lambda: interrupted)
        monkeypatch.setattr("reducer._cli.verify.line_decoder", lambda: interrupted)
        assert run("snapshot", FAN_OUT) == (INTERRUPTED, "", "")
        assert run("verify", FAN_OUT) == (INTERRUPTED, "", "")

    def test_output_may_be_redirected(self) -> None:
        """Whoever calls `main` may catch what it prints."""
        with redirect_stdout(io.StringIO()) as out:
            assert main(["verify", str(FAN_OUT)]) == 0
        assert out.getvalue() == f"{FAN_OUT}: ok, 124 events\n"

    @pytest.mark.parametrize(
        "args",
        [
            [],
            ["nothing"],
            ["snapshot"],
            ["snapshot", "a", "b"],
            ["snapshot", "--layout", "x", "a"],
            ["snapshot", "--at", "-1", "a"],
            ["snapshot", "--at", "x", "a"],
            ["snapshot", "--indent", "x", "a"],
            ["verify"],
            ["verify", "--poll", "x", "a"],
            ["verify", "--poll", "-1", "a"],
            ["verify", "--poll", "nan", "a"],
            ["verify", "--poll", "inf", "a"],
        ],
    )
    def test_arguments_that_make_no_sense(self, capsys: pytest.CaptureFixture[str], args: list[str]) -> None:
        """Arguments that make no sense print the usage and exit with 2."""
        with pytest.raises(SystemExit) as caught:
            main(args)
        assert caught.value.code == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("usage: agui-reduce")

    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        """--version names the versions that an answer may hang on."""
        with pytest.raises(SystemExit) as caught:
            main(["--version"])
        assert caught.value.code == 0
        assert "agui-reduce " in (out := capsys.readouterr().out)
        assert "(ag-ui-protocol " in out
        assert out.endswith(f"Python {sys.version.split()[0]})\n")

    def test_program_is_named_as_it_was_called(self) -> None:
        """The usage names the program as it was called."""
        command = started("--help", env={**os.environ, "NO_COLOR": "1"})
        assert command.communicate()[0].startswith(b"usage: python -m reducer [")

    @pytest.mark.parametrize("command", COMMANDS, ids=[command.name for command in COMMANDS])
    def test_help(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: Any) -> None:
        """Every command has a help with examples, and its parser takes them."""
        monkeypatch.setenv("NO_COLOR", "1")
        with pytest.raises(SystemExit) as caught:
            main([command.name, "--help"])
        assert caught.value.code == 0
        shown = capsys.readouterr().out.partition("\nexamples:\n")[2].splitlines()
        assert len(shown) == len(command.examples) > 0
        for line in shown:
            _, arguments = line.split("agui-reduce ")
            assert arguments.startswith(f"{command.name} ")
            with pytest.raises(SystemExit) as caught:
                main([*shlex.split(arguments.partition(" > ")[0]), "--version-of-nothing"])
            assert "unrecognized arguments: --version-of-nothing\n" in capsys.readouterr().err
