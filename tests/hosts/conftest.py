"""The whole service in this process, as each host's client meets it."""

import os

import pytest

os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "api")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "true")
os.environ.setdefault("POWERTOOLS_METRICS_NAMESPACE", "unsay")

import unsay
from tests.support.fakes import FakeService
from tests.support.http import Caller, transport_to

SCOPE = "acme/users/alice"


@pytest.fixture
def service():
    return FakeService()


@pytest.fixture
def caller(service):
    """An admin at its API."""
    return Caller(service)


@pytest.fixture
def memory(caller):
    with unsay.connect("https://x.example", token="t", transport=transport_to(caller)) as connected:
        yield connected
