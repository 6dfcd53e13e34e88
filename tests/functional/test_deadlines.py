"""A store that is late or down costs an answer no more than what that store alone could have said."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.functional.test_recall import index_all
from tests.support.fakes import FakeService
from tests.support.http import Caller
from unsay_core.application.breaker import FAILURES, PAUSE
from unsay_core.application.ledger import Area
from unsay_core.application.ports import SearchError
from unsay_core.domain.errors import ForbiddenError, UnavailableError
from unsay_core.metrics import DEGRADED_RECALLS

LISBON, SOON = "Alice lives in Lisbon.", 200  # milliseconds
FOR_EVER = 20  # seconds, for a test


@pytest.fixture
def hang() -> Iterator[Callable[..., Any]]:
    """A call that does not come back while the test runs."""
    ended = threading.Event()
    yield lambda *_, **__: ended.wait(FOR_EVER) and None
    ended.set()


def down(*_: Any, **__: Any) -> Any:
    raise UnavailableError("this store is down")


def ledger_of(service: FakeService, scope: str = "acme/alice") -> Any:
    return service.ledgers[service.keyring.scope_id(scope)]


def contents(answer: Any) -> list[str]:
    return [item["memory"]["content"] for item in answer["items"]]


def test_a_knowledge_base_that_hangs(api: Caller, service: FakeService, hang: Any) -> None:
    api.remember(LISBON)
    index_all(service)
    service.knowledge_base.before_search = hang
    answer = api.recall("Lisbon", deadline_ms=SOON)
    assert (contents(answer), answer["reasons"]) == ([LISBON], ["knowledge_base_timeout"])
    assert answer["degraded"]


@pytest.mark.parametrize(("fault", "reason"), [("hang", "ledger_timeout"), ("down", "ledger_unavailable")])
def test_pending_work_that_cannot_be_read(
    api: Caller, service: FakeService, hang: Any, fault: str, reason: str
) -> None:
    api.remember(LISBON)
    index_all(service)
    ledger, failing = ledger_of(service), hang if fault == "hang" else down
    page = ledger.page
    ledger.page = lambda area, **how: failing() if area is Area.PENDING else page(area, **how)
    answer = api.recall("Lisbon", deadline_ms=SOON)
    assert (contents(answer), answer["degraded"], answer["reasons"]) == ([LISBON], True, [reason])


@pytest.mark.parametrize(("fault", "reason"), [("hang", "ledger_timeout"), ("down", "ledger_unavailable")])
def test_a_ledger_that_cannot_be_read_is_no_empty_answer(
    api: Caller, service: FakeService, hang: Any, fault: str, reason: str
) -> None:
    api.remember(LISBON)
    index_all(service)
    ledger_of(service).read = hang if fault == "hang" else down
    answer = api.recall("Lisbon", deadline_ms=SOON)
    assert (answer.status, answer.code, answer["reasons"]) == (503, "unavailable", [reason])
    assert answer.headers["Retry-After"]


@pytest.mark.parametrize(
    ("fault", "reason"), [("hang", "credentials_timeout"), ("down", "credentials_unavailable")]
)
def test_a_scope_that_cannot_be_opened(
    api: Caller, service: FakeService, hang: Any, fault: str, reason: str
) -> None:
    api.remember(LISBON)
    service.open_scope = hang if fault == "hang" else down  # type: ignore[method-assign]
    answer = api.recall("Lisbon", deadline_ms=SOON)
    assert (answer.status, answer.code, answer["reasons"]) == (503, "unavailable", [reason])


@pytest.mark.parametrize(
    ("fault", "reason"), [("hang", "credentials_timeout"), ("down", "credentials_unavailable")]
)
def test_of_several_scopes_those_that_can_be_opened_answer(
    api: Caller, service: FakeService, hang: Any, fault: str, reason: str
) -> None:
    scopes = [f"acme/{name}" for name in "abcdefgh"]
    for scope in scopes:
        api.remember(f"Tea in {scope}.", scope)
    open_scope = service.open_scope

    def open_some(who: Any, scope: Any, *given: Any, **more: Any) -> Any:
        if scope.canonical in ("acme/a", "acme/h"):
            return hang() if fault == "hang" else down()
        return open_scope(who, scope, *given, **more)

    service.open_scope = open_some  # type: ignore[method-assign]
    answer = api.recall("tea", scopes, limit=50, deadline_ms=SOON)
    assert sorted(contents(answer)) == [f"Tea in acme/{name}." for name in "bcdefg"]
    assert (answer["degraded"], answer["reasons"]) == (True, [reason])


def test_of_several_scopes_those_whose_ledger_answers_are_read(
    api: Caller, service: FakeService, hang: Any
) -> None:
    for scope in ("acme/a", "acme/b"):
        api.remember(f"Tea in {scope}.", scope)
    ledger_of(service, "acme/a").read = hang
    answer = api.recall("tea", ["acme/a", "acme/b"], deadline_ms=SOON)
    assert (contents(answer), answer["reasons"]) == (["Tea in acme/b."], ["ledger_timeout"])


def test_a_scope_that_may_not_be_opened_is_no_store_that_is_down(api: Caller, service: FakeService) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise ForbiddenError

    service.open_scope = refuse  # type: ignore[method-assign]
    assert api.recall("tea", ["acme/a", "acme/b"]).code == "forbidden"


def test_what_hangs_while_a_filter_looks_further_costs_the_rest_alone(
    api: Caller, service: FakeService, hang: Any
) -> None:
    api.remember("Red tea.", metadata={"team": "red"})
    for number in range(150):
        api.remember(f"Green tea {number}.")
    young = api.remember("Red tea too.", metadata={"team": "red"})
    index_all(service)
    ledger = ledger_of(service)
    page = ledger.page
    ledger.page = lambda area, **how: hang() if how["limit"] > 200 else page(area, **how)
    wanted = {"eq": ["metadata.team", "red"]}
    answer = api.recall("", filter=wanted, deadline_ms=SOON)
    assert [item["memory"]["id"] for item in answer["items"]] == [young["id"]]
    assert (answer["degraded"], answer["reasons"]) == (True, ["filter_incomplete"])


def test_a_knowledge_base_that_keeps_failing_is_left_alone_and_probed(
    api: Caller, service: FakeService
) -> None:
    api.remember(LISBON)
    index_all(service)
    asked: list[None] = []
    service.knowledge_base.before_search = lambda: asked.append(None)
    service.knowledge_base.failing = SearchError("knowledge_base_throttled")
    for _ in range(FAILURES):
        assert api.recall("Lisbon")["reasons"] == ["knowledge_base_throttled"]
    answer = api.recall("Lisbon")
    assert (contents(answer), answer["reasons"]) == ([LISBON], ["knowledge_base_unavailable"])
    assert len(asked) == FAILURES
    service.clock.pass_(seconds=PAUSE)
    service.knowledge_base.failing = None
    assert api.recall("Lisbon")["reasons"] == []
    assert len(asked) == FAILURES + 1


def test_each_reason_is_counted(api: Caller, service: FakeService) -> None:
    api.remember(LISBON)
    index_all(service)
    api.recall("Lisbon")
    service.knowledge_base.failing = SearchError("knowledge_base_throttled")
    api.recall("Lisbon")
    ledger_of(service).read = down
    api.recall("Lisbon")
    told = [each for each in service.signals.told if each.metric is DEGRADED_RECALLS]
    assert [each.dimensions["reason"] for each in told] == [
        "knowledge_base_throttled",
        "knowledge_base_throttled",
        "ledger_unavailable",
    ]
