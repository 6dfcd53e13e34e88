"""What can go wrong between a caller and the service, as one tree.

UnsayError
├── UnreachableError                 no answer: the network, or the time-out
├── UnexpectedAnswerError            an answer that is not this service's
├── StoreError                       a file that cannot be opened, or read, as a store of memories
├── ClosedError                      a call after `close()`
└── ProblemError                     the service, or its gateway, refused
    ├── 400  InvalidRequestError
    │        └── InvalidScopeError · InvalidTimeError · InvalidLimitError
    │            InvalidCursorError · ReservedKeyError
    ├── 401  UnauthenticatedError
    ├── 403  ForbiddenError
    ├── 404  NotFoundError
    ├── 405  MethodNotAllowedError
    ├── 409  WrongStatusError · TombstonedError · SeqConflictError
    ├── 410  ForgottenError
    │        └── AlreadyForgottenError
    ├── 412  VersionConflictError
    ├── 413  TooLargeError
    ├── 422  SecretRefusedError · IdempotencyMismatchError
    ├── 428  PreconditionRequiredError
    ├── 429  QuotaExceededError
    ├── 500  InternalError
    └── TryAgainError                what it needs is time
        ├── 429  ThrottledError
        └── 503  BusyError · UnavailableError

A code that this version does not know makes a plain `ProblemError`: its `code` still tells.
"""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from unsay_core.contracts.schemas import FieldProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

_DOCUMENTED = frozenset("type title status detail message code request_id errors".split())
# What the gateway refuses itself it says in a body `{"message": …}`, without a code.
_GATEWAY_CODES = {
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    413: "too_large",
    429: "throttled",
    500: "internal",
    503: "unavailable",
}


class UnsayError(Exception):
    """The root of everything this client raises about a call."""


class UnreachableError(UnsayError):
    """No answer came. A write may or may not have happened: repeat it with the same idempotency key."""

    def __init__(self, message: str, *, timed_out: bool) -> None:
        self.timed_out = timed_out
        super().__init__(message)


class UnexpectedAnswerError(UnsayError):
    """A success that cannot be read: most likely the URL is another service's."""


class StoreError(UnsayError):
    """A file that is no store: a link, another program's, a newer release's, a damaged one, out of reach."""


class ClosedError(UnsayError):
    """A call after `close()`, or after the `with` statement: nothing was sent."""

    def __init__(self) -> None:
        super().__init__("this memory is closed: open it again with connect")


class ProblemError(UnsayError):
    """A refusal, with every member of its problem document (RFC 9457).

    `status` and `code` say what was refused, `detail` why, `errors` in which fields; `extra` holds what
    else the document says. `retry_after` is in seconds.
    """

    _by_code: ClassVar[dict[str, type[ProblemError]]] = {}

    def __init_subclass__(cls, code: str | None = None) -> None:
        if code:
            ProblemError._by_code[code] = cls

    def __init__(self, status: int, document: Mapping[str, Any], *, retry_after: float | None = None) -> None:
        self.status = status
        self.code = _code(status, document)
        self.title = str(document.get("title") or _phrase(status))
        self.detail = str(document.get("detail") or document.get("message") or self.title)
        self.request_id = str(document.get("request_id") or "")
        self.errors = _field_problems(document.get("errors"))
        self.extra = MappingProxyType({k: v for k, v in document.items() if k not in _DOCUMENTED})
        self.retry_after = retry_after
        super().__init__(f"{status} {self.code}: {self.explanation}")

    @property
    def explanation(self) -> str:
        """Why, and in which fields."""
        told = [error for error in self.errors if error.message not in self.detail]
        fields = "; ".join(f"{error.path}: {error.message}" for error in told)
        return self.detail + (f" ({fields})" if fields else "")


class InvalidRequestError(ProblemError, code="invalid_request"):
    """The request is not one the service understands; `errors` says where. What is no JSON was not sent."""


class InvalidScopeError(InvalidRequestError, code="invalid_scope"):
    """What was given is not a scope."""


class InvalidTimeError(InvalidRequestError, code="invalid_time"):
    """A time without an offset, or an interval that ends before it starts."""


class InvalidLimitError(InvalidRequestError, code="invalid_limit"):
    """A page size outside the allowed range."""


class InvalidCursorError(InvalidRequestError, code="invalid_cursor"):
    """A cursor of another listing, or one that was tampered with."""


class ReservedKeyError(InvalidRequestError, code="reserved_key"):
    """A metadata key that the service keeps for itself."""


class UnauthenticatedError(ProblemError, code="unauthenticated"):
    """No key was sent, or none that the service knows the shape of."""


class ForbiddenError(ProblemError, code="forbidden"):
    """The key is unknown, revoked, or its grants do not reach; which one is not told."""


class NotFoundError(ProblemError, code="not_found"):
    """No such thing in the named scope."""


class MethodNotAllowedError(ProblemError, code="method_not_allowed"):
    """The call exists, but not with this method."""


class WrongStatusError(ProblemError, code="wrong_status"):
    """The memory's status does not allow this change."""


class TombstonedError(ProblemError, code="tombstoned"):
    """The value was forgotten or refused before, and may not come back."""

    @property
    def tombstoned_at(self) -> datetime:
        """When it was taken back."""
        return datetime.fromisoformat(self.extra["tombstoned_at"])

    @property
    def reason(self) -> str:
        """Why it was taken back: one of `unsay.Reason`."""
        return str(self.extra["reason"])


class SeqConflictError(ProblemError, code="seq_conflict"):
    """A message was sent again under its number with other words; nothing of the request was stored."""


class ForgottenError(ProblemError, code="forgotten"):
    """What the request would answer with has been erased since."""


class AlreadyForgottenError(ForgottenError, code="already_forgotten"):
    """A second forget of the same id."""

    @property
    def erasure_id(self) -> str:
        """The first one's receipt."""
        return str(self.extra["erasure_id"])


class VersionConflictError(ProblemError, code="version_conflict"):
    """The memory has moved on since the version that was named."""

    @property
    def current_version(self) -> int:
        """The version it has now."""
        return int(self.extra["current_version"])


class TooLargeError(ProblemError, code="too_large"):
    """A part of the request is over its limit."""


class SecretRefusedError(ProblemError, code="secret_refused"):
    """The text holds a credential; nothing of it was stored."""


class IdempotencyMismatchError(ProblemError, code="idempotency_mismatch"):
    """The idempotency key was used before, with another body."""


class PreconditionRequiredError(ProblemError, code="precondition_required"):
    """The version the change is meant for was not named."""


class QuotaExceededError(ProblemError, code="quota_exceeded"):
    """The scope holds as much as its root's policy grants it; nothing of the request was stored.

    It is not tried again: room comes from forgetting, or on the next day, as `retry_after` says.
    """

    @property
    def quota(self) -> str:
        """Which one: `memories`, `bytes` or `messages`."""
        return str(self.extra["quota"])

    @property
    def limit(self) -> int:
        """How much the scope may have."""
        return int(self.extra["limit"])


class InternalError(ProblemError, code="internal"):
    """A fault of the service; `request_id` finds it in the log."""


class TryAgainError(ProblemError):
    """Not the caller's fault, and it will pass; `retry_after` says when, if the service knows."""


class ThrottledError(TryAgainError, code="throttled"):
    """Too many requests: of this caller in a minute, or of all callers at the gateway."""


class BusyError(TryAgainError, code="busy"):
    """Others change the same scope."""


class UnavailableError(TryAgainError, code="unavailable"):
    """Something the answer needs is down."""


def problem(status: int, document: Mapping[str, Any], retry_after: float | None = None) -> ProblemError:
    """The error of a refusal, of the class its code names."""
    kind = ProblemError._by_code.get(_code(status, document), ProblemError)
    return kind(status, document, retry_after=retry_after)


def _code(status: int, document: Mapping[str, Any]) -> str:
    return str(document.get("code") or _GATEWAY_CODES.get(status) or f"status_{status}")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"Status {status}"


def _field_problems(errors: object) -> tuple[FieldProblem, ...]:
    if not isinstance(errors, list):
        return ()
    return tuple(
        FieldProblem(path=str(error.get("path", "")), message=str(error.get("message", "")))
        for error in errors
        if isinstance(error, dict)
    )
