"""Where faults bite: before and after every AWS call the emulator serves."""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any

from ministack import app
from ministack.core import iam_actions, router

from local import faults, operations, persistence

if TYPE_CHECKING:
    from local.aws_json import Response

PATCHES = {
    "ministack.app": ("_dispatch_service_request", "_routing_params"),
    "ministack.core.iam_actions": ("access_denied_response",),
    "ministack.core.router": ("detect_service",),
}

UNANSWERED_SECONDS = 120.0  # longer than any client waits
_TRANSACTION = "dynamodb.TransactWriteItems"
_TOO_MANY = {"dynamodb": "ProvisionedThroughputExceededException", "s3": "SlowDown"}

_original_dispatch = app._dispatch_service_request


async def _dispatch(
    method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any], request_id: str
) -> Any:
    now = faults.current()
    if not now.strike_calls:
        return await _original_dispatch(method, path, headers, body, query, request_id)
    service = router.detect_service(
        method, path, headers, app._routing_params(method, path, headers, body, query)
    )
    client = operations.client_name(service, path)
    if client in now.down:
        return _refusal(
            service,
            headers,
            request_id,
            status=503,
            code="ServiceUnavailable",
            message="Service is unable to handle request.",
        )
    name = f"{client}.{operations.operation_of(client, method, path, headers, body, query)}"
    await asyncio.sleep(now.delay_seconds.get(name, 0))
    if _strikes(now.throttle.get(name, 0)):
        return _too_many(client, service, headers, request_id)
    if name == _TRANSACTION and _strikes(now.conflict):
        return _conflict(body, request_id)
    answer = await _original_dispatch(method, path, headers, body, query, request_id)
    if _strikes(now.commit_then_timeout.get(name, 0)):
        persistence.touch()  # what was done is done, though nobody hears of it
        await asyncio.sleep(UNANSWERED_SECONDS)
    return answer


def _strikes(share: float) -> bool:
    return random.random() < share


def _too_many(client: str, service: str, headers: dict[str, str], request_id: str) -> Response:
    return _refusal(
        service,
        headers,
        request_id,
        status=503 if client == "s3" else 400,
        code=_TOO_MANY.get(client, "ThrottlingException"),
        message="The request rate is too high.",
    )


def _refusal(
    service: str, headers: dict[str, str], request_id: str, *, status: int, code: str, message: str
) -> Response:
    """An error in the service's own protocol; the emulator's denial writer knows every shape."""
    _, reply, body = iam_actions.access_denied_response(
        service, "", "", request_id, error_code=code, message=message, headers=headers
    )
    return status, reply | {"x-amzn-requestid": request_id}, body


def _conflict(body: bytes, request_id: str) -> Response:
    """A cancelled transaction: its first item is in another one, the rest had no part in it."""
    others = len(json.loads(body)["TransactItems"]) - 1
    reasons = [{"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}]
    reasons += [{"Code": "None"}] * others
    named = ", ".join(reason["Code"] for reason in reasons)
    error = {
        "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "Message": f"Transaction cancelled, please refer cancellation reasons for specific reasons [{named}]",
        "CancellationReasons": reasons,
    }
    reply = {"Content-Type": "application/x-amz-json-1.0", "x-amzn-requestid": request_id}
    return 400, reply, json.dumps(error).encode()


def install() -> None:
    """Put the gate in front of the emulator's dispatch."""
    app._dispatch_service_request = _dispatch
