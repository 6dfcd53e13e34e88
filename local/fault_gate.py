"""Where faults bite: in front of every AWS call the emulator serves."""

from __future__ import annotations

import asyncio
from typing import Any

from ministack import app
from ministack.core import iam_actions, router

from local import faults, operations

PATCHES = {
    "ministack.app": ("_dispatch_service_request", "_routing_params"),
    "ministack.core.iam_actions": ("access_denied_response",),
    "ministack.core.router": ("detect_service",),
}

_original_dispatch = app._dispatch_service_request


async def _dispatch(
    method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any], request_id: str
) -> Any:
    now = faults.current()
    if now.down or now.delay_seconds:
        service = router.detect_service(
            method, path, headers, app._routing_params(method, path, headers, body, query)
        )
        client = operations.client_name(service, path)
        if client in now.down:
            return _unavailable(service, headers, request_id)
        operation = operations.operation_of(client, method, path, headers, body, query)
        await asyncio.sleep(now.delay_seconds.get(f"{client}.{operation}", 0))
    return await _original_dispatch(method, path, headers, body, query, request_id)


def _unavailable(service: str, headers: dict[str, str], request_id: str) -> tuple[int, dict[str, str], bytes]:
    """503 in the service's own protocol; the emulator's denial writer knows every shape."""
    _, reply, body = iam_actions.access_denied_response(
        service,
        "",
        "",
        request_id,
        error_code="ServiceUnavailable",
        message="Service is unable to handle request.",
        headers=headers,
    )
    return 503, reply | {"x-amzn-requestid": request_id}, body


def install() -> None:
    """Put the gate in front of the emulator's dispatch."""
    app._dispatch_service_request = _dispatch
