"""Every verb against the whole service in this process, by both clients: what one does, the other does."""

import asyncio
import os

import pytest

os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "api")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "true")

import unsay
from tests.support.fakes import FakeService
from tests.support.http import Caller, transport_to

SCOPE = "acme/users/alice"
LISBON, PORTO, FARO = "Alice lives in Lisbon.", "Alice lives in Porto.", "Alice lives in Faro."


class Awaited:
    """The asynchronous client, called like the other."""

    def __init__(self, memory):
        self._memory = memory

    def __getattr__(self, name):
        return lambda *given, **named: asyncio.run(getattr(self._memory, name)(*given, **named))


@pytest.fixture(params=["blocking", "awaited"])
def memory(request):
    transport = transport_to(Caller(FakeService()))
    if request.param == "awaited":
        return Awaited(unsay.connect_async("https://x.example", token="t", transport=transport))
    return unsay.connect("https://x.example", token="t", transport=transport)


def test_a_memory_is_edited_corrected_retracted_and_forgotten(memory):
    home = memory.remember(LISBON, scope=SCOPE, key="home")
    tagged = memory.edit(home, tags=["profile"])
    assert (tagged.version, tagged.tags, tagged.content) == (2, ["profile"], LISBON)
    with pytest.raises(unsay.VersionConflictError):
        memory.edit(home, importance=1)
    moved = memory.correct(tagged, PORTO, because="changed")
    assert memory.recall("Where does Alice live?", scope=SCOPE).items[0].memory.id == moved.id
    assert memory.get(home, known_at=tagged.updated_at).status == "active"
    gone = memory.retract(moved, reason="incorrect", note="she never did")
    assert gone.status == "retracted"
    assert [version.version for version in memory.history(moved).versions] == [1, 2]
    receipt = memory.forget(gone, reason="user_request")
    assert memory.erasure(receipt.id, scope=SCOPE).id == receipt.id
    assert [found.id for found in memory.erasures(scope=SCOPE).items] == [receipt.id]
    assert memory.history(moved.id, scope=SCOPE).versions == []


def test_a_doubt_goes_to_a_person_who_decides_and_may_think_again(memory):
    right, wrong = memory.remember(LISBON, scope=SCOPE), memory.remember(FARO, scope=SCOPE)
    doubted = [memory.dispute(found, reason="incorrect") for found in (right, wrong)]
    waiting = memory.reviews(scope=SCOPE, state="disputed").items
    assert {found.id for found in waiting} == {right.id, wrong.id}
    assert memory.approve(doubted[0]).trust == "verified"
    assert memory.reject(doubted[1], reason="incorrect").status == "rejected"
    with pytest.raises(unsay.TombstonedError):
        memory.remember(FARO, scope=SCOPE)
    (stone,) = memory.tombstones(scope=SCOPE).items
    assert memory.lift_tombstone(stone, scope=SCOPE, reason="incorrect").lifted
    assert memory.remember(FARO, scope=SCOPE).status == "active"


def test_a_batch_says_what_became_of_each(memory):
    items = [{"content": LISBON}, {"content": ""}, {"content": PORTO, "tags": ["home"]}]
    results = memory.remember_batch(items, scope=SCOPE).results
    assert [result.status for result in results] == [201, 400, 201]
    assert results[1].problem.code == "invalid_request"
    assert results[2].memory.tags == ["home"]


def test_what_happened_is_counted_and_told(memory):
    memory.remember(LISBON, scope=SCOPE)
    assert [event.event for event in memory.audit(scope=SCOPE).items] == ["memory.remembered"]
    assert memory.verify_audit(scope=SCOPE).ok
    assert memory.statistics(scope=SCOPE).kinds == {"semantic": 1}
    assert memory.make_key("shop", kind="agent", grants={"acme/*": ["read"]}).secret


def test_pages_are_walked_to_the_end():
    service = FakeService()
    blocking = unsay.connect("https://x.example", token="t", transport=transport_to(Caller(service)))
    awaited = unsay.connect_async("https://x.example", token="t", transport=transport_to(Caller(service)))
    made = [blocking.remember(f"Number {n}.", scope=SCOPE).id for n in range(7)]

    async def walk():
        return [found.id async for found in unsay.every_async(awaited.list, scope=SCOPE, limit=3)]

    assert [found.id for found in unsay.every(blocking.list, scope=SCOPE, limit=3)] == made[::-1]
    assert asyncio.run(walk()) == made[::-1]
    assert len(list(unsay.every(blocking.audit, scope=SCOPE, limit=2))) == 7
