"""Subagent invocations: announced, then closed or suspended, once each in a run (spec: events/subagents)."""

from __future__ import annotations

from typing import Any

from reducer import EMPTY
from tests.cases.build import FINISHED, STARTED, Wire, codes, details, finished, said, seen, text


def subagent(verb: str, name: str = "s", /, **fields: Any) -> Wire:
    """Return an event about an invocation."""
    called = {"name": "scout"} if verb == "STARTED" else {"message": "lost"} if verb == "ERROR" else {}
    return {"type": f"SUBAGENT_{verb}", "subagentRunId": name, **called, **fields}


def told(*events: Wire) -> list[Wire]:
    """Return what the run tells of its subagents."""
    subagents: list[Wire] = seen(*events).runs[-1]["subagents"]
    return subagents


START = subagent("STARTED")


class TestSubagentStarted:
    """SUBAGENT_STARTED announces an invocation."""

    def test_announces(self) -> None:
        """The run lists the invocation with all that the event says of it."""
        about = {"description": "looks around", "parentToolCallId": "c", "parentMessageId": "m"}
        nested = subagent("STARTED", "s2", parentSubagentRunId="s", **about)
        one = {"subagentRunId": "s", "name": "scout", "status": "running", "span": [1, 1]}
        two = {"subagentRunId": "s2", "name": "scout", "status": "running", "span": [2, 2], "parentSubagentRunId": "s"}
        assert told(START, nested) == [one, {**two, **about}]
        assert codes(START, nested) == []

    def test_builds_no_message(self) -> None:
        """An announcement shows in no message."""
        assert seen(START).messages == []

    def test_refuses_one_that_is_active(self) -> None:
        """A second announcement changes nothing."""
        again = {**START, "name": "another name"}
        assert codes(START, again) == ["subagent-already-active"]
        assert [one["name"] for one in told(START, again)] == ["scout"]

    def test_refuses_one_that_was(self) -> None:
        """An invocation that the run has closed does not start again."""
        assert codes(START, subagent("FINISHED"), START) == ["subagent-reused"]
        assert [one["status"] for one in told(START, subagent("FINISHED"), START)] == ["finished"]

    def test_a_new_run_may_reuse_the_id(self) -> None:
        """Invocations are the run's: the next one starts without them."""
        assert codes(START, subagent("FINISHED"), FINISHED, STARTED, START) == []

    def test_flags_an_unknown_parent(self) -> None:
        """A parent that this run has not announced is flagged, and kept."""
        orphan = subagent("STARTED", parentSubagentRunId="gone")
        assert codes(orphan) == ["subagent-parent-unknown"]
        assert told(orphan)[0]["parentSubagentRunId"] == "gone"

    def test_needs_a_run(self) -> None:
        """Outside a run it is out of place, and judged like any other."""
        assert codes(START, onto=EMPTY) == ["first-event"]
        assert codes(START, START, onto=EMPTY) == ["first-event", "subagent-already-active"]

    def test_is_open_until_it_ends(self) -> None:
        """An invocation that is active is open when the run finishes, which abandons it."""
        assert details(START, FINISHED) == ["subagent 's'"]
        assert [one["status"] for one in told(START, FINISHED)] == ["abandoned"]

    def test_no_announcement_is_needed(self) -> None:
        """What is tagged is the subagent's, announced or not."""
        tagged = text("CONTENT", delta="hi", subagentRunId="s")
        assert seen(text("START", subagentRunId="s"), tagged).messages[0]["subagentRunId"] == "s"
        assert codes(text("START", subagentRunId="s"), tagged) == []


class TestSubagentFinished:
    """SUBAGENT_FINISHED closes or suspends an invocation."""

    def test_closes(self) -> None:
        """The invocation has finished, at the position of its last event."""
        [one] = told(START, subagent("FINISHED"))
        assert (one["status"], one["span"]) == ("finished", [1, 2])

    def test_keeps_the_result(self) -> None:
        """The result is any JSON value."""
        [one] = told(START, subagent("FINISHED", result={"found": [None]}))
        assert one["result"] == {"found": [None]}

    def test_suspends(self) -> None:
        """With an outcome that says so the invocation is suspended, and not open when the run ends."""
        outcome = {"type": "suspended", "interruptIds": ["i"]}
        [one] = told(START, subagent("FINISHED", outcome=outcome), FINISHED)
        assert (one["status"], one["outcome"]) == ("suspended", outcome)
        assert codes(START, subagent("FINISHED", outcome=outcome), FINISHED) == []

    def test_keeps_a_plain_outcome(self) -> None:
        """An outcome of success is a finish."""
        [one] = told(START, subagent("FINISHED", outcome={"type": "success"}))
        assert (one["status"], one["outcome"]) == ("finished", {"type": "success"})

    def test_refuses_one_that_is_not_active(self) -> None:
        """An end without a start, and a second end, change nothing."""
        assert codes(subagent("FINISHED")) == ["subagent-not-active"]
        assert codes(START, subagent("ERROR"), subagent("FINISHED")) == ["subagent-not-active"]
        assert told(START, subagent("ERROR"), subagent("FINISHED"))[0]["status"] == "error"

    def test_needs_a_run(self) -> None:
        """Outside a run nothing is active."""
        assert codes(subagent("FINISHED"), onto=EMPTY) == ["first-event", "subagent-not-active"]

    def test_ends_the_lanes_chunk_stream(self) -> None:
        """A chunk stream of the invocation ends with it."""
        chunk = text("CHUNK", delta="hi", subagentRunId="s")
        assert codes(START, chunk, subagent("FINISHED"), text("CHUNK", None, delta="x")) == ["chunk-without-id"]


class TestSubagentError:
    """SUBAGENT_ERROR closes an invocation that failed; the run goes on."""

    def test_closes_as_failed(self) -> None:
        """The invocation's error and code are told."""
        [one] = told(START, subagent("ERROR", code="E1"))
        assert (one["status"], one["message"], one["code"]) == ("error", "lost", "E1")

    def test_the_run_goes_on(self) -> None:
        """What the parent agent streams afterwards is as ever, and the run finishes."""
        events = [START, subagent("ERROR"), *said("m", "so be it"), FINISHED]
        assert codes(*events) == []
        assert seen(*events).runs[0]["status"] == "finished"

    def test_keeps_what_was_streamed(self) -> None:
        """What the invocation said stays, still open parts included."""
        shown = seen(START, text("START", subagentRunId="s"), text("CONTENT", delta="half"), subagent("ERROR"))
        assert shown.messages == [{"id": "m", "role": "assistant", "content": "half", "subagentRunId": "s"}]

    def test_refuses_one_that_is_not_active(self) -> None:
        """A failure of what is not active changes nothing."""
        assert codes(subagent("ERROR")) == ["subagent-not-active"]
        assert codes(START, subagent("ERROR", "s2"), subagent("FINISHED"), finished()) == ["subagent-not-active"]
