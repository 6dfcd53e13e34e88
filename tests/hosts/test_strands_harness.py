"""The Strands store in the assembled agent of strands-harness, and in the sub-agents that it makes."""

import asyncio
import json
import threading

import pytest
from strands_harness import create_harness

from tests.hosts.scripted import Scripted, uses
from tests.support.extraction import drain
from tests.support.hosts import SCOPE
from unsay.strands import ReadOnlyUnsayMemoryStore, UnsayMemoryStore

LISBON = "I live in Lisbon."
WRITING = {"forget_in_alice", "correct_in_alice"}


@pytest.fixture
def store(memory):
    return UnsayMemoryStore(memory, scope=SCOPE, name="alice", extraction=True, deadline_seconds=60.0)


def harness(model, *stores):
    """The harness as it comes, but for what would write files, search the web or run a shell."""
    return create_harness(
        model=model,
        memory={"stores": [*stores]},
        background_tasks=False,
        session=False,
        skills=False,
        builtin_tools=["subagent"],
        callback_handler=None,
    )


def test_a_harness_learns_from_what_is_said_injects_it_and_forgets_on_request(memory, service, store):
    with harness(Scripted(), store) as first:
        first(LISBON)
    drain(service)
    (home,) = memory.list(scope=SCOPE).items
    assert (home.content, home.source.channel) == (LISBON, "extract")

    model = Scripted(uses("forget_in_alice", memory_id=home.id), "Forgotten.")
    with harness(model, store) as second:
        second("Where do I live? Forget it.")
    assert LISBON in json.dumps(model.asked[0][-1])
    assert memory.list(scope=SCOPE).items == []
    assert len(memory.erasures(scope=SCOPE).items) == 1


def test_a_sub_agent_recalls_what_its_parent_may_and_has_nothing_to_write_with(memory, service, store):
    memory.remember("Alice lives in Lisbon.", scope=SCOPE)
    task = "Find out where Alice lives."
    model = Scripted(uses("subagent", task=task), "In Lisbon. I like herring.", "She lives in Lisbon.")
    with harness(model, store) as parent:
        parent("Ask somebody where Alice lives.")
    drain(service)

    of_parent, of_child, _ = model.offered
    assert of_parent >= WRITING | {"search_memory", "subagent"}
    assert "search_memory" in of_child
    assert not of_child & WRITING
    (turn,) = model.asked[1]
    assert task in json.dumps(turn)
    assert "Alice lives in Lisbon." in json.dumps(turn), "injected before the sub-agent's turn"
    said = [each.content for each in memory.list(scope=SCOPE).items]
    assert said == ["Alice lives in Lisbon."], "what a sub-agent says makes no memory"


def test_sub_agents_at_once_share_a_store_from_loops_of_their_own(memory, store):
    memory.remember("Alice lives in Lisbon.", scope=SCOPE)
    reading = ReadOnlyUnsayMemoryStore(memory, scope=SCOPE, name="alice", deadline_seconds=60.0)
    told = []

    def ask(shared):
        model = Scripted()
        with harness(model, shared) as agent:
            agent("Where does Alice live?")
        told.append("Alice lives in Lisbon." in model.last_told)

    threads = [threading.Thread(target=ask, args=(each,)) for each in (store, store, reading, reading)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert told == [True] * 4
    assert asyncio.run(store.search("Where does Alice live?")), "and from another loop after those have ended"
