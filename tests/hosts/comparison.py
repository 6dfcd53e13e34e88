"""The hosts' own stores and ours, side by side: `python -m tests.hosts.comparison > docs/compare.md`.

Each case does the same with both and says in a few words what was seen. `test_compare.py` holds both to it.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import boto3
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from langgraph_checkpoint_aws import AgentCoreMemoryStore, DynamoDBStore
from moto import mock_aws
from strands.memory import MemoryEntry, MemoryManager
from strands.storage.local_file_storage import LocalFileStorage
from strands.vended_memory_stores.bedrock_knowledge_base import BedrockKnowledgeBaseStore
from strands.vended_memory_stores.file_memory_store import FileMemoryStore
from strands.vended_memory_stores.test_memory_store import TestMemoryStore as JsonMemoryStore

from tests.support.fakes import FakeService
from tests.support.hosts import connected
from tests.support.http import Caller
from unsay.langgraph import UnsayStore
from unsay.strands import RankedMemory, ReadOnlyUnsayMemoryStore, UnsayMemoryStore

ALICE, BOB = "acme/users/alice", "acme/users/bob"
SALARY = "Alice earns 5000 a month."


@dataclass(frozen=True)
class Case:
    """One situation; `sees` are what each side is expected to be seen doing."""

    what: str
    peer: str
    package: str
    look: Callable[[], str]
    seen: str
    ours: Callable[[], str]
    wanted: str


def run(awaitable: Any) -> Any:
    return asyncio.run(awaitable)


def contents(store: Any, query: str) -> list[str]:
    return [found.content for found in run(store.search(query, {"max_search_results": 10}))]


def told(texts: list[str]) -> str:
    return "; ".join(texts) or "nothing"


def service() -> Any:
    return connected(Caller(FakeService()))


def unsay_store(memory: Any = None, scope: str = ALICE, **options: Any) -> UnsayMemoryStore:
    options = {"name": "ours", "deadline_seconds": 60.0, **options}
    return UnsayMemoryStore(memory or service(), scope=scope, **options)


class KnowledgeBase:
    """What a Bedrock knowledge base is asked; it holds Alice's salary and obeys its filter."""

    def __init__(self) -> None:
        self.documents: list[Any] = []

    def retrieve(self, **asked: Any) -> Any:
        (search,) = asked["retrievalConfiguration"].values()
        narrowed = search.get("filter")
        text = {"content": {"text": SALARY}, "score": 0.9, "metadata": {}, "location": {}}
        hers = narrowed is None or narrowed.get("equals") != {"key": "namespace", "value": "bob"}
        return {"retrievalResults": [text] if hers else []}

    def ingest_knowledge_base_documents(self, **asked: Any) -> Any:
        self.documents += asked["documents"]
        return {"documentDetails": []}


def bedrock(base: KnowledgeBase, scope: str = "bob", **options: Any) -> BedrockKnowledgeBaseStore:
    config = {
        "knowledge_base_id": "KB",
        "knowledge_base_type": "VECTOR",
        "data_source_type": "CUSTOM",
        "data_source_id": "DS",
        "runtime_client": base,
        "agent_client": base,
    }
    return BedrockKnowledgeBaseStore(name="kb", config=config, scope=scope, writable=True, **options)


def a_filter_of_bobs_at_the_knowledge_base() -> str:
    facts = {"equals": {"key": "kind", "value": "fact"}}
    return f"Bob reads: {told(contents(bedrock(KnowledgeBase(), filter=facts), 'salary'))}"


def a_filter_of_bobs() -> str:
    memory = service()
    memory.remember(SALARY, scope=ALICE)
    store = unsay_store(memory, BOB, filter={"eq": ["kind", "semantic"]})
    return f"Bob reads: {told(contents(store, 'salary'))}"


def an_empty_scope_at_the_knowledge_base() -> str:
    return f"read: {told(contents(bedrock(KnowledgeBase(), scope=''), 'salary'))}"


def an_empty_scope() -> str:
    memory = service()
    memory.remember(SALARY, scope=ALICE)
    try:
        return f"read: {told(contents(unsay_store(memory, ''), 'salary'))}"
    except Exception as refused:  # noqa: BLE001 what it is stands in the table
        return f"refused ({type(refused).__name__})"


def added_twice_at_the_knowledge_base() -> str:
    base = KnowledgeBase()
    for _ in range(2):
        run(bedrock(base).add("Bob drinks tea."))
    return f"{len(base.documents)} documents"


def added_twice() -> str:
    memory = service()
    for _ in range(2):
        run(unsay_store(memory).add("Bob drinks tea."))
    return f"{len(memory.list(scope=ALICE).items)} memory"


def files() -> Any:
    return FileMemoryStore(name="files", storage=LocalFileStorage(tempfile.mkdtemp()))


def file_texts(store: Any) -> list[str]:
    async def read() -> list[str]:
        keys = await store._storage.list("")
        return [(await store._storage.read(key)).decode() for key in keys]

    return run(read())


HEADED = ["# Drinks\nShe drinks tea.", "# Home\nShe lives in Lisbon."]


def retried_in_files() -> str:
    store = files()
    for _ in range(2):
        for text in HEADED:
            run(store.add(text))
    return f"tea stands {sum(text.count('tea') for text in file_texts(store))} times"


def retried() -> str:
    memory = service()
    for _ in range(2):
        for text in HEADED:
            run(unsay_store(memory).add(text))
    return f"tea stands {sum('tea' in found.content for found in memory.list(scope=ALICE).items)} time"


OLD, NEW = "Alice lives in Lisbon.", "Alice lives in Porto."


def corrected_in_json() -> str:
    with tempfile.TemporaryDirectory() as folder:
        store = JsonMemoryStore(name="json", path=f"{folder}/m.json")
        for text in (OLD, NEW):
            run(store.add(text))
        return f"found: {told(sorted(contents(store, 'Where does Alice live?')))}"


def corrected() -> str:
    memory = service()
    memory.correct(memory.remember(OLD, scope=ALICE), NEW, because="changed")
    return f"found: {told(sorted(contents(unsay_store(memory), 'Where does Alice live?')))}"


JAPANESE = ["アリスは緑茶を飲む。", "アリスはリスボンに住んでいる。"]


def japanese_in_files() -> str:
    store = files()
    with patch.object(time, "time", return_value=1.0):
        for text in JAPANESE:
            run(store.add(text))
    return f"{len(file_texts(store))} of 2 facts kept"


def japanese() -> str:
    memory = service()
    for text in JAPANESE:
        run(unsay_store(memory).add(text))
    return f"{len(memory.list(scope=ALICE).items)} of 2 facts kept"


LONG = "The staging database of the billing service is in the region of "


def alike_in_files() -> str:
    store = files()
    for place in ("Ireland.", "Frankfurt."):
        run(store.add(LONG + place))
    return f"kept: {told([text.removeprefix(LONG) for text in file_texts(store)])}"


def alike() -> str:
    memory = service()
    for place in ("Ireland.", "Frankfurt."):
        run(unsay_store(memory).add(LONG + place))
    kept = memory.list(scope=ALICE, order="asc").items
    return f"kept: {told([found.content.removeprefix(LONG) for found in kept])}"


def read_only_files() -> str:
    store = FileMemoryStore(name="files", storage=LocalFileStorage(tempfile.mkdtemp()), writable=False)
    run(store.add("Written."))
    return f"add wrote {len(file_texts(store))}"


def read_only() -> str:
    return "no add" if not hasattr(ReadOnlyUnsayMemoryStore(service(), scope=ALICE), "add") else "an add"


class Plain:
    """A store that finds what it is told to."""

    description, max_search_results, writable, extraction = None, None, False, None

    def __init__(self, name: str, score: float, count: int, error: bool = False) -> None:
        self.name, self.error = name, error
        self.found = [MemoryEntry(f"{name} {n}", metadata={"score": score}) for n in range(count)]

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        if self.error:
            raise OSError("down")
        return self.found


def crowd() -> list[Plain]:
    return [Plain("dull", 0.1, 8), Plain("bright", 0.9, 8)]


def crowded_by_a_manager() -> str:
    found = run(MemoryManager(stores=crowd()).search("x", {"max_search_results": 5}))[:5]
    return f"of the best 5 are bright: {sum('bright' in each.content for each in found)}"


def crowded() -> str:
    found = run(RankedMemory(*crowd()).search("x", {"max_search_results": 5}))
    return f"of the best 5 are bright: {sum('bright' in each.content for each in found)}"


def all_down_at_a_manager() -> str:
    found = run(MemoryManager(stores=[Plain("a", 1, 1, True), Plain("b", 1, 1, True)]).search("x"))
    return f"answers: {told([each.content for each in found])}"


def all_down() -> str:
    try:
        run(RankedMemory(Plain("a", 1, 1, True), Plain("b", 1, 1, True)).search("x"))
    except Exception as error:  # noqa: BLE001 what it says stands in the table
        return f"raises: {error}"
    return "answers"


class Hanging(Plain):
    """A store that never answers."""

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        await asyncio.Event().wait()
        return self.found


def waited_for(search: Any) -> str:
    """What a search comes to with a store that hangs beside one that answers; nobody waits for ever."""

    async def within() -> str:
        try:
            found = await asyncio.wait_for(search, 5)
        except TimeoutError:
            return "waits for it: nothing is found"
        return f"goes on without it: {told([each.content for each in found])}"

    return run(within())


def hung_at_a_manager() -> str:
    stores = [Hanging("hanging", 1, 1), Plain("quick", 1, 1)]
    return waited_for(MemoryManager(stores=stores).search("x"))


def hung() -> str:
    stores = [Hanging("hanging", 1, 1), Plain("quick", 1, 1)]
    return waited_for(RankedMemory(*stores, deadline_seconds=0.2).search("x"))


def table() -> DynamoDBStore:
    session = boto3.Session("test", "test", region_name="us-east-1")
    store = DynamoDBStore("items", boto3_session=session)
    store.setup()
    return store


def at_dynamodb(look: Callable[[Any], str]) -> Callable[[], str]:
    def mocked() -> str:
        with mock_aws():
            return look(table())

    return mocked


def ours(look: Callable[[Any], str]) -> Callable[[], str]:
    return lambda: look(UnsayStore(service(), scope=ALICE))


def joined_labels(store: Any) -> str:
    store.put(("users", "alice"), "k", {"whose": "alice"})
    found = store.get(("users:alice",), "k")
    return f'("users:alice",) reads: {found.value["whose"] if found else "nothing"}'


def filtered(store: Any) -> str:
    for n in range(20):
        store.put(("notes",), f"{n:02d}", {"rare": n == 19})
    return f"found: {len(store.search(('notes',), filter={'rare': True}, limit=5))} of 1"


def compared(store: Any) -> str:
    store.put(("notes",), "k", {"n": 5})
    return f"found: {len(store.search(('notes',), filter={'n': {'$gt': 4}}))} of 1"


def numbers(store: Any) -> str:
    seen = []
    for number in (1, 1.5):
        try:
            store.put(("notes",), "k", {"n": number})
            seen.append(f"{number} comes back as {type(store.get(('notes',), 'k').value['n']).__name__}")
        except TypeError as error:
            seen.append(f"{number} raises {type(error).__name__}")
    return told(seen)


def wildcard(store: Any) -> str:
    store.put(("users", "alice", "notes"), "k", {"n": 1})
    try:
        return f"found: {len(store.list_namespaces(prefix=('users', '*', 'notes')))} of 1"
    except NotImplementedError as error:
        return f"raises {type(error).__name__}"


def expired_at_dynamodb(store: Any) -> str:
    store.put(("notes",), "k", {"n": 1}, ttl=-1)
    return f"read: {'what has expired' if store.get(('notes',), 'k') else 'nothing'}"


def expired() -> str:
    service = FakeService()
    store = UnsayStore(connected(Caller(service)), scope=ALICE, clock=service.clock.now)
    store.put(("notes",), "k", {"n": 1}, ttl=1)
    service.clock.pass_(minutes=2)
    return f"read: {'what has expired' if store.get(('notes',), 'k') else 'nothing'}"


def below(store: Any) -> str:
    store.put(("users", "alice", "notes"), "k", {"n": 1})
    return f"found below the prefix: {len(store.search(('users',)))} of 1"


def deleted_at_agentcore() -> str:
    calls: list[str] = []
    client = SimpleNamespace(
        **{name: lambda _n=name, **_: calls.append(_n) for name in ("delete_event", "delete_memory_record")}
    )
    with patch("boto3.client", return_value=client):
        AgentCoreMemoryStore(memory_id="m", region_name="us-east-1").batch([PutOp(("u",), "k", None)])
    return f"deletes sent: {len(calls)}"


def deleted() -> str:
    memory = service()
    store = UnsayStore(memory, scope=ALICE)
    store.put(("u",), "k", {"n": 1})
    store.delete(("u",), "k")
    return f"receipts: {len(memory.erasures(scope=ALICE).items)}"


def scopes_in_memory() -> str:
    store = InMemoryStore()
    store.put(("users", "alice"), "k", {"n": 1})
    return f"search(()) finds of another's: {len(store.search(()))}"


def scopes() -> str:
    memory = service()
    UnsayStore(memory, scope=ALICE).put(("users", "alice"), "k", {"n": 1})
    return f"search(()) finds of another's: {len(UnsayStore(memory, scope=BOB).search(()))}"


STRANDS, AWS, LANGGRAPH = "strands-agents", "langgraph-checkpoint-aws", "langgraph-checkpoint"
CASES = (
    Case(
        "a filter of one's own, on Bob's store",
        "BedrockKnowledgeBaseStore",
        STRANDS,
        a_filter_of_bobs_at_the_knowledge_base,
        f"Bob reads: {SALARY}",
        a_filter_of_bobs,
        "Bob reads: nothing",
    ),
    Case(
        "an empty scope",
        "BedrockKnowledgeBaseStore",
        STRANDS,
        an_empty_scope_at_the_knowledge_base,
        f"read: {SALARY}",
        an_empty_scope,
        "refused (MemoryStoreError)",
    ),
    Case(
        "the same fact, added twice",
        "BedrockKnowledgeBaseStore",
        STRANDS,
        added_twice_at_the_knowledge_base,
        "2 documents",
        added_twice,
        "1 memory",
    ),
    Case(
        "a batch that is written again after a partial failure",
        "FileMemoryStore",
        STRANDS,
        retried_in_files,
        "tea stands 2 times",
        retried,
        "tea stands 1 time",
    ),
    Case(
        "two facts of one first half",
        "FileMemoryStore",
        STRANDS,
        alike_in_files,
        "kept: Ireland.",
        alike,
        "kept: Ireland.; Frankfurt.",
    ),
    Case(
        "two facts in Japanese at one moment",
        "FileMemoryStore",
        STRANDS,
        japanese_in_files,
        "1 of 2 facts kept",
        japanese,
        "2 of 2 facts kept",
    ),
    Case(
        "a store that is not writable",
        "FileMemoryStore",
        STRANDS,
        read_only_files,
        "add wrote 1",
        read_only,
        "no add",
    ),
    Case(
        "a fact and its correction",
        "TestMemoryStore",
        STRANDS,
        corrected_in_json,
        f"found: {OLD}; {NEW}",
        corrected,
        f"found: {NEW}",
    ),
    Case(
        "two stores, the better one second",
        "MemoryManager",
        STRANDS,
        crowded_by_a_manager,
        "of the best 5 are bright: 0",
        crowded,
        "of the best 5 are bright: 5",
    ),
    Case(
        "all stores are down",
        "MemoryManager",
        STRANDS,
        all_down_at_a_manager,
        "answers: nothing",
        all_down,
        "raises: no memory store has answered: a, b",
    ),
    Case(
        "a store that hangs, beside one that answers",
        "MemoryManager",
        STRANDS,
        hung_at_a_manager,
        "waits for it: nothing is found",
        hung,
        "goes on without it: quick 0",
    ),
    Case(
        "a label with the separator in it",
        "DynamoDBStore",
        AWS,
        at_dynamodb(joined_labels),
        '("users:alice",) reads: alice',
        ours(joined_labels),
        '("users:alice",) reads: nothing',
    ),
    Case(
        "a rare match behind many others",
        "DynamoDBStore",
        AWS,
        at_dynamodb(filtered),
        "found: 0 of 1",
        ours(filtered),
        "found: 1 of 1",
    ),
    Case(
        "a filter with `$gt`",
        "DynamoDBStore",
        AWS,
        at_dynamodb(compared),
        "found: 0 of 1",
        ours(compared),
        "found: 1 of 1",
    ),
    Case(
        "numbers in a value",
        "DynamoDBStore",
        AWS,
        at_dynamodb(numbers),
        "1 comes back as Decimal; 1.5 raises TypeError",
        ours(numbers),
        "1 comes back as int; 1.5 comes back as float",
    ),
    Case(
        "a search by a prefix of the namespace",
        "DynamoDBStore",
        AWS,
        at_dynamodb(below),
        "found below the prefix: 0 of 1",
        ours(below),
        "found below the prefix: 1 of 1",
    ),
    Case(
        "namespaces with a wildcard",
        "DynamoDBStore",
        AWS,
        at_dynamodb(wildcard),
        "found: 0 of 1",
        ours(wildcard),
        "found: 1 of 1",
    ),
    Case(
        "what has expired",
        "DynamoDBStore",
        AWS,
        at_dynamodb(expired_at_dynamodb),
        "read: what has expired",
        expired,
        "read: nothing",
    ),
    Case(
        "a delete",
        "AgentCoreMemoryStore",
        AWS,
        deleted_at_agentcore,
        "deletes sent: 0",
        deleted,
        "receipts: 1",
    ),
    Case(
        "a search without a prefix, in another's store",
        "InMemoryStore",
        LANGGRAPH,
        scopes_in_memory,
        "search(()) finds of another's: 1",
        scopes,
        "search(()) finds of another's: 0",
    ),
)

HEAD = """# Side by side with the hosts' own stores

Made by `python -m tests.hosts.comparison`, which does the same with both and writes down what it saw:
{versions}.
The stores of AWS talk to stand-ins in the same process: the requests are theirs, the answers are not AWS's.

| situation | store | does | ours |
|---|---|---|---|
"""


def page() -> str:
    """docs/compare.md, from a run."""
    versions = ", ".join(f"{name} {version(name)}" for name in (STRANDS, LANGGRAPH, AWS))
    rows = (f"| {case.what} | `{case.peer}` | {case.look()} | {case.ours()} |\n" for case in CASES)
    return HEAD.format(versions=versions) + "".join(rows)


if __name__ == "__main__":
    print(page(), end="")
