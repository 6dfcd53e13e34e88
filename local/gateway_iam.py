"""API Gateway's IAM authorization of an HTTP API, as AWS does it: no signature of the caller's, no request.

The emulator checks a signature over the path behind our front door, lets a header through
that is no signature at all, and does not look at what service a signature was made for.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import Any

from ministack import app

PATCHES = {
    "ministack.app": ("pin_signed_request", "_enforce_execute_api", "_execute_api_authorization_type"),
}

# The path a caller of the deployed API signed, which the front door has prefixed since.
path_as_sent: ContextVar[str | None] = ContextVar("path_as_sent", default=None)

_SIGNATURE = re.compile(r"AWS4-HMAC-SHA256 .*Credential=[^/,]+/\d{8}/[a-z0-9-]+/execute-api/aws4_request\b")
_FORBIDDEN = 403, {"Content-Type": "application/json"}, b'{"message":"Forbidden"}'
_original_pin = app.pin_signed_request
_original_enforce = app._enforce_execute_api


def _pin(method: str, raw_path: str, *arguments: Any, **named: Any) -> None:
    _original_pin(method, path_as_sent.get() or raw_path, *arguments, **named)


def _enforce(
    api_id: str, stage: str, method: str, path: str, headers: dict[str, str], *rest: Any, **named: Any
) -> Any:
    refused = _original_enforce(api_id, stage, method, path, headers, *rest, **named)
    if app._execute_api_authorization_type(api_id, stage, method, path) != "AWS_IAM":
        return refused
    signed = _SIGNATURE.match(headers.get("authorization", ""))
    return None if signed and not refused else _FORBIDDEN


def install() -> None:
    """Check what the gateway would check."""
    app.pin_signed_request = _pin
    app._enforce_execute_api = _enforce
