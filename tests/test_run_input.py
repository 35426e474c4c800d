"""The thread's next input: what goes along, what is left out, and what is refused."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import reduce
from typing import Any

import pytest
from ag_ui.core import ResumeEntry, RunAgentInput, UserMessage
from hypothesis import given
from hypothesis import strategies as st

from reducer import EMPTY, Layout, MalformedEvent, ResumeError, fold, project, run_input, seed
from reducer._frozen import to_wire
from reducer.strategies import streams

USER: dict[str, Any] = {"id": "u", "role": "user", "content": "hi"}
ACTIVITY: dict[str, Any] = {"id": "a", "role": "activity", "activityType": "plan", "content": {}}
NOW = datetime(2026, 1, 2, tzinfo=timezone.utc)


def holder(*calls: str, name: str = "m") -> dict[str, Any]:
    """Return a message that holds calls."""
    made = [{"id": call, "type": "function", "function": {"name": "f", "arguments": "{}"}} for call in calls]
    return {"id": name, "role": "assistant", "toolCalls": made}


def result(name: str, call: str) -> dict[str, Any]:
    """Return a result."""
    return {"id": name, "role": "tool", "toolCallId": call, "content": "done"}


def stored(*messages: Any, interrupts: tuple[dict[str, Any], ...] = (), **more: Any) -> dict[str, Any]:
    """Return a stored snapshot."""
    return {"threadId": "t", "messages": list(messages), "state": {}, "interrupts": list(interrupts), **more}


def interrupt(name: str, **more: Any) -> dict[str, Any]:
    """Return an interrupt."""
    return {"id": name, "reason": "input", **more}


def entry(name: str, status: str = "resolved", **more: Any) -> dict[str, Any]:
    """Return an answer."""
    return {"interruptId": name, "status": status, **more}


class TestWhatGoesAlong:
    """Messages, state and answers travel, activities do not."""

    @given(streams(), st.sampled_from(Layout))
    def test_any_thread(self, stream: list[dict[str, Any]], layout: Layout) -> None:
        """Of any thread the input has the messages but for activities, the state, and an entry per open interrupt."""
        snapshot = project(reduce(fold, stream, EMPTY), layout)
        entries = [entry(one["id"], "cancelled") for one in snapshot.interrupts]
        try:
            made = run_input(snapshot, "next", entries, thread_id="t", allow_pending=True)
        except MalformedEvent:
            assert "protocol_version" not in RunAgentInput.model_fields, (
                "only an older SDK cannot say what a thread has"
            )
            return
        wire = to_wire(made)
        assert isinstance(made, RunAgentInput)
        assert wire["messages"] == [message for message in snapshot.messages if message["role"] != "activity"]
        assert made.state == snapshot.state
        assert [one["interruptId"] for one in wire.get("resume", ())] == [one["id"] for one in snapshot.interrupts]

    def test_thread_and_run(self) -> None:
        """The thread's id comes from the snapshot unless another is given, the run's from the caller."""
        made = run_input(project(seed([USER], {}, "t")), "r")
        assert (made.thread_id, made.run_id, to_wire(made)["protocolVersion"]) == ("t", "r", "1.1")
        other = run_input(stored(USER), "r", thread_id="other", protocol_version=None)
        assert other.thread_id == "other"
        assert "protocolVersion" not in to_wire(other)

    def test_no_thread(self) -> None:
        """Without a thread's id there is no input."""
        with pytest.raises(MalformedEvent) as caught:
            run_input(project(seed([USER])), "r")
        assert caught.value.path == ("threadId",)

    def test_encrypted_values(self) -> None:
        """An encrypted value goes back on the message that has it."""
        made = run_input(stored({"id": "g", "role": "reasoning", "content": "", "encryptedValue": "v"}), "r")
        assert to_wire(made)["messages"][0]["encryptedValue"] == "v"

    def test_the_rest(self) -> None:
        """Tools, context and forwarded properties pass as they are."""
        about = [{"description": "d", "value": "v"}]
        tools = [{"name": "f", "description": "d", "parameters": {"type": "object"}}]
        wire = to_wire(run_input(stored(), "r", tools=tools, context=about, forwarded_props={"a": None}))
        assert (wire["tools"], wire["context"], wire["forwardedProps"]) == (tools, about, {"a": None})

    def test_news(self) -> None:
        """New messages follow, objects or wire forms; a result goes behind its call and the results already there."""
        calls, later = holder("c1", "c2"), {"id": "n", "role": "assistant", "content": "so"}
        user = UserMessage(id="u2", role="user", content="go on")
        news = [user, result("r2", "c2"), ACTIVITY, result("r3", "nobody")]
        wire = to_wire(run_input(stored(calls, result("r1", "c1"), later), "r", messages=news))
        assert [message["id"] for message in wire["messages"]] == ["m", "r1", "r2", "n", "u2", "r3"]

    def test_nothing_is_kept(self) -> None:
        """The snapshot and what is passed in stay as they were."""
        snapshot, news = stored(holder("c")), [result("x", "c")]
        run_input(snapshot, "r", messages=news)
        assert snapshot == stored(holder("c"))
        assert news == [result("x", "c")]


class TestAnswers:
    """Every open interrupt is answered once, in time, and nothing else is (spec: basic/patterns/interrupt-resume)."""

    def test_covered(self) -> None:
        """Answers pass as they are, objects or wire forms."""
        snapshot = stored(interrupts=(interrupt("i"), interrupt("j")))
        entries = [ResumeEntry(interrupt_id="i", status="resolved", payload={"ok": True}), entry("j", "cancelled")]
        wire = to_wire(run_input(snapshot, "r", entries))
        assert wire["resume"] == [entry("i", payload={"ok": True}), entry("j", "cancelled")]

    @pytest.mark.parametrize(
        ("entries", "problem", "ids"),
        [
            ([], "uncovered", ("i", "j")),
            ([entry("i")], "uncovered", ("j",)),
            ([entry("i"), entry("j"), entry("k")], "unknown", ("k",)),
            ([entry("i"), entry("j"), entry("i")], "repeated", ("i",)),
            ([entry("i"), entry("j")], "expired", ("j",)),
        ],
    )
    def test_refused(self, entries: list[dict[str, Any]], problem: str, ids: tuple[str, ...]) -> None:
        """What is not one answer per open interrupt is refused, and the error says which they are."""
        snapshot = stored(interrupts=(interrupt("i"), interrupt("j", expiresAt="2026-01-01T00:00:00.000Z")))
        with pytest.raises(ResumeError) as caught:
            run_input(snapshot, "r", entries, now=NOW)
        assert caught.value == ResumeError(problem, ids)
        assert all(repr(name) in str(caught.value) for name in ids)

    @pytest.mark.parametrize(
        ("told", "expired"),
        [
            ("2026-01-02T00:00:00Z", True),
            ("2026-01-02T01:00:00+01:00", True),
            ("2026-01-01", True),
            ("2026-01-02T00:00:00.001Z", False),
            ("2026-01-02T00:00:00-01:00", False),
            ("next week", False),
            ("", False),
        ],
    )
    def test_expiry(self, told: str, expired: bool) -> None:  # noqa: FBT001
        """A date that is now or earlier has passed; what is no date never comes; without a clock nothing expires."""
        snapshot = stored(interrupts=(interrupt("i", expiresAt=told),))
        for now in (NOW, NOW.replace(tzinfo=None), NOW.astimezone(timezone(timedelta(hours=9)))):
            if expired:
                with pytest.raises(ResumeError):
                    run_input(snapshot, "r", [entry("i")], now=now)
            else:
                run_input(snapshot, "r", [entry("i")], now=now)
        run_input(snapshot, "r", [entry("i")])
        run_input(snapshot, "r", [entry("i", "cancelled")], now=NOW)


class TestPendingCalls:
    """A thread that goes on answers its calls first (spec: events/tool-calls)."""

    def test_refused(self) -> None:
        """Calls without a result are refused and named, unless the caller allows them."""
        with pytest.raises(ResumeError) as caught:
            run_input(stored(holder("c1", "c2"), result("x", "c1"), holder("c2", name="n")), "r")
        assert caught.value == ResumeError("unanswered", ("c2",))
        run_input(stored(holder("c")), "r", allow_pending=True)

    def test_answered(self) -> None:
        """A result among the new messages answers a call, and so does the entry of the interrupt that concerns it."""
        run_input(stored(holder("c")), "r", messages=[result("x", "c")])
        asked = stored(holder("c"), interrupts=(interrupt("i", toolCallId="c"),))
        run_input(asked, "r", [entry("i", payload={"approved": True})])


class TestBadInput:
    """What the schema rejects is refused, with the place of the fault."""

    @pytest.mark.parametrize(
        ("more", "path"),
        [
            ({"messages": [{"id": "u", "role": "user"}]}, ("messages", 0, "content")),
            ({"messages": [{"id": "u", "role": "robot", "content": ""}]}, ("messages", 0)),
            ({"messages": [{"id": "m", "role": "user", "content": ""}]}, ("messages", 1, "id")),
            ({"resume": [{"interruptId": "i"}]}, ("resume", 0, "status")),
            ({"resume": [object()]}, ("resume", 0)),
            ({"tools": [{"name": 1}]}, ("tools", 0, "name")),
            ({"context": [{}]}, ("context", 0, "description")),
            ({"forwarded_props": float("inf")}, ("forwardedProps",)),
        ],
    )
    def test_refused(self, more: dict[str, Any], path: tuple[Any, ...]) -> None:
        """A wrong message, entry, tool or context is refused."""
        with pytest.raises(MalformedEvent) as caught:
            run_input(stored({"id": "m", "role": "assistant", "content": ""}), "r", **more)
        assert caught.value.path == path

    def test_edited_snapshot(self) -> None:
        """A snapshot that was edited into something invalid is refused, as `hydrate` refuses it."""
        with pytest.raises(MalformedEvent):
            run_input(stored({"id": "m", "role": "assistant", "contents": ""}), "r")

    def test_retired_parts(self) -> None:
        """A part of a shape that was retired goes along as what succeeded it."""
        part = {"type": "binary", "mimeType": "image/png", "url": "https://example.com/i.png"}
        wire = to_wire(run_input(stored({"id": "u", "role": "user", "content": [part]}), "r"))
        source = {"type": "url", "value": "https://example.com/i.png", "mimeType": "image/png"}
        assert wire["messages"][0]["content"] == [{"type": "image", "source": source}]

    def test_beyond_the_sdk(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What the installed SDK cannot say is refused and not sent in part."""

        class Older(RunAgentInput):
            messages: list[int]  # type: ignore[assignment]

        monkeypatch.setattr("reducer._run_input.RunAgentInput", Older)
        with pytest.raises(MalformedEvent) as caught:
            run_input(stored(USER), "r")
        assert caught.value.path == ("messages", 0)
        assert "installed SDK" in str(caught.value)
