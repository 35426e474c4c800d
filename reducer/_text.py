"""Streamed text as a rope, so that neither a long message nor a look at it is dear.

A rope is `None` (no text) or a node `(piece, the rope before it, how many single deltas end it, the position of the
last delta)`, as immutable as the tuples it is made of. Up to `SPAN` deltas lie side by side; then they are packed into
one piece, and packed pieces merge with those before them that are no longer, like the carries of a binary counter. So a
text of n deltas is a few dozen pieces at most, each character is copied log n times, and every earlier rope stays as it
was. A list that grows would be faster but would change behind the states that share it; `content + delta` is quadratic.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Rope: TypeAlias = "tuple[str, Any, int, int] | None"
"""The last piece, the rope before it, the number of unpacked deltas at the end, the last delta's position."""

SPAN = 31


def append(rope: Rope, delta: str, position: int) -> Rope:
    """Return `rope` with `delta`, of the event at `position`, behind it; an empty delta gives the same rope."""
    if not delta:
        return rope
    if rope is None:
        return (delta, None, 1, position)
    loose = rope[2]
    return (delta, rope, loose + 1, position) if loose < SPAN else pack(rope, delta, position)


def pack(rope: Rope, delta: str, position: int) -> Rope:
    """Return `rope` with `delta` behind it, the deltas at its end made one piece."""
    loose = [delta]
    while rope is not None and rope[2]:
        loose.append(rope[0])
        rope = rope[1]
    loose.reverse()
    piece = "".join(loose)
    while rope is not None and len(rope[0]) <= len(piece):
        piece = rope[0] + piece
        rope = rope[1]
    return (piece, rope, 0, position)


def pieces(rope: Rope) -> list[str]:
    """Return the pieces in reading order."""
    found: list[str] = []
    while rope is not None:
        found.append(rope[0])
        rope = rope[1]
    found.reverse()
    return found


def text(*ropes: Rope) -> str:
    """Return the text of the ropes, one behind the other, halves of a surrogate pair in two deltas made one."""
    if len(ropes) == 1:
        whole = "".join(pieces(ropes[0]))
    else:
        whole = "".join([piece for rope in ropes for piece in pieces(rope)])
    return whole if whole.isascii() else paired(whole)


def paired(whole: str) -> str:
    """Join the halves of surrogate pairs; a half without its other stays as it is."""
    try:
        whole.encode()
    except UnicodeEncodeError:
        return whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return whole


def same_text(one: Rope, other: Rope) -> bool:
    """Say whether two ropes hold the same text, however it was cut into deltas."""
    return one is other or "".join(pieces(one)) == "".join(pieces(other))
