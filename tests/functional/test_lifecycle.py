"""Every move of the table through the API, and every other refused; each status and trust is reachable."""

from __future__ import annotations

from itertools import product

import pytest

from tests.support.candidates import candidate, infer
from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller
from unsay_core.domain.lifecycle import TRANSITIONS, Act
from unsay_core.domain.memory import Status, Trust

WORDS, OTHER = "Alice lives in Lisbon.", "Alice lives in Porto."


def with_status(status: Status, api: Caller, service: FakeService) -> Answer:
    """A memory of that status."""
    if status in (Status.CANDIDATE, Status.REJECTED):
        memory_id = candidate(service, WORDS, "suspicious").id
    else:
        memory_id = api.remember(WORDS, ttl_seconds=60 if status is Status.EXPIRED else None)["id"]
    if status is Status.REJECTED:
        api.decide(memory_id, "reject", reason="policy")
    elif status is Status.SUPERSEDED:
        api.correct(memory_id, "Alice lives in Braga.")
    elif status is Status.RETRACTED:
        api.retract(memory_id)
    elif status is Status.EXPIRED:
        service.clock.pass_(seconds=61)
    found = api.get(memory_id)
    assert found["status"] == status
    return found


def do(act: Act, memory: Answer, api: Caller) -> Answer:
    given = {"version": memory["version"]}
    match act:
        case Act.EDIT:
            return api.edit(memory["id"], content=OTHER, **given)
        case Act.SUPERSEDE:
            return api.correct(memory["id"], OTHER, **given)
        case Act.RETRACT:
            return api.retract(memory["id"], **given)
        case Act.DISPUTE:
            return api.dispute(memory["id"], **given)
        case Act.APPROVE:
            return api.decide(memory["id"], "approve", **given)
        case Act.REJECT:
            return api.decide(memory["id"], "reject", reason="policy", **given)


# Nobody asks for a memory to be weakened: it happens when a source of it is forgotten (test_cascade.py).
ASKED_FOR = [act for act in Act if act is not Act.WEAKEN]


@pytest.mark.parametrize(("status", "act"), [*product(Status, ASKED_FOR)])
def test_what_may_happen_happens_and_nothing_else(
    api: Caller, service: FakeService, status: Status, act: Act
) -> None:
    memory = with_status(status, api, service)
    before = service.dump()
    answer = do(act, memory, api)
    if (status, act) in TRANSITIONS:
        assert answer.code is None
        after = api.get(memory["id"])
        assert (after["status"], after["version"]) == (TRANSITIONS[status, act], memory["version"] + 1)
    else:
        assert (answer.status, answer.code) == (409, "wrong_status")
        assert service.dump() == before
    assert api.verify()["ok"] is True


@pytest.mark.parametrize("status", Status)
def test_each_status_is_listed_when_asked_for_and_only_then(
    api: Caller, service: FakeService, status: Status
) -> None:
    memory = with_status(status, api, service)
    for asked in Status:
        ids = [found["id"] for found in api.list(status=asked, limit=100)["items"]]
        assert (memory["id"] in ids) is (asked is status)
    shown = {item["memory"]["id"] for item in api.recall("", limit=50)["items"]}
    assert (memory["id"] in shown) is (status is Status.ACTIVE)


@pytest.mark.parametrize("status", Status)
def test_a_forget_is_possible_from_every_status(api: Caller, service: FakeService, status: Status) -> None:
    memory = with_status(status, api, service)
    neighbour = api.remember("It rains.")
    assert api.forget(memory["id"]).status == 202
    assert api.get(memory["id"]).status == 404
    assert WORDS not in service.dump()
    assert api.get(neighbour["id"]).status == 200
    assert api.remember(WORDS).code == "tombstoned"


@pytest.mark.parametrize("trust", Trust)
def test_each_trust_is_reachable_and_listed_when_asked_for(
    api: Caller, service: FakeService, trust: Trust
) -> None:
    if trust is Trust.INFERRED:
        infer(service, WORDS)
    else:
        memory = api.remember(WORDS)
        if trust is Trust.VERIFIED:
            api.decide(memory["id"])
        elif trust is Trust.DISPUTED:
            api.dispute(memory["id"])
    for asked in Trust:
        assert api.listed(trust=asked) == ([WORDS] if asked is trust else [])
