"""No input gives a fault of ours: every call of the OpenAPI document, with what fits it and what does not."""

from __future__ import annotations

import os

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "api")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "true")

from tests.support.fakes import FakeService
from tests.support.http import Caller, transport_to
from unsay_core.contracts.openapi import document

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]

schema = schemathesis.openapi.from_dict(document())


@pytest.fixture(scope="module")
def fuzzed() -> Caller:
    """An admin at a service that holds something of most kinds."""
    caller = Caller(FakeService())
    for scope in ("a", "0"):
        caller.remember("Alice lives in Lisbon.", scope)
    return caller


@schema.parametrize()
@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_input_gives_a_fault_and_every_answer_is_one_of_the_document(
    case: schemathesis.Case, fuzzed: Caller
) -> None:
    case.validate_response(_sent(case, fuzzed), checks=CHECKS)


def test_a_fault_and_an_answer_that_is_not_in_the_document_are_noticed(fuzzed: Caller) -> None:
    case = schema["/v1/memories"]["GET"].Case(query={"scope": "a"})
    good = _sent(case, fuzzed)
    case.validate_response(good, checks=CHECKS)
    service = FakeService()
    service.open_scope = None  # type: ignore[assignment, method-assign]
    with pytest.raises(FailureGroup):
        case.validate_response(_sent(case, Caller(service)), checks=CHECKS)
    body = {**good.json(), "items": [{}]}
    bent = httpx.Response(200, json=body, request=good.request)
    bent.elapsed = good.elapsed
    with pytest.raises(FailureGroup):
        case.validate_response(bent, checks=CHECKS)


def _sent(case: schemathesis.Case, caller: Caller) -> httpx.Response:
    given = case.as_transport_kwargs(base_url="http://unsay.example")
    wire = {name: given.get(name) for name in ("params", "json")}
    # As a socket would carry them: httpx refuses a text that is not ASCII.
    wire["headers"] = {name: value.encode("latin-1", "replace") for name, value in given["headers"].items()}
    with httpx.Client(transport=transport_to(caller)) as client:
        return client.request(given["method"], given["url"], content=given.get("data"), **wire)
