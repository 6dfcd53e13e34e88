"""The one port's front: the deployed API at `/v1/*`, `/iam/v1/*`, `/mcp`, the control URL, behind it AWS."""

from __future__ import annotations

import json
import os
import re
import time
from typing import TYPE_CHECKING, Any

from ministack.services import cloudformation

from local import faults, metrics, persistence, xray
from local.gateway_iam import path_as_sent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[dict[str, Any]]]
    Send = Callable[[dict[str, Any]], Awaitable[None]]
    Application = Callable[[Scope, Receive, Send], Awaitable[None]]

PATCHES = {"ministack.services.cloudformation": ("_stacks",)}

_LOOPBACK = ("127.0.0.1", "::1")
# A client that keeps the control URL as its base asks for `/_faults` below it.
_FAULT_PATHS = ("/_faults", "/_faults/_faults")
_STATUS_PATH, _TRACES_PATH = "/_local", "/_traces"
# The emulator's own controls reset everything for whoever asks, a web page included.
_EMULATOR_PATH, _EMULATOR_HEALTH = "/_ministack/", "/_ministack/health"
_SIGNED_FOR = re.compile(rb"Credential=[^/]+/[^/]+/[^/]+/([^/]+)/")
_TABLE_READS = (b"Get", b"BatchGet", b"Query", b"Scan", b"TransactGet", b"Describe", b"List")
_BODY_BYTES = 1 << 20


# An API answers while its stack is updated.
_AT_WORK = ("UPDATE_IN_PROGRESS", "CLEANUP_IN_PROGRESS", "UPDATE_ROLLBACK_IN_PROGRESS")


def api_id() -> str | None:
    """The HTTP API of the deployed stack: the `ApiId` output of one that is up."""
    for _, stack in cloudformation._stacks.all_items():
        if str(stack.get("StackStatus", "")).endswith(
            ("CREATE_COMPLETE", "UPDATE_COMPLETE", "ROLLBACK_COMPLETE", *_AT_WORK)
        ):
            for output in stack.get("Outputs") or []:
                if output["OutputKey"] == "ApiId":
                    return str(output["OutputValue"])
    return None


def front_door(aws: Application) -> Application:
    """The application that serves a deployed API and the controls in front of the emulator."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            async with persistence.saving():
                await aws(scope, receive, send)
            return
        if scope["type"] == "http" and scope["path"] in (*_FAULT_PATHS, _STATUS_PATH, _TRACES_PATH):
            await _control(scope, receive, send)
            return
        if scope["type"] == "http" and _is_emulator_control(scope["path"]):
            await _answer(send, 404, {"message": "Not Found"})
            return
        if _is_api_call(scope):  # what a function changes, it changes by calls of its own
            path_as_sent.set(_raw_path(scope).decode("latin-1"))
            await _counted(aws, _to_api(scope), receive, send)
            return
        writes = _may_write_tables(scope)
        persistence.touch(tables=writes)
        try:
            await aws(scope, receive, send)
        finally:  # a change that came after a snapshot began is in the next one
            persistence.touch(tables=writes)

    return serve


async def _counted(aws: Application, scope: Scope, receive: Receive, send: Send) -> None:
    """Pass a call on to the API, and say of it what API Gateway says."""
    started = time.monotonic()

    async def note(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            milliseconds = (time.monotonic() - started) * 1000
            metrics.record_api_call(api_id() or "none", message["status"], milliseconds)
        await send(message)

    await aws(scope, receive, note)


def _is_emulator_control(path: str) -> bool:
    return path.startswith(_EMULATOR_PATH) and path != _EMULATOR_HEALTH


def _may_write_tables(scope: Scope) -> bool:
    """Whether a request may change a DynamoDB table: no reads, no other service but CloudFormation."""
    headers = dict(scope.get("headers", []))
    signed_for = _SIGNED_FOR.search(headers.get(b"authorization", b""))
    if signed_for is None or signed_for.group(1) == b"cloudformation":
        return True
    operation = headers.get(b"x-amz-target", b"").rpartition(b".")[2]
    return signed_for.group(1) == b"dynamodb" and not operation.startswith(_TABLE_READS)


def _is_api_call(scope: Scope) -> bool:
    """Whether a request is for the deployed API: several AWS services have paths below /v1 too, but sign."""
    if scope["type"] != "http":
        return False
    if scope["path"] in ("/mcp", "/iam/mcp") or scope["path"].startswith("/iam/v1/"):
        return True
    if not scope["path"].startswith("/v1/"):
        return False
    authorization = dict(scope["headers"]).get(b"authorization", b"")
    return not authorization.startswith(b"AWS4-HMAC-SHA256")


def _to_api(scope: Scope) -> Scope:
    """The same request at the address of the deployed API: path as it was sent, query untouched."""
    prefix = f"/_aws/execute-api/{api_id() or 'none'}/$default"
    return {**scope, "path": prefix + scope["path"], "raw_path": prefix.encode() + _raw_path(scope)}


def _raw_path(scope: Scope) -> bytes:
    return bytes(scope.get("raw_path") or scope["path"].encode())


async def _control(scope: Scope, receive: Receive, send: Send) -> None:
    client = scope.get("client") or ("", 0)
    if client[0] not in _LOOPBACK:
        await _answer(send, 403, {"message": "the controls answer on loopback only"})
        return
    if scope["path"] == _STATUS_PATH:
        state = os.path.dirname(os.environ["STATE_DIR"])
        await _answer(send, 200, {"pid": os.getpid(), "state": state, "api_id": api_id()})
        return
    if scope["path"] == _TRACES_PATH:
        await _answer(send, 200, {"segments": xray.segments()})
        return
    await _answer(send, *_faults(scope["method"], await _body(receive)))


def _faults(method: str, body: bytes) -> tuple[int, dict[str, Any]]:
    if method == "GET":
        return 200, faults.current().as_json()
    if method == "DELETE":
        return 200, faults.clear().as_json()
    if method != "PUT":
        return 405, {"message": f"{method} is not allowed: GET, PUT or DELETE"}
    try:
        values = json.loads(body)
        if not isinstance(values, dict):
            return 400, {"message": "not a JSON object"}
        return 200, faults.change(values).as_json()
    except ValueError as error:  # JSON that does not parse, and FaultError
        return 400, {"message": str(error)}


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more and len(body) <= _BODY_BYTES:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body


async def _answer(send: Send, status: int, value: dict[str, Any]) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(value).encode()})
