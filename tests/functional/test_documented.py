"""Each call documents what it answers, and can answer all that it documents."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller, operation_at, principal
from unsay_core.contracts.operations import OPERATIONS, Operation
from unsay_core.domain.errors import ThrottledError, UnavailableError

NO_IDS = {
    "mem": "mem_01jabcdefghjkmnpqrstvwxyz0",
    "era": "era_01jabcdefghjkmnpqrstvwxyz0",
    "": "a" * 52,
}
NAMED = {"headers": {"idempotency_key": "k"}}
SECRET = "AKIA" + "QYLPMN5HHHFPZAM2"


def last(*answers: Answer) -> Answer:
    return answers[-1]


def replayed_of_gone(api: Caller, request: Callable[[], Answer]) -> Answer:
    """A request that is sent again after what it made was forgotten."""
    api.forget(request()["id"])
    return request()


def grave(api: Caller, memory_id: str) -> str:
    """The tombstone of a memory's value."""
    if api.get(memory_id).status == 200:
        api.forget(memory_id)
    return next(each["id"] for each in api.tombstones()["items"] if each["kind"] == "value")


# What a memory leads to, by the rules of one call; the rest is provoked alike everywhere.
WAYS: dict[tuple[str, int], Callable[[Caller, str], Answer]] = {
    ("remember", 200): lambda api, m: api.remember(),
    ("remember", 201): lambda api, m: api.remember("New."),
    ("remember", 409): lambda api, m: last(api.retract(m), api.remember()),
    ("remember", 410): lambda api, m: last(
        api.forget(api.remember("New.", **NAMED)["id"]), api.remember("New.", **NAMED)
    ),
    ("remember", 422): lambda api, m: api.remember(SECRET),
    ("remember_batch", 200): lambda api, m: api.batch([{"content": "New."}]),
    ("correct", 201): lambda api, m: api.correct(m, "New."),
    ("correct", 409): lambda api, m: last(api.retract(m), api.correct(m, "New.", version=2)),
    ("correct", 410): lambda api, m: last(
        api.forget(api.correct(m, "New.", **NAMED)["id"]), api.correct(m, "New.", **NAMED)
    ),
    ("correct", 422): lambda api, m: api.correct(m, SECRET),
    ("forget", 202): lambda api, m: api.forget(m),
    ("forget", 410): lambda api, m: last(api.forget(m), api.forget(m)),
    ("edit", 200): lambda api, m: api.edit(m, tags=["t"]),
    ("edit", 409): lambda api, m: last(api.retract(m), api.edit(m, version=2, tags=["t"])),
    ("edit", 422): lambda api, m: api.edit(m, tags=[SECRET]),
    ("retract", 200): lambda api, m: api.retract(m),
    ("retract", 409): lambda api, m: last(api.retract(m), api.retract(m, version=2)),
    ("retract", 410): lambda api, m: replayed_of_gone(api, lambda: api.retract(m, **NAMED)),
    ("retract", 422): lambda api, m: api.retract(m, note=SECRET),
    ("dispute", 200): lambda api, m: api.dispute(m),
    ("dispute", 409): lambda api, m: last(api.retract(m), api.dispute(m, version=2)),
    ("dispute", 410): lambda api, m: replayed_of_gone(api, lambda: api.dispute(m, **NAMED)),
    ("dispute", 422): lambda api, m: api.dispute(m, note=SECRET),
    ("decide_review", 200): lambda api, m: api.decide(m),
    ("decide_review", 409): lambda api, m: last(api.decide(m), api.decide(m, version=2)),
    ("decide_review", 410): lambda api, m: last(
        api.decide(m, **NAMED), api.forget(m), api.decide(m, **NAMED)
    ),
    ("decide_review", 422): lambda api, m: api.decide(m, note=SECRET),
    ("lift_tombstone", 200): lambda api, m: api.lift(grave(api, m)),
    ("lift_tombstone", 409): lambda api, m: last(api.lift(grave(api, m)), api.lift(grave(api, m))),
    ("lift_tombstone", 422): lambda api, m: api.lift(grave(api, m), note=SECRET),
    ("list", 200): lambda api, m: api.list(),
    ("get", 200): lambda api, m: api.get(m),
    ("history", 200): lambda api, m: api.history(m),
    ("list_reviews", 200): lambda api, m: api.reviews(),
    ("list_tombstones", 200): lambda api, m: api.tombstones(),
    ("list_audit", 200): lambda api, m: api.audit(),
    ("statistics", 200): lambda api, m: api.statistics(),
    ("recall", 200): lambda api, m: api.recall(),
    ("erasure", 200): lambda api, m: api.receipt(api.forget(m)["id"]),
    ("verify_audit", 200): lambda api, m: api.verify(),
}

CALLS = [operation for operation in OPERATIONS if operation.name in {name for name, _ in WAYS}]


class Recorder(Caller):
    """Keeps the last request as it was sent."""

    sent: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})

    def send(self, *request: Any, **more: Any) -> Answer:
        self.sent = (request, more)
        return super().send(*request, **more)


def fresh() -> tuple[Recorder, str]:
    api = Recorder(FakeService())
    return api, api.remember()["id"]


@pytest.mark.parametrize("call", CALLS, ids=[call.name for call in CALLS])
def test_each_call_documents_exactly_what_it_can_answer(call: Operation) -> None:
    seen = set()
    sent: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
    for (name, status), way in WAYS.items():
        if name == call.name:
            api, memory_id = fresh()
            assert way(api, memory_id).status == status, (name, status)
            seen.add(status)
            sent = api.sent if status == call.status else sent
    assert call.status in seen
    for status in sorted({400, 401, 403, 404, 412, 413, 428, 429, 503} & set(call.statuses)):
        api, _ = fresh()
        assert bent(api, call, status, *sent).status == status
        seen.add(status)
    assert seen == set(call.statuses)


def bent(api: Caller, call: Operation, status: int, request: tuple[Any, ...], more: dict[str, Any]) -> Answer:
    """A good request, made such that it is answered with a status."""
    method, path, *body = request
    more = dict(more)
    if status == 400:
        more["query"] = f"{more.get('query', '')}&unknown=1"
    elif status == 401:
        api.expires_at = 1
    elif status == 403:
        api = api.as_(principal("elsewhere"))
    elif status == 404:
        path = re.sub(r"(?<=/)(mem|era)_\w+|(?<=/)\w{52}", lambda found: NO_IDS[found[1] or ""], path)
    elif status == 412:
        more["if_match"] = '"99"'
    elif status == 428:
        more.pop("if_match")
    elif status == 413:
        more["raw"] = f'{{"padding": "{"x" * 300_000}"}}'
    elif status == 503:
        api.service.open_scope = api.service.open_audit = unavailable  # type: ignore[method-assign]
    elif status == 429:
        api.service.open_scope = api.service.open_audit = throttled  # type: ignore[method-assign]
    return api.send(method, path, *body, **more)


def throttled(*_: Any, **__: Any) -> Any:
    raise ThrottledError(1, retry_after=1)


def unavailable(*_: Any, **__: Any) -> Any:
    raise UnavailableError


def test_most_calls_are_walked() -> None:
    assert len(CALLS) > 18


def test_an_answer_that_is_not_documented_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    api, memory_id = fresh()
    call = operation_at("GET", f"/v1/memories/{memory_id}")
    assert call is not None
    monkeypatch.setattr(Operation, "statuses", property(lambda _: (400,)))
    with pytest.raises(AssertionError, match="get does not document 200"):
        api.get(memory_id)
