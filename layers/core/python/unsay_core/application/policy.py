"""What no write may bring in: credentials, and values that were taken back.

A refusal is itself an event of the scope, audited without the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.draft import Draft
from unsay_core.application.settle import settle
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.credentials import find_credential, find_in_json
from unsay_core.domain.errors import SecretRefusedError, TombstonedError
from unsay_core.domain.ledger import HEAD
from unsay_core.domain.timeline import rfc3339

if TYPE_CHECKING:
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.domain.ledger import Tombstone
    from unsay_core.domain.memory import Fact


def refuse_credentials(fact: Fact, *extra: str | None, opened: OpenScope, world: World) -> None:
    """Raise `SecretRefusedError` if any field of a write carries a credential."""
    texts = [fact.content, *fact.tags, *(text for text in (fact.key, *extra) if text)]
    if not (any(map(find_credential, texts)) or find_in_json([fact.data, fact.metadata])):
        return
    audit_refusal(opened, world, reason="secret")
    raise SecretRefusedError("a field of this write looks like a credential; nothing was stored")


def refuse_tombstoned(tombstone: Tombstone | None, *, opened: OpenScope, world: World) -> None:
    """Raise `TombstonedError` if the value was taken back and not given free again."""
    if tombstone is None or tombstone.lifted:
        return
    audit_refusal(opened, world, reason="tombstoned")
    raise TombstonedError(tombstoned_at=rfc3339(tombstone.at), reason=tombstone.reason.value)


def audit_refusal(opened: OpenScope, world: World, *, reason: str) -> None:
    """Record that a write was refused, without what it said."""

    def attempt() -> None:
        draft = Draft(opened, opened.ledger.read([HEAD]), world.clock.now())
        draft.seal(Happening(Event.REFUSED, reason=reason))
        draft.commit()

    settle(attempt, world)
