"""Rebuild the projections of a scope from its ledger: every document and every index entry anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.ledger import Area, Ref, memory_ref
from unsay_core.application.pages import Page, page_of
from unsay_core.application.settle import change
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unsay_core.application.draft import Draft
    from unsay_core.application.ports import OpenScope, World

AT_ONCE = 90  # memories in one transaction, each with its marker


def reindex(opened: OpenScope, world: World, *, after: str | None = None) -> Iterator[str]:
    """Owe the projections every memory again; yields the id reached, to go on from after an interruption.

    What each memory is owed is written by the one write path, with an audit entry for every step, so that
    rebuilding is seen, and cannot lose to a change that runs beside it.
    """
    more = True
    while more:
        page: Page[Memory] = page_of(opened.ledger, Area.MEMORY, after=after, limit=AT_ONCE)
        more = page.next_after is not None
        if page.entries:
            after = page.entries[-1].id
            _owe([memory_ref(memory.id) for memory in page.entries], opened, world)
            yield after


def _owe(refs: list[Ref[Memory]], opened: OpenScope, world: World) -> None:
    def decide(draft: Draft) -> None:
        for ref in refs:
            memory = draft.get(ref)
            if memory is not None:  # else it was forgotten meanwhile
                draft.owe(memory)
        draft.record(Happening(Event.REINDEXED, channel="admin"))

    change(decide, opened, world, lambda: refs)
