"""Stores telemetry on this machine, in one SQLite file that can be queried while it is written.

Rows older than the age limit are deleted. Beyond the size limit the oldest rows are deleted first;
the file stays within it, since freed pages are reused.
"""

import asyncio
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from gateway.telemetry.queue import Batch, TelemetryQueue
from gateway.telemetry.rows import Row, rows
from wire.private_files import make_private_folder

_log = logging.getLogger(__name__)

_BATCHES_AT_ONCE = 100
"""How many batches are written in one transaction."""
_DELETED_AT_ONCE = 1_000
_CHECK_SECONDS = 60.0
_TRY_AGAIN_SECONDS = 5.0
_COLUMNS = ", ".join(one.name for one in fields(Row))
_SCHEMA = """
CREATE TABLE IF NOT EXISTS telemetry (
    id INTEGER PRIMARY KEY,
    received INTEGER NOT NULL,
    time INTEGER NOT NULL,
    signal TEXT NOT NULL,
    org TEXT NOT NULL,
    install TEXT NOT NULL,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    trace TEXT NOT NULL,
    span TEXT NOT NULL,
    attributes TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS telemetry_by_install ON telemetry (org, install, time);
CREATE INDEX IF NOT EXISTS telemetry_by_trace ON telemetry (trace) WHERE trace <> '';
"""


class StoreUnusable(Exception):
    """The file cannot be created, or is not a telemetry store."""


@dataclass
class TelemetryStore:
    """Implements `Sink` with an SQLite file."""

    path: Path
    limit_bytes: int = 1024**3
    limit_seconds: float = 14 * 86400.0
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        """Create the file; raises StoreUnusable."""
        self._checked = float("-inf")
        make_private_folder(self.path.parent)
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            with closing(self._connect()) as database:
                database.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise StoreUnusable(f"telemetry cannot be stored in {self.path}: {error}") from error

    async def run(self, queue: TelemetryQueue) -> None:
        """As in `Sink`; while the disk cannot be written, batches wait and the queue fills up."""
        # A cancel must not lose the connection that the thread is opening.
        connecting = asyncio.ensure_future(asyncio.to_thread(self._connect))
        try:
            database = await asyncio.shield(connecting)
        except asyncio.CancelledError:
            with suppress(sqlite3.Error):
                (await connecting).close()
            raise
        try:
            while True:
                batches = [await queue.take()]
                batches += queue.take_now(_BATCHES_AT_ONCE - 1)
                try:
                    await self._insist(database, batches)
                finally:
                    for batch in batches:
                        queue.done(batch)
        finally:
            database.close()

    async def _insist(self, database: sqlite3.Connection, batches: list[Batch]) -> None:
        while True:
            writing = asyncio.ensure_future(asyncio.to_thread(self.keep, database, batches))
            try:
                # A cancel must not close the database while the thread is writing to it.
                await asyncio.shield(writing)
                return
            except asyncio.CancelledError:
                await asyncio.wait({writing})
                raise
            except sqlite3.Error as error:
                _log.error("Telemetry cannot be stored in %s now: %s", self.path, error)
                await asyncio.sleep(_TRY_AGAIN_SECONDS)

    def keep(self, database: sqlite3.Connection, batches: Iterable[Batch]) -> None:
        """Write batches in one transaction, and delete rows over a limit."""
        now = self.clock()
        found = [(int(now * 1e9), *astuple(row)) for batch in batches for row in rows(batch)]
        marks = ", ".join("?" * (len(fields(Row)) + 1))
        with database:
            database.executemany(
                f"INSERT INTO telemetry (received, {_COLUMNS}) VALUES ({marks})",  # noqa: S608
                found,
            )
            if now - self._checked > _CHECK_SECONDS:
                self._checked = now
                oldest = int((now - self.limit_seconds) * 1e9)
                database.execute("DELETE FROM telemetry WHERE received < ?", (oldest,))
        while self._used(database) > self.limit_bytes and self._delete_oldest(database):
            pass

    def _connect(self) -> sqlite3.Connection:
        # One thread at a time uses it, but not always the same one.
        database = sqlite3.connect(self.path, check_same_thread=False)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            # A crash of the machine may lose the last seconds, but never corrupts the file.
            database.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            database.close()
            raise
        return database

    def _used(self, database: sqlite3.Connection) -> int:
        def ask(what: str) -> int:
            return int(database.execute(f"PRAGMA {what}").fetchone()[0])

        return (ask("page_count") - ask("freelist_count")) * ask("page_size")

    def _delete_oldest(self, database: sqlite3.Connection) -> bool:
        """Delete the oldest rows; whether there were any."""
        with database:
            deleted = database.execute(
                "DELETE FROM telemetry WHERE id IN (SELECT id FROM telemetry ORDER BY id LIMIT ?)",
                (_DELETED_AT_ONCE,),
            )
        return deleted.rowcount > 0
