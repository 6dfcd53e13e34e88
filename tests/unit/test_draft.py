"""The one write path: a change with its link in the chain, on the head that was read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.fakes import FakeService
from tests.support.http import ADMIN
from tests.support.samples import AT, memory
from unsay_core.application.digests import keyed_wording
from unsay_core.application.draft import TIDIED_EVERY, Draft
from unsay_core.application.ledger import HEAD, NEW_HEAD, Area, Head, Pending, Work, audit_ref, memory_ref
from unsay_core.application.ports import ConflictError, OpenScope
from unsay_core.domain.audit import GENESIS, Event, Happening, entry_hash
from unsay_core.domain.memory import Because
from unsay_core.domain.scope import Action, Scope

HAPPENED = Happening(Event.REMEMBERED)


@pytest.fixture
def opened() -> OpenScope:
    return FakeService().open_scope(ADMIN, Scope.parse("s"), Action.WRITE)


def draft(opened: OpenScope) -> Draft:
    return Draft(opened, AT)


def commit(opened: OpenScope) -> None:
    one = draft(opened)
    one.record(HAPPENED)
    one.commit()


def head(opened: OpenScope) -> Head:
    found = opened.ledger.read([HEAD]).get(HEAD)
    assert found is not None
    return found


def test_the_first_change_begins_the_chain(opened: OpenScope) -> None:
    commit(opened)
    entry = opened.ledger.read([audit_ref(1)]).get(audit_ref(1))
    assert entry is not None
    assert (entry.seq, entry.prev, entry.hash) == (1, GENESIS, entry_hash(entry))
    begun = replace(NEW_HEAD, seq=1, hash=entry.hash, scope="s", tidy_at=AT + TIDIED_EVERY)
    assert head(opened) == begun


def test_each_change_is_bound_to_the_one_before(opened: OpenScope) -> None:
    commit(opened)
    before = head(opened)
    commit(opened)
    entry = opened.ledger.read([audit_ref(2)]).get(audit_ref(2))
    assert entry is not None
    assert entry.prev == before.hash
    assert (entry.actor, entry.at) == (ADMIN.id, AT)


def test_of_two_drafts_on_one_head_one_commits(opened: OpenScope) -> None:
    for _ in range(2):  # on an empty scope, and on one that has a head
        first, second = draft(opened), draft(opened)
        for each in (first, second):
            each.believe(memory(first.seq))
            each.record(HAPPENED)
        first.commit()
        with pytest.raises(ConflictError):
            second.commit()
    assert head(opened).seq == 2
    assert len(opened.ledger.page(Area.AUDIT, limit=9)) == 2


def test_a_draft_that_loses_leaves_nothing(opened: OpenScope) -> None:
    late = draft(opened)
    late.believe(memory(1))
    late.record(HAPPENED)
    commit(opened)
    with pytest.raises(ConflictError):
        late.commit()
    assert opened.ledger.page(Area.MEMORY, limit=9) == []
    assert opened.ledger.page(Area.PENDING, limit=9) == []


def test_believing_owes_the_projections_and_counts(opened: OpenScope) -> None:
    one = draft(opened)
    one.believe(memory(1))
    one.record(HAPPENED)
    one.commit()
    assert opened.ledger.page(Area.PENDING, limit=9) == [
        Pending(
            memory(1).id,
            1,
            Work.PUT,
            fact=memory(1).fact,
            scope="s",
            root_id=opened.root_id,
            words=keyed_wording(opened.keys, memory(1).fact.content),
            at=AT,
        )
    ]
    assert head(opened).memories == 1


def test_erasing_leaves_only_what_is_owed(opened: OpenScope) -> None:
    one = draft(opened)
    one.believe(memory(1))
    one.record(HAPPENED)
    one.commit()
    two = draft(opened)
    old = two.get(memory_ref(memory(1).id))
    assert old is not None
    two.supersede(old, by=memory(2, "Porto."), because=Because.CHANGED)
    two.believe(memory(2, "Porto."))
    two.record(HAPPENED)
    two.commit()
    three = draft(opened)
    for ref in (memory_ref(memory(1).id), memory_ref(memory(2).id)):
        found = three.get(ref)
        assert found is not None
        three.erase_versions(found.id, range(1, found.version))
        three.erase(found)
    three.new_epoch()
    three.record(replace(HAPPENED, event=Event.FORGOTTEN))
    three.commit()
    for area in (Area.MEMORY, Area.VERSION, Area.DUPLICATE):
        assert opened.ledger.page(area, limit=9) == [], area
    owed = opened.ledger.page(Area.PENDING, limit=9)
    assert owed == [Pending(memory(n).id, 3, Work.DELETE, root_id=opened.root_id, at=AT) for n in (1, 2)]
    assert (head(opened).memories, head(opened).epoch) == (0, 1)
