"""The store in a file: any number of processes on one machine may share it."""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from typing import ClassVar

from .store import Store

TIMEOUT = 10.0
"""Seconds until who waits for the file to be free gives up."""
WRITE_AHEAD = "PRAGMA journal_mode = WAL"


class SQLite(Store):
    """A file."""

    errors = sqlite3.Error
    # A transaction that only reads at first could not write later if another did meanwhile: who writes says so at once.
    begin: ClassVar[dict[str, str]] = {"read": "BEGIN", "write": "BEGIN IMMEDIATE", "create": "BEGIN IMMEDIATE"}

    def connect(self) -> sqlite3.Connection:
        """Open the file."""
        connection = sqlite3.connect(self.url, timeout=TIMEOUT, isolation_level=None, check_same_thread=False)
        _write_ahead(connection)
        # A killed process loses nothing; a power cut may take the last events, but never the file. FULL is for those
        # who cannot have that either, and waits for the disk at each event.
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch the file to a log of its own (WAL), with which nobody who reads waits for who writes.

    Of processes that switch a new file at the same moment some are told at once that it is locked; so they try again.
    """
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        with suppress(sqlite3.OperationalError):
            connection.execute(WRITE_AHEAD)
            return
        time.sleep(0.02)
    connection.execute(WRITE_AHEAD)
