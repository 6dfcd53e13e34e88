"""What AWS refuses or cannot do just now, in the service's own words."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

from unsay_core.application.ports import ConflictError
from unsay_core.domain.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOST_RACE = frozenset({"ConditionalCheckFailed", "TransactionConflict"})
_LOST_ALONE = frozenset({"ConditionalCheckFailedException", "TransactionConflictException"})
_FULL = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded"})
_THROTTLED = frozenset(
    {
        "ThrottlingException",
        "Throttling",
        "TooManyRequestsException",
        "RequestLimitExceeded",
        "ProvisionedThroughputExceededException",
        "LimitExceededException",
        "TransactionInProgressException",  # an earlier try of the same request is still at work
    }
)


@contextmanager
def translated(what: str = "the ledger") -> Iterator[None]:
    """Turn lost races into `ConflictError`, throttling and outages into `UnavailableError`.

    Everything else is a fault of ours and goes up as it is.
    """
    try:
        yield
    except (HTTPClientError, ConnectionError) as unreachable:
        raise UnavailableError(f"{what} cannot be reached") from unreachable
    except ClientError as refused:
        reasons = {reason.get("Code") for reason in refused.response.get("CancellationReasons", [])}
        if reasons & _LOST_RACE or refused.response["Error"]["Code"] in _LOST_ALONE:
            raise ConflictError("another writer was first") from None
        if reasons & _FULL or is_throttled(refused) or is_outage(refused):
            raise UnavailableError(f"{what} cannot serve this now") from refused
        raise


def is_throttled(refused: ClientError) -> bool:
    """True if AWS asks for fewer requests."""
    return refused.response["Error"]["Code"] in _THROTTLED


def is_outage(refused: ClientError) -> bool:
    """True if AWS failed on its side."""
    return refused.response["ResponseMetadata"]["HTTPStatusCode"] >= 500
