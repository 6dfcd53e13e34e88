"""The jobs λ: jobs of scopes, a step at a time for as long as there is time; then they come again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.entrypoint import each_message, log_fault, logger
from unsay_core.adapters.messaging import job_of_message
from unsay_core.application.job_steps import STEPS
from unsay_core.application.jobs import run_job
from unsay_core.bootstrap.jobs import JobsService
from unsay_core.settings import JobsSettings
from unsay_core.tracing import TracePlace

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

service = JobsService(JobsSettings.from_environment())

ENOUGH_MS = 20_000  # what one step may take at most
LONGEST_PAUSE = 30  # seconds between two looks at a job that waits for something


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Handle some calls; those whose jobs have not ended come back after a pause."""

    def pause_of(record: dict[str, Any]) -> int | None:
        pause = _pause(record, context)
        return None if pause is None else _patience(pause, record["attributes"])

    return each_message(event, pause_of, service.postponer.postpone)


def _pause(record: dict[str, Any], context: LambdaContext) -> float | None:
    """Seconds until a call is worth another look; None when it is done with."""
    try:
        task = job_of_message(record["body"])
        if task.kind not in STEPS:
            raise ValueError("this names no kind of job")
    except ValueError as fault:
        log_fault("a message names no job", fault)
        service.dead_letters.set_aside(record["body"], record["messageId"])
        return None
    try:
        with service.world.tracer.span(task.kind, under=TracePlace.parse(task.trace)) as span:
            span.note(scope=task.scope_id, attempts=int(record["attributes"]["ApproximateReceiveCount"]))
            scope = service.job_scope(task)
            return run_job(task, scope, service.world, STEPS, lambda: _has_time(context)) if scope else None
    except Exception as fault:  # noqa: BLE001 - one job's trouble must not hold up another's
        log_fault("a job could not be run", fault)
        return 1.0


def _has_time(context: LambdaContext) -> bool:
    return context.get_remaining_time_in_millis() > ENOUGH_MS


def _patience(pause: float, attributes: dict[str, str]) -> int:
    """Seconds until the next look; more each time, where there was nothing to do but wait."""
    if not pause:
        return 0
    doubled = 1 << min(int(attributes["ApproximateReceiveCount"]) - 1, 6)
    return int(min(LONGEST_PAUSE, max(1.0, pause * doubled)))
