"""What checking one event finds: notes on what was stripped or translated, and faults."""

from __future__ import annotations

from reprlib import Repr
from typing import Any, Final, NamedTuple

from reducer._frozen import Path
from reducer._rules import RULES

NOTES: Final = 16
_ABSENT: Final = object()
_shown = Repr()
_shown.maxlevel = 1


class Note(NamedTuple):
    """What decoding did about an event that it accepted.

    `code` is one of the table of rules, `path` leads to the place in the event as it was sent, `detail` says what
    was done, and to what (spec: basic/processing).
    """

    code: str
    path: Path
    detail: str


class Findings:
    """The notes and faults of one event, and how to read it.

    `owned` material is plain JSON that nobody else holds, so it need not be copied; `attributes` says that described
    names may stand there as an SDK spells its attributes.
    """

    __slots__ = ("_notes", "attributes", "faults", "owned")

    def __init__(self, *, owned: bool = False, attributes: bool = False) -> None:
        self.owned = owned
        self.attributes = attributes
        self.faults: list[tuple[Path, Any, str]] = []
        self._notes: list[tuple[str, Path, str, object]] = []

    def note(self, code: str, path: Path, done: str, what: object = _ABSENT) -> None:
        """Record what was done at `path`, and to what."""
        self._notes.append((code, path, done, what))

    def fault(self, path: Path, value: Any, rule: str) -> Any:
        """Record a malformed value, and return the None that stands in its place."""
        self.faults.append((path, value, rule))

    def mark(self) -> tuple[int, int]:
        """Return a point to go back to."""
        return len(self._notes), len(self.faults)

    def forget(self, mark: tuple[int, int]) -> None:
        """Drop what was found since `mark`: it lay inside what is now dropped whole."""
        del self._notes[mark[0] :]
        del self.faults[mark[1] :]

    def notes(self) -> tuple[Note, ...]:
        """Return the first notes, with a count of the others in the last; fatal ones come first if some are left out.

        A hostile event can earn a note for each of its bytes; and what a strict fold raises for must not be among
        those left out.
        """
        kept = self._notes
        if len(kept) > NOTES:
            kept = sorted(kept, key=lambda note: not RULES[note[0]].fatal)[:NOTES]
        notes = [
            Note(code, path, done if what is _ABSENT else f"{done}: {_shown.repr(what)}")
            for code, path, done, what in kept
        ]
        if left := len(self._notes) - len(notes):
            notes[-1] = notes[-1]._replace(detail=f"{notes[-1].detail}; and {left} more notes")
        return tuple(notes)
