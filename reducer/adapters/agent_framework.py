"""Microsoft's agent-framework: thread snapshots that are what the fold makes of a workflow's stream.

    add_agent_framework_fastapi_endpoint(
        app, FoldedWorkflow(workflow), "/", snapshot_store=store, authorization_scope_resolver=user
    )

`store` is any `AGUIThreadSnapshotStore`. What it is given are the framework's own `AGUIThreadSnapshot`s, which the
framework itself reads back, to hydrate a client that reloads and to go on with the thread. Needs the package
`agent-framework-ag-ui` (tested with 1.7), and nothing of it that is not public.

1. What the framework knows of a thread before a run (its checks of what a client may add included) stays as it is.
2. What the run streamed is folded on top of that: nothing lost, ids unique, each result behind its call.
3. Interrupts and private session state are the framework's, and so are tool results, which it may have amended.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final

from ag_ui.core import BaseEvent
from agent_framework_ag_ui import AgentFrameworkWorkflow, AGUIThreadSnapshot, AGUIThreadSnapshotStore

from reducer._batch import fold_all
from reducer._fold import seed
from reducer._project import Layout, project

__all__ = ["FoldedWorkflow"]

log: Final = logging.getLogger(__name__)
Message = dict[str, Any]
CAMEL: Final = {"tool_calls": "toolCalls", "tool_call_id": "toolCallId", "encrypted_value": "encryptedValue"}
"""Names that the framework reads and writes in two ways."""


class FoldedWorkflow(AgentFrameworkWorkflow):  # type: ignore[misc, unused-ignore]  # its types are there where it is
    """An `AgentFrameworkWorkflow` that stores what streamed, as a reader saw it; it takes the same arguments.

    `layout` is how messages are stored. `activities` says whether activities are kept, which a client sees again when
    it reloads; the model never sees them, but without this class, on the same store, the framework would take them
    for the user's words.

    A run that fails or that its client leaves is not stored, as with the framework itself. Where the fold cannot read
    the stored thread, that is logged and the framework's own snapshot is stored.
    """

    def __init__(
        self, *workflow: Any, layout: Layout = Layout.STREAMED, activities: bool = True, **options: Any
    ) -> None:
        super().__init__(*workflow, **options)
        self.layout = layout
        self.activities = activities

    async def run(self, input_data: dict[str, Any]) -> AsyncGenerator[BaseEvent, None]:
        """Run the workflow and yield its events, unchanged."""
        # The framework asks its runner for the store, once a run: each run has a runner with a store of its own.
        runner, store = copy.copy(self), None
        if self.snapshot_store is not None:
            runner.snapshot_store = store = _RunStore(self, input_data.get("messages") or ())
        async with aclosing(super(FoldedWorkflow, runner).run(input_data)) as events:
            async for event in events:
                if store is not None:
                    store.events.append(event)
                yield event


class _RunStore:
    """A store as one run sees it: in place of what the framework saves goes what the fold makes of the run's events."""

    def __init__(self, runner: FoldedWorkflow, asked: Iterable[Message]) -> None:
        self.events: list[BaseEvent] = []
        self._store: AGUIThreadSnapshotStore = runner.snapshot_store
        self._layout, self._activities = runner.layout, runner.activities
        self._asked = list(asked)
        self._stored: list[Message] = []

    async def get(self, *, scope: str, thread_id: str) -> AGUIThreadSnapshot | None:
        """Return the stored thread; for a run that goes on with it without activities, which it would misread."""
        found = await self._store.get(scope=scope, thread_id=thread_id)
        self._stored = [] if found is None else list(found.messages)
        return None if found is None else replace(found, messages=self._given())

    async def save(self, *, scope: str, thread_id: str, snapshot: AGUIThreadSnapshot) -> None:
        """Save the thread as the fold has it."""
        left_out = len(self._stored) - len(self._given())
        whole = replace(snapshot, messages=[*self._stored, *snapshot.messages[len(self._stored) - left_out :]])
        try:
            whole = self._folded(whole, left_out + self._known(snapshot.messages))
        except Exception:
            log.exception("thread %s is stored as the framework has it, since the fold cannot read it", thread_id)
        await self._store.save(scope=scope, thread_id=thread_id, snapshot=whole)

    async def delete(self, *, scope: str, thread_id: str) -> bool:
        """Delete the stored thread."""
        return bool(await self._store.delete(scope=scope, thread_id=thread_id))

    async def clear(self, *, scope: str | None = None) -> None:
        """Delete all threads, or those of one scope."""
        await self._store.clear(scope=scope)

    def _given(self) -> list[Message]:
        """Return the stored messages as the run is given them: where it goes on with them, without activities."""
        return [message for message in self._stored if not self._asked or message.get("role") != "activity"]

    def _folded(self, snapshot: AGUIThreadSnapshot, known: int) -> AGUIThreadSnapshot:
        """Return the snapshot with what the run's events make of its first `known` messages, and of its state."""
        history, amended = snapshot.messages[:known], snapshot.messages[known:]
        before = seed(map(_wire, history), {} if snapshot.state is None else snapshot.state)
        after = project(fold_all(before, self.events), self._layout)
        # A message goes back as the framework wrote it, private fields included, where the run has not altered it.
        untouched = {_key(message): message for message in project(before, self._layout).messages}
        written = {_key(message): message for message in reversed(history)}
        results = {_key(message): message for message in amended if message.get("role") == "tool"}
        messages = []
        for message in after.messages:
            key = _key(message)
            if key in written and untouched.get(key) == message:
                messages.append(written[key])
            elif message["role"] != "activity" or self._activities:
                messages.append(results.get(key, message))
        state = after.state if isinstance(after.state, dict) and (after.state or snapshot.state) else snapshot.state
        return replace(snapshot, messages=messages, state=state)

    def _known(self, messages: list[Message]) -> int:
        """Return how many of the messages were there before the run: the stored ones and what came with the request."""
        named = {getattr(event, "message_id", None) for event in self.events}
        known = len(self._given() or self._asked)
        # Behind a stored thread stand the user's new words, answers and results of calls; the run's messages come last.
        for message in messages[known:]:
            if message.get("role") in ("assistant", "reasoning") or message.get("id") in named:
                break
            known += 1
        return known


def _wire(message: Message) -> Message:
    """Return the message with the protocol's names."""
    return {CAMEL.get(name, name): value for name, value in message.items()}


def _key(message: Message) -> tuple[Any, Any, Any]:
    return message.get("role"), message.get("id"), _wire(message).get("toolCallId")
