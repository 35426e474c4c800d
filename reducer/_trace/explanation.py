"""What there is to say of a message: what it is and whose, which rows made it, what cut them, what became of calls.

This finds out, as JSON; `words` says it.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from reducer._project import Layout, project
from reducer._trace import look
from reducer._trace.look import ACTIVITY, CALL, REASONING, RESULT, TEXT, Key, Owner
from reducer._trace.story import Called, Row, Story

Json = dict[str, Any]
KINDS = {
    TEXT: "text message",
    REASONING: "reasoning message",
    CALL: "tool call",
    RESULT: "tool result",
    ACTIVITY: "activity",
}
OPENINGS = {
    TEXT: "a text message opened in its lane, which cuts reasoning and the tool-call group",
    REASONING: "a reasoning message opened in its lane, which cuts text",
    CALL: "a tool call opened in its lane, which cuts text and reasoning",
    RESULT: "a tool result came in its lane, which cuts text, reasoning and the tool-call group",
}
"""Why a row is cut: by what opens (see the documentation, rows-lanes-cuts)."""


def ids_of(story: Story) -> list[str]:
    """Return every id that `explained` knows, those that show first."""
    shown = [name for layout in Layout for name, _, _ in look.rows_shown(story.state, layout)]
    met = [row.key[1] for row in story.rows] + [key[1] for key in story.calls]
    return list(dict.fromkeys(shown + met))


def near(story: Story, name: str) -> list[str]:
    """Return the ids that are most like one that is unknown."""
    ids = ids_of(story)
    return get_close_matches(name, ids, n=3, cutoff=0.5) or ids[:3]


def explained(story: Story, name: str) -> list[Json]:
    """Return what is to be said of each entity that goes by the id `name`, in either layout or in events."""
    told = _Telling(story)
    return [told.call(key) if key[0] == CALL else told.message(key) for key in told.found(name)]


class _Telling:
    """One look at a story, by entity."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.shown = {layout: look.rows_shown(story.state, layout) for layout in Layout}
        self.is_visible = look.visibility(story.state)
        snapshots = [project(story.state, layout) for layout in Layout]
        self.messages = {message["id"]: message for snapshot in snapshots for message in snapshot.messages}
        self.runs = snapshots[0].runs
        self.rows: dict[Key, list[Row]] = {}
        for row in story.rows:
            self.rows.setdefault(row.key, []).append(row)
        self.events: dict[Key, list[int]] = {}
        for position, deed in enumerate(story.deeds):
            for key in deed.touched:
                self.events.setdefault(key, []).append(position)

    def found(self, name: str) -> list[Key]:
        """Return the entities that go by an id: as they show, or else as events named them."""
        shown = [key for layout in Layout for one, key, _ in self.shown[layout] if one == name]
        met = [key for key in (*self.rows, *self.story.calls) if key[1] == name]
        # A call without a parent shows as a message of its own, under a key that is no entity's.
        known = [key for key in (*shown, *met) if key in self.rows or key in self.story.calls]
        return list(dict.fromkeys(known))

    def event(self, position: int) -> Json:
        deed = self.story.deeds[position]
        return {"position": position, "type": deed.type, "id": deed.name}

    def names(self, key: Key) -> Json:
        return {layout.value: [name for name, one, _ in self.shown[layout] if one == key] for layout in Layout}

    def name_of(self, row: Row) -> str | None:
        """Return the id under which a row shows, STREAMED; `None` where it does not show."""
        names = [(ordinal, name) for name, key, ordinal in self.shown[Layout.STREAMED] if key == row.key]
        standing = self.story.standing.get((row.key, row.ordinal)) is row
        if not (standing and names and self.is_visible(row.key, row.ordinal)):
            return None
        return max((pair for pair in names if pair[0] <= row.ordinal), default=(0, None))[1]

    def message(self, key: Key) -> Json:
        rows = self.rows[key]
        names = self.names(key)
        message = next((self.messages[name] for values in names.values() for name in values), {})
        told: Json = {"kind": KINDS[key[0]], "id": key[1], "role": message.get("role")}
        told |= self._whose(rows[0].owner)
        told["run"] = self._run(rows[0].first)
        told["opened"] = self.event(self.events.get(key, [rows[0].first])[0])
        told["last"] = self.event(max(self.events.get(key, [rows[0].last])))
        told["shownAs"] = names
        told["rows"] = [self._row(row) for row in rows]
        calls = [call for call in self.story.calls.values() if call.row is not None and call.row.key == key]
        if calls:
            told["calls"] = [self.call(call.key) for call in calls]
        if key[0] == RESULT:
            told |= self._answers(key)
        return told | self._rest(key, [call.key for call in calls])

    def _row(self, row: Row) -> Json:
        return {
            "row": row.ordinal,
            "events": [row.first, row.last],
            "shownAs": self.name_of(row),
            "brought": row.stated,
            "group": row.grouped,
            "cut": self._cut(row),
        }

    def _cut(self, row: Row) -> Json | None:
        if row.cut is None:
            return None
        opened = next((one.key[0] for one in self.story.rows if one.first == row.cut and one is not row), None)
        if any(call.first == row.cut for call in self.story.calls.values()):
            opened = CALL
        return {**self.event(row.cut), "why": OPENINGS.get(opened or "", "a run began or ended, which cuts everything")}

    def call(self, key: Key) -> Json:
        call = self.story.calls[key]
        told: Json = {"kind": KINDS[CALL], "id": key[1], "name": call.name, **self._whose(call.owner)}
        told["opened"], told["last"] = self.event(call.first), self.event(call.last)
        told["row"] = None if call.row is None else call.row.ordinal
        told["in"] = None if call.row is None else call.row.key[1]
        told["shownIn"] = None if call.row is None else self.name_of(call.row)
        told["why"] = _why(call)
        told["answered"] = None
        if call.answered is not None:
            result = next((row.key for row in self.story.rows if row.key[0] == RESULT and row.key[2] == key[1]), None)
            told["answered"] = self.event(call.answered) | {"result": None if result is None else self.names(result)}
        return told | self._rest(key, [])

    def _answers(self, key: Key) -> Json:
        call = self.story.calls.get((CALL, key[2]))
        row = call.row if call is not None else None
        return {"answers": key[2], "tool": call and call.name, "behind": None if row is None else self.name_of(row)}

    def _whose(self, owner: Owner) -> Json:
        names = {sub["subagentRunId"]: sub["name"] for run in self.runs for sub in run.get("subagents", ())}
        return {"owner": owner, "ownerName": names.get(owner)}

    def _run(self, position: int) -> str | None:
        runs = [run["runId"] for run in self.runs if run["span"][0] <= position]
        return runs[-1] if runs else None

    def _rest(self, key: Key, calls: Iterable[Key]) -> Json:
        """Return the encrypted values and the anomalies that concern an entity."""
        values = [
            {**self.event(value.position), "late": value.late, "claimed": value.claimed}
            for value in self.story.values
            if value.key == key
        ]
        concerned = {position for one in (key, *calls) for position in self.events.get(one, ())}
        anomalies = [
            {"position": one.position, "event": one.event, "code": one.code, "fatal": one.fatal, "detail": one.detail}
            for one in self.story.anomalies
            if one.position in concerned or repr(key[1]) in one.detail
        ]
        return {"encryptedValues": values, "anomalies": anomalies}


def _why(call: Called) -> str:
    """Say why a call stands where it stands."""
    if call.row is None:
        return "no start has named it yet, so nothing shows it"
    holder, own = call.row.key[1], call.key[1]
    if call.row.stated:
        return "a snapshot or an input says so"
    if call.parent is not None and call.parent == holder:
        return "its parentMessageId says so"
    if call.parent is not None:
        return f"its parentMessageId names {call.parent!r}, which is no assistant message"
    if holder == own and call.row.grouped == call.first:
        return "it names no parent and its lane had no current group, so it opened one under its own id"
    return "it names no parent, so it joined its lane's current group"
