"""The records of a conversation: entities, their rows, the lanes that cut them, the chunk streams that write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import attrs
from pyrsistent import PVector, pvector

from reducer._frozen import Frozen, Object
from reducer._text import Rope, same_text

filled: Callable[[type, tuple[Any, ...]], Any] = tuple.__new__
"""A record straight from its fields, without its constructor in Python."""

TEXT, REASONING, CALL, RESULT, ACTIVITY = "text", "reasoning", "call", "result", "activity"

Key = tuple[str, ...]
"""What an entity is known by: its kind, its id, and where that is not enough a third, which is a result's call, an
older call's home, or the role of a text beside another."""

Owner: TypeAlias = "str | None"
"""The subagent invocation that something belongs to; `None` is the parent agent."""


class Row(NamedTuple):
    """A stretch of a message that is not current any more.

    `first` and `last` are the positions of its first and last event. Which calls it holds the calls say.
    """

    first: int
    last: int
    rope: Rope = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return self[:2] == other[:2] and same_text(self[2], other[2])

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:2])


class Message(NamedTuple):
    """A text or reasoning message: what is established about it, and its rows but for the current one.

    `owner` is whose it is, `tag` what continuations in the run number `run` have to agree with. `started` says that its
    text has opened (a call alone may have created it), `spoken` that it has a content of its own, be it empty,
    `stated` that a snapshot, an input or a stored thread brought it. `parts` is a content of parts.
    """

    kind: str
    id: str
    role: str
    name: str | None
    owner: Owner
    tag: Owner
    run: int = 0
    started: bool = True
    spoken: bool = True
    stated: bool = False
    metadata: Object | None = None
    value: str | None = None
    value_type: str | None = None
    parts: PVector[Any] | None = None
    rows: PVector[Row] = pvector()


class Call(NamedTuple):
    """A tool call.

    `home` is the message that holds it for the specification's consumer, `place` the message and the ordinal of the row
    that shows it (`None`: arguments came, but no start yet), where `rank` orders the calls that one event brought.
    `echo` counts the characters of stated arguments that the stream has repeated so far; `None`: it repeats nothing.
    """

    id: str
    name: str
    home: str
    owner: Owner
    tag: Owner
    run: int = 0
    place: tuple[Key, int] | None = None
    rank: int = 0
    stated: bool = False
    echo: int | None = None
    metadata: Object | None = None
    # The last three in this order: a result makes the call anew with the last one, a draft writes them by place.
    value: str | None = None
    value_type: str | None = None
    answered: bool = False


class Result(NamedTuple):
    """A tool result: a message of its own, `content` a string or parts; `tag` and `run` as a message has them."""

    id: str
    call_id: str
    owner: Owner
    content: Frozen
    error: str | None = None
    stated: bool = False
    metadata: Object | None = None
    value: str | None = None
    value_type: str | None = None
    tag: Owner = None
    run: int = 0


class Activity(NamedTuple):
    """An activity message, its content any JSON object; `tag` and `run` as a message has them."""

    id: str
    type: str
    owner: Owner
    content: Frozen
    metadata: Object | None = None
    tag: Owner = None
    run: int = 0


Entity: TypeAlias = "Message | Call | Result | Activity"


class Entry(NamedTuple):
    """An entity with what is written now: a message's current row, a call's arguments.

    `first` and `last` are event positions; `first` is -1 where a message has no current row.
    """

    entity: Any
    first: int
    last: int
    rope: Rope = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entry):
            return NotImplemented
        return self[:3] == other[:3] and same_text(self[3], other[3])

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[1:3])


class Lane(NamedTuple):
    """Where one owner's rows were cut last: a row that opened before the cut of its kind is not current.

    `groups` are the lane's current tool-call groups: for each message the ordinal of its row. `latest` is the message
    of the latest one.
    """

    text: int = -1
    reasoning: int = -1
    groups: Mapping[Key, int] = {}
    latest: Key | None = None


Closed: TypeAlias = "tuple[Any, int, int, Rope]"
"""An entity that is not open, as an `Entry` has it; a plain tuple, which takes a sixth of the time to make."""

Cuts: TypeAlias = "tuple[int, int, Mapping[Key, int], Key | None]"
"""A `Lane` as a plain tuple, likewise."""


@attrs.frozen
class Stream:
    """An open chunk stream: its entity, and what its opener said of each field that a continuation may repeat."""

    key: Key
    established: Mapping[str, str | None] = attrs.field(factory=dict)


@attrs.frozen
class Streams:
    """The open chunk streams: at most one in a lane (spec: basic/patterns/streaming).

    `lanes` holds each lane's stream, `kinds` for each kind the lanes of its open entities, `recent` for each kind the
    lane of its last chunk.
    """

    lanes: Mapping[Owner, Stream] = attrs.field(factory=dict)
    kinds: Mapping[str, Mapping[Key, Owner]] = attrs.field(factory=dict)
    recent: Mapping[str, Owner] = attrs.field(factory=dict)


@attrs.frozen
class Settled:
    """The order that a messages snapshot at `position` left for the MERGED layout, of the first `rows` rows."""

    order: tuple[Key, ...]
    rows: int
    position: int
