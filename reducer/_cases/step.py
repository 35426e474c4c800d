"""Steps: STARTED .. FINISHED by name, each owner's apart (spec: events/lifecycle).

May change: the run's open steps.
"""

from __future__ import annotations

from typing import Any

from reducer._cases._entities import flag
from reducer._index import assoc, dissoc
from reducer._run import amend, current
from reducer._state import State


def step_started(state: State, event: Any) -> State:
    """Open a step of its owner's."""
    run, step = current(state), (event.subagent_run_id, event.step_name)
    if run is None:
        return state
    if step in run.steps:
        return flag(state, event, "step-already-open", repr(event.step_name))
    return amend(state, steps=assoc(run.steps, step, state.position))


def step_finished(state: State, event: Any) -> State:
    """Close the owner's step of that name."""
    run, step = current(state), (event.subagent_run_id, event.step_name)
    if run is None:
        return state
    if step not in run.steps:
        return flag(state, event, "step-not-open", repr(event.step_name))
    return amend(state, steps=dissoc(run.steps, step))
