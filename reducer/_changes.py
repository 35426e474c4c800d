"""What differs between two snapshots of a thread, and how it makes the later one of the earlier one."""

from __future__ import annotations

from typing import Any, NamedTuple

import attrs

from reducer._frozen import freeze, thaw, to_wire
from reducer._patch import apply
from reducer._project import Origin, Snapshot, anomaly_told

_WIRE = {
    "interrupts": "interrupts",
    "pending_tool_calls": "pendingToolCalls",
    "usage": "usage",
    "anomalies": "anomalies",
    "anomaly_counts": "anomalyCounts",
    "thread_id": "threadId",
}


class Altered(NamedTuple):
    """A message that stands where it stood and is another one now, with its origin."""

    message: dict[str, Any]
    origin: Origin

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON, camelCase."""
        return {"message": self.message, "origin": self.origin.to_dict()}


class Placed(NamedTuple):
    """A message that is new or moved: it stands behind the one with the id `after`, in front where that is `None`."""

    message: dict[str, Any]
    origin: Origin
    after: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON, camelCase."""
        return {"after": self.after, "message": self.message, "origin": self.origin.to_dict()}


@attrs.frozen
class Changes:
    """What differs between two states of a thread, as a snapshot in one layout shows it. All of it is plain data.

    `removed` are the ids of messages that are gone, `placed` those that are new or moved, in order, `altered` those
    that changed where they stand, `patch` the JSON Patch of the shared state (RFC 6902). `runs` are the runs from the
    one with the index `runs_from` on; those before stay. `values` has, by its name in `Snapshot`, whatever else has
    another value now.
    """

    removed: list[str] = attrs.field(factory=list)
    placed: list[Placed] = attrs.field(factory=list)
    altered: list[Altered] = attrs.field(factory=list)
    patch: list[dict[str, Any]] = attrs.field(factory=list)
    runs: list[dict[str, Any]] = attrs.field(factory=list)
    runs_from: int | None = None
    values: dict[str, Any] = attrs.field(factory=dict)

    def __bool__(self) -> bool:
        """Say whether anything differs."""
        told = (self.removed, self.placed, self.altered, self.patch, self.values)
        return any(told) or self.runs_from is not None

    def apply(self, snapshot: Snapshot) -> Snapshot:
        """Return the later snapshot, fresh, for the earlier one, which stays as it is.

        1. Take out the messages that are `removed` or `placed`.
        2. Put each of `placed` behind the message it names, which may itself have been placed just now.
        3. Replace those that are `altered`, apply `patch` to the state, replace the runs and the `values`.

        Raises `ValueError` where `snapshot` is not of the state that the changes lead away from.
        """
        messages, origins = self._messages(snapshot)
        runs = snapshot.runs if self.runs_from is None else [*snapshot.runs[: self.runs_from], *self.runs]
        told = {"runs": runs, "messages": messages, **self.values}
        anomalies = told.pop("anomalies", snapshot.anomalies)
        kept = {name: getattr(snapshot, name) for name in _WIRE if name not in told and name != "anomalies"}
        return Snapshot(
            **{name: to_wire(value) for name, value in {**kept, **told}.items()},
            state=thaw(apply(freeze(snapshot.state), self.patch).document),
            origins=origins,
            anomalies=[*anomalies],
        )

    def _messages(self, snapshot: Snapshot) -> tuple[list[dict[str, Any]], list[Origin]]:
        gone = {*self.removed, *(one.message["id"] for one in self.placed)}
        altered = {one.message["id"]: one for one in self.altered}
        behind = {one.after: one for one in self.placed}
        messages: list[dict[str, Any]] = []
        origins: list[Origin] = []

        def put(message: dict[str, Any], origin: Origin) -> None:
            messages.append(message)
            origins.append(origin)
            follow(message["id"])

        def follow(name: str | None) -> None:
            while name in behind:
                placed = behind.pop(name)
                messages.append(placed.message)
                origins.append(placed.origin)
                name = placed.message["id"]

        follow(None)
        for message, origin in zip(snapshot.messages, snapshot.origins, strict=True):
            if message["id"] not in gone:
                put(*altered.pop(message["id"], (message, origin)))
        if behind or altered:
            raise ValueError("the snapshot is not of the state that these changes lead away from")
        return messages, origins

    def to_dict(self) -> dict[str, Any]:
        """Return the changes as one JSON object, camelCase, fresh; of `runs` and the values only those that differ."""
        told: dict[str, Any] = {
            "removed": self.removed,
            "placed": [one.to_dict() for one in self.placed],
            "altered": [one.to_dict() for one in self.altered],
            "statePatch": self.patch,
        }
        if self.runs_from is not None:
            told |= {"runsFrom": self.runs_from, "runs": self.runs}
        told |= {_WIRE[name]: value for name, value in self.values.items()}
        if "anomalies" in told:
            told["anomalies"] = [anomaly_told(anomaly) for anomaly in told["anomalies"]]
        return {name: to_wire(value) for name, value in told.items()}
