"""unsay: memory for agents that can be taken back.

>>> import unsay
>>> memory = unsay.connect("https://….execute-api.eu-central-1.amazonaws.com", token="unsay_…")
>>> home = memory.remember("Alice lives in Lisbon.", scope="acme/users/alice")
>>> memory.recall("Where does she live?", scope="acme/users/alice").items[0].memory.content
'Alice lives in Lisbon.'
>>> home = memory.correct(home, "Alice lives in Porto.", because="changed")
>>> memory.forget(home, reason="user_request").state
'pending'

The errors are drawn as a tree in `unsay.errors`.
"""

from unsay.client import KEEP, Memory, connect
from unsay.errors import (
    AlreadyForgottenError,
    BusyError,
    ForbiddenError,
    ForgottenError,
    IdempotencyMismatchError,
    InternalError,
    InvalidCursorError,
    InvalidLimitError,
    InvalidRequestError,
    InvalidScopeError,
    InvalidTimeError,
    MethodNotAllowedError,
    NotFoundError,
    PreconditionRequiredError,
    ProblemError,
    ReservedKeyError,
    SecretRefusedError,
    ThrottledError,
    TombstonedError,
    TooLargeError,
    TryAgainError,
    UnauthenticatedError,
    UnavailableError,
    UnexpectedAnswerError,
    UnreachableError,
    UnsayError,
    VersionConflictError,
    WrongStatusError,
)
from unsay_core.contracts.schemas import (
    ErasureOut,
    KeyOut,
    ListOut,
    MemoryOut,
    RecalledOut,
    RecallOut,
    VerifyOut,
)
from unsay_core.domain.memory import Because, Kind, Reason, Status, Trust

__all__ = [
    "KEEP",
    "AlreadyForgottenError",
    "Because",
    "BusyError",
    "ErasureOut",
    "ForbiddenError",
    "ForgottenError",
    "IdempotencyMismatchError",
    "InternalError",
    "InvalidCursorError",
    "InvalidLimitError",
    "InvalidRequestError",
    "InvalidScopeError",
    "InvalidTimeError",
    "KeyOut",
    "Kind",
    "ListOut",
    "Memory",
    "MemoryOut",
    "MethodNotAllowedError",
    "NotFoundError",
    "PreconditionRequiredError",
    "ProblemError",
    "Reason",
    "RecallOut",
    "RecalledOut",
    "ReservedKeyError",
    "SecretRefusedError",
    "Status",
    "ThrottledError",
    "TombstonedError",
    "TooLargeError",
    "Trust",
    "TryAgainError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnexpectedAnswerError",
    "UnreachableError",
    "UnsayError",
    "VerifyOut",
    "VersionConflictError",
    "WrongStatusError",
    "connect",
]
