"""The refusals: their codes, and that what they carry reaches the problem document."""

from __future__ import annotations

import pytest

from unsay_core.domain import errors
from unsay_core.domain.errors import InvalidRequestError, UnsayError

CODES = {
    "InvalidRequestError": (400, "invalid_request"),
    "InvalidScopeError": (400, "invalid_scope"),
    "InvalidTimeError": (400, "invalid_time"),
    "InvalidLimitError": (400, "invalid_limit"),
    "InvalidCursorError": (400, "invalid_cursor"),
    "ReservedKeyError": (400, "reserved_key"),
    "UnauthenticatedError": (401, "unauthenticated"),
    "ForbiddenError": (403, "forbidden"),
    "NotFoundError": (404, "not_found"),
    "MethodNotAllowedError": (405, "method_not_allowed"),
    "WrongStatusError": (409, "wrong_status"),
    "TombstonedError": (409, "tombstoned"),
    "SeqConflictError": (409, "seq_conflict"),
    "ForgottenError": (410, "forgotten"),
    "AlreadyForgottenError": (410, "already_forgotten"),
    "VersionConflictError": (412, "version_conflict"),
    "TooLargeError": (413, "too_large"),
    "SecretRefusedError": (422, "secret_refused"),
    "IdempotencyMismatchError": (422, "idempotency_mismatch"),
    "PreconditionRequiredError": (428, "precondition_required"),
    "ThrottledError": (429, "throttled"),
    "QuotaExceededError": (429, "quota_exceeded"),
    "BusyError": (503, "busy"),
    "UnavailableError": (503, "unavailable"),
}
ARGUMENTS = {
    "TombstonedError": {"tombstoned_at": "2026-01-01T00:00:00.000000Z", "reason": "incorrect"},
    "AlreadyForgottenError": {"erasure_id": "era_1"},
    "VersionConflictError": {"current_version": 3},
}


# What else an error is made with, and does not say in its document.
WAITS = {"ThrottledError": {"limit": 5}, "QuotaExceededError": {"quota": "bytes", "limit": 5, "used": 4}}


def make(name: str) -> UnsayError:
    waits = {"retry_after": 1, **WAITS[name]} if name in WAITS else {}
    return getattr(errors, name)(**ARGUMENTS.get(name, {}), **waits)


@pytest.mark.parametrize("name", CODES)
def test_every_error_has_the_status_and_code_of_the_contract(name: str) -> None:
    error = make(name)
    assert (error.status, error.code) == CODES[name]
    assert error.title
    assert str(error) == error.detail


def test_the_tree_in_the_docstring_names_every_error() -> None:
    kinds = {kind.__name__ for kind in UnsayError.__subclasses__() if kind.__module__ == errors.__name__}
    assert kinds == set(CODES)
    assert all(name in (errors.__doc__ or "") for name in kinds)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_what_an_error_was_made_with_becomes_a_member_of_the_problem(name: str) -> None:
    assert dict(make(name).extra) == ARGUMENTS[name]


def test_a_field_error_says_where_and_what_in_the_detail_and_in_the_list() -> None:
    error = InvalidRequestError.at("items.3.content", "only white space")
    assert error.detail == "items.3.content: only white space."
    assert dict(error.extra) == {"errors": [{"path": "items.3.content", "message": "only white space"}]}


@pytest.mark.parametrize("name", CODES)
def test_only_what_is_worth_trying_again_says_when(name: str) -> None:
    again = CODES[name][0] in {429, 503}
    assert make(name).retry_after == (1 if again else None)
