"""The whole application on fakes, through the real router and endpoints."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "api")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "true")

from tests.support.fakes import FakeService
from tests.support.http import Caller


@pytest.fixture
def service() -> FakeService:
    """A service that holds nothing yet."""
    return FakeService()


@pytest.fixture
def api(service: FakeService) -> Caller:
    """An admin at its API."""
    return Caller(service)
