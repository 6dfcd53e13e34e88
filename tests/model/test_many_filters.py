"""A thousand filters over a thousand memories: recall, list and the plain evaluator say the same."""

from __future__ import annotations

from functools import partial
from random import Random

from tests.support.fakes import FakeService
from tests.support.http import ADMIN, Caller
from tests.support.plain_filter import matches, some_filter, some_memory
from unsay_core.application.look_up import ListMemories, list_memories
from unsay_core.application.recall import Recall, recall
from unsay_core.contracts.filter import parse_filter
from unsay_core.domain.scope import Action, Scope


def test_a_thousand_filters_over_a_thousand_memories() -> None:
    chance, service = Random(5), FakeService()
    api, scope = Caller(service), Scope.parse("acme/alice")
    memories = [api.remember(**some_memory(chance, number)).body for number in range(1_000)]
    door = partial(service.open_scope, ADMIN, scope, Action.READ)
    found = few = 0
    for _ in range(1_000):
        wanted = some_filter(chance)
        expected = {memory["id"] for memory in memories if matches(wanted, memory)}
        parsed = parse_filter(wanted)
        page = list_memories(ListMemories(limit=1_000, filter=parsed), door(), service.world)
        assert {memory.id for memory in page.entries} == expected, wanted
        recollection = recall(Recall("", limit=50, filter=parsed, deadline=60), [door], service.world)
        recalled = {item.memory.id for item in recollection.items}
        assert len(recalled) == len(recollection.items) == min(50, len(expected)), wanted
        assert recalled <= expected, wanted
        found += len(expected)
        few += 0 < len(expected) < 50
    assert found > 100_000
    assert few > 100
