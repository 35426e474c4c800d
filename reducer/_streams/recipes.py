"""What is drawn: short lists of small records.

Hypothesis shrinks a list by deleting elements of up to five choices, so all that is drawn is made of lists whose
elements are that small, and whatever is optional is an element of its own: a text message that says nothing is an
empty list. That is what makes examples shrink to true minima.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from attrs import field, frozen

from .says import Say, With, brief


class Span(Enum):
    """What encloses reasoning messages."""

    NONE = 0
    OWN_ID = 1
    SHARED_ID = 2


class Parent(Enum):
    """Which message a tool call says it belongs to."""

    NONE = 0
    TEXT = 1
    """The lane's latest text, whether it is still open or not; its first where it has had none."""
    SAME = 2
    """The message of the lane's latest call."""
    NEVER = 3
    """A message that never starts."""
    NEXT = 4
    """The lane's next text."""


@frozen(repr=False)
class Manner:
    """What may be special about something that streams."""

    chunked: bool = False
    early: bool = False
    """Whether an encrypted value comes before it opens."""
    metadata: tuple[dict[str, Any] | None, dict[str, Any] | None] = (None, None)
    """What its start and its end carry."""
    speaker: tuple[str | None, str | None] = (None, None)
    """The role of a text and the name of its author."""
    span: Span = Span.NONE
    parent: Parent = Parent.NONE
    tool: str = "search"
    shared: int = 0
    """Whether it takes an id that is in use: 1 a text that of the reasoning before it, or a result that of the latest
    text; 2 a result that of its call."""
    foreign: bool = False
    """Whether the parent agent answers for the subagent."""
    __repr__ = brief


@frozen
class Streaming:
    """A text message, a tool call or reasoning."""

    kind: str
    beside: bool
    """Whether it starts together with the strand before it, rather than when that one has closed."""
    manner: Manner
    says: tuple[Say, ...] = field(converter=tuple)


@frozen
class Late:
    """A result for the first call of the lane's owner that still has none, from whichever run."""

    beside: bool
    gap: int
    content: Any


@frozen
class Phase:
    """A step."""

    beside: bool
    close: int
    """How long its end waits."""


@frozen
class Alone:
    """An event that stands alone and is what it is: shared state, RAW, CUSTOM."""

    beside: bool
    gap: int
    event: dict[str, Any]


@frozen
class Change:
    """What happens to an activity: an event without what names the activity, which may be of another type then."""

    gap: int
    event: dict[str, Any]
    retyped: bool = False


@frozen
class Activity:
    """An activity."""

    beside: bool
    first: dict[str, Any]
    """Its first snapshot, without its id."""
    changes: tuple[Change, ...] = field(converter=tuple)
    shared: bool = False
    """Whether it takes the id of the text before it."""


class Kept(Enum):
    """Which settled messages a snapshot restates."""

    ALL = 0
    LATER_HALF = 1
    NONE = 2


@frozen
class Restated:
    """A messages snapshot."""

    beside: bool
    gap: int
    withs: tuple[With, ...] = field(converter=tuple)


@frozen
class Restatement:
    """What may be special about a messages snapshot."""

    kept: Kept = Kept.ALL
    altered: bool = False
    reasoning: bool = False
    activities: bool = False
    results: bool = True
    values: bool = True
    """Whether the copies carry their encrypted values."""
    backwards: bool = False
    fresh: str | None = None
    """The role of a message that nobody has seen before."""
    authority: Any = None


Strand = Streaming | Late | Phase | Alone | Activity | Restated


@frozen(repr=False)
class Conduct:
    """How a subagent presents itself."""

    announced: bool = False
    nested: bool = False
    """Whether the lane before it spawned this one."""
    ending: int = 0
    """How an announced subagent ends: 0 no outcome, 1 success, 2 suspended, 3 an error."""
    untagged: bool = False
    """Whether only openings are attributed."""
    continued: bool = False
    """Whether it goes on with a subagent that an earlier run suspended."""
    __repr__ = brief


@frozen
class LaneRecipe:
    """All that one owner streams; of the first lane of a run, the parent agent's, only the strands count."""

    conduct: Conduct
    gap: int
    strands: tuple[Strand, ...] = field(converter=tuple)


class Ending(Enum):
    """How a run ends."""

    FINISHED = 0
    SUCCESS = 1
    INTERRUPT = 2
    CANCELLED = 3
    ERROR = 4
    LATE_ERROR = 5
    UNSTARTED = 6
    """As an error before the run began, where it is the stream's first."""


@frozen
class RunRecipe:
    """A run."""

    lanes: tuple[LaneRecipe, ...] = field(converter=tuple)
    withs: tuple[With, ...] = field(converter=tuple)


@frozen
class Circumstances:
    """What may be special about a run."""

    ending: Ending = Ending.FINISHED
    lost: int = 0
    """How many of its last events never come, where it ends in an error."""
    echo: tuple[Any] | None = None
    """The content of a user message in the echoed input, or `None` where there is no echo."""
    restated: bool = False
    """Whether the echo holds the messages so far."""
    state: tuple[Any] | None = None
    """The state in the echo, in a tuple."""
    bound: bool = True
    """Whether interrupts name the tool calls they hold up."""
    usage: list[dict[str, Any]] | None = None
    returned: Any = None
    metadata: dict[str, Any] | None = None
    version: str | None = None
