"""Everything the service refuses, as one tree; the entry points render it as `application/problem+json`.

UnsayError
├── 400  InvalidRequestError · InvalidScopeError · InvalidTimeError · InvalidLimitError
│        InvalidCursorError · ReservedKeyError
├── 401  UnauthenticatedError
├── 403  ForbiddenError
├── 404  NotFoundError
├── 405  MethodNotAllowedError
├── 409  WrongStatusError · TombstonedError · SeqConflictError
├── 410  ForgottenError · AlreadyForgottenError
├── 412  VersionConflictError
├── 413  TooLargeError
├── 422  SecretRefusedError · IdempotencyMismatchError
├── 428  PreconditionRequiredError
├── 429  ThrottledError · QuotaExceededError
└── 503  BusyError · UnavailableError

Details are sentences of ours. Memory text, scope names and secrets never go into one: an error is
logged, and answered to whoever asked.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with one field: where (`items.3.content`, empty for the whole), and what."""

    path: str
    message: str

    def to_json(self) -> dict[str, str]:
        """The member of the problem's `errors` list."""
        return {"path": self.path, "message": self.message}


class UnsayError(Exception):
    """A refusal with its HTTP status, its stable code and the members of its problem document.

    `errors` say which fields of the request are at fault; `retry_after` says when to come back, in seconds,
    where the caller is not.
    """

    status: ClassVar[int]
    code: ClassVar[str]
    title: ClassVar[str]
    retry_after: int | None

    def __init_subclass__(cls, *, status: int, code: str, title: str, retry_after: int | None = None) -> None:
        cls.status, cls.code, cls.title, cls.retry_after = status, code, title, retry_after

    def __init__(
        self,
        detail: str = "",
        *,
        errors: tuple[FieldError, ...] = (),
        retry_after: int | None = None,
        **extra: object,
    ) -> None:
        self.detail: str = detail or f"{self.title}."
        self.retry_after = retry_after or self.retry_after
        self.errors = errors
        located = {"errors": [error.to_json() for error in errors]} if errors else {}
        self.extra: Mapping[str, object] = MappingProxyType({**extra, **located})
        super().__init__(self.detail)


class InvalidRequestError(UnsayError, status=400, code="invalid_request", title="The request is not valid"):
    """The request is not one we understand; `errors` says where."""

    @classmethod
    def at(cls, path: str, message: str) -> InvalidRequestError:
        """The error of a single field."""
        return cls(f"{path or 'The request'}: {message}.", errors=(FieldError(path, message),))


class InvalidScopeError(UnsayError, status=400, code="invalid_scope", title="The scope is not valid"):
    """What was given is not a scope; it is never repaired into one."""


class InvalidTimeError(UnsayError, status=400, code="invalid_time", title="The time is not valid"):
    """Not RFC 3339 with an offset, or an interval that ends before it starts."""


class InvalidLimitError(UnsayError, status=400, code="invalid_limit", title="The limit is not valid"):
    """A page size outside the allowed range; it is never clamped."""


class InvalidCursorError(UnsayError, status=400, code="invalid_cursor", title="The cursor is not valid here"):
    """A cursor that was tampered with, or used with another scope or query."""


class ReservedKeyError(UnsayError, status=400, code="reserved_key", title="The metadata key is reserved"):
    """A metadata key that belongs to the service."""


class UnauthenticatedError(
    UnsayError, status=401, code="unauthenticated", title="Authentication is required"
):
    """Nobody we know."""


class ForbiddenError(UnsayError, status=403, code="forbidden", title="Not allowed"):
    """The caller's grants do not reach; the same bytes whether the scope exists or not."""


class NotFoundError(UnsayError, status=404, code="not_found", title="Not found"):
    """No such thing in the named scope."""


class MethodNotAllowedError(UnsayError, status=405, code="method_not_allowed", title="Method not allowed"):
    """The route exists, but not with this method."""


class WrongStatusError(
    UnsayError, status=409, code="wrong_status", title="The memory's status does not allow this"
):
    """The memory's status does not allow this change."""


class TombstonedError(UnsayError, status=409, code="tombstoned", title="This value was taken back"):
    """The value was forgotten or refused before; says when and why, never which text."""

    def __init__(self, *, tombstoned_at: str, reason: str) -> None:
        super().__init__(tombstoned_at=tombstoned_at, reason=reason)


class SeqConflictError(UnsayError, status=409, code="seq_conflict", title="Another message has this number"):
    """A message of a run was sent again with other words; nothing of the request was stored."""


class ForgottenError(UnsayError, status=410, code="forgotten", title="The memory was forgotten"):
    """What the request would answer with has been erased since."""


class AlreadyForgottenError(
    UnsayError, status=410, code="already_forgotten", title="The memory was already forgotten"
):
    """A second forget of the same id: told so, with the first one's erasure."""

    def __init__(self, *, erasure_id: str) -> None:
        super().__init__(erasure_id=erasure_id)


class VersionConflictError(
    UnsayError, status=412, code="version_conflict", title="The memory has another version"
):
    """The memory has moved on since the version in `If-Match`."""

    def __init__(self, *, current_version: int) -> None:
        super().__init__(current_version=current_version)


class TooLargeError(UnsayError, status=413, code="too_large", title="Too large"):
    """A part of the request is over its limit."""


class SecretRefusedError(UnsayError, status=422, code="secret_refused", title="The text holds a credential"):
    """The text holds a credential; the kind is named, the text is not."""


class IdempotencyMismatchError(
    UnsayError,
    status=422,
    code="idempotency_mismatch",
    title="The idempotency key was used with another body",
):
    """The idempotency key was used before, with another body."""


class PreconditionRequiredError(
    UnsayError, status=428, code="precondition_required", title="If-Match is required"
):
    """`If-Match` is missing."""


class ThrottledError(UnsayError, status=429, code="throttled", title="Too many requests"):
    """The caller asked more in a minute than its root's policy grants."""

    quota = "requests"

    def __init__(self, limit: int, *, retry_after: int) -> None:
        self.limit = limit
        super().__init__(f"more than {limit} requests in a minute", retry_after=retry_after)


class QuotaExceededError(UnsayError, status=429, code="quota_exceeded", title="The quota is used up"):
    """The scope holds as much as its root's policy grants it; nothing of the request was stored."""

    def __init__(self, quota: str, limit: int, used: int, *, retry_after: int) -> None:
        detail = f"this scope has {used} of the {limit} {quota} that it may have"
        self.quota, self.limit = quota, limit
        super().__init__(detail, retry_after=retry_after, quota=quota, limit=limit, used=used)


class BusyError(UnsayError, status=503, code="busy", title="The scope is busy", retry_after=1):
    """Others change the same scope; the deadline passed before our turn came."""


class UnavailableError(
    UnsayError, status=503, code="unavailable", title="Temporarily unavailable", retry_after=1
):
    """Something the answer needs is down."""
