"""For servers: fold what an agent streams while it streams, and never stand in its way.

    recorder = Recorder(loads(checkpoint), run_input)
    async for event in record(agent.run(run_input), recorder, on_end=save):
        await send(event)

1. An event is folded, then told to `on_state`, then passed on: what its reader can react to is in the state.
2. What is passed on is the object that came, in the order in which it came, as soon as it came.
3. What goes wrong here is reported and leaves the stream alone; what goes wrong in the stream is the stream's to raise.
4. However the stream ends, what was folded stays folded, and `on_end` is told of it.

`Recorder` changes, as nothing else of this library but `View` does. It is for one task, or one thread, at a time.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from reducer._checkpoint import dumps
from reducer._fold import fold
from reducer._frozen import to_wire
from reducer._project import Layout, Snapshot, project
from reducer._state import EMPTY, State
from reducer._wire import admit

__all__ = ["Failure", "OnState", "Recorder", "record"]

log: Final = logging.getLogger(__name__)
KEPT: Final = 100
"""How many failures are kept and logged; the others are counted."""

T = TypeVar("T")
OnState = Callable[[State], Any]
"""What `record` calls with a state: a function, or a coroutine function."""


class Failure(NamedTuple):
    """What went wrong beside a stream.

    `position` is the state's at that time, `where` one of "observe", "run_input", "on_state", "on_end".
    """

    position: int
    where: str
    error: Exception


class Recorder:
    """Folds events one by one; holds the state of a thread that goes on.

    `state` is where the thread stands: `EMPTY`, `seed(...)` of stored messages, or `loads(...)` of a checkpoint.
    `run_input`, a `RunAgentInput` or its wire form, is for producers that do not echo it: the next RUN_STARTED is
    folded as if it did, which brings the user's messages, the state that the run starts from and answers to interrupts.

    `failures` holds the first failures, `failure_count` counts all; each of the first is also logged as an error.
    """

    __slots__ = ("_run_input", "_state", "failure_count", "failures")

    def __init__(self, state: State = EMPTY, run_input: Any = None) -> None:
        self._state = state
        self._run_input = run_input
        self.failures: list[Failure] = []
        self.failure_count = 0

    @property
    def state(self) -> State:
        """The state after the events so far: an immutable value, which later events leave alone."""
        return self._state

    def observe(self, event: object) -> bool:
        """Fold an event and say whether that went well; an event that cannot be folded is a failure, never raised."""
        try:
            if self._run_input is not None and _type(event) == "RUN_STARTED":
                self._bring_input(event)
            else:
                self._state = fold(self._state, event)
        except Exception as error:  # noqa: BLE001 - whatever it is, the stream goes on
            self.report("observe", error)
            return False
        return True

    def _bring_input(self, event: Any) -> None:
        """Fold a RUN_STARTED with the input of the run; without it where the input is not what the schema allows."""
        told, self._run_input = self._run_input, None
        try:
            self._state = fold(self._state, _echoing(event, told))
        except ValueError as error:  # malformed, or no JSON
            self.report("run_input", error)
            self._state = fold(self._state, event)

    def snapshot(self, layout: Layout = Layout.STREAMED) -> Snapshot:
        """Return what a reader sees now: `project(state, layout)`."""
        return project(self._state, layout)

    def checkpoint(self) -> bytes:
        """Return the state in the form that `loads` reads: `dumps(state)`."""
        return dumps(self._state)

    def report(self, where: str, error: Exception) -> None:
        """Keep and log what went wrong."""
        self.failure_count += 1
        if self.failure_count > KEPT:
            return
        self.failures.append(Failure(self._state.position, where, error))
        rest = "; later failures are only counted" if self.failure_count == KEPT else ""
        log.error("%s failed after %d events%s", where, self._state.position, rest, exc_info=error)

    def __repr__(self) -> str:
        failed = f", {self.failure_count} failures" if self.failure_count else ""
        return f"<Recorder of {self._state!r}{failed}>"


def _type(event: Any) -> Any:
    kind = event.get("type") if isinstance(event, Mapping) else getattr(event, "type", None)
    return getattr(kind, "value", kind)


def _echoing(event: Any, run_input: Any) -> Any:
    """Return the RUN_STARTED as it would be if its producer echoed the input; itself where it does."""
    wire = admit(event).to_dict()
    return event if "input" in wire else {**wire, "input": to_wire(run_input)}


async def record(
    stream: AsyncIterable[T],
    recorder: Recorder | None = None,
    *,
    on_state: OnState | None = None,
    on_end: OnState | None = None,
) -> AsyncGenerator[T, None]:
    """Pass the events of `stream` on, unchanged, in order and without delay, and fold each before it is passed on.

    `on_state` is called with the state after every event, `on_end` once with the last state, when the stream is
    over: finished, failed, closed or left by its reader, or cancelled. A coroutine function is awaited beside the
    stream, one call at a time; states that come while it is busy wait, of which the last alone is told. So that what
    it does is done, the end of the stream waits for it, unless the task is cancelled.

    An exception of the stream's is raised unchanged. One of a callback, and an event that cannot be folded, is
    reported by the recorder and leaves the stream alone. Whoever closes this closes `stream`.
    """
    recorder = Recorder() if recorder is None else recorder
    calls, source, cancelled = _Calls(recorder), aiter(stream), False
    try:
        async for event in source:
            recorder.observe(event)
            if on_state is not None:
                calls.make("on_state", on_state, recorder.state)
            yield event
    except asyncio.CancelledError:
        cancelled = True
        raise
    finally:
        try:
            if hasattr(source, "aclose"):
                await source.aclose()
        finally:
            if on_end is not None:
                calls.make("on_end", on_end, recorder.state)
            if not cancelled:
                await calls.done()


class _Call(NamedTuple):
    where: str
    function: OnState
    state: State


_TASKS: Final[set[asyncio.Task[None]]] = set()
"""Calls at work: the event loop itself would let them be collected."""


class _Calls:
    """Calls of callbacks, in order and one at a time; a plain function is through when `make` returns."""

    __slots__ = ("_recorder", "_task", "_waiting")

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._task: asyncio.Task[None] | None = None
        self._waiting: dict[str, _Call] = {}

    def make(self, where: str, function: OnState, state: State) -> None:
        """Make a call, or have it wait; of those of one callback that wait, the last stands."""
        call = _Call(where, function, state)
        if self._task is not None:
            self._waiting[where] = call
            return
        rest = self._begun(call)
        if rest is not None:
            self._task = asyncio.ensure_future(self._finished(call, rest))
            _TASKS.add(self._task)
            self._task.add_done_callback(_TASKS.discard)

    async def done(self) -> None:
        """Wait until no call is at work."""
        if self._task is not None:
            await asyncio.shield(self._task)

    def _begun(self, call: _Call) -> Any:
        """Call the function; return what is left to wait for, if anything."""
        try:
            rest = call.function(call.state)
        except Exception as error:  # noqa: BLE001 - a callback's failure is not the stream's
            self._recorder.report(call.where, error)
            return None
        return rest if inspect.isawaitable(rest) else None

    async def _finished(self, call: _Call, rest: Any) -> None:
        """Wait for a call and then make those that wait."""
        try:
            while True:
                try:
                    if rest is not None:
                        await rest
                except Exception as error:  # noqa: BLE001 - a callback's failure is not the stream's
                    self._recorder.report(call.where, error)
                if not self._waiting:
                    return
                call = self._waiting.pop(next(iter(self._waiting)))
                rest = self._begun(call)
        finally:
            self._task = None
