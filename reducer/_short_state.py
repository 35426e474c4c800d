"""The short ways of the shared state and of activities: as in `_short`, for JSON instead of texts.

An object of the SDK is not decoded first: what decoding would look at is looked at here. A value that `freeze` or
`apply` refuses takes the long way, which says why.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeAlias

from pydantic import BaseModel
from pyrsistent import PVector

from reducer._frozen import ABSENT, Frozen, Object, Unfreezable, freeze, members
from reducer._index import Index
from reducer._patch import MalformedOperation, PatchError, apply
from reducer._records import ACTIVITY, Activity, Key, filled
from reducer._shapes import SAFE_INTEGER
from reducer._short import Short
from reducer._state import State, made, moved

_Fill: TypeAlias = "Callable[[State, Any, Any], State | None]"

_TEXT_OR_NONE = frozenset({str, type(None)})
_REFUSED = (PatchError, MalformedOperation, Unfreezable)
_LENGTHS: Final = {"add": 3, "replace": 3, "test": 3, "remove": 2}
"""How many members an operation has; those that move and copy are rare, and the SDK has its own name for `from`."""
_OPERATION: Final = {(name, name, ABSENT) for name in ("op", "path", "value")}


def way(kind: str, given: str, fill: _Fill, *, ends: bool, sdk: bool) -> Short:
    """Fold events of `kind`, whose field `given` is a value or a patch; `ends` says if they end chunk streams."""
    is_patch = kind.endswith("_DELTA")

    def decoded(state: State, event: Any) -> State | None:
        if (
            event.metadata is not None
            or event.notes
            or not state.session.active
            or (ends and state.conversation.streams is not None)
            or type(event.subagent_run_id) not in _TEXT_OR_NONE
        ):
            return None
        value = getattr(event, given)
        try:
            return fill(state, event, value if is_patch else freeze(value))
        except _REFUSED:
            return None

    def said(state: State, event: Any) -> State | None:
        fields = event.__dict__
        name, stamp = fields["type"], fields["timestamp"]
        if (
            fields["metadata"] is not None
            or fields["raw_event"] is not None
            or event.__pydantic_extra__
            or not state.session.active
            or (ends and state.conversation.streams is not None)
            or type(fields["subagent_run_id"]) not in _TEXT_OR_NONE
            or not isinstance(name, str)
            or name != kind
            or not (stamp is None or (type(stamp) is int and -SAFE_INTEGER <= stamp <= SAFE_INTEGER))
        ):
            return None
        value = fields[given]
        try:
            value = operations(value) if is_patch else freeze(value)
            return None if value is ABSENT else fill(state, event, value)
        except _REFUSED:
            return None

    return said if sdk else decoded


def operations(given: Any) -> Any:
    """Return an SDK's operations as dicts that `apply` takes, or `ABSENT` where decoding has to look at them."""
    if type(given) is not list:
        return ABSENT
    plain = []
    for operation in given:
        held = operation
        if type(operation) is not dict:
            kind: type = type(operation)
            if not _is_operation(kind) or operation.__pydantic_extra__:
                return ABSENT
            held = operation.__dict__
        # With the members that it must have, which `apply` looks for, it has no others.
        if len(held) != _LENGTHS.get(held["op"]):
            return ABSENT
        plain.append(held)
    return plain


@lru_cache(maxsize=64)
def _is_operation(cls: type) -> bool:
    """Say whether a class is that of models whose wire form is what they hold, under the names of an operation."""
    return issubclass(cls, BaseModel) and (described := members(cls)) is not None and _OPERATION.issuperset(described)


@lru_cache(maxsize=64)
def _omits(cls: type) -> bool:
    """Say whether `replace` without a value is left out: where the SDK gives it one, null is what somebody wrote."""
    return not issubclass(cls, BaseModel) or ("replace", "replace", None) in (members(cls) or ())


def state_snapshot(state: State, _: Any, value: Frozen) -> State:
    """Replace the shared state."""
    session = state.session.saying(value, state.session.scope)
    return made(state.position + 1, state.rope, state.pen, state.live, state.ropes, state.conversation, session)


def state_delta(state: State, _: Any, patch: Any) -> State:
    """Patch the shared state."""
    return state_snapshot(state, None, apply(state.session.shared, patch).document)


def activity_snapshot(state: State, event: Any, content: Frozen) -> State | None:
    """Add an activity, or replace all of one that is there."""
    conversation = state.conversation
    timeline, index = conversation.timeline, conversation.index
    name, title, tag, replace = event.message_id, event.activity_type, event.subagent_run_id, event.replace
    if (
        type(name) is not str
        or type(title) is not str
        or type(content) is not Object
        or not (replace is True or replace is False or (replace is None and _omits(event.__class__)))
    ):
        return None
    key: Key = (ACTIVITY, name)
    entry = index.get(key)
    if entry is None:
        if index.get(name) is not None:
            return None
        timeline, index = timeline.append(key), index.put(name, key)
        metadata, first = None, state.position
    elif replace is False:
        return None
    else:
        metadata, first = entry[0].metadata, entry[1]
    told = (name, title, tag, content, metadata, tag, state.session.active)
    return _with_activity(state, timeline, index, key, told, first)


def activity_delta(state: State, event: Any, patch: Any) -> State | None:
    """Patch an activity that is there."""
    name, title, tag = event.message_id, event.activity_type, event.subagent_run_id
    key: Key = (ACTIVITY, name)
    conversation = state.conversation
    entry = conversation.index.get(key)
    if entry is None or type(name) is not str or type(title) is not str:
        return None
    activity, first, _, _ = entry
    if tag is not None and not (activity.run == state.session.active and tag == activity.tag):
        return None
    content = apply(activity.content, patch).document
    if type(content) is not Object:
        return None
    told = (name, title, activity.owner, content, *activity[4:])
    return _with_activity(state, conversation.timeline, conversation.index, key, told, first)


def _with_activity(
    state: State, timeline: PVector[Key], index: Index[Any, Any], key: Key, told: tuple[Any, ...], first: int
) -> State:
    before = state.conversation
    index = index.put(key, (filled(Activity, told), first, state.position, None))
    # It cuts nothing, and no chunk stream is its business.
    lanes, opened = before.lanes, before.opened
    return moved(state, state.rope, state.pen, state.live, state.ropes, timeline, index, lanes, opened)


_ACTED = ("message_id", "activity_type")
SHORT: dict[str, tuple[Callable[[bool], Short], tuple[str, ...]]] = {
    "STATE_SNAPSHOT": (
        lambda sdk: way("STATE_SNAPSHOT", "snapshot", state_snapshot, ends=True, sdk=sdk),
        ("snapshot",),
    ),
    "STATE_DELTA": (lambda sdk: way("STATE_DELTA", "delta", state_delta, ends=True, sdk=sdk), ("delta",)),
    "ACTIVITY_SNAPSHOT": (
        lambda sdk: way("ACTIVITY_SNAPSHOT", "content", activity_snapshot, ends=False, sdk=sdk),
        ("content", "replace", *_ACTED),
    ),
    "ACTIVITY_DELTA": (
        lambda sdk: way("ACTIVITY_DELTA", "patch", activity_delta, ends=False, sdk=sdk),
        ("patch", *_ACTED),
    ),
}
"""The types that have a short way here, as in `_short.SHORT`."""
