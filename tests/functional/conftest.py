"""The whole application on fakes, through the real router and endpoints."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "api")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "true")
os.environ.setdefault("POWERTOOLS_METRICS_NAMESPACE", "unsay")

from tests.support.erasing import Eraser
from tests.support.fakes import FakeService
from tests.support.http import Caller
from unsay_core.jobs import erasure


@pytest.fixture
def service() -> FakeService:
    """A service that holds nothing yet."""
    return FakeService()


@pytest.fixture
def api(service: FakeService) -> Caller:
    """An admin at its API."""
    return Caller(service)


@pytest.fixture
def eraser(service: FakeService, api: Caller) -> Eraser:
    """What forgets, and runs the job behind it."""
    return Eraser(service, api)


@pytest.fixture(params=[False, True], ids=["few values", "many values"])
def most_buried(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same by the digests of a receipt, and by the tombstones."""
    if request.param:
        monkeypatch.setattr(erasure, "MOST_BURIED", 0)


@pytest.fixture
def all_read_first(service: FakeService) -> Callable[[str, int], None]:
    """Makes so many writers of a scope read before any of them writes: the worst of races, each time."""

    def arrange(scope: str, writers: int) -> None:
        ledger = service.ledgers[service.keyring.scope_id(scope)]
        barrier, calls, read = threading.Barrier(writers), itertools.count(), ledger.read

        def together(refs: Sequence[Any]) -> Any:
            found = read(refs)
            if next(calls) < writers:
                barrier.wait(60)
            return found

        ledger.read = together  # type: ignore[method-assign]

    return arrange
