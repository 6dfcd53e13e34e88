"""MCP over streamable HTTP for whoever holds one request in hand, as a λ does: no session, no stream."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp.server.transport_security import TransportSecuritySettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unsay.mcp.server import MemoryServer

PATH = "/mcp"
_SERVER_ERROR = -32_000


@dataclass(frozen=True)
class HttpAnswer:
    """What goes back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def answered(
    server: MemoryServer,
    method: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    hosts: Sequence[str] | None = None,
) -> HttpAnswer:
    """Answer one request; `GET` would open a stream and `DELETE` end a session, and there is neither.

    With `hosts`, as in `["localhost:*"]`, a request for another host is `421`: a server that takes callers at
    their word wants that, for a page of any site makes a browser ask it. Where each proves who calls with a
    credential in a header, no page can, and behind a gateway the host has many names: then None.
    """
    if method != "POST":
        return only_post()
    return asyncio.run(_posted(server, headers, body, _security(hosts)))


def only_post() -> HttpAnswer:
    """What any other method is answered."""
    return refused(405, "Method Not Allowed: only POST", Allow="POST")


def refused(status: int, message: str, **headers: str) -> HttpAnswer:
    """A refusal of a whole request, in the form that hosts read."""
    error = {"code": _SERVER_ERROR, "message": message}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    return HttpAnswer(status, {**headers, "Content-Type": "application/json"}, body)


def _security(hosts: Sequence[str] | None) -> TransportSecuritySettings:
    if hosts is None:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return TransportSecuritySettings(enable_dns_rebinding_protection=True, allowed_hosts=list(hosts))


async def _posted(
    server: MemoryServer, headers: Mapping[str, str], body: bytes, security: TransportSecuritySettings
) -> HttpAnswer:
    app = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=security)
    request = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "https",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()
        ],
    }
    begun: dict[str, Any] = {}
    parts: list[bytes] = []
    sent = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        for message in sent:
            return message
        # Nobody hangs up: the answer is waited for.
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            begun.update(message)
        else:
            parts.append(message.get("body", b""))

    async with server.session_manager.run():
        await app(request, receive, send)
    answer_headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in begun["headers"]}
    return HttpAnswer(begun["status"], answer_headers, b"".join(parts))
