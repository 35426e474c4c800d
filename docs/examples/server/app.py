"""A server that streams an agent over SSE and keeps its threads: routes, and how a thread is read.

    POST /agent                     starts a run and streams it; the body is a RunAgentInput
    GET  /threads/{thread}/events   streams a thread: all of it, or what comes after `Last-Event-ID`

1. Whoever reads, reads the log: the one who started the run, the one who reloads, the one who comes late or comes
   back, in whichever worker. So all of them end with the same messages and the same state.
2. An event's id is how many events of the log its reader has with it: `81`.
3. A reader who has nothing is first brought to where the thread stands: by `rejoin` while a run goes on, by `hydrate`
   else. The third of those events, told after 80 of the log, is `80.3`. Since they follow from the log alone, a
   reader who was dropped among them gets the rest from any worker.

    TOKENS='{"secret": "alice"}' uvicorn --factory docs.examples.server.app:main
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from ag_ui.core import RunAgentInput
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from reducer import Layout, MalformedEvent, ResumeError, Snapshot, State, decode, hydrate, project, rejoin, run_input

from .agent import agent as scripted
from .runs import Agent, Runs, wire
from .store import Head, Key, Store, StoreFailedError, open_store

log = logging.getLogger(__name__)

POLL = 0.2
"""After how many seconds a reader looks for events that another worker stored."""
QUIET = 15.0
"""After how many seconds of silence a reader is sent a comment, so that no proxy takes the connection for dead."""
ID = re.compile(r"[A-Za-z0-9._:~-]{1,128}")
EVENT_ID = re.compile(r"([0-9]{1,10})(?:\.([0-9]{1,10}))?")


class Place(NamedTuple):
    """Where a reader is: after `position` events of the log, and `told` of those that bring them there, if any do."""

    position: int
    told: int | None = None


class Server:
    """The routes over one store, one agent, and who may come in: whose scope each token opens."""

    def __init__(self, store: Store, agent: Agent, tokens: dict[str, str]) -> None:
        self.store = store
        self.runs = Runs(store, agent)
        self.tokens = tokens

    async def run(self, request: Request) -> Response:
        """Start a run and stream it; a run that is known already is only streamed, so a request may be repeated."""
        scope = self._scope(request)
        given = await _given(request)
        key = _key(scope, given.thread_id)
        while True:
            state = await self.store.state(key)
            snapshot = project(state, Layout.MERGED)
            if any(run["runId"] == given.run_id for run in snapshot.runs):
                break
            after = await self._started(key, state, snapshot, given)
            if after is not None:
                state = after
                break
            await self._refuse_second(key, given.run_id)
        return self._stream(request, key, Place(state.position, 0), _opening(state, key))

    async def events(self, request: Request) -> Response:
        """Stream a thread to a reader who has nothing, or has what `Last-Event-ID` says."""
        key = _key(self._scope(request), request.path_params["thread"])
        head = await self.store.head(key)
        if head is None:
            # The same for a thread of somebody else's: nobody learns which ids there are.
            raise HTTPException(404, "There is no such thread.")
        place = _place(request.headers.get("last-event-id"), head)
        opening = []
        if place.told is not None:
            opening = _opening(await self.store.state(key, place.position), key)
            if place.told > len(opening):
                raise HTTPException(400, "Last-Event-ID is no event of this thread.")
        if place.told in (None, len(opening)) and place.position == head.length and head.run is None:
            return Response(status_code=204)  # At which an EventSource stops asking.
        return self._stream(request, key, place, opening)

    async def _started(self, key: Key, state: State, snapshot: Snapshot, given: RunAgentInput) -> State | None:
        """Start the run that was asked for; return the state then, or `None` where the thread has moved on meanwhile.

        The thread is what is stored, whatever the client believes: of its input only what it may say is taken, new
        messages of the user and results of tools, and answers to interrupts.
        """
        known = {message["id"] for message in snapshot.messages}
        new = [message for message in given.messages if message.role in ("user", "tool") and message.id not in known]
        try:
            whole = run_input(
                snapshot,
                given.run_id,
                getattr(given, "resume", None) or (),
                messages=new,
                tools=given.tools or (),
                context=given.context or (),
                forwarded_props=given.forwarded_props,
                thread_id=key.thread,
                # A run that failed may have left calls without a result; the thread must not stay shut for that.
                allow_pending=True,
            )
        except ResumeError as error:
            raise HTTPException(409, str(error)) from error
        except MalformedEvent as error:
            raise HTTPException(422, str(error)) from error
        # Other readers are told what is new. What else the client sent along is between it and the agent.
        sent = whole.model_dump(mode="json", by_alias=True)
        told = {name: value for name, value in sent.items() if name in ("threadId", "runId", "state", "resume")}
        told |= {"messages": [message.model_dump(mode="json", by_alias=True) for message in new]}
        told |= {"tools": [], "context": [], "forwardedProps": {}}
        started = wire(decode({"type": "RUN_STARTED", "threadId": key.thread, "runId": given.run_id, "input": told}))
        return await self.runs.start(key, state, started, whole)

    async def _refuse_second(self, key: Key, run: str) -> None:
        """Refuse a run while another one goes on; close one that nobody holds."""
        head = await self.store.head(key)
        if head is not None and head.lapsed:
            await self.store.close_lapsed(key)
        elif head is not None and head.run not in (None, run):
            raise HTTPException(409, f"Run {head.run} of this thread still goes on.")

    def _stream(self, request: Request, key: Key, place: Place, opening: list[dict[str, Any]]) -> Response:
        headers = {
            "Cache-Control": "no-store",
            # Where whoever is dropped comes back to.
            "Content-Location": request.url_for("events", thread=key.thread).path,
            # Some proxies would hold events back to send more at once.
            "X-Accel-Buffering": "no",
        }
        return StreamingResponse(self._frames(key, place, opening), media_type="text/event-stream", headers=headers)

    async def _frames(self, key: Key, place: Place, opening: list[dict[str, Any]]) -> AsyncIterator[str]:
        """Give a reader what is left of the opening, then the log from there on, until no run goes on."""
        for number, told in enumerate(opening, 1):
            if number > (place.told or 0):
                yield _frame(f"{place.position}.{number}", json.dumps(told))
        position, bell, spoke = place.position, self.runs.bell(key), time.monotonic()
        while True:
            # Taken before the log is read: what is stored after that rings it.
            rung = bell.next
            head, events = await self.store.events(key, position)
            for event in events:
                position += 1
                yield _frame(str(position), event)
            if events:
                spoke = time.monotonic()
            elif head.lapsed:
                await self.store.close_lapsed(key)
            elif head.run is None:
                return
            else:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(rung.wait(), POLL)
                if time.monotonic() > spoke + QUIET:
                    yield ": still there\n\n"
                    spoke = time.monotonic()

    def _scope(self, request: Request) -> str:
        """Return whose threads this is about: never what a request says of itself, always what its token opens."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        scope = self.tokens.get(token) if kind.lower() == "bearer" else None
        if scope is None:
            raise HTTPException(401, "A token is needed.", {"WWW-Authenticate": "Bearer"})
        return scope


async def _given(request: Request) -> RunAgentInput:
    try:
        given = RunAgentInput.model_validate_json(await request.body())
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(map(str, first["loc"]))
        raise HTTPException(422, f"No RunAgentInput: {path}: {first['msg']}") from error
    if not ID.fullmatch(given.run_id):
        raise HTTPException(422, f"No id of a run: {given.run_id!r}")
    return given


def _key(scope: str, thread: str) -> Key:
    if not ID.fullmatch(thread):
        raise HTTPException(422, f"No id of a thread: {thread!r}")
    return Key(scope, thread)


def _place(event_id: str | None, head: Head) -> Place:
    """Return where a reader is; one who has nothing is to be told how the thread stands now."""
    if event_id is None:
        return Place(head.length, 0)
    match = EVENT_ID.fullmatch(event_id)
    if match is None or int(match[1]) > head.length:
        raise HTTPException(400, "Last-Event-ID is no event of this thread.")
    return Place(int(match[1]), None if match[2] is None else int(match[2]))


def _opening(state: State, key: Key) -> list[dict[str, Any]]:
    """Return the events that bring a reader to where a thread stands; none in front of its first."""
    snapshot = project(state, Layout.MERGED)
    if not snapshot.runs:
        return []
    last = snapshot.runs[-1]
    told = rejoin(state) if last["status"] == "running" else hydrate(snapshot, key.thread, last["runId"])
    opening = [wire(event) for event in told]
    for event in opening:
        if event["type"] == "MESSAGES_SNAPSHOT":
            event["metadata"] = {**event.get("metadata", {}), "wholeThread": True}
    return opening


def _frame(event_id: str, event: str) -> str:
    return f"id: {event_id}\ndata: {event}\n\n"


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def _store_failed(_: Request, error: Exception) -> Response:
    log.error("the store failed", exc_info=error)
    return JSONResponse({"error": "The store does not answer."}, 503, {"Retry-After": "1"})


def create_app(store: Store, agent: Agent, tokens: dict[str, str]) -> Starlette:
    """Return the application."""
    server = Server(store, agent, tokens)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await store.create()
        yield
        await server.runs.stop()
        store.close()

    return Starlette(
        routes=[
            Route("/agent", server.run, methods=["POST"]),
            Route("/threads/{thread}/events", server.events, name="events"),
        ],
        exception_handlers={HTTPException: _refused, StoreFailedError: _store_failed},
        lifespan=lifespan,
    )


def main() -> Starlette:
    """Return the application that the environment describes."""
    store = open_store(os.environ.get("DATABASE", "threads.db"), float(os.environ.get("LEASE", "10")))
    return create_app(store, scripted, json.loads(os.environ["TOKENS"]))
