"""Erase: the job behind a fence, phase by phase, a step at a time.

Memories with all that goes along; conversations; what else lies about of a whole scope. Then a sweep that
looks everywhere again and trusts nothing of what was done before; only when it finds nothing does the fence
go. Then whatever else says what is buried: twins, files, messages and quotes. Then the proof: documents and
every generation of the index are asked, id by id, until they have let go.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from unsay_core.application.digests import value_digest
from unsay_core.application.draft import Draft
from unsay_core.application.erase_files import clear_files
from unsay_core.application.erase_group import erase_group, erase_past, record_weakened, weaken
from unsay_core.application.erase_messages import clear_messages, has_messages
from unsay_core.application.erase_quotes import clear_quotes
from unsay_core.application.erase_run import erase_runs
from unsay_core.application.erase_sweep import prove, remove_remains, sweep_ledger
from unsay_core.application.erase_twins import clear_twins, has_twins
from unsay_core.application.jobs import NotYetError, OutrunError, advance
from unsay_core.application.ledger import HEAD, Area, erasure_ref, memory_ref, ref_of
from unsay_core.application.settle import settle
from unsay_core.application.verdict import Verdict, begun_before, put_receipt
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.lifecycle import Act, may
from unsay_core.domain.memory import Memory
from unsay_core.jobs.erasure import Erasure, Fence, Phase
from unsay_core.jobs.selection import sources_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unsay_core.application.jobs import Work
    from unsay_core.application.ports import JobScope, World

PAGE = 95  # selected memories erased together; with the head and the receipt they are one read
MOST_SPARED = 500  # values that a conversation shares with other sources
LOOKED_AT = 1_000  # memories looked at in one step, if none of them is selected
AFTER_THE_FENCE = (Phase.TWINS, Phase.FILES, Phase.MESSAGES, Phase.QUOTES, Phase.PROOF)
TURN = 2.0  # seconds until an erasure looks again whether it is its turn


def erase_step(work: Work, scope: JobScope, world: World, /) -> Erasure:
    """One step of an erasure; of several in a scope the first goes on, and the others wait for it."""
    erasure = cast("Erasure", work)
    if erasure.phase in AFTER_THE_FENCE:
        return _clear_rest(erasure, scope, world)
    head = scope.ledger.read([HEAD]).get(HEAD)
    fences = head.fences if head else ()
    if not fences or fences[0].erasure_id != erasure.id:
        raise NotYetError(TURN)
    verdict = _verdict(fences[0], fences)
    match erasure.phase:
        case Phase.MEMORIES:
            return _erase_memories(erasure, fences[0], verdict, scope, world)
        case Phase.CONVERSATIONS:
            return erase_runs(erasure, fences[0], verdict, scope, world)
        case Phase.REMAINS:
            return remove_remains(erasure, scope, world)
        case _:
            return sweep_ledger(erasure, fences[0], verdict, scope, world)


def _clear_rest(erasure: Erasure, scope: JobScope, world: World) -> Erasure:
    """A step of what follows when the ledger has let go; where nothing is to be looked at the next begins."""
    if erasure.phase is Phase.TWINS and has_twins(erasure):
        return clear_twins(erasure, scope, world)
    if erasure.phase in (Phase.TWINS, Phase.FILES):
        return clear_files(replace(erasure, phase=Phase.FILES), scope, world)
    if erasure.phase is Phase.MESSAGES and has_messages(erasure, scope):
        return clear_messages(erasure, scope, world)
    if erasure.phase is not Phase.PROOF and erasure.quoted:
        return clear_quotes(replace(erasure, phase=Phase.QUOTES), scope, world)
    return prove(replace(erasure, phase=Phase.PROOF), scope, world)


def _verdict(fence: Fence, fences: Sequence[Fence]) -> Verdict:
    return Verdict(
        fence.erasure_id,
        fence.reason,
        fence.bury,
        begun_before,
        is_doomed=lambda memory: any(each.covers(memory) for each in fences),
    )


def _erase_memories(
    erasure: Erasure, fence: Fence, verdict: Verdict, scope: JobScope, world: World
) -> Erasure:
    """The next selected memories; the cursor moves over those that are not selected."""
    found, beyond, is_end = _next(erasure, fence, scope)
    if found:
        chosen = [memory.id for memory in found]
        return settle(lambda: _erase_some(chosen, erasure, fence, verdict, scope, world), world)
    after = replace(erasure, cursor=beyond)
    if is_end:
        next_phase = Phase.CONVERSATIONS if erasure.run_id or erasure.is_whole_scope else Phase.SWEEP
        after = replace(erasure, cursor=None, phase=next_phase)
    return advance(erasure, after, scope, world)


def _next(erasure: Erasure, fence: Fence, scope: JobScope) -> tuple[list[Memory], str | None, bool]:
    """Selected memories beyond the cursor, how far was looked without one, and whether there is an end."""
    ids = fence.selection.ids
    if ids is not None:
        some = [i for i in sorted(ids) if i > (erasure.cursor or "")][:PAGE]
        found = scope.ledger.read([memory_ref(i) for i in some]).memories() if some else []
        return [m for m in found if fence.covers(m)], some[-1] if some else None, not some
    beyond = erasure.cursor
    for _ in range(0, LOOKED_AT, PAGE):
        page = scope.ledger.page(Area.MEMORY, after=beyond, limit=PAGE)
        found = [memory for memory in page if isinstance(memory, Memory) and fence.covers(memory)]
        if found:
            return found, beyond, False
        beyond = ref_of(page[-1]).id if page else beyond
        if len(page) < PAGE:
            return [], beyond, True
    return [], beyond, False


def _erase_some(
    ids: Sequence[str], erasure: Erasure, fence: Fence, verdict: Verdict, scope: JobScope, world: World
) -> Erasure:
    """One group, read anew; what rests on another source too becomes a candidate without this one."""
    draft = Draft(scope, world.clock.now(), [erasure_ref(erasure.id), *map(memory_ref, ids)])
    stored = draft.get(erasure_ref(erasure.id))
    if stored is None or stored.phase is not Phase.MEMORIES:
        raise OutrunError("this erasure is further than that")
    there = [m for i in ids if (m := draft.get(memory_ref(i))) and fence.covers(m)]
    supported = [memory for memory in there if _has_other_support(memory, erasure.run_id)]
    if supported:
        return _keep_without(supported[0], cast("str", erasure.run_id), verdict, draft, scope, world)
    if not there:
        return stored
    return erase_group(there, verdict, draft, scope, world)


def _has_other_support(memory: Memory, run_id: str | None) -> bool:
    return run_id is not None and any(source.run_id != run_id for source in sources_of(memory))


def _keep_without(
    memory: Memory, run_id: str, verdict: Verdict, draft: Draft, scope: JobScope, world: World
) -> Erasure:
    """What others have said too stays, without what this conversation adds, in any of its versions."""
    erase_past(memory, scope, world)
    first, *others = (source for source in sources_of(memory) if source.run_id != run_id)
    kept = {"source": first, "corroborations": tuple(others)}
    named = []
    if may(memory, Act.WEAKEN, draft.at):
        weaken(memory, draft, **kept)
        named = record_weakened([memory], verdict, draft)
    else:
        draft.change(memory, memory.next_version(draft.at, memory.status, **kept))
        draft.record(Happening(Event.REDACTED, memory.id, erasure_id=verdict.erasure_id))
    draft.erase_versions(memory.id, [memory.version])
    value = value_digest(scope.keys, memory.fact.content)
    erasure = put_receipt(
        draft,
        verdict,
        lambda e: replace(e, matched=e.matched + 1, spared=(*e.spared, value)[-MOST_SPARED:]),
        *named,
    )
    draft.commit()
    return erasure
