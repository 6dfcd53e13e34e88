"""Everything the service refuses, as one tree; the entry points render it as `application/problem+json`.

UnsayError
├── 400  InvalidRequestError · InvalidScopeError · InvalidTimeError · InvalidLimitError
│        InvalidCursorError · ReservedKeyError
├── 401  UnauthenticatedError
├── 403  ForbiddenError
├── 404  NotFoundError
├── 405  MethodNotAllowedError
├── 409  WrongStatusError · TombstonedError
├── 410  ForgottenError · AlreadyForgottenError
├── 412  VersionConflictError
├── 413  TooLargeError
├── 422  SecretRefusedError · IdempotencyMismatchError
├── 428  PreconditionRequiredError
├── 429  ThrottledError
└── 503  BusyError · UnavailableError

Details are sentences of ours. Memory text, scope names and secrets never go into one: an error is
logged, and answered to whoever asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "AlreadyForgottenError",
    "BusyError",
    "FieldError",
    "ForbiddenError",
    "ForgottenError",
    "IdempotencyMismatchError",
    "InvalidCursorError",
    "InvalidLimitError",
    "InvalidRequestError",
    "InvalidScopeError",
    "InvalidTimeError",
    "MethodNotAllowedError",
    "NotFoundError",
    "PreconditionRequiredError",
    "ReservedKeyError",
    "SecretRefusedError",
    "ThrottledError",
    "TombstonedError",
    "TooLargeError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnsayError",
    "VersionConflictError",
    "WrongStatusError",
]


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with one field: where (`items.3.content`, empty for the whole), and what."""

    path: str
    message: str

    def to_json(self) -> dict[str, str]:
        """The member of the problem's `errors` list."""
        return {"path": self.path, "message": self.message}


class UnsayError(Exception):
    """A refusal with its HTTP status, its stable code and the members of its problem document."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    title: ClassVar[str] = "Something went wrong"

    def __init__(
        self,
        detail: str = "",
        *,
        extra: Mapping[str, object] | None = None,
        retry_after: int | None = None,
    ) -> None:
        self.detail: str = detail or f"{self.title}."
        self.extra: Mapping[str, object] = MappingProxyType(dict(extra or {}))
        self.retry_after: int | None = retry_after
        super().__init__(self.detail)


class InvalidRequestError(UnsayError):
    """The request is not one we understand; `errors` says where."""

    status = 400
    code = "invalid_request"
    title = "The request is not valid"

    def __init__(self, detail: str = "", *, errors: tuple[FieldError, ...] = ()) -> None:
        self.errors: tuple[FieldError, ...] = errors
        extra = {"errors": [error.to_json() for error in errors]} if errors else None
        super().__init__(detail, extra=extra)

    @classmethod
    def at(cls, path: str, message: str) -> InvalidRequestError:
        """The error of a single field."""
        return cls(f"{path or 'The request'}: {message}.", errors=(FieldError(path, message),))


class InvalidScopeError(UnsayError):
    """What was given is not a scope; it is never repaired into one."""

    status = 400
    code = "invalid_scope"
    title = "The scope is not valid"


class InvalidTimeError(UnsayError):
    """Not RFC 3339 with an offset, or an interval that ends before it starts."""

    status = 400
    code = "invalid_time"
    title = "The time is not valid"


class InvalidLimitError(UnsayError):
    """A page size outside the allowed range; it is never clamped."""

    status = 400
    code = "invalid_limit"
    title = "The limit is not valid"


class InvalidCursorError(UnsayError):
    """A cursor that was tampered with, or used with another scope or query."""

    status = 400
    code = "invalid_cursor"
    title = "The cursor is not valid here"


class ReservedKeyError(UnsayError):
    """A metadata key that belongs to the service."""

    status = 400
    code = "reserved_key"
    title = "The metadata key is reserved"


class UnauthenticatedError(UnsayError):
    """Nobody we know."""

    status = 401
    code = "unauthenticated"
    title = "Authentication is required"


class ForbiddenError(UnsayError):
    """The caller's grants do not reach; the same bytes whether the scope exists or not."""

    status = 403
    code = "forbidden"
    title = "Not allowed"


class NotFoundError(UnsayError):
    """No such thing in the named scope."""

    status = 404
    code = "not_found"
    title = "Not found"


class MethodNotAllowedError(UnsayError):
    """The route exists, but not with this method."""

    status = 405
    code = "method_not_allowed"
    title = "Method not allowed"


class WrongStatusError(UnsayError):
    """The memory's status does not allow this change."""

    status = 409
    code = "wrong_status"
    title = "The memory's status does not allow this"


class TombstonedError(UnsayError):
    """The value was forgotten or refused before; says when and why, never which text."""

    status = 409
    code = "tombstoned"
    title = "This value was taken back"

    def __init__(self, *, tombstoned_at: str, reason: str) -> None:
        super().__init__(extra={"tombstoned_at": tombstoned_at, "reason": reason})


class ForgottenError(UnsayError):
    """What the request would answer with has been erased since."""

    status = 410
    code = "forgotten"
    title = "The memory was forgotten"


class AlreadyForgottenError(UnsayError):
    """A second forget of the same id: told so, with the first one's erasure."""

    status = 410
    code = "already_forgotten"
    title = "The memory was already forgotten"

    def __init__(self, *, erasure_id: str) -> None:
        super().__init__(extra={"erasure_id": erasure_id})


class VersionConflictError(UnsayError):
    """The memory has moved on since the version in `If-Match`."""

    status = 412
    code = "version_conflict"
    title = "The memory has another version"

    def __init__(self, *, current_version: int) -> None:
        super().__init__(extra={"current_version": current_version})


class TooLargeError(UnsayError):
    """A part of the request is over its limit."""

    status = 413
    code = "too_large"
    title = "Too large"


class SecretRefusedError(UnsayError):
    """The text holds a credential; the kind is named, the text is not."""

    status = 422
    code = "secret_refused"
    title = "The text holds a credential"


class IdempotencyMismatchError(UnsayError):
    """The idempotency key was used before, with another body."""

    status = 422
    code = "idempotency_mismatch"
    title = "The idempotency key was used with another body"


class PreconditionRequiredError(UnsayError):
    """`If-Match` is missing."""

    status = 428
    code = "precondition_required"
    title = "If-Match is required"


class _TryAgainError(UnsayError):
    """Not the caller's fault; `Retry-After` says when to come back, in seconds."""

    def __init__(self, detail: str = "", *, retry_after: int = 1) -> None:
        super().__init__(detail, retry_after=retry_after)


class ThrottledError(_TryAgainError):
    """Too many requests."""

    status = 429
    code = "throttled"
    title = "Too many requests"


class BusyError(_TryAgainError):
    """Others change the same scope; the deadline passed before our turn came."""

    status = 503
    code = "busy"
    title = "The scope is busy"


class UnavailableError(_TryAgainError):
    """Something the answer needs is down."""

    status = 503
    code = "unavailable"
    title = "Temporarily unavailable"
