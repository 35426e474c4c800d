"""The page: one HTML file that holds a log's story, and shows it without asking anyone for anything.

What the log says is data, JSON in a block that is never run; the style and the script are this package's own, and the
page's policy allows those two by their hashes and nothing else.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from reducer._rules import RULES
from reducer._session import KEPT
from reducer._trace.diff import embedded, written
from reducer._trace.look import Key
from reducer._trace.shown import Follower
from reducer._trace.story import Story, Watcher, tell
from reducer._wire import Event

LONGEST = 4_000
"""So many characters of an event's JSON are kept; what it did is kept in full."""
_PLACE = re.compile(r"<!--(\w+)-->")
_PLAIN = {"type", "messageId", "toolCallId", "subagentRunId", "role"}


def page(events: Iterable[Event], name: str) -> Iterator[str]:
    """Yield the parts of the page about the log `name`. Raises whatever reading `events` does."""
    told: list[tuple[str | None, bool]] = []
    followers: list[Follower] = []

    def watched(story: Story) -> Watcher:
        followers.append(Follower(story.numbers))
        return followers[0].follow

    def noted() -> Iterator[Event]:
        for event in events:
            told.append(_event_text(event))
            yield event

    story = tell(noted(), watched)
    return _filled(name, _data(name, story, followers[0], told))


def _filled(name: str, data: Iterable[str]) -> Iterator[str]:
    """Yield the template with its places filled."""
    folder = files("reducer._trace")
    template, style, script = (
        folder.joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")
    )
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    # The name of a file may be no text.
    title = escape(name.encode("utf-8", "replace").decode())
    filled = {"style": style, "script": script, "policy": escape(policy), "title": title}
    parts = _PLACE.split(template)
    for place, part in enumerate(parts):
        if place % 2 == 0:
            yield part
        elif part == "log":
            yield from data
        else:
            yield filled[part]


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _event_text(event: Event) -> tuple[str | None, bool]:
    """Return the JSON of an event, its delta last, and whether its type, its ids and its delta say it all."""
    wire = event.to_dict()
    delta = wire.pop("delta", None)
    plain = wire.keys() <= _PLAIN and (delta is None or isinstance(delta, str))
    if delta is None and plain:
        return None, True
    text = written(wire if delta is None else {**wire, "delta": delta})
    return text[:LONGEST], plain


def _data(name: str, story: Story, follower: Follower, told: list[tuple[str | None, bool]]) -> Iterator[str]:
    """Yield the JSON of all that the page shows."""
    lanes = _Numbers([None])
    types, names = _Numbers(), _Numbers([None])
    deeds = story.deeds
    yield '{"log":' + embedded(name)
    yield f',"kept":{KEPT},"longest":{LONGEST}'
    yield ',"types":' + embedded([types[deed.type] for deed in deeds])
    rows = {id(row): number for number, row in enumerate(story.rows)}
    yield ',"rows":' + embedded(
        [
            [
                story.numbers[row.key],
                row.ordinal,
                lanes[row.owner],
                row.first,
                row.last,
                row.cut,
                row.grouped,
                row.stated,
            ]
            for row in story.rows
        ]
    )
    yield ',"calls":' + embedded(
        [
            [
                story.numbers[call.key],
                call.name,
                lanes[call.owner],
                call.first,
                call.last,
                rows.get(id(call.row)),
                call.answered,
            ]
            for call in story.calls.values()
        ]
    )
    yield ',"owners":' + embedded([lanes[deed.owner] for deed in deeds])
    yield ',"names":' + embedded([names[deed.name] for deed in deeds])
    yield ',"touched":' + embedded([_touched(story, deed.touched) for deed in deeds])
    yield ',"sealed":' + embedded(
        [
            [value.position, _number(story, value.key), value.subtype, value.name, value.late, value.claimed]
            for value in story.values
        ]
    )
    yield ',"anomalies":' + embedded(
        [
            [one.position, one.code, one.detail if place < KEPT else one.detail[: LONGEST // 8]]
            for place, one in enumerate(story.anomalies)
        ]
    )
    yield ',"rules":' + embedded({code: RULES[code] for code in dict.fromkeys(one.code for one in story.anomalies)})
    yield ',"entities":' + embedded([list(key) for key in story.numbers])
    yield ',"lanes":' + embedded(list(lanes)) + ',"typeNames":' + embedded(list(types))
    yield ',"nameTexts":' + embedded(list(names))
    wrote = {position for _, position, _ in follower.deltas}
    texts = {
        str(place): text
        for place, (text, plain) in enumerate(told)
        if text is not None and not (plain and place in wrote)
    }
    yield ',"texts":' + embedded(texts)
    yield ',"values":' + _array(follower.values.texts)
    yield ',"aside":' + _array(follower.aside)
    yield ',"pending":' + _array(follower.pending.splices)
    yield ',"targets":' + _array(follower.targets)
    yield ',"wrote":' + embedded([number for number, _, _ in follower.deltas])
    yield ',"deltas":' + _array(embedded([position, delta]) for _, position, delta in follower.deltas)
    sides = (
        f'{{"layout":"{side.layout.value}","changes":{_array(side.changes)},"order":{_array(side.order.splices)}}}'
        for side in follower.sides
    )
    yield ',"sides":' + _array(sides) + "}"


def _array(texts: Iterable[str]) -> str:
    return f"[{','.join(texts)}]"


def _number(story: Story, key: Key | None) -> int:
    return -1 if key is None else story.numbers.get(key, -1)


def _touched(story: Story, keys: tuple[Key, ...]) -> Any:
    """Return the number of the one entity that an event touched, or a list of them."""
    numbers = [story.numbers[key] for key in keys if len(key) > 2 or key[0] != "result"]
    return numbers[0] if len(numbers) == 1 else sorted(numbers)


class _Numbers(dict[Any, int]):
    """Numbers in the order in which they were first asked for."""

    def __init__(self, first: Iterable[Any] = ()) -> None:
        super().__init__((value, number) for number, value in enumerate(first))

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self)
        return number
