"""A caller's filter narrows recall and list alike, and what it leaves is found however many are better."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.functional.test_list import pages
from tests.functional.test_recall import index_all
from tests.support.fakes import FakeService
from tests.support.http import Caller, principal
from tests.support.plain_filter import matches, some_filter, some_memory
from unsay_core.application import recall_load
from unsay_core.application.recall_load import SCAN_PAGE
from unsay_core.contracts import exact_json
from unsay_core.domain.scope import Action

RED = {"eq": ["metadata.team", "red"]}


def listed(api: Caller, wanted: Any, **parameters: Any) -> list[str]:
    return pages(api, filter=exact_json.dumps(wanted), limit=100, **parameters)


def recalled(api: Caller, wanted: Any, query: str = "tea", **fields: Any) -> set[str]:
    return set(api.recalled(query, filter=wanted, limit=50, **fields))


def test_recall_list_and_the_plain_evaluator_agree_on_filters_at_random(
    api: Caller, service: FakeService
) -> None:
    chance = Random(7)
    memories = [api.remember(**some_memory(chance, number)).body for number in range(48)]
    index_all(service)
    found = 0
    for _ in range(120):
        wanted = some_filter(chance)
        expected = {memory["content"] for memory in memories if matches(wanted, memory)}
        assert set(listed(api, wanted)) == expected, wanted
        assert recalled(api, wanted) == expected, wanted
        found += len(expected)
    assert 120 < found < 40 * 120


def test_one_match_among_many_better_ones_is_returned(api: Caller, service: FakeService) -> None:
    wanted = api.remember("A remark on tea.", metadata={"team": "red"})
    for number in range(700):
        api.remember(f"Green tea, {number}.", metadata={"team": "blue"})
    index_all(service)
    answer = api.recall("green tea", filter=RED)
    assert [item["memory"]["id"] for item in answer["items"]] == [wanted["id"]]
    assert (answer["degraded"], answer["reasons"]) == (False, [])
    assert len(api.recalled("green tea", filter={"not": RED})) == 5


@pytest.mark.parametrize(
    "narrower",
    [{"kinds": ["episodic"]}, {"tags": ["a"]}, {"filter": RED}, {"valid_at": "2020-01-01T00:00:00Z"}],
)
def test_whatever_narrows_k_matches_are_k_entries(
    api: Caller, service: FakeService, narrower: dict[str, Any]
) -> None:
    fields = {"kind": "episodic", "tags": ["a"], "metadata": {"team": "red"}}
    for number in range(3):
        api.remember(f"A remark on tea {number}.", valid_from="2010-01-01T00:00:00Z", **fields)
    for number in range(150):
        api.remember(f"Green tea, {number}.", valid_from="2021-01-01T00:00:00Z")
    index_all(service)
    assert len(api.recalled("green tea", limit=3, **narrower)) == 3
    assert len(api.recalled("green tea", limit=50, **narrower)) == 3


def test_what_could_not_be_looked_through_is_said(
    api: Caller, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_load, "SCANNED", SCAN_PAGE)
    old = api.remember("A remark on tea.", metadata={"team": "red"})
    for number in range(SCAN_PAGE):
        api.remember(f"Green tea, {number}.")
    index_all(service)
    answer = api.recall("green tea", filter=RED)
    assert (answer["items"], answer["degraded"]) == ([], True)
    assert answer["reasons"] == ["filter_incomplete", "nothing_relevant"]
    young = api.remember("Another remark on tea.", metadata={"team": "red"})
    answer = api.recall("green tea", filter=RED)
    assert [item["memory"]["id"] for item in answer["items"]] == [young["id"]]
    assert answer["reasons"] == ["filter_incomplete"]
    assert api.get(old["id"]).status == 200


def test_a_filter_only_narrows(api: Caller, service: FakeService) -> None:
    """Neither another scope nor what is gone, disputed or a candidate is reached by any negation."""
    mine = api.remember("Green tea.", metadata={"team": "red"})
    api.remember("Bob's green tea.", "acme/bob")
    api.forget(api.remember("Old tea.")["id"])
    api.retract(api.remember("Wrong tea.")["id"])
    api.dispute(api.remember("Doubtful tea.")["id"])
    everything = {"or": [{"not": {"eq": ["kind", "x"]}}, {"exists": ["metadata.scope", False]}]}
    caller = api.as_(principal("acme/alice", Action.READ))
    assert recalled(caller, everything) == {mine["content"]} == set(listed(caller, everything))


@pytest.mark.parametrize("field", ["scope", "scope_id", "status", "trust", "metadata", "id", "content"])
def test_a_filter_cannot_speak_of_what_decides_for_it(api: Caller, field: str) -> None:
    wanted = {"or": [{"eq": [field, "acme/bob"]}, RED]}
    answer = api.recall("tea", filter=wanted)
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert [error["path"] for error in answer["errors"]] == ["filter.or.0.eq.0"]
    listing = api.list(filter=exact_json.dumps(wanted))
    assert [error["path"] for error in listing["errors"]] == ["filter.or.0.eq.0"]


def test_a_refusal_does_not_repeat_the_caller(api: Caller) -> None:
    answer = api.recall("tea", filter={"SECRET": [{"eq": ["SECRET", "SECRET"]}]})
    assert answer.status == 400
    assert "SECRET" not in answer.text


def test_the_filter_of_a_list_binds_its_cursor(api: Caller) -> None:
    for number in range(3):
        api.remember(f"Tea {number}.", metadata={"team": "red"})
    both = [RED, {"exists": "kind"}]
    page = api.list(filter=exact_json.dumps({"and": both}), limit=1)
    again = api.list(filter=exact_json.dumps({"and": both}), limit=1, cursor=page["next_cursor"])
    assert again.status == 200
    other = api.list(filter=exact_json.dumps({"or": both}), limit=1, cursor=page["next_cursor"])
    assert other.code == "invalid_cursor"
