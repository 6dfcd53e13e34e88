"""What has expired takes no part in what comes after it; who no longer waits is not in the queue."""

from __future__ import annotations

import pytest

from tests.support.fakes import FakeService
from tests.support.http import ADMIN, Caller
from unsay_core.application.remember import Remember, remember
from unsay_core.domain.memory import Fact, Trust
from unsay_core.domain.scope import Action, Scope

SCOPE = "acme/alice"
LISBON, PORTO, DOG = "Alice lives in Lisbon.", "Alice lives in Porto.", "Alice has a dog."


def test_what_has_expired_is_not_superseded_by_the_next_in_its_slot(
    api: Caller, service: FakeService
) -> None:
    old = api.remember(LISBON, key="home", ttl_seconds=60)
    seen = service.clock.now()
    service.clock.pass_(minutes=2)
    new = api.remember(PORTO, key="home")
    assert new["supersedes"] == []
    assert api.get(old["id"])["status"] == "expired"
    assert api.listed(valid_at=seen.isoformat()) == [PORTO]
    assert api.listed(status="superseded") == []
    assert api.remember(LISBON, key="home")["supersedes"] == [new["id"]]


@pytest.mark.parametrize("end", ["expired", "corrected", "replaced", "edited"])
def test_a_doubt_leaves_the_queue_with_what_it_is_about(api: Caller, service: FakeService, end: str) -> None:
    about, other = api.remember(LISBON, key="home", ttl_seconds=3600), api.remember(DOG)
    for doubted in (about, other):
        api.dispute(doubted["id"])
    match end:
        case "expired":
            service.clock.pass_(hours=2)
        case "corrected":
            api.correct(about["id"], PORTO, version=2)
        case "replaced":
            api.remember(PORTO, key="home")
        case _:
            api.edit(about["id"], version=2, tags=["a"])
    waiting = [memory["content"] for memory in api.reviews(state="disputed")["items"]]
    assert waiting == ([LISBON, DOG] if end == "edited" else [DOG])


def test_approving_what_was_taken_back_is_refused_and_the_refusal_is_an_event(
    api: Caller, service: FakeService
) -> None:
    api.remember(LISBON, key="home")
    opened = service.open_scope(ADMIN, Scope.parse(SCOPE), Action.WRITE)
    inferred = Remember(Fact(PORTO, key="home"), channel="extract", trust=Trust.INFERRED)
    candidate = remember(inferred, opened, service.world).memory
    api.forget(api.remember(PORTO)["id"])
    assert api.decide(candidate.id, "approve").code == "tombstoned"
    assert api.events()[-2:] == ["memory.forgotten", "write.refused"]
    assert [grave["hits"] for grave in api.tombstones()["items"] if grave["kind"] == "value"] == [1]
    assert api.get(candidate.id)["status"] == "candidate"
    assert api.verify()["ok"] is True
