"""MCP over streamable HTTP for whoever holds one request in hand, as a λ does: no session, no stream."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp.server.transport_security import TransportSecuritySettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unsay.mcp.server import MemoryServer

PATH = "/mcp"
# Who calls has proven it with a credential in a header, which no page of another site makes a browser send:
# there is no host to check, and behind a gateway or a domain of one's own it has many names.
_ANY_HOST = TransportSecuritySettings(enable_dns_rebinding_protection=False)
_ONLY_POST = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Method Not Allowed: only POST"}}'


@dataclass(frozen=True)
class HttpAnswer:
    """What goes back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def answered(server: MemoryServer, method: str, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
    """Answer one request; `GET` would open a stream and `DELETE` end a session, and there is neither."""
    if method != "POST":
        return HttpAnswer(405, {"Allow": "POST", "Content-Type": "application/json"}, _ONLY_POST)
    return asyncio.run(_posted(server, headers, body))


async def _posted(server: MemoryServer, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
    app = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=_ANY_HOST)
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
