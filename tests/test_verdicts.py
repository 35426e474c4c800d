"""Accept or refuse: the strict fold and the reference client agree on broken streams, and where they do not is listed.

The list is short, each entry cites the page of the specification that decides against the reference client, and
`docs/reference/supported-protocol.md` repeats it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from reducer import EMPTY, ReducerError, TruncatedRun, finish, fold_all, fold_strict
from reducer.strategies import broken_streams
from tests.reference_client import Outcome, ReferenceClient

ROOT = Path(__file__).parents[1]
Stream = list[dict[str, Any]]

STREAMS = 2_200
"""How many broken streams are judged; a run with more examples judges more."""

_EXAMPLES = settings().max_examples

UNUSUAL = {"shared_ids": True, "foreign_results": True, "early_values": True, "drop_open": True}
"""What valid streams leave out unless asked, because consumers disagree about it."""


class Disagreement(NamedTuple):
    """A verdict that differs from the reference client's, at the first event that one refuses and the other takes."""

    name: str
    """What it is about, as the documentation has it."""
    refused: bool
    """Whether this library is the one that refuses."""
    rules: tuple[str, ...]
    """What the fold records about that event, one of these; none where it has nothing against it."""
    page: str
    """The page of the specification that decides."""
    example: Stream
    """A stream that shows it."""
    shared: bool = False
    """Whether messages of different kinds have had the id."""

    def explains(self, *, refused: bool, recorded: set[str], shared: bool) -> bool:
        """Say whether this is it, by who refuses, what the fold records of the event, and what has had its id."""
        about = not self.rules or not recorded.isdisjoint(self.rules)
        return self.refused == refused and about and (shared or not self.shared)


RUN = {"threadId": "t", "runId": "r"}
STARTED = {"type": "RUN_STARTED", **RUN}
FINISHED = {"type": "RUN_FINISHED", **RUN}
SPAN = {"type": "REASONING_START", "messageId": "g"}
VALUE = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "g", "encryptedValue": "v"}
TEXT = {"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": "s"}
CALL = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "search", "subagentRunId": "s"}
RESULT = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "done"}
ACTIVITY = {"id": "a", "role": "activity", "activityType": "plan", "content": {}}

DISAGREEMENTS = (
    Disagreement(
        "a run's two boundaries name different runs",
        refused=True,
        rules=("run-id-mismatch",),
        page="basic/run-input",
        example=[STARTED, {**FINISHED, "runId": "other"}],
    ),
    Disagreement(
        "a run boundary names another thread",
        refused=True,
        rules=("thread-id-mismatch",),
        page="basic/run-input",
        example=[STARTED, FINISHED, {**STARTED, "threadId": "other"}, {**FINISHED, "threadId": "other"}],
    ),
    Disagreement(
        "two interrupts of one run share an id",
        refused=True,
        rules=("duplicate-interrupt-id",),
        page="basic/patterns/interrupt-resume",
        example=[
            STARTED,
            {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "input"}] * 2}},
        ],
    ),
    Disagreement(
        "`encryptedValueType`, which came with 1.1, is null",
        refused=True,
        rules=("null-refused",),
        page="basic/index",
        example=[STARTED, {**VALUE, "encryptedValueType": None}, FINISHED],
    ),
    Disagreement(
        "a word that nobody described where the schema lists words, such as a role",
        refused=False,
        rules=("unknown-member",),
        page="basic/processing",
        example=[
            STARTED,
            {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "narrator"},
            {"type": "TEXT_MESSAGE_END", "messageId": "m"},
            FINISHED,
        ],
    ),
    Disagreement(
        "an encrypted value for what the consumer does not hold, under the id of a span or of a dropped message",
        refused=False,
        rules=("value-unclaimed",),
        page="events/reasoning",
        example=[
            STARTED,
            SPAN,
            {**VALUE, "subagentRunId": "s"},
            {"type": "REASONING_END", "messageId": "g"},
            FINISHED,
        ],
    ),
    Disagreement(
        "a delta for an activity that a snapshot has dropped",
        refused=False,
        rules=("activity-unknown",),
        page="events/activity",
        example=[
            STARTED,
            {"type": "MESSAGES_SNAPSHOT", "messages": [ACTIVITY]},
            {"type": "MESSAGES_SNAPSHOT", "messages": [{**ACTIVITY, "id": "b"}]},
            {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan", "patch": [], "subagentRunId": "s"},
            FINISHED,
        ],
    ),
    Disagreement(
        "a tool call of another owner than the tool message that it names as its parent",
        refused=False,
        rules=("parent-not-assistant",),
        page="events/tool-calls",
        example=[
            STARTED,
            RESULT,
            {**CALL, "parentMessageId": "m"},
            {"type": "TOOL_CALL_END", "toolCallId": "c"},
            FINISHED,
        ],
    ),
    Disagreement(
        "an event that agrees with its opener, but not with a message of another kind under the same id",
        refused=False,
        rules=(),
        page="events/subagents",
        example=[STARTED, RESULT, TEXT, {"type": "TEXT_MESSAGE_END", "messageId": "m"}, FINISHED],
        shared=True,
    ),
    Disagreement(
        "an event that disagrees with its opener, but not with a message of another kind under the same id",
        refused=True,
        rules=("attribution-mismatch",),
        page="events/subagents",
        example=[
            STARTED,
            TEXT,
            {**RESULT, "subagentRunId": "other"},
            {"type": "TEXT_MESSAGE_END", "messageId": "m", "subagentRunId": "other"},
            FINISHED,
        ],
        shared=True,
    ),
)


def refused_at(stream: Stream) -> int | None:
    """Return the position of the event that a strict consumer refuses, that of the end for a truncated stream."""
    state, position = EMPTY, 0
    try:
        for position, event in enumerate(stream):  # noqa: B007 - where it stopped
            state = fold_strict(state, event)
        finish(state)
    except TruncatedRun:
        return len(stream)
    except ReducerError:
        return position
    return None


def refused_by_reference_at(stream: Stream, outcome: Outcome) -> int | None:
    """Return the same of the reference client; of a stream without events neither has anything to say."""
    if not outcome.accepted:
        return outcome.delivered - 1
    return len(stream) if stream and not outcome.valid else None


KINDS = {"TEXT_MESSAGE": "text", "REASONING": "reasoning", "ACTIVITY": "activity", "TOOL_CALL_RESULT": "tool"}
ROLES = {"reasoning": "reasoning", "activity": "activity", "tool": "tool"}


def is_shared(stream: Stream) -> bool:
    """Say whether messages of different kinds, dropped ones included, have had an id that the last event is about."""
    kinds: dict[str, set[str]] = {}
    for event in stream:
        for beginning, kind in KINDS.items():
            if event["type"].startswith(beginning) and "messageId" in event:
                kinds.setdefault(event["messageId"], set()).add(kind)
        for message in event.get("messages") or event.get("input", {}).get("messages", ()):
            kinds.setdefault(message["id"], set()).add(ROLES.get(message["role"], "text"))
    # Any event may end a chunk stream, whose end is judged then.
    about = [stream[-1], *(event for event in stream if event["type"].endswith("_CHUNK"))]
    names = [
        event[field] for event in about for field in ("messageId", "entityId", "parentMessageId") if field in event
    ]
    return any(len(kinds.get(name, ())) > 1 for name in names)


def explained(stream: Stream, ours: int | None, theirs: int | None) -> Disagreement | None:
    """Return the entry of the list that is about where the verdicts part."""
    first = min(position for position in (ours, theirs) if position is not None)
    try:
        state = fold_all(EMPTY, stream[: first + 1])
    except ReducerError:
        return None
    recorded = {one.code for one in state.session.anomalies.latest if one.position == first}
    for entry in DISAGREEMENTS:
        if entry.explains(refused=first == ours, recorded=recorded, shared=is_shared(stream[: first + 1])):
            return entry
    return None


def _streams(count: int, **features: Any) -> list[Stream]:
    found: list[Stream] = []

    # The node process takes its streams in batches, so nothing is judged, and nothing shrinks, while they are drawn.
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(broken_streams(**features))
    def collect(stream: Stream) -> None:
        found.append(stream)

    collect()
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("count", "features"), [(STREAMS, {}), (STREAMS // 4, UNUSUAL)], ids=["usual", "unusual"])
def test_verdicts(reference: ReferenceClient, count: int, features: dict[str, Any]) -> None:
    """The first event of a broken stream that the strict fold refuses is the one that the reference client refuses."""
    broken = _streams(max(count, _EXAMPLES), **features)
    assert len(broken) >= count
    parted = []
    refused = 0
    for stream, outcome in zip(broken, reference.replay(broken), strict=True):
        ours, theirs = refused_at(stream), refused_by_reference_at(stream, outcome)
        refused += ours is not None
        if ours != theirs and explained(stream, ours, theirs) is None:
            parted.append((ours, theirs, outcome.error, stream))
    assert min(parted, key=lambda found: len(found[-1]), default=None) is None, f"{len(parted)} unlisted"
    assert refused > count // 4


@pytest.mark.parametrize("entry", DISAGREEMENTS, ids=lambda entry: entry.name[:40])
def test_disagreements(reference: ReferenceClient, entry: Disagreement) -> None:
    """Each entry of the list is still one: the verdicts on its example differ, as it says."""
    [outcome] = reference.replay([entry.example])
    assert outcome.valid is entry.refused
    ours, theirs = refused_at(entry.example), refused_by_reference_at(entry.example, outcome)
    assert (ours is not None) is entry.refused
    assert explained(entry.example, ours, theirs) is entry


def test_disagreements_are_documented() -> None:
    """The documentation has the same list, with the same pages."""
    page = (ROOT / "docs" / "reference" / "supported-protocol.md").read_text(encoding="utf-8")
    section = page.partition("## Verdicts\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+) \| (accepts|refuses) \| (accepts|refuses) \| `(.+)` \|$", section, re.MULTILINE)
    verdict = {True: "refuses", False: "accepts"}
    assert rows == [
        (entry.name, verdict[entry.refused], verdict[not entry.refused], entry.page) for entry in DISAGREEMENTS
    ]
