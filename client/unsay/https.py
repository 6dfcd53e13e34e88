"""Questions over HTTPS: their JSON without loss, refusals as errors, repeated where that is safe."""

from __future__ import annotations

import asyncio
import ipaddress
import random
import time
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import httpx

from unsay.errors import ProblemError, TryAgainError, UnexpectedAnswerError, UnreachableError, problem
from unsay_core.contracts import exact_json
from unsay_core.contracts.base import DEPTH
from unsay_core.domain.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from unsay.asking import A, Ask

ATTEMPTS = 4
# A longer wait is the caller's to decide on: it gets the error, and `retry_after`.
LONGEST_WAIT_SECONDS = 10.0
_FIRST_WAIT_SECONDS = 0.25
_ANSWER_DEPTH = DEPTH + 8  # a memory's data stands a few levels deep in an answer


class _Service:
    """What both ways to call a service share: where it is, how a question is written, when to ask again."""

    def __init__(self, url: str, chance: Callable[[], float]) -> None:
        self.url = _base(url)
        self._chance = chance

    def _unreachable(self, error: httpx.RequestError) -> UnreachableError:
        timed_out = isinstance(error, httpx.TimeoutException)
        why = str(error) or type(error).__name__
        return UnreachableError(f"no answer from {self.url}: {why}", timed_out=timed_out)

    def _pause(self, error: TryAgainError | UnreachableError, attempt: int) -> float:
        """Seconds until it makes sense to ask again; raises the error where it does not."""
        # Half of it is left to chance, so that many callers do not come back together.
        seconds: float = _FIRST_WAIT_SECONDS * 2**attempt * (0.5 + self._chance() / 2)
        if isinstance(error, TryAgainError) and error.retry_after is not None:
            seconds = error.retry_after
        # Who waited for a whole time-out once does not want to wait for another.
        if (isinstance(error, UnreachableError) and error.timed_out) or seconds > LONGEST_WAIT_SECONDS:
            raise error
        return seconds


class Https(_Service):
    """The service at one URL, called with one key. Threads may share it.

    `transport` is the seam: `httpx.MockTransport`, a proxy, or one with certificates of one's own.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(url, chance)
        self._client = httpx.Client(
            base_url=self.url, headers=_headers(token), timeout=timeout, transport=transport
        )
        self._sleep = sleep

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def send(self, ask: Ask[A]) -> A:
        """The answer; fractions in it are `Decimal`, so that no digit is lost.

        Raises `ProblemError`, `UnreachableError`, `UnexpectedAnswerError`. A repeatable question is asked
        again after 429, 503 and a broken connection, when the service says or a little later each time.
        """
        request = _written(self._client, ask)
        for attempt in range(ATTEMPTS - 1 if ask.repeatable else 0):
            try:
                return ask.read(self._once(request))
            except (TryAgainError, UnreachableError) as error:
                self._sleep(self._pause(error, attempt))
        return ask.read(self._once(request))

    def _once(self, request: httpx.Request) -> object:
        try:
            return _judged(self._client.send(request))
        except httpx.RequestError as error:
            raise self._unreachable(error) from error


class AsyncHttps(_Service):
    """`Https` for an event loop."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(url, chance)
        self._client = httpx.AsyncClient(
            base_url=self.url, headers=_headers(token), timeout=timeout, transport=transport
        )
        self._sleep = sleep

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.aclose()

    async def send(self, ask: Ask[A]) -> A:
        """As `Https.send`."""
        request = _written(self._client, ask)
        for attempt in range(ATTEMPTS - 1 if ask.repeatable else 0):
            try:
                return ask.read(await self._once(request))
            except (TryAgainError, UnreachableError) as error:
                await self._sleep(self._pause(error, attempt))
        return ask.read(await self._once(request))

    async def _once(self, request: httpx.Request) -> object:
        try:
            return _judged(await self._client.send(request))
        except httpx.RequestError as error:
            raise self._unreachable(error) from error


def _headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Accept": "application/json"}


def _written(client: httpx.Client | httpx.AsyncClient, ask: Ask[A]) -> httpx.Request:
    return client.build_request(
        ask.method,
        "/v1/" + "/".join(quote(part, safe="") for part in ask.path) + _query_string(ask.query),
        content=None if ask.body is None else exact_json.dumps(ask.body).encode(),
        headers={"Content-Type": "application/json", **ask.headers},
    )


def _judged(answer: httpx.Response) -> object:
    if not answer.is_success:
        raise _refusal(answer)
    try:
        return exact_json.loads(answer.content, max_depth=_ANSWER_DEPTH)
    except InvalidRequestError:
        raise UnexpectedAnswerError(
            f"{answer.status_code}, but not with JSON: is this the service's URL?"
        ) from None


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


def _query_string(query: Mapping[str, str]) -> str:
    return "?" + urlencode(query, quote_via=quote, safe="") if query else ""


def _refusal(answer: httpx.Response) -> ProblemError:
    try:
        document = exact_json.loads(answer.content, max_depth=_ANSWER_DEPTH)
    except InvalidRequestError:
        document = None
    return problem(answer.status_code, document if isinstance(document, dict) else {}, _retry_after(answer))


def _retry_after(answer: httpx.Response) -> float | None:
    """Seconds; the header's other form, a date, nothing on the way to the service uses."""
    given = answer.headers.get("Retry-After", "")
    return float(given) if given.isascii() and given.isdigit() else None
