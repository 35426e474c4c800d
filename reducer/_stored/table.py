"""The format as data: for every record of the state its fields, under which name each is stored, and what it may hold.

What has its default is left out. `elsewhere` says of the other attributes what in the file they are read off. A name
that was released never changes its meaning; a new field, or a new meaning, makes a new version (see `_checkpoint`).
"""

from __future__ import annotations

from typing import Final

from pyrsistent import pvector

from reducer._frozen import Object
from reducer._interrupts import Interrupts
from reducer._records import REASONING, Activity, Call, Entry, Lane, Message, Result, Row, Settled, Stream, Streams
from reducer._records import TEXT as TEXT_KIND
from reducer._session import Anomalies, Anomaly, Run, Scope, Session, Subagent
from reducer._state import Conversation, State
from reducer._stored.record import DERIVED, Field, Record, many
from reducer._stored.shapes import (
    ANY,
    CONTENT,
    COUNT,
    COUNTS,
    FLAG,
    GROUPS,
    INTERRUPTS,
    MARK,
    MAYBES,
    MESSAGE_KEY,
    NAMES,
    OBJECT,
    OWNER,
    OWNERS,
    PARTS,
    POSITION,
    RULE,
    STEPS,
    STREAM_KEY,
    TEXT,
    USAGE,
    VALUES,
    one_of,
)

_METADATA = Field("metadata", "metadata", OBJECT, None)
_SEALED = (Field("value", "value", TEXT, None), Field("value_type", "valueType", TEXT, None))
_WHOSE = (Field("tag", "tag", OWNER, DERIVED), Field("run", "run", COUNT, DERIVED))
_SPAN = {"first": "at", "last": "at"}

ROLES: Final = {TEXT_KIND: "assistant", REASONING: "reasoning"}
"""The kinds of messages, and the role that one has where nothing else is said."""

MESSAGE: Final = Record(
    Message,
    Field("role", "role", TEXT, DERIVED),
    Field("name", "name", TEXT, None),
    Field("owner", "owner", TEXT, None),
    *_WHOSE,
    Field("started", "started", FLAG, DERIVED),
    Field("spoken", "spoken", FLAG, DERIVED),
    Field("stated", "stated", FLAG, False),
    _METADATA,
    *_SEALED,
    Field("parts", "parts", PARTS, None),
    elsewhere={
        "kind": "text or reasoning",
        "id": "text or reasoning",
        "rows": "the rows that name it",
    },
)
CALL: Final = Record(
    Call,
    Field("id", "id", TEXT),
    Field("name", "name", TEXT),
    Field("home", "home", TEXT, DERIVED),
    Field("owner", "owner", OWNER, DERIVED),
    *_WHOSE,
    Field("answered", "answered", FLAG, DERIVED),
    Field("stated", "stated", FLAG, False),
    Field("echo", "echo", COUNT, None),
    _METADATA,
    *_SEALED,
    elsewhere={"place": "the row that holds it", "rank": "where it stands there"},
)
RESULT: Final = Record(
    Result,
    Field("id", "result", TEXT),
    Field("call_id", "call", TEXT),
    Field("owner", "owner", TEXT, None),
    Field("content", "t", CONTENT),
    Field("error", "error", TEXT, None),
    Field("stated", "stated", FLAG, False),
    _METADATA,
    *_SEALED,
    *_WHOSE,
)
ACTIVITY: Final = Record(
    Activity,
    Field("id", "activity", TEXT),
    Field("type", "type", TEXT),
    Field("owner", "owner", TEXT, None),
    Field("content", "content", OBJECT),
    _METADATA,
    *_WHOSE,
)
ROW: Final = Record(Row, elsewhere={**_SPAN, "rope": "t"})
ENTRY: Final = Record(Entry, elsewhere={"entity": "the row or call", **_SPAN, "rope": "t"})
LANE: Final = Record(
    Lane,
    Field("text", "text", MARK, -1),
    Field("reasoning", "reasoning", MARK, -1),
    Field("groups", "groups", GROUPS, {}),
    Field("latest", "latest", MESSAGE_KEY, None),
)
STREAM: Final = Record(Stream, Field("key", "key", STREAM_KEY), Field("established", "established", MAYBES, {}))
STREAMS: Final = Record(
    Streams,
    Field("recent", "recent", MAYBES),
    elsewhere={"lanes": "lanes", "kinds": "lanes and recent"},
)
SETTLED: Final = Record(
    Settled,
    Field("rows", "rows", COUNT),
    Field("position", "at", POSITION),
    elsewhere={"order": "order"},
)
CONVERSATION: Final = Record(
    Conversation,
    Field("unclaimed", "unclaimed", VALUES, {}),
    Field("opened", "opened", MARK, -1),
    elsewhere={
        "timeline": "rows",
        "index": "rows and apart",
        "early": "rows",
        "lanes": "lanes",
        "streams": "streams",
        "settled": "settled",
        "base": "the last run's first or last position",
    },
)
SUBAGENT: Final = Record(
    Subagent,
    Field("id", "id", TEXT),
    Field("name", "name", TEXT),
    Field("status", "status", one_of("running", "finished", "suspended", "error", "abandoned")),
    Field("first", "first", POSITION),
    Field("last", "last", POSITION),
    Field("started", "started", OBJECT, Object({})),
    Field("ended", "ended", OBJECT, None),
)
RUN: Final = Record(
    Run,
    Field("run_id", "id", OWNER),
    Field("thread_id", "thread", OWNER),
    Field("first", "first", POSITION),
    Field("last", "last", POSITION),
    Field("status", "status", one_of("running", "finished", "interrupted", "cancelled", "error", "truncated")),
    Field("parent_run_id", "parent", TEXT, None),
    Field("protocol_version", "protocol", TEXT, None),
    Field("outcome", "outcome", OBJECT, None),
    Field("result", "result", ANY, None),
    Field("error", "error", TEXT, None),
    Field("code", "code", TEXT, None),
    Field("usage", "usage", USAGE, pvector()),
    Field("echoed", "echoed", FLAG, False),
    elsewhere={"subagents": "subagents"},
)
SCOPE: Final = Record(
    Scope,
    Field("steps", "steps", STEPS, {}),
    Field("spans", "spans", MAYBES, {}),
    Field("thinking", "thinking", NAMES, {}),
    Field("owners", "owners", OWNERS, {}),
    elsewhere={"subagents": "subagents"},
)
ANOMALY: Final = Record(
    Anomaly,
    Field("code", "code", RULE),
    Field("position", "at", POSITION),
    Field("event", "event", TEXT),
    Field("detail", "detail", TEXT, ""),
)
ANOMALIES: Final = Record(
    Anomalies,
    Field("counts", "counts", COUNTS),
    Field("first", "first", many(ANOMALY)),
    Field("latest", "latest", many(ANOMALY)),
)
SESSION: Final = Record(
    Session,
    Field("shared", "state", ANY),
    Field("interrupts", "interrupts", INTERRUPTS, Interrupts()),
    Field("anomalies", "anomalies", ANOMALIES.shape(), Anomalies()),
    Field("thread_id", "thread", TEXT, None),
    Field("begun", "begun", FLAG, False),
    elsewhere={"runs": "runs", "scope": "the run that goes on, or scope", "active": "the last run"},
)
STATE: Final = Record(
    State,
    Field("position", "events", COUNT),
    elsewhere={
        "live": "the rows and calls that are open",
        "conversation": "rows, apart, lanes, streams, unclaimed, settled, opened",
        "session": "state, thread, runs, interrupts, anomalies, begun",
        "rope": "the rows and calls that are open",
        "ropes": "the rows and calls that are open",
        "pen": "the last event; without it one look-up more",
    },
)

RECORDS: Final = {
    record.kind: record
    for record in (
        STATE,
        CONVERSATION,
        SESSION,
        MESSAGE,
        CALL,
        RESULT,
        ACTIVITY,
        ROW,
        ENTRY,
        LANE,
        STREAM,
        STREAMS,
        SETTLED,
        RUN,
        SCOPE,
        SUBAGENT,
        ANOMALY,
        ANOMALIES,
    )
}
"""All of them: a test holds them against what a state is made of."""
