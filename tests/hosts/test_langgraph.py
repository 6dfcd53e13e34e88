"""The LangGraph store beside LangGraph's own: the same operations, the same answers."""

import asyncio
import threading
from datetime import UTC, datetime

import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore

import unsay
from tests.support.hosts import SCOPE, connected
from tests.support.http import principal
from unsay.langgraph import UnsayStore
from unsay_core.domain.scope import Action

ALICE, BOB = ("users", "alice"), ("users", "bob")


@pytest.fixture
def store(memory, service):
    return UnsayStore(memory, scope=SCOPE, clock=service.clock.now)


@pytest.fixture
def both(store):
    """Does the same with LangGraph's own store and with ours, and gives what both answered."""
    own = InMemoryStore()

    def told(result):
        return [told(each) for each in result] if isinstance(result, list) else _plain(result)

    def outcome(target, ops):
        try:
            return told(target.batch(ops))
        except Exception as error:  # noqa: BLE001 whatever it is, the other has to raise the same
            return type(error)

    def run(*ops):
        expected, answered = outcome(own, ops), outcome(store, ops)
        assert answered == expected
        return answered

    return run


def _plain(found):
    return (found.namespace, found.key, found.value) if hasattr(found, "namespace") else found


def put(namespace, key, value):
    return PutOp(namespace, key, value)


def test_values_come_back_as_they_were_put(both):
    value = {"n": 1, "f": 1.5, "whole": 2.0, "yes": True, "none": None, "deep": [{"a": []}, "é"], "": ""}
    both(put(ALICE, "k", value))
    ((_, _, found),) = both(GetOp(ALICE, "k"))
    assert [type(each) for each in (found["n"], found["f"], found["whole"])] == [int, float, float]


def test_the_same_value_stands_under_two_keys_and_comes_back_after_a_delete(both):
    both(put(ALICE, "a", {"n": 1}), put(ALICE, "b", {"n": 1}))
    both(put(ALICE, "a", None))
    assert both(GetOp(ALICE, "a"), GetOp(ALICE, "b")) == [None, (ALICE, "b", {"n": 1})]
    both(put(ALICE, "a", {"n": 1}))
    assert both(GetOp(ALICE, "a")) == [(ALICE, "a", {"n": 1})]


def test_labels_that_look_alike_are_namespaces_of_their_own(both):
    namespaces = [("users:alice",), ALICE, ("users/alice",), ("users%2Falice",), ("USERS", "alice"), ("*",)]
    for number, namespace in enumerate(namespaces):
        both(put(namespace, "k", {"n": number}))
    for namespace in namespaces:
        both(GetOp(namespace, "k"), GetOp(namespace, "k "))
        both(SearchOp(namespace, limit=50))


def test_reads_of_a_batch_see_what_was_before_it_and_the_last_put_wins(both):
    both(put(ALICE, "k", {"n": 0}), put(BOB, "k", {"n": 0}))
    both(
        GetOp(ALICE, "k"),
        put(ALICE, "k", {"n": 1}),
        SearchOp(("users",)),
        put(ALICE, "k", {"n": 2}),
        put(ALICE, "new", {"n": 3}),
        ListNamespacesOp(),
        put(BOB, "k", None),
        GetOp(ALICE, "k"),
    )
    both(SearchOp(()), GetOp(BOB, "k"))


@pytest.mark.parametrize(
    "wanted",
    [
        {"n": 1},
        {"n": 1.0},
        {"n": True},
        {"team": "red", "n": {"$gt": 0}},
        {"n": {"$gte": 1, "$lt": 3}},
        {"n": {"$lte": 2}},
        {"n": {"$ne": 1}},
        {"text": {"$gt": 4}},
        {"team": {"$ne": "red"}},
        {"team": {"$eq": "red"}},
        {"team": None},
        {"deep": {"a": 1}},
        {"deep": {"a": {"$gt": 0}}},
        {"deep": {"b": None}},
        {"list": [1, 2]},
        {"list": (1, 2)},
        {"list": 1},
        {"absent": {"$gt": 1}},
        {"absent": {"$ne": 1}},
        {"team": {"$lt": 1}},
        {"n": {"$like": 1}},
        {"team": {}},
        {},
    ],
)
def test_filters_hold_as_in_langgraphs_own_store(both, wanted):
    both(
        put(ALICE, "1", {"n": 1, "team": "red", "list": [1, 2], "text": "5"}),
        put(ALICE, "2", {"n": 2, "team": "blue", "deep": {"a": 1}, "list": 1, "text": "3"}),
        put(BOB, "3", {"n": 3, "team": "red", "deep": {"a": 2}, "list": ["1"], "text": "9"}),
    )
    both(SearchOp((), filter=wanted))


def test_a_rare_match_is_found_however_many_come_before_it_and_pages_fit_together(both):
    for start in range(0, 120, 20):
        both(*(put(ALICE, str(n), {"n": n, "rare": n == 119}) for n in range(start, start + 20)))
    assert both(SearchOp(ALICE, filter={"rare": True}, limit=1)) == [
        [(ALICE, "119", {"n": 119, "rare": True})]
    ]
    for offset in range(0, 130, 50):
        both(SearchOp(("users",), offset=offset, limit=50))


def test_namespaces_are_listed_with_wildcards_and_cut_at_a_depth(both):
    for namespace in [("a", "b", "c"), ("a", "b", "d"), ("a", "e"), ("f", "b", "c"), ("a",)]:
        both(put(namespace, "k", {}))
    for conditions in [
        (),
        (MatchCondition("prefix", ("a",)),),
        (MatchCondition("prefix", ("a", "*", "c")),),
        (MatchCondition("suffix", ("b", "*")),),
        (MatchCondition("prefix", ("*", "b")), MatchCondition("suffix", ("c",))),
        (MatchCondition("prefix", ("a", "b", "c", "d")),),
        (MatchCondition("infix", ("a",)),),
    ]:
        for depth in (None, 1, 2):
            both(ListNamespacesOp(conditions or None, max_depth=depth))
            both(ListNamespacesOp(conditions or None, max_depth=depth, limit=2, offset=1))


def test_an_operation_straight_to_batch_is_checked_too(store):
    for op in (put(("a.b",), "k", {}), SearchOp(("",)), GetOp(("a\x00",), "k")):
        with pytest.raises(InvalidNamespaceError):
            store.batch([put(ALICE, "k", {"n": 1}), op])
    assert store.get(ALICE, "k") is None
    with pytest.raises(ValueError, match="not an operation"):
        store.batch(["get"])


def test_many_puts_at_once_are_sent_in_requests_that_fit(store):
    large = "x" * 30_000
    store.batch([put(ALICE, str(n), {"text": large, "n": n}) for n in range(30)])
    assert len(store.search(ALICE, limit=50)) == 30


def test_a_refused_put_is_told_and_keeps_out_no_other(store):
    with pytest.raises(unsay.SecretRefusedError):
        store.batch(
            [put(ALICE, "a", {"n": 1}), put(ALICE, "b", {"key": "AKIAIOSFODNN7EXAMPLE"}), put(BOB, "c", {})]
        )
    assert [item.key for item in store.search(())] == ["a", "c"]


def test_a_query_ranks_what_is_indexed_and_the_rest_fills_the_tail(store, memory):
    store.put(ALICE, "tea", {"text": "Alice drinks green tea.", "secret": "marmalade"}, index=["text"])
    store.put(ALICE, "car", {"text": "Alice drives a red car."}, index=["text"])
    store.put(ALICE, "off", {"text": "Alice drinks green tea."}, index=False)
    store.put(BOB, "tea", {"text": "Bob drinks green tea."})
    found = store.search(ALICE, query="green tea")
    assert next((item.key, item.score is None) for item in found) == ("tea", False)
    assert {item.key for item in found} == {"tea", "car", "off"}
    assert next(item for item in found if item.key == "off").score is None
    indexed = {item.key: item.content for item in memory.list(scope=SCOPE, kind="item").items}
    assert (indexed["car"], indexed["off"]) == ("Alice drives a red car.", "")
    assert "marmalade" not in str(indexed.values())
    filtered = store.search((), query="green tea", filter={"text": "Bob drinks green tea."}, limit=1)
    assert [(item.namespace, item.score is None) for item in filtered] == [(BOB, False)]
    assert (
        len(store.search((), query="tea", limit=2))
        == len(store.search((), query="tea", limit=2, offset=2))
        == 2
    )


@pytest.mark.parametrize("is_indexed", [False, True])
def test_each_path_is_a_text_of_its_own_and_the_best_one_counts(is_indexed):
    class Letters:
        name = "letters-1"

        def embed(self, texts):
            return [[float(text.lower().count(chr(97 + n))) for n in range(26)] for text in texts]

    long = " ".join(f"word{n}" for n in range(200))
    with unsay.connect("memory://", embedder=Letters() if is_indexed else None) as memory:
        store = UnsayStore(memory, scope=SCOPE, fields=["a", "b", "c[*]"])
        store.put(ALICE, "one", {"a": "kiwi"})
        store.put(ALICE, "many", {"a": long, "b": "kiwi", "c": [long, "plum\n\nand more"]})
        store.put(ALICE, "none", {"x": "kiwi"})
        found = {item.key: item.score for item in store.search((), query="kiwi")}
        assert found["one"] == pytest.approx(found["many"], abs=1e-5)
        assert found["none"] is None
        (plum, kiwi, *_) = store.search((), query="plum and more")
        assert (plum.key, kiwi.score < plum.score) == ("many", True)
        assert "plum\nand more" in memory.list(scope=SCOPE, kind="item", key="many").items[0].content


def test_what_has_nothing_to_do_with_a_query_scores_nothing():
    with unsay.connect("memory://", embedder=None) as memory:
        store = UnsayStore(memory, scope=SCOPE)
        store.put(ALICE, "tea", {"text": "green tea"})
        store.put(ALICE, "car", {"text": "red car"})
        store.put(ALICE, "off", {"text": "green tea"}, index=False)
        found = [(item.key, item.score) for item in store.search((), query="tea")]
        assert [key for key, _ in found] == ["tea", "car", "off"]
        assert (found[0][1] > 0, found[1][1], found[2][1]) == (True, 0.0, None)


def test_a_search_never_leaves_the_scope(store, memory):
    other = UnsayStore(memory, scope="acme/users/bob")
    other.put(ALICE, "k", {"text": "green tea of another"})
    store.put(ALICE, "mine", {"text": "green tea of mine"})
    for found in (store.search(()), store.search((), query="green tea"), store.search(ALICE)):
        assert [item.key for item in found] == ["mine"]
    assert store.get(ALICE, "k") is None
    assert other.list_namespaces() == [ALICE]


def test_what_is_deleted_is_forgotten_with_a_receipt(store, memory):
    store.put(ALICE, "k", {"text": "green tea"})
    (item,) = memory.list(scope=SCOPE, kind="item").items
    store.delete(ALICE, "k")
    store.delete(ALICE, "k")
    (receipt,) = memory.erasures(scope=SCOPE).items
    assert (receipt.selector, receipt.reason) == ({"ids": [item.id]}, "user_request")
    with pytest.raises(unsay.NotFoundError):
        memory.get(item)
    assert store.search((), query="green tea") == []
    assert store.list_namespaces() == []


def test_what_has_expired_is_hidden_and_reading_lets_it_live_on(store, service):
    store.put(ALICE, "k", {"n": 1}, ttl=10)
    store.put(ALICE, "left", {"n": 1}, ttl=10)
    store.put(ALICE, "kept", {"n": 1})
    service.clock.pass_(minutes=6)
    assert store.get(ALICE, "k").value == {"n": 1}
    assert store.get(ALICE, "left", refresh_ttl=False)
    service.clock.pass_(minutes=6)
    assert [item.key for item in store.search(ALICE)] == ["k", "kept"]
    service.clock.pass_(minutes=6)
    assert store.get(ALICE, "k"), "the search has refreshed it"
    assert store.get(ALICE, "left") is None
    service.clock.pass_(minutes=11)
    assert store.get(ALICE, "k") is None
    assert [item.key for item in store.search(ALICE)] == ["kept"]


def test_the_ttl_of_the_configuration_is_that_of_a_put_that_names_none(memory, service):
    config = {"default_ttl": 1, "refresh_on_read": False}
    store = UnsayStore(memory, scope=SCOPE, ttl=config, clock=service.clock.now)
    store.put(ALICE, "k", {})
    store.put(ALICE, "kept", {}, ttl=None)
    service.clock.pass_(seconds=50)
    assert store.get(ALICE, "k")
    service.clock.pass_(seconds=20)
    assert [item.key for item in store.search(())] == ["kept"]


def test_who_may_only_read_reads_what_a_time_to_live_is_on(store, caller, service):
    store.put(ALICE, "k", {"n": 1}, ttl=10)
    reader = caller.as_(principal("acme/*", Action.READ))
    with connected(reader) as memory:
        reading = UnsayStore(memory, scope=SCOPE, clock=service.clock.now)
        assert reading.get(ALICE, "k").value == {"n": 1}
        with pytest.raises(unsay.ForbiddenError):
            reading.put(ALICE, "k", {"n": 2})


def test_event_loops_come_and_go_and_many_calls_run_at_once(store):
    async def write(part):
        await asyncio.gather(*(store.aput(ALICE, f"{part}-{n}", {"n": n}) for n in range(5)))
        return await store.asearch(ALICE, limit=50)

    assert len(asyncio.run(write("a"))) == 5
    assert len(asyncio.run(write("b"))) == 10


def test_langgraphs_batching_store_may_stand_before_it(store):
    class Batched(AsyncBatchedBaseStore):
        def batch(self, ops):
            return store.batch(ops)

        async def abatch(self, ops):
            return await store.abatch(ops)

    async def run():
        batched = Batched()
        await asyncio.gather(*(batched.aput(ALICE, str(n % 5), {"n": n}) for n in range(25)))
        return await asyncio.gather(*(batched.aget(ALICE, str(n)) for n in range(5)))

    assert [item.value["n"] for item in asyncio.run(run())] == [20, 21, 22, 23, 24]


def test_a_slow_service_does_not_hold_the_event_loop(store, service, monkeypatch):
    answer, loop_went_on = service.open_scope, threading.Event()

    def slow(*given, **named):
        assert loop_went_on.wait(60), "the loop stood still until the service had answered"
        return answer(*given, **named)

    monkeypatch.setattr(service, "open_scope", slow)

    async def run():
        read = asyncio.create_task(store.aget(ALICE, "k"))
        await asyncio.sleep(0)
        loop_went_on.set()
        return await read

    assert asyncio.run(run()) is None


def test_the_times_of_an_item_are_those_of_its_first_and_its_last_put(store):
    store.put(ALICE, "k", {"n": 1})
    first = store.get(ALICE, "k")
    store.put(ALICE, "k", {"n": 2})
    second = store.get(ALICE, "k")
    assert first.created_at == second.created_at < second.updated_at
    assert first.created_at.astimezone(UTC) > datetime(2026, 1, 1, tzinfo=UTC)


def test_a_client_for_an_event_loop_is_refused_at_once():
    with pytest.raises(TypeError, match=r"unsay\.connect gives"):
        UnsayStore(unsay.connect_async("memory://"), scope=SCOPE)


def test_what_another_client_has_put_is_an_object_too(store, memory):
    memory.remember("Tea.", scope=SCOPE, kind="item", key="k", path=["users"], data=[1])
    assert store.get(("users",), "k").value == {"content": "Tea.", "data": [1]}
