"""What every λ shares: a logger that never sees memory text."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from aws_lambda_powertools import Logger
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from collections.abc import Mapping

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
