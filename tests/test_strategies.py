"""The strategies: what they give is valid, varied and shrinks to what a person would write down."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Event as AnyEvent
from ag_ui.core import EventType
from attrs import fields
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from reducer import decode, strategies
from reducer._streams.edits import BREAKS, RECUTS, broken, recut
from reducer._streams.held import Held
from reducer._streams.says import Look
from reducer._streams.wild import POOL, well_formed
from reducer.strategies import Event, Stream, events, in_turn, interleavings, json_values, merge, patches, streams
from tests.reference_client import Outcome, ReferenceClient

OFF_BY_DEFAULT = (
    "early_values",
    "value_types",
    "echoed_state",
    "shared_ids",
    "foreign_results",
    "surrogates",
    "drop_open",
)

ABSENT = {
    "subagents": ("SUBAGENT_STARTED",),
    "text": ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CHUNK"),
    "tools": ("TOOL_CALL_START", "TOOL_CALL_CHUNK", "TOOL_CALL_RESULT"),
    "reasoning": ("REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CHUNK"),
    "values": ("REASONING_ENCRYPTED_VALUE",),
    "chunks": ("TEXT_MESSAGE_CHUNK", "TOOL_CALL_CHUNK", "REASONING_MESSAGE_CHUNK"),
    "steps": ("STEP_STARTED", "STEP_FINISHED"),
    "state": ("STATE_SNAPSHOT", "STATE_DELTA"),
    "activities": ("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"),
    "passthrough": ("RAW", "CUSTOM"),
    "snapshots": ("MESSAGES_SNAPSHOT",),
    "errors": ("RUN_ERROR",),
}

WELL_FORMED: TypeAdapter[Any] = TypeAdapter(AnyEvent)


def sample(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    """Draw the same examples each time."""
    drawn: list[Any] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(strategy)
    def collect(example: Any) -> None:
        drawn.append(example)

    collect()
    return drawn


def least(strategy: st.SearchStrategy[Any], condition: Callable[[Any], bool]) -> Any:
    """Find the example that a failing test would show."""
    thorough = settings(max_examples=20_000, derandomize=True, database=None, deadline=None)
    return find(strategy, condition, settings=thorough)


def lane(stream: Stream, owner: str | None) -> Stream:
    """Give what one owner streams."""
    return [event for event in stream if event.get("subagentRunId") == owner and not event["type"].startswith("RUN_")]


def typed(value: Any) -> str:
    """Give JSON with its types, in which `1` and `True` differ."""
    return json.dumps(value, sort_keys=True)


def run(*events: Event) -> Stream:
    """Put the plainest boundaries around events."""
    names = {"threadId": "t1", "runId": "run1"}
    return [{"type": "RUN_STARTED", **names}, *events, {"type": "RUN_FINISHED", **names}]


def started(stream: Stream, event_type: str, key: str) -> dict[str, tuple[int, str | None]]:
    """Give where each entity started first, and whose it is."""
    places: dict[str, tuple[int, str | None]] = {}
    for place, event in enumerate(stream):
        if event["type"] == event_type:
            places.setdefault(event[key], (place, event.get("subagentRunId")))
    return places


@pytest.fixture(scope="module")
def drawn() -> list[Stream]:
    """Some hundred streams with everything in them; nobody alters them."""
    return sample(streams(), 300)


class TestStreams:
    """Valid streams."""

    def test_reference_accepts(self, drawn: list[Stream], reference: ReferenceClient) -> None:
        """The reference client goes through every stream, to its end."""
        assert [outcome.error for outcome in reference.replay(drawn) if not outcome.valid] == []

    @pytest.mark.parametrize("feature", OFF_BY_DEFAULT)
    def test_reference_accepts_what_is_off_by_default(self, feature: str, reference: ReferenceClient) -> None:
        """What is off by default is valid as well: consumers only disagree on what it means."""
        outcomes = reference.replay(sample(streams(**{feature: True}), 60))
        assert [outcome.error for outcome in outcomes if not outcome.valid] == []

    @pytest.mark.parametrize(("feature", "absent"), ABSENT.items())
    def test_feature_off(self, feature: str, absent: tuple[str, ...]) -> None:
        """A feature that is off leaves no event of its own."""
        seen = {event["type"] for stream in sample(streams(**{feature: False}), 40) for event in stream}
        assert seen.isdisjoint(absent)

    def test_everything_off(self) -> None:
        """With all features off, a stream is the boundaries of runs."""
        bare = streams(**dict.fromkeys(ABSENT, False))
        assert {event["type"] for stream in sample(bare, 40) for event in stream} == {"RUN_STARTED", "RUN_FINISHED"}

    def test_reopening_off(self) -> None:
        """Without reopening, what has closed stays closed."""
        for stream in sample(streams(reopening=False, chunks=False), 60):
            opened = [event["messageId"] for event in stream if event["type"] == "TEXT_MESSAGE_START"]
            assert len(opened) == len(set(opened))

    def test_metadata_off(self) -> None:
        """Without metadata, only snapshots have any, which say what they are authorities on."""
        for stream in sample(streams(metadata=False), 60):
            assert not any(event.keys() & {"metadata", "rawEvent"} for event in stream if "messages" not in event)

    def test_unknown_feature(self) -> None:
        """A feature that does not exist is refused at once."""
        with pytest.raises(TypeError, match="colour"):
            streams(colour=True)

    def test_ids_name_one_kind(self, drawn: list[Stream]) -> None:
        """By default no two kinds of entities share an id."""
        kinds = {"m": "TEXT", "g": "REASONING", "c": "TOOL", "a": "ACTIVITY"}
        for stream in drawn:
            for event in stream:
                if event["type"].endswith(("_START", "_CHUNK", "ACTIVITY_SNAPSHOT")) and "parentRunId" not in event:
                    name = event.get("messageId") or event.get("toolCallId")
                    assert name is None or name.startswith("sp") or event["type"].startswith(kinds[name[0]])

    def test_well_formed(self, drawn: list[Stream]) -> None:
        """The official SDK validates every event."""
        for stream in drawn:
            for event in stream:
                WELL_FORMED.validate_python(event)

    def test_shared_ids_are_well_formed(self) -> None:
        """Where kinds share ids a snapshot restates each as what it is: a text has no activity's content."""
        off = dict.fromkeys(("subagents", "steps", "state", "passthrough", "echoes", "errors", "metadata"), False)
        together: set[str] = set()
        for stream in sample(streams(shared_ids=True, **off), 400):
            for event in stream:
                assert decode(event).notes == ()
                ids = Counter(message["id"] for message in event.get("messages", ()))
                together |= {message["role"] for message in event.get("messages", ()) if ids[message["id"]] > 1}
        assert together >= {"assistant", "activity"}

    def test_shared_ids_are_held_apart(self) -> None:
        """What comes under one id is held as a message for each kind, and for each call that has a result."""
        held = Held()
        told: Stream = [
            {"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning"},
            {"type": "TEXT_MESSAGE_START", "messageId": "m"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "hi"},
            {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "plan", "content": {"a": 1}},
            {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c1", "content": "one"},
            {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c2", "content": "two"},
            {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m", "encryptedValue": "v"},
            {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": "m", "encryptedValue": "w"},
        ]
        for event in told:
            held.see(event)
        assert [*held.messages.values()] == [
            {"id": "m", "role": "reasoning", "content": "", "encryptedValue": "v"},
            {"id": "m", "role": "assistant", "content": "hi"},
            {"id": "m", "role": "activity", "activityType": "plan", "content": {"a": 1}},
            {"id": "m", "role": "tool", "toolCallId": "c1", "content": "one"},
            {"id": "m", "role": "tool", "toolCallId": "c2", "content": "two"},
        ]

    def test_varied(self, drawn: list[Stream]) -> None:
        """Every type of event comes up in a few hundred streams."""
        seen = {event["type"] for stream in drawn for event in stream}
        assert seen == {one.value for one in EventType}

    def test_parts_are_not_shared(self, drawn: list[Stream]) -> None:
        """No two events share a mutable part, so whoever alters one alters no other."""

        def parts(value: Any) -> list[int]:
            inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            return [id(value), *(one for item in inner for one in parts(item))] if inner or value in ({}, []) else []

        for stream in drawn:
            assert max(Counter(one for event in stream for one in parts(event)).values()) == 1


class TestInterleavings:
    """Pairs of one set of lanes."""

    def test_reference_accepts(self, reference: ReferenceClient) -> None:
        """Both streams of a pair are valid."""
        both = [stream for pair in sample(interleavings(), 100) for stream in pair]
        assert [outcome.error for outcome in reference.replay(both) if not outcome.valid] == []

    def test_lanes_keep_their_order(self) -> None:
        """Each lane streams the same events in the same order, merged or in turn."""
        for merged, turns in sample(interleavings(), 100):
            owners = {event.get("subagentRunId") for event in turns}
            assert all(lane(merged, owner) == lane(turns, owner) for owner in owners)

    def test_in_turn(self) -> None:
        """In turn, no lane comes back after another has spoken."""
        for _, turns in sample(interleavings(), 100):
            owners = [event.get("subagentRunId", "") for event in turns[1:-1]]
            changes = [owner for place, owner in enumerate(owners) if place == 0 or owners[place - 1] != owner]
            assert len(changes) == len(set(changes))

    def test_no_lanes(self) -> None:
        """No lanes make a run with nothing in it."""
        assert merge([]) == in_turn([]) == run()


class TestRecuts:
    """Pairs of one content."""

    def test_reference_agrees(self, reference: ReferenceClient) -> None:
        """The reference client makes the same of both streams of a pair."""
        pairs = sample(strategies.recuts(), 150)
        one, two = (reference.replay(side) for side in zip(*pairs, strict=True))

        def shown(outcome: Outcome) -> str:
            return typed([outcome.valid, outcome.messages, outcome.state, outcome.interrupts])

        assert [shown(outcome) for outcome in one] == [shown(outcome) for outcome in two]

    def test_different(self) -> None:
        """Every way to recut changes some stream."""
        pairs = sample(strategies.recuts(), 60)
        assert sum(stream != other for stream, other in pairs) > len(pairs) / 4
        assert len(RECUTS) == 4


def text(verb: str, **says: Any) -> Event:
    """Write an event of the text `m1`."""
    return {"type": f"TEXT_MESSAGE_{verb}", "messageId": "m1", **says}


def chunk(**says: Any) -> Event:
    """Write a chunk of a text."""
    return {"type": "TEXT_MESSAGE_CHUNK", **says}


class TestEdits:
    """What recutting and breaking do, by example."""

    def test_cut(self) -> None:
        """A delta is cut in two; what else it says stays with the first."""
        stream = [text("CONTENT", delta="abc", metadata={"k": 1})]
        assert recut(stream, [("cut", 0, 1)]) == [
            text("CONTENT", delta="ab", metadata={"k": 1}),
            text("CONTENT", delta="c"),
        ]

    def test_join(self) -> None:
        """Two deltas that follow each other become one, with the metadata of both."""
        stream = [text("CONTENT", delta="a", metadata={"k": 1, "l": 1}), text("CONTENT", delta="b", metadata={"k": 2})]
        assert recut(stream, [("join", 0, 0)]) == [text("CONTENT", delta="ab", metadata={"k": 2, "l": 1})]

    def test_join_chunks(self) -> None:
        """A chunk that names nothing joins the one before it."""
        stream = [chunk(messageId="m1", delta="a"), chunk(delta="b")]
        assert recut(stream, [("join", 0, 0)]) == [chunk(messageId="m1", delta="ab")]

    @pytest.mark.parametrize(
        "other",
        [
            text("CONTENT", delta="b", subagentRunId="s1"),
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m2", "delta": "b"},
            {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m1", "delta": "b"},
            {"type": "STATE_DELTA", "delta": []},
        ],
    )
    def test_join_nothing_else(self, other: Event) -> None:
        """Deltas of different entities, kinds or owners are left apart."""
        stream = [text("CONTENT", delta="a"), other]
        assert recut(stream, [("join", 0, 0)]) == stream

    def test_pad(self) -> None:
        """An empty delta changes nothing."""
        stream = [text("CONTENT", delta="a")]
        assert recut(stream, [("pad", 0, 0)]) == [*stream, text("CONTENT", delta="")]

    @pytest.mark.parametrize(
        ("how", "continuing"), [(0, {}), (1, {"messageId": "m1"}), (2, {"messageId": "m1", "role": "user"})]
    )
    def test_respell(self, how: int, continuing: Event) -> None:
        """A triad becomes chunks, which go on without an id, with it, or with all that the first one said."""
        stream = [text("START", role="user", metadata={"k": 1}), text("CONTENT", delta="a"), text("END")]
        opener = chunk(messageId="m1", role="user", metadata={"k": 1})
        assert recut(stream, [("respell", 0, how)]) == [opener, chunk(**continuing, delta="a")]

    def test_respell_end(self) -> None:
        """An end that says something becomes a chunk that says it."""
        stream = [text("START"), text("END", metadata={"k": 1})]
        assert recut(stream, [("respell", 0, 0)]) == [chunk(messageId="m1"), chunk(metadata={"k": 1})]

    def test_respell_reasoning(self) -> None:
        """A chunk of reasoning has no role."""
        named = {"messageId": "g1"}
        stream = [
            {"type": "REASONING_MESSAGE_START", **named, "role": "reasoning"},
            {"type": "REASONING_MESSAGE_END", **named},
        ]
        assert recut(stream, [("respell", 0, 0)]) == [{"type": "REASONING_MESSAGE_CHUNK", **named}]

    @pytest.mark.parametrize(
        "between",
        [
            {"type": "CUSTOM", "name": "progress", "value": None},
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m2"},
            {"type": "MESSAGES_SNAPSHOT", "messages": []},
        ],
    )
    def test_respell_only_what_holds(self, between: Event) -> None:
        """A triad stays one where something would end the chunks halfway, or where it never ends."""
        stream = [text("START"), between, text("END")]
        assert recut(stream, [("respell", 0, 0)]) == stream
        assert recut(stream[:1], [("respell", 0, 0)]) == stream[:1]

    @pytest.mark.parametrize(
        "between", [{"type": "RAW", "event": None}, {**text("START"), "messageId": "m2", "subagentRunId": "s1"}]
    )
    def test_respell_around(self, between: Event) -> None:
        """What ends no chunks of the lane may stand between."""
        stream = [text("START"), between, text("END")]
        assert recut(stream, [("respell", 0, 0)]) == [chunk(messageId="m1"), between]

    @pytest.mark.parametrize(
        ("edit", "expected"),
        [
            (("drop", 1, 0), [text("START"), text("END")]),
            (("double", 0, 0), [text("START"), text("START"), text("CONTENT", delta="a"), text("END")]),
            (("move", 0, 0), [text("CONTENT", delta="a"), text("START"), text("END")]),
            (("retag", 0, 0), [text("START", subagentRunId="s1"), text("CONTENT", delta="a"), text("END")]),
            (("rename", 2, 0), [text("START"), text("CONTENT", delta="a"), text("END") | {"messageId": "other"}]),
            (("retype", 2, 4), [text("START"), text("CONTENT", delta="a"), text("START")]),
        ],
    )
    def test_broken(self, edit: tuple[str, int, int], expected: Stream) -> None:
        """A mutation changes one event, or its place, and nothing else."""
        stream = [text("START"), text("CONTENT", delta="a"), text("END")]
        assert broken(stream, edit) == expected
        assert stream == [text("START"), text("CONTENT", delta="a"), text("END")]

    def test_broken_otherwise(self) -> None:
        """What has the tag already loses it, what has no id gets one, and one event alone stays where it is."""
        assert broken([text("END", subagentRunId="s1")], ("retag", 0, 0)) == [text("END")]
        assert broken([{"type": "RUN_ERROR", "message": ""}], ("rename", 0, 0))[0]["messageId"] == "m1"
        assert broken([text("END")], ("move", 0, 5)) == [text("END")]

    def test_content_of_nothing(self) -> None:
        """What a snapshot has dropped is not held again when more of it comes."""
        held = Held()
        held.see(text("CONTENT", delta="a"))
        assert held.messages == {}

    def test_brief(self) -> None:
        """A record shows only what is special about it."""
        assert repr(Look()) == "Look()"
        assert repr(Look(form=1)) == "Look(form=1)"


class TestBrokenStreams:
    """Streams with one thing wrong."""

    def test_verdicts(self, reference: ReferenceClient) -> None:
        """Some mutations leave a stream valid, many do not."""
        outcomes = reference.replay(sample(strategies.broken_streams(), 200))
        rejected = sum(not outcome.accepted for outcome in outcomes)
        assert 0.25 < rejected / len(outcomes) < 0.9

    def test_one_mutation(self) -> None:
        """A broken stream is longer or shorter by one event at most, and never empty-handed for want of a place."""
        for stream in sample(strategies.broken_streams(runs=1), 60):
            assert all("type" in event for event in stream)
        assert set(BREAKS) == {"drop", "double", "move", "retag", "rename", "retype"}


class TestEvents:
    """Anything well-formed."""

    def test_every_type(self) -> None:
        """All types of the official SDK come up, and the five retired ones."""
        made = {well_formed(kind, 0, 0, 0, 0)["type"] for kind in range(60)}
        official = {one.value for one in EventType}
        assert official <= made
        assert {event_type for event_type in made - official if not event_type.startswith("THINKING_")} == set()

    @given(st.tuples(st.integers(0, 60), *[st.integers(0, 5)] * 4))
    def test_well_formed(self, numbers: tuple[int, int, int, int, int]) -> None:
        """The official SDK validates every event of a type that it knows."""
        event = well_formed(*numbers)
        if not event["type"].startswith("THINKING_"):
            WELL_FORMED.validate_python(event)

    def test_ids_collide(self) -> None:
        """Entities of all kinds take their ids from one small pool."""
        ids = {event["messageId"] for stream in sample(events(), 60) for event in stream if "messageId" in event}
        assert ids == set(POOL)


class TestValues:
    """JSON and patches."""

    @given(json_values())
    def test_json(self, value: Any) -> None:
        """A JSON value survives being written and read."""
        assert typed(json.loads(json.dumps(value))) == typed(value)

    @given(patches())
    def test_patches(self, patch: list[dict[str, Any]]) -> None:
        """A patch is well-formed, whatever it applies to."""
        WELL_FORMED.validate_python({"type": "STATE_DELTA", "delta": patch})


@pytest.mark.slow
class TestLeast:
    """What a failing test shows."""

    def test_run(self) -> None:
        """The least stream is a run in which nothing happens."""
        assert least(streams(), lambda _: True) == run()

    def test_text_after_call(self) -> None:
        """A text behind a call in one lane is just that."""

        def text_after_call(stream: Stream) -> bool:
            calls = started(stream, "TOOL_CALL_START", "toolCallId").values()
            texts = started(stream, "TEXT_MESSAGE_START", "messageId").values()
            return any(call < text and whose == own for call, whose in calls for text, own in texts)

        assert least(streams(), text_after_call) == run(
            {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "search"},
            {"type": "TOOL_CALL_END", "toolCallId": "c1"},
            {"type": "TEXT_MESSAGE_START", "messageId": "m1"},
            {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
        )

    def test_late_result(self) -> None:
        """A result behind a later text keeps nothing but the call and the text."""

        def late_result(stream: Stream) -> bool:
            calls = started(stream, "TOOL_CALL_START", "toolCallId")
            texts = started(stream, "TEXT_MESSAGE_START", "messageId").values()
            return any(
                event["type"] == "TOOL_CALL_RESULT"
                and event["toolCallId"] in calls
                and any(calls[event["toolCallId"]][0] < text < place and own is None for text, own in texts)
                and calls[event["toolCallId"]][1] is None
                for place, event in enumerate(stream)
            )

        assert least(streams(), late_result) == run(
            {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "search"},
            {"type": "TOOL_CALL_END", "toolCallId": "c1"},
            {"type": "TEXT_MESSAGE_START", "messageId": "m1"},
            {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
            {"type": "TOOL_CALL_RESULT", "messageId": "r1", "toolCallId": "c1", "content": "r1 "},
        )

    def test_late_value(self) -> None:
        """An encrypted value that comes late has one text between it and its reasoning."""

        def late_value(stream: Stream) -> bool:
            texts = [place for place, own in started(stream, "TEXT_MESSAGE_START", "messageId").values() if own is None]
            return any(
                event["type"] == "REASONING_ENCRYPTED_VALUE"
                and any(
                    end["type"] == "REASONING_MESSAGE_END"
                    and end["messageId"] == event["entityId"]
                    and any(closed < text < place for text in texts)
                    and "subagentRunId" not in end
                    for closed, end in enumerate(stream)
                )
                for place, event in enumerate(stream)
            )

        assert least(streams(), late_value) == run(
            {"type": "REASONING_MESSAGE_START", "messageId": "g1", "role": "reasoning"},
            {"type": "REASONING_MESSAGE_END", "messageId": "g1"},
            {"type": "TEXT_MESSAGE_START", "messageId": "m1"},
            {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
            {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "g1", "encryptedValue": "v1"},
        )

    def test_interleaved_lanes(self) -> None:
        """A subagent that speaks into a text of its parent takes one delta, and the text two."""

        def interleaved(pair: tuple[Stream, Stream]) -> bool:
            said = [event for event in pair[0] if event["type"] == "TEXT_MESSAGE_CONTENT"]
            return any(
                one["messageId"] == three["messageId"] and "subagentRunId" in two and "subagentRunId" not in one
                for one, two, three in zip(said, said[1:], said[2:], strict=False)
            )

        merged, turns = least(interleavings(), interleaved)
        whole = [
            {"type": "TEXT_MESSAGE_START", "messageId": "m1"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "m1.1 "},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "m1.2 "},
            {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
        ]
        inner = [
            {"type": "TEXT_MESSAGE_START", "messageId": "m2", "subagentRunId": "s1"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m2", "delta": "m2.1 ", "subagentRunId": "s1"},
            {"type": "TEXT_MESSAGE_END", "messageId": "m2", "subagentRunId": "s1"},
        ]
        assert turns == run(*whole, *inner)
        # Where exactly the lanes wait is up to chance: moving all of them at once is no shrink.
        assert sorted(map(typed, merged)) == sorted(map(typed, turns))

    def test_bare_chunk(self) -> None:
        """A chunk that names nothing follows the one that opened."""

        def bare(stream: Stream) -> bool:
            chunks = [event for event in stream if event["type"] == "TEXT_MESSAGE_CHUNK"]
            return any("messageId" not in event and "delta" in event for event in chunks)

        assert least(streams(), bare) == run(
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m1", "delta": "m1.1 "},
            {"type": "TEXT_MESSAGE_CHUNK", "delta": "m1.2 "},
        )

    def test_nested_subagents(self) -> None:
        """A subagent of a subagent needs no more than that both are announced."""

        def nested(stream: Stream) -> bool:
            return any("parentSubagentRunId" in event for event in stream)

        assert least(streams(), nested) == run(
            {"type": "SUBAGENT_STARTED", "subagentRunId": "s1", "name": "researcher"},
            {"type": "SUBAGENT_FINISHED", "subagentRunId": "s1"},
            {"type": "SUBAGENT_STARTED", "subagentRunId": "s2", "name": "researcher", "parentSubagentRunId": "s1"},
            {"type": "SUBAGENT_FINISHED", "subagentRunId": "s2"},
        )

    def test_resumed_run(self) -> None:
        """A run that is resumed takes two runs with nothing in them but the interrupt and its answer."""

        def resumed(stream: Stream) -> bool:
            return any("resume" in event.get("input", {}) for event in stream)

        first, second = {"threadId": "t1", "runId": "run1"}, {"threadId": "t1", "runId": "run2"}
        interrupt = {"id": "i1", "reason": "input", "message": "which one?"}
        echo = {
            **second,
            "messages": [{"id": "u1", "role": "user", "content": "hello"}],
            "tools": [],
            "context": [],
            "resume": [{"interruptId": "i1", "status": "resolved", "payload": {"ok": True}}],
        }
        assert least(streams(), resumed) == [
            {"type": "RUN_STARTED", **first},
            {"type": "RUN_FINISHED", **first, "outcome": {"type": "interrupt", "interrupts": [interrupt]}},
            {"type": "RUN_STARTED", **second, "input": echo},
            {"type": "RUN_FINISHED", **second},
        ]


class TestReference:
    """`docs/reference/strategies.md` has a row for each public name and each keyword."""

    PAGE = (Path(__file__).parents[1] / "docs/reference/strategies.md").read_text(encoding="utf-8")
    NAMES, KEYWORDS = PAGE.split("## Features")

    def test_names(self) -> None:
        """Names are those that the module gives."""
        cells = re.findall(r"^\| (`.*?) \|", self.NAMES, re.MULTILINE)
        assert sorted(re.findall(r"`(\w+)", " ".join(cells))) == sorted(strategies.__all__)

    def test_keywords(self) -> None:
        """Keywords come with their defaults, in the order of the record."""
        rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", self.KEYWORDS, re.MULTILINE)
        assert rows == [(field.name, str(field.default)) for field in fields(strategies.Features)]
