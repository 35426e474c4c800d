"""Every rule whose breach is recorded: one table that the fold, the strict fold, the docs and the tests read.

A rule says what its code means, whether the specification makes it fatal, and on which page. Nothing else decides
strictness: `fold` records the anomaly, `fold_strict` looks here.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """`meaning` is one sentence, `fatal` what the specification says of it, `page` where it says so."""

    meaning: str
    fatal: bool
    page: str


STREAMING = "basic/patterns/streaming"
SNAPSHOTS = "basic/patterns/snapshots"
PROCESSING = "basic/processing"
VERSIONING = "basic/versioning"
LIFECYCLE = "events/lifecycle"
SUBAGENTS = "events/subagents"
REASONING = "events/reasoning"

RULES: dict[str, Rule] = {
    # Run boundaries.
    "first-event": Rule("The stream opens with something other than RUN_STARTED or RUN_ERROR.", True, LIFECYCLE),
    "run-already-active": Rule("RUN_STARTED while a run is still active.", True, LIFECYCLE),
    "after-run-closed": Rule("An event after the run closed that the closed run does not admit.", True, LIFECYCLE),
    "open-at-run-finish": Rule("RUN_FINISHED while something the run opened is still open.", True, LIFECYCLE),
    "run-id-mismatch": Rule("RUN_FINISHED names another run than the RUN_STARTED it closes.", True, "basic/run-input"),
    "thread-id-mismatch": Rule("A run boundary names another thread than the stream's.", True, "basic/run-input"),
    "duplicate-interrupt-id": Rule("Two interrupts of one run share an id.", True, "basic/patterns/interrupt-resume"),
    # Open, content, close.
    "text-already-open": Rule("A start for a text message that is open.", True, STREAMING),
    "text-not-open": Rule("Content or an end for a text message that is not open.", True, STREAMING),
    "reasoning-already-open": Rule("A start for a reasoning message that is open.", True, REASONING),
    "reasoning-not-open": Rule("Content or an end for a reasoning message that is not open.", True, REASONING),
    "span-already-open": Rule("REASONING_START for a span that is open.", True, REASONING),
    "span-not-open": Rule("REASONING_END for a span that is not open.", True, REASONING),
    "call-already-open": Rule("A start for a tool call that is open.", True, "events/tool-calls"),
    "call-not-open": Rule("Arguments or an end for a tool call that is not open.", True, "events/tool-calls"),
    "step-already-open": Rule("STEP_STARTED for a step its owner has open.", True, LIFECYCLE),
    "step-not-open": Rule("STEP_FINISHED for a step its owner has not open.", True, LIFECYCLE),
    # Chunks.
    "chunk-without-id": Rule("A first chunk without the identifier that opening requires.", True, STREAMING),
    "chunk-without-name": Rule("A first TOOL_CALL_CHUNK without toolCallName.", True, STREAMING),
    "chunk-conflict": Rule("A continuation chunk repeats an opener's field with another value.", True, STREAMING),
    "chunk-ambiguous": Rule("A bare continuation chunk that several lanes could own.", True, STREAMING),
    # Subagents.
    "attribution-mismatch": Rule("A continuation's subagentRunId disagrees with its opener's.", True, SUBAGENTS),
    "null-attribution": Rule("A subagent field is spelled null instead of being left out.", True, SUBAGENTS),
    "subagent-already-active": Rule("SUBAGENT_STARTED for an invocation that is active.", True, SUBAGENTS),
    "subagent-reused": Rule("SUBAGENT_STARTED reuses an invocation this run has closed.", True, SUBAGENTS),
    "subagent-not-active": Rule("The end of an invocation that is not active.", True, SUBAGENTS),
    "subagent-parent-unknown": Rule("parentSubagentRunId names no invocation of this run.", True, SUBAGENTS),
    # Material from another version of the protocol.
    "unknown-event": Rule("An event of a type nobody described; dropped.", False, PROCESSING),
    "unknown-property": Rule("A property nobody described; stripped.", False, PROCESSING),
    "unknown-member": Rule("A union member nobody described; stripped with what requires it.", False, PROCESSING),
    "null-refused": Rule("A null on an optional field, which has to be left out; read as absent.", True, "basic/index"),
    "null-as-absent": Rule("A null that producers used to send, and that is tolerated.", False, VERSIONING),
    "retired-shape": Rule("A shape the protocol has retired; translated.", False, VERSIONING),
    "protocol-version": Rule("The producer declares a newer or unreadable protocol version.", False, VERSIONING),
    # What could not be applied, or only in a way the producer may not expect.
    "patch-failed": Rule("A patch does not apply; the value stays as it was.", False, SNAPSHOTS),
    "activity-unknown": Rule("A delta for an activity nothing created; skipped.", False, "events/activity"),
    "role-missing": Rule("REASONING_MESSAGE_START without its role, which can only be one.", True, REASONING),
    "subtype-missing": Rule("REASONING_ENCRYPTED_VALUE does not say what it names; dropped.", True, REASONING),
    "value-unclaimed": Rule("An encrypted value for an entity not seen yet; kept for it.", False, REASONING),
    "shared-id": Rule("Entities of different kinds under one id; each is kept.", False, "basic/index"),
    "duplicate-id": Rule("A messages snapshot holds one id twice.", False, "events/state"),
    "parent-not-assistant": Rule(
        "A tool call's parent is no assistant message; the call's id serves.", False, "events/tool-calls"
    ),
    "call-reused": Rule("A start reuses the id of an answered call; a new call.", False, "events/tool-calls"),
    "resume-unknown": Rule("A resume entry names no open interrupt.", False, "basic/patterns/interrupt-resume"),
}
