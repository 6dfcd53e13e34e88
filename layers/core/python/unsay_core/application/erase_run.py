"""Erasing conversations whole: what was said, the batches, plans and markers, and at last the run itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unsay_core.application.conversations import run_happening
from unsay_core.application.digests import value_digest
from unsay_core.application.draft import Draft
from unsay_core.application.jobs import advance, move
from unsay_core.application.ledger import Area, Ref, erasure_ref, ref_of, run_ref, value_tombstone_ref
from unsay_core.application.settle import settle
from unsay_core.domain.audit import Event
from unsay_core.domain.tombstone import Tombstone, TombstoneKind
from unsay_core.extraction.conversation import Message, Run
from unsay_core.jobs.erasure import Erasure, Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unsay_core.application.ledger import Entry
    from unsay_core.application.ports import JobScope, Ledger, World
    from unsay_core.application.verdict import Verdict
    from unsay_core.jobs.erasure import Fence

PARTS = 30  # of a run, removed in one transaction
MOST_GRAVES = 60  # dug in it
_BEHIND = "~"  # sorts behind every part of a run, and before the next run


def erase_runs(erasure: Erasure, fence: Fence, verdict: Verdict, scope: JobScope, world: World) -> Erasure:
    """Some parts of the next conversation; `cursor` names the run that was looked at last."""
    run = _next_run(erasure, scope.ledger)
    if run is None:
        phase = Phase.REMAINS if erasure.is_whole_scope else Phase.SWEEP
        return advance(erasure, replace(erasure, cursor=None, phase=phase), scope, world)
    if run.started_at > fence.at:  # it began after all that was before it was given up
        return advance(erasure, replace(erasure, cursor=run.run_id), scope, world)
    return settle(lambda: _erase_some(run, erasure, verdict, scope, world), world)


def parts_of(run_id: str, ledger: Ledger, limit: int) -> list[Entry]:
    """Some of what belongs to a conversation: its markers first, for they call for work on the rest."""
    found: list[Entry] = []
    for area in (Area.READY, Area.CONVERSATION):
        page = ledger.page(area, after=f"{run_id}#", limit=limit - len(found))
        found += [entry for entry in page if ref_of(entry).id.startswith(f"{run_id}#")]
        if len(found) >= limit:
            break
    return found


def _next_run(erasure: Erasure, ledger: Ledger) -> Run | None:
    if erasure.run_id:
        return ledger.read([run_ref(erasure.run_id)]).get(run_ref(erasure.run_id))
    beyond = f"{erasure.cursor}#{_BEHIND}" if erasure.cursor else None
    entries = ledger.page(Area.CONVERSATION, after=beyond, limit=1)
    found = entries[0] if entries else None
    return found if isinstance(found, Run) else None


def _erase_some(run: Run, erasure: Erasure, verdict: Verdict, scope: JobScope, world: World) -> Erasure:
    """One transaction: parts of a run with what was said in them buried; the run itself when none is left."""
    parts = parts_of(run.run_id, scope.ledger, PARTS)
    refs = [ref_of(entry) for entry in parts]
    draft = Draft(scope, world.clock.now(), [erasure_ref(erasure.id), run_ref(run.run_id), *refs])
    buried, removed = _bury_and_remove(parts, erasure, verdict, draft, scope)
    if not parts:
        draft.delete(run_ref(run.run_id))
    draft.new_epoch()
    draft.record(
        run_happening(Event.ERASED, run.run_id, scope, erasure_id=erasure.id, reason=erasure.reason.value)
    )
    gone = sum(isinstance(entry, Message) for entry in removed)
    changed = replace(erasure, messages=erasure.messages + gone, tombstones=erasure.tombstones + buried)
    moved = move(draft, erasure, changed)
    draft.commit()
    return moved


def _bury_and_remove(
    parts: Sequence[Entry], erasure: Erasure, verdict: Verdict, draft: Draft, scope: JobScope
) -> tuple[int, list[Entry]]:
    """What was said is buried before it goes, so that the conversation sent again is stored redacted."""
    buried = 0
    removed: list[Entry] = []
    for entry in parts:
        wanted = [d for d in _unburied(entry, verdict, draft, scope) if d not in erasure.spared]
        for digest in wanted[: MOST_GRAVES - buried]:
            _bury(digest, verdict, draft, scope)
        is_done = len(wanted) <= MOST_GRAVES - buried
        buried += min(len(wanted), MOST_GRAVES - buried)
        if not is_done:
            break
        draft.delete(ref_of(entry))
        removed.append(entry)
    return buried, removed


def _unburied(entry: Entry, verdict: Verdict, draft: Draft, scope: JobScope) -> list[str]:
    """The texts of a message that have no tombstone of this erasure yet."""
    if not isinstance(entry, Message) or verdict.bury is not TombstoneKind.VALUE:
        return []
    texts = [text for text in entry.texts if text.strip()]
    digests = dict.fromkeys(value_digest(scope.keys, text) for text in texts)
    draft.load(*map(value_tombstone_ref, digests))
    graves = {digest: draft.get(value_tombstone_ref(digest)) for digest in digests}
    return [d for d, grave in graves.items() if grave is None or grave.erasure_id != verdict.erasure_id]


def _bury(digest: str, verdict: Verdict, draft: Draft, scope: JobScope) -> None:
    known = draft.get(value_tombstone_ref(digest))
    actor, hits = scope.principal.id, known.hits if known else 0
    reason, erasure_id = verdict.reason, verdict.erasure_id
    draft.put(
        Tombstone(digest, TombstoneKind.VALUE, draft.at, actor, reason, erasure_id, seq=draft.seq, hits=hits)
    )


def is_left(erasure: Erasure, fence: Fence, ledger: Ledger) -> bool:
    """True if anything of a conversation that had to go is still there."""
    if erasure.run_id:
        ref: Ref[Any] = run_ref(erasure.run_id)
        return bool(ledger.read([ref]).get(ref) or parts_of(erasure.run_id, ledger, 1))
    return False
