"""Recall by words: what is posted, what is found by it, and that it goes with what it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.fakes import FakeService
from tests.support.http import Caller
from tests.support.workers import SCOPE, Workers, index_all
from unsay_core.application import post_words as module
from unsay_core.application.ledger import Area, Listed, Postings
from unsay_core.application.ports import ConflictError, SearchError
from unsay_core.retrieval.postings import SIZE, packed_id, unpack

if TYPE_CHECKING:
    from unsay_core.adapters.memory_ledger import MemoryLedger

LISBON = "Alice lives in Lisbon."
TEA = "Alice drinks green tea."


@pytest.fixture
def workers(service: FakeService, api: Caller) -> Workers:
    return Workers(service, api)


def ledger_of(service: FakeService) -> MemoryLedger:
    return service.ledgers[service.keyring.scope_id(SCOPE)]


def posted(service: FakeService, memory_id: str) -> int:
    """Under how many words a memory is posted."""
    entries = ledger_of(service).page(Area.POSTINGS, limit=10_000)
    found = [unpack(entry.packed) for entry in entries if isinstance(entry, Postings)]
    return sum(memory == packed_id(memory_id) for postings in found for memory, *_ in postings)


def listed(service: FakeService, memory_id: str) -> Listed | None:
    entries = ledger_of(service).page(Area.LISTED, limit=10_000)
    return next((e for e in entries if isinstance(e, Listed) and e.memory_id == memory_id), None)


def said_in_a_run(api: Caller, *texts: str, run: str = "talk") -> list[Any]:
    items = [
        {"content": text, "source": {"run_id": run, "message_seqs": [seq]}} for seq, text in enumerate(texts)
    ]
    return [result["memory"] for result in api.batch(items)["results"]]


def without_meaning(service: FakeService) -> None:
    service.knowledge_base.failing = SearchError("knowledge_base_unavailable")


def test_a_memory_is_posted_under_each_word_that_says_something(service: FakeService, api: Caller) -> None:
    memory = api.remember(LISBON)
    assert posted(service, memory["id"]) == 0
    index_all(service)
    assert posted(service, memory["id"]) == 3  # Alice, live, Lisbon


def test_postings_hold_no_word_and_no_plain_digest_of_one(service: FakeService, api: Caller) -> None:
    api.remember(LISBON)
    index_all(service)
    other = service.keyring.for_scope(service.keyring.scope_id("acme/bob"))
    own = service.keyring.for_scope(service.keyring.scope_id(SCOPE))
    kept = repr([ledger_of(service).page(area, limit=99) for area in (Area.POSTINGS, Area.LISTED)])
    assert module.term_name(own.word_digests(["lisbon"])["lisbon"]) in kept
    assert module.term_name(other.word_digests(["lisbon"])["lisbon"]) not in kept
    assert "lisbon" not in kept.lower()


def test_a_receipt_is_complete_only_when_no_posting_is_left(
    workers: Workers, service: FakeService, api: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, stays = api.remember(LISBON), api.remember(TEA)
    index_all(service)
    erasure = api.forget(gone["id"])
    with monkeypatch.context() as patched:
        patched.setattr("unsay_core.application.index_memories.post_words", lambda *_: False)
        assert workers.index(workers.project(gone["id"]))
    assert api.receipt(erasure["id"])["state"] == "pending"
    assert posted(service, gone["id"]) == 3
    index_all(service)
    assert api.receipt(erasure["id"])["state"] == "complete"
    assert (posted(service, gone["id"]), listed(service, gone["id"])) == (0, None)
    assert posted(service, stays["id"]) == 4


def test_what_is_posted_late_conflicts_with_a_forget(
    service: FakeService, api: Caller, workers: Workers
) -> None:
    """A worker that read the memory before the forget and posts after it must not bring it back."""
    memory = api.remember(LISBON)
    task = workers.project(memory["id"])
    ledger, commit = ledger_of(service), ledger_of(service).commit

    def after_the_forget(change: Any) -> None:
        ledger.commit = commit  # type: ignore[method-assign]
        api.forget(memory["id"])
        commit(change)

    ledger.commit = after_the_forget  # type: ignore[method-assign]
    workers.index(task)
    assert posted(service, memory["id"]) == 0
    index_all(service)
    assert workers.is_clean(memory["id"])
    assert (posted(service, memory["id"]), listed(service, memory["id"])) == (0, None)


def test_an_edit_moves_a_memory_to_its_new_words(service: FakeService, api: Caller) -> None:
    memory = api.remember(LISBON)
    index_all(service)
    api.edit(memory["id"], content="Alice lives in Porto, near the river.")
    index_all(service)
    assert posted(service, memory["id"]) == 5  # Alice, live, Porto, near, river
    without_meaning(service)
    assert api.recall("Lisbon")["items"] == []
    assert len(api.recall("Porto")["items"]) == 1


@pytest.mark.parametrize("stop_at", range(1, 9))
def test_a_long_memory_is_posted_and_removed_whole_wherever_a_worker_stops(
    service: FakeService, api: Caller, workers: Workers, stop_at: int
) -> None:
    """More words than one transaction holds; what a stopped worker posted is known and goes too."""
    memory = api.remember(" ".join(f"word{n}" for n in range(130)))
    ledger, commit, calls = ledger_of(service), ledger_of(service).commit, [0]

    def stopping(change: Any) -> None:
        calls[0] += 1
        if calls[0] == stop_at:
            raise ConflictError("stopped")
        commit(change)

    ledger.commit = stopping  # type: ignore[method-assign]
    workers.index(workers.project(memory["id"]))
    ledger.commit = commit  # type: ignore[method-assign]
    index_all(service)
    assert posted(service, memory["id"]) == 130
    api.forget(memory["id"])
    index_all(service)
    assert (posted(service, memory["id"]), listed(service, memory["id"])) == (0, None)
    assert ledger.page(Area.POSTINGS, limit=9) == []


def test_of_a_common_word_the_newest_are_kept_and_all_are_counted(
    service: FakeService, api: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FRESH", 2)
    monkeypatch.setattr(module, "IN_STOCK", 5)
    memories = [api.remember(f"tea number{n}") for n in range(12)]
    index_all(service)
    digest = service.keyring.for_scope(service.keyring.scope_id(SCOPE)).word_digests(["tea"])["tea"]
    entries = [
        entry
        for entry in ledger_of(service).page(Area.POSTINGS, limit=99)
        if isinstance(entry, Postings) and entry.term == module.term_name(digest)
    ]
    assert {entry.total for entry in entries if not entry.is_stock} == {12}
    assert all(len(entry.packed) // SIZE <= 5 for entry in entries)
    assert posted(service, memories[-1]["id"]) == 2
    for memory in memories:
        api.forget(memory["id"])
    index_all(service)
    assert ledger_of(service).page(Area.POSTINGS, limit=9) == []


def test_a_word_finds_the_one_memory_that_has_it_among_many(service: FakeService, api: Caller) -> None:
    """No page of the newest holds it, and no meaning is asked."""
    api.remember("The safe opens with the brass key.")
    for n in range(0, 200, 25):
        api.batch([{"content": f"Note {i} about the weather."} for i in range(n, n + 25)])
    index_all(service)
    without_meaning(service)
    answer = api.recall("Where is the key of the safe?")
    assert answer["items"][0]["memory"]["content"] == "The safe opens with the brass key."


def test_many_memories_need_no_more_reads_than_few(service: FakeService, api: Caller) -> None:
    def reads() -> list[int]:
        ledger, read, sizes = ledger_of(service), ledger_of(service).read, []

        def counted(refs: Any) -> Any:
            sizes.append(len(refs))
            return read(refs)

        ledger.read = counted  # type: ignore[method-assign]
        api.recall("green tea")
        ledger.read = read  # type: ignore[method-assign]
        return sizes

    api.batch([{"content": f"Green tea, cup {i}."} for i in range(3)])
    index_all(service)
    few = reads()
    for n in range(0, 150, 25):
        api.batch([{"content": f"Green tea, cup {i + 3}."} for i in range(n, n + 25)])
    index_all(service)
    assert len(reads()) == len(few) == 2


def test_the_answer_to_a_question_is_found_by_the_words_of_the_question(
    service: FakeService, api: Caller
) -> None:
    said_in_a_run(api, "Which instrument did you learn as a child?", "The cello, for six years.", "Nice!")
    said_in_a_run(api, "The cello is in the cellar.", "Dinner is ready.", run="other")
    index_all(service)
    without_meaning(service)
    found = api.recall("Which instrument did she learn?")["items"]
    contents = [item["memory"]["content"] for item in found]
    assert contents[1] == "The cello, for six years."
    assert "Dinner is ready." not in contents


def test_what_is_said_around_a_memory_goes_when_it_is_forgotten(service: FakeService, api: Caller) -> None:
    question, answer, _ = said_in_a_run(
        api, "Which instrument did you learn?", "The cello, for years.", "Nice!"
    )
    index_all(service)
    without_meaning(service)
    assert answer["id"] in [i["memory"]["id"] for i in api.recall("instrument")["items"]]
    api.forget(question["id"])
    index_all(service)
    assert api.recall("instrument")["items"] == []
    assert api.recall("cello")["items"]


def test_context_counts_before_anything_is_indexed(service: FakeService, api: Caller) -> None:
    _, answer, _ = said_in_a_run(api, "Which instrument did you learn?", "The cello, for years.", "Nice!")
    without_meaning(service)
    items = api.recall("Which instrument?")["items"]
    scores = {item["memory"]["id"]: item["scores"]["lexical"] for item in items}
    assert scores[answer["id"]] > 0


@pytest.mark.parametrize(
    ("content", "query"),
    [
        (r"The entry point is C:\repo\main.py.", "main.py"),
        (r"The entry point is C:\repo\main.py.", r"C:\repo\main.py"),
        ("The column user_id is never null.", "user_id"),
        ("The column user_id is never null.", "id of the user"),
        ("Call getUserName first.", "user name"),
        ("彼女の猫はミケです。", "猫"),
        ("เธออาศัยอยู่ในกรุงเทพ", "กรุงเทพ"),
        ("Anna wohnt in der Nähe von Köln.", "Wo wohnt Anna? Köln?"),
        ("Il est né à Orléans.", "orleans"),
        ("그녀는 고양이를 좋아한다", "고양이"),
    ],
)
def test_words_of_any_script_find_what_says_them(
    service: FakeService, api: Caller, content: str, query: str
) -> None:
    api.remember(content)
    api.remember("Nothing of that sort 123.")
    index_all(service)
    without_meaning(service)
    assert [i["memory"]["content"] for i in api.recall(query)["items"]] == [content]
