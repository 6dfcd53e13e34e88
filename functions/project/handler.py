"""The project λ: what was committed goes on to the documents, the index queue and the bus.

Both tables' streams end here. Records carry keys only; the scope they name is opened with its own tag,
and what lies there is read again, because transactions arrive in no order and may arrive twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.entrypoint import log_fault, logger
from unsay_core.application.ports import UnreadableError
from unsay_core.application.project import domain_event, project_memory
from unsay_core.bootstrap.aws import ProjectService
from unsay_core.domain.ledger import Area
from unsay_core.settings import ProjectSettings

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

service = ProjectService(ProjectSettings.from_environment())


@logger.inject_lambda_context
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Handle a batch of stream records; those from the first that failed on come again."""
    for record in event["Records"]:
        keys = record["dynamodb"]["Keys"]
        try:
            _project(keys["pk"]["S"], keys["sk"]["S"])
        except UnreadableError as fault:  # trying again would hold up every scope of the shard
            log_fault("a record names an entry that cannot be read", fault)
        except Exception as fault:  # noqa: BLE001 - whatever it is, the record has to come again
            log_fault("a record could not be projected", fault)
            failed = record["dynamodb"]["SequenceNumber"]
            return {"batchItemFailures": [{"itemIdentifier": failed}]}
    return {"batchItemFailures": []}


def _project(partition: str, sort: str) -> None:
    scope_id, _, area = partition.rpartition("#")
    if area == Area.PENDING:
        task = project_memory(sort, service.work_scope(scope_id))
        service.queue.send([task] if task else [])
    elif area == Area.AUDIT:
        happened = domain_event(int(sort), service.work_scope(scope_id))
        service.bus.publish([happened] if happened else [])
