"""Streamed text as a rope whose pieces double in length, so that neither a long message nor a look at it is dear.

A rope is `None` (no text) or a pair `(last piece, the rope before it)`, as immutable as the tuples it is made of.
Appending merges pieces that are no longer than what follows them, like the carries of a binary counter: a text of
n deltas is about log n pieces, each character is copied log n times, and every earlier rope stays as it was.
A list that grows would be faster but would change behind the states that share it; `content + delta` is quadratic.
"""

from __future__ import annotations

from typing import Optional

Rope = Optional[tuple[str, "Rope"]]  # type: ignore[misc]  # a recursive alias


def append(rope: Rope, delta: str) -> Rope:
    """Return `rope` with `delta` behind it; an empty delta gives the same rope."""
    if not delta:
        return rope
    while rope is not None and len(rope[0]) <= len(delta):
        delta = rope[0] + delta
        rope = rope[1]
    return (delta, rope)


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
    return one is other or one == other or "".join(pieces(one)) == "".join(pieces(other))
