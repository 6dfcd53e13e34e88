"""The project λ: what was committed goes on to the documents, the index queue, the bus and the anchors.

Both tables' streams end here. Records carry keys only; the scope they name is opened with its own tag,
and what lies there is read again, because transactions arrive in no order and may arrive twice.
"""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from functions.entrypoint import log_fault, logger
from unsay_core.application.anchor import anchor_head
from unsay_core.application.graves import note_tombstones
from unsay_core.application.jobs import call_for
from unsay_core.application.ledger import Area, audit_ref
from unsay_core.application.ports import UnreadableError
from unsay_core.application.project import batch_is_ready, domain_event, project_memories
from unsay_core.application.read_ahead import ReadAhead
from unsay_core.bootstrap.aws import ProjectService
from unsay_core.domain.ids import is_digest
from unsay_core.metrics import AUDIT_ENTRY_CHANGED
from unsay_core.settings import TABLE_MARK, ProjectSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from aws_lambda_powertools.utilities.typing import LambdaContext

    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import IndexTask, Ledger, WorkScope

service = ProjectService(ProjectSettings.from_environment())


@dataclass
class _Batch:
    """What the records of one batch share: their scopes, read ahead, and what is done for them together.

    `together` has, by scope and area, the places that are looked at in one go, each with its first record.
    """

    scopes: dict[str, WorkScope]
    heads: dict[str, str]
    tasks: list[IndexTask] = field(default_factory=list)
    events: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    together: dict[tuple[str, str], dict[str, int]] = field(default_factory=lambda: defaultdict(dict))

    def scope(self, scope_id: str) -> WorkScope:
        """A scope as it was read ahead, or as it is."""
        return self.scopes.get(scope_id) or service.work_scope(scope_id)

    def send(self) -> None:
        """Ask for what was found to be due."""
        service.queue.send(self.tasks)
        service.bus.publish(self.events)


@logger.inject_lambda_context
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Handle a batch of stream records; those from the first that failed on come again.

    If what they ask for could not be sent, all of them do.
    """
    records = event["Records"]
    batch, failed = _Batch(_read_ahead(records), _heads(records)), None
    for number, record in enumerate(records):
        try:
            _project(record, number, batch)
        except UnreadableError as fault:  # trying again would hold up every scope of the shard
            log_fault("a record names an entry that cannot be read", fault)
        except Exception as fault:  # noqa: BLE001 - whatever it is, the record has to come again
            log_fault("a record could not be projected", fault)
            failed = number
            break
    numbers = [failed, *(_do_together(*place, named, batch) for place, named in batch.together.items())]
    failed = min((number for number in numbers if number is not None), default=None)
    try:
        batch.send()
    except Exception as fault:  # noqa: BLE001 - whatever it is, nothing of the batch may be lost
        log_fault("the work of a batch could not be sent", fault)
        failed = 0
    again = [] if failed is None else [records[failed]["dynamodb"]["SequenceNumber"]]
    return {"batchItemFailures": [{"itemIdentifier": number} for number in again]}


def _project(record: Mapping[str, Any], number: int, batch: _Batch) -> None:
    scope_id, area, sort = _place(record)
    if record["dynamodb"]["Keys"]["pk"]["S"] == TABLE_MARK:
        pass  # the mark of the table itself
    elif not _is_ours(scope_id, area, sort):
        _set_aside(record)
    elif area in TOGETHER:
        batch.together[scope_id, area].setdefault(sort, number)
    elif area == Area.READY:
        ready = batch_is_ready(sort, batch.scope(scope_id))
        batch.events.extend([ready] if ready else [])
    elif area == Area.AUDIT and record["eventName"] == "INSERT":
        _anchor(scope_id, batch.heads)
        happened = domain_event(int(sort), batch.scope(scope_id))
        batch.events.extend([happened] if happened else [])
    elif area == Area.AUDIT:
        _raise_alarm(scope_id, sort, record["eventName"])


def _do_together(scope_id: str, area: str, named: Mapping[str, int], batch: _Batch) -> int | None:
    """What is done for some places in one go; or for each alone, to find the first that has to come again."""
    try:
        TOGETHER[area](list(named), scope_id, batch)
    except UnreadableError as fault:
        if len(named) == 1:
            log_fault("a record names an entry that cannot be read", fault)
            return None
    except Exception as fault:  # noqa: BLE001 - whatever it is, the record has to come again
        if len(named) == 1:
            log_fault("a record could not be projected", fault)
            return next(iter(named.values()))
    else:
        return None
    alone = (_do_together(scope_id, area, {sort: number}, batch) for sort, number in named.items())
    return next((number for number in alone if number is not None), None)


def _project_memories(memory_ids: list[str], scope_id: str, batch: _Batch) -> None:
    batch.tasks += project_memories(memory_ids, batch.scope(scope_id), service.scope_notes, service.world)


def _note_tombstones(sorts: list[str], scope_id: str, _batch: _Batch) -> None:
    scope = service.project_scope(scope_id)
    note_tombstones(sorts, scope.ledger, scope.graves)


def _call(area: Area) -> Callable[[list[str], str, _Batch], None]:
    def call(ids: list[str], scope_id: str, batch: _Batch) -> None:
        called = [call_for(area, each, batch.scope(scope_id)) for each in ids]
        service.jobs.call([task for task in called if task])

    return call


TOGETHER: Mapping[str, Callable[[list[str], str, _Batch], None]] = {
    Area.PENDING: _project_memories,
    Area.TOMBSTONE: _note_tombstones,
    Area.ERASURE: _call(Area.ERASURE),
    Area.JOB: _call(Area.JOB),
}


def _read_ahead(records: Iterable[Mapping[str, Any]]) -> dict[str, WorkScope]:
    """The scopes of a batch, with the audit entries that its records name read together.

    A scope that cannot be read so is left to its records: the one that is at fault says so itself.
    """
    named: dict[str, list[Ref[Any]]] = defaultdict(list)
    for record in records:
        scope_id, area, sort = _place(record)
        if _is_ours(scope_id, area, sort):
            named[scope_id].extend([audit_ref(int(sort))] if area == Area.AUDIT else [])
    found = {}
    for scope_id, places in named.items():
        with suppress(Exception):
            scope = service.work_scope(scope_id)
            ahead = ReadAhead(scope.ledger, list(dict.fromkeys(places)))
            found[scope_id] = replace(scope, ledger=cast("Ledger", ahead))
    return found


def _heads(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The newest audit entry of each scope in a batch; an anchor covers all before it."""
    heads: dict[str, str] = {}
    for record in records:
        scope_id, area, sort = _place(record)
        is_new = area == Area.AUDIT and record["eventName"] == "INSERT"
        if is_new and _is_ours(scope_id, area, sort):
            heads[scope_id] = max(sort, heads.get(scope_id, sort))
    return heads


def _anchor(scope_id: str, heads: dict[str, str]) -> None:
    """Anchor a scope's newest entry with the first record of the scope, before anything is told of it.

    An entry that cannot be read cannot be anchored; its own record says so.
    """
    if scope_id in heads:
        with suppress(UnreadableError):
            anchor_head(int(heads[scope_id]), service.project_scope(scope_id))
        del heads[scope_id]


def _set_aside(record: Mapping[str, Any]) -> None:
    """A record that names nothing of ours: no try could do anything, and others would wait for it."""
    logger.error("a record names no place of ours", extra={"record": record["eventID"]})
    letter = {"source": record["eventSourceARN"], "keys": record["dynamodb"]["Keys"]}
    service.dead_letters.set_aside(json.dumps(letter), record["eventID"])


def _raise_alarm(scope_id: str, sort: str, kind: str) -> None:
    """Nothing of the service changes or removes an audit entry: whoever did has other means."""
    logger.error("an audit entry was changed", extra={"scope_id": scope_id, "seq": sort, "change": kind})
    service.world.signals.tell(AUDIT_ENTRY_CHANGED, whose={"scope_id": scope_id})


def _is_ours(scope_id: str, area: str, sort: str) -> bool:
    """Whether a place is in a scope, and numbered where its area numbers them."""
    number = {Area.AUDIT.value: sort, Area.READY.value: sort.rpartition("#")[2]}.get(area, "0")
    return is_digest(scope_id) and number.isdecimal()


def _place(record: Mapping[str, Any]) -> tuple[str, str, str]:
    keys = record["dynamodb"]["Keys"]
    scope_id, _, area = keys["pk"]["S"].rpartition("#")
    return scope_id, area, keys["sk"]["S"]
