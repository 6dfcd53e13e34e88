"""A backup brings nothing back: what was taken back since is taken away again before anybody reads."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.fakes import FakeService, MemoryGraves
from tests.support.http import ADMIN, Caller
from unsay_core.application.graves import note_tombstone
from unsay_core.application.ledger import Area, ref_of
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
            note_tombstone(ref_of(tombstone).id, self.ledger, self.graves)

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
