"""A service that holds nothing yet, and its admin."""

import pytest

from tests.support.fakes import FakeService
from tests.support.hosts import connected
from tests.support.http import Caller


@pytest.fixture
def service():
    return FakeService()


@pytest.fixture
def caller(service):
    """An admin at its API."""
    return Caller(service)


@pytest.fixture
def memory(caller):
    with connected(caller) as client:
        yield client
