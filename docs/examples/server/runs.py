"""The runs that this worker streams: from the agent through the fold into the store, whoever reads.

A run belongs to no request. Its readers may leave and come back, to another worker too: what they read is the log.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from ag_ui.core import RunAgentInput
from pydantic import BaseModel

from reducer import Event, State, decode, fold
from reducer.embed import Recorder

from .store import ClaimLostError, Key, Store, StoreFailedError

log = logging.getLogger(__name__)

Agent = Callable[[RunAgentInput], AsyncGenerator[Any, None]]
"""What streams a run: a function from its input to its events, objects of the SDK or wire forms."""

CHECKPOINT = 256
"""After how many events of a run there is a checkpoint; there is one at its end too."""


def wire(event: Any) -> dict[str, Any]:
    """Return an event as the dict that goes over the wire. Raises `MalformedEvent`.

    Older SDKs write null for what is absent, which clients refuse; leaving all nulls out would take those that a patch
    sets. Decoding knows which is which.
    """
    if isinstance(event, BaseModel):
        event = decode(event.model_dump(mode="json", by_alias=True))
    return event.to_dict() if isinstance(event, Event) else dict(event)


class Bell:
    """Tells the readers of a thread in this worker that there is more; those in other workers look for themselves."""

    def __init__(self) -> None:
        self.next = asyncio.Event()

    def ring(self) -> None:
        """Wake whoever waits for `next` as it was until now."""
        self.next.set()
        self.next = asyncio.Event()


class Run:
    """A run that this worker holds: the thread's recorder, and the way into the store."""

    def __init__(self, store: Store, key: Key, recorder: Recorder, bell: Bell) -> None:
        self.store = store
        self.key = key
        self.recorder = recorder
        self.bell = bell
        self.holder = uuid4().hex

    async def take(self, event: dict[str, Any]) -> bool:
        """Fold an event, store it, and only then let readers know; say whether it ends the run.

        Raises `ValueError` for what is no event; `StoreFailedError` and `ClaimLostError` where it is not stored.
        """
        if event["type"] == "RUN_STARTED":
            return False  # It stands in the log already, with what the user said.
        if not self.recorder.observe(event):
            raise ValueError(f"no event that can be folded: {event['type']}")
        last = event["type"] in ("RUN_FINISHED", "RUN_ERROR")
        length = self.recorder.state.position
        checkpoint = self.recorder.checkpoint() if last or length % CHECKPOINT == 0 else None
        await self.store.append(self.key, self.holder, length - 1, json.dumps(event), last=last, checkpoint=checkpoint)
        self.bell.ring()
        return last

    async def keep(self) -> None:
        """Renew the claim while the agent is silent."""
        while True:
            await asyncio.sleep(self.store.lease / 3)
            try:
                await self.store.renew(self.key, self.holder)
            except StoreFailedError:
                log.exception("the claim of thread %s is not renewed", self.key.thread)


class Runs:
    """Starts runs and sees them through."""

    def __init__(self, store: Store, agent: Agent) -> None:
        self.store = store
        self.agent = agent
        self._tasks: set[asyncio.Task[None]] = set()
        # A bell is there for as long as somebody holds it.
        self._bells: WeakValueDictionary[Key, Bell] = WeakValueDictionary()

    def bell(self, key: Key) -> Bell:
        """Return the bell of a thread."""
        return self._bells.setdefault(key, Bell())

    async def start(self, key: Key, state: State, started: dict[str, Any], run_input: RunAgentInput) -> State | None:
        """Start a run with the event `started` and return the state after it; `None` if the thread has moved on."""
        run = Run(self.store, key, Recorder(fold(state, started)), self.bell(key))
        if not await self.store.start(key, state.position, run_input.run_id, run.holder, json.dumps(started)):
            return None
        task = asyncio.create_task(self._see_through(run, run_input))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return run.recorder.state

    async def stop(self) -> None:
        """End the runs of this worker, which is about to go."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks)

    async def _see_through(self, run: Run, run_input: RunAgentInput) -> None:
        """Take the agent's events until the run is over, and end it if the agent does not."""
        keeper = asyncio.create_task(run.keep())
        try:
            problem = await self._problem(run, run_input)
            if problem is not None:
                await run.take(problem)
        except (StoreFailedError, ClaimLostError):
            # What was shown is stored. When the claim has lapsed, whoever looks at the thread closes the run.
            log.exception("run %s ends in the log where it is", run_input.run_id)
        finally:
            keeper.cancel()

    async def _problem(self, run: Run, run_input: RunAgentInput) -> dict[str, Any] | None:
        """Stream the run and return what is to be told of its failure, if it failed.

        What an exception says may be nobody else's business, so the log has it and readers do not.
        """
        try:
            async with aclosing(self.agent(run_input)) as events:
                async for event in events:
                    if await run.take(wire(event)):
                        return None
        except asyncio.CancelledError:
            return _failure("stopped", "The server was stopped.")
        except (StoreFailedError, ClaimLostError):
            raise
        except Exception:
            log.exception("the agent failed in run %s", run_input.run_id)
            return _failure("failed", "The agent failed.")
        return _failure("incomplete", "The agent stopped before its run was over.")


def _failure(code: str, message: str) -> dict[str, Any]:
    return {"type": "RUN_ERROR", "message": message, "code": code}
