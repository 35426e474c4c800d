"""verify: every rule of the protocol that a log breaks, and where."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Iterator
from math import inf
from typing import Any, NamedTuple

from reducer._cli.command import OK, UNREADABLE, VIOLATIONS, Command, Failure
from reducer._cli.output import as_json, say
from reducer._cli.read import Log, Text, Unreadable, log_at
from reducer._decode_all import line_decoder
from reducer._fold import finish, fold
from reducer._rules import RULES, Rule
from reducer._state import EMPTY
from reducer.errors import MalformedEvent, TruncatedRun

MALFORMED, TRUNCATED = "malformed-event", "truncated-run"
_RULES = {
    **RULES,
    # The fold has no anomaly for these: the one raises, the other needs the stream's end.
    MALFORMED: Rule("A value that the schema rejects.", True, "basic/processing"),
    TRUNCATED: Rule("The stream ends inside a run.", True, "basic/transports"),
}


class Finding(NamedTuple):
    """A rule that was broken: by which event of the log, counted from 0, of what type, and what happened."""

    code: str
    position: int
    event: str | None
    detail: str

    @property
    def rule(self) -> Rule:
        """The rule."""
        return _RULES[self.code]

    def __str__(self) -> str:
        rule = self.rule
        where = "the end" if self.code == TRUNCATED else f"event {self.position} ({self.event or 'no known type'})"
        attitude = "" if rule.fatal else "warning: "
        detail = f": {self.detail}" if self.detail else ""
        return f"{where}: {attitude}{rule.meaning.rstrip('.')}{detail} [{self.code}; spec: {rule.page}]"


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("logs", metavar="LOG", nargs="+", help="a log; - is standard input")
    parser.add_argument("--warnings", action="store_true", help="also list what the specification only warns of")
    parser.add_argument("--json", action="store_true", help="print each line as a JSON object")
    parser.add_argument("--follow", action="store_true", help="wait for more, until the log is removed or Ctrl-C")
    parser.add_argument(
        "--poll", metavar="SECONDS", type=_seconds, default=0.5, help="look that often for more (default: 0.5)"
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds < inf:
        raise ArgumentTypeError(f"must be a number of seconds, not {text!r}")
    return seconds


def run(args: Namespace) -> int:
    """Print what each log breaks, and a line about the log; return the worst of their exit codes."""
    if args.follow and len(args.logs) > 1:
        raise Failure("--follow follows one log")
    return max([_verified(log, args) for log in args.logs])


def findings(log: Log) -> Iterator[Finding]:
    """Yield what breaks a rule as it is found, by the event that the log gave last. Raises `Unreadable`."""
    state, decode = EMPTY, line_decoder()
    # A malformed event is left out of the fold but counts for positions.
    malformed = 0
    for text in log:
        try:
            event = decode(text)
        except MalformedEvent as error:
            if error.value is text:
                raise log.unreadable(error, text) from error
            yield Finding(MALFORMED, log.events - 1, _type(text), str(error))
            malformed += 1
            continue
        known, state = state.session.anomalies, fold(state, event)
        if state.session.anomalies is not known:
            for anomaly in state.session.anomalies.latest:
                yield Finding(anomaly.code, anomaly.position + malformed, anomaly.event, anomaly.detail)
    try:
        finish(state)
    except TruncatedRun as error:
        still = f"; still open: {', '.join(error.open)}" if error.open else ""
        yield Finding(TRUNCATED, log.events, None, f"{error.run_id!r}{still}")


def _type(text: Text) -> str | None:
    """Return the type that a malformed event names."""
    event = json.loads(text)
    kind = event.get("type") if isinstance(event, dict) else None
    return kind if isinstance(kind, str) else None


def _verified(name: str, args: Namespace) -> int:
    found: Counter[bool] = Counter()
    why = None
    try:
        with log_at(name, args.poll if args.follow else None) as log:
            try:
                for finding in findings(log):
                    found[finding.rule.fatal] += 1
                    if finding.rule.fatal or args.warnings:
                        log.progress.hide()
                        _tell(args, _described(log, finding), f"{name}: line {log.line}: {finding}")
            except KeyboardInterrupt:
                # Whoever follows a log stops like this; whether its run would have ended nobody knows.
                if not args.follow:
                    raise
        events = log.events
    except Unreadable as error:
        why, events = error.why, error.before
    verdict = "unreadable" if why is not None else "violations" if found[True] else "ok"
    told = {"log": name, "verdict": verdict, "events": events, "violations": found[True], "warnings": found[False]}
    _tell(args, told if why is None else {**told, "error": why}, f"{name}: {_summary(told, why)}")
    return {"ok": OK, "violations": VIOLATIONS, "unreadable": UNREADABLE}[verdict]


def _described(log: Log, finding: Finding) -> dict[str, Any]:
    code, position, event, detail = finding
    where = {"log": log.name, "line": log.line, "position": position, "event": event}
    meaning, fatal, page = finding.rule
    return {**where, "code": code, "fatal": fatal, "meaning": meaning, "detail": detail, "page": page}


def _summary(told: dict[str, Any], why: str | None) -> str:
    counts = [_number(told["events"], "event")]
    if told["violations"] or why is None:
        counts.insert(0, _number(told["violations"], "violation") if told["violations"] else "ok")
    if told["warnings"]:
        counts.append(_number(told["warnings"], "warning"))
    return ", ".join(counts) if why is None else f"unreadable: {why} (after {', '.join(counts)})"


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _tell(args: Namespace, as_object: dict[str, Any], line: str) -> None:
    say(as_json(as_object) if args.json else line, at_once=args.follow)


COMMAND = Command(
    name="verify",
    summary="list every rule of the protocol that logs break, and where",
    description="""\
Print a line for each violation of the AG-UI specification in each log (the log's line, the event counted from 0, the
rule, what happened, the page) and last a line for the log. Exits with 1 where a rule is broken, with 2 where a log
cannot be read, else with 0. A stream that ends inside a run is a violation; what the specification only warns of is
not.""",
    examples=(
        "%(prog)s run.jsonl other.jsonl",
        "%(prog)s --warnings --json run.jsonl",
        "%(prog)s --follow run.jsonl",
    ),
    arguments=arguments,
    run=run,
)
