"""The sweep λ: called every minute, it does what has come due, or calls for who does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.entrypoint import log_fault, logger
from unsay_core.application.ledger import Area
from unsay_core.application.sweep import sweep, tell_waiting
from unsay_core.bootstrap.jobs import SweepService
from unsay_core.metrics import STUCK_JOBS
from unsay_core.settings import SweepSettings

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

service = SweepService(SweepSettings.from_environment())

PER_SHARD = 50  # due entries looked at in one run; what is left is still due in a minute
ENOUGH_MS = 15_000  # what one entry may take at most


@logger.inject_lambda_context
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Do what is due, the longest due first, while there is time; says how much was done and what failed."""
    done = failed = 0
    now, signals = service.world.clock.now(), service.world.signals
    tell_waiting(service.due, now, signals)
    for due in service.due.until(now, limit=PER_SHARD):
        if context.get_remaining_time_in_millis() <= ENOUGH_MS:
            break
        if due.area in (Area.ERASURE, Area.JOB):
            signals.tell(STUCK_JOBS, whose={"scope_id": due.scope_id})
        try:
            opened = service.sweep_scope(due.scope_id)
            if opened is not None:
                sweep(due, opened, service.world, service.jobs)
            done += 1
        except Exception as fault:  # noqa: BLE001 - one scope's trouble must not hold up another's
            log_fault("what is due could not be done", fault)
            failed += 1
    return {"done": done, "failed": failed}
