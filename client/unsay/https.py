"""Questions over HTTPS."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

import httpx

from unsay.errors import UnreachableError
from unsay.signing import SIGNED
from unsay.transport import AsyncTransport, Transport, Written, judged

if TYPE_CHECKING:
    from unsay.signing import AwsAuth


class Https(Transport):
    """The service at one URL, called with one key, or signed with AWS credentials. Threads may share it.

    `transport` is the seam: `httpx.MockTransport`, a proxy, or one with certificates of one's own.
    """

    def __init__(
        self,
        url: str,
        credential: str | AwsAuth,
        *,
        timeout: float,
        transport: httpx.BaseTransport | None = None,
        **given: Any,
    ) -> None:
        super().__init__(_base(url), **given)
        caller = _caller(self.url, credential)
        self._client = httpx.Client(timeout=timeout, transport=transport, **caller)

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def sweep(self) -> None:
        """The service does that by itself."""

    def _once(self, written: Written) -> object:
        try:
            answer = self._client.send(_request(self._client, written))
        except httpx.RequestError as error:
            raise _unreachable(self.url, error) from error
        return judged(answer.status_code, answer.headers.get("Retry-After"), answer.content)


class AsyncHttps(AsyncTransport):
    """`Https` for an event loop."""

    def __init__(
        self,
        url: str,
        credential: str | AwsAuth,
        *,
        timeout: float,
        transport: httpx.AsyncBaseTransport | None = None,
        **given: Any,
    ) -> None:
        super().__init__(_base(url), **given)
        self._client = httpx.AsyncClient(
            timeout=timeout, transport=transport, **_caller(self.url, credential)
        )

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.aclose()

    async def sweep(self) -> None:
        """The service does that by itself."""

    async def _once(self, written: Written) -> object:
        try:
            answer = await self._client.send(_request(self._client, written))
        except httpx.RequestError as error:
            raise _unreachable(self.url, error) from error
        return judged(answer.status_code, answer.headers.get("Retry-After"), answer.content)


def _caller(url: str, credential: str | AwsAuth) -> dict[str, Any]:
    """Where a caller's requests go, and what says who calls."""
    if isinstance(credential, str):
        headers = {"Authorization": f"Bearer {credential}", "Accept": "application/json"}
        return {"base_url": url, "headers": headers}
    return {
        "base_url": f"{url}{SIGNED}",
        "headers": {"Accept": "application/json"},
        "auth": credential.signer(url),
    }


def _request(client: httpx.Client | httpx.AsyncClient, written: Written) -> httpx.Request:
    url = f"{written.path}?{written.query}" if written.query else written.path
    return client.build_request(written.method, url, content=written.body, headers=written.headers)


def _unreachable(url: str, error: httpx.RequestError) -> UnreachableError:
    why = str(error) or type(error).__name__
    timed_out = isinstance(error, httpx.TimeoutException)
    return UnreachableError(f"no answer from {url}: {why}", timed_out=timed_out)


def _base(url: str) -> str:
    """The URL without `/v1`; raises `ValueError` where the key would travel in the clear."""
    base = httpx.URL(url.rstrip("/").removesuffix("/v1"))
    if base.scheme == "https" or (base.scheme == "http" and _is_loopback(base.host)):
        return str(base).rstrip("/")
    raise ValueError("the URL starts with https:// (http:// is for this machine alone)")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
