"""THINKING_*, which REASONING_* replaced: folded as their successors (spec: basic/versioning).

They carry no ids. Ids are made from the position of the event that opens, never from chance.
May change: what reasoning does, and which ids the scope has for what is open.
"""

from __future__ import annotations

from typing import Any

from reducer._cases import reasoning
from reducer._cases._entities import unused
from reducer._event import EVENT_CLASSES, Event, make
from reducer._records import REASONING
from reducer._run import scoped
from reducer._state import State

SPAN, MESSAGE = "span", "message"


def thinking_start(state: State, event: Any) -> State:
    """Open a reasoning span."""
    return _opened(state, event, SPAN, "REASONING_START", reasoning.reasoning_start)


def thinking_end(state: State, event: Any) -> State:
    """Close the reasoning span."""
    return _closed(state, event, SPAN, "REASONING_END", reasoning.reasoning_end)


def thinking_text_message_start(state: State, event: Any) -> State:
    """Open a reasoning message."""
    return _opened(state, event, MESSAGE, "REASONING_MESSAGE_START", reasoning.reasoning_message_start)


def thinking_text_message_content(state: State, event: Any) -> State:
    """Append to the reasoning message that is open, or to one of its own."""
    state, name = _named(state, MESSAGE)
    told = _successor("REASONING_MESSAGE_CONTENT", event, message_id=name, delta=event.delta)
    return reasoning.reasoning_message_content(state, told)


def thinking_text_message_end(state: State, event: Any) -> State:
    """Close the reasoning message."""
    return _closed(state, event, MESSAGE, "REASONING_MESSAGE_END", reasoning.reasoning_message_end)


def _named(state: State, what: str) -> tuple[State, str]:
    """Return the id of the open span or message, a new one where none is open."""
    thinking = state.session.scope.thinking
    known = thinking.get(what)
    if known is not None:
        return state, known
    name = unused(state, REASONING, f"thinking-{state.position}")
    return scoped(state, thinking={**thinking, what: name}), name


def _successor(kind: str, event: Any, **fields: Any) -> Event:
    """Return the event that says today what a retired one said, its metadata included."""
    if event.metadata is not None:
        fields["metadata"] = event.metadata
    return make(EVENT_CLASSES[kind], fields)


def _opened(state: State, event: Any, what: str, kind: str, case: Any) -> State:
    state, name = _named(state, what)
    fields = {"message_id": name} | ({"role": "reasoning"} if what == MESSAGE else {})
    return case(state, _successor(kind, event, **fields))  # type: ignore[no-any-return]


def _closed(state: State, event: Any, what: str, kind: str, case: Any) -> State:
    state, name = _named(state, what)
    state = case(state, _successor(kind, event, message_id=name))
    thinking = state.session.scope.thinking
    return scoped(state, thinking={key: value for key, value in thinking.items() if key != what})
