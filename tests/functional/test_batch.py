"""`POST /v1/memories/batch`: each item on its own, in as few transactions as they fit into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.fakes import FakeService
from tests.support.http import Caller, principal
from unsay_core.adapters.memory_ledger import MemoryLedger
from unsay_core.application.ports import ConflictError
from unsay_core.domain.audit import Event
from unsay_core.domain.scope import Action, PrincipalKind

LISBON, PORTO = "Alice lives in Lisbon.", "Alice lives in Porto."
SECRET = "AKIA" + "IOSFODNN7EXAMPLE"
KEY = {"idempotency_key": "batch-1"}


def facts(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [{"content": f"Fact number {n}.", **fields} for n in range(count)]


def statuses(answer: Any) -> list[int]:
    return [result["status"] for result in answer["results"]]


class CountedCommits:
    """The commits that a ledger takes from now on, by their size; `lose` of them are lost to another."""

    def __init__(self, ledger: MemoryLedger, lose: Sequence[int] = ()) -> None:
        self.sizes: list[int] = []
        commit, self.tries = ledger.commit, 0

        def counted(change: Any) -> None:
            self.tries += 1
            if self.tries - 1 in lose:
                raise ConflictError("another writer was first")
            commit(change)
            self.sizes.append(len(change))

        ledger.commit = counted  # type: ignore[method-assign]


@pytest.fixture
def ledger(service: FakeService) -> MemoryLedger:
    return service.ledgers[service.keyring.scope_id("acme/alice")]


@pytest.mark.parametrize("count", [1, 2, 24, 25])
def test_a_batch_is_stored_whole_and_in_order(api: Caller, count: int) -> None:
    answer = api.batch(facts(count, tags=["a"]))
    assert answer.status == 200
    assert statuses(answer) == [201] * count
    stored = [result["memory"] for result in answer["results"]]
    assert [memory["content"] for memory in stored] == [fact["content"] for fact in facts(count)]
    assert stored == [api.get(memory["id"]).body for memory in stored]
    assert api.listed(order="asc", limit=100) == [fact["content"] for fact in facts(count)]
    assert api.events() == [Event.REMEMBERED] * count
    assert api.verify()["ok"] is True


@pytest.mark.parametrize("items", [[], facts(26), None, {}, "x"])
def test_a_batch_has_one_to_twenty_five_items(api: Caller, items: Any) -> None:
    answer = api.batch(items)
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert api.listed() == []


@pytest.mark.parametrize("at", [0, 7, 24])
@pytest.mark.parametrize(
    ("bad", "status", "code"),
    [
        ({"content": "x" * 16_385}, 413, "too_large"),
        ({"content": " "}, 400, "invalid_request"),
        ({"content": "x", "scope": "acme/bob"}, 400, "invalid_request"),
        ({"content": "x", "valid_from": "yesterday"}, 400, "invalid_time"),
        ({"content": "x", "metadata": {"scope": "acme/bob"}}, 400, "reserved_key"),
        ({"content": SECRET}, 422, "secret_refused"),
        ("not an object", 400, "invalid_request"),
        (None, 400, "invalid_request"),
        ([1], 400, "invalid_request"),
    ],
)
def test_one_bad_item_stores_the_others_and_says_which(
    api: Caller, bad: Any, status: int, code: str, at: int
) -> None:
    items: list[Any] = facts(25)
    items[at] = bad
    answer = api.batch(items)
    assert answer.status == 200
    assert statuses(answer) == [status if n == at else 201 for n in range(25)]
    problem = answer["results"][at]["problem"]
    assert (problem["code"], problem["status"]) == (code, status)
    assert {"type", "title", "detail", "request_id"} <= problem.keys()
    assert len(api.listed(limit=100)) == 24
    assert api.listed("acme/bob") == []
    assert SECRET not in answer.text


def test_twenty_five_plain_facts_are_two_transactions(api: Caller, ledger: MemoryLedger) -> None:
    commits = CountedCommits(ledger)
    api.batch(facts(25))
    assert len(commits.sizes) == 2
    assert max(commits.sizes) <= 100


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("again", [True, False])
def test_a_transaction_is_filled_before_another_is_begun(
    api: Caller, ledger: MemoryLedger, keyed: bool, again: bool
) -> None:
    """As few as fit: no two that follow each other would have fitted into one."""
    items = [item | ({"key": f"k{n}"} if keyed else {}) for n, item in enumerate(facts(25))]
    if again:
        api.batch([item | {"content": f"Before {n}."} for n, item in enumerate(items)])
    commits = CountedCommits(ledger)
    assert statuses(api.batch(items, **KEY)) == [201] * 25
    assert max(commits.sizes) <= 100
    assert all(a + b > 100 for a, b in zip(commits.sizes, commits.sizes[1:], strict=False))


def test_items_that_each_replace_many_still_fit(api: Caller, ledger: MemoryLedger) -> None:
    years = [(f"20{10 + n}-01-01T00:00:00Z", f"20{11 + n}-01-01T00:00:00Z") for n in range(12)]
    for name in "abc":
        for start, end in years:
            api.remember(f"{name} {start}", key=name, valid_from=start, valid_to=end)
    items = [*facts(12), *({"content": f"All of {name}.", "key": name} for name in "abc")]
    commits = CountedCommits(ledger)
    answer = api.batch(items)
    assert statuses(answer) == [201] * 15
    assert [len(result["memory"]["supersedes"]) for result in answer["results"][12:]] == [12] * 3
    assert max(commits.sizes) <= 100
    assert api.verify()["ok"] is True


def test_twelve_that_are_disputed_are_replaced_in_one_transaction(api: Caller) -> None:
    for n in range(12):
        start, end = f"20{10 + n}-01-01T00:00:00Z", f"20{11 + n}-01-01T00:00:00Z"
        memory = api.remember(f"year {n}", key="home", valid_from=start, valid_to=end)
        assert api.dispute(memory["id"]).status == 200
    answer = api.remember(LISBON, key="home", headers=KEY)
    assert (answer.status, len(answer["supersedes"])) == (201, 12)
    assert api.reviews(state="disputed")["items"] == []


def test_the_same_words_twice_in_a_batch_are_one_memory(api: Caller) -> None:
    answer = api.batch([{"content": LISBON}, {"content": PORTO}, {"content": f" {LISBON}  "}])
    first, _, second = (result["memory"] for result in answer["results"])
    assert statuses(answer) == [201, 201, 200]
    assert (second["id"], second["deduplicated"]) == (first["id"], True)
    assert sorted(api.listed()) == [LISBON, PORTO]


def test_the_same_words_from_two_runs_in_a_batch_have_both_as_sources(api: Caller) -> None:
    answer = api.batch([{"content": LISBON, "source": {"run_id": run}} for run in ("run1", "run2")])
    assert statuses(answer) == [201, 200]
    memory = api.get(answer["results"][0]["memory"]["id"])
    assert memory["source"]["run_id"] == "run1"
    assert [source["run_id"] for source in memory["corroborations"]] == ["run2"]


def test_items_of_one_slot_supersede_each_other_in_order(api: Caller) -> None:
    answer = api.batch([{"content": f"Home {n}.", "key": "home"} for n in range(5)])
    assert statuses(answer) == [201] * 5
    ids = [result["memory"]["id"] for result in answer["results"]]
    supersedes = [result["memory"]["supersedes"] for result in answer["results"]]
    assert supersedes == [[], *([before] for before in ids[:-1])]
    assert api.listed() == ["Home 4."]
    assert len(api.listed(status="superseded")) == 4
    assert api.verify()["ok"] is True


def test_a_value_that_was_taken_back_is_refused_and_counted_each_time(api: Caller) -> None:
    api.forget(api.remember(LISBON)["id"])
    answer = api.batch([{"content": PORTO}, {"content": LISBON}, {"content": "ALICE LIVES IN LISBON"}])
    assert statuses(answer) == [201, 409, 409]
    assert "lisbon" not in answer.text.casefold()
    assert api.events()[2:] == [Event.REMEMBERED, Event.REFUSED, Event.REFUSED]
    assert sum(grave["hits"] for grave in api.tombstones()["items"]) == 2
    assert api.listed() == [PORTO]


def test_a_credential_is_audited_once_and_its_item_alone_refused(api: Caller, service: FakeService) -> None:
    answer = api.batch([{"content": LISBON}, {"content": PORTO, "tags": [SECRET]}])
    assert statuses(answer) == [201, 422]
    assert api.events() == [Event.REMEMBERED, Event.REFUSED]
    assert SECRET not in service.dump()


def test_a_batch_that_is_refused_whole_leaves_only_its_refusals(api: Caller) -> None:
    answer = api.batch([{"content": SECRET}] * 3)
    assert statuses(answer) == [422] * 3
    assert api.events() == [Event.REFUSED] * 3
    assert api.listed() == []


def test_a_retry_of_the_whole_batch_changes_nothing(api: Caller, service: FakeService) -> None:
    items: list[Any] = [*facts(23), {"content": " "}, {"content": LISBON, "source": {"run_id": "r"}}]
    first = api.batch(items, **KEY)
    before = service.dump()
    second = api.batch(items, **KEY)
    assert service.dump() == before
    assert second["results"] == first["results"]
    plain = api.batch(items)
    assert service.dump() == before
    assert statuses(plain) == [*([200] * 23), 400, 200]


def test_a_retry_after_a_correction_tells_what_was_made_then(api: Caller, service: FakeService) -> None:
    first = api.batch([{"content": LISBON}, {"content": PORTO}], **KEY)
    api.correct(first["results"][0]["memory"]["id"], "Alice lives in Faro.")
    before = service.dump()
    second = api.batch([{"content": LISBON}, {"content": PORTO}], **KEY)
    assert second["results"] == first["results"]
    assert service.dump() == before


def test_a_retry_after_a_forget_says_so_for_its_item_alone(api: Caller) -> None:
    first = api.batch([{"content": LISBON}, {"content": PORTO}], **KEY)
    api.forget(first["results"][0]["memory"]["id"])
    second = api.batch([{"content": LISBON}, {"content": PORTO}], **KEY)
    assert statuses(second) == [410, 201]
    assert api.listed() == [PORTO]


def test_another_batch_under_the_same_key_is_refused_item_by_item(api: Caller) -> None:
    api.batch([{"content": LISBON}], **KEY)
    answer = api.batch([{"content": PORTO}], **KEY)
    assert answer["results"][0]["problem"]["code"] == "idempotency_mismatch"
    assert api.listed() == [LISBON]


@pytest.mark.parametrize("lost", [(0,), (1,), (0, 1, 2), (1, 2, 3)])
def test_a_batch_torn_by_another_writer_is_stored_once(
    api: Caller, ledger: MemoryLedger, lost: tuple[int, ...]
) -> None:
    commits = CountedCommits(ledger, lose=lost)
    answer = api.batch(facts(25), **KEY)
    assert commits.tries == len(commits.sizes) + len(lost)
    assert statuses(answer) == [201] * 25
    assert len(api.listed(limit=100)) == 25
    assert api.events() == [Event.REMEMBERED] * 25
    assert api.verify()["ok"] is True


def test_a_batch_that_gave_up_half_way_is_finished_by_its_retry(api: Caller, ledger: MemoryLedger) -> None:
    plain = ledger.commit
    CountedCommits(ledger, lose=range(1, 10_000))
    answer = api.batch(facts(25), **KEY)
    assert (answer.status, answer.code) == (503, "busy")
    assert answer.headers["Retry-After"]
    assert 0 < len(api.listed(limit=100)) < 25
    ledger.commit = plain  # type: ignore[method-assign]
    assert statuses(api.batch(facts(25), **KEY)) == [201] * 25
    assert len(api.listed(limit=100)) == 25


def test_a_batch_needs_the_right_to_write(api: Caller) -> None:
    reader = api.as_(principal("acme/alice", *(set(Action) - {Action.WRITE})))
    assert reader.batch(facts(1)).status == 403
    writer = api.as_(principal("acme/alice", Action.WRITE, kind=PrincipalKind.AGENT, key="key_agent"))
    answer = writer.batch(facts(1))
    assert answer["results"][0]["memory"]["source"]["actor"] == "key_agent"
    assert writer.batch(facts(1), "acme/bob").status == 403
