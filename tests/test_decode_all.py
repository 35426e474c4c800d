"""decode_all: a log read fast says what `decode` says, line by line, with msgspec and without it."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reducer import EMPTY, compact, decode_all, fold, fold_all, fold_strict
from reducer import _decode_all as module
from reducer._decode_all import line_decoder
from reducer._frozen import freeze, same
from reducer._schema import EVENTS, RETIRED_EVENTS
from reducer._shapes import Const, Content, Flag, Integer, Text, Words
from reducer._wire import EVENT_CLASSES, Event, decode
from reducer.errors import MalformedEvent, ProtocolViolation
from reducer.strategies import streams
from tests.test_fuzz import mutated
from tests.wire_samples import EVERY_EVENT, events

GOLDEN = sorted((Path(__file__).parent / "golden").rglob("*.jsonl"))
TEXT = b'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}'
STAMPED = '{"type":"TEXT_MESSAGE_END","messageId":"m","timestamp":%s}'
SAID = '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"%s"}'
DEEP = b"[" * 100_000
Line = Any

TRAPS: dict[str, Line] = {
    # Which of two keys counts, and what the one that does not count may be.
    "the same type twice": b'{"type":"TEXT_MESSAGE_END","type":"TEXT_MESSAGE_END","messageId":"m"}',
    "two types": b'{"type":"TEXT_MESSAGE_END","type":"REASONING_MESSAGE_END","messageId":"m"}',
    "two types, one unknown": b'{"type":"LATER","type":"TEXT_MESSAGE_END","messageId":"m"}',
    "two types, none first": b'{"messageId":"m","type":"TEXT_MESSAGE_END","type":"REASONING_END"}',
    "a key twice": b'{"type":"TEXT_MESSAGE_END","messageId":"m","messageId":"n"}',
    "a key twice, the first wrong": b'{"type":"TEXT_MESSAGE_END","messageId":1,"messageId":"n"}',
    "a key twice, the last null": b'{"type":"TEXT_MESSAGE_END","messageId":"m","messageId":null}',
    "type missing": b'{"messageId":"m"}',
    "type null": b'{"type":null,"messageId":"m"}',
    "type a number": b'{"type":1}',
    "type last": b'{"messageId":"m","delta":"x","type":"TEXT_MESSAGE_CONTENT"}',
    "type unknown": b'{"type":"LATER","messageId":"m"}',
    "type retired": b'{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"x"}',
    "type escaped": b'{"ty\\u0070e":"TEXT_MESSAGE_EN\\u0044","messag\\u0065Id":"m"}',
    "an attribute's name": b'{"type":"TEXT_MESSAGE_END","message_id":"m"}',
    "an unknown key": b'{"type":"TEXT_MESSAGE_END","messageId":"m","notes":"n"}',
    # Numbers.
    **{
        f"timestamp {number[:20]}": STAMPED % number
        for number in (
            *("1", "1.0", "1e0", "1.5", "-0", "-0.0", "01", "1.", ".5", "+1", "-", "1e", "1_0", "true", "null", '"1"'),
            *("9007199254740991", "9007199254740992", "-9007199254740992", "9007199254740991.4", "9007199254740992.0"),
            *("18446744073709551616", "9" * 400, "9" * 5000, "1e400", "1E-400", "NaN", "Infinity", "-Infinity", "[1]"),
        )
    },
    # Strings.
    **{
        f"delta {text[:20]!r}": SAID % text
        for text in (
            *("\\ud800", "\\udc00", "\\ud800\\u0041", "\\ud83d\\ude00", "\\ud83d\\ud83d\\ude00", "\\ud83dx"),
            *(
                "\ud800",
                "\u2028",
                "\x7f",
                "\x85",
                "\ufeff",
                "a\nb",
                "a\tb",
                "a\x00b",
                "\\x",
                "\\u00G0",
                "\\u+123",
                "\\",
            ),
            *("\\u0000", "\\/\\b\\f", "😀", ""),
        )
    },
    "surrogates as bytes": TEXT.replace(b"x", b"\xed\xa0\xbd\xed\xb8\x80"),
    "Latin-1": TEXT.replace(b"x", b"\xff"),
    "an overlong NUL": TEXT.replace(b"x", b"\xc0\x80"),
    "beyond Unicode": TEXT.replace(b"x", b"\xf4\x90\x80\x80"),
    "an unknown role": b'{"type":"TEXT_MESSAGE_START","messageId":"m","role":"later"}',
    "a wrong constant": b'{"type":"REASONING_MESSAGE_START","messageId":"m","role":"assistant"}',
    "a null role": b'{"type":"TEXT_MESSAGE_START","messageId":"m","role":null}',
    "a null owner": b'{"type":"TEXT_MESSAGE_END","messageId":"m","subagentRunId":null}',
    "metadata": b'{"type":"TEXT_MESSAGE_END","messageId":"m","metadata":{"k":[1,null]}}',
    "content in parts": b'{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[]}',
    # What stands around the object.
    "a byte order mark": b"\xef\xbb\xbf" + TEXT,
    "a byte order mark in text": "\ufeff" + TEXT.decode(),
    "UTF-16": TEXT.decode().encode("utf-16"),
    "UTF-16 without a mark": TEXT.decode().encode("utf-16-le"),
    "UTF-32": TEXT.decode().encode("utf-32-be"),
    "space": b" \t\r" + TEXT + b" \r\n",
    "a form feed": b"\x0c" + TEXT,
    "a form feed behind": TEXT + b"\x0c",
    "a no-break space": b"\xc2\xa0" + TEXT,
    "more behind": TEXT + b"{}",
    "a NUL behind": TEXT + b"\x00",
    "a trailing comma": TEXT[:-1] + b",}",
    "cut off": TEXT[:-1],
    "a comment": TEXT[:-1] + b"/**/}",
    "single quotes": b"{'type':'LATER'}",
    "an array": b"[" + TEXT + b"]",
    "a string": b'"TEXT_MESSAGE_END"',
    "a number": b"1",
    "null": b"null",
    "an empty object": b"{}",
    "deep in an unknown key": b'{"z":'
    + b"[" * 100_000
    + b"]" * 100_000
    + b',"type":"TEXT_MESSAGE_END","messageId":"m"}',
    "deep and cut off": TEXT[:-1] + b',"z":' + DEEP,
    "a string of a class of its own": type("Own", (str,), {})(TEXT.decode()),
    "bytes that can be changed": bytearray(TEXT),
    "a mapping": {"type": "TEXT_MESSAGE_END", "messageId": "m", "timestamp": 1},
    "nothing": None,
}


@pytest.fixture(params=["msgspec", "without"])
def _reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Read with msgspec, and as if it were not installed."""
    if request.param == "without":
        monkeypatch.setitem(sys.modules, "msgspec", None)
    else:
        pytest.importorskip("msgspec", reason="needs the extra `fast`")
    line_decoder.cache_clear()
    yield
    line_decoder.cache_clear()


both_readers = pytest.mark.usefixtures("_reader")
with_msgspec = pytest.mark.usefixtures("_msgspec")


@pytest.fixture
def _msgspec() -> None:
    pytest.importorskip("msgspec", reason="needs the extra `fast`")


def verdict(read: Callable[[Any], Event], line: Line) -> tuple[Any, ...]:
    """Return what is made of a line: the event and its notes, or the facts of the error."""
    try:
        event = read(line)
    except MalformedEvent as error:
        return "malformed", error.path, error.value, error.rule
    return "event", event, event.notes, dict(event.to_dict())


def only(line: Line) -> Event:
    """Return the one event of a log of one line."""
    (event,) = decode_all([line])
    return event


def agrees(line: Line) -> None:
    """Hold what a log of one line gives against `decode`."""
    if isinstance(line, (str, bytes)) and not line.strip():
        assert list(decode_all([line])) == []
        return
    told, read = verdict(decode, line), verdict(only, line)
    assert read[0] == told[0]
    if told[0] == "event":
        assert (read[1], read[1].type, read[2]) == (told[1], told[1].type, told[2])
        assert same(freeze(read[3]), freeze(told[3]))
        attributes = EVENT_CLASSES[told[1].type].wire_names if told[1].type in EVENT_CLASSES else ()
        for name in attributes:
            assert same(freeze(getattr(read[1], name, None)), freeze(getattr(told[1], name, None)))
    else:
        assert MalformedEvent(*read[1:]) == MalformedEvent(*told[1:])


TOKENS = [
    *(',"type":"TEXT_MESSAGE_END"', '"type":"LATER",', ',"messageId":"n"', ',"delta":null', ',"timestamp":1.0', '"'),
    *("\\ud800", "\\u0041", "\ud800", "\ufeff", "\\", "{", "}", "[", "]", ",", ":", "null", "true", "-", "0", "1e9"),
    *("\x00", "\x0c", " ", "\n", "9" * 20, "NaN"),
]


@st.composite
def written(draw: st.DrawFn) -> Line:
    """Give lines: events, made up, real and broken ones, in any spelling, some with their text or bytes damaged."""
    sampled = st.sampled_from(EVERY_EVENT).map(lambda pair: pair[1])
    event = draw(sampled | mutated().map(lambda stream: stream[-1]))
    text = json.dumps(
        event if isinstance(event, dict) else None,
        default=repr,
        skipkeys=True,
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from(((",", ":"), (", ", ": ")))),
    )
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 8)))
        middle = draw(st.sampled_from(("", text[start:end] * 2, *TOKENS)))
        text = text[:start] + middle + text[end:]
    encoding = draw(st.sampled_from((None, "utf-8", "utf-8", "utf-8-sig", "utf-16")))
    return text if encoding is None else text.encode(encoding, "surrogatepass")


@pytest.mark.usefixtures("_msgspec")
class TestLaw:
    """Which reader is there shows in nothing but the time."""

    @given(st.lists(written(), max_size=4))
    @example([TEXT, b"", b" \n", TEXT])
    def test_reading_a_log_is_decoding_each_line(self, lines: list[Line]) -> None:
        """For lines of any kind, `decode_all` gives the events, notes and errors that `decode` gives for each."""
        for line in lines:
            agrees(line)
        good = [line for line in lines if line.strip() and verdict(decode, line)[0] == "event"]
        assert list(decode_all(good)) == [decode(line) for line in good]

    @given(streams())
    def test_what_is_read_folds_as_what_is_decoded(self, stream: list[dict[str, Any]]) -> None:
        """States, violations and compacted logs are the same for the events of `decode_all` and of `decode`."""
        lines = [json.dumps(event) for event in stream]
        read, decoded = list(decode_all(lines)), [decode(line) for line in lines]
        state = reduce(fold, decoded, EMPTY)
        assert reduce(fold, read, EMPTY) == state
        assert fold_all(EMPTY, read) == state
        assert strictly(read) == strictly(decoded)
        assert compact(read) == compact(decoded)


def strictly(events: list[Event]) -> Any:
    """Return the state after a strict fold, or the violation."""
    try:
        return reduce(fold_strict, events, EMPTY)
    except ProtocolViolation as violation:
        return violation


@both_readers
class TestDecodeAll:
    """What comes out of a log."""

    @pytest.mark.parametrize("line", TRAPS.values(), ids=TRAPS)
    def test_a_trap_is_read_as_decode_reads_it(self, line: Line) -> None:
        """Where JSON readers differ, or values almost fit, the verdict is that of `decode`."""
        agrees(line)

    @pytest.mark.parametrize("kind", EVENTS)
    def test_every_event_is_read_as_decode_reads_it(self, kind: str) -> None:
        """Every variety of every type comes out the same, as text and as bytes."""
        for event in events(kind):
            agrees(json.dumps(event))
            agrees(json.dumps(event).encode())

    @pytest.mark.parametrize("log", GOLDEN, ids=lambda log: f"{log.parent.name}-{log.stem}")
    def test_a_real_log_is_read_whole(self, log: Path) -> None:
        """The logs of real producers give the events of their lines, from an open file too."""
        lines = log.read_bytes().splitlines()
        decoded = [decode(line) for line in lines]
        assert list(decode_all(lines)) == decoded
        with log.open("rb") as file:
            assert list(decode_all(file)) == decoded

    def test_blank_lines_are_left_out(self) -> None:
        """Lines with nothing in them, or nothing but space, give no event."""
        assert len(list(decode_all([b"", TEXT, "", " \t\r\n", b"\n", TEXT.decode()]))) == 2

    def test_the_error_names_the_line(self) -> None:
        """A line that is wrong raises what `decode` raises, with its number, counted from 1, blank ones too."""
        read = decode_all([TEXT, b"\n", STAMPED % "true", TEXT])
        assert next(read) == decode(TEXT)
        with pytest.raises(MalformedEvent, match=r"^line 3: timestamp: must be an integer") as caught:
            next(read)
        assert (caught.value.path, caught.value.value, caught.value.line) == (("timestamp",), True, 3)
        assert pickle.loads(pickle.dumps(caught.value)) == caught.value  # noqa: S301

    def test_a_log_is_read_as_it_is_asked_for(self) -> None:
        """One line is taken for one event, so a log that grows can be followed and memory holds one line."""
        taken: list[int] = []

        def lines() -> Iterator[bytes]:
            for number in range(3):
                taken.append(number)
                yield TEXT

        read = decode_all(lines())
        assert taken == []
        next(read)
        assert taken == [0]


FLAT = (Text, Content, Words, Const, Integer, Flag)


def flat(kind: str) -> list[dict[str, Any]]:
    """Return events of a type without the fields that hold containers; none, where it needs one of them."""
    fields = EVENTS[kind].fields
    flat_fields = {name for name, field in fields.items() if isinstance(field.shape, FLAT)}
    if not all(name in flat_fields for name, field in fields.items() if field.required):
        return []
    kept = [{name: value for name, value in event.items() if name in flat_fields} for event in events(kind)]
    return [event for event in kept if not any(isinstance(value, (list, dict)) for value in event.values())]


FLAT_EVENTS = [event for kind in EVENTS if kind not in RETIRED_EVENTS for event in flat(kind)]


@with_msgspec
class TestFast:
    """What msgspec reads by itself, and what it makes."""

    def test_ordinary_events_need_no_second_look(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An event of described strings, numbers and flags never reaches `decode`, which is what makes reading fast."""
        expected = [decode(event) for event in FLAT_EVENTS]

        def refuse(line: Line) -> Event:
            raise AssertionError(line)

        monkeypatch.setattr(module, "decode", refuse)
        assert list(decode_all(map(json.dumps, FLAT_EVENTS))) == expected
        kinds = {event["type"] for event in FLAT_EVENTS}
        assert {"TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "TOOL_CALL_RESULT", "RUN_STARTED", "RUN_ERROR"} <= kinds

    @pytest.mark.parametrize("kind", sorted({event["type"] for event in FLAT_EVENTS}))
    def test_what_is_read_is_an_event(self, kind: str) -> None:
        """An event that was read has all attributes of its type, prints alike, cannot be changed and has no hash."""
        for event in flat(kind):
            read, decoded = only(json.dumps(event)), decode(event)
            assert isinstance(read, Event)
            assert type(read) is not type(decoded)
            names = decoded.wire_names
            assert [getattr(read, name) for name in names] == [getattr(decoded, name) for name in names]
            assert sorted(repr(read).strip("<>").split()) == sorted(repr(decoded).strip("<>").split())
            for name in ("type", "notes", *names, "other"):
                with pytest.raises(AttributeError, match="immutable"):
                    setattr(read, name, 1)
                with pytest.raises(AttributeError, match="immutable"):
                    delattr(read, name)
            with pytest.raises(TypeError):
                hash(read)

    def test_events_are_equal_wherever_they_come_from(self) -> None:
        """An event that was read equals the decoded one in both directions, and no other."""
        read, decoded = only(TEXT), decode(TEXT)
        assert read == decoded
        assert decoded == read
        other = decode(TEXT.replace(b"x", b"y"))
        assert read != other
        assert other != read
        assert read != json.loads(TEXT)

    def test_copies_and_pickles_are_equal(self) -> None:
        """A copy, a deep copy and a pickled event equal the event; the pickle holds the class that `decode` gives."""
        read = only(TEXT)
        for twin in (copy.copy(read), copy.deepcopy(read), pickle.loads(pickle.dumps(read))):  # noqa: S301
            assert twin == read
        assert type(pickle.loads(pickle.dumps(read))) is EVENT_CLASSES["TEXT_MESSAGE_CONTENT"]  # noqa: S301
