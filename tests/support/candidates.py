"""Candidates as a channel that infers makes them; no call of the API does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.http import ADMIN
from unsay_core.application.draft import Draft
from unsay_core.application.policy import RESTATED
from unsay_core.application.remember import Remember, remember, store_candidate
from unsay_core.domain.memory import Fact, Memory, Source, Trust
from unsay_core.domain.scope import Action, Scope

if TYPE_CHECKING:
    from tests.support.fakes import FakeService
    from unsay_core.application.replay import Written


def infer(service: FakeService, content: str, scope: str = "acme/alice", **fact: Any) -> Written:
    """What a model concluded: at once, or as a candidate if it would replace what it may not."""
    opened = service.open_scope(ADMIN, Scope.parse(scope), Action.WRITE)
    command = Remember(Fact(content, **fact), channel="extract", trust=Trust.INFERRED)
    return remember(command, opened, service.world)


def candidate(
    service: FakeService, content: str, reason: str = RESTATED, scope: str = "acme/alice", **fact: Any
) -> Memory:
    """What waits for a person from the start, for a reason."""
    opened = service.open_scope(ADMIN, Scope.parse(scope), Action.WRITE)
    draft = Draft(opened, service.clock.now())
    memory = Memory(
        id=service.world.new_id("mem"),
        fact=Fact(content, **fact),
        source=Source("extract", ADMIN.id, run_id="run1", message_seqs=(3,)),
        trust=Trust.INFERRED,
        recorded_at=draft.at,
        updated_at=draft.at,
        nonce=service.world.new_nonce(),
    )
    stored = store_candidate(memory, (reason,), draft)
    draft.commit()
    return stored
