"""The ledger of one scope on SQLite."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from unsay_core.adapters.change_form import require_form
from unsay_core.adapters.records import entry_of_record, snapshot_of, to_record
from unsay_core.application.due import due_at
from unsay_core.application.ledger import Absent, Area, Delete, Holds, Put, Ref
from unsay_core.application.ports import ConflictError, Snapshot, UnreadableError
from unsay_core.domain.timeline import rfc3339

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from unsay_core.adapters.sqlite.file import AnyFile
    from unsay_core.application.ledger import Change, Check, Entry, Expectation

_LOOK = "SELECT record FROM entry WHERE scope = ? AND area = ? AND id = ?"
_PUT = "INSERT OR REPLACE INTO entry (scope, area, id, record, due) VALUES (?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM entry WHERE scope = ? AND area = ? AND id = ?"
_BYTES = "base64"
_TEXT = frozenset({Area.MEMORY, Area.VERSION})  # whose deletion is an erasure


class SqliteLedger:
    """See `Ledger`; every statement names the scope, and no argument can name another."""

    def __init__(self, file: AnyFile, scope_id: str) -> None:
        self._file = file
        self._scope_id = scope_id

    def read(self, refs: Sequence[Ref[Any]]) -> Snapshot:
        """One statement, which sees one moment."""
        wanted = list(dict.fromkeys(refs))
        if not wanted:
            return Snapshot({})
        places = ", ".join(["(?, ?)"] * len(wanted))
        query = (
            f"WITH wanted (area, id) AS (VALUES {places}) "  # noqa: S608 - question marks alone
            "SELECT area, id, record FROM wanted JOIN entry USING (area, id) WHERE scope = ?"
        )
        values = [part for ref in wanted for part in (ref.area.value, ref.id)]
        with self._file.connection() as connection:
            rows = connection.execute(query, [*values, self._scope_id]).fetchall()
        return snapshot_of(rows, entry_of_row)

    def page(
        self, area: Area, *, after: str | None = None, limit: int, newest_first: bool = False
    ) -> list[Entry]:
        """One statement along the primary key."""
        beyond = "" if after is None else f"AND id {'<' if newest_first else '>'} ?"
        order = "DESC" if newest_first else "ASC"
        query = (
            "SELECT area, id, record FROM entry WHERE scope = ? AND area = ? "  # noqa: S608 - our own words
            f"{beyond} ORDER BY id {order} LIMIT ?"
        )
        values = [self._scope_id, area.value, *([] if after is None else [after]), limit]
        with self._file.connection() as connection:
            rows = connection.execute(query, values).fetchall()
        return [entry_of_row(row) for row in rows]

    def commit(self, change: Change) -> None:
        """One transaction that is alone in the file while it looks and writes."""
        require_form(change)
        with self._file.transaction() as connection:
            for part in change:
                self._require(connection, part.ref, part.expect)
            for part in change:
                self._apply(connection, part)
        if any(isinstance(part, Delete) and part.ref.area in _TEXT for part in change):
            self._file.clear_log()

    def _require(self, connection: sqlite3.Connection, ref: Ref[Entry], expect: Expectation) -> None:
        if not isinstance(expect, Absent | Holds):
            return
        row = connection.execute(_LOOK, self._key(ref)).fetchone()
        match expect:
            case Absent() if row is not None:
                raise ConflictError(f"{ref.area} is taken")
            case Holds(field, value) if row is None or _loaded(row[0]).get(field) != value:
                raise ConflictError(f"{ref.area} has moved on")

    def _apply(self, connection: sqlite3.Connection, part: Put | Delete | Check) -> None:
        match part:
            case Put(entry):
                due = due_at(entry, datetime.now(UTC))
                record = json.dumps(to_record(entry), default=_as_text)
                connection.execute(_PUT, (*self._key(part.ref), record, rfc3339(due) if due else None))
            case Delete(ref):
                connection.execute(_DELETE, self._key(ref))

    def _key(self, ref: Ref[Any]) -> tuple[str, str, str]:
        return self._scope_id, ref.area.value, ref.id


def entry_of_row(row: tuple[str, ...]) -> Entry:
    """The entry of an area, an id and a record; raises `UnreadableError`."""
    ref: Ref[Any] = Ref(Area(row[0]), row[1])
    try:
        record = _loaded(row[2])
    except ValueError:
        raise UnreadableError(ref) from None
    return entry_of_record(ref, record)


def _loaded(text: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(text, object_hook=_with_bytes)
    return record


def _as_text(value: bytes) -> dict[str, str]:
    """Bytes as JSON has them; no record of ours has a member of that name."""
    return {_BYTES: b64encode(value).decode("ascii")}


def _with_bytes(record: dict[str, Any]) -> Any:
    return b64decode(record[_BYTES]) if record.keys() == {_BYTES} else record
