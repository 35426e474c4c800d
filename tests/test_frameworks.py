"""The frameworks that the library is embedded in: their real packages, each in an environment of its own.

Their pins do not go together with one another's, nor all with the SDK of these tests. An environment is made once, of
what the golden logs were recorded with, and kept in pytest's cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from reducer import EMPTY, Layout, fold_all, project, seed
from tests.frameworks.start import examples, outputs
from tests.reference_client import ReferenceClient

ROOT = Path(__file__).parents[1]
HERE = ROOT / "tests" / "frameworks"
PAGES = ROOT / "docs" / "how-to"
ENVIRONMENTS = {"agent-framework": ["agent-framework"], "others": ["pydantic-ai", "ag-ui-langgraph", "agno"]}
"""Whose requirements go together: folders of `golden`."""
OURS = ["attrs", "pyrsistent", "coverage"]
EMBEDDED = {
    "embed-in-agent-framework.md": "agent-framework",
    "embed-in-agno.md": "others",
    "embed-in-langgraph.md": "others",
    "embed-in-pydantic-ai.md": "others",
}
Json = dict[str, Any]
Start = Callable[[str, Path], str]

pytestmark = pytest.mark.slow


def installed(home: Path, name: str) -> Path:
    """Return the interpreter of an environment, which is made where there is none. Raises `CalledProcessError`."""
    files = [ROOT / "tests" / "golden" / folder / "requirements.txt" for folder in ENVIRONMENTS[name]]
    made_of = [sys.version, *OURS, *(file.read_text(encoding="utf-8") for file in files)]
    environment = home / hashlib.sha256("\n".join(made_of).encode()).hexdigest()[:12]
    python, complete = environment / "bin" / "python", environment / "complete"
    with FileLock(home / "lock"):
        if not complete.exists():
            requirements = [argument for file in files for argument in ("-r", str(file))]
            for command in (
                [sys.executable, "-m", "venv", "--clear", str(environment)],
                [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *requirements, *OURS],
            ):
                subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - fixed commands
            complete.touch()
    return python


@pytest.fixture(scope="session")
def start(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Start:
    """Run a script or a page in an environment and return what it printed; without the environment skip, or fail."""

    def run(name: str, file: Path) -> str:
        try:
            python = installed(request.config.cache.mkdir(f"frameworks-{name}"), name)
        except subprocess.CalledProcessError as error:
            reason = f"cannot install {name}: {error.stderr.strip()[-500:]}"
            (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
        done = subprocess.run(  # noqa: S603 - the project's own files
            [str(python), str(HERE / "start.py"), str(file)],
            cwd=tmp_path_factory.mktemp(name),
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize("page", sorted(EMBEDDED))
def test_page(page: str, start: Start) -> None:
    """What a page says about a framework runs against the framework, and prints what the page says."""
    text = (PAGES / page).read_text(encoding="utf-8")
    assert outputs(text)
    assert start(EMBEDDED[page], PAGES / page) == outputs(text)


def test_pages() -> None:
    """Each page that is left out of the other examples is run here."""
    assert sorted(path.name for path in PAGES.glob("embed-in-*.md")) == sorted(EMBEDDED)


def test_examples() -> None:
    """The Python of a page keeps its line numbers, and what it prints is what the page's text blocks say."""
    page = "Text.\n\n```python\na = 1\n```\n\n```bash\nno\n```\n\n```python\nprint(a)\n```\n\n```text\n1\n```\n"
    assert examples(page).split("\n")[3] == "a = 1"
    assert [line for line in examples(page).split("\n") if line] == ["a = 1", "print(a)"]
    assert outputs(page) == "1\n"


def parsed(printed: str) -> Json:
    """Return the JSON that a script printed, whatever else its framework says."""
    lines = [line for line in printed.splitlines() if line.startswith("{")]
    assert len(lines) == 1, printed[:1000]
    found: Json = json.loads(lines[0])
    return found


def test_client_that_goes_away(start: Start) -> None:
    """However a server learns that the client left, the agent ends and what it streamed so far is kept."""
    scenes = parsed(start("others", HERE / "play_disconnect.py"))
    assert scenes["2.3"] == {"kept": 3, "position": 3, "sent": 3, "agent": ["CancelledError"]}
    # Only the refusal of the fourth event says it.
    assert scenes["2.4"] == {"kept": 4, "position": 4, "sent": 3, "agent": ["GeneratorExit"]}


@pytest.fixture(scope="session")
def failed(start: Start) -> Json:
    """Return what `play_failing.py` printed: by the name of its page, what was sent."""
    return parsed(start("others", HERE / "play_failing.py"))


@pytest.mark.parametrize("page", sorted(page for page, name in EMBEDDED.items() if name == "others"))
def test_model_that_fails(page: str, failed: Json) -> None:
    """On the server of a page, a second run whose model fails in the middle keeps what streamed, as it streamed."""
    scene = failed[page]
    question = {"id": "user-2", "role": "user", "content": "And tomorrow?"}
    assert scene["live"][-1]["type"] == "RUN_ERROR"
    assert scene["runs"] == ["finished", "error"]
    messages = shown(scene["again"])
    assert messages == shown(scene["live"], [*scene["before"], question])
    assert messages[:-1] == [*scene["before"], question]
    assert messages[-1]["content"] == "Sunny but "
    assert scene["unknown"] == 404


@pytest.fixture(scope="session")
def played(start: Start) -> Json:
    """Return what `play_agent_framework.py` printed: by the name of its scene, what was sent and stored."""
    return parsed(start("agent-framework", HERE / "play_agent_framework.py"))


def shown(events: list[Json], before: list[Json] | None = None, layout: Layout = Layout.STREAMED) -> list[Json]:
    """Return the messages of a stream that goes on from others."""
    return project(fold_all(EMPTY if before is None else seed(before), events), layout).messages


def kept(scene: Json) -> list[Json]:
    """Return the messages of the one thread that is stored."""
    [thread] = scene["stored"]
    messages: list[Json] = thread["messages"]
    return messages


FIRST = {"id": "user-1", "role": "user", "content": "A weekend near Lisbon?"}


class TestAgentFramework:
    """`FoldedWorkflow` on real workflows of two executors at once, behind the framework's endpoint."""

    @pytest.mark.parametrize(("name", "layout"), [("streamed", Layout.STREAMED), ("merged", Layout.MERGED)])
    def test_live_and_replayed(self, played: Json, name: str, layout: Layout) -> None:
        """What is stored is what streamed, and what a reload brings back over the framework's endpoint."""
        scene = played["layouts"][name]
        live = shown(scene["live"], [FIRST], layout)
        assert kept(scene) == live
        assert shown(scene["replayed"], layout=layout) == live
        assert [event["type"] for event in scene["replayed"]] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]

    def test_really_interleaved(self, played: Json) -> None:
        """The run has what goes wrong by hand: words in turn, encrypted values late, a call between."""
        scene = played["layouts"]["streamed"]
        sealed = {message["id"]: message.get("encryptedValue") for message in kept(scene)}
        assert sealed["rs_research_1"] == "c2VhbGVk1"
        assert sealed["rs_write_1"] == "d3JpdGU1"
        assert sealed["rs_later_1"] == "bGF0ZXI1"
        names = [event.get("messageId") for event in scene["live"] if event["type"] == "REASONING_MESSAGE_CONTENT"]
        turns = [(a, b) for a, b in pairwise(names) if a != b]
        assert len(turns) > 3

    def test_reference(self, played: Json, reference: ReferenceClient) -> None:
        """Stored MERGED, a thread is message by message what the official client holds that was there."""
        scene = played["layouts"]["merged"]
        [outcome] = reference.replay([scene["live"]], messages=[FIRST])
        assert outcome.valid
        assert kept(scene) == outcome.messages

    def test_without_activities(self, played: Json) -> None:
        """Activities can be left out; the rest is the same."""
        scene = played["layouts"]["plain"]
        live = shown(scene["live"], [FIRST])
        assert kept(scene) == [message for message in live if message["role"] != "activity"]
        assert len(kept(scene)) < len(live)

    def test_thread_goes_on(self, played: Json) -> None:
        """From run to run what was stored stays, and what is new is what streamed, whichever client asks."""
        before: list[Json] = []
        for number, run in enumerate(played["thread"]["runs"], 1):
            messages = kept(run)
            mine = next(place for place, message in enumerate(messages) if message["id"] == f"user-{number}")
            assert messages[:mine] == before
            assert messages[mine:] == shown(run["live"], [run["before"][-1]])
            assert shown(run["replayed"]) == messages
            ids = [message["id"] for message in messages]
            assert len(ids) == len(set(ids))
            before = messages

    def test_adjacency(self, played: Json) -> None:
        """With reasoning and activities left out, each result follows its call, as model providers require."""
        rest = [message for message in kept(played["thread"]["runs"][-1]) if message["role"] in ("assistant", "tool")]
        pairs = [(call, result) for call, result in pairwise(rest) if result["role"] == "tool"]
        assert [[call["id"] for call in message["toolCalls"]] for message, _ in pairs] == [
            [result["toolCallId"]] for _, result in pairs
        ]
        assert len(pairs) == len(played["thread"]["runs"])

    def test_what_the_workflow_is_given(self, played: Json) -> None:
        """A run gets the stored thread and the new question, each question once, and no activity."""
        for number, given in enumerate(played["thread"]["given"], 1):
            questions = [message["text"] for message in given if message["role"] == "user"]
            assert questions == [f"Question {count}?" for count in range(1, number + 1)]
            assert sum(message["role"] == "tool" for message in given) == number - 1

    def test_stranger(self, played: Json) -> None:
        """The thread of somebody else is a thread that is not there."""
        assert [event["type"] for event in played["thread"]["stranger"]] == ["RUN_STARTED", "RUN_FINISHED"]

    def test_interrupt(self, played: Json) -> None:
        """A reload shows the question that waits; the answer and what comes of it are stored behind it."""
        scene = played["interrupted"]
        assert scene["waiting"][-1]["outcome"] == scene["live"][-1]["outcome"]
        assert shown(scene["waiting"]) == shown(scene["live"], [FIRST])
        asked = shown(scene["live"], [FIRST])
        messages = kept(scene)
        assert messages[: len(asked)] == asked
        answer, *rest = messages[len(asked) :]
        assert (answer["role"], answer["content"]) == ("user", "yes")
        assert rest == shown(scene["resumed"])
        assert shown(scene["replayed"]) == messages
        assert "outcome" not in scene["replayed"][-1]

    def test_store_that_fails(self, played: Json) -> None:
        """A store that cannot save leaves the stream alone; one that cannot be read fails the run and says so."""
        saved, read = (played["failing_store"][name] for name in ("save", "get"))
        assert saved[-1]["type"] == "RUN_FINISHED"
        assert [event["type"] for event in read] == ["RUN_ERROR"]

    def test_run_that_is_not_finished(self, played: Json) -> None:
        """A run that failed or was left changes nothing of what is stored."""
        scene = played["failing_agent"]
        assert "RUN_ERROR" in [event["type"] for event in scene["live"]]
        assert "TEXT_MESSAGE_START" in scene["seen"]
        assert scene["failed"] == scene["left"] == scene["before"]

    def test_unreadable_thread(self, played: Json) -> None:
        """Where the stored thread is nothing that can be folded, the framework's own snapshot is stored behind it."""
        scene = played["unreadable"]
        assert scene["live"][-1]["type"] == "RUN_FINISHED"
        messages = kept(scene)
        odd = next(place for place, message in enumerate(messages) if message["id"] == "odd")
        assert "activity" in [message["role"] for message in messages[:odd]]
        assert messages[odd + 1]["id"] == "user-2"
        assert len(messages) > odd + 5

    def test_history_of_the_client(self, played: Json) -> None:
        """A thread that the client brings along is stored as the client told it, then what streamed."""
        scene = played["told_history"]
        assert kept(scene) == [*scene["request"], *shown(scene["live"])]

    def test_what_was_stored_before(self, played: Json) -> None:
        """A run changes what it names of a thread that the framework itself stored, and nothing else, in any run."""
        first, second, third, fourth = played["own_events"]["stored"]
        asked, call, text = first["messages"]
        assert "tool_calls" in call
        result = {
            "id": "late",
            "role": "tool",
            "toolCallId": "call-1",
            # What the framework gives the model is not what it gives the host.
            "content": "for the model",
            "_agentFrameworkMcpResult": True,
            "_agentFrameworkHostPayload": "for the host",
            "_agentFrameworkModelContent": [{"type": "text", "text": "for the model"}],
        }
        new = [
            {"id": "user-2", "role": "user", "content": "And?"},
            {"id": "quote", "role": "reasoning", "content": "They said:"},
            {"id": "said", "role": "user", "content": "Hi."},
        ]
        assert second["messages"] == [asked, call, result, {**text, "encryptedValue": "c2VjcmV0"}, *new]
        assert third["messages"] == [*second["messages"], {"id": "user-3", "role": "user", "content": "And?"}]
        told = shown(played["own_events"]["replayed"])
        assert [message["id"] for message in told] == [message["id"] for message in fourth["messages"]]
        assert told[2]["content"] == "for the host"

    def test_state(self, played: Json) -> None:
        """The stored state is what snapshots and patches lead to; a thread without any has none."""
        assert [thread["state"] for thread in played["own_events"]["stored"]] == [None, {"n": 2}, {"n": 3}, {}]

    def test_text_that_the_framework_renames(self, played: Json) -> None:
        """What the framework splits stays one message, with its text and its call, once."""
        scene = played["renamed"]
        messages = [message for message in kept(scene) if message["role"] != "activity"]
        assert [(message["id"], message["content"]) for message in messages] == [
            ("user-1", FIRST["content"]),
            ("text", "Look."),
        ]
        assert [call["id"] for call in messages[1]["toolCalls"]] == ["call-1"]
        assert kept(scene) == shown(scene["live"], [FIRST])

    def test_no_store(self, played: Json) -> None:
        """Without a store the workflow runs as ever."""
        assert played["not_kept"]["events"] == len(played["layouts"]["streamed"]["live"])

    def test_single_agent(self, played: Json) -> None:
        """A single agent's thread comes back as it streamed without the adapter."""
        scene = played["single_agent"]
        assert shown(scene["replayed"]) == shown(scene["live"], [FIRST])
