"""THINKING_*: folded as the REASONING_* events that replaced them (spec: basic/versioning)."""

from __future__ import annotations

from typing import Any

from reducer import EMPTY, seed
from tests.cases.build import FINISHED, STARTED, Wire, both, codes, message, said, seen, value


def thinking(verb: str, **fields: Any) -> Wire:
    """Return a retired event."""
    return {"type": f"THINKING_{verb}", **fields}


def content(delta: str) -> Wire:
    """Return a retired delta."""
    return thinking("TEXT_MESSAGE_CONTENT", delta=delta)


OPEN, CLOSE = thinking("TEXT_MESSAGE_START"), thinking("TEXT_MESSAGE_END")
RETIRED = "retired-shape"


def others(*events: Wire, **onto: Any) -> list[str]:
    """Return which rules the events break, but for being retired."""
    return [code for code in codes(*events, **onto) if code != RETIRED]


class TestThinkingStart:
    """THINKING_START is REASONING_START."""

    def test_opens_a_span(self) -> None:
        """The span's id is made of its position; a title has no place in the successor."""
        assert both(thinking("START", title="Plan")) == []
        assert seen(thinking("START"), FINISHED).anomalies[-1].detail == "span 'thinking-1'"

    def test_is_noted(self) -> None:
        """Every retired event is noted, which is not fatal."""
        [anomaly] = seen(thinking("START")).anomalies
        assert (anomaly.code, anomaly.event, anomaly.fatal) == (RETIRED, "THINKING_START", False)

    def test_again_is_the_same_span(self) -> None:
        """A span that is open opens no second time."""
        assert others(thinking("START"), thinking("START"), thinking("END"), FINISHED) == ["span-already-open"]

    def test_needs_a_run(self) -> None:
        """Outside a run it is out of place, and closed by the run's start."""
        assert others(thinking("START"), STARTED, FINISHED, onto=EMPTY) == ["first-event"]


class TestThinkingEnd:
    """THINKING_END is REASONING_END."""

    def test_closes_the_span(self) -> None:
        """The span that is open closes, and the next one is another."""
        assert others(thinking("START"), thinking("END"), FINISHED) == []
        again = [thinking("START"), thinking("END"), thinking("START"), FINISHED]
        assert seen(*again).anomalies[-1].detail == "span 'thinking-3'"

    def test_refuses_one_that_is_not_open(self) -> None:
        """An end without a start changes nothing."""
        assert others(thinking("END"), FINISHED) == ["span-not-open"]

    def test_needs_a_run(self) -> None:
        """Outside a run it is out of place, and judged like any other."""
        assert others(thinking("END"), onto=EMPTY) == ["first-event", "span-not-open"]


class TestThinkingTextMessageStart:
    """THINKING_TEXT_MESSAGE_START is REASONING_MESSAGE_START."""

    def test_opens_a_message(self) -> None:
        """The message's id is made of its position, the same on every replay."""
        events = [thinking("START"), OPEN, content("hm"), CLOSE, thinking("END"), FINISHED]
        assert both(*events) == [message("thinking-2", "hm", role="reasoning")]
        assert others(*events) == []

    def test_each_opens_its_own(self) -> None:
        """A second message after the first has ended is another one."""
        events = [OPEN, content("a"), CLOSE, OPEN, content("b"), CLOSE]
        assert [one["id"] for one in both(*events)] == ["thinking-1", "thinking-4"]

    def test_again_is_the_same_message(self) -> None:
        """A repeated start is flagged, and the message goes on."""
        events = [OPEN, content("a"), OPEN, content("b"), CLOSE]
        assert both(*events) == [message("thinking-1", "ab", role="reasoning")]
        assert others(*events) == ["reasoning-already-open"]

    def test_shares_no_id_with_another_message(self) -> None:
        """A message that has the made id already keeps it."""
        events = [*said("thinking-4", "hi"), OPEN, content("hm")]
        assert [one["id"] for one in both(*events)] == ["thinking-4", "thinking-4#reasoning"]

    def test_shares_no_id_with_stored_reasoning(self) -> None:
        """Reasoning that a stored thread holds under the made id is another message."""
        stored = seed([message("thinking-1", "old", role="reasoning")], thread_id="t")
        assert [one["content"] for one in both(STARTED, OPEN, content("hm"), onto=stored)] == ["old", "hm"]

    def test_takes_a_value(self) -> None:
        """An encrypted value names the message by the made id."""
        assert both(OPEN, content("hm"), CLOSE, value("thinking-1")) == [
            message("thinking-1", "hm", role="reasoning", encryptedValue="v")
        ]


class TestThinkingTextMessageContent:
    """THINKING_TEXT_MESSAGE_CONTENT is REASONING_MESSAGE_CONTENT."""

    def test_appends(self) -> None:
        """Deltas are one text."""
        assert both(OPEN, content("h"), content("m"), CLOSE) == [message("thinking-1", "hm", role="reasoning")]

    def test_opens_what_nothing_opened(self) -> None:
        """Content without a start is flagged, and the deltas that follow are the same message's."""
        events = [content("h"), content("m"), CLOSE]
        assert both(*events) == [message("thinking-1", "hm", role="reasoning")]
        assert others(*events) == ["reasoning-not-open"]

    def test_needs_a_run(self) -> None:
        """Outside a run it is out of place, and appends all the same."""
        assert [one["content"] for one in both(content("h"), content("m"), onto=EMPTY)] == ["hm"]
        assert others(content("h"), onto=EMPTY) == ["first-event", "reasoning-not-open"]


class TestThinkingTextMessageEnd:
    """THINKING_TEXT_MESSAGE_END is REASONING_MESSAGE_END."""

    def test_closes_the_message(self) -> None:
        """After its end content opens another one."""
        events = [OPEN, content("a"), CLOSE, content("b")]
        assert [one["content"] for one in both(*events)] == ["a", "b"]
        assert others(*events) == ["reasoning-not-open"]

    def test_refuses_what_is_not_open(self) -> None:
        """An end without a start changes nothing."""
        assert both(CLOSE) == []
        assert others(CLOSE) == ["reasoning-not-open"]

    def test_a_run_leaves_nothing_open(self) -> None:
        """The next run starts without the message that the last one left open."""
        events = [OPEN, content("a"), FINISHED, STARTED, content("b")]
        assert [one["id"] for one in both(*events)] == ["thinking-1", "thinking-5"]
