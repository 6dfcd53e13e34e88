"""What no write may bring in: credentials, and values that were taken back.

A refusal is itself an event of the scope, audited without the text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from unsay_core.application.digests import duplicate_digest, value_digests
from unsay_core.application.fenced import FencedLedger
from unsay_core.application.ledger import duplicate_ref, value_tombstone_ref
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.errors import SecretRefusedError, TombstonedError, UnsayError
from unsay_core.domain.timeline import rfc3339
from unsay_core.domain.tombstone import TombstoneKind
from unsay_core.extraction.credentials import find_credential, find_in_json
from unsay_core.metrics import TOMBSTONE_HITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unsay_core.application.draft import Draft
    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.domain.memory import Fact
    from unsay_core.domain.tombstone import Tombstone

RESTATED = "restates_tombstoned"  # the user said anew what was taken back


def tombstone_refs(opened: OpenScope, content: str) -> list[Ref[Tombstone]]:
    """Where a value's tombstone would lie, one place for each normaliser that ever buried a value.

    No content, which an item may have, is no value.
    """
    return [value_tombstone_ref(digest) for digest in value_digests(opened.keys, content) if content]


def standing_tombstones(draft: Draft, opened: OpenScope, content: str) -> list[Tombstone]:
    """The tombstones that forbid a value; a lifted one does not.

    The change relies on what was found: one that was dug meanwhile stops it.
    """
    refs = tombstone_refs(opened, content)
    draft.load(*refs)
    for ref in refs:
        draft.rely_on(ref)
    return [grave for ref in refs if (grave := draft.get(ref)) and not grave.lifted]


def refuse_forbidden(
    draft: Draft, opened: OpenScope, fact: Fact, *said: str | None, restated: bool = False
) -> None:
    """Raise if any field of a write carries a credential, or its value was taken back.

    What the user `restated` since is let through: a person decides on it. The refusal is on the draft by
    then: whoever catches the error commits it.
    """
    texts = (fact.content, *fact.tags, fact.key, *fact.path, *said)
    refuse_secrets(draft, *texts, others=[fact.data, fact.metadata])
    if not restated:
        refuse_tombstoned(draft, standing_tombstones(draft, opened, fact.content))
        _refuse_fenced(draft, opened, fact)


def _refuse_fenced(draft: Draft, opened: OpenScope, fact: Fact) -> None:
    """Raise if what says exactly this is being erased; its tombstone is about to be dug."""
    ledger = opened.ledger
    if fact.is_item or not draft.head.fences or not isinstance(ledger, FencedLedger):
        return
    known = draft.get(duplicate_ref(duplicate_digest(opened.keys, fact)))
    fence = ledger.fence_over(known.memory_id) if known else None
    if fence is not None and fence.bury is TombstoneKind.VALUE:
        refusal = TombstonedError(tombstoned_at=rfc3339(fence.at), reason=fence.reason.value)
        _refuse(draft, "tombstoned", refusal)


def refuse_secrets(draft: Draft, *texts: str | None, others: object = None) -> None:
    """Raise if a text, or other JSON, holds a credential, and its root's policy does not allow any."""
    is_found = any(find_credential(text) for text in texts if text) or find_in_json(others)
    if is_found and not draft.allows_secrets:
        _refuse(draft, "secret", SecretRefusedError("a field of this write looks like a credential"))


def refuse_tombstoned(draft: Draft, graves: Sequence[Tombstone]) -> None:
    """Raise if there is a tombstone in the way, and count that it was."""
    for grave in graves:
        draft.put(replace(grave, hits=grave.hits + 1, seq=draft.seq))
        refusal = TombstonedError(tombstoned_at=rfc3339(grave.at), reason=grave.reason.value)
        _refuse(draft, "tombstoned", refusal)


def _refuse(draft: Draft, reason: str, refusal: UnsayError) -> NoReturn:
    draft.record(Happening(Event.REFUSED, reason=reason))
    raise PolicyError(refusal)


class PolicyError(Exception):
    """A write that policy refused; `refusal` is what the caller is told once it has been audited."""

    def __init__(self, refusal: UnsayError) -> None:
        super().__init__(refusal.code)
        self.refusal = refusal


def tell_refused(refused: PolicyError, channel: str, world: World) -> UnsayError:
    """The refusal; if it is a tombstone's, it is counted by the way on which the value came."""
    if isinstance(refused.refusal, TombstonedError):
        world.signals.tell(TOMBSTONE_HITS, channel=channel)
    return refused.refusal
