"""What was derived from a forgotten memory goes with it, to any depth, unless something else supports it."""

from __future__ import annotations

import pytest

from tests.support.fakes import FakeService
from tests.support.http import Caller


def derived(api: Caller, content: str, *sources: str) -> str:
    answer = api.remember(content, derived_from=list(sources))
    assert answer.status == 201, answer.text
    return str(answer["id"])


def status(api: Caller, memory_id: str) -> str | None:
    answer = api.send("GET", f"/v1/memories/{memory_id}", query="scope=acme%2Falice")
    return None if answer.status == 404 else str(answer["status"])


def test_what_was_derived_from_it_alone_goes_with_it_to_any_depth(api: Caller) -> None:
    source, neighbour = api.remember("She sold the boat.")["id"], api.remember("She kept the oars.")["id"]
    child = derived(api, "She has no boat.", source)
    grandchild = derived(api, "She cannot sail.", child)
    beside = derived(api, "She has oars.", neighbour)
    receipt = api.forget(source)
    assert {(c["id"], c["why"], c["outcome"]) for c in receipt["cascade"]} == {
        (child, "derived", "erased"),
        (grandchild, "derived", "erased"),
    }
    assert receipt["erased"] == 3
    assert [status(api, i) for i in (child, grandchild, beside)] == [None, None, "active"]
    assert api.remember("she has NO boat").code == "tombstoned"
    assert api.verify()["ok"]


def test_what_has_another_source_waits_for_a_person(api: Caller) -> None:
    one, other = api.remember("She sold the boat.")["id"], api.remember("The berth is empty.")["id"]
    both = derived(api, "She has no boat.", one, other)
    receipt = api.forget(one)
    assert receipt["cascade"] == [{"id": both, "why": "derived", "outcome": "candidate"}]
    assert status(api, both) == "candidate"
    assert "She has no boat." not in api.listed()
    waiting = api.send("GET", "/v1/reviews", query="scope=acme%2Falice")["items"]
    assert [(item["id"], item["review"]["reasons"]) for item in waiting] == [(both, ["source_forgotten"])]
    assert api.forget(other)["cascade"] == [{"id": both, "why": "derived", "outcome": "erased"}]
    assert status(api, both) is None


def test_what_somebody_else_has_said_too_waits_for_a_person(api: Caller, service: FakeService) -> None:
    source = api.remember("She sold the boat.")["id"]
    child = derived(api, "She has no boat.", source)
    assert api.remember("She has no boat.", source={"run_id": "run-7"}).status == 200
    api.forget(source)
    assert status(api, child) == "candidate"


@pytest.mark.parametrize("is_grounded", [False, True])
def test_what_only_supports_itself_goes(api: Caller, is_grounded: bool) -> None:
    source = api.remember("She sold the boat.")["id"]
    item = {"kind": "item", "key": "boat", "path": ["notes"]}
    note = api.remember("No boat.", derived_from=[source], **item)["id"]
    deeper = derived(api, "She cannot sail.", note)
    deepest = derived(api, "She stays ashore.", deeper)
    others = [api.remember("The berth is empty.")["id"]] if is_grounded else []
    api.remember("No boat any more.", derived_from=[deepest, *others], **item)
    receipt = api.forget(source)
    found = [status(api, i) for i in (note, deeper, deepest)]
    if is_grounded:
        assert found == ["candidate", "active", "active"], "the control"
    else:
        assert (receipt["erased"], found) == (4, [None, None, None])


def test_a_long_row_of_derivations_goes_whole(api: Caller) -> None:
    first = previous = api.remember("0")["id"]
    for number in range(1, 40):
        previous = derived(api, str(number), previous)
    assert api.forget(first)["erased"] == 40
    assert api.listed() == []


@pytest.mark.parametrize("where", ["acme/bob", None])
def test_only_what_is_in_the_scope_can_be_built_on(api: Caller, where: str | None) -> None:
    foreign = api.remember("Bob's.", where)["id"] if where else "mem_01j00000000000000000000000"
    answer = api.remember("Alice's.", derived_from=[foreign])
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert "Alice's." not in api.listed()
