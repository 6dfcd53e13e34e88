"""What every λ shares: a logger that never sees memory text."""

from __future__ import annotations

import traceback

from aws_lambda_powertools import Logger
from botocore.exceptions import ClientError

logger = Logger()


def log_fault(message: str, fault: Exception) -> None:
    """Log a fault of ours by type and place: its own message might quote what a caller sent."""
    frames = traceback.extract_tb(fault.__traceback__)[-5:]
    where = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
    refused = {}
    if isinstance(fault, ClientError):
        refused = {"operation": fault.operation_name, "code": fault.response["Error"]["Code"]}
    logger.error(message, extra={"fault": type(fault).__name__, "where": where, **refused})
