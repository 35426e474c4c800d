"""The store in PostgreSQL, for workers on more than one machine."""

from __future__ import annotations

from typing import Any, ClassVar

import psycopg

from .store import Store


class Cursor(psycopg.Cursor[Any]):
    """A cursor that takes SQLite's question marks for parameters."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Cursor:
        """Execute a statement."""
        return super().execute(query.replace("?", "%s"), params, **options)


class PostgreSQL(Store):
    """A database on a server."""

    errors = psycopg.Error
    begin: ClassVar[dict[str, str]] = {
        "read": "BEGIN",
        "write": "BEGIN",
        # Workers that start together would make the tables together, which PostgreSQL refuses.
        "create": "BEGIN; SELECT pg_advisory_xact_lock(1146114)",
    }

    def connect(self) -> psycopg.Connection[Any]:
        """Connect to the server."""
        return psycopg.connect(self.url, autocommit=True, connect_timeout=10, cursor_factory=Cursor)
