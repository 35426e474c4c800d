"""Threads in a database: every event as it came, and now and then a checkpoint. SQLite or PostgreSQL.

1. The events are the truth; a checkpoint saves folding all of them again.
2. A thread is known by its scope and its id together: whose it is, is part of the key of every row.
3. A run is claimed with the event that starts it and released with the event that ends it, each in one transaction.
   So a log never holds two runs at once, and a run that nobody holds has an end.
4. A claim lapses when its holder has not renewed it in time; then whoever looks first closes the run (`close_lapsed`).
5. An event goes in only for the holder of the claim, and only at the end of the log.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, ClassVar, Concatenate, NamedTuple, ParamSpec, TypeVar

from reducer import EMPTY, CheckpointError, State, fold_all, loads

log = logging.getLogger(__name__)

TABLES = """
CREATE TABLE IF NOT EXISTS threads (
    scope TEXT, thread TEXT, length INTEGER NOT NULL,
    run TEXT, holder TEXT, until DOUBLE PRECISION,
    PRIMARY KEY (scope, thread)
);
CREATE TABLE IF NOT EXISTS events (
    scope TEXT, thread TEXT, position INTEGER, event TEXT NOT NULL,
    PRIMARY KEY (scope, thread, position)
);
CREATE TABLE IF NOT EXISTS checkpoints (
    scope TEXT, thread TEXT, position INTEGER, state BYTEA NOT NULL,
    PRIMARY KEY (scope, thread, position)
)
"""
PAGE = 1000
"""How many events a reader is given at once."""
LONGEST = 2**31 - 1

HEAD = "SELECT length, run, until FROM threads WHERE scope = ? AND thread = ?"
EVENTS = "SELECT event FROM events WHERE scope = ? AND thread = ? AND position >= ? ORDER BY position LIMIT ?"
CHECKPOINTS = """
SELECT state FROM checkpoints WHERE scope = ? AND thread = ? AND position <= ? ORDER BY position DESC
"""
INSERT_THREAD = "INSERT INTO threads VALUES (?, ?, 0, NULL, NULL, NULL) ON CONFLICT DO NOTHING"
INSERT_EVENT = "INSERT INTO events VALUES (?, ?, ?, ?)"
INSERT_CHECKPOINT = "INSERT INTO checkpoints VALUES (?, ?, ?, ?)"
CLAIM = """
UPDATE threads SET length = length + 1, run = ?, holder = ?, until = ?
WHERE scope = ? AND thread = ? AND holder IS NULL AND length = ?
"""
APPEND = "UPDATE threads SET length = length + 1 WHERE scope = ? AND thread = ? AND holder = ? AND length = ?"
RELEASE = """
UPDATE threads SET run = NULL, holder = NULL, until = NULL WHERE scope = ? AND thread = ? AND holder = ?
"""
RENEW = "UPDATE threads SET until = ? WHERE scope = ? AND thread = ? AND holder = ?"
CLOSE = """
UPDATE threads SET length = length + 1, run = NULL, holder = NULL, until = NULL
WHERE scope = ? AND thread = ? AND until < ? RETURNING length
"""
# The one before the newest stays, for the day the newest is damaged.
DELETE_OUTDATED = """
DELETE FROM checkpoints WHERE scope = ? AND thread = ? AND position < (
    SELECT max(position) FROM checkpoints WHERE scope = ? AND thread = ? AND position < ?
)
"""
ABANDONED = {"type": "RUN_ERROR", "message": "The server that ran this went away.", "code": "abandoned"}


class Key(NamedTuple):
    """What a thread is known by: whose it is, and its id."""

    scope: str
    thread: str


class Head(NamedTuple):
    """Where a thread stands: how many events it has, and the run that goes on, if any, with when its claim lapses."""

    length: int
    run: str | None
    until: float | None

    @property
    def lapsed(self) -> bool:
        """Whether a run goes on that nobody has vouched for in time."""
        return self.until is not None and self.until < time.time()


class StoreFailedError(Exception):
    """The database could not be reached, or refused."""


class ClaimLostError(Exception):
    """The run is no longer this worker's: its claim lapsed and somebody has closed it."""


P = ParamSpec("P")
T = TypeVar("T")
Operation = Callable[Concatenate[Any, Any, P], T]


def transaction(mode: str) -> Callable[[Operation[P, T]], Callable[Concatenate[Any, P], Awaitable[T]]]:
    """Make a method one transaction, in a thread of the store's, so that the event loop never waits for a disk."""

    def decorated(operation: Operation[P, T]) -> Callable[Concatenate[Any, P], Awaitable[T]]:
        @wraps(operation)
        async def call(self: Store, /, *args: P.args, **kwargs: P.kwargs) -> T:
            def work() -> T:
                with self.cursor(mode) as cursor:
                    return operation(self, cursor, *args, **kwargs)

            return await asyncio.get_running_loop().run_in_executor(self.threads, work)

        return call

    return decorated


class Store(ABC):
    """The threads of everyone. `lease` is for how many seconds a claim holds unless it is renewed."""

    errors: type[Exception]
    """What the database raises."""
    begin: ClassVar[dict[str, str]]
    """How a transaction begins that reads, that writes, that makes the tables."""

    def __init__(self, url: str, lease: float) -> None:
        self.url = url
        self.lease = lease
        self.threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="store")
        self._idle: list[Any] = []

    @abstractmethod
    def connect(self) -> Any:
        """Open a connection that begins no transaction by itself."""

    @contextmanager
    def cursor(self, mode: str) -> Iterator[Any]:
        """Give a cursor inside a transaction, which is rolled back if anything is raised."""
        connection = None
        try:
            connection = self._begun(mode)
            yield connection.cursor()
            connection.execute("COMMIT")
            self._idle.append(connection)
            connection = None
        except self.errors as error:
            raise StoreFailedError(str(error)) from error
        finally:
            # One that failed is not trusted again. Closing alone would keep its transaction for as long as anybody,
            # such as a traceback, holds its cursor.
            if connection is not None:
                with suppress(self.errors):
                    connection.rollback()
                connection.close()

    def _begun(self, mode: str) -> Any:
        """Return a connection inside a transaction: an idle one, unless it died meanwhile, else a new one."""
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                try:
                    connection.execute(self.begin[mode])
                except self.errors:
                    connection.close()
                else:
                    return connection
        connection = self.connect()
        connection.execute(self.begin[mode])
        return connection

    @transaction("create")
    def create(self, cursor: Any) -> None:
        """Make the tables, where there are none."""
        for statement in TABLES.split(";"):
            cursor.execute(statement)

    def close(self) -> None:
        """Let go of the database."""
        self.threads.shutdown()
        while self._idle:
            self._idle.pop().close()

    @transaction("read")
    def head(self, cursor: Any, key: Key) -> Head | None:
        """Return where a thread stands; `None` for one that nobody has started in this scope."""
        return _head(cursor, key)

    @transaction("read")
    def events(self, cursor: Any, key: Key, position: int) -> tuple[Head, list[str]]:
        """Return where a thread stands, and its next events from `position` on, as JSON; none at its end."""
        head = _head(cursor, key)
        assert head is not None, "threads stay"
        cursor.execute(EVENTS, (*key, position, PAGE))
        return head, [event for (event,) in cursor]

    @transaction("read")
    def state(self, cursor: Any, key: Key, position: int = LONGEST) -> State:
        """Return the state of a thread, or that after its first `position` events; no damaged checkpoint misleads."""
        state = EMPTY
        cursor.execute(CHECKPOINTS, (*key, position))
        for (data,) in cursor.fetchall():
            try:
                state = loads(bytes(data))
                break
            except CheckpointError:
                log.exception("a checkpoint of thread %s is left out", key.thread)
        cursor.execute(EVENTS, (*key, state.position, position - state.position))
        return fold_all(state, (json.loads(event) for (event,) in cursor))

    @transaction("write")
    def start(self, cursor: Any, key: Key, position: int, run: str, holder: str, event: str) -> bool:
        """Claim a thread for a run and store the event that starts it; say whether `position` was still its end."""
        cursor.execute(INSERT_THREAD, key)
        cursor.execute(CLAIM, (run, holder, time.time() + self.lease, *key, position))
        if not cursor.rowcount:
            return False
        cursor.execute(INSERT_EVENT, (*key, position, event))
        return True

    @transaction("write")
    def append(
        self, cursor: Any, key: Key, holder: str, position: int, event: str, *, last: bool, checkpoint: bytes | None
    ) -> None:
        """Store the next event of a run, with a checkpoint of the state after it; the last event releases the claim.

        Raises `ClaimLostError` where the run has been closed meanwhile.
        """
        cursor.execute(APPEND, (*key, holder, position))
        if not cursor.rowcount:
            raise ClaimLostError(key.thread)
        cursor.execute(INSERT_EVENT, (*key, position, event))
        if checkpoint is not None:
            cursor.execute(INSERT_CHECKPOINT, (*key, position + 1, checkpoint))
            cursor.execute(DELETE_OUTDATED, (*key, *key, position + 1))
        if last:
            cursor.execute(RELEASE, (*key, holder))

    @transaction("write")
    def renew(self, cursor: Any, key: Key, holder: str) -> None:
        """Vouch for a run for another while, if it is still the holder's."""
        cursor.execute(RENEW, (time.time() + self.lease, *key, holder))

    @transaction("write")
    def close_lapsed(self, cursor: Any, key: Key) -> None:
        """End the run of a thread, as failed, if its holder is gone."""
        cursor.execute(CLOSE, (*key, time.time()))
        for (length,) in cursor.fetchall():
            cursor.execute(INSERT_EVENT, (*key, length - 1, json.dumps(ABANDONED)))


def _head(cursor: Any, key: Key) -> Head | None:
    cursor.execute(HEAD, key)
    row = cursor.fetchone()
    return None if row is None else Head(*row)


def open_store(url: str, lease: float = 10.0) -> Store:
    """Return the store that `url` names: `postgresql://...`, or the path of a file for SQLite."""
    # Each needs this module; and who has no PostgreSQL needs no psycopg.
    if url.startswith(("postgresql:", "postgres:")):
        from .postgresql import PostgreSQL  # noqa: PLC0415

        return PostgreSQL(url, lease)
    from .sqlite import SQLite  # noqa: PLC0415

    return SQLite(url, lease)
