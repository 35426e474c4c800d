"""The session: the shared state, the runs, the interrupts, the anomalies, and what is in the scope of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import attrs
from pyrsistent import PVector, pvector

from reducer._frozen import Frozen, Object, same
from reducer._interrupts import NO_INTERRUPTS, Interrupts
from reducer._records import Key, Owner
from reducer._rules import RULES

Record = TypeVar("Record")


@attrs.frozen
class Subagent:
    """An announced invocation of a subagent: `status` is running, finished, suspended, error or abandoned."""

    id: str
    name: str
    status: str
    first: int
    last: int
    started: Frozen = None
    ended: Frozen = None


class Run(NamedTuple):
    """One run. `status` is running, finished, interrupted, cancelled, error or truncated.

    `first` and `last` are the positions of its first and last event; while it is running `last` says nothing. `echoed`
    says that RUN_STARTED told the input, `subagents` are the invocations that it announced, once it is over.
    """

    run_id: str | None
    thread_id: str | None
    first: int
    last: int
    status: str = "running"
    parent_run_id: str | None = None
    protocol_version: str | None = None
    outcome: Frozen = None
    result: Frozen = None
    error: str | None = None
    code: str | None = None
    usage: PVector[Any] = pvector()
    echoed: bool = False
    subagents: Mapping[str, Subagent] = {}

    def __eq__(self, other: object) -> bool:
        # JSON compares by type, and to any depth.
        if not isinstance(other, Run) or not all(map(same, self[7:9], other[7:9])):
            return False
        return self[:7] == other[:7] and self[9:] == other[9:]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.run_id)


@cache
def _reader(cls: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    names = tuple(field.name for field in attrs.fields(cls))
    return names, attrgetter(*names)


def _replaced(record: Record, changes: dict[str, Any]) -> Record:
    """Return what `attrs.evolve` returns, in a quarter of its time."""
    cls: Any = type(record)
    names, read = _reader(cls)
    replaced: Record = cls(**{**dict(zip(names, read(record), strict=True)), **changes})
    return replaced


@attrs.define
class Scope:
    """What lasts until the next run boundary at most.

    `steps` are open steps by owner and name, `spans` open reasoning spans with their owners, `subagents` every
    invocation that was announced, `thinking` the ids given to open THINKING_* material. `owners` says, by kind and id,
    whose something is where neither an entity nor an open span does: a span that held no message, what the echoed
    input restated, what a snapshot dropped.
    """

    steps: Mapping[tuple[Owner, str], int] = {}
    spans: Mapping[str, Owner] = {}
    subagents: Mapping[str, Subagent] = {}
    thinking: Mapping[str, str] = {}
    owners: Mapping[Key, Owner] = {}

    def _replace(self, **changes: Any) -> Scope:
        return _replaced(self, changes)


@attrs.frozen
class Anomaly:
    """Something that broke a rule or could not be applied.

    `code` is the rule's, `position` the event's, `event` its type, `detail` what happened, `fatal` whether the
    specification makes it so.
    """

    code: str
    position: int
    event: str
    detail: str = ""

    @property
    def fatal(self) -> bool:
        """Whether the specification makes this fatal."""
        return RULES[self.code].fatal


KEPT = 128
"""How many anomalies are kept in full; all are counted."""


@attrs.frozen
class Anomalies:
    """`counts` for all codes, `first` ones in full, `latest` those of the last event that had any."""

    counts: Mapping[str, int] = attrs.field(factory=dict)
    first: PVector[Anomaly] = pvector()
    latest: PVector[Anomaly] = pvector()

    def adding(self, anomaly: Anomaly) -> Anomalies:
        """Return these and `anomaly`."""
        counts = {**self.counts, anomaly.code: self.counts.get(anomaly.code, 0) + 1}
        first = self.first.append(anomaly) if len(self.first) < KEPT else self.first
        same_event = self.latest and self.latest[-1].position == anomaly.position
        latest = self.latest.append(anomaly) if same_event else pvector([anomaly])
        return Anomalies(counts, first, latest)


@attrs.define(eq=False)
class Session:
    """What is not conversation: the shared state, the runs, the open interrupts in order, the anomalies, the scope.

    `begun` says that an event the protocol knows has arrived, which is when the first-event rule is judged; `active` is
    the number of the run that goes on, the first being 1, and 0 where none does.
    """

    shared: Frozen = Object({})
    runs: PVector[Run] = pvector()
    interrupts: Interrupts = NO_INTERRUPTS
    anomalies: Anomalies = Anomalies()
    thread_id: str | None = None
    begun: bool = False
    scope: Scope = Scope()  # noqa: RUF009 - nobody changes it, nor the dicts in it
    active: int = 0

    def _replace(self, **changes: Any) -> Session:
        return _replaced(self, changes)

    def saying(self, shared: Frozen, scope: Scope) -> Session:
        """Return the session with these two, which change more often than the others."""
        return Session(
            shared, self.runs, self.interrupts, self.anomalies, self.thread_id, self.begun, scope, self.active
        )

    def __eq__(self, other: object) -> bool:
        # JSON compares by type, and to any depth.
        if not isinstance(other, Session) or not same(self.shared, other.shared):
            return False
        return _rest(self) == _rest(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.thread_id)


def _rest(session: Session) -> tuple[Any, ...]:
    """Return all fields but the shared state."""
    return attrs.astuple(session, recurse=False)[1:]
