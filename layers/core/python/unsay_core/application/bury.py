"""Bury: what a memory says, and ever said, is not learned again."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from unsay_core.application.digests import value_digest
from unsay_core.application.ledger import value_tombstone_ref
from unsay_core.application.settle import change
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.memory import Memory, Reason
from unsay_core.domain.tombstone import Tombstone, TombstoneKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unsay_core.application.draft import Draft
    from unsay_core.application.ports import OpenScope, World

T = TypeVar("T")

WITH_AN_ACT = 20  # former values buried in the transaction of what takes the memory back
STRETCH = 80  # and in one transaction before it, where there are more


class _MoreToBuryError(Exception):
    """An act has to bury more than its transaction holds; these go before it."""

    def __init__(self, memory_id: str, reason: Reason, digests: Sequence[str]) -> None:
        super().__init__(f"{len(digests)} former values more")
        self.memory_id, self.reason, self.digests = memory_id, reason, digests


def burying(act: Callable[[], T], opened: OpenScope, world: World) -> T:
    """Run an act that buries what a memory said; of very many values, most are buried before it.

    In that order, because one that was left over would be forgotten about. If the act then fails, the current
    words are as free as they were: what is dead are former ones, which whoever may act wanted dead.
    """
    while True:
        try:
            return act()
        except _MoreToBuryError as more:
            _bury_ahead(more, opened, world)


def bury_values(draft: Draft, old: Memory, reason: Reason, opened: OpenScope, *, but: str = "") -> None:
    """Tombstone what a memory says and said, in the name of the next audit entry; `but` this content.

    Its former wordings too, or an edit would be a way to keep alive what is then taken back. What an item
    says is a record, and no belief to bury. Called by an act that runs in `burying`.
    """
    if old.fact.is_item:
        return
    spared = value_digest(opened.keys, but) if but else None
    draft.load(*map(value_tombstone_ref, old.earlier_values))
    former = [digest for digest in old.earlier_values if digest != spared and not _stands(draft, digest)]
    if len(former) > WITH_AN_ACT:
        raise _MoreToBuryError(old.id, reason, former[:-WITH_AN_ACT])
    current = value_digest(opened.keys, old.fact.content)
    draft.load(value_tombstone_ref(current))
    for digest in dict.fromkeys([*former, *([current] if current != spared else [])]):
        _dig(draft, digest, reason, opened)


def _bury_ahead(more: _MoreToBuryError, opened: OpenScope, world: World) -> None:
    for at in range(0, len(more.digests), STRETCH):
        digests = more.digests[at : at + STRETCH]

        def bury(draft: Draft, digests: Sequence[str] = digests) -> None:
            for digest in digests:
                _dig(draft, digest, more.reason, opened)
            draft.record(Happening(Event.BURIED, more.memory_id, reason=more.reason.value))

        change(bury, opened, world, lambda digests=digests: map(value_tombstone_ref, digests))  # type: ignore[misc]


def _stands(draft: Draft, digest: str) -> bool:
    grave = draft.get(value_tombstone_ref(digest))
    return grave is not None and not grave.lifted


def _dig(draft: Draft, digest: str, reason: Reason, opened: OpenScope) -> None:
    known = draft.get(value_tombstone_ref(digest))
    hits, actor = known.hits if known else 0, opened.principal.id
    draft.put(Tombstone(digest, TombstoneKind.VALUE, draft.at, actor, reason, seq=draft.seq, hits=hits))
