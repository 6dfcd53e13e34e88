"""The extract λ: batches of conversations that are due become memories, and files conversations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from functions.entrypoint import each_message, log_fault, logger
from unsay_core.adapters.messaging import batch_of_event, is_redriven, trace_of_event, upload_of_event
from unsay_core.application.extract import extract, next_in_line
from unsay_core.application.uploads import take_in
from unsay_core.bootstrap.aws import ExtractService
from unsay_core.endpoints.transcript import read_transcript
from unsay_core.settings import ExtractSettings

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

service = ExtractService(ExtractSettings.from_environment())

# What one batch may take: a model is waited for a minute at most, and may be asked more than once.
ENOUGH_MS = 130_000
LONGEST_PAUSE = 300  # seconds between two tries of one message; the queue allows a thousand tries


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Handle some messages; those that are not done come back after a pause."""

    def pause_of(record: dict[str, Any]) -> int | None:
        pause = _pause(record, context) if _has_time(context) else 1.0
        return None if pause is None else _patience(pause, record["attributes"])

    return each_message(event, pause_of, service.queue.postpone)


def _has_time(context: LambdaContext) -> bool:
    return context.get_remaining_time_in_millis() > ENOUGH_MS


def _pause(record: dict[str, Any], context: LambdaContext) -> float | None:
    """Seconds until a message is worth another look; None when it is done with."""
    try:
        event = json.loads(record["body"])
        upload = upload_of_event(event)
        batch = batch_of_event(event) if upload is None else None
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        log_fault("a message names no batch and no file", fault)
        service.dead_letters.set_aside(record["body"], record["messageId"])
        return None
    try:
        if upload is not None:
            _take_in(*upload, record["body"])
        if batch is not None and is_redriven(event):
            service.retry(*batch[:2])
        if batch is None:
            return None
        with service.world.tracer.span("extract", under=trace_of_event(event)) as span:
            attempts = int(record["attributes"]["ApproximateReceiveCount"])
            span.note(scope=batch[0], model=service.model.name, attempts=attempts)
            return _worked_on(*batch, context)
    except Exception as fault:  # noqa: BLE001 - one batch's trouble must not hold up another's
        log_fault("a batch or a file could not be worked on", fault)
        return 1.0


def _take_in(scope_id: str, run_id: str, upload_id: str, letter: str) -> None:
    intake = service.intake(scope_id, run_id, upload_id, read_transcript, letter)
    if intake is not None:
        take_in(run_id, upload_id, intake)


def _worked_on(scope_id: str, run_id: str, number: int, context: LambdaContext) -> float | None:
    """Work on a batch, and on those that follow in the run for as long as there is time.

    Each of these has a message of its own, which finds nothing left to do.
    """
    pause = _extracted(scope_id, run_id, number)
    following: int | None = number
    while pause is None and following is not None and _has_time(context):
        following = next_in_line(run_id, service.extract_ledger(scope_id))
        if following is not None and _extracted(scope_id, run_id, following) is not None:
            break
    return pause


def _extracted(scope_id: str, run_id: str, number: int) -> float | None:
    by = service.extractor(scope_id, run_id, number)
    return extract(run_id, number, by) if by else None


def _patience(pause: float, attributes: dict[str, str]) -> int:
    """Seconds until the next try: what was asked for, and more each time, for some trouble takes long."""
    doubled = 1 << min(int(attributes["ApproximateReceiveCount"]) - 1, 8)
    return max(1, min(LONGEST_PAUSE if pause < LONGEST_PAUSE else int(pause), int(pause * doubled)))
