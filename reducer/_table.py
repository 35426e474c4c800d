"""The table of cases: what each event type does, and which chunk streams its arrival ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from reducer._cases import (
    activity,
    chunk,
    passthrough,
    reasoning,
    retired,
    run,
    shared,
    step,
    subagent,
    text,
    tool_call,
)
from reducer._cases.messages import messages_snapshot
from reducer._records import CALL, REASONING, TEXT
from reducer._state import State

NOTHING, LANE, ALL = "nothing", "lane", "all"


class Case(NamedTuple):
    """A row of the table: the function, and which chunk streams the event's arrival ends."""

    apply: Callable[[State, Any], State]
    ends: str = NOTHING


CASES: dict[str, Case] = {
    "RUN_STARTED": Case(run.run_started, ALL),
    "RUN_FINISHED": Case(run.run_finished, ALL),
    "RUN_ERROR": Case(run.run_error, ALL),
    "STEP_STARTED": Case(step.step_started, LANE),
    "STEP_FINISHED": Case(step.step_finished, LANE),
    "TEXT_MESSAGE_START": Case(text.text_message_start, LANE),
    "TEXT_MESSAGE_CONTENT": Case(text.text_message_content, LANE),
    "TEXT_MESSAGE_END": Case(text.text_message_end, LANE),
    "TEXT_MESSAGE_CHUNK": Case(chunk.text_message_chunk),
    "REASONING_START": Case(reasoning.reasoning_start, LANE),
    "REASONING_MESSAGE_START": Case(reasoning.reasoning_message_start, LANE),
    "REASONING_MESSAGE_CONTENT": Case(reasoning.reasoning_message_content, LANE),
    "REASONING_MESSAGE_END": Case(reasoning.reasoning_message_end, LANE),
    "REASONING_MESSAGE_CHUNK": Case(chunk.reasoning_message_chunk),
    "REASONING_END": Case(reasoning.reasoning_end, LANE),
    "REASONING_ENCRYPTED_VALUE": Case(reasoning.reasoning_encrypted_value),
    "TOOL_CALL_START": Case(tool_call.tool_call_start, LANE),
    "TOOL_CALL_ARGS": Case(tool_call.tool_call_args, LANE),
    "TOOL_CALL_END": Case(tool_call.tool_call_end, LANE),
    "TOOL_CALL_CHUNK": Case(chunk.tool_call_chunk),
    "TOOL_CALL_RESULT": Case(tool_call.tool_call_result, LANE),
    "STATE_SNAPSHOT": Case(shared.state_snapshot, LANE),
    "STATE_DELTA": Case(shared.state_delta, LANE),
    "MESSAGES_SNAPSHOT": Case(messages_snapshot, ALL),
    "ACTIVITY_SNAPSHOT": Case(activity.activity_snapshot),
    "ACTIVITY_DELTA": Case(activity.activity_delta),
    "SUBAGENT_STARTED": Case(subagent.subagent_started),
    "SUBAGENT_FINISHED": Case(subagent.subagent_finished, LANE),
    "SUBAGENT_ERROR": Case(subagent.subagent_error, LANE),
    "RAW": Case(passthrough.raw),
    "CUSTOM": Case(passthrough.custom, LANE),
    "THINKING_START": Case(retired.thinking_start, LANE),
    "THINKING_END": Case(retired.thinking_end, LANE),
    "THINKING_TEXT_MESSAGE_START": Case(retired.thinking_text_message_start, LANE),
    "THINKING_TEXT_MESSAGE_CONTENT": Case(retired.thinking_text_message_content, LANE),
    "THINKING_TEXT_MESSAGE_END": Case(retired.thinking_text_message_end, LANE),
}
"""What each event type does. A test holds it against the installed SDK's `EventType` and event union."""

CONTENT = {"TEXT_MESSAGE_CONTENT": TEXT, "REASONING_MESSAGE_CONTENT": REASONING, "TOOL_CALL_ARGS": CALL}
"""The types that streams are made of, and what they write to."""
