"""Conversations that were erased and that a backup brought back: they go, and nothing rests on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unsay_core.application.conversations import run_happening
from unsay_core.application.draft import Draft
from unsay_core.application.erase_group import weaken
from unsay_core.application.erase_run import parts_of
from unsay_core.application.ledger import Area, memory_ref, ref_of, run_ref
from unsay_core.application.pages import Page, page_of
from unsay_core.application.settle import change, settle
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.lifecycle import Act, may
from unsay_core.domain.values import dataclass
from unsay_core.extraction.conversation import Message, Run
from unsay_core.jobs.selection import sources_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.domain.memory import Memory, Source

AT_ONCE = 80  # parts of a conversation, and versions of a memory, in one transaction
PAGE = 100


@dataclass(frozen=True, slots=True)
class ErasedRuns:
    """When conversations were erased: each, by its digest, and all that had begun until `whole_until`."""

    runs: Mapping[str, datetime]
    whole_until: datetime | None

    def took(self, run_id: str, begun: datetime, opened: OpenScope) -> bool:
        """True if what began in a conversation at some time was erased with it."""
        erased_at = self.runs.get(opened.keys.run_digest(run_id))
        return any(until is not None and begun <= until for until in (erased_at, self.whole_until))


def erase_runs_again(erased: ErasedRuns, opened: OpenScope, world: World) -> int:
    """Remove the conversations; returns how many messages they had."""
    after, count = None, 0
    while True:
        page: Page[Run] = page_of(
            opened.ledger, Area.CONVERSATION, limit=PAGE, after=after, wanted=lambda e: isinstance(e, Run)
        )
        for run in page.entries:
            if erased.took(run.run_id, run.started_at, opened):
                count += _erase_run(run.run_id, opened, world)
        if page.next_after is None:
            return count
        after = page.next_after


def _erase_run(run_id: str, opened: OpenScope, world: World) -> int:
    """Its parts some at a time, and at last itself."""
    count = 0
    while True:
        parts = parts_of(run_id, opened.ledger, AT_ONCE)
        refs = [*map(ref_of, parts)] or [run_ref(run_id)]

        def remove(draft: Draft, refs: Sequence[Ref[Any]] = refs) -> None:
            for ref in refs:
                draft.delete(ref)
            draft.record(run_happening(Event.ERASED, run_id, opened, channel="restore"))

        change(remove, opened, world, lambda refs=refs: refs)  # type: ignore[misc]
        if not parts:
            return count
        count += sum(isinstance(part, Message) for part in parts)


def leave_runs(memory: Memory, erased: ErasedRuns, opened: OpenScope, world: World) -> int:
    """Let a memory rest on nothing but what else supports it; 1 if it rested on an erased conversation."""

    def is_kept(source: Source) -> bool:
        return source.run_id is None or not erased.took(source.run_id, memory.updated_at, opened)

    kept = list(filter(is_kept, sources_of(memory)))
    if not kept or len(kept) == len(sources_of(memory)):
        return 0
    settle(lambda: _rest_on(kept, memory.id, opened, world), world)
    return 1


def _rest_on(kept: Sequence[Source], memory_id: str, opened: OpenScope, world: World) -> None:
    draft = Draft(opened, world.clock.now(), [memory_ref(memory_id)])
    memory = draft.get(memory_ref(memory_id))
    if memory is None:
        return
    for start in range(1, memory.version - AT_ONCE, AT_ONCE):
        ahead = Draft(opened, world.clock.now())
        ahead.erase_versions(memory_id, range(start, start + AT_ONCE))
        ahead.commit()
    changes = {"source": kept[0], "corroborations": tuple(kept[1:])}
    if may(memory, Act.WEAKEN, draft.at):
        weaken(memory, draft, **changes)
        draft.record(Happening(Event.WEAKENED, related=(memory_id,), channel="restore"))
    else:
        draft.change(memory, memory.next_version(draft.at, memory.status, **changes))
        draft.record(Happening(Event.REDACTED, memory_id, channel="restore"))
    draft.erase_versions(memory_id, range(max(1, memory.version - AT_ONCE), memory.version + 1))
    draft.commit()
