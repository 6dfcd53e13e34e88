"""What a ledger file keeps outside of any scope: its pepper, keys, policies, counters, names of scopes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from unsay_core.adapters.key_form import changing, key_of, lasting
from unsay_core.adapters.records import from_record, to_record
from unsay_core.application.access import DELEGATION
from unsay_core.application.ports import ConflictError
from unsay_core.domain.scope import Scope
from unsay_core.extraction.steering import Steering

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from datetime import datetime

    from unsay_core.adapters.sqlite.file import AnyFile
    from unsay_core.application.access import ApiKey

_GET = "SELECT value FROM kept WHERE kind = ? AND name = ?"
_PUT = "INSERT OR REPLACE INTO kept (kind, name, value) VALUES (?, ?, ?)"
_ADD = "INSERT OR IGNORE INTO kept (kind, name, value) VALUES (?, ?, ?)"
_BEYOND = "SELECT name, value FROM kept WHERE kind = ? AND name > ? ORDER BY name LIMIT ?"

_PEPPER, _KEY, _DELEGATION, _SCOPE, _POLICY, _COUNTER = "pepper key delegation scope policy counter".split()
_MOST = 1_000_000  # names in one listing


def pepper_of(file: AnyFile, made: Callable[[], str]) -> str:
    """The pepper of a file, from its first opening on; whoever opens it at the same moment gets the same."""
    with file.transaction() as connection:
        found = connection.execute(_GET, (_PEPPER, "")).fetchone() or (made(),)
        connection.execute(_ADD, (_PEPPER, "", *found))
    return str(found[0])


class SqliteKeys:
    """See `Keys`."""

    def __init__(self, file: AnyFile) -> None:
        self._file = file

    def find(self, key_id: str) -> ApiKey | None:
        """One look."""
        with self._file.connection() as connection:
            return _key_in(connection, key_id)

    def add(self, key: ApiKey) -> None:
        """One insert."""
        with self._file.transaction() as connection:
            if connection.execute(_ADD, (_kind(key.id), key.id, _key_text(key))).rowcount == 0:
                raise ConflictError("the id is taken")

    def page(self, *, after: str | None, limit: int) -> list[ApiKey]:
        """One statement along the primary key."""
        with self._file.connection() as connection:
            rows = connection.execute(_BEYOND, (_KEY, after or "", limit)).fetchall()
        return [_key(value) for _, value in rows]

    def revoke(self, key_id: str, by: str, at: datetime) -> None:
        """One transaction."""
        with self._file.transaction() as connection:
            key = _key_in(connection, key_id)
            if key is None or key.revoked_at is not None:
                raise ConflictError("no such key, or revoked")
            self._put(connection, replace(key, revoked_at=at, revoked_by=by))

    def note_use(self, key_id: str, day: str) -> None:
        """One transaction."""
        with self._file.transaction() as connection:
            key = _key_in(connection, key_id)
            if key is not None and key.last_used < day:
                self._put(connection, replace(key, last_used=day))

    def _put(self, connection: sqlite3.Connection, key: ApiKey) -> None:
        connection.execute(_PUT, (_kind(key.id), key.id, _key_text(key)))


class SqliteRegistry:
    """See `Registry`."""

    def __init__(self, file: AnyFile) -> None:
        self._file = file

    def add(self, scope: Scope) -> None:
        """One insert."""
        with self._file.transaction() as connection:
            connection.execute(_ADD, (_SCOPE, scope.canonical, ""))

    def roots(self) -> set[str]:
        """Of all the names there are."""
        return {scope.segments[0] for scope in self.all()}

    def below(self, root: str) -> list[Scope]:
        """Of all the names there are."""
        return [scope for scope in self.all() if scope.segments[0] == root]

    def all(self) -> list[Scope]:
        """Every scope that was ever written to."""
        with self._file.connection() as connection:
            rows = connection.execute(_BEYOND, (_SCOPE, "", _MOST)).fetchall()
        return [Scope.parse(name) for name, _ in rows]


class SqlitePolicies:
    """See `Policies`."""

    def __init__(self, file: AnyFile) -> None:
        self._file = file

    def of(self, root: str) -> Steering:
        """One look."""
        with self._file.connection() as connection:
            row = connection.execute(_GET, (_POLICY, root)).fetchone()
        return from_record(Steering, json.loads(row[0])) if row else Steering()

    def put(self, root: str, steering: Steering) -> None:
        """One write."""
        with self._file.transaction() as connection:
            connection.execute(_PUT, (_POLICY, root, json.dumps(to_record(steering))))


class SqliteCounters:
    """See `Counters`."""

    def __init__(self, file: AnyFile) -> None:
        self._file = file

    def read(self, name: str) -> int:
        """One look."""
        with self._file.connection() as connection:
            return _count_in(connection, name)

    def add(self, name: str, amount: int) -> int:
        """One transaction."""
        with self._file.transaction() as connection:
            total = _count_in(connection, name) + amount
            connection.execute(_PUT, (_COUNTER, name, str(total)))
        return total

    def clear(self, name: str) -> None:
        """One write."""
        with self._file.transaction() as connection:
            connection.execute(_PUT, (_COUNTER, name, "0"))


def _count_in(connection: sqlite3.Connection, name: str) -> int:
    row = connection.execute(_GET, (_COUNTER, name)).fetchone()
    return int(row[0]) if row else 0


def _kind(key_id: str) -> str:
    return _DELEGATION if key_id.startswith(f"{DELEGATION}_") else _KEY


def _key_in(connection: sqlite3.Connection, key_id: str) -> ApiKey | None:
    row = connection.execute(_GET, (_kind(key_id), key_id)).fetchone()
    return _key(row[0]) if row else None


def _key_text(key: ApiKey) -> str:
    return json.dumps([lasting(key), changing(key)])


def _key(text: str) -> ApiKey:
    return key_of(*json.loads(text))
