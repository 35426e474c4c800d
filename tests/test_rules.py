"""The table of rules: each is raised by a small stream, none but these is ever raised, the docs have the same table.

`EXAMPLES` documents the rules by example: a stream whose last event breaks the rule, and nothing before it does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from reducer import EMPTY, MalformedEvent, ProtocolViolation, fold, fold_all, fold_strict
from reducer._rules import RULES
from reducer.strategies import broken_streams, events

ROOT = Path(__file__).parents[1]
Stream = list[dict[str, Any]]


def text(verb: str, name: str = "m", **fields: Any) -> dict[str, Any]:
    """Return a text message event."""
    return {"type": f"TEXT_MESSAGE_{verb}", "messageId": name, **fields}


def thought(verb: str, **fields: Any) -> dict[str, Any]:
    """Return a reasoning message event."""
    return {"type": f"REASONING_MESSAGE_{verb}", "messageId": "g", **fields}


def call(verb: str, **fields: Any) -> dict[str, Any]:
    """Return a tool call event."""
    return {"type": f"TOOL_CALL_{verb}", "toolCallId": "c", **fields}


def subagent(verb: str, **fields: Any) -> dict[str, Any]:
    """Return a subagent event."""
    return {"type": f"SUBAGENT_{verb}", "subagentRunId": "s", **fields}


RUN = {"threadId": "t", "runId": "r"}
STARTED = {"type": "RUN_STARTED", **RUN}
FINISHED = {"type": "RUN_FINISHED", **RUN}
SPAN = {"type": "REASONING_START", "messageId": "g"}
STEP = {"type": "STEP_STARTED", "stepName": "plan"}
OPEN_CALL = call("START", toolCallName="search")
RESULT = {**call("RESULT", content="done"), "messageId": "t1"}
SUBAGENT = subagent("STARTED", name="researcher")
VALUE = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "g", "encryptedValue": "v"}
USER = {"id": "m", "role": "user", "content": "hello"}
INTERRUPT = {"id": "i", "reason": "approval"}

EXAMPLES: dict[str, Stream] = {
    "first-event": [text("START")],
    "run-already-active": [STARTED, STARTED],
    "after-run-closed": [STARTED, FINISHED, {"type": "CUSTOM", "name": "late", "value": 1}],
    "open-at-run-finish": [STARTED, text("START"), FINISHED],
    "run-id-mismatch": [STARTED, {**FINISHED, "runId": "other"}],
    "thread-id-mismatch": [STARTED, FINISHED, {**STARTED, "threadId": "other"}],
    "duplicate-interrupt-id": [
        STARTED,
        {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [INTERRUPT, INTERRUPT]}},
    ],
    "text-already-open": [STARTED, text("START"), text("START")],
    "text-not-open": [STARTED, text("CONTENT", delta="hello")],
    "reasoning-already-open": [STARTED, thought("START", role="reasoning"), thought("START", role="reasoning")],
    "reasoning-not-open": [STARTED, SPAN, thought("END")],
    "span-already-open": [STARTED, SPAN, SPAN],
    "span-not-open": [STARTED, {"type": "REASONING_END", "messageId": "g"}],
    "call-already-open": [STARTED, OPEN_CALL, OPEN_CALL],
    "call-not-open": [STARTED, OPEN_CALL, call("END"), call("ARGS", delta="{}")],
    "step-already-open": [STARTED, STEP, STEP],
    "step-not-open": [STARTED, STEP, {**STEP, "type": "STEP_FINISHED", "subagentRunId": "s"}],
    "chunk-without-id": [STARTED, {"type": "TEXT_MESSAGE_CHUNK", "delta": "hello"}],
    "chunk-without-name": [STARTED, call("CHUNK", delta="{}")],
    "chunk-conflict": [STARTED, text("CHUNK", delta="hello"), text("CHUNK", role="user", delta="hello")],
    "chunk-ambiguous": [
        STARTED,
        text("CHUNK", "m1", subagentRunId="s1"),
        text("CHUNK", "m2", subagentRunId="s2"),
        {"type": "TEXT_MESSAGE_CHUNK", "delta": "hello"},
    ],
    "attribution-mismatch": [STARTED, text("START", subagentRunId="s1"), text("END", subagentRunId="s2")],
    "null-attribution": [STARTED, text("START", subagentRunId=None)],
    "subagent-already-active": [STARTED, SUBAGENT, SUBAGENT],
    "subagent-reused": [STARTED, SUBAGENT, subagent("FINISHED"), SUBAGENT],
    "subagent-not-active": [STARTED, subagent("ERROR", message="lost")],
    "subagent-parent-unknown": [STARTED, {**SUBAGENT, "parentSubagentRunId": "other"}],
    "unknown-event": [STARTED, {"type": "FROM_LATER"}],
    "unknown-property": [STARTED, text("START", later=1)],
    "unknown-member": [STARTED, text("START", role="narrator")],
    "null-refused": [STARTED, {**text("START"), "name": None}],
    "null-as-absent": [STARTED, text("START", rawEvent=None)],
    "retired-shape": [STARTED, {"type": "THINKING_START"}],
    "protocol-version": [{**STARTED, "protocolVersion": "99.0"}],
    "patch-failed": [STARTED, {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/gone"}]}],
    "activity-unknown": [STARTED, {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan", "patch": []}],
    "role-missing": [STARTED, thought("START")],
    "subtype-missing": [STARTED, {**VALUE, "subtype": None}],
    "value-unclaimed": [STARTED, VALUE],
    "shared-id": [STARTED, thought("START", role="reasoning"), text("START", "g")],
    "duplicate-id": [STARTED, {"type": "MESSAGES_SNAPSHOT", "messages": [USER, USER]}],
    "parent-not-assistant": [STARTED, RESULT, {**OPEN_CALL, "toolCallId": "c2", "parentMessageId": "t1"}],
    "call-reused": [STARTED, OPEN_CALL, call("END"), RESULT, {**OPEN_CALL, "parentMessageId": "other"}],
    "resume-unknown": [
        {**STARTED, "input": {**RUN, "messages": [], "resume": [{"interruptId": "i", "status": "resolved"}]}}
    ],
}

each_rule = pytest.mark.parametrize("code", RULES)


class TestExamples:
    """Each rule is raised by a small stream."""

    def test_every_rule_has_an_example(self) -> None:
        """The examples are those of all rules and of nothing else, in the order of the table."""
        assert list(EXAMPLES) == list(RULES)

    @each_rule
    def test_the_last_event_breaks_the_rule(self, code: str) -> None:
        """The last event of an example breaks its rule and no other; nothing before it breaks any."""
        *before, last = EXAMPLES[code]
        state = fold_all(EMPTY, before)
        assert state.session.anomalies.counts == {}
        anomalies = fold(state, last).session.anomalies
        assert anomalies.counts == {code: 1}
        [anomaly] = anomalies.first
        assert (anomaly.code, anomaly.position, anomaly.event) == (code, len(before), last["type"])

    @each_rule
    def test_strictness_follows_the_table(self, code: str) -> None:
        """`fold_strict` raises for a rule that the table calls fatal, and only then, with the table's page."""
        *before, last = EXAMPLES[code]
        state = fold_all(EMPTY, before)
        if not RULES[code].fatal:
            assert fold_strict(state, last) == fold(state, last)
            return
        with pytest.raises(ProtocolViolation) as raised:
            fold_strict(state, last)
        violation = raised.value
        assert (violation.code, violation.page) == (code, RULES[code].page)
        assert (violation.position, violation.event) == (len(before), last["type"])


class TestCompleteness:
    """No other code is ever flagged."""

    @given(events())
    def test_anything_flags_rules(self, stream: Stream) -> None:
        """Whatever is folded, what is recorded are rules of the table."""
        assert set(fold_all(EMPTY, stream).session.anomalies.counts) <= set(RULES)

    @given(broken_streams())
    def test_broken_streams_flag_rules(self, stream: Stream) -> None:
        """What a broken stream records up to a malformed event are rules of the table."""
        state = EMPTY
        with suppress(MalformedEvent):
            for event in stream:
                state = fold(state, event)
        assert set(state.session.anomalies.counts) <= set(RULES)

    def test_the_code_names_rules(self) -> None:
        """Each code that the library flags or notes stands in the table, and each of the table is flagged or noted."""
        kinds = {"text", "reasoning"}
        named = {code for file in (ROOT / "reducer").rglob("*.py") for code in codes_in(file)}
        dynamic = {code.replace("*", kind) for code in named if "*" in code for kind in kinds}
        assert {code for code in named if "*" not in code} | dynamic == set(RULES)

    @each_rule
    def test_rules_are_sentences(self, code: str) -> None:
        """A rule's meaning is one sentence on one line, its page one of the specification's."""
        rule = RULES[code]
        assert re.fullmatch(r"[^\n.]+\.", rule.meaning)
        assert re.fullmatch(r"(basic|events)/[a-z/-]+", rule.page)


def codes_in(file: Path) -> Iterator[str]:
    """Yield the codes that a module hands to `flag` or makes notes of; `*` stands for what a field decides."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            where = {"flag": 2, "Note": 0, "note": 0}.get(name)
            if where is not None and len(node.args) > where:
                yield from written(node.args[where])
            yield from (code for word in node.keywords if word.arg == "null" for code in written(word.value))
        elif isinstance(node, (ast.AnnAssign, ast.Assign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if getattr(target, "id", "") in {"code", "null"} and node.value is not None:
                yield from written(node.value)


def written(node: ast.expr) -> Iterator[str]:
    """Yield the strings that an expression may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)
    elif isinstance(node, ast.IfExp):
        yield from written(node.body)
        yield from written(node.orelse)


def test_rules_are_documented() -> None:
    """`docs/reference/rules.md` has the same table: each rule's code, meaning, whether it is fatal, and page."""
    page = (ROOT / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (.+) \| (yes|no) \| `(.+)` \|$", page, re.MULTILINE)
    assert rows == [(code, rule.meaning, "yes" if rule.fatal else "no", rule.page) for code, rule in RULES.items()]
