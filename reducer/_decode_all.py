"""decode_all: the events in a log of JSON lines, one by one.

Theory of operation. `decode` decides what a line means. Where msgspec is installed (the extra `fast`), it reads a line
first, into classes made from the table of the protocol: a slot for each field that holds a string, a number or a flag,
and nothing that nobody described. Such events are most of a log. Whatever msgspec refuses, be it wrong, retired,
unknown, null, nested, or JSON that it reads more strictly than Python does, goes to `decode`. So msgspec never decides
what is wrong, and whether it is there shows in nothing but the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, Union

from reducer._event import EVENT_CLASSES, Event, make
from reducer._schema import EVENTS, RETIRED_EVENTS
from reducer._shapes import SAFE_INTEGER, Const, Content, Flag, Integer, Shape, Text, Words
from reducer._wire import decode
from reducer.errors import MalformedEvent

Line: TypeAlias = "str | bytes"


def decode_all(lines: Iterable[Line]) -> Iterator[Event]:
    """Yield the event in each line of a log, JSON lines as text or bytes, as `decode` would; blank lines are left out.

    Lines are read as the events are asked for. Raises `MalformedEvent` as `decode` does, with the number of the line
    (spec: basic/processing).
    """
    read = line_decoder()
    for number, line in enumerate(lines, 1):
        try:
            event = read(line)
        except MalformedEvent as error:
            if _is_blank(line):
                continue
            raise MalformedEvent(error.path, error.value, error.rule, number) from error.__cause__
        yield event


def _is_blank(line: Any) -> bool:
    return isinstance(line, (str, bytes)) and not line.strip()


@cache
def line_decoder() -> Callable[[Line], Event]:
    """Return `decode` for a line, or what gives the same faster, where msgspec is installed."""
    try:
        import msgspec  # noqa: PLC0415 - an extra, and only logs need it
    except ImportError:
        return decode
    classes = [cls for kind in EVENTS if kind not in RETIRED_EVENTS and (cls := _slotted(kind)) is not None]
    read = msgspec.json.Decoder[Any](Union[tuple(classes)]).decode  # noqa: UP007 - of as many as there are
    # Not UTF-8 or a lone half of a surrogate pair is a `ValueError`.
    refused = (msgspec.MsgspecError, ValueError, RecursionError)

    def read_line(line: Any) -> Event:
        # msgspec reads whatever has bytes, `decode` does not.
        if line.__class__ is bytes or line.__class__ is str:
            try:
                return read(line)  # type: ignore[no-any-return]
            except refused:
                pass
        return decode(line)

    return read_line


class _Slotted(Event):
    """An event whose values stand in slots. None is an absent field: no field that has a slot can be null."""

    __slots__ = ()
    __struct_fields__: tuple[str, ...]

    def _held(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in values.items() if value is not None}

    def __reduce__(self) -> tuple[Callable[..., Event], tuple[type[Event], dict[str, Any]]]:
        # So that it can be loaded where there is no msgspec.
        return make, (EVENT_CLASSES[self.type], self._held())


def _slotted(kind: str) -> type[Event] | None:
    """Return the class of an event type for msgspec, None where the event requires what has no slot."""
    from msgspec import Struct, defstruct, field  # noqa: PLC0415 - as above

    slots: list[tuple[str, Any, Any]] = []
    usual = EVENT_CLASSES[kind]
    for attribute, name in usual.wire_names.items():
        described = EVENTS[kind].fields[name]
        held = _type(described.shape)
        if held is not None and name != "type":
            slots.append((attribute, held, field(name=name) if described.required else field(name=name, default=None)))
        elif described.required and name != "type":
            return None
    known = {attribute for attribute, _, _ in slots}
    space = {name: value for name, value in vars(usual).items() if name in usual.wire_names and name not in known}
    cls: Any = defstruct(
        usual.__name__,
        slots,
        bases=(_Slotted, Struct),
        namespace={**space, "wire_names": usual.wire_names, "__doc__": usual.__doc__},
        module=__name__,
        tag_field="type",
        tag=kind,
        forbid_unknown_fields=True,
        frozen=True,
        kw_only=True,
        # It holds no containers, so no collector needs to look at it.
        gc=False,
    )
    return cls  # type: ignore[no-any-return]


def _type(shape: Shape) -> Any:
    """Return the type that takes nothing but what the shape does, None where that takes a second look."""
    from msgspec import Meta  # noqa: PLC0415 - as above

    match shape:
        case Text(pointer=False) | Content():
            return str
        case Words(words):
            return Literal[tuple(sorted(words))]
        case Const(word):
            return Literal[word]
        case Integer(least):
            return Annotated[int, Meta(ge=least, le=SAFE_INTEGER)]
        case Flag():
            return bool
        case _:
            return None
