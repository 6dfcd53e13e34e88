"""What AWS refuses, in our own words."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError

from unsay_core.adapters.aws_errors import translated
from unsay_core.application.ports import ConflictError
from unsay_core.domain.errors import UnavailableError


def refused(code: str, *reasons: str, status: int = 400) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    if reasons:
        response["CancellationReasons"] = [{"Code": reason} for reason in reasons]
    return ClientError(response, "Operation")


LOST = [
    refused("TransactionCanceledException", "None", "ConditionalCheckFailed"),
    refused("TransactionCanceledException", "TransactionConflict", "None"),
    refused("ConditionalCheckFailedException"),
    refused("TransactionConflictException"),
]
OUT = [
    refused("ThrottlingException"),
    refused("ProvisionedThroughputExceededException"),
    refused("TransactionInProgressException"),
    refused("TransactionCanceledException", "ThrottlingError"),
    refused("TransactionCanceledException", "None", "ProvisionedThroughputExceeded"),
    refused("InternalServerError", status=500),
    refused("ServiceUnavailable", status=503),
    EndpointConnectionError(endpoint_url="https://example.invalid"),
    ConnectTimeoutError(endpoint_url="https://example.invalid"),
    ReadTimeoutError(endpoint_url="https://example.invalid"),
]
OURS = [
    refused("ValidationException"),
    refused("AccessDeniedException"),
    refused("TransactionCanceledException", "ValidationError"),
    refused("TransactionCanceledException", "ItemCollectionSizeLimitExceeded"),
]


@pytest.mark.parametrize("failure", LOST, ids=repr)
def test_a_lost_race_is_a_conflict(failure: Exception) -> None:
    with pytest.raises(ConflictError), translated():
        raise failure


@pytest.mark.parametrize("failure", OUT, ids=repr)
def test_throttling_and_outages_are_unavailable_with_a_time_to_come_back(failure: Exception) -> None:
    with pytest.raises(UnavailableError) as answer, translated("the ledger"):
        raise failure
    assert answer.value.retry_after
    assert answer.value.status == 503


@pytest.mark.parametrize("failure", OURS, ids=repr)
def test_a_fault_of_ours_is_not_dressed_up(failure: Exception) -> None:
    with pytest.raises(ClientError), translated():
        raise failure
