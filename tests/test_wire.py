"""The wire edge: what `decode` and `admit` take, strip, translate and refuse (spec: basic/processing)."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from random import Random
from types import MappingProxyType
from typing import Any, get_args

import pytest
from ag_ui.core import Event as AnySdkEvent
from ag_ui.core import EventType
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from reducer._check import compiled
from reducer._event import make
from reducer._findings import Findings
from reducer._frozen import freeze, same
from reducer._rules import RULES
from reducer._schema import EVENTS, RETIRED_EVENTS
from reducer._shapes import SAFE_INTEGER, Anything, Content, Integer, ListOf, Record, Text, Union, Words, may, need
from reducer._wire import EVENT_CLASSES, DroppedEvent, Event, Note, UnknownEvent, admit, decode
from reducer.errors import MalformedEvent
from tests.reference_client import ReferenceClient
from tests.wire_samples import EVERY_EVENT, PathTo, cut, events, places, places_of, put, records_of, wrong

SDK = TypeAdapter[Any](AnySdkEvent)
each_type = pytest.mark.parametrize("kind", EVENTS)
TEXT = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}


def codes(event: Event) -> set[str]:
    """Return the codes of an event's notes."""
    return {note.code for note in event.notes}


def noted(kind: str) -> set[str]:
    """What decoding notes about a flawless event of a type."""
    return {"retired-shape"} if kind in RETIRED_EVENTS else set()


def refusal(data: Any) -> MalformedEvent:
    """Return the error that decoding raises."""
    with pytest.raises(MalformedEvent) as caught:
        decode(data)
    return caught.value


def attempt(data: Any) -> Event | MalformedEvent:
    """Return the event, or the error."""
    try:
        return decode(data)
    except MalformedEvent as error:
        return error


def snapshot(*messages: dict[str, Any]) -> dict[str, Any]:
    """Return a messages snapshot in wire form."""
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def user(*content: Any) -> dict[str, Any]:
    """Return a user message of content parts."""
    return {"id": "m", "role": "user", "content": list(content)}


class TestTable:
    """The table of the protocol against the SDK that is installed: after an upgrade, a to-do list."""

    def test_every_event_type_of_the_sdk_is_in_the_table(self) -> None:
        """The table knows every type of the SDK, and beyond these the retired ones only."""
        sdk = {member.value for member in EventType}
        assert sorted(sdk - set(EVENTS)) == []
        later = {"SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR"}
        assert sorted(set(EVENTS) - sdk - RETIRED_EVENTS - later) == []

    @pytest.mark.parametrize("model", get_args(get_args(AnySdkEvent)[0]), ids=lambda model: model.__name__)
    def test_every_field_of_the_sdk_is_in_the_table(self, model: type[BaseModel]) -> None:
        """Whatever the SDK's model of an event type can hold, at any depth, the table describes."""
        kind = get_args(model.model_fields["type"].annotation)[0].value
        assert sorted(unknown_aliases(model, EVENTS[kind], kind)) == []

    @each_type
    def test_attributes_are_spelled_as_in_the_sdk(self, kind: str) -> None:
        """A class of the table has the attributes of the SDK's, each None until an event has a value for it."""
        sdk = {m.model_fields["type"].default: m for m in get_args(get_args(AnySdkEvent)[0])}
        if kind in sdk:
            assert set(sdk[EventType(kind)].model_fields) <= set(EVENT_CLASSES[kind].wire_names)
        names = set(EVENT_CLASSES[kind].wire_names) - {"type"}
        assert {getattr(EVENT_CLASSES[kind], name) for name in names} == {None}

    def test_codes_are_rules(self) -> None:
        """Each null in the table is noted under a code of the table of rules."""
        nulls = {place.field.null for kind in EVENTS for _, place in places_of(kind)}
        assert nulls == {"null-as-absent", "null-attribution", "null-refused"}
        assert nulls <= set(RULES)


def unknown_aliases(model: type[BaseModel], record: Record, where: str) -> Iterator[str]:
    """Yield the wire names that a model has and the record lacks, nested ones included."""
    for name, field in model.model_fields.items():
        alias = field.alias or name
        if alias not in record.fields:
            yield f"{where}.{alias}"
            continue
        for inner in models(field.annotation):
            for nested in described(record.fields[alias].shape, inner):
                yield from unknown_aliases(inner, nested, f"{where}.{alias}")


def models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that an annotation names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from models(inner)


def described(shape: Any, model: type[BaseModel]) -> Iterator[Record]:
    """Yield the record that describes a model, found by the word of its tag."""
    match shape:
        case Record():
            yield shape
        case ListOf(item):
            yield from described(item, model)
        case Content(part):
            yield from described(part, model)
        case Union(tag, members):
            word = get_args(model.model_fields[tag].annotation)[0]
            if word != "binary":
                yield members[word]


class TestDecode:
    """What comes out of a well-formed event."""

    @each_type
    def test_a_described_event_is_kept_whole(self, kind: str) -> None:
        """Every described field comes out as it went in, and nothing is noted."""
        for event in events(kind):
            decoded = decode(event)
            assert same(freeze(decoded.to_dict()), freeze(event))
            assert decoded.type == event["type"]
            assert codes(decoded) == noted(decoded.type)
            assert type(decoded) is EVENT_CLASSES[decoded.type]

    @each_type
    def test_text_bytes_and_mapping_are_one(self, kind: str) -> None:
        """JSON text, its bytes, a dict and any other mapping give equal events with equal notes."""
        for event in events(kind):
            text = json.dumps(event)
            every = [decode(source) for source in (event, text, text.encode(), MappingProxyType(event))]
            assert every == [every[0]] * 4
            assert [one.notes for one in every] == [every[0].notes] * 4

    @each_type
    def test_nothing_is_shared_with_the_input(self, kind: str) -> None:
        """Changing what went in, or what `to_dict` gave, changes no event."""
        for event in events(kind):
            for wrap in (dict, MappingProxyType):
                for take in (decode, admit):
                    source = copy.deepcopy(event)
                    taken = take(wrap(source))
                    spoil(source)
                    spoil(taken.to_dict())
                    assert taken == decode(event)

    @each_type
    def test_the_input_is_not_changed(self, kind: str) -> None:
        """Decoding writes nothing into its argument."""
        for event in events(kind):
            source = copy.deepcopy(event)
            decode(source)
            assert source == event

    def test_an_absent_field_reads_none(self) -> None:
        """An optional field that is left out is None, and no part of the wire form."""
        event = decode(TEXT)
        assert (event.metadata, event.subagent_run_id, event.raw_event, event.timestamp) == (None,) * 4
        assert event.to_dict() == TEXT

    @pytest.mark.parametrize(("kind", "field"), [("STATE_SNAPSHOT", "snapshot"), ("CUSTOM", "value"), ("RAW", "event")])
    def test_null_is_a_payload(self, kind: str, field: str) -> None:
        """Where any JSON value is required, null is one: kept and not noted."""
        event = decode({"type": kind, "name": "n", field: None} if kind == "CUSTOM" else {"type": kind, field: None})
        assert getattr(event, field) is None
        assert event.notes == ()
        assert event.to_dict()[field] is None

    @pytest.mark.parametrize("payload", [None, False, 0, "", [], {}, [None], 1e308, "\ud83d", 10**30])
    def test_any_json_is_a_state(self, payload: Any) -> None:
        """Every JSON value, null, empty ones and half a surrogate pair included, is a state."""
        assert decode({"type": "STATE_SNAPSHOT", "snapshot": payload}).snapshot == payload
        text = json.dumps({"type": "STATE_SNAPSHOT", "snapshot": payload}, ensure_ascii=False)
        assert decode(text).snapshot == payload
        assert decode(text.encode("utf-8", "surrogatepass")).snapshot == payload

    def test_string_enums_are_strings(self) -> None:
        """Members of string enums, as a dump in Python mode holds, read as their values, even as keys."""

        class Word(str, Enum):
            TYPE = "type"
            KIND = "TEXT_MESSAGE_START"
            ID = "id"
            ROLE = "user"

        event = decode({Word.TYPE: Word.KIND, "messageId": Word.ID, "role": Word.ROLE})
        assert event == decode({"type": "TEXT_MESSAGE_START", "messageId": "id", "role": "user"})
        unknown = decode({"type": Word.ROLE})
        assert unknown == decode({"type": "user"})
        (message,) = decode(snapshot({Word.ID: "m", "role": Word.ROLE, "content": Word.ID})).messages
        assert message == {"id": "m", "role": "user", "content": "id"}
        strings = [event.type, event.message_id, event.role, unknown.type, *message, *message.values()]
        assert {type(string) for string in strings} == {str}

    def test_integral_floats_are_integers(self) -> None:
        """JSON has one kind of number, so 7.0 is the integer 7."""
        event = decode({**TEXT, "timestamp": 7.0})
        assert (event.timestamp, type(event.timestamp)) == (7, int)

    def test_the_last_of_two_equal_keys_wins(self) -> None:
        """Text with one key twice is read as JSON readers do."""
        assert decode('{"type": "STEP_STARTED", "stepName": "a", "stepName": "b"}').step_name == "b"


def spoil(value: Any) -> None:
    """Empty every container in a value."""
    for inner in list(value.values() if isinstance(value, dict) else value):
        if isinstance(inner, (dict, list)):
            spoil(inner)
    value.clear()


class TestEventObject:
    """What an event is as an object."""

    @each_type
    def test_events_are_immutable(self, kind: str) -> None:
        """No attribute can be set or deleted."""
        event = decode(events(kind)[1])
        for name in ("type", "notes", *EVENT_CLASSES[kind].wire_names, "other"):
            with pytest.raises(AttributeError, match="immutable"):
                setattr(event, name, 1)
            with pytest.raises(AttributeError, match="immutable"):
                delattr(event, name)

    @each_type
    def test_events_equal_by_type_and_fields(self, kind: str) -> None:
        """Two events are equal where type and fields are; notes are no part of the event."""
        one, other = (decode(event) for event in events(kind)[:2])
        assert one == decode({**events(kind)[0], "later": 1})
        assert one != other
        assert one != events(kind)[0]

    def test_equality_tells_true_from_one(self) -> None:
        """Fields are compared as JSON: 1 is 1.0 and not true."""
        one, real, true = (decode({"type": "STATE_SNAPSHOT", "snapshot": [x]}) for x in (1, 1.0, True))
        assert one == real
        assert one != true

    def test_an_unknown_event_is_no_dropped_one(self) -> None:
        """Events of two classes differ, whatever they hold."""
        assert decode({"type": "A"}) == decode({"type": "A", "x": 1})
        assert decode({"type": "A"}) != decode({"type": "B"})

    @each_type
    def test_events_survive_copy_and_pickle(self, kind: str) -> None:
        """A copy, a deep copy and a pickled event equal the event, notes included."""
        for event in events(kind):
            decoded = decode({**event, "later": 1})
            for twin in (copy.copy(decoded), copy.deepcopy(decoded), pickle.loads(pickle.dumps(decoded))):  # noqa: S301
                assert twin == decoded
                assert twin.notes == decoded.notes

    def test_a_made_event_knows_its_type(self) -> None:
        """An event that the fold makes out of fields has the type of its class, in the wire form as well."""
        event = make(EVENT_CLASSES["TEXT_MESSAGE_END"], {"message_id": "m"})
        assert event == decode({"type": "TEXT_MESSAGE_END", "messageId": "m"})
        assert event.to_dict() == {"type": "TEXT_MESSAGE_END", "messageId": "m"}

    def test_repr_shows_the_type_and_what_is_there(self) -> None:
        """The printed form names the type and the present fields, and stays short."""
        assert repr(decode(TEXT)) == "<TEXT_MESSAGE_CONTENT message_id='m' delta='x'>"
        assert repr(decode({"type": "LATER"})).startswith("<LATER notes=(Note(")
        assert len(repr(decode({**TEXT, "delta": "x" * 10_000}))) < 200

    def test_events_are_not_hashable(self) -> None:
        """Fields may hold lists, so an event has no hash."""
        with pytest.raises(TypeError):
            hash(decode(TEXT))


class TestMalformed:
    """A described value that is wrong is refused, never repaired."""

    @each_type
    def test_a_wrong_value_is_refused_where_it_stands(self, kind: str) -> None:
        """Every described place refuses every value of another kind, and the error leads to it."""
        for event, place in places_of(kind):
            # An object with a wrong tag is a member that nobody described: see TestUnknown.
            for value in () if place.tag else wrong(place.field.shape):
                # With all fields beside it, and with the required ones only, which takes the short way.
                lean = {**events(kind)[0], str(place.path[0]): event[str(place.path[0])]}
                mutant = put(event, place.path, value)
                for data in (mutant, json.dumps(mutant), put(lean, place.path, value)):
                    error = refusal(data)
                    assert (error.path, error.rule[:5]) == (place.path, "must ")
                    assert same(freeze(error.value), freeze(value))

    @each_type
    def test_a_required_field_is_missed(self, kind: str) -> None:
        """A required field that is absent is refused under its own path; so is null, where it is no payload."""
        for event, place in places_of(kind):
            if place.field.required and not place.tag:
                error = refusal(cut(event, place.path))
                assert (error.path, error.rule) == (place.path, "is required and missing")
                if not isinstance(place.field.shape, Anything):
                    error = refusal(put(event, place.path, None))
                    assert (error.path, error.value) == (place.path, None)

    @pytest.mark.parametrize("value", [None, 1, [], "", b" ", "null", "[]", '"TEXT"', "3"])
    def test_an_event_is_a_json_object(self, value: Any) -> None:
        """What is no mapping and no JSON object is refused as a whole."""
        with pytest.raises(MalformedEvent) as caught:
            decode(value)
        assert caught.value.path == ()

    def test_the_first_of_several_faults_is_told(self) -> None:
        """Of what is wrong in an event, the first in its own order is the one that the error names."""
        assert refusal({"type": "RUN_STARTED", "runId": 1, "threadId": 2}).path == ("runId",)
        assert refusal({"type": "RUN_STARTED", "threadId": 2}).path == ("threadId",)

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            (("timestamp",), 2**53),
            (("timestamp",), -(2**53)),
            (("timestamp",), 0.5),
            (("usage", 0, "inputTokens"), -1),
            (("usage", 0, "inputTokens"), 2**53),
            (("outcome", "interrupts"), []),
            (("outcome",), [{"type": "success"}]),
            (("outcome", "interrupts", 0, "responseSchema"), True),
        ],
    )
    def test_limits(self, path: PathTo, value: Any) -> None:
        """Numbers are integers that every peer can hold, counts are not negative, an interrupt is about something."""
        event = {
            "type": "RUN_FINISHED",
            "threadId": "t",
            "runId": "r",
            "timestamp": 1 - 2**53,
            "usage": [{"inputTokens": 2**53 - 1, "outputTokens": 0}],
            "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "r", "responseSchema": {}}]},
        }
        assert decode(event).notes == ()
        assert refusal(put(event, path, value)).path == path

    @pytest.mark.parametrize("kind", [None, 1, True, ["RAW"], {}, ...])
    def test_an_event_names_its_type(self, kind: Any) -> None:
        """A type that is missing or no string is refused."""
        with pytest.raises(MalformedEvent) as caught:
            decode({"event": 1} if kind is ... else {"type": kind, "event": 1})
        assert caught.value.path == ("type",)

    @pytest.mark.parametrize(
        ("text", "rule"),
        [
            ('{"type": "RAW",\n "event": }', "line 2, column 11"),
            ('{"type": "RAW", "event": 1} x', "line 1, column 29"),
            ("", "line 1, column 1"),
            ('{"type": "RAW", "event": NaN}', "NaN"),
            ('{"type": "RAW", "event": [-Infinity]}', "-Infinity"),
            ('{"type": "RAW", "event": 1e999}', "1e999"),
            ('{"type": "RAW", "event": ' + "1" * 5000 + "}", "JSON"),
            (b'{"type": "RAW", "event": "\xff"}', "JSON"),
            (b"\xff\xfe", "line 1, column 1"),
        ],
    )
    def test_text_that_is_no_json_is_refused(self, text: str | bytes, rule: str) -> None:
        """The error of text that does not parse says where, and what JSON lacks: NaN, infinities, endless numbers."""
        error = refusal(text)
        assert rule in error.rule
        assert (error.path, error.value) == ((), text)

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), {1}, object(), {1: 2}, b"\xff", {"a": [{"b": {3}}]}])
    def test_a_payload_is_json(self, value: Any) -> None:
        """A mapping whose payload is no JSON is refused, and the error leads into the payload."""
        error = refusal({"type": "RAW", "event": {"k": [value]}})
        assert error.rule.startswith("must be JSON")
        assert error.path[:3] == ("event", "k", 0)

    def test_a_payload_that_holds_itself_is_refused(self) -> None:
        """A cycle is no JSON."""
        loop: list[Any] = []
        loop.append({"loop": loop})
        with pytest.raises(MalformedEvent, match="contains itself"):
            decode({"type": "RAW", "event": loop})

    def test_keys_are_strings(self) -> None:
        """An object with a key that is no string is no JSON, described or not."""
        with pytest.raises(MalformedEvent, match="strings for keys"):
            decode({**TEXT, 1: 2})  # type: ignore[dict-item]

    @pytest.mark.parametrize("depth", [100, 10_000])
    def test_depth_is_no_obstacle(self, depth: int) -> None:
        """A payload of any depth decodes from a mapping; from text it decodes, or is refused as malformed."""
        deep: list[Any] = []
        for _ in range(depth):
            deep = [deep]
        event = decode({"type": "RAW", "event": deep})
        assert event == decode(event.to_dict())
        outcome = attempt('{"type": "RAW", "event": ' + "[" * (depth + 1) + "]" * (depth + 1) + "}")
        assert outcome == event or (isinstance(outcome, MalformedEvent) and "nested" in outcome.rule)


class TestUnknown:
    """What nobody described is stripped, never an error (spec: basic/processing)."""

    @pytest.mark.parametrize("kind", ["LATER_EVENT", "", "text_message_start", "é"])
    def test_an_unknown_type_is_an_unknown_event(self, kind: str) -> None:
        """An event of an unknown type keeps its type, loses its payload, and says so."""
        for event in (decode({"type": kind, "messageId": 1}), decode(json.dumps({"type": kind, "x": {}}))):
            assert type(event) is UnknownEvent
            assert (event.type, event.to_dict()) == (kind, {"type": kind})
            assert [(note.code, note.path) for note in event.notes] == [("unknown-event", ("type",))]

    @each_type
    def test_an_unknown_property_is_stripped_at_any_depth(self, kind: str) -> None:
        """An undescribed property of a closed object goes, noted with its path; an open object keeps it."""
        for event, path, record in records_of(kind):
            for name in ("later", "toString", "message_id", "__class__"):
                mutant = put(event, (*path, name), {"type": 1})
                decoded = decode(mutant)
                assert same(freeze(decoded.to_dict()), freeze(mutant if record.open else event))
                properties = [note.path for note in decoded.notes if note.code == "unknown-property"]
                assert properties == ([] if record.open else [(*path, name)])

    @each_type
    def test_an_unknown_word_goes_as_far_as_it_must(self, kind: str) -> None:
        """An unknown word takes the optional field or the list element nearest to it; the event, if there is none."""
        for event, place in places_of(kind):
            if not (place.tag or isinstance(place.field.shape, Words)):
                continue
            lost = removable(kind, event, place.path)
            decoded = decode(put(event, place.path, "later"))
            assert [(note.code, note.path) for note in decoded.notes] == [("unknown-member", lost)]
            if lost:
                assert same(freeze(decoded.to_dict()), freeze(cut(event, lost)))
            else:
                assert type(decoded) is DroppedEvent
                assert decoded.to_dict() == {"type": kind}

    @pytest.mark.parametrize("tag", [..., None, 42, ["text"], {}])
    def test_an_object_without_its_tag_is_unknown(self, tag: Any) -> None:
        """A member whose tag is missing or no string is one that nobody described, as for the reference client."""
        part = {"text": "x"} if tag is ... else {"type": tag, "text": "x"}
        decoded = decode(snapshot(user(part, {"type": "text", "text": "y"})))
        assert decoded.messages == [user({"type": "text", "text": "y"})]

    @pytest.mark.parametrize("order", [1, -1])
    def test_what_is_dropped_takes_its_faults_along(self, order: int) -> None:
        """A malformed value inside of what is dropped is no error, wherever it stands."""
        part = {"type": "image", "id": 42, "later": 1, "source": {"type": "later", "value": 3}}
        decoded = decode(snapshot(user(dict(list(part.items())[::order]))))
        assert decoded.messages == [user()]
        assert [(note.code, note.path) for note in decoded.notes] == [
            ("unknown-member", ("messages", 0, "content", 0)),
        ]

    def test_an_optional_object_takes_its_faults_along(self) -> None:
        """So does an optional object that an unknown word inside of it takes away; the table has no such place yet."""
        inner = Record({"text": need(Text()), "word": need(Words(frozenset({"known"})))})
        found = Findings()
        assert compiled(Record({"inner": may(inner)}))({"inner": {"text": 42, "word": "later"}}, (), found) == {}
        assert (found.faults, [note.path for note in found.notes()]) == ([], [("inner",)])

    def test_a_subtype_from_later_drops_the_event(self) -> None:
        """An encrypted value for an unknown kind of entity cannot be stored, so its event goes."""
        event = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "later", "entityId": "e", "encryptedValue": "v"}
        assert isinstance(decode(event), UnknownEvent)

    def test_the_note_shows_what_went(self) -> None:
        """The note of an unknown member shows it, shortened."""
        (note,) = decode({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "narrator" * 999}).notes
        assert "narrator" in note.detail
        assert len(note.detail) < 200

    def test_open_objects_keep_everything(self) -> None:
        """Members that a patch operation does not define, nulls and lookalikes of protocol fields are data."""
        operation = {"op": "remove", "path": "/a", "value": None, "subagentRunId": None, "role": "later"}
        decoded = decode({"type": "STATE_DELTA", "delta": [operation], "metadata": {"timestamp": None}})
        assert (decoded.delta, decoded.metadata, decoded.notes) == ([operation], {"timestamp": None}, ())


def removable(kind: str, event: dict[str, Any], path: PathTo) -> PathTo:
    """Return what goes with an unknown word: the list element or optional field nearest to it, or the whole event."""
    optional = {place.path for place in places(EVENTS[kind], event) if not place.field.required}
    while path and path not in optional and not isinstance(path[-1], int):
        path = path[:-1]
    return path


class TestNotes:
    """How much an event may say about itself."""

    def test_notes_are_bounded(self) -> None:
        """However much is stripped, the first sixteen are noted, and how many more there were."""
        decoded = decode({**TEXT, **{f"later{number}": 1 for number in range(100_000)}})
        assert [note.path for note in decoded.notes] == [(f"later{number}",) for number in range(16)]
        assert decoded.notes[-1].detail.endswith("and 99984 more notes")
        assert "more" not in decoded.notes[-2].detail

    def test_a_fatal_note_is_never_left_out(self) -> None:
        """What a strict fold raises for is among the notes, whatever else there is."""
        crowd = {f"later{number}": 1 for number in range(1000)}
        decoded = decode({**TEXT, **crowd, "subagentRunId": None})
        assert (decoded.notes[0].code, len(decoded.notes)) == ("null-attribution", 16)

    @each_type
    def test_notes_are_rules(self, kind: str) -> None:
        """Every note has the code of a rule, a path and a sentence."""
        for event in events(kind):
            spoiled = {**event, "later": 1, "timestamp": None}
            for note in decode(spoiled).notes:
                assert type(note) is Note
                assert note.code in RULES
                assert note.detail


class TestNull:
    """Null in the place of an absent field (spec: basic/versioning)."""

    @each_type
    def test_null_reads_as_absent(self, kind: str) -> None:
        """A null on an optional field is a field left out, noted with its path; fatally on the subagent surface."""
        for event, place in places_of(kind):
            if not place.field.required:
                decoded = decode(put(event, place.path, None))
                assert decoded == decode(cut(event, place.path))
                notes = [(note.code, note.path) for note in decoded.notes if note.code != "retired-shape"]
                assert notes == [(place.field.null, place.path)]

    def test_the_subagent_surface_refuses_null(self) -> None:
        """Null is refused for every attribution, and for all that a subagent's own events may leave out."""
        refused = {
            place.path[-1]
            for kind, event in EVERY_EVENT
            for place in places(EVENTS[kind], event)
            if place.field.null == "null-attribution"
            and (kind.startswith("SUBAGENT") or place.path == ("subagentRunId",))
        }
        assert refused == {
            "subagentRunId", "description", "parentSubagentRunId", "parentToolCallId", "parentMessageId", "outcome",
            "interruptIds", "code",
        }  # fmt: skip
        assert codes(decode(snapshot({"id": "m", "role": "user", "content": "", "subagentRunId": None}))) == {
            "null-attribution"
        }


class TestRetired:
    """Shapes that the protocol has retired, read as their successors (spec: basic/versioning)."""

    @pytest.mark.parametrize(
        ("mime", "kind"),
        [
            ("image/png", "image"),
            ("audio/wav", "audio"),
            ("video/mp4", "video"),
            ("application/pdf", "document"),
            ("text/plain", "document"),
            ("image", "document"),
            ("IMAGE/png", "document"),
            ("", "document"),
        ],
    )
    @pytest.mark.parametrize("source", ["data", "url"])
    @pytest.mark.parametrize("role", ["user", "tool"])
    def test_a_binary_part_becomes_a_media_part(self, mime: str, kind: str, source: str, role: str) -> None:
        """A `binary` part becomes the media part of its MIME type, with its source and its file name."""
        part = {"type": "binary", "mimeType": mime, source: "s", "filename": "f", "id": "upload"}
        new = {
            "type": kind,
            "source": {"type": source, "value": "s", "mimeType": mime},
            "metadata": {"filename": "f"},
        }
        message = {"id": "m", "role": role, "content": [part], "toolCallId": "c"}
        if role == "user":
            del message["toolCallId"]
        run = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
        for event in (snapshot(message), {**run, "input": {"threadId": "t", "runId": "r", "messages": [message]}}):
            decoded = decode(event)
            messages = decoded.messages if decoded.type == "MESSAGES_SNAPSHOT" else decoded.input["messages"]
            assert messages == [{**message, "content": [new]}]
            assert [note.code for note in decoded.notes] == ["retired-shape"]
            assert decoded.notes[0].path[-4:] == ("messages", 0, "content", 0)

    def test_data_goes_before_a_url(self) -> None:
        """Of two sources the bytes themselves are kept; empty strings are no source."""
        part = {"type": "binary", "mimeType": "image/png"}
        sources: list[dict[str, Any]] = [
            {"data": "d", "url": "u"},
            {"data": "", "url": "u"},
            {"data": None, "url": "u", "filename": ""},
        ]
        decoded = decode(snapshot(user(*({**part, **source} for source in sources))))
        (message,) = decoded.messages
        assert [part["source"]["value"] for part in message["content"]] == ["d", "u", "u"]
        assert all("metadata" not in part for part in message["content"])

    @pytest.mark.parametrize("rest", [{"id": "upload"}, {}, {"data": "", "url": ""}])
    def test_a_binary_part_without_a_source_is_unknown(self, rest: dict[str, Any]) -> None:
        """What has neither data nor URL has no successor, and goes as an unknown part does."""
        decoded = decode(snapshot(user({"type": "binary", "mimeType": "image/png", **rest})))
        assert decoded.messages == [user()]
        assert codes(decoded) == {"unknown-member"}

    @pytest.mark.parametrize("order", [1, -1])
    @pytest.mark.parametrize(("old", "new", "kept"), [("f", "f", 1), ("f", "g", 2), ("f", None, 2), (None, "f", 1)])
    def test_a_binary_part_beside_its_modern_twin_is_left_out(
        self, order: int, old: str | None, new: str | None, kept: int
    ) -> None:
        """A part sent in both shapes is one part, unless the modern one lacks the file name of the other."""
        binary = {"type": "binary", "mimeType": "image/png", "url": "u", **({"filename": old} if old else {})}
        modern = {
            "type": "image",
            "source": {"type": "url", "value": "u", "mimeType": "image/png"},
            **({"metadata": {"filename": new}} if new else {}),
        }
        decoded = decode(snapshot(user(*[binary, modern][::order])))
        assert len(decoded.messages[0]["content"]) == kept
        assert codes(decoded) == {"retired-shape"}

    def test_a_malformed_part_is_nobody_s_twin(self) -> None:
        """A source that is wrong stays wrong beside a part to translate."""
        binary = {"type": "binary", "mimeType": "image/png", "url": "u"}
        modern = {"type": "image", "source": {"type": "url", "value": 42}}
        assert refusal(snapshot(user(binary, modern))).path == ("messages", 0, "content", 1, "source", "value")

    def test_repeated_binary_parts_stay_repeated(self) -> None:
        """Only a modern twin makes a part superfluous; two old ones are two."""
        part = {"type": "binary", "mimeType": "image/png", "url": "u"}
        assert len(decode(snapshot(user(part, part))).messages[0]["content"]) == 2

    def test_a_tool_result_event_never_had_binary_parts(self) -> None:
        """Results were text before 1.0, so a `binary` part there is an unknown one, as for the reference client."""
        part = {"type": "binary", "mimeType": "image/png", "url": "u"}
        event = decode({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": [part]})
        assert (event.content, codes(event)) == ([], {"unknown-member"})

    @pytest.mark.parametrize("kind", sorted(RETIRED_EVENTS))
    def test_thinking_events_are_events(self, kind: str) -> None:
        """The THINKING events decode to classes of their own, noted, for the fold to translate."""
        event = decode({"type": kind, "title": "t", "delta": "d", "messageId": "m"})
        assert type(event) is EVENT_CLASSES[kind]
        assert event.notes[0].code == "retired-shape"
        assert "message_id" not in EVENT_CLASSES[kind].wire_names

    def test_a_reasoning_role_may_be_left_out(self) -> None:
        """Old producers leave the one possible role out; another role is refused."""
        start = {"type": "REASONING_MESSAGE_START", "messageId": "m"}
        assert decode(start).role is None
        with pytest.raises(MalformedEvent, match="role: must be 'reasoning'"):
            decode({**start, "role": "assistant"})


class TestAdmit:
    """What the fold takes: events, mappings, and objects of any SDK version."""

    def test_an_event_is_admitted_as_it_is(self) -> None:
        """A decoded event passes through, itself."""
        event = decode(TEXT)
        assert admit(event) is event

    @pytest.mark.parametrize("value", [None, 1, "x", json.dumps(TEXT), b"{}", [], [TEXT], object(), TEXT.items()])
    def test_anything_else_is_refused(self, value: Any) -> None:
        """What is neither an event nor a mapping is refused, JSON text included."""
        with pytest.raises(MalformedEvent) as caught:
            admit(value)
        assert caught.value.path == ()

    @each_type
    def test_a_mapping_is_decoded(self, kind: str) -> None:
        """Mappings of any make are decoded."""
        for event in events(kind):
            assert admit(event) == decode(event)
            assert admit(MappingProxyType(event)) == decode(event)

    @each_type
    def test_an_sdk_object_equals_its_wire_form(self, kind: str) -> None:
        """An object of the installed SDK gives what its own JSON gives, and all that it was made of."""
        for event, held in sdk_objects(kind):
            admitted = admit(held)
            assert admitted == decode(held.model_dump_json(by_alias=True))
            assert codes(admitted) == noted(kind)
            # An SDK may fill defaults in.
            assert same(freeze({**admitted.to_dict(), **event}), freeze(admitted.to_dict()))

    @each_type
    def test_an_sdk_object_takes_python_spelling(self, kind: str) -> None:
        """Made with Python names, which an SDK older than a field keeps as they are, an object gives the same."""
        for event, held in sdk_objects(kind):
            spelled = SDK.validate_python(pythonic(EVENTS[kind], event))
            assert admit(spelled) == admit(held)
            assert codes(admit(spelled)) == noted(kind)

    @each_type
    def test_the_installed_sdk_takes_each_type(self, kind: str) -> None:
        """The comparisons above compare something: the SDK has the type, or is one without it."""
        has = kind in {member.value for member in EventType}
        assert any(sdk_objects(kind)) == has

    def test_what_an_sdk_object_holds_beyond_its_class_counts(self) -> None:
        """Fields that the object's class does not have are read where described, and noted where not."""
        value = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "e", "encryptedValue": "v"}
        typed = {**value, "encryptedValueType": "redacted"}
        assert admit(SDK.validate_python(typed)) == decode(typed)
        for both in ({**typed, "encrypted_value_type": "x"}, {**value, "encrypted_value_type": "x", **typed}):
            event = admit(SDK.validate_python(both))
            assert (event, codes(event)) == (decode(typed), {"unknown-property"})
        event = admit(SDK.validate_python({**TEXT, "later": 1}))
        assert (event, codes(event)) == (decode(TEXT), {"unknown-property"})

    def test_subclasses_are_admitted(self) -> None:
        """A subclass of an SDK class is its base with properties that nobody described."""
        base = type(SDK.validate_python(TEXT))
        subclass = type("Traced", (base,), {"__annotations__": {"trace": str}})
        event = admit(subclass(message_id="m", delta="x", trace="t"))
        assert (event, codes(event)) == (decode(TEXT), {"unknown-property"})

    @pytest.mark.parametrize(
        ("path", "fields"),
        [
            ("delta", {"delta": 42}),
            ("delta", {"delta": None}),
            ("delta", {}),
            ("timestamp", {"delta": "d", "timestamp": 2**60}),
            ("timestamp", {"delta": "d", "timestamp": True}),
        ],
    )
    def test_an_unchecked_object_is_checked(self, path: str, fields: dict[str, Any]) -> None:
        """Objects that bypassed the SDK's own validation meet the protocol's."""
        base = type(SDK.validate_python(TEXT))
        with pytest.raises(MalformedEvent) as caught:
            admit(base.model_construct(type=EventType.TEXT_MESSAGE_CONTENT, message_id="m", **fields))
        assert caught.value.path == (path,)

    def test_an_unchecked_word_is_stripped(self) -> None:
        """A word of a later version in an SDK object goes, as it would on the wire."""
        base = type(SDK.validate_python({"type": "TEXT_MESSAGE_START", "messageId": "m"}))
        event = admit(base.model_construct(type=EventType.TEXT_MESSAGE_START, message_id="m", role="narrator"))
        assert (event.role, codes(event)) == (None, {"unknown-member"})

    def test_an_object_of_any_model_is_an_event_by_its_type(self) -> None:
        """Whose class it is does not matter: a retired event is one from whichever package."""

        class Thinking(BaseModel):
            type: str = "THINKING_TEXT_MESSAGE_CONTENT"
            delta: str = "d"

        event = admit(Thinking())
        assert (event.delta, codes(event)) == ("d", {"retired-shape"})

    def test_an_object_of_another_model_is_refused(self) -> None:
        """A pydantic object that is no event has no type to go by."""

        class Other(BaseModel):
            name: str = "n"

        with pytest.raises(MalformedEvent) as caught:
            admit(Other())
        assert caught.value.path == ("type",)

    def test_a_null_payload_of_an_object_is_one(self) -> None:
        """None in a required field of any JSON is null, not absence."""
        event = admit(SDK.validate_python({"type": "STATE_SNAPSHOT", "snapshot": None}))
        assert event.to_dict() == {"type": "STATE_SNAPSHOT", "snapshot": None}

    def test_an_object_whose_payload_is_no_json_is_refused(self) -> None:
        """A payload that only Python can hold is refused with its path."""
        with pytest.raises(MalformedEvent, match="must be JSON") as caught:
            admit(SDK.validate_python({"type": "CUSTOM", "name": "n", "value": {"a": [float("nan")]}}))
        assert caught.value.path == ("value", "a", 0)

    def test_wire_mappings_are_spelled_in_camel_case(self) -> None:
        """Only an SDK's object may use Python names; a mapping is in wire form or is refused."""
        with pytest.raises(MalformedEvent, match="messageId"):
            decode({"type": "TEXT_MESSAGE_END", "message_id": "m"})


def sdk_objects(kind: str) -> Iterator[tuple[dict[str, Any], BaseModel]]:
    """Yield events of a type with the SDK's objects for them, where it can express them."""
    for event in events(kind):
        with suppress(ValidationError):
            yield event, SDK.validate_python(event)


def pythonic(shape: Any, value: Any) -> Any:
    """Return a sample with its described names in snake_case."""
    match shape:
        case Record(fields, open=False) if isinstance(value, dict):
            return {snake(name): pythonic(fields[name].shape, inner) for name, inner in value.items()}
        case ListOf(item):
            return [pythonic(item, inner) for inner in value]
        case Content(part) if isinstance(value, list):
            return [pythonic(part, inner) for inner in value]
        case Union(tag, members):
            return pythonic(members[value[tag]], value)
    return value


def snake(name: str) -> str:
    """Return a wire name as Python spells it."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


class TestAnyInput:
    """Laws over generated input."""

    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=6,
    )

    @given(json_values)
    def test_anything_decodes_or_is_malformed(self, value: Any) -> None:
        """Whatever comes in, an event comes out or `MalformedEvent`, which prints."""
        assert str(attempt(value))

    @given(st.binary() | st.text())
    def test_text_decodes_or_is_malformed(self, text: str | bytes) -> None:
        """Whatever text comes in, an event comes out or `MalformedEvent`."""
        outcome = attempt(text)
        assert isinstance(outcome, Event) or outcome.path in {(), ("type",)}

    @given(st.sampled_from(EVERY_EVENT), st.integers(0), json_values, st.randoms())
    def test_a_changed_event_has_one_verdict(
        self, sample: tuple[str, dict[str, Any]], number: int, value: Any, random: Random
    ) -> None:
        """With any value in any place, an event decodes or not whatever the order of its keys, and once is enough."""
        kind, event = sample
        every = [place.path for place in places(EVENTS[kind], event) if place.path != ("type",)]
        mutant = put(event, every[number % len(every)], value) if every else event
        decoded, again = attempt(mutant), attempt(shuffled(mutant, random))
        assert type(decoded) is type(again)
        if isinstance(decoded, Event) and not isinstance(decoded, UnknownEvent):
            assert decoded == again
            assert decode(decoded.to_dict()) == decoded
            assert codes(decode(decoded.to_dict())) == noted(kind)


def shuffled(value: Any, random: Random) -> Any:
    """Return a copy with the keys of all objects in another order."""
    if isinstance(value, dict):
        keys = list(value)
        random.shuffle(keys)
        return {key: shuffled(value[key], random) for key in keys}
    return [shuffled(inner, random) for inner in value] if isinstance(value, list) else value


# What makes a valid stream of one event: what opens before it and closes after it.
AROUND: dict[str, tuple[list[str], list[str]]] = {
    "TEXT_MESSAGE_START": ([], ["TEXT_MESSAGE_END"]),
    "TEXT_MESSAGE_CONTENT": (["TEXT_MESSAGE_START"], ["TEXT_MESSAGE_END"]),
    "TEXT_MESSAGE_END": (["TEXT_MESSAGE_START"], []),
    "TOOL_CALL_START": ([], ["TOOL_CALL_END"]),
    "TOOL_CALL_ARGS": (["TOOL_CALL_START"], ["TOOL_CALL_END"]),
    "TOOL_CALL_END": (["TOOL_CALL_START"], []),
    "STEP_STARTED": ([], ["STEP_FINISHED"]),
    "STEP_FINISHED": (["STEP_STARTED"], []),
    "REASONING_START": ([], ["REASONING_END"]),
    "REASONING_END": (["REASONING_START"], []),
    "REASONING_MESSAGE_START": ([], ["REASONING_MESSAGE_END"]),
    "REASONING_MESSAGE_CONTENT": (["REASONING_MESSAGE_START"], ["REASONING_MESSAGE_END"]),
    "REASONING_MESSAGE_END": (["REASONING_MESSAGE_START"], []),
    "SUBAGENT_STARTED": ([], ["SUBAGENT_FINISHED"]),
    "SUBAGENT_FINISHED": (["SUBAGENT_STARTED"], []),
    "SUBAGENT_ERROR": (["SUBAGENT_STARTED"], []),
    "THINKING_START": ([], ["THINKING_END"]),
    "THINKING_END": (["THINKING_START"], []),
    "THINKING_TEXT_MESSAGE_START": ([], ["THINKING_TEXT_MESSAGE_END"]),
    "THINKING_TEXT_MESSAGE_CONTENT": (["THINKING_TEXT_MESSAGE_START"], ["THINKING_TEXT_MESSAGE_END"]),
    "THINKING_TEXT_MESSAGE_END": (["THINKING_TEXT_MESSAGE_START"], []),
    "TEXT_MESSAGE_CHUNK": (["TEXT_MESSAGE_CHUNK"], []),
    "TOOL_CALL_CHUNK": (["TOOL_CALL_CHUNK"], []),
    "REASONING_MESSAGE_CHUNK": (["REASONING_MESSAGE_CHUNK"], []),
}
# What an event needs in a stream beyond what the table requires of it.
NEEDED = {
    "TEXT_MESSAGE_CHUNK": {"messageId": "x"},
    "TOOL_CALL_CHUNK": {"toolCallId": "x", "toolCallName": "x"},
    "REASONING_MESSAGE_CHUNK": {"messageId": "x"},
    "REASONING_MESSAGE_START": {"role": "reasoning"},
}
# The optional nulls that the reference client reads as absent; it refuses all others.
LEGACY_NULLS = {
    *(f"{kind}-rawEvent" for kind in EVENTS),
    "TOOL_CALL_START-parentMessageId",
    "TOOL_CALL_CHUNK-parentMessageId",
    "RUN_FINISHED-outcome",
    "RUN_FINISHED-result",
    "SUBAGENT_FINISHED-result",
    "RUN_STARTED-input.forwardedProps",
    "RUN_STARTED-input.state",
    "RUN_STARTED-input.tools.parameters",
    "RUN_STARTED-input.resume.payload",
    *(
        f"{messages}:{role}.content:{part}.metadata"
        for messages in ("MESSAGES_SNAPSHOT-messages", "RUN_STARTED-input.messages")
        for role in ("user", "tool")
        for part in ("image", "audio", "video", "document")
    ),
    # The translation of a retired event drops the title, whatever it is.
    "THINKING_START-title",
}


def least(kind: str) -> dict[str, Any]:
    """Return the smallest event of a type that may stand in a valid stream."""
    return {**events(kind)[0], **NEEDED.get(kind, {})}


def stream_around(event: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a stream whose one possible fault is the event."""
    kind = event["type"]
    before, after = AROUND.get(kind, ([], []))
    return [
        *([least("RUN_STARTED")] if kind != "RUN_STARTED" else []),
        *map(least, before),
        event,
        *map(least, after),
        *([least("RUN_FINISHED")] if kind not in {"RUN_FINISHED", "RUN_ERROR"} else []),
    ]


def mutants(kind: str) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield events with one change each, named; true says that this library accepts what the reference refuses.

    That is what the specification tolerates and the reference does not (an unknown word of a closed set), and what
    older producers send (other nulls than those it knows, a reasoning role left out).
    """
    for event, place in places_of(kind):
        if place.path[-1] == "encryptedValueType":
            continue  # of 1.1, while the reference client is at 1.0
        name, required = f"{kind}-{place.name}", place.field.required
        # Of the optional fields none but the one in question, so that nothing else can be at fault.
        host = {**least(kind), str(place.path[0]): event[str(place.path[0])]}
        # The same values everywhere, whatever the table says, so that a table that is too lax is found out.
        text = place.field.shape == Text()
        for value in [42, -1, 1.5, True, [], {}, SAFE_INTEGER + 1, *([] if text else ["later", "/~2"])]:
            unknown_word = isinstance(value, str) and isinstance(place.field.shape, Words)
            yield f"{name} = {value!r}", put(host, place.path, value), unknown_word
        yield f"{name} = null", put(host, place.path, None), not (required or name in LEGACY_NULLS)
        yield f"{name} left out", cut(host, place.path), name == "REASONING_MESSAGE_START-role"
        if isinstance(place.field.shape, Integer):
            yield f"{name} = 7.0", put(host, place.path, 7.0), False
    for event, path, _ in records_of(kind):
        host = {**least(kind), **{str(name): event[str(name)] for name in path[:1]}}
        yield f"{kind} {path} later", put(host, (*path, "later"), None), False


class TestReference:
    """`decode` against the reference client, which is the protocol in use."""

    @pytest.mark.slow
    @each_type
    def test_one_change_gets_the_same_verdict(self, kind: str, reference: ReferenceClient) -> None:
        """What is wrong, unknown, null or missing in one place is refused here where it is refused there."""
        cases = list(mutants(kind))
        outcomes = reference.replay(stream_around(event) for _, event, _ in cases)
        for (name, event, laxer), outcome in zip(cases, outcomes, strict=True):
            accepted = isinstance(attempt(event), Event)
            expected = (True, False) if laxer else (accepted, accepted)
            assert (accepted, outcome.accepted) == expected, f"{name}: {outcome.error}"

    def test_binary_parts_become_the_same_parts(self, reference: ReferenceClient) -> None:
        """Each pair of content parts, retired and modern ones, is translated as there."""
        mime, url = {"mimeType": "image/png"}, {"type": "url", "value": "u", "mimeType": "image/png"}
        pool: list[dict[str, Any]] = [
            *({"type": "binary", **mime, **rest} for rest in BINARY),
            {"type": "binary", "mimeType": "application/pdf", "data": "d"},
            {"type": "binary", "mimeType": 42, "data": "d"},
            {"type": "binary"},
            *({"type": "image", "source": url, **rest} for rest in ({}, {"metadata": {"filename": "f"}}, {"id": "i"})),
            {"type": "image", "source": {**url, "type": "later"}},
            {"type": "text", "text": "t"},
            {"type": "later"},
        ]
        messages = [
            {"id": f"{one}-{two}", "role": "user", "content": [pool[one], pool[two]]}
            for one in range(len(pool))
            for two in range(len(pool))
        ]
        (outcome,) = reference.replay([stream_around(snapshot(*messages))])
        assert outcome.accepted, outcome.error
        assert same(freeze(decode(snapshot(*messages)).messages), freeze(outcome.messages))


BINARY: list[dict[str, Any]] = [
    {},
    {"id": "upload"},
    {"data": "d", "url": "u"},
    {"url": "u"},
    {"url": "u", "filename": "f"},
    {"url": "u", "filename": ""},
    {"data": "", "url": "u", "filename": None},
    {"data": None, "url": "", "filename": "f"},
    {"url": "u", "metadata": {"k": 1}},
]
