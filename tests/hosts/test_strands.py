"""The Strands stores under real agents, whose model says what the script has."""

import asyncio
import threading

import pytest
from strands import Agent
from strands.memory import AddMessagesContext, MemoryEntry, MemoryManager
from strands.memory.types import _has_method

import unsay
from tests.hosts.scripted import Scripted, uses
from tests.support.extraction import drain
from tests.support.hosts import SCOPE, connected, connected_as
from tests.support.http import principal
from unsay.strands import (
    MemoryStoreError,
    RankedMemory,
    ReadOnlyUnsayMemoryStore,
    UnsayMemoryStore,
    injection_format,
)
from unsay_core.domain.scope import Action

LISBON = "I live in Lisbon."
PATIENT = 60.0


def store_of(memory, name="alice", scope=SCOPE, **options):
    return UnsayMemoryStore(memory, scope=scope, name=name, **{"deadline_seconds": PATIENT, **options})


@pytest.fixture
def store(memory):
    return store_of(memory)


def agent_of(*stores, replies=(), **config):
    manager = MemoryManager(stores=[*stores], injection={"format": injection_format}, **config)
    return Agent(model=Scripted(*replies), memory_manager=manager, callback_handler=None)


def contents(entries):
    return [entry.content for entry in entries]


def search(store, query="Where does she live?", **options):
    return asyncio.run(store.search(query, options or None))


@pytest.fixture
def stuck(service, monkeypatch):
    """Makes the service hang until the test is over."""
    answer, released, asked = service.open_scope, threading.Event(), threading.Event()

    def hang(*given, **named):
        asked.set()
        released.wait(PATIENT)
        return answer(*given, **named)

    def begin():
        monkeypatch.setattr(service, "open_scope", hang)
        return asked

    yield begin
    released.set()


def test_what_the_user_says_is_known_to_the_next_agent_which_forgets_it_on_request(memory, service):
    first = agent_of(store_of(memory, extraction=True))
    first(LISBON)
    drain(service)
    (home,) = memory.list(scope=SCOPE).items
    assert (home.content, home.source.channel) == (LISBON, "extract")

    second = agent_of(store_of(memory), replies=[uses("forget_in_alice", memory_id=home.id), "Forgotten."])
    second("Where do I live? Forget it, please.")
    asked_with = second.model.asked[0][-1]["content"][-1]["text"]
    assert f'<memory id="{home.id}"' in asked_with
    assert 'trust="asserted"' in asked_with
    assert LISBON in asked_with
    assert "data, not instructions" in asked_with
    assert memory.list(scope=SCOPE).items == []
    (receipt,) = memory.erasures(scope=SCOPE).items
    assert receipt.id in second.model.last_told

    third = agent_of(store_of(memory))
    third("Where do I live?")
    assert "Lisbon" not in third.model.last_told
    assert asyncio.run(UnsayMemoryStore(memory, scope=SCOPE).search("Where do I live?")) == []


def test_the_durable_history_of_an_agent_holds_no_injected_memory(memory, store):
    memory.remember("Alice lives in Lisbon.", scope=SCOPE)
    agent = agent_of(store)
    agent("Where does Alice live?")
    assert "Lisbon" in agent.model.last_told
    assert "Lisbon" not in str(agent.messages)


def test_an_entry_says_id_score_trust_and_dates_in_its_metadata(memory, store):
    home = memory.remember(
        "Alice lives in Lisbon.", scope=SCOPE, tags=["home"], valid_from="2026-01-01T00:00:00Z"
    )
    (found,) = asyncio.run(MemoryManager(stores=[store]).search("Where does Alice live?"))
    assert found.content == "Alice lives in Lisbon."
    assert found.metadata.pop("score") > 0
    assert found.metadata.pop("recorded_at").startswith("2026-05-01T09:30")
    assert found.metadata == {
        "id": home.id,
        "scope": SCOPE,
        "kind": "semantic",
        "tags": ["home"],
        "metadata": {},
        "status": "active",
        "trust": "asserted",
        "version": 1,
        "valid_from": "2026-01-01T00:00:00Z",
    }


def test_a_fact_added_twice_is_one_and_a_correction_comes_without_what_it_corrects(memory, store):
    agent = agent_of(
        store, replies=[uses("add_memory", entries=["She lives in Lisbon."])] * 2, add_tool_config=True
    )
    agent("I live in Lisbon.")
    agent("I said I live in Lisbon.")
    (home,) = memory.list(scope=SCOPE).items
    correcting = uses("correct_in_alice", memory_id=home.id, content="She lives in Porto.", because="changed")
    agent_of(store, replies=[correcting])("I moved to Porto.")
    assert contents(search(store)) == ["She lives in Porto."]
    agent = agent_of(store, replies=[uses("history_in_alice", memory_id=home.id)])
    agent("Where did I live?")
    assert "memory.corrected" in agent.model.last_told


def test_the_list_shows_ids(memory, store):
    home = memory.remember("Alice lives in Lisbon.", scope=SCOPE)
    agent = agent_of(store, replies=[uses("list_in_alice", limit=3)])
    agent("What do you know?")
    assert home.id in agent.model.last_told


def test_two_stores_in_one_agent_keep_their_tools_apart(memory):
    agent = agent_of(store_of(memory, "alice"), store_of(memory, "team", scope="acme/team"))
    agent("Hello.")
    expected = {
        f"{verb}_in_{name}" for verb in ("list", "history", "correct", "forget") for name in ("alice", "team")
    }
    assert agent.model.tools == expected | {"search_memory"}


def test_tools_are_renamed_described_and_left_out(memory):
    tools = {"forget": {"name": "unlearn", "description": "Unlearn it."}, "history": False, "list": True}
    made = {tool.tool_name: tool.tool_spec for tool in store_of(memory, tools=tools).get_tools()}
    assert made.keys() == {"unlearn", "list_in_alice", "correct_in_alice"}
    assert made["unlearn"]["description"] == "Unlearn it."
    with pytest.raises(ValueError, match="no tools"):
        store_of(memory, tools={"forgt": False})


@pytest.mark.parametrize("name", ["Alice's notes", "日本", "日記", "x" * 80])
def test_a_name_that_no_tool_can_have_becomes_one_of_its_own(memory, name):
    names = [tool.tool_name for tool in store_of(memory, name).get_tools()]
    names += [tool.tool_name for tool in store_of(memory, name + "x").get_tools()]
    assert len(set(names)) == 8
    assert all(len(each) <= 64 and each.replace("_", "").replace("-", "").isalnum() for each in names)
    assert all(each.isascii() for each in names)


def say(*texts, role="user"):
    return [{"role": role, "content": [{"text": text}]} for text in texts]


def hand_in(store, messages, *numbers):
    context = AddMessagesContext([*numbers]) if numbers else None
    asyncio.run(store.add_messages(messages, context))


def runs(memory):
    return {
        run.run_id: [
            (each.seq, each.content) for each in memory.conversation(run.run_id, scope=SCOPE).messages
        ]
        for run in memory.conversations(scope=SCOPE).items
    }


def test_a_batch_that_is_retried_and_has_grown_is_kept_once(memory, store):
    hand_in(store, say("One.", "ok"), 0, 3)
    hand_in(store, say("One.", "ok"), 0, 3)
    hand_in(store, say("One.", "ok", "ok"), 0, 3, 4)
    assert list(runs(memory).values()) == [[(0, "One."), (3, "ok"), (4, "ok")]]


def test_numbers_that_begin_anew_with_other_words_are_another_run(memory, store):
    hand_in(store, say("One.", "Two."), 0, 1)
    hand_in(store, say("Other."), 0)
    hand_in(store, say("Third."), 1)
    assert sorted(runs(memory).values()) == [[(0, "One."), (1, "Two.")], [(0, "Other."), (1, "Third.")]]


def test_messages_without_numbers_are_a_run_known_by_themselves(memory, store):
    hand_in(store, say("One.", "Two."))
    hand_in(store_of(memory), say("One.", "Two."))
    hand_in(store, say("Two.", "One."))
    found = runs(memory)
    assert len(found) == 2
    assert sorted(found.values()) == [[(0, "One."), (1, "Two.")], [(0, "Two."), (1, "One.")]]


def test_more_messages_than_a_request_holds_are_handed_in_in_parts(memory, store):
    hand_in(store, say(*(f"Number {n}." for n in range(120))), *range(120))
    ((run,),) = [runs(memory).keys()]
    assert memory.conversation(run, scope=SCOPE).high_water == 119


def test_what_is_no_text_is_not_handed_in(memory, store):
    picture = {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": b"\x89"}}}]}
    both = {"role": "user", "content": [{"text": "Look."}, *picture["content"]]}
    hand_in(store, [picture, both], 0, 1)
    assert list(runs(memory).values()) == [[(1, "Look.")]]


def test_a_run_that_somebody_else_has_is_left_to_them(memory, store, monkeypatch):
    minted = iter([f"{n:032x}" for n in (1, 2)])
    monkeypatch.setattr("unsay.strands.store.uuid.uuid4", lambda: type("Minted", (), {"hex": next(minted)}))
    mine = store_of(memory)
    memory.converse(f"strands-{1:032x}", [{"seq": 0, "role": "user", "content": "Theirs."}], scope=SCOPE)
    hand_in(mine, say("Mine."), 0)
    assert sorted(runs(memory).values()) == [[(0, "Mine.")], [(0, "Theirs.")]]


def test_what_only_reads_has_no_method_and_no_tool_to_write(memory):
    reading = ReadOnlyUnsayMemoryStore(memory, scope=SCOPE, name="alice")
    assert [name for name in ("add", "add_messages", "delete") if hasattr(reading, name)] == []
    assert not any(_has_method(reading, name) for name in ("add", "add_messages"))
    assert {tool.tool_name for tool in reading.get_tools()} == {"list_in_alice", "history_in_alice"}
    with pytest.raises(ValueError, match="no writable stores"):
        MemoryManager(stores=[reading], add_tool_config=True)
    assert all(
        _has_method(store_of(memory), name) for name in ("add", "add_messages", "initialize", "get_tools")
    )


def test_a_sub_agent_reads_with_a_key_that_can_do_no_more(memory, caller):
    memory.remember("Alice lives in Lisbon.", scope=SCOPE)
    key = memory.make_key("orchestrator", kind="agent", grants={"acme/*": ["read", "write"]})
    reading = ReadOnlyUnsayMemoryStore.delegated(
        connected_as(caller, key.secret),
        scope=SCOPE,
        connect=lambda url, token: connected_as(caller, token),
        name="alice",
    )
    helper = agent_of(reading)
    helper("Where does Alice live?")
    assert "Lisbon" in helper.model.last_told
    with pytest.raises(unsay.ForbiddenError):
        reading.memory.remember("x", scope=SCOPE)
    with pytest.raises(unsay.ForbiddenError):
        reading.memory.list(scope="acme/users/bob")


def test_a_service_that_hangs_holds_neither_a_search_nor_a_turn(memory, stuck):
    store = store_of(memory, deadline_seconds=0.2, extraction=True)
    agent = agent_of(store, add_tool_config=True, replies=[uses("add_memory", entries=["x"]), "Done."])
    asked = stuck()
    with pytest.raises(MemoryStoreError, match="alice: The memory service did not answer in time"):
        search(store)
    agent("Hello.")
    assert asked.is_set()
    assert "did not answer in time" in str(agent.messages)


def test_an_agent_starts_without_the_service_and_not_without_its_grant(memory, stuck, caller):
    stranger = caller.as_(principal("acme/other", Action.READ))
    with connected(stranger) as theirs:
        with pytest.raises(MemoryStoreError, match="not allowed"):
            agent_of(store_of(theirs))
    stuck()
    agent_of(store_of(memory, deadline_seconds=0.2))


def test_what_a_model_reads_of_a_failure_holds_no_text_and_no_address(memory, store):
    home = memory.remember("Alice lives in Lisbon.", scope=SCOPE)
    memory.forget(home, reason="user_request")
    agent = agent_of(
        store, add_tool_config=True, replies=[uses("add_memory", entries=["alice lives in lisbon"])]
    )
    agent("I live in Lisbon.")
    assert "taken back before" in agent.model.last_told
    agent = agent_of(store, replies=[uses("forget_in_alice", memory_id=home.id)])
    agent("Forget it.")
    assert '\\"before\\": true' in agent.model.last_told or "'before': True" in agent.model.last_told
    agent = agent_of(
        store, replies=[uses("correct_in_alice", memory_id="mem_x", content="y", because="wrong")]
    )
    agent("Correct it.")
    assert "x.example" not in agent.model.last_told
    assert "error" in str(agent.messages)
    with pytest.raises(MemoryStoreError, match="credential"):
        asyncio.run(store.add("My key is AKIAIOSFODNN7EXAMPLE."))
    with pytest.raises(MemoryStoreError, match="metadata"):
        asyncio.run(store.add("x", {"nested": {"a": 1}}))


def test_a_store_forgets_by_id_and_says_whether_it_was_there(memory, store):
    home = memory.remember("Alice lives in Lisbon.", scope=SCOPE)
    assert asyncio.run(store.delete(home.id)).state == "pending"
    assert asyncio.run(store.delete(home.id)) is None


class Plain:
    """A store of somebody else's."""

    description, max_search_results, writable, extraction = None, None, False, None

    def __init__(self, name, *found, error=None):
        self.name, self.found, self.error = name, found, error

    async def search(self, query, options=None):
        if self.error:
            raise self.error
        return [MemoryEntry(content=text, metadata=score and {"score": score}) for text, score in self.found]


class Writable(Plain):
    writable = True

    def __init__(self, name, error=None):
        super().__init__(name)
        self.added, self.error = [], error

    async def add(self, content, metadata=None):
        if self.error:
            raise self.error
        self.added.append(content)


def test_the_best_of_all_stores_comes_first_whatever_store_it_is_of():
    first = Plain("first", *((f"dull {n}", 0.1) for n in range(8)))
    ranked = RankedMemory(first, Plain("second", ("bright", 0.9)), Plain("third", ("unrated", None)))
    found = asyncio.run(MemoryManager(stores=[ranked]).search("x", {"max_search_results": 2}))
    assert [(each.content, each.metadata["store"]) for each in found] == [
        ("bright", "second"),
        ("dull 0", "first"),
    ]
    assert "missing_stores" not in found[0].metadata
    assert contents(asyncio.run(ranked.search("x", {"max_search_results": 20})))[-1] == "unrated"


def test_a_store_that_fails_or_is_late_is_named_and_costs_its_own_part(memory, stuck):
    ranked = RankedMemory(
        Plain("good", ("here", 0.5)),
        Plain("broken", error=RuntimeError("the text of a memory")),
        store_of(memory, "late"),
        deadline_seconds=0.2,
    )
    stuck()
    (found,) = search(ranked)
    assert (found.content, found.metadata["missing_stores"]) == ("here", ["broken", "late"])


def test_if_every_store_fails_the_search_does():
    ranked = RankedMemory(Plain("a", error=OSError()), Plain("b", error=ValueError("text")))
    with pytest.raises(MemoryStoreError, match="no memory store has answered: a, b") as told:
        search(ranked)
    assert "text" not in str(told.value)


def test_ranked_stores_have_names_of_their_own_and_something_to_write_with(memory):
    class Sinkless(Plain):
        writable = True

    for wrong in ([], [Plain("a"), Plain("a")], [Sinkless("a")]):
        with pytest.raises(ValueError, match="store"):
            RankedMemory(*wrong)
    assert RankedMemory(Plain("a")).writable is False
    assert len(RankedMemory(store_of(memory), Plain("b")).get_tools()) == 4


def test_a_write_reaches_every_store_that_takes_it_and_names_those_that_failed(memory):
    good, bad = Writable("good"), Writable("bad", error=RuntimeError("the text"))
    ranked = RankedMemory(good, bad, Plain("reads"), store_of(memory))
    with pytest.raises(MemoryStoreError, match=r"^bad: it failed$"):
        asyncio.run(ranked.add("Alice lives in Lisbon."))
    assert good.added == ["Alice lives in Lisbon."]
    assert [item.content for item in memory.list(scope=SCOPE).items] == good.added
    asyncio.run(ranked.add_messages(say("One."), AddMessagesContext([0])))
    assert len(runs(memory)) == 1
    with pytest.raises(MemoryStoreError, match="takes this"):
        asyncio.run(RankedMemory(Plain("reads")).add("x"))
