"""Rebuild the projections from the ledger, in place: every document and every index entry anew."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from unsay_core.application.ledger import Area, Ref, memory_ref
from unsay_core.application.pages import Page, page_of
from unsay_core.application.settle import change
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from unsay_core.application.draft import Draft
    from unsay_core.application.ports import Documents, OpenScope, World
    from unsay_core.domain.scope import Scope

AT_ONCE = 90  # memories in one transaction, each with its marker


@dataclass(frozen=True, slots=True)
class Reached:
    """The last memory of a scope that a rebuild has asked for."""

    scope: str
    memory_id: str


class Bookmark(Protocol):
    """Where a rebuild of every scope goes on after an interruption."""

    def read(self) -> Reached | None:
        """How far the last one came that did not end."""

    def put(self, reached: Reached) -> None:
        """Remember how far this one has come."""

    def remove(self) -> None:
        """It has ended."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """How far a rebuild is: scopes done, and memories that were asked for in this run."""

    scopes: int
    memories: int


def rebuild_all(
    scopes: Sequence[Scope],
    open_scope: Callable[[Scope], tuple[OpenScope, Documents]],
    world: World,
    bookmark: Bookmark,
) -> Iterator[Rebuilt]:
    """Rebuild scope after scope, from where the last run was interrupted; yields how far it is."""
    begun = bookmark.read()
    names = [scope.canonical for scope in scopes]
    left = list(scopes[names.index(begun.scope) :]) if begun and begun.scope in names else list(scopes)
    memories = 0
    for number, scope in enumerate(left, start=len(scopes) - len(left) + 1):
        after = begun.memory_id if begun and begun.scope == scope.canonical else None
        opened, documents = open_scope(scope)
        for reached, count in reindex(opened, world, after=after):
            bookmark.put(Reached(scope.canonical, reached))
            memories += count
            yield Rebuilt(number - 1, memories)
        remove_orphans(opened, documents)
        yield Rebuilt(number, memories)
    bookmark.remove()


def reindex(opened: OpenScope, world: World, *, after: str | None = None) -> Iterator[tuple[str, int]]:
    """Owe the projections every memory again; yields the id reached, and how many that were.

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
            yield after, len(page.entries)


def remove_orphans(opened: OpenScope, documents: Documents) -> None:
    """Remove the documents of memories that the ledger does not have.

    They are listed first: a memory is in the ledger before its document is, and an id never comes again.
    """
    listed = documents.listed()
    while stretch := list(islice(listed, AT_ONCE)):
        there = opened.ledger.read([memory_ref(memory_id) for memory_id in stretch])
        if gone := [each for each in stretch if there.get(memory_ref(each)) is None]:
            documents.delete(gone)


def _owe(refs: list[Ref[Memory]], opened: OpenScope, world: World) -> None:
    def decide(draft: Draft) -> None:
        for ref in refs:
            memory = draft.get(ref)
            if memory is not None:  # else it was forgotten meanwhile
                draft.owe(memory)
        draft.record(Happening(Event.REINDEXED, channel="admin"))

    change(decide, opened, world, lambda: refs)
