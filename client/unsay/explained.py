"""What went wrong, for a model to read: one sentence, without memory text, addresses or codes."""

from __future__ import annotations

from unsay.errors import (
    AlreadyForgottenError,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    ProblemError,
    SecretRefusedError,
    TombstonedError,
    TooLargeError,
    TryAgainError,
    UnauthenticatedError,
    UnreachableError,
    VersionConflictError,
    WrongStatusError,
)

LATE = "The memory service did not answer in time. Go on without it, or try again later."

_SENTENCES: dict[type[Exception], str] = {
    TombstonedError: "This was taken back before, and is not stored again.",
    SecretRefusedError: "This holds a credential. Nothing of it was stored.",
    AlreadyForgottenError: "It is forgotten already.",
    NotFoundError: "There is no such memory.",
    VersionConflictError: "It has changed meanwhile. Look at it again first.",
    WrongStatusError: "It is not in force any more, so it cannot be changed.",
    ForbiddenError: "This is not allowed here.",
    UnauthenticatedError: "This is not allowed here.",
    UnreachableError: LATE,
    TryAgainError: LATE,
    TimeoutError: LATE,
}


def explained(error: Exception) -> str:
    """The sentence for an error of the client, or for the end of a deadline."""
    for kind, sentence in _SENTENCES.items():
        if isinstance(error, kind):
            return sentence
    if isinstance(error, InvalidRequestError | TooLargeError):
        return error.explanation
    return error.title if isinstance(error, ProblemError) else "The memory service failed."
