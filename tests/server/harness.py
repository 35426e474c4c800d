"""What the tests of the example server need: real databases, real server processes, real clients in Node.

Everything that is waited for is a condition with a bound (`until`); nothing sleeps for luck.
"""

from __future__ import annotations

import http.client
import json
import os
import pwd
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import IO, Any, NoReturn, final

import pytest
from attrs import define, field, frozen

from tests import reference_client

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "server"
BOUND = 60.0
"""Seconds until a condition that does not come is a failure: far above what any takes."""
SECRETS = {"alice": "alices-secret", "bob": "bobs-secret"}


def until(condition: Callable[[], Any], what: str, bound: float = BOUND) -> Any:
    """Wait for a condition to be true and return it."""
    end = time.monotonic() + bound
    while not (met := condition()):
        assert time.monotonic() < end, f"waited for {bound} s: {what}"
        time.sleep(0.005)
    return met


class Database(ABC):
    """A database of a test's own, as somebody sees it who is not the server."""

    url: str

    @abstractmethod
    def query(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""

    @abstractmethod
    def refuse(self, thread: str, position: int) -> None:
        """Refuse to store any event of a thread from `position` on."""

    @abstractmethod
    def relent(self) -> None:
        """Store everything again."""

    def disconnect(self) -> None:  # noqa: B027 - a file has no connections to lose
        """Drop all connections but one's own."""

    def log(self, thread: str, scope: str = "alice") -> list[dict[str, Any]]:
        """Return the events of a thread."""
        rows = self.query(
            "SELECT position, event FROM events WHERE scope = ? AND thread = ? ORDER BY position", scope, thread
        )
        assert [position for position, _ in rows] == list(range(len(rows)))
        return [json.loads(event) for _, event in rows]

    def holder(self, thread: str) -> Any:
        """Return who holds the run of a thread, if anyone."""
        return self.query("SELECT holder FROM threads WHERE scope = 'alice' AND thread = ?", thread)[0][0]

    def until_length(self, thread: str, length: int) -> None:
        """Wait until a thread has so many events."""
        counted = "SELECT length FROM threads WHERE scope = 'alice' AND thread = ? AND length >= ?"
        until(lambda: self.query(counted, thread, length), f"{length} events of {thread}")


@final
class SQLiteFile(Database):
    """A file."""

    def __init__(self, folder: Path) -> None:
        self.url = str(folder / "threads.db")

    def query(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        with closing(sqlite3.connect(self.url, timeout=BOUND, isolation_level=None)) as connection:
            return connection.execute(statement, parameters).fetchall()

    def refuse(self, thread: str, position: int) -> None:
        """Refuse to store any event of a thread from `position` on."""
        condition = f"NEW.thread = '{thread}' AND NEW.position >= {position}"
        raising = "SELECT RAISE(FAIL, 'disk I/O error in /var/lib/secret.db')"
        self.query(f"CREATE TRIGGER refusing BEFORE INSERT ON events WHEN {condition} BEGIN {raising}; END")

    def relent(self) -> None:
        """Store everything again."""
        self.query("DROP TRIGGER refusing")


@final
class PostgreSQLSchema(Database):
    """A schema of a server."""

    _names = count()

    def __init__(self, server: str) -> None:
        name = f"test{next(self._names)}_{os.getpid()}"
        self.url = f"{server}&options=-csearch_path%3D{name}"
        self.query(f"CREATE SCHEMA {name}")

    def query(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement.replace("?", "%s").encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []

    def refuse(self, thread: str, position: int) -> None:
        """Refuse to store any event of a thread from `position` on."""
        raising = "BEGIN RAISE EXCEPTION 'disk I/O error in /var/lib/secret.db'; END"
        self.query(f"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $${raising}$$")
        condition = f"NEW.thread = '{thread}' AND NEW.position >= {position}"
        when = f"BEFORE INSERT ON events FOR EACH ROW WHEN ({condition})"
        self.query(f"CREATE TRIGGER refusing {when} EXECUTE FUNCTION refuse()")

    def relent(self) -> None:
        """Store everything again."""
        self.query("DROP TRIGGER refusing ON events")

    def disconnect(self) -> None:
        """Drop all connections but one's own."""
        others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        self.query(f"SELECT pg_terminate_backend(pid) {others}")
        until(lambda: self.query(f"SELECT count(*) {others}") == [(0,)], "the connections to be dropped")


def postgresql_programs() -> Path | None:
    """Find the folder with the programs of a PostgreSQL server: on the path, or where Debian keeps them."""
    found = shutil.which("initdb")
    kept = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return Path(found).resolve().parent if found else kept[-1].parent if kept else None


@contextmanager
def postgresql(programs: Path) -> Iterator[str]:
    """Run a PostgreSQL server of our own, reached by a socket in its folder; yield its URL."""
    # It refuses to be root, so root starts it as somebody else.
    user = pwd.getpwnam("nobody").pw_name if os.getuid() == 0 else None
    run = partial(subprocess.run, user=user, check=True, capture_output=True)
    # A path of a socket has to be short, and pytest's folders are not open to other users.
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder:
        if user is not None:
            shutil.chown(folder, user)
        data = f"{folder}/data"
        run(
            [programs / "initdb", "--no-sync", "--auth=trust", "--username=tester", "--encoding=UTF8", data], cwd=folder
        )
        settings = f"-k {folder} -c listen_addresses='' -c fsync=off"
        control = [programs / "pg_ctl", "-w", "-D", data]
        run([*control, "-o", settings, "-l", f"{folder}/log", "start"], cwd=folder)
        try:
            yield f"postgresql:///postgres?user=tester&host={folder}"
        finally:
            run([*control, "-m", "immediate", "stop"], cwd=folder)


@frozen
class Answer:
    """What came back for a request."""

    status: int
    headers: dict[str, str]
    body: str

    @property
    def error(self) -> str:
        """What a refusal says."""
        return str(json.loads(self.body)["error"])

    @property
    def frames(self) -> list[tuple[str, dict[str, Any]]]:
        """The ids and events of a stream."""
        lines = [frame.split("\n") for frame in self.body.split("\n\n")[:-1] if not frame.startswith(":")]
        return [(ident.removeprefix("id: "), json.loads(data.removeprefix("data: "))) for ident, data in lines]


@final
@define
class Server:
    """A uvicorn with the example's application in a process of its own; a context manager."""

    database: Database
    folder: Path
    lease: float = 30.0
    options: tuple[str, ...] = ()
    application: str = "tests.server.gated:main"
    port: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _log: Path = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.port = self.port or _free_port()
        self._log = self.folder / f"log{self.port}"

    def __enter__(self) -> Server:
        """Start the server and wait until it answers."""
        environment = {
            "DATABASE": self.database.url,
            "LEASE": str(self.lease),
            "TOKENS": json.dumps({secret: who for who, secret in SECRETS.items()}),
        }
        command = [sys.executable, "-m", "uvicorn", "--factory", self.application, f"--port={self.port}"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the command is ours
                [*command, *self.options], cwd=ROOT, env={**os.environ, **environment}, stdout=log, stderr=log
            )
        try:
            until(self._answers, "the server to start")
        except BaseException:
            self.signal(signal.SIGKILL)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End the server as a power cut would."""
        self.signal(signal.SIGKILL)

    def signal(self, number: signal.Signals) -> None:
        """Send the process a signal; wait for its end, if that is what it means."""
        assert self._process is not None
        self._process.send_signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            self._process.wait(BOUND)

    @property
    def url(self) -> str:
        """Where the server is."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """What the server has logged."""
        return self._log.read_text(encoding="utf-8")

    @property
    def connections(self) -> int:
        """How many connections the server has that it has not closed."""
        rows = (line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:])
        open_or_left = ("01", "08")
        return sum(row[1].endswith(f":{self.port:04X}") and row[3] in open_or_left for row in rows)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    @contextmanager
    def open(
        self, method: str, path: str, body: Any = None, *, who: str | None = "alice", **headers: Any
    ) -> Iterator[http.client.HTTPResponse]:
        """Make a request and give the answer as it comes; leave, and the connection is closed."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent |= {} if who is None else {"Authorization": f"Bearer {SECRETS.get(who, who)}"}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=BOUND)) as connection:
            connection.request(method, path, data, sent)
            with connection.getresponse() as response:
                yield response

    def ask(self, method: str, path: str, body: Any = None, **given: Any) -> Answer:
        """Make a request and return the whole answer."""
        with self.open(method, path, body, **given) as response:
            return Answer(response.status, dict(response.getheaders()), response.read().decode())


def _free_port() -> int:
    """Return a port below those that systems hand out, so that nobody takes it while its server is down."""
    for port in range(20_000 + os.getpid() * 97 % 11_000, 32_000):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if port not in _TAKEN and probe.connect_ex(("127.0.0.1", port)) != 0:
                _TAKEN.add(port)
                return port
    raise AssertionError("no port is free")


_TAKEN: set[int] = set()


@final
class Browser:
    """A Node process with tabs (see `tabs.mjs`); a context manager."""

    def __init__(self, folder: Path) -> None:
        for source in (EXAMPLE / "client.mjs", Path(__file__).with_name("tabs.mjs")):
            shutil.copy(source, folder)
        # Node looks for packages beside the file that imports them.
        (folder / "node_modules").symlink_to(reference_client.HERE / "node_modules")
        self._script = folder / "tabs.mjs"
        self._reports: dict[str, list[dict[str, Any]]] = {}
        self._names = (f"tab {number}" for number in count())

    def __enter__(self) -> Browser:
        """Start the process."""
        self._process = subprocess.Popen(  # noqa: S603 - the command is ours
            ["node", self._script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _listen(self, reports: IO[bytes]) -> None:
        for line in reports:
            report = json.loads(line)
            self._reports[report.pop("tab")].append(report)

    def tab(
        self, server: Server, thread: str, *, cuts: tuple[int, ...] = (), who: str = "alice", plain: bool = False
    ) -> Tab:
        """Open a tab with a thread."""
        tab = Tab(self, next(self._names))
        self._reports[tab.name] = tab.reports
        tab.tell(do="open", url=server.url, token=SECRETS[who], threadId=thread, cuts=cuts, plain=plain)
        return tab

    def tell(self, command: dict[str, Any]) -> None:
        """Pass a command on."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        self._process.stdin.flush()


@final
@define
class Tab:
    """A tab with a thread, and what it has reported."""

    browser: Browser
    name: str
    reports: list[dict[str, Any]] = field(factory=list)

    def tell(self, **command: Any) -> None:
        """Give a command."""
        self.browser.tell({"tab": self.name, **command})

    def run(self, run: str, text: str, **props: Any) -> Tab:
        """Say something and run the agent."""
        self.tell(do="run", runId=run, message=said(run, text), props=props)
        return self

    def connect(self) -> Tab:
        """Read what there is."""
        self.tell(do="connect")
        return self

    def all(self, kind: str) -> list[Any]:
        """Return what was reported of a kind."""
        return [report[kind] for report in self.reports if kind in report]

    def until(self, kind: str, value: Any) -> None:
        """Wait until something is reported."""
        until(lambda: {kind: value} in self.reports, f"{self.name} to report {kind} {value}: {self.reports[-3:]}")

    def done(self, times: int = 1) -> dict[str, Any]:
        """Wait for the end of a run or a reading, the first or a later one, and return what the tab then holds."""
        ends: list[dict[str, Any]] = until(
            lambda: ends if len(ends := self.all("done")) >= times else None, f"{self.name} to be done"
        )
        return ends[times - 1]


def said(run: str, text: str) -> dict[str, Any]:
    """Return what a user says to start a run."""
    return {"id": f"{run}-asked", "role": "user", "content": text}


def request(thread: str, run: str, text: str, **props: Any) -> dict[str, Any]:
    """Return the body that starts a run."""
    empty: dict[str, Any] = {"state": {}, "tools": [], "context": []}
    return {"threadId": thread, "runId": run, "messages": [said(run, text)], "forwardedProps": props, **empty}


def absent(what: str) -> NoReturn:
    """Skip where something is not there, and fail where it has to be."""
    if os.environ.get("CI") and not os.environ.get("WITHOUT_POSTGRESQL"):
        pytest.fail(what)
    pytest.skip(what)
