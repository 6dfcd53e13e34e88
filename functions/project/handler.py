"""The project λ: what was committed goes on to the documents, the index queue, the bus and the anchors.

Both tables' streams end here. Records carry keys only; the scope they name is opened with its own tag,
and what lies there is read again, because transactions arrive in no order and may arrive twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.metrics import MetricUnit, single_metric

from functions.entrypoint import log_fault, logger
from unsay_core.application.anchor import anchor_head
from unsay_core.application.ports import UnreadableError
from unsay_core.application.project import domain_event, project_memory
from unsay_core.bootstrap.aws import ProjectService
from unsay_core.domain.ledger import Area
from unsay_core.settings import ProjectSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_lambda_powertools.utilities.typing import LambdaContext

TAMPERED = "AuditEntryChanged"  # the metric of an alarm

service = ProjectService(ProjectSettings.from_environment())


@logger.inject_lambda_context
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Handle a batch of stream records; those from the first that failed on come again."""
    heads: dict[str, dict[str, Any]] = {}
    failed: list[str] = []
    for record in event["Records"]:
        scope_id, area, sort = _place(record)
        try:
            _project(scope_id, area, sort, record["eventName"])
        except UnreadableError as fault:  # trying again would hold up every scope of the shard
            log_fault("a record names an entry that cannot be read", fault)
            continue
        except Exception as fault:  # noqa: BLE001 - whatever it is, the record has to come again
            log_fault("a record could not be projected", fault)
            failed.append(_number(record))
            break
        if area == Area.AUDIT and record["eventName"] == "INSERT":
            heads[scope_id] = max(record, heads.get(scope_id, record), key=_sort)
    failed += _anchor(heads)
    return {"batchItemFailures": [{"itemIdentifier": number} for number in failed]}


def _project(scope_id: str, area: str, sort: str, kind: str) -> None:
    if area == Area.PENDING:
        task = project_memory(sort, service.work_scope(scope_id), service.scope_notes)
        service.queue.send([task] if task else [])
    elif area == Area.AUDIT and kind == "INSERT":
        happened = domain_event(int(sort), service.work_scope(scope_id))
        service.bus.publish([happened] if happened else [])
    elif area == Area.AUDIT:
        _raise_alarm(scope_id, sort, kind)


def _raise_alarm(scope_id: str, sort: str, kind: str) -> None:
    """Nothing of the service changes or removes an audit entry: whoever did has other means."""
    logger.error("an audit entry was changed", extra={"scope_id": scope_id, "seq": sort, "change": kind})
    with single_metric(name=TAMPERED, unit=MetricUnit.Count, value=1):
        pass


def _anchor(heads: Mapping[str, dict[str, Any]]) -> list[str]:
    """Anchor the newest entry of each scope; returns the records whose entries could not be."""
    failed = []
    for scope_id, record in heads.items():
        try:
            anchor_head(int(_sort(record)), service.project_scope(scope_id))
        except UnreadableError as fault:  # as above; the next entry's anchor covers it too
            log_fault("a record names an entry that cannot be read", fault)
        except Exception as fault:  # noqa: BLE001 - as above: the record comes again, and its anchor with it
            log_fault("a head could not be anchored", fault)
            failed.append(_number(record))
    return failed


def _place(record: Mapping[str, Any]) -> tuple[str, str, str]:
    keys = record["dynamodb"]["Keys"]
    scope_id, _, area = keys["pk"]["S"].rpartition("#")
    return scope_id, area, keys["sk"]["S"]


def _sort(record: Mapping[str, Any]) -> str:
    return str(record["dynamodb"]["Keys"]["sk"]["S"])


def _number(record: Mapping[str, Any]) -> str:
    return str(record["dynamodb"]["SequenceNumber"])
