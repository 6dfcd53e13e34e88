"""One ledger file: its connections, its mode, and what its refusals mean."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections import deque
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from unsay_core.adapters.sqlite.schema import DamagedFileError, ForeignFileError, migrate
from unsay_core.domain.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

PATIENCE = 5.0  # seconds that a writer waits for the one before it
TURNS = 50  # of waiting for others that open a new file at the same moment

# What passes by itself or by somebody's hand; everything else is a fault and goes up as it is.
_OUTAGES = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
    }
)

_making = threading.Lock()


class AnyFile(Protocol):
    """Where the tables of a ledger lie: in a file, or in this process alone."""

    def connection(self) -> AbstractContextManager[sqlite3.Connection]:
        """A connection outside any transaction."""

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """A write transaction; rolled back if it raises."""

    def clear_log(self) -> None:
        """Empty whatever log what was erased would still stand in."""

    def close(self) -> None:
        """Close what is open."""


class LedgerFile:
    """Many scopes in one file, for many threads and processes.

    A connection serves one thread at a time and is used again. A child process opens its own: SQLite's locks
    do not survive a fork.
    """

    def __init__(self, path: str | os.PathLike[str], *, patience: float = PATIENCE) -> None:
        self.path = Path(path)
        self._patience = patience
        self._idle: deque[sqlite3.Connection] = deque()
        self._inherited: list[deque[sqlite3.Connection]] = []
        self._process = os.getpid()
        _make(self.path)
        with self.connection() as connection:
            migrate(connection)
            _write_ahead(connection)

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """A connection outside any transaction; what is left open is rolled back.

        Raises `UnavailableError` for a file that is locked too long, full or out of reach, `DamagedFileError`
        and `ForeignFileError` for one that is not to be read.
        """
        with _translated():
            connection = self._take()
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self._idle.append(connection)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A write transaction, alone in the file from its first look on; rolled back if it raises."""
        with self.connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def clear_log(self) -> None:
        """Empty the write-ahead log, in which what was erased would still stand.

        A reader that is at work keeps its part of the log until the next time.
        """
        with self.connection() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close what is idle; the last one out takes the log along."""
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> sqlite3.Connection:
        if self._process != os.getpid():
            self._inherited.append(self._idle)  # never closed here: that would drop the parent's locks
            self._idle, self._process = deque(), os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        _require_own_file(self.path)
        connection = sqlite3.connect(
            self.path, timeout=self._patience, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA synchronous = FULL")  # what was confirmed survives a power cut
        connection.execute("PRAGMA secure_delete = ON")  # what was erased is not left in a free page
        return connection


def _make(path: Path) -> None:
    """Make an empty file for its owner alone; the log beside it takes the same mode.

    One thread at a time: to close any descriptor of a file drops every lock that the process holds on it.
    """
    with _making:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            _require_own_file(path)
            path.chmod(0o600)


def _require_own_file(path: Path) -> None:
    """Refuse what leads elsewhere: whoever can plant a link could have the ledger written over a file."""
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode):
        raise ForeignFileError("the path of the ledger is not a plain file")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Let readers and a writer work side by side; the file remembers it.

    The switch needs the file alone and does not wait by itself, so it waits as a writer does.
    """
    for _ in range(TURNS):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as refused:
            if refused.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    raise UnavailableError("others keep the ledger from being opened")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as refused:
        code = getattr(refused, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_NOTADB:
            raise ForeignFileError("this file is not a ledger") from refused
        if code == sqlite3.SQLITE_CORRUPT:
            raise DamagedFileError("this ledger is damaged") from refused
        if isinstance(refused, sqlite3.OperationalError) and code in _OUTAGES:
            raise UnavailableError("the ledger cannot serve this now") from refused
        raise
