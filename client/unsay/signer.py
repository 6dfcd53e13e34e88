"""How a request is signed with AWS credentials as it is sent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from botocore.credentials import Credentials

_SERVICE = "execute-api"


class Signer(httpx.Auth):
    """Signs each request as it is sent; credentials that end are renewed by whatever they came from."""

    requires_request_body = True

    def __init__(self, credentials: Credentials, region: str) -> None:
        self._credentials = credentials
        self._region = region

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """See `httpx.Auth`."""
        request.read()
        self._sign(request)
        yield request

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """As `sync_auth_flow`; what renews credentials may ask somebody, and no loop waits for that."""
        await request.aread()
        await asyncio.to_thread(self._sign, request)
        yield request

    def _sign(self, request: httpx.Request) -> None:
        # What proxies add or change on the way is not signed.
        named = {name: request.headers[name] for name in ("Host", "Content-Type") if name in request.headers}
        asked = AWSRequest(request.method, str(request.url), data=request.content, headers=named)
        SigV4Auth(self._credentials.get_frozen_credentials(), _SERVICE, self._region).add_auth(asked)
        request.headers.update(dict(asked.headers.items()))
