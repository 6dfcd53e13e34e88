"""What each operation asks of AWS, counted at the client: latency and cost are in these numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.functional.aws import aws_service
from tests.support.clients import count_calls
from tests.support.clock import fake_world
from tests.support.counted import Counted
from tests.support.http import Caller, principal
from unsay_core.bootstrap.aws import ApiService
from unsay_core.domain.quota import Quotas
from unsay_core.extraction.steering import Steering

NOBODY = "mem_01jabcdefghjkmnpqrstvwxyz0"
READS = ("dynamodb.BatchGetItem", "dynamodb.GetItem", "dynamodb.Query", "dynamodb.Scan")
REMEMBER = {"dynamodb.BatchGetItem": 1, "dynamodb.TransactWriteItems": 1}


@pytest.fixture(scope="module")
def service() -> Iterator[ApiService]:
    with aws_service() as found:
        yield found


@pytest.fixture(scope="module")
def calls(service: ApiService) -> Counter[str]:
    """Counts what every client made from here on asks for."""
    return count_calls(service.session)


@pytest.fixture(scope="module")
def warm(service: ApiService, calls: Counter[str]) -> Caller:
    """An admin whose roles in one scope are warm."""
    caller = Caller(service)  # type: ignore[arg-type]
    caller.remember("warm", "s")
    caller.recall("warm", "s")
    caller.forget(caller.remember("warm too", "s")["id"], scope="s")
    return caller


@pytest.fixture
def api(warm: Caller, calls: Counter[str]) -> Caller:
    """The same, with nothing counted yet."""
    calls.clear()
    return warm


def test_a_warm_remember_is_one_read_and_one_transaction(api: Caller, calls: Counter[str]) -> None:
    assert api.remember("Alice lives in Lisbon.", "s").status == 201
    assert dict(calls) == REMEMBER


def test_idempotency_and_a_free_slot_cost_no_further_call(api: Caller, calls: Counter[str]) -> None:
    answer = api.remember("Alice has a dog.", "s", key="pet", headers={"idempotency_key": "k"})
    assert answer.status == 201
    assert dict(calls) == REMEMBER


def test_a_scope_opened_for_the_first_time_costs_one_role_more(api: Caller, calls: Counter[str]) -> None:
    api.remember("Cold.", "s/cold")
    assert dict(calls) == {**REMEMBER, "sts.AssumeRole": 1}
    calls.clear()
    api.remember("Warm.", "s/cold")
    assert dict(calls) == REMEMBER


def test_the_policy_of_a_root_is_read_once_a_minute(api: Caller, calls: Counter[str]) -> None:
    api.remember("Cold.", "cold")
    assert dict(calls) == {**REMEMBER, "sts.AssumeRole": 1, "dynamodb.GetItem": 1}
    calls.clear()
    api.remember("Warm.", "cold")
    assert dict(calls) == REMEMBER


def test_a_rate_is_taken_from_the_minute_in_lots(
    service: ApiService, api: Caller, calls: Counter[str]
) -> None:
    service.policies.put("rated", Steering(quotas=Quotas(requests_per_minute=40)))
    service._rates._world = fake_world()  # a minute that does not end
    service._quotas.of("rated")
    api.get(NOBODY, "rated")
    calls.clear()
    statuses = [api.get(NOBODY, "rated").status for _ in range(60)]
    assert (statuses.count(404), statuses.count(429)) == (39, 21)
    assert calls.pop("dynamodb.UpdateItem") == 19
    assert dict(calls) == {"dynamodb.BatchGetItem": 39}


def test_a_recall_is_one_retrieve_and_at_most_four_reads(api: Caller, calls: Counter[str]) -> None:
    assert api.recall("warm", "s").status == 200
    assert calls.pop("bedrock-agent-runtime.Retrieve") == 1
    assert set(calls) <= set(READS)
    assert 0 < calls.total() <= 4


def test_a_recall_without_a_query_asks_the_ledger_alone(api: Caller, calls: Counter[str]) -> None:
    api.recall("", "s")
    assert set(calls) <= set(READS)
    assert 0 < calls.total() <= 4


def test_a_forget_of_a_plain_memory_is_one_read_and_one_transaction(api: Caller, calls: Counter[str]) -> None:
    memory = api.remember("To be forgotten.", "s")
    calls.clear()
    assert api.forget(memory["id"], scope="s").status == 202
    assert dict(calls) == {"dynamodb.BatchGetItem": 1, "dynamodb.TransactWriteItems": 1}


def test_a_correction_is_two_reads_and_one_transaction(api: Caller, calls: Counter[str]) -> None:
    memory = api.remember("To be corrected.", "s")
    calls.clear()
    assert api.correct(memory["id"], "Corrected.", scope="s").status == 201
    assert dict(calls) == {"dynamodb.BatchGetItem": 2, "dynamodb.TransactWriteItems": 1}


def test_a_get_is_one_read(api: Caller, calls: Counter[str]) -> None:
    memory = api.remember("To be read.", "s")
    calls.clear()
    assert api.get(memory["id"], "s").status == 200
    assert dict(calls) == {"dynamodb.BatchGetItem": 1}


def test_what_is_refused_before_the_door_costs_nothing(api: Caller, calls: Counter[str]) -> None:
    assert api.remember("", "s").status == 400
    assert api.as_(principal("other")).remember("x", "s").status == 403
    assert calls.total() == 0


def test_a_verification_lists_anchors_once_for_the_walk_and_once_for_the_newest(
    api: Caller, calls: Counter[str]
) -> None:
    assert api.verify("s").status == 200
    calls.clear()
    assert api.verify("s")["ok"] is True
    assert calls.pop("s3.ListObjectVersions") == 2, "where nothing is anchored of the stretch walked"
    assert set(calls) <= set(READS)
    assert calls.total() <= 5


def test_an_erasure_of_many_asks_for_little_more_than_two_things_a_memory() -> None:
    scene = Counted(200)
    calls = scene.erase()
    assert sum(calls.values()) < 2.5, calls
    erased = {name: calls[name] for name in ("list of tombstones: note", "documents: delete")}
    assert all(0 < share < 0.2 for share in erased.values()), "together, not one by one"
