"""A ledger file that is none: it lives in this process, and goes with it."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from unsay_core.adapters.sqlite.schema import migrate

if TYPE_CHECKING:
    from collections.abc import Iterator


class InMemoryFile:
    """See `LedgerFile`: one connection, which serves one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        migrate(self._connection)

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """The connection; what is left open is rolled back."""
        with self._lock:
            try:
                yield self._connection
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A write transaction; rolled back if it raises."""
        with self.connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def clear_log(self) -> None:
        """There is no log."""

    def close(self) -> None:
        """Let everything go."""
        self._connection.close()
