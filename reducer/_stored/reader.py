"""What the file holds as a state, or the reason why it is none.

Every reference is looked up and every rule that the fold keeps is checked, so that no state comes out of here that
the fold and the projection could not have met.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyrsistent import pvector

from reducer._frozen import Object
from reducer._live import with_all
from reducer._records import Lane, Owner, Settled, Stream, Streams
from reducer._session import Run, Scope, Session, Subagent
from reducer._state import EMPTY, Conversation, State
from reducer._stored import table
from reducer._stored.record import attributes
from reducer._stored.rows import Rows
from reducer._stored.shapes import OWNER, each, mapped, named
from reducer._stored.values import Wrong, within

Told = dict[str, Any]

TOP = frozenset({"events", "state", "thread", "begun", "runs", "scope", "interrupts", "anomalies"})
TOP |= {"rows", "apart", "lanes", "streams", "unclaimed", "settled", "opened", "state*", "interrupts*"}
SUBAGENTS = frozenset({"subagents"})
SCOPED = table.SCOPE.names | SUBAGENTS
OWNED = frozenset({"owner"})


def state_of(told: Any) -> State:
    """Return the state that the file holds. Raises `Wrong`."""
    (position,) = table.STATE.read(told, 0, TOP)[:1]
    last = max(position - 1, 0)
    # A stored thread stands at 0 without any event; a run has begun with one.
    listed = told.get("runs", [])
    runs = within(".runs", _runs, listed, position - 1)
    going = bool(runs) and runs[-1].status == "running"
    if going and "scope" in told:
        raise Wrong("is told in the run that goes on", ".scope")
    scope = within(
        f".runs[{len(runs) - 1}]" if going else ".scope", _scope, listed[-1] if going else told.get("scope", {}), last
    )
    base = -1 if not runs else runs[-1].first if going else runs[-1].last
    rows = Rows([run.first for run in runs], last)
    within(".rows", rows.read, told.get("rows", []))
    within(".apart", rows.read_apart, told.get("apart", {}))
    conversation = table.CONVERSATION.read(told, last, TOP)
    streams, settled = told.get("streams"), told.get("settled")
    found = {
        "timeline": pvector(rows.timeline),
        "index": rows.index(),
        "early": rows.early(),
        "lanes": within(".lanes", _lanes, told.get("lanes", []), last),
        "streams": None if streams is None else within(".streams", _streams, streams, last),
        "settled": None if settled is None else within(".settled", _settled, settled, last, rows),
        "base": Lane(base, base),
    }
    session = table.SESSION.fill(
        table.SESSION.read(told, last, TOP),
        {"runs": pvector(runs), "scope": scope, "active": len(runs) if going else 0},
    )
    values = zip(attributes(Conversation), table.CONVERSATION.fill(conversation, found), strict=True)
    state = EMPTY._replace(
        position=position, conversation=EMPTY.conversation._replace(**dict(values)), session=_session(session)
    )
    return with_all(state, rows.live())


def _session(values: list[Any]) -> Session:
    session = Session(*values)
    if len(session.anomalies.first) > sum(session.anomalies.counts.values()):
        raise Wrong("counts fewer than there are", ".anomalies.counts")
    return session


def _runs(told: Any, last: int) -> list[Run]:
    runs: list[Run] = each(told, _run, last)
    for number, run in enumerate(runs):
        if number and runs[number - 1].first >= run.first:
            raise Wrong("begins before the run before it", f"[{number}]")
        if number and runs[number - 1].status == "running":
            raise Wrong("runs, and is not the last", f"[{number - 1}]")
    return runs


def _run(told: Any, last: int) -> Run:
    values = table.RUN.read(told, last, SCOPED)
    going = told.get("status") == "running"
    run = Run(*table.RUN.fill(values, {"subagents": {} if going else _subagents(told, last)}))
    if not going and not SCOPED.isdisjoint(told.keys() - {"subagents"}):
        raise Wrong("has something open, and is over")
    if run.last < run.first:
        raise Wrong("ends before it begins", ".last")
    if run.status == "error" and run.error is None:
        raise Wrong("is missing of a run that failed", ".error")
    if run.status != "error" and run.run_id is None:
        raise Wrong("is missing of a run that started", ".id")
    if run.status == "interrupted" and not (isinstance(run.outcome, Object) and named(run.outcome.get("interrupts"))):
        raise Wrong("must hold the interrupts", ".outcome")
    return run


def _scope(told: Any, last: int) -> Scope:
    """Read what is in scope, from the run that goes on or from a place of its own."""
    values = table.SCOPE.read(told, last, table.RUN.names | {"subagents"} if "status" in told else SUBAGENTS)
    return Scope(*table.SCOPE.fill(values, {"subagents": _subagents(told, last)}))


def _subagents(told: Told, last: int) -> Mapping[str, Subagent]:
    subagents = within(".subagents", each, told.get("subagents", []), _subagent, last)
    return mapped((sub.id, sub) for sub in subagents)


def _subagent(told: Any, last: int) -> Subagent:
    return Subagent(*table.SUBAGENT.read(told, last))


def _owner(told: Told, last: int) -> Owner:
    owner: Owner = within(".owner", OWNER.read, told.get("owner"), last)
    return owner


def _lanes(told: Any, last: int) -> Any:
    def lane(one: Any, last: int) -> tuple[Owner, Lane]:
        values = table.LANE.read(one, last, OWNED)
        return _owner(one, last), Lane(*values)

    return mapped(each(told, lane, last))


def _streams(told: Any, last: int) -> Streams:
    def stream(one: Any, last: int) -> tuple[Owner, Stream]:
        values = table.STREAM.read(one, last, OWNED)
        return _owner(one, last), Stream(*values)

    recent = table.STREAMS.read(told, last, frozenset({"lanes"}))[-1]
    lanes = within(".lanes", lambda: each(told.get("lanes", []), stream, last))
    kinds: dict[str, list[Any]] = {kind: [] for kind in recent}
    for owner, one in lanes:
        if one.key[0] not in kinds:
            raise Wrong("lacks the kind of an open stream", ".recent")
        kinds[one.key[0]].append((one.key, owner))
    if not lanes:
        raise Wrong("must hold a stream", ".lanes")
    return Streams(mapped(lanes), {kind: mapped(pairs) for kind, pairs in kinds.items()}, recent)


def _settled(told: Any, last: int, rows: Rows) -> Settled:
    values = table.SETTLED.read(told, last, frozenset({"order"}))
    order = within(".order", each, told.get("order"), rows.key, last)
    if len(set(order)) < len(order):
        raise Wrong("has one row twice", ".order")
    settled = Settled(*table.SETTLED.fill(values, {"order": tuple(order)}))
    if settled.rows > len(rows.timeline):
        raise Wrong("is more than there are", ".rows")
    return settled
