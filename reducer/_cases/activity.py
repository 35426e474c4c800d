"""Activities: messages whose content is an object, replaced and patched like the state (spec: events/activity).

May change: of the conversation the timeline and the index. An activity cuts nothing.
"""

from __future__ import annotations

from typing import Any

from reducer._cases._entities import (
    check_tag,
    find,
    flag,
    flag_shared,
    identified,
    merged,
    on_record,
    update,
)
from reducer._frozen import Object, freeze
from reducer._patch import PatchError, apply
from reducer._records import ACTIVITY, Activity, Entry, Key
from reducer._state import State


def activity_snapshot(state: State, event: Any) -> State:
    """Create the activity, or replace its content, type and owner; `replace: false` leaves an existing one alone."""
    key: Key = (ACTIVITY, event.message_id)
    content, now = freeze(event.content, ("content",)), state.position
    entry = find(state, key)
    if entry is None:
        state = flag_shared(state, event, key)
        metadata = merged(None, event.metadata)
        owner, run = event.subagent_run_id, len(state.session.runs)
        activity = Activity(event.message_id, event.activity_type, owner, content, metadata, owner, run)
        return add_activity(state, key, activity)
    activity = entry.entity._replace(metadata=merged(entry.entity.metadata, event.metadata))
    owner = tag = event.subagent_run_id
    if event.replace is not False:
        activity = activity._replace(type=event.activity_type, content=content, owner=owner)
    elif (known := on_record(state, key, activity)) is not None:
        tag = known[0]
    activity = activity._replace(tag=tag, run=len(state.session.runs))
    return update(state, key, Entry(activity, entry.first, now))


def add_activity(state: State, key: Key, activity: Activity) -> State:
    """Put a new activity at the end of the timeline."""
    conversation, now = state.conversation, state.position
    index = conversation.index.put(key, Entry(activity, now, now))
    timeline, index = conversation.timeline.append(key), identified(index, key)
    conversation = conversation._replace(timeline=timeline, index=index)
    return state._replace(conversation=conversation)


def activity_delta(state: State, event: Any) -> State:
    """Patch the content whole or not at all; the type is the delta's, metadata merges either way."""
    key: Key = (ACTIVITY, event.message_id)
    entry = find(state, key)
    if entry is None:
        return flag(state, event, "activity-unknown", repr(event.message_id))
    activity = entry.entity
    state = check_tag(state, event, key, activity)
    activity = activity._replace(metadata=merged(activity.metadata, event.metadata))
    try:
        content = apply(activity.content, event.patch).document
        if isinstance(content, Object):
            activity = activity._replace(content=content, type=event.activity_type)
        else:
            state = flag(state, event, "patch-failed", "an activity's content has to stay an object")
    except PatchError as error:
        state = flag(state, event, "patch-failed", str(error))
    return update(state, key, Entry(activity, entry.first, state.position))
