"""The reference client as an oracle: what `@ag-ui/client` makes of a stream.

`ReferenceClient` starts one node process that runs streams through the client's whole pipeline (see
`reference/replay.mjs`) and turns its answers into `Outcome`s. Tests take it from the session fixture
`reference`, which installs the client on first use and skips where there is no node. With the environment
variable `CI` set it fails instead, so that a pipeline never passes by leaving the comparison out.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast, final

import pytest
from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

HERE = Path(__file__).parent / "reference"
SCRIPT = HERE / "replay.mjs"
INSTALLED = HERE / "node_modules" / "@ag-ui" / "client" / "package.json"
BATCH = 256


@frozen
class Outcome:
    """What the reference client made of one stream."""

    accepted: bool
    """Whether the client went through the stream without a protocol violation or a malformed event."""
    error: str | None
    """The message of the rejection."""
    truncated: bool
    """Whether the stream ended inside a run, which the client itself does not judge."""
    run_error: Mapping[str, Any] | None
    """The failure that the last run reported about itself: a well-formed stream, not a rejection."""
    messages: list[dict[str, Any]]
    """The messages after the last event that was delivered."""
    state: Any
    """The shared state after the last event that was delivered."""
    interrupts: list[dict[str, Any]]
    """The interrupts that wait for an answer."""
    warnings: list[str]
    """What the client warned about."""
    delivered: int
    """How many events the client took, the rejected one included."""

    @property
    def valid(self) -> bool:
        """Whether the stream is one the specification allows, from its first event to its end."""
        return self.accepted and not self.truncated


class ReplayError(RuntimeError):
    """The node process could not be started, or went away."""


def available() -> str | None:
    """Why the reference client cannot be run here; `None` where it can be."""
    if shutil.which("node") is None:
        return "node is not installed"
    if not INSTALLED.is_file():
        return "the reference client is not installed (npm ci in tests/reference)"
    return None


def install() -> None:
    """Install the pinned reference client beside its script, where git ignores it."""
    npm = shutil.which("npm")
    if npm is None:
        msg = "npm is not installed"
        raise ReplayError(msg)
    command = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)  # noqa: S603 - fixed
    if done.returncode != 0:
        msg = f"npm ci failed: {done.stderr.strip()[-2000:]}"
        raise ReplayError(msg)


@final
class ReferenceClient:
    """One node process that replays streams; a context manager.

    >>> with ReferenceClient() as client:  # doctest: +SKIP
    ...     [outcome] = client.replay([[{"type": "RUN_ERROR", "message": "unreachable"}]])
    """

    def __init__(self) -> None:
        """Prepare a client; the process starts with the context."""
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: IO[bytes] | None = None

    def __enter__(self) -> ReferenceClient:
        """Start the process."""
        reason = available()
        node = shutil.which("node")
        if reason is not None or node is None:
            raise ReplayError(reason)
        # A development or test mode makes the client freeze and clone all it holds for each event.
        environment = {key: value for key, value in os.environ.items() if key not in {"NODE_ENV", "VITEST_WORKER_ID"}}
        self._stderr = tempfile.TemporaryFile()
        self._process = subprocess.Popen(  # noqa: S603 - the command is fixed
            [node, str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=environment,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
        if self._stderr is not None:
            self._stderr.close()

    def replay(
        self,
        streams: Iterable[Sequence[Mapping[str, Any]]],
        *,
        messages: Sequence[Mapping[str, Any]] = (),
        state: Any = ...,
    ) -> list[Outcome]:
        """Run each stream through a client of its own, which starts from `messages` and `state` (`{}` by default)."""
        start: dict[str, Any] = {"messages": list(messages)}
        if state is not ...:
            start["state"] = state
        return self.ask({"events": list(stream), **start} for stream in streams)

    def ask(self, requests: Iterable[Mapping[str, Any]]) -> list[Outcome]:
        """Answer whole requests, each with keys of its own beside `events` (see `replay.mjs`)."""
        outcomes: list[Outcome] = []
        pending = iter(requests)
        while batch := list(islice(pending, BATCH)):
            outcomes.extend(_outcome(answer) for answer in self._exchange(batch))
        return outcomes

    def _exchange(self, batch: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            msg = "the reference client runs only inside its context"
            raise ReplayError(msg)
        lines = [json.dumps({**request, "id": number}).encode() + b"\n" for number, request in enumerate(batch)]
        # Both pipes are bounded: whoever wrote a whole batch before reading would wait for ever.
        writer = threading.Thread(target=_write, args=(process.stdin, b"".join(lines)), daemon=True)
        writer.start()
        for number in range(len(batch)):
            line = process.stdout.readline()
            if not line:
                raise ReplayError(self._last_words())
            answer = cast("dict[str, Any]", json.loads(line))
            if answer["id"] != number:
                msg = f"the answer to request {answer['id']} came where {number} was due"
                raise ReplayError(msg)
            yield answer
        writer.join()

    def _last_words(self) -> str:
        if self._stderr is None:
            return "node ended"
        self._stderr.seek(0)
        return f"node ended: {self._stderr.read().decode(errors='replace')[-2000:]}"


def _write(pipe: IO[bytes], data: bytes) -> None:
    try:
        pipe.write(data)
        pipe.flush()
    except BrokenPipeError:
        pass  # The reader sees the end of the answers and says why.


def _outcome(answer: Mapping[str, Any]) -> Outcome:
    return Outcome(
        accepted=answer["accepted"],
        error=answer["error"],
        truncated=answer["truncated"],
        run_error=answer["runError"],
        messages=answer["messages"],
        state=answer.get("state"),
        interrupts=answer["interrupts"],
        warnings=answer["warnings"],
        delivered=answer["delivered"],
    )


@pytest.fixture(scope="session")
def reference() -> Iterator[ReferenceClient]:
    """Yield the reference client, installed if need be; without node skip the test, or fail it where `CI` is set."""
    reason = available()
    if reason is not None and shutil.which("npm") is not None and shutil.which("node") is not None:
        try:
            install()
        except ReplayError as error:
            reason = str(error)
        else:
            reason = available()
    if reason is not None:
        if os.environ.get("CI"):
            pytest.fail(f"no reference client: {reason}")
        pytest.skip(f"no reference client: {reason}")
    with ReferenceClient() as client:
        yield client
