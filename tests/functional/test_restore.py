"""A backup brings nothing back: what was taken back since is taken away again before anybody reads."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.erasing import Eraser
from tests.support.fakes import FakeService, MemoryGraves
from tests.support.http import ADMIN, Caller
from unsay_core.application.graves import note_tombstones
from unsay_core.application.ledger import SCOPE_TOMBSTONE, Area, ref_of
from unsay_core.application.restore import Restored, check_restored, follow_chain
from unsay_core.domain.scope import Action, Scope

SCOPE = "acme/alice"
RECORD = (Area.TOMBSTONE, Area.AUDIT)


class Cloud:
    """A service whose tombstones are noted as the stream would, and whose ledger can be put back."""

    def __init__(self, service: FakeService) -> None:
        self.service = service
        self.api = Caller(service)
        self.graves = MemoryGraves()

    @property
    def ledger(self) -> Any:
        return self.service.ledgers[self.service.keyring.scope_id(SCOPE)]

    def note(self) -> None:
        for tombstone in self.ledger.page(Area.TOMBSTONE, limit=10_000):
            note_tombstones([ref_of(tombstone).id], self.ledger, self.graves)

    def backup(self) -> dict[Any, Any]:
        return copy.deepcopy(self.ledger._entries)

    def restore(self, backup: dict[Any, Any], *, record: bool = False) -> None:
        """The ledger as it was; the record only if that too was lost."""
        now = self.ledger._entries
        kept = {} if record else {ref: entry for ref, entry in now.items() if ref.area in RECORD}
        old = {ref: entry for ref, entry in backup.items() if record or ref.area not in RECORD}
        self.ledger._entries = {**old, **kept}

    def check(self) -> Restored:
        opened = self.service.open_scope(ADMIN, Scope.parse(SCOPE), Action.FORGET)
        return check_restored(self.graves, opened, self.service.world)


@pytest.fixture
def cloud(service: FakeService) -> Cloud:
    return Cloud(service)


@pytest.mark.parametrize("record", [False, True], ids=["the ledger", "ledger and record"])
def test_what_was_forgotten_after_the_backup_is_absent_after_the_check(cloud: Cloud, record: bool) -> None:
    api = cloud.api
    gone = api.remember("Alice hides a cobalt vase.", key="vase", tags=["cobalt"])
    api.edit(gone["id"], content="Alice hides a cobalt jug.")
    api.remember("Derived of the cobalt.", derived_from=[gone["id"]])
    kept = api.remember("Alice lives in Lisbon.")
    backup = cloud.backup()
    api.forget(gone["id"])
    api.remember("Said after the backup.")
    cloud.note()
    cloud.restore(backup, record=record)
    assert api.get(gone["id"]).status == 200, "the control: the backup did bring it back"
    done = cloud.check()
    assert (done.erased, done.tombstones > 0) == (2, record)
    assert api.listed() == [kept["content"]]
    assert "cobalt" not in repr(cloud.ledger._entries)
    for text in ("Alice hides a cobalt vase.", "Alice hides a cobalt jug."):
        assert api.remember(text).code == "tombstoned"
    assert api.remember("Written anew after the check.").status == 201
    if not record:
        assert api.verify()["ok"], "the chain goes on where the record ended"
    assert "scope.restored" in api.events() or record
    assert cloud.check().found_nothing, "a second time finds nothing"


def test_what_was_retracted_after_the_backup_is_believed_no_more(cloud: Cloud) -> None:
    api = cloud.api
    wrong, right = api.remember("Alice is a pilot."), api.remember("Alice is a baker.")
    backup = cloud.backup()
    api.retract(wrong["id"])
    cloud.note()
    cloud.restore(backup)
    assert len(api.listed()) == 2
    assert cloud.check().retracted == 1
    assert api.listed() == [right["content"]]
    assert api.get(wrong["id"])["status"] == "retracted"


def test_what_was_lifted_again_comes_back_and_stays(cloud: Cloud) -> None:
    api = cloud.api
    said = api.remember("Alice is a pilot.")
    api.retract(said["id"])
    cloud.note()
    (grave,) = api.tombstones()["items"]
    api.lift(grave["id"])
    again = api.remember("Alice is a pilot.")
    cloud.note()
    cloud.restore(cloud.backup())
    assert cloud.check().found_nothing
    assert api.get(again["id"])["status"] == "active"


def test_the_words_are_blotted_out_of_the_conversation_they_came_from(cloud: Cloud) -> None:
    api = cloud.api
    message = {"seq": 1, "role": "user", "content": "I keep a saffron box. I like tea."}
    path = "/v1/conversations/run-1/messages"
    api.send("POST", path, {"scope": SCOPE, "messages": [message]})
    backup = cloud.backup()
    told = {"source": {"run_id": "run-1", "message_seqs": [1], "quote": "I keep a saffron box."}}
    gone = api.remember("I keep a saffron box.", **told)
    api.forget(gone["id"])
    cloud.note()
    cloud.restore(backup)
    assert "saffron" in repr(cloud.ledger._entries), "the control"
    assert cloud.check().redacted == 1
    assert "saffron" not in repr(cloud.ledger._entries)
    assert "I like tea." in repr(cloud.ledger._entries)
    assert cloud.check().found_nothing


def test_a_chain_that_lags_goes_on_once(cloud: Cloud) -> None:
    api = cloud.api
    api.remember("one")
    backup = cloud.backup()
    api.remember("two")
    api.remember("three")
    cloud.restore(backup)
    opened = cloud.service.open_scope(ADMIN, Scope.parse(SCOPE), Action.FORGET)
    assert follow_chain(opened, cloud.service.world) == 2
    assert follow_chain(opened, cloud.service.world) == 0
    assert (api.verify()["ok"], api.verify()["length"]) == (True, 4)


def test_hundreds_of_tombstones_are_dug_again_in_stretches(cloud: Cloud) -> None:
    api = cloud.api
    ids = [api.remember(f"fact {n}")["id"] for n in range(60)]
    backup = cloud.backup()
    for memory_id in ids:
        api.forget(memory_id)
    cloud.note()
    cloud.restore(backup, record=True)
    done = cloud.check()
    assert (done.tombstones, done.erased) == (120, 60)
    assert api.listed() == []


@pytest.mark.parametrize("record", [False, True], ids=["the ledger", "ledger and record"])
def test_what_others_have_said_in_the_very_words_of_what_was_forgotten_stays_where_it_was_left(
    cloud: Cloud, record: bool
) -> None:
    api = cloud.api
    gone = api.remember("Alice hides a cobalt vase.")
    others = api.remember("Alice hides a cobalt vase.", key="vase")
    backup = cloud.backup()
    api.forget(gone["id"])
    assert api.get(others["id"])["status"] == "active", "the control: the forget has left it"
    cloud.note()
    cloud.restore(backup, record=record)
    assert cloud.check().erased == 1
    assert api.get(gone["id"]).status == 404
    assert api.get(others["id"])["status"] == "active"
    assert cloud.check().found_nothing


def test_what_others_have_said_in_the_very_words_of_what_was_retracted_is_still_believed(
    cloud: Cloud,
) -> None:
    api = cloud.api
    wrong = api.remember("Alice is a pilot.")
    corrected = api.remember("Alice is a baker.")
    rejected = api.remember("Alice is a cook.")
    others = [
        api.remember(said["content"], key=f"k{number}")["id"]
        for number, said in enumerate((wrong, corrected, rejected))
    ]
    api.dispute(rejected["id"])
    backup = cloud.backup()
    api.retract(wrong["id"])
    api.correct(corrected["id"], "Alice is a tailor.", because="wrong")
    assert api.decide(rejected["id"], "reject", reason="incorrect", version=2).status == 200
    cloud.note()
    cloud.restore(backup)
    assert cloud.check().retracted == 3
    taken_back = [api.get(each["id"])["status"] for each in (wrong, corrected, rejected)]
    assert taken_back == ["retracted"] * 3
    assert [api.get(each)["status"] for each in others] == ["active"] * 3
    assert cloud.check().found_nothing


def test_without_a_record_whoever_says_a_retracted_value_is_believed_no_more(cloud: Cloud) -> None:
    """Nobody knows any more who was retracted: what might have been is not believed."""
    api = cloud.api
    wrong = api.remember("Alice is a pilot.")
    stays = api.remember("Alice is a baker.")
    backup = cloud.backup()
    api.retract(wrong["id"])
    cloud.note()
    cloud.restore(backup, record=True)
    assert cloud.check().retracted == 1
    assert (api.get(wrong["id"])["status"], api.get(stays["id"])["status"]) == ("retracted", "active")
    assert cloud.check().found_nothing


def test_a_conversation_that_was_erased_goes_again_and_another_stays(cloud: Cloud) -> None:
    api = cloud.api
    for run in ("run-1", "run-2"):
        message = {"seq": 1, "role": "user", "content": f"The saffron box of {run}."}
        api.send("POST", f"/v1/conversations/{run}/messages", {"scope": SCOPE, "messages": [message]})
    backup = cloud.backup()
    eraser = Eraser(cloud.service, api)
    eraser.finish(eraser.forget(run_id="run-1"))
    cloud.note()
    cloud.restore(backup)
    assert "saffron box of run-1" in repr(cloud.ledger._entries), "the control"
    cloud.check()
    left = repr([cloud.ledger.page(area, limit=1_000) for area in (Area.CONVERSATION, Area.READY)])
    assert "run-1" not in left
    assert "saffron box of run-2" in left
    assert cloud.check().found_nothing


@pytest.mark.parametrize("record", [False, True], ids=["the ledger", "ledger and record"])
def test_a_scope_that_was_erased_is_empty_again_and_refuses_what_was_said_before(
    cloud: Cloud, record: bool
) -> None:
    api = cloud.api
    api.remember("Alice hides a cobalt vase.")
    message = {"seq": 1, "role": "user", "content": "A cobalt jug, too."}
    api.send("POST", "/v1/conversations/run-1/messages", {"scope": SCOPE, "messages": [message]})
    backup = cloud.backup()
    cloud.service.clock.pass_(seconds=5)
    eraser = Eraser(cloud.service, api)
    eraser.finish(eraser.forget(all=True, confirm=SCOPE))
    cloud.note()
    cloud.restore(backup, record=record)
    assert "cobalt" in repr(cloud.ledger._entries), "the control"
    cloud.check()
    assert "cobalt" not in repr(cloud.ledger._entries)
    assert SCOPE_TOMBSTONE in cloud.ledger._entries
    assert cloud.check().found_nothing


def test_what_others_have_said_too_comes_back_without_the_conversation_that_was_erased(cloud: Cloud) -> None:
    api = cloud.api
    said = {"run_id": "run-1", "message_seqs": [1], "quote": "I have a saffron box."}
    both = api.remember("Alice has a box.", source=said)
    api.remember("Alice has a box.", source={"run_id": "run-2", "message_seqs": [1]})
    lone = api.remember("Alice has a dog.", source={**said, "quote": "My dog likes saffron."})
    backup = cloud.backup()
    cloud.service.clock.pass_(seconds=5)
    message = {"seq": 1, "role": "user", "content": "I have a saffron box."}
    api.send("POST", "/v1/conversations/run-1/messages", {"scope": SCOPE, "messages": [message]})
    eraser = Eraser(cloud.service, api)
    eraser.finish(eraser.forget(run_id="run-1"))
    cloud.note()
    cloud.restore(backup)
    assert "saffron" in repr(cloud.ledger._entries), "the control"
    done = cloud.check()
    assert (done.erased, done.redacted) == (1, 1)
    assert "saffron" not in repr(cloud.ledger._entries)
    assert api.get(lone["id"]).status == 404
    assert api.get(both["id"])["status"] == "candidate"
    assert cloud.check().found_nothing
