"""What a ledger file owes, in all of its scopes: what queues and the index of what is due are elsewhere."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from unsay_core.adapters.sqlite.ledger import entry_of_row
from unsay_core.application.ledger import Area
from unsay_core.application.ports import UnreadableError
from unsay_core.application.sweep import Due
from unsay_core.domain.timeline import rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unsay_core.adapters.sqlite.file import AnyFile


class Owed(NamedTuple):
    """Where an entry lies that asks for work."""

    scope_id: str
    area: Area
    id: str


def owed(file: AnyFile, area: Area) -> list[Owed]:
    """Every entry that asks for work on the index, or on a conversation."""
    with file.connection() as connection:
        rows = connection.execute(
            "SELECT scope, id FROM entry WHERE area = ? AND area IN ('P', 'Q') ORDER BY scope, id",
            (area.value,),
        ).fetchall()
    return [Owed(scope_id, area, entry_id) for scope_id, entry_id in rows]


def running(file: AnyFile) -> list[Owed]:
    """Every job that is not over: it has a time at which to look at it again."""
    with file.connection() as connection:
        rows = connection.execute(
            "SELECT scope, area, id FROM entry WHERE due IS NOT NULL AND area IN ('E', 'J')"
        ).fetchall()
    return [Owed(scope_id, Area(area), entry_id) for scope_id, area, entry_id in rows]


class SqliteDueList:
    """See `DueList`. Heads are left out: nothing here lags behind a ledger, so nothing is held against it."""

    def __init__(self, file: AnyFile) -> None:
        self._file = file

    def until(self, now: datetime, *, limit: int) -> list[Due]:
        """One statement along the index."""
        with self._file.connection() as connection:
            rows = connection.execute(
                "SELECT scope, area, id, due FROM entry WHERE due IS NOT NULL AND area <> 'H' AND due <= ?"
                " ORDER BY due LIMIT ?",
                (rfc3339(now), limit),
            ).fetchall()
        return [Due(s, Area(area), entry_id, datetime.fromisoformat(due)) for s, area, entry_id, due in rows]


def unreadable(file: AnyFile) -> Iterator[Owed]:
    """Where every entry lies that has lost its form: looks through all of the file."""
    with file.connection() as connection:
        for scope_id, *row in connection.execute("SELECT scope, area, id, record FROM entry"):
            try:
                entry_of_row(tuple(row))
            except UnreadableError as damaged:
                yield Owed(scope_id, damaged.ref.area, damaged.ref.id)


def drop_outcomes(file: AnyFile, now: datetime) -> None:
    """Forget what requests led to whose idempotency keys nobody may use again, and files that never came."""
    over = "DELETE FROM entry WHERE area IN ('I', 'C') AND json_extract(record, '$.ttl') < ?"
    with file.transaction() as connection:
        connection.execute(over, (int(now.timestamp()),))
