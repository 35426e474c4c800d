"""Text messages: START (CONTENT)* END, reopened by another START (spec: events/text-messages).

May change: `live`, and of the conversation the timeline, the index, the lane's cuts and the values it claims.
"""

from __future__ import annotations

from typing import Any

from reducer._cases import _message
from reducer._records import TEXT
from reducer._state import State


def text_message_start(state: State, event: Any) -> State:
    """Open a text message; an absent role means assistant."""
    return _message.start(state, event, (TEXT, event.message_id), role=event.role or "assistant", name=event.name)


def text_message_content(state: State, event: Any) -> State:
    """Append the delta to the open message's current row."""
    return _message.content(state, event, (TEXT, event.message_id), event.delta)


def text_message_end(state: State, event: Any) -> State:
    """Close the message; what it holds stays, and a new start may continue it."""
    return _message.end(state, event, (TEXT, event.message_id))
