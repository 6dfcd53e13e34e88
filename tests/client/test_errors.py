"""Every refusal becomes an exception of its own, with all the problem document says."""

import httpx
import pytest

import unsay
from tests.client.conftest import refusal
from unsay.errors import problem
from unsay_core.domain import errors as domain


def domain_errors(kind=domain.UnsayError):
    for child in kind.__subclasses__():
        if child.__module__ == domain.__name__:
            yield child
            yield from domain_errors(child)


KNOWN = {error.code: error for error in domain_errors() if "code" in vars(error)}


@pytest.mark.parametrize("code", sorted(KNOWN))
def test_every_code_of_the_service_has_an_exception_of_the_same_name(code):
    error = problem(KNOWN[code].status, {"code": code})
    assert type(error) is getattr(unsay, KNOWN[code].__name__)


def test_the_codes_above_are_all_there_are():
    assert len(KNOWN) == 24


def test_an_error_holds_what_the_document_says(service):
    fields = [{"path": "content", "message": "content is empty"}]
    memory = service.will(refusal(400, "invalid_request", errors=fields, hint="none"))
    with pytest.raises(unsay.InvalidRequestError) as caught:
        memory.remember("", scope="a")
    error = caught.value
    assert (error.status, error.code, error.title) == (400, "invalid_request", "A title")
    assert (error.detail, error.request_id) == ("A detail.", "r-1")
    assert [(e.path, e.message) for e in error.errors] == [("content", "content is empty")]
    assert dict(error.extra) == {"hint": "none"}
    assert str(error) == "400 invalid_request: A detail. (content: content is empty)"


def test_a_tombstoned_value_says_when_and_why():
    error = problem(
        409, {"code": "tombstoned", "tombstoned_at": "2026-05-01T09:30:00.5Z", "reason": "user_request"}
    )
    assert isinstance(error, unsay.TombstonedError)
    assert error.tombstoned_at.isoformat() == "2026-05-01T09:30:00.500000+00:00"
    assert error.reason == unsay.Reason.USER_REQUEST


def test_other_members_have_names_too():
    stale = problem(412, {"code": "version_conflict", "current_version": 7})
    gone = problem(410, {"code": "already_forgotten", "erasure_id": "era_1"})
    assert isinstance(stale, unsay.VersionConflictError)
    assert stale.current_version == 7
    assert isinstance(gone, unsay.AlreadyForgottenError)
    assert gone.erasure_id == "era_1"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, unsay.UnauthenticatedError),
        (403, unsay.ForbiddenError),
        (404, unsay.NotFoundError),
        (413, unsay.TooLargeError),
        (429, unsay.ThrottledError),
        (500, unsay.InternalError),
        (503, unsay.UnavailableError),
    ],
)
def test_the_gateways_own_refusals_are_understood(status, kind):
    error = problem(status, {"message": "Said by the gateway"})
    assert type(error) is kind
    assert error.detail == "Said by the gateway"
    assert error.request_id == ""


def test_a_new_code_is_a_problem_that_keeps_its_code(service):
    with pytest.raises(unsay.ProblemError) as caught:
        service.will(refusal(409, "not_yet_known")).forget("mem_1", scope="a", reason="test")
    assert type(caught.value) is unsay.ProblemError
    assert caught.value.code == "not_yet_known"


@pytest.mark.parametrize("body", [b"", b"<html>Bad Gateway</html>", b"\xff", b'"text"', b"[1]"])
def test_a_refusal_that_is_no_document_is_told_by_its_status(service, body):
    with pytest.raises(unsay.ProblemError) as caught:
        service.will(httpx.Response(502, content=body)).get("mem_1", scope="a")
    assert caught.value.status == 502
    assert str(caught.value) == "502 status_502: Bad Gateway"


@pytest.mark.parametrize("body", [b"<html>Welcome</html>", b"[]", b'{"id": "mem_1", "content": "hush"}'])
def test_a_success_of_another_service_is_an_error_without_its_text(service, body):
    with pytest.raises(unsay.UnexpectedAnswerError) as caught:
        service.will(httpx.Response(200, content=body)).get("mem_1", scope="a")
    assert "hush" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_quota_that_is_used_up_is_told_and_not_tried_again(service):
    memory = service.will(refusal(429, "quota_exceeded", quota="memories", limit=7, used=7))
    with pytest.raises(unsay.QuotaExceededError) as caught:
        memory.remember("x", scope="a")
    assert (caught.value.quota, caught.value.limit) == ("memories", 7)
    assert not isinstance(caught.value, unsay.TryAgainError)
    assert len(service.requests) == 1
