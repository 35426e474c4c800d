"""A pure event-fold reducer for AG-UI: events in, the thread snapshot out.

    from functools import reduce
    from reducer import EMPTY, fold, project

    state = reduce(fold, events, EMPTY)
    print(project(state).messages)

Events are objects of the official SDK, or their wire form.
"""

from __future__ import annotations

from reducer._batch import fold_all
from reducer._changes import Altered, Changes, Placed
from reducer._checkpoint import dumps, loads
from reducer._compact import compact
from reducer._decode_all import decode_all
from reducer._fold import finish, fold, fold_strict, seed
from reducer._project import Layout, Origin, Snapshot, project
from reducer._rejoin import rejoin
from reducer._replay import hydrate
from reducer._run_input import run_input
from reducer._session import Anomaly
from reducer._state import EMPTY, State
from reducer._view import View, changes
from reducer._wire import Event, decode
from reducer.errors import (
    CheckpointError,
    MalformedEvent,
    ProtocolViolation,
    ReducerError,
    ResumeError,
    TruncatedRun,
)

__all__ = [
    "EMPTY",
    "Altered",
    "Anomaly",
    "Changes",
    "CheckpointError",
    "Event",
    "Layout",
    "MalformedEvent",
    "Origin",
    "Placed",
    "ProtocolViolation",
    "ReducerError",
    "ResumeError",
    "Snapshot",
    "State",
    "TruncatedRun",
    "View",
    "changes",
    "compact",
    "decode",
    "decode_all",
    "dumps",
    "finish",
    "fold",
    "fold_all",
    "fold_strict",
    "hydrate",
    "loads",
    "project",
    "rejoin",
    "run_input",
    "seed",
]
