"""Questions on their way: how one is written, how an answer is judged, and when to ask again."""

from __future__ import annotations

import asyncio
import random
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from unsay.errors import ProblemError, TryAgainError, UnexpectedAnswerError, UnreachableError, problem
from unsay.tracing import headers, span
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
_HALVES = "surrogatepass"  # no UTF-8, as the service will say
_ANSWER_DEPTH = DEPTH + 8  # a memory's data stands a few levels deep in an answer


@dataclass(frozen=True, slots=True)
class Written:
    """A question as it is sent: its JSON without loss."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes | None


class Transport(ABC):
    """A way to a service; threads may share it."""

    def __init__(
        self,
        url: str,
        *,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.url = url
        self._sleep = sleep
        self._chance = chance

    def send(self, ask: Ask[A]) -> A:
        """The answer; fractions in it are `Decimal`, so that no digit is lost.

        Raises `ProblemError`, `UnreachableError`, `UnexpectedAnswerError`. A repeatable question is asked
        again after 429, 503 and a broken connection, when the service says or a little later each time.
        """
        with span(ask):
            written = _written(ask)
            for attempt in range(ATTEMPTS - 1 if ask.repeatable else 0):
                try:
                    return ask.read(self._once(written))
                except (TryAgainError, UnreachableError) as error:
                    self._sleep(_pause(error, attempt, self._chance))
            return ask.read(self._once(written))

    @abstractmethod
    def _once(self, written: Written) -> object:
        """The answer's JSON; raises what it was refused with."""

    @abstractmethod
    def sweep(self) -> None:
        """Do what is owed, where nobody else does it."""

    @abstractmethod
    def close(self) -> None:
        """Give back what is held."""


class AsyncTransport(ABC):
    """`Transport`, for an event loop."""

    def __init__(
        self,
        url: str,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.url = url
        self._sleep = sleep
        self._chance = chance

    async def send(self, ask: Ask[A]) -> A:
        """As `Transport.send`."""
        with span(ask):
            written = _written(ask)
            for attempt in range(ATTEMPTS - 1 if ask.repeatable else 0):
                try:
                    return ask.read(await self._once(written))
                except (TryAgainError, UnreachableError) as error:
                    await self._sleep(_pause(error, attempt, self._chance))
            return ask.read(await self._once(written))

    @abstractmethod
    async def _once(self, written: Written) -> object:
        """The answer's JSON; raises what it was refused with."""

    @abstractmethod
    async def sweep(self) -> None:
        """Do what is owed, where nobody else does it."""

    @abstractmethod
    async def close(self) -> None:
        """Give back what is held."""


def judged(status: int, retry_after: str | None, content: bytes | str) -> object:
    """The JSON of an answer; raises the error of a refusal."""
    is_success = 200 <= status < 300
    try:
        value = exact_json.loads(content, max_depth=_ANSWER_DEPTH)
    except InvalidRequestError:
        value = None
        if is_success:
            raise UnexpectedAnswerError(f"{status}, but not with JSON: is this the service's URL?") from None
    if is_success:
        return value
    raise _refusal(status, value, retry_after or "")


def _refusal(status: int, document: object, retry_after: str) -> ProblemError:
    # In seconds; the header's other form, a date, nothing on the way to the service uses.
    seconds = float(retry_after) if retry_after.isascii() and retry_after.isdigit() else None
    return problem(status, document if isinstance(document, dict) else {}, seconds)


def _written(ask: Ask[A]) -> Written:
    return Written(
        method=ask.method,
        path="/v1/" + "/".join(quote(part, safe="", errors=_HALVES) for part in ask.path),
        query=urlencode(ask.query, quote_via=quote, safe="", errors=_HALVES),
        headers={"Content-Type": "application/json", **headers(), **ask.headers},
        body=None if ask.body is None else _json(ask.body),
    )


def _json(body: Mapping[str, Any]) -> bytes:
    """Half a surrogate pair goes as JSON's own escape: it is the service that refuses it, and says where."""
    try:
        return exact_json.dumps(body).encode(errors="backslashreplace")
    except RecursionError:
        detail = f"The body is nested more than {DEPTH} deep."
        raise problem(400, {"code": "invalid_request", "detail": detail}) from None
    except (TypeError, ValueError):
        errors = [{"path": name, "message": why} for name, value in body.items() if (why := _no_json(value))]
        detail = "What JSON cannot say was not sent."
        raise problem(400, {"code": "invalid_request", "detail": detail, "errors": errors}) from None


def _no_json(value: object) -> str | None:
    """Why a value is none of JSON's."""
    try:
        exact_json.dumps(value)
    except (TypeError, ValueError) as wrong:
        return str(wrong)
    return None


def _pause(error: TryAgainError | UnreachableError, attempt: int, chance: Callable[[], float]) -> float:
    """Seconds until it makes sense to ask again; raises the error where it does not."""
    # Half of it is left to chance, so that many callers do not come back together.
    seconds: float = _FIRST_WAIT_SECONDS * 2**attempt * (0.5 + chance() / 2)
    if isinstance(error, TryAgainError) and error.retry_after is not None:
        seconds = error.retry_after
    # Who waited for a whole time-out once does not want to wait for another.
    if (isinstance(error, UnreachableError) and error.timed_out) or seconds > LONGEST_WAIT_SECONDS:
        raise error
    return seconds
