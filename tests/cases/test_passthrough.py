"""RAW, CUSTOM and what nobody knows: they build nothing (spec: events/passthrough)."""

from __future__ import annotations

import pytest

from reducer import EMPTY, Layout
from tests.cases.build import FINISHED, Wire, after, codes, seen, text

RAW: Wire = {"type": "RAW", "event": {"any": [1, None]}, "source": "vendor"}
CUSTOM: Wire = {"type": "CUSTOM", "name": "mood", "value": {"level": 3}}
CHUNK = text("CHUNK", delta="he")
MORE = text("CHUNK", None, delta="llo")


def assert_builds_nothing(event: Wire) -> None:
    """The event moves the position, and nothing else that a reader sees."""
    before, now = after(), after(event)
    assert now.position == before.position + 1
    for layout in Layout:
        shown, reference = seen(event, layout=layout).to_dict(), seen(layout=layout).to_dict()
        assert shown["runs"][0].pop("span") == [0, reference["runs"][0].pop("span")[1] + 1]
        assert shown == reference


class TestRaw:
    """RAW hands on what another system said."""

    def test_builds_nothing(self) -> None:
        """Nothing that a reader sees changes, whatever is in it."""
        assert_builds_nothing(RAW)
        assert_builds_nothing({"type": "RAW", "event": None})

    def test_leaves_chunk_streams_open(self) -> None:
        """A chunk stream goes on after a RAW event, which belongs to no lane."""
        assert codes(CHUNK, RAW, MORE, FINISHED) == []
        assert seen(CHUNK, RAW, MORE).messages == [{"id": "m", "role": "assistant", "content": "hello"}]

    def test_is_an_event(self) -> None:
        """It may not open a stream."""
        assert codes(RAW, onto=EMPTY) == ["first-event"]


class TestCustom:
    """CUSTOM is the application's own business."""

    def test_builds_nothing(self) -> None:
        """Nothing that a reader sees changes, whatever is in it."""
        assert_builds_nothing(CUSTOM)
        assert_builds_nothing({**CUSTOM, "value": None})

    def test_ends_the_lanes_chunk_stream(self) -> None:
        """An event of the lane ends its chunk stream, so a chunk without an id continues nothing."""
        assert codes(CHUNK, CUSTOM, MORE) == ["chunk-without-id"]

    def test_leaves_other_lanes_streams_open(self) -> None:
        """A chunk stream of another lane goes on."""
        assert codes(CHUNK, {**CUSTOM, "subagentRunId": "s"}, MORE) == []


class TestUnknown:
    """An event of a type that nobody knows changes nothing but the position."""

    @pytest.mark.parametrize(
        ("event", "code"),
        [
            ({"type": "FROM_LATER", "delta": "x", "messageId": "m"}, "unknown-event"),
            ({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "later", "entityId": "m"}, "unknown-member"),
        ],
        ids=["type", "member"],
    )
    def test_is_noted(self, event: Wire, code: str) -> None:
        """It is recorded, leaves what is open alone, and the stream goes on."""
        state = after(CHUNK, event, MORE)
        assert state.position == 4
        assert codes(CHUNK, event, MORE) == [code]
        assert seen(CHUNK, event, MORE).messages == [{"id": "m", "role": "assistant", "content": "hello"}]

    def test_opens_no_stream(self) -> None:
        """What is unknown is not judged as the first event of a stream; the next one is."""
        later: Wire = {"type": "FROM_LATER"}
        assert codes(later, onto=EMPTY) == ["unknown-event"]
        assert codes(later, CUSTOM, onto=EMPTY) == ["unknown-event", "first-event"]
