"""What can go wrong, classed by whose fault it is.

`MalformedEvent` is the producer's (a value the schema rejects), `ProtocolViolation` and `TruncatedRun` are the
stream's (each event is well formed, their order is not), `CheckpointError` is the storage's.
All carry their facts as fields, compare by value and print one sentence.
"""

from __future__ import annotations

from typing import Any

from reducer._frozen import Unfreezable, brief, freeze, same


class ReducerError(Exception):
    """The base of everything this library raises on purpose."""

    _facts: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: object) -> None:
        if name == "args" or (name in self._facts and name in self.__dict__):
            raise AttributeError(f"an error is immutable, {name!r} stays as it is")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._facts:
            raise AttributeError(f"an error is immutable, {name!r} stays")
        super().__delattr__(name)

    def __reduce__(self) -> tuple[Any, ...]:
        # The facts are the arguments; what else there may be are the notes that somebody added.
        return type(self), self.args, {name: value for name, value in vars(self).items() if name not in self._facts}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_alike(getattr(self, name), getattr(other, name)) for name in self._facts)

    def __hash__(self) -> int:
        # Facts may hold JSON containers, which do not hash, and numbers that are equal in spite of their types.
        facts = (getattr(self, name) for name in self._facts)
        return hash((type(self), *(str.__str__(fact) for fact in facts if isinstance(fact, str))))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


def _alike(one: Any, other: Any) -> bool:
    """Say whether two facts are equal: JSON by type and to any depth, anything else as it says itself."""
    try:
        return same(freeze(one), freeze(other))
    except Unfreezable:
        pass
    try:
        return one is other or (type(one) is type(other) and bool(one == other))
    except RecursionError:  # they contain themselves
        return False


def show_path(path: tuple[str | int, ...]) -> str:
    """`("messages", 0, "id")` as `messages[0].id`; the whole event as `(the event)`."""
    shown = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return shown.lstrip(".") or "(the event)"


class MalformedEvent(ReducerError, ValueError):
    """A value that the protocol describes and that is wrong (spec: basic/processing).

    `path` leads to it from the event (names and list positions), `value` is what stands there, `rule` says in
    one sentence what the protocol asks for. Where the event was read from a log, `line` is its number, from 1.
    """

    _facts = ("path", "value", "rule", "line")

    def __init__(self, path: tuple[str | int, ...], value: Any, rule: str, line: int | None = None) -> None:
        super().__init__(path, value, rule, line)
        self.path = path
        self.value = value
        self.rule = rule
        self.line = line

    def __str__(self) -> str:
        where = "" if self.line is None else f"line {self.line}: "
        return f"{where}{show_path(self.path)}: {self.rule} (got {brief(self.value)})"


class ProtocolViolation(ReducerError):
    """An event that the specification makes fatal where it stands.

    `code` is the rule's (see the table of rules), `position` the event's, counted from 0, `event` its type,
    `page` the page of the specification, `detail` what happened.
    """

    _facts = ("code", "position", "event", "page", "detail")

    def __init__(self, code: str, position: int, event: str, page: str, detail: str = "") -> None:
        super().__init__(code, position, event, page, detail)
        self.code = code
        self.position = position
        self.event = event
        self.page = page
        self.detail = detail

    def __str__(self) -> str:
        return f"event {self.position} ({self.event}): {self.detail or self.code} [{self.code}; spec: {self.page}]"


class TruncatedRun(ReducerError):
    """The stream ended inside a run: it neither succeeded nor failed (spec: basic/transports).

    `run_id` is the run's, `position` the number of events folded, `open` names what was still open.
    """

    _facts = ("run_id", "position", "open")

    def __init__(self, run_id: str | None, position: int, open: tuple[str, ...] = ()) -> None:  # noqa: A002 - the fact's name
        super().__init__(run_id, position, open)
        self.run_id = run_id
        self.position = position
        self.open = open

    def __str__(self) -> str:
        still = f"; still open: {', '.join(self.open)}" if self.open else ""
        return f"the stream ended after {self.position} events inside run {self.run_id!r}{still}"


class ResumeError(ReducerError):
    """A thread that cannot be continued like this (spec: basic/patterns/interrupt-resume).

    `problem` is one of "uncovered" (open interrupts without an answer), "expired" (answered though their time is
    over), "unknown" (answers to no open interrupt), "repeated" (two answers to one) and "unanswered" (tool calls
    without a result); `ids` are the interrupts or the calls.
    """

    _facts = ("problem", "ids")

    def __init__(self, problem: str, ids: tuple[str, ...]) -> None:
        super().__init__(problem, ids)
        self.problem = problem
        self.ids = ids

    def __str__(self) -> str:
        return f"{_RESUME[self.problem]}: {', '.join(map(repr, self.ids))}"


_RESUME = {
    "uncovered": "every open interrupt needs an entry in resume, be it a cancelled one, and these have none",
    "expired": "these interrupts have expired and can only be cancelled",
    "unknown": "resume answers what is no open interrupt of this thread",
    "repeated": "resume answers these interrupts more than once",
    "unanswered": "these tool calls have no result yet; add tool messages for them, or pass allow_pending=True",
}


class CheckpointError(ReducerError, ValueError):
    """Stored data that cannot be loaded: damaged, or written by a version this one does not know.

    `why` says what is wrong, `where` names the place in the data, if there is one.
    """

    _facts = ("why", "where")

    def __init__(self, why: str, where: str = "") -> None:
        super().__init__(why, where)
        self.why = why
        self.where = where

    def __str__(self) -> str:
        return f"{self.where}: {self.why}" if self.where else self.why
