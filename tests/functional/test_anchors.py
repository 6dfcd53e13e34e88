"""Heads of the chain are anchored as they are streamed, and the chain is held against them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.fakes import FakeService, MemoryAnchors
from tests.support.http import Caller
from unsay_core.adapters.memory_ledger import MemoryLedger
from unsay_core.application import anchor as anchoring
from unsay_core.application import verify_audit
from unsay_core.application.anchor import anchor_head
from unsay_core.application.ledger import HEAD, Area, Delete, Head, Put, audit_ref
from unsay_core.domain.audit import AuditEntry, sealed
from unsay_core.domain.errors import UnavailableError

SCOPE = "acme/alice"
LENGTH = 8
ANCHORED = (2, 5, 8)


class Chain:
    """Eight entries of one scope, some of them anchored, and somebody who can write anywhere but there."""

    def __init__(self, service: FakeService, api: Caller) -> None:
        for number in range(LENGTH):
            api.remember(f"Fact {number}.", SCOPE)
        self.service, self.api = service, api
        self.id = service.keyring.scope_id(SCOPE)
        for seq in ANCHORED:
            self.anchor(seq)

    @property
    def ledger(self) -> MemoryLedger:
        return self.service.ledgers[self.id]

    @property
    def anchors(self) -> MemoryAnchors:
        return self.service.anchors[self.id]

    def anchor(self, seq: int) -> None:
        anchor_head(seq, self.service.project_scope(self.id))

    def entries(self) -> list[AuditEntry]:
        return [each for each in self.ledger.page(Area.AUDIT, limit=1000) if isinstance(each, AuditEntry)]

    def forge_from(self, seq: int) -> None:
        """Everything from an entry on anew, consistent in itself."""
        entries = self.entries()
        previous = entries[seq - 1].prev
        for entry in entries[seq - 1 :]:
            forged = sealed(replace(entry, actor="key_somebody", prev=previous))
            self.ledger.commit((Put(forged),))
            previous = forged.hash
        self.end_at(len(entries))

    def cut_after(self, seq: int) -> None:
        self.ledger.commit(tuple(Delete(audit_ref(each)) for each in range(seq + 1, LENGTH + 1)))
        self.end_at(seq)

    def end_at(self, seq: int) -> None:
        """Let the head name an entry as the last."""
        head = self.ledger.read([HEAD]).get(HEAD) or Head()
        hash = self.entries()[seq - 1].hash if seq else Head().hash
        self.ledger.commit((Put(replace(head, seq=seq, hash=hash)),))

    def verdict(self, **query: int) -> tuple[bool, int | None]:
        found = self.api.verify(SCOPE, **query)
        assert found.status == 200, found.text
        return found["ok"], found["first_bad"]


@pytest.fixture
def chain(service: FakeService, api: Caller) -> Chain:
    """The chain, which holds until somebody touches it."""
    found = Chain(service, api)
    assert found.verdict() == (True, None)
    return found


def test_the_newest_anchor_is_named_with_its_time_and_place(chain: Chain) -> None:
    chain.api.remember("Not anchored yet.", SCOPE)
    found = chain.api.verify(SCOPE)
    entry = chain.entries()[LENGTH - 1]
    at = chain.anchors.objects[LENGTH, entry.hash]
    assert found["length"] == LENGTH + 1
    assert found["anchored"] == {
        "seq": LENGTH,
        "at": at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "location": f"memory:{LENGTH:012d}-{entry.hash}",
    }


def test_where_nothing_is_anchored_the_chain_is_verified_by_itself(api: Caller) -> None:
    api.remember("x", "t")
    found = api.verify("t")
    assert (found["ok"], found["anchored"]) == (True, None)


@pytest.mark.parametrize(("forged", "first_bad"), [(1, 2), (2, 2), (3, 5), (5, 5), (6, 8), (8, 8)])
def test_a_chain_made_anew_is_found_at_the_first_anchor_it_contradicts(
    chain: Chain, forged: int, first_bad: int
) -> None:
    chain.forge_from(forged)
    assert chain.verdict() == (False, first_bad)


def test_what_was_made_anew_beyond_the_last_anchor_cannot_be_told(chain: Chain) -> None:
    chain.api.remember("Not anchored yet.", SCOPE)
    chain.forge_from(LENGTH + 1)
    assert chain.verdict() == (True, None)


@pytest.mark.parametrize("left", [0, 1, 5, 7])
def test_a_tail_that_was_anchored_and_is_gone_is_found(chain: Chain, left: int) -> None:
    chain.cut_after(left)
    assert chain.verdict() == (False, left + 1)


def test_a_scope_that_was_emptied_whole_is_found(chain: Chain) -> None:
    chain.cut_after(0)
    chain.ledger.commit((Delete(HEAD),))
    assert chain.verdict() == (False, 1)


def test_a_tail_that_was_cut_and_grown_again_is_found(chain: Chain) -> None:
    chain.cut_after(4)
    for number in range(6):
        chain.api.remember(f"Another fact {number}.", SCOPE)
    assert chain.verdict() == (False, 5)


def test_an_entry_that_is_anchored_with_two_hashes_is_a_fork(chain: Chain) -> None:
    chain.anchors.put(5, "f" * 64)
    assert chain.verdict() == (False, 5)
    chain.anchors.put(2, "f" * 64)
    assert chain.verdict() == (False, 2)


def test_the_first_of_what_chain_and_anchors_find_is_told(chain: Chain) -> None:
    chain.anchors.put(5, "f" * 64)
    chain.ledger.commit((Delete(audit_ref(3)),))
    assert chain.verdict() == (False, 3)
    chain.anchors.put(2, "f" * 64)
    assert chain.verdict() == (False, 2)


def test_a_walk_in_parts_holds_each_part_against_its_anchors(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_audit, "MOST", 3)
    chain.forge_from(3)
    first = chain.api.verify(SCOPE)
    assert (first["ok"], first["complete"], first["next"], first["anchored"]["seq"]) == (True, False, 4, 8)
    assert chain.verdict(**{"from": 4}) == (False, 5)
    assert chain.verdict(**{"from": 6}) == (False, 8)


@pytest.mark.parametrize("start", [1, 6, 9])
def test_the_newest_anchor_is_found_however_far_back_it_lies(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, start: int
) -> None:
    monkeypatch.setattr(anchoring, "WINDOW", 1)
    for number in range(5):
        chain.api.remember(f"Not anchored {number}.", SCOPE)
    assert chain.api.verify(SCOPE, **{"from": start})["anchored"]["seq"] == 8


def test_entries_that_come_while_anchors_are_read_are_no_missing_tail(chain: Chain) -> None:
    since = chain.anchors.since

    def meanwhile(seq: int) -> object:
        chain.anchors.since = since  # type: ignore[method-assign]
        chain.api.remember("Just now.", SCOPE)
        chain.anchor(LENGTH + 1)
        return since(seq)

    chain.anchors.since = meanwhile  # type: ignore[assignment,method-assign]
    found = chain.api.verify(SCOPE)
    assert (found["ok"], found["length"], found["anchored"]["seq"]) == (True, LENGTH, LENGTH + 1)


def test_while_the_anchors_are_out_of_reach_nothing_is_called_whole(chain: Chain) -> None:
    chain.anchors.down = UnavailableError("the anchors cannot be reached")
    answer = chain.api.verify(SCOPE)
    assert (answer.status, answer.code) == (503, "unavailable")
    chain.anchors.down = None
    assert chain.verdict() == (True, None)


def test_an_entry_that_is_gone_is_not_anchored(chain: Chain) -> None:
    before = dict(chain.anchors.objects)
    chain.anchor(LENGTH + 1)
    assert chain.anchors.objects == before


def test_anchoring_again_changes_nothing(chain: Chain, service: FakeService) -> None:
    before = dict(chain.anchors.objects)
    service.clock.sleep(60)
    chain.anchor(5)
    assert chain.anchors.objects == before
