"""`reducer.embed`: a stream passes through unharmed and folds on its way, whatever else happens."""

from __future__ import annotations

import asyncio
import copy
import gc
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import suppress
from typing import Any

import pytest
from ag_ui.core import RunAgentInput, RunStartedEvent
from hypothesis import given
from hypothesis import strategies as st

from reducer import EMPTY, Layout, MalformedEvent, State, decode, dumps, fold, fold_all, loads, project, seed
from reducer.embed import KEPT, Recorder, record
from reducer.strategies import broken_streams, streams

RUN: list[dict[str, Any]] = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hello"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
]
MALFORMED = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": 1}
INPUT = {
    "threadId": "t",
    "runId": "r",
    "state": {"k": 1},
    "messages": [{"id": "u", "role": "user", "content": "Hi"}],
    "tools": [],
    "context": [],
    "forwardedProps": {},
}


class AgentError(Exception):
    """What the agent raises."""


async def agent(events: Iterable[Any], closed: list[str] | None = None) -> AsyncGenerator[Any, None]:
    """Stream events, raising those that are exceptions; note how it ended."""
    try:
        for event in events:
            if isinstance(event, AgentError):
                raise event  # noqa: TRY301 - it notes its own end as well
            yield event
    except BaseException as error:
        if closed is not None:
            closed.append(type(error).__name__)
        raise


async def drained(stream: AsyncIterator[Any]) -> list[Any]:
    """Read a stream to its end."""
    return [event async for event in stream]


def is_well_formed(event: dict[str, Any]) -> bool:
    """Say whether the schema admits an event."""
    try:
        fold(EMPTY, event)
    except MalformedEvent:
        return False
    return True


class TestPassing:
    """What goes through `record` comes out as it went in."""

    @given(st.one_of(streams(), broken_streams()))
    def test_unchanged(self, stream: list[dict[str, Any]]) -> None:
        """The very objects come out, in order and untouched, and the state is what `fold_all` makes of them."""
        untouched, recorder = copy.deepcopy(stream), Recorder()
        passed = asyncio.run(drained(record(agent(stream), recorder)))
        assert [*map(id, passed)] == [*map(id, stream)]
        assert stream == untouched
        folded = [event for event in stream if is_well_formed(event)]
        assert recorder.state == fold_all(EMPTY, folded)
        assert recorder.failure_count == len(stream) - len(folded)

    def test_folded_before_it_is_passed(self) -> None:
        """Who has an event finds it in the state, and told to `on_state`; nothing is read ahead of the reader."""

        async def scene() -> None:
            recorder, read, told = Recorder(), 0, list[State]()

            async def counted() -> AsyncIterator[Any]:
                nonlocal read
                for event in RUN:
                    read += 1
                    yield event

            seen = 0
            async for _ in record(counted(), recorder, on_state=told.append):
                seen += 1
                assert recorder.state.position == read == seen
                assert told[-1] is recorder.state

        asyncio.run(scene())

    def test_changed_by_its_reader(self) -> None:
        """A reader may change the events it gets; the state keeps what came."""

        async def scene() -> Recorder:
            recorder = Recorder()
            events = [{"type": "STATE_SNAPSHOT", "snapshot": {"list": [1]}}, *copy.deepcopy(RUN)]
            async for event in record(agent(events), recorder):
                event.get("snapshot", {}).clear()
                event["messageId"] = event["delta"] = "changed"
            return recorder

        shown = asyncio.run(scene()).snapshot()
        assert shown.state == {"list": [1]}
        assert [message["content"] for message in shown.messages] == ["Hello"]

    def test_malformed(self, caplog: pytest.LogCaptureFixture) -> None:
        """A malformed event is passed on as well; it is reported, and the fold goes on without it."""
        recorder = Recorder()
        events = [*RUN[:2], MALFORMED, None, *RUN[2:]]
        assert asyncio.run(drained(record(agent(events), recorder))) == events
        assert recorder.state == fold_all(EMPTY, RUN)
        assert [(failure.position, failure.where) for failure in recorder.failures] == [(2, "observe")] * 2
        assert all(isinstance(failure.error, MalformedEvent) for failure in recorder.failures)
        assert "delta: must be a string" in caplog.text

    def test_any_async_iterable(self) -> None:
        """An iterator that is no generator, and cannot be closed, serves."""

        class Stream:
            def __init__(self) -> None:
                self.rest = iter(RUN)

            def __aiter__(self) -> Stream:
                return self

            async def __anext__(self) -> Any:
                for event in self.rest:
                    return event
                raise StopAsyncIteration

        recorder = Recorder()
        assert asyncio.run(drained(record(Stream(), recorder))) == RUN
        assert recorder.state.position == len(RUN)


class TestEnds:
    """However a stream ends, what was folded is there and `on_end` is told."""

    def test_agent_raises(self) -> None:
        """An exception of the agent's reaches the reader as it is."""
        error, ends, recorder = AgentError(), list[State](), Recorder()
        with pytest.raises(AgentError) as raised:
            asyncio.run(drained(record(agent([*RUN[:3], error]), recorder, on_end=ends.append)))
        assert raised.value is error
        assert recorder.state == fold_all(EMPTY, RUN[:3])
        assert ends == [recorder.state]
        assert recorder.failures == []

    def test_reader_closes(self) -> None:
        """Who closes the recorded stream closes the agent's."""

        async def scene() -> tuple[list[str], Recorder, list[State]]:
            closed, recorder, ends = list[str](), Recorder(), list[State]()
            stream = record(agent(RUN, closed), recorder, on_end=ends.append)
            assert await anext(stream) is RUN[0]
            await stream.aclose()
            return closed, recorder, ends

        closed, recorder, ends = asyncio.run(scene())
        assert closed == ["GeneratorExit"]
        assert ends == [recorder.state] == [fold_all(EMPTY, RUN[:1])]

    def test_reader_leaves(self) -> None:
        """A reader that breaks off and closes nothing ends the stream as well, once it is forgotten."""

        async def scene() -> tuple[list[str], list[State]]:
            closed, ended = list[str](), asyncio.get_running_loop().create_future()
            async for event in record(agent(RUN, closed), on_end=ended.set_result):
                if event is RUN[2]:
                    break
            gc.collect()
            return closed, [await ended]

        closed, ends = asyncio.run(scene())
        assert closed == ["GeneratorExit"]
        assert ends == [fold_all(EMPTY, RUN[:3])]

    def test_cancelled(self) -> None:
        """A cancelled reader is cancelled at once, a store that hangs or not, and the agent with it."""

        async def scene() -> tuple[list[str], Recorder, list[State]]:
            closed, recorder, ends = list[str](), Recorder(), list[State]()
            waiting, stored = asyncio.Event(), asyncio.Event()

            async def slow() -> AsyncIterator[Any]:
                try:
                    yield RUN[0]
                    waiting.set()
                    await asyncio.Event().wait()
                except BaseException as error:
                    closed.append(type(error).__name__)
                    raise

            async def save(state: State) -> None:
                await stored.wait()
                ends.append(state)

            reader = asyncio.create_task(drained(record(slow(), recorder, on_end=save)))
            await waiting.wait()
            reader.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reader
            assert ends == []
            stored.set()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            return closed, recorder, ends

        closed, recorder, ends = asyncio.run(scene())
        assert closed == ["CancelledError"]
        assert ends == [recorder.state] == [fold_all(EMPTY, RUN[:1])]

    def test_agent_fails_to_close(self) -> None:
        """An agent that raises while it is closed raises to whoever closes, and `on_end` is told all the same."""

        async def stubborn() -> AsyncGenerator[Any, None]:
            try:
                yield RUN[0]
            finally:
                raise AgentError

        async def scene() -> list[State]:
            ends = list[State]()
            stream = record(stubborn(), on_end=ends.append)
            await anext(stream)
            with pytest.raises(AgentError):
                await stream.aclose()
            return ends

        assert asyncio.run(scene()) == [fold_all(EMPTY, RUN[:1])]


class TestCallbacks:
    """A callback sees every state, or the latest, and cannot harm the stream."""

    def test_every_state(self) -> None:
        """A plain function is called with the state after each event, and at the end with the last."""
        told, ends = list[State](), list[State]()
        asyncio.run(drained(record(agent(RUN), on_state=told.append, on_end=ends.append)))
        assert told == [fold_all(EMPTY, RUN[:count]) for count in range(1, len(RUN) + 1)]
        assert ends == [told[-1]]

    @pytest.mark.parametrize("asynchronous", [False, True])
    def test_failing(self, *, asynchronous: bool, caplog: pytest.LogCaptureFixture) -> None:
        """A callback that raises is reported, called again with the next state, and breaks nothing."""

        def failing(_: State) -> None:
            raise OSError("the disk is full")

        async def failing_later(_: State) -> None:
            raise OSError("the disk is full")

        recorder, callback = Recorder(), failing_later if asynchronous else failing
        passed = asyncio.run(drained(record(agent(RUN), recorder, on_state=callback, on_end=callback)))
        assert passed == RUN
        assert recorder.state == fold_all(EMPTY, RUN)
        where = [failure.where for failure in recorder.failures]
        # Nothing in this stream lets another task run before its end: one call is begun, one waits.
        assert where == (["on_state"] * 2 if asynchronous else ["on_state"] * len(RUN)) + ["on_end"]
        assert "the disk is full" in caplog.text

    def test_failing_for_ever(self, caplog: pytest.LogCaptureFixture) -> None:
        """Of failures without end the first are kept and logged, and all are counted."""
        recorder = Recorder()
        for _ in range(KEPT + 20):
            recorder.observe(MALFORMED)
        assert (len(recorder.failures), recorder.failure_count) == (KEPT, KEPT + 20)
        assert sum(entry.levelno == logging.ERROR for entry in caplog.records) == KEPT
        assert "only counted" in caplog.records[-1].message
        assert repr(recorder) == f"<Recorder of {EMPTY!r}, {KEPT + 20} failures>"

    def test_slow(self) -> None:
        """A coroutine delays no event; it runs one call at a time, skips to the latest state, and is waited for."""

        async def scene() -> tuple[list[int], int]:
            told, at_work, passed = list[int](), 0, 0
            released = asyncio.Event()

            async def save(state: State) -> None:
                nonlocal at_work
                at_work += 1
                assert at_work == 1
                await released.wait()
                at_work -= 1
                told.append(state.position)

            async for _ in record(agent(RUN), on_state=save, on_end=save):
                passed += 1
                await asyncio.sleep(0)
                if passed == len(RUN):
                    assert told == []
                    released.set()
            return told, passed

        # The first, the last that waited, and the end.
        assert asyncio.run(scene()) == ([1, len(RUN), len(RUN)], len(RUN))

    @pytest.mark.parametrize("events", [RUN, [*RUN, AgentError()]], ids=["finished", "failed"])
    def test_waited_for(self, events: list[Any]) -> None:
        """When the stream is over for its reader, what an asynchronous callback does is done."""

        async def scene() -> list[State]:
            ends = list[State]()

            async def save(state: State) -> None:
                for _ in range(10):
                    await asyncio.sleep(0)
                ends.append(state)

            with suppress(AgentError):
                await drained(record(agent(events), on_end=save))
            return list(ends)

        assert asyncio.run(scene()) == [fold_all(EMPTY, RUN)]


class TestRecorder:
    """The one mutable thing."""

    def test_looks(self) -> None:
        """What a recorder shows is what `project` and `dumps` make of its state, and later events leave it alone."""
        recorder = Recorder()
        assert [recorder.observe(event) for event in RUN[:2]] == [True] * 2
        # Nothing to see but for the official client.
        assert recorder.snapshot().messages == []
        assert [message["id"] for message in recorder.snapshot(Layout.MERGED).messages] == ["m"]
        assert recorder.observe(RUN[2])
        state = recorder.state
        assert recorder.snapshot() == project(state)
        assert recorder.checkpoint() == dumps(state)
        assert recorder.observe(RUN[3])
        assert state == fold_all(EMPTY, RUN[:3])
        assert repr(recorder) == f"<Recorder of {recorder.state!r}>"

    def test_goes_on(self) -> None:
        """A recorder goes on from a checkpoint, in the middle of a run too, and from stored messages."""
        begun = Recorder()
        for event in RUN[:3]:
            begun.observe(event)
        later = Recorder(loads(begun.checkpoint()))
        asyncio.run(drained(record(agent(RUN[3:]), later)))
        assert later.state == fold_all(EMPTY, RUN)
        seeded = Recorder(seed(INPUT["messages"], thread_id="t"))
        asyncio.run(drained(record(agent(RUN), seeded)))
        assert [message["id"] for message in seeded.snapshot().messages] == ["u", "m"]

    @pytest.mark.parametrize("made", [dict, decode, RunStartedEvent.model_validate], ids=["wire", "decoded", "sdk"])
    @pytest.mark.parametrize("told", [dict, RunAgentInput.model_validate], ids=["wire", "sdk"])
    def test_input(self, made: Callable[[Any], Any], told: Callable[[Any], Any]) -> None:
        """The input of a run comes in with its start, as if the producer had echoed it, and only once."""
        recorder = Recorder(run_input=told(INPUT))
        asyncio.run(drained(record(agent([made(RUN[0]), *RUN[1:]]), recorder)))
        assert recorder.state == fold_all(EMPTY, [{**RUN[0], "input": INPUT}, *RUN[1:]])
        after = recorder.state
        assert recorder.observe({**RUN[0], "runId": "r2"})
        assert recorder.state == fold_all(after, [{**RUN[0], "runId": "r2"}])

    def test_echoed_input(self) -> None:
        """What the producer echoes itself stands."""
        echoed = {**RUN[0], "input": {**INPUT, "state": {"k": 2}}}
        recorder = Recorder(run_input=INPUT)
        recorder.observe(echoed)
        assert recorder.state == fold_all(EMPTY, [echoed])

    def test_bad_input(self) -> None:
        """An input that the schema rejects is reported, and the run starts without it."""
        recorder = Recorder(run_input={**INPUT, "messages": [{"role": "user"}]})
        assert recorder.observe(RUN[0])
        assert recorder.state == fold_all(EMPTY, RUN[:1])
        assert [failure.where for failure in recorder.failures] == ["run_input"]

    def test_known_messages(self) -> None:
        """A client sends the whole thread each time; what the recorder has already is not doubled."""
        recorder = Recorder(seed([*INPUT["messages"], {"id": "a", "role": "assistant", "content": "Hi"}]), INPUT)
        recorder.observe(RUN[0])
        assert [message["id"] for message in recorder.snapshot().messages] == ["u", "a"]
