"""What every λ shares: a logger that never sees memory text."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

logger = Logger()

# What the authorizer says of a caller on whom it could not decide, for want of what it had to ask.
UNDECIDED = "undecided"
_SCHEME = "bearer"


def bearer_of(headers: Mapping[str, str]) -> str | None:
    """The credential of a request, if it brings one of ours."""
    scheme, _, credential = headers.get("authorization", "").partition(" ")
    return credential.strip() or None if scheme.lower() == _SCHEME else None


def log_fault(message: str, fault: Exception) -> None:
    """Log a fault of ours by type and place: its own message might quote what a caller sent."""
    frames = traceback.extract_tb(fault.__traceback__)[-5:]
    where = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
    refused = {}
    if isinstance(fault, ClientError):
        refused = {"operation": fault.operation_name, "code": fault.response["Error"]["Code"]}
    logger.error(message, extra={"fault": type(fault).__name__, "where": where, **refused})


def each_message(
    event: Mapping[str, Any],
    pause_of: Callable[[dict[str, Any]], int | None],
    postpone: Callable[[dict[str, int]], None],
) -> dict[str, Any]:
    """Handle the messages of a queue one by one, and answer which are not done.

    `pause_of` says in how many seconds a message is worth another look, None when it is done with.
    """
    pauses = [(record, pause_of(record)) for record in event["Records"]]
    waiting = [(record, pause) for record, pause in pauses if pause is not None]
    postpone({record["receiptHandle"]: pause for record, pause in waiting})
    return {"batchItemFailures": [{"itemIdentifier": record["messageId"]} for record, _ in waiting]}
