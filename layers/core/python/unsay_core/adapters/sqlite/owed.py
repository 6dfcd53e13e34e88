"""What work a ledger file owes, in all of its scopes: what a queue is to the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from unsay_core.application.ledger import Area
from unsay_core.domain.timeline import rfc3339

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.adapters.sqlite.file import AnyFile


class Owed(NamedTuple):
    """Where an entry lies that asks for work."""

    scope_id: str
    area: Area
    id: str


def owed(file: AnyFile, area: Area) -> list[Owed]:
    """Every entry of an area of work, scope by scope."""
    with file.connection() as connection:
        rows = connection.execute(
            "SELECT scope, id FROM entry WHERE area = ? AND area IN ('P', 'Q', 'J') ORDER BY scope, id",
            (area.value,),
        ).fetchall()
    return [Owed(scope_id, area, entry_id) for scope_id, entry_id in rows]


def gone_quiet(file: AnyFile, now: datetime) -> list[Owed]:
    """Every conversation in which messages wait and nobody has spoken for as long as its policy gives."""
    with file.connection() as connection:
        rows = connection.execute(
            "SELECT scope, id FROM entry WHERE area = 'C' AND instr(id, '#') = 0"
            " AND json_extract(record, '$.quiet_at') <= ? ORDER BY scope, id",
            (rfc3339(now),),
        ).fetchall()
    return [Owed(scope_id, Area.CONVERSATION, run_id) for scope_id, run_id in rows]


def drop_outcomes(file: AnyFile, now: datetime) -> None:
    """Forget what requests led to whose idempotency keys nobody may use again."""
    with file.transaction() as connection:
        connection.execute(
            "DELETE FROM entry WHERE area = 'I' AND json_extract(record, '$.ttl') < ?",
            (int(now.timestamp()),),
        )
