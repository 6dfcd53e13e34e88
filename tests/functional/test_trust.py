"""Trust is the channel's to say: what a model concludes replaces nobody's word, and borrows none."""

from __future__ import annotations

import pytest

from tests.support.candidates import infer
from tests.support.fakes import FakeService
from tests.support.http import Caller
from unsay_core.domain.audit import Event

LISBON, PORTO, BOB = "Alice lives in Lisbon.", "Alice lives in Porto.", "Bob lives in Braga."


@pytest.mark.parametrize("stronger", ["asserted", "verified", "disputed"])
def test_what_is_inferred_waits_where_it_would_replace_anothers_word(
    api: Caller, service: FakeService, stronger: str
) -> None:
    holder = api.remember(LISBON, key="home")
    if stronger == "verified":
        api.decide(holder["id"])
    if stronger == "disputed":
        api.dispute(holder["id"])
    version = api.get(holder["id"])["version"]
    waiting = infer(service, PORTO, key="home").memory
    assert (waiting.status, waiting.trust) == ("candidate", "inferred")
    assert (api.get(holder["id"])["status"], api.get(holder["id"])["version"]) == ("active", version)
    assert PORTO not in api.recalled("Where does Alice live?", include=["disputed"])
    assert api.events()[-1] == Event.INFERRED


def test_what_is_inferred_replaces_what_was_inferred(api: Caller, service: FakeService) -> None:
    first = infer(service, LISBON, key="home").memory
    second = infer(service, PORTO, key="home").memory
    assert (second.status, second.supersedes) == ("active", (first.id,))
    assert api.listed() == [PORTO]


def test_what_is_inferred_for_free_time_is_believed(api: Caller, service: FakeService) -> None:
    api.remember(LISBON, key="home", valid_from="2020-01-01T00:00:00Z", valid_to="2021-01-01T00:00:00Z")
    later = api.get(api.remember("x")["id"])["recorded_at"]
    memory = infer(service, PORTO, key="home", valid_from=service.clock.now()).memory
    assert (memory.status, later is not None) == ("active", True)


def test_a_callers_word_replaces_what_was_inferred(api: Caller, service: FakeService) -> None:
    inferred = infer(service, LISBON, key="home").memory
    said = api.remember(PORTO, key="home")
    assert (said["trust"], said["supersedes"]) == ("asserted", [inferred.id])


def test_the_same_from_two_sources_is_one_memory_with_both(api: Caller) -> None:
    first = api.remember(LISBON, source={"run_id": "run1", "message_seqs": [1]})
    second = api.remember(LISBON, source={"run_id": "run2", "message_seqs": [4], "quote": "I live in Lisbon"})
    assert (second.status, second["deduplicated"], second["id"]) == (200, True, first["id"])
    assert second["source"] == first["source"]
    assert [source["run_id"] for source in second["corroborations"]] == ["run2"]
    assert second["corroborations"][0]["quote"] == "I live in Lisbon"
    assert api.listed() == [LISBON]
    more = api.remember(LISBON, source={"run_id": "run2", "message_seqs": [9]})
    assert [source["message_seqs"] for source in more["corroborations"]] == [[4, 9]]
    again = api.remember(LISBON, source={"run_id": "run2", "message_seqs": [4]})
    assert again["version"] == more["version"] == 3
    assert api.events() == [Event.REMEMBERED, Event.CORROBORATED, Event.CORROBORATED]
    assert api.remember(BOB).status == 201


def test_a_callers_word_for_what_was_inferred_makes_it_asserted(api: Caller, service: FakeService) -> None:
    inferred = infer(service, LISBON).memory
    assert api.recalled(min_trust="asserted") == []
    said = api.remember(LISBON)
    assert (said["id"], said["trust"], said["source"]["channel"]) == (inferred.id, "asserted", "extract")
    assert api.recalled(min_trust="asserted") == [LISBON]
    assert api.history(inferred.id)["versions"][0]["trust"] == "inferred"


def test_a_models_word_lowers_nothing(api: Caller, service: FakeService) -> None:
    memory = api.remember(LISBON)
    api.decide(memory["id"])
    assert infer(service, LISBON).memory.trust == "verified"
    assert infer(service, LISBON).memory.version == 3
    assert [source["channel"] for source in api.get(memory["id"])["corroborations"]] == ["extract"]


def test_a_correction_is_its_callers_word(api: Caller, service: FakeService) -> None:
    inferred = infer(service, LISBON).memory
    verified = api.remember(BOB)
    api.decide(verified["id"])
    assert api.correct(inferred.id, PORTO)["trust"] == "asserted"
    assert api.correct(verified["id"], "Bob lives in Faro.", version=2)["trust"] == "asserted"


def test_recalls_raise_nothing(api: Caller, service: FakeService) -> None:
    infer(service, LISBON)
    before = service.dump()
    for _ in range(50):
        api.recall()
    assert service.dump() == before
