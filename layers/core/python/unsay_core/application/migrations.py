"""Migrations: what an earlier release left in a form that this one reads, and can do more with in its own.

Each is a step for one scope that changes nothing the second time. It runs beside the live service, releases
before and after this one included: what a writer of the earlier release undoes, another pass does again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unsay_core.application.draft import Draft
from unsay_core.application.ledger import HEAD, Area
from unsay_core.application.pages import page_of
from unsay_core.application.reindex import Reached
from unsay_core.application.settle import settle
from unsay_core.domain.errors import BusyError
from unsay_core.domain.memory import Memory, Status
from unsay_core.domain.quota import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from unsay_core.application.pages import Page
    from unsay_core.application.ports import Ledger, OpenScope, World
    from unsay_core.application.reindex import Bookmark
    from unsay_core.domain.scope import Scope

AT_ONCE = 200  # memories in one read
PASSES_MOST = 10  # over all scopes, while others undo some of it or are in the way


@dataclass(frozen=True, slots=True)
class Migration:
    """One change of form; `step` brings a scope to it and says whether anything was left to do."""

    number: int
    name: str
    step: Callable[[OpenScope, World], bool]


@dataclass(frozen=True, slots=True)
class Migrated:
    """How far a migration is: scopes done in this pass, how many it changed, and how many were too busy."""

    scopes: int
    changed: int = 0
    busy: int = 0

    @property
    def is_settled(self) -> bool:
        """True if a pass found nothing to do."""
        return not (self.changed or self.busy)


def migrate(
    migration: Migration,
    scopes: Sequence[Scope],
    open_scope: Callable[[Scope], OpenScope],
    world: World,
    bookmark: Bookmark,
) -> Iterator[Migrated]:
    """Bring scope after scope to a form, from where the last run was interrupted; yields how far it is.

    It ends with a pass that finds nothing to do, or after some ten of them.
    """
    names = [scope.canonical for scope in scopes]
    begun = bookmark.read()
    start = names.index(begun.scope) + 1 if begun and begun.scope in names else 0
    for _ in range(PASSES_MOST):
        done = Migrated(start, changed=1 if start else 0)  # who begins in the middle has not seen the rest
        for scope in scopes[start:]:
            done = _one(migration, open_scope(scope), world, done)
            bookmark.put(Reached(scope.canonical, ""))
            yield done
        start = 0
        bookmark.remove()
        if done.is_settled:
            return


def _one(migration: Migration, opened: OpenScope, world: World, done: Migrated) -> Migrated:
    try:
        changed = migration.step(opened, world)
    except BusyError:
        return Migrated(done.scopes + 1, done.changed, done.busy + 1)
    return Migrated(done.scopes + 1, done.changed + changed, done.busy)


def count_usage(opened: OpenScope, world: World) -> bool:
    """Count what a scope holds into its head, which releases before quotas did not."""

    def attempt() -> bool:
        draft = Draft(opened, world.clock.now())
        head = draft.get(HEAD)
        if head is None or head.usage is not None:
            return False
        draft.adopt(Usage(bytes=sum(map(_weight, _memories(opened.ledger)))))
        draft.commit()
        return True

    return settle(attempt, world)


def _weight(memory: Memory) -> int:
    return memory.fact.weight if memory.status is Status.ACTIVE else 0


def _memories(ledger: Ledger) -> Iterator[Memory]:
    after: str | None = None
    while True:
        page: Page[Memory] = page_of(ledger, Area.MEMORY, after=after, limit=AT_ONCE)
        yield from page.entries
        if page.next_after is None:
            return
        after = page.next_after


MIGRATIONS = (Migration(1, "count what each scope holds", count_usage),)
