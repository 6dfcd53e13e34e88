"""The end of an erasure: what is left of a whole scope, the sweep of the ledger, and the proof of the rest.

The sweep goes by what lies there and not by what was done. It walks every area that can hold words, asks of
each entry whether it may be there, and sends the erasure back if one may not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unsay_core.application.digests import value_digests
from unsay_core.application.draft import Draft
from unsay_core.application.erase_group import erase_group
from unsay_core.application.jobs import NotYetError, advance, move
from unsay_core.application.ledger import (
    Area,
    Duplicate,
    Outcome,
    Reviewable,
    Slot,
    Version,
    erasure_ref,
    id_tombstone_ref,
    listed_ref,
    memory_ref,
    pending_ref,
    ref_of,
    value_tombstone_ref,
)
from unsay_core.application.settle import settle
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.memory import Memory
from unsay_core.domain.tombstone import Tombstone, TombstoneKind
from unsay_core.extraction.conversation import Message, Run
from unsay_core.jobs.erasure import QUOTED, Erasure, Phase, retained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unsay_core.application.ledger import Entry, Ref
    from unsay_core.application.ports import Index, JobScope, World
    from unsay_core.application.verdict import Verdict
    from unsay_core.jobs.erasure import Fence

PAGE = 90  # entries looked at, and maybe removed, in one step
STATES_AT_ONCE = 10
INDEX_PAUSE = 2.0  # seconds until documents and index are looked at again
_OF_MEMORIES = (Area.VERSION, Area.DUPLICATE, Area.SLOT, Area.REVIEW, Area.OUTCOME)
_REMAINS = (*_OF_MEMORIES, Area.JOB)
_SWEPT = (Area.MEMORY, *_OF_MEMORIES, Area.CONVERSATION, Area.READY)
_GRAVES_OF_IDS = "id:"


def remove_remains(erasure: Erasure, scope: JobScope, world: World) -> Erasure:
    """Of a whole scope: what belongs to no memory that is there, area by area."""
    area, page, after = _page(erasure, _REMAINS, scope)
    gone = [ref_of(entry) for entry, is_orphan in _orphans(page, scope) if is_orphan]

    def attempt() -> Erasure:
        draft = Draft(scope, world.clock.now(), [erasure_ref(erasure.id)])
        for ref in gone:
            draft.delete(ref)
        moved = move(draft, erasure, _further(erasure, area, after, _REMAINS, Phase.SWEEP))
        draft.commit()
        return moved

    return settle(attempt, world)


def sweep_ledger(erasure: Erasure, fence: Fence, verdict: Verdict, scope: JobScope, world: World) -> Erasure:
    """Look at a page of one area; back to the beginning if something is there that must not be.

    After the last page nothing is left, and the fence goes.
    """
    area, page, after = _page(erasure, _SWEPT, scope)
    if any(_is_left(entry, fence) for entry in page):
        again = replace(erasure, phase=Phase.MEMORIES, cursor=None)
        return advance(erasure, again, scope, world)
    restated = _restated([entry for entry in page if isinstance(entry, Memory)], fence, scope)
    if restated:
        return settle(lambda: _erase_restated(restated, erasure, verdict, scope, world), world)
    orphans = [ref_of(entry) for entry, is_orphan in _orphans(page, scope) if is_orphan]
    ours = _of_this_erasure(orphans, page, erasure, scope)
    further = _further(erasure, area, after, _SWEPT, Phase.TWINS)

    def attempt() -> Erasure:
        draft = Draft(scope, world.clock.now(), [erasure_ref(erasure.id)])
        for ref in ours:
            draft.delete(ref)
        moved = _lift(erasure, further, draft, scope) if further.phase is Phase.TWINS else None
        moved = moved or move(draft, erasure, further)
        draft.commit()
        return moved

    return settle(attempt, world)


def prove(erasure: Erasure, scope: JobScope, world: World) -> Erasure:
    """Ask documents and index about some of what was erased; whoever still holds it is told again.

    Raises `NotYetError` while they hold any of it, after noting in the receipt what is waited for.
    """
    ids, further = _erased(erasure, scope)
    holding = _holding(ids, scope) | _owed(erasure, scope)
    if holding:
        _note_waiting(erasure, holding, scope, world)
        raise NotYetError(INDEX_PAUSE)
    if further is not None:
        after = replace(erasure, cursor=further, waits_for=None)
        return advance(erasure, after, scope, world)
    others = [each for each in _at_work(scope) if each.id != erasure.id]
    if erasure.is_whole_scope and any(each.requested_at < erasure.requested_at for each in others):
        # The scope's name goes with this one, and each needs it to be opened by.
        noted = replace(erasure, waits_for="an earlier erasure")
        if noted != erasure:
            advance(erasure, noted, scope, world)
        raise NotYetError(INDEX_PAUSE)
    return settle(lambda: _complete(erasure, scope, world, is_last=not others), world)


def _at_work(scope: JobScope) -> list[Erasure]:
    """The erasures of the scope that are not over, of the latest hundred."""
    latest = scope.ledger.page(Area.ERASURE, limit=100, newest_first=True)
    return [each for each in latest if isinstance(each, Erasure) and not each.is_over]


def _erased(erasure: Erasure, scope: JobScope) -> tuple[Sequence[str], str | None]:
    """Some of the ids that were erased, and where the next ones begin: by the receipt, or by tombstones."""
    if erasure.remaining:
        return erasure.remaining, None
    page = scope.ledger.page(Area.TOMBSTONE, after=erasure.cursor or _GRAVES_OF_IDS, limit=PAGE)
    graves = [g for g in page if isinstance(g, Tombstone) and g.kind is TombstoneKind.ID]
    ids = [grave.digest for grave in graves if grave.erasure_id == erasure.id]
    return ids, ref_of(page[-1]).id if len(graves) == PAGE else None


def _page(
    erasure: Erasure, areas: Sequence[Area], scope: JobScope
) -> tuple[Area, Sequence[Entry], str | None]:
    """A page of the area that is looked at, and where the next one begins; None at the area's end."""
    letter, _, after = (erasure.cursor or areas[0].value).partition("|")
    area = Area(letter)
    page = scope.ledger.page(area, after=after or None, limit=PAGE)
    return area, page, ref_of(page[-1]).id if len(page) == PAGE else None


def _further(erasure: Erasure, area: Area, after: str | None, areas: Sequence[Area], then: Phase) -> Erasure:
    if after is not None:
        return replace(erasure, cursor=f"{area.value}|{after}")
    left = areas[areas.index(area) + 1 :]
    if left:
        return replace(erasure, cursor=left[0].value)
    return replace(erasure, cursor=None, phase=then)


def _orphans(page: Sequence[Entry], scope: JobScope) -> list[tuple[Entry, bool]]:
    """Each entry, and whether no memory is there that it belongs to."""
    owners = {id(entry): _owners(entry) for entry in page}
    wanted = list(dict.fromkeys(memory_ref(i) for ids in owners.values() for i in ids or ()))
    there: set[str] = set()
    for at in range(0, len(wanted), 100):
        there |= {m.id for m in scope.ledger.read(wanted[at : at + 100]).memories()}
    found = []
    for entry in page:
        ids = owners[id(entry)]
        found.append((entry, ids is not None and not there.intersection(ids)))
    return found


def _owners(entry: Entry) -> tuple[str, ...] | None:
    """The memories an entry is about; none for what belongs to nobody, None for what does not matter."""
    match entry:
        case Version(memory=memory):
            return (memory.id,)
        case Duplicate(memory_id=memory_id) | Reviewable(memory_id=memory_id):
            return (memory_id,)
        case Outcome(memory_id=memory_id):
            return (memory_id,) if memory_id.startswith("mem_") else None
        case Slot(occupants=occupants):
            return tuple(occupant.memory_id for occupant in occupants)
        case _:
            return () if ref_of(entry).area is Area.JOB else None


def _is_left(entry: Entry, fence: Fence) -> bool:
    """True for what the fence covers: by now it should be gone."""
    match entry:
        case Memory():
            return fence.covers(entry)
        case Run(run_id=run_id, started_at=begun):
            return fence.selection.takes_run(run_id) and begun <= fence.at
        case Message(run_id=run_id, stored_at=begun):
            return fence.selection.takes_run(run_id) and begun <= fence.at
        case _:
            return False


def _restated(memories: Sequence[Memory], fence: Fence, scope: JobScope) -> list[Memory]:
    """What was written beside the erasure, before its value was buried: it comes too late to stay."""
    later = [m for m in memories if m.seq > fence.seq and not m.fact.is_item and m.fact.content]
    digests = {m.id: value_digests(scope.keys, m.fact.content) for m in later}
    refs = [value_tombstone_ref(d) for each in digests.values() for d in each]
    graves: dict[str, Tombstone | None] = {}
    for at in range(0, len(refs), 100):
        found = scope.ledger.read(refs[at : at + 100])
        graves |= {ref.id: found.get(ref) for ref in refs[at : at + 100]}

    def is_buried(memory: Memory) -> bool:
        found = [graves[value_tombstone_ref(d).id] for d in digests[memory.id]]
        return any(g and not g.lifted and g.erasure_id == fence.erasure_id for g in found)

    return [memory for memory in later if is_buried(memory)]


def _erase_restated(
    memories: Sequence[Memory], erasure: Erasure, verdict: Verdict, scope: JobScope, world: World
) -> Erasure:
    refs = [memory_ref(memory.id) for memory in memories[:20]]
    draft = Draft(scope, world.clock.now(), [erasure_ref(erasure.id), *refs])
    there = [memory for ref in refs if (memory := draft.get(ref))]
    return erase_group(there, verdict, draft, scope, world)


def _of_this_erasure(
    orphans: Sequence[Ref[Any]], page: Sequence[Entry], erasure: Erasure, scope: JobScope
) -> list[Ref[Any]]:
    """The orphans that this erasure left: what another one leaves is its own to find."""
    owners = {ref_of(entry): _owners(entry) or () for entry in page}
    graves = list(dict.fromkeys(id_tombstone_ref(i) for ref in orphans for i in owners[ref]))
    found: dict[str, Tombstone | None] = {}
    for at in range(0, len(graves), 100):
        snapshot = scope.ledger.read(graves[at : at + 100])
        found |= {ref.id: snapshot.get(ref) for ref in graves[at : at + 100]}

    def is_ours(memory_id: str) -> bool:
        grave = found[id_tombstone_ref(memory_id).id]
        return grave is not None and grave.erasure_id == erasure.id

    keeps = (Area.OUTCOME,)  # it says that what a request made is forgotten
    return [ref for ref in orphans if ref.area not in keeps and any(map(is_ours, owners[ref]))]


def _lift(erasure: Erasure, further: Erasure, draft: Draft, scope: JobScope) -> Erasure:
    """The ledger holds nothing of it any more: the fence goes, and the other stores have their turn."""
    draft.lift_fence(erasure.id)
    reason = erasure.reason.value
    entry = draft.record(Happening(Event.REMOVED, reason=reason, erasure_id=erasure.id))
    until = retained(draft.at, scope.recovery_days)
    return move(
        draft,
        erasure,
        replace(further, audit_seq=entry.seq, digest=entry.hash, retained_until=until),
    )


def _holding(ids: Sequence[str], scope: JobScope) -> dict[str, str]:
    """Which of the erased memories some store still holds, or a marker still owes; and where."""
    refs: list[Ref[Any]] = [ref for i in ids for ref in (pending_ref(i), listed_ref(i), memory_ref(i))]
    found: dict[str, str] = {}
    for at in range(0, len(refs), 100):
        snapshot = scope.ledger.read(refs[at : at + 100])
        for ref in refs[at : at + 100]:
            if snapshot.get(ref) is not None:
                found[ref.id] = "ledger" if ref.area is Area.MEMORY else "owed"
    if left := [memory_id for memory_id in ids if memory_id not in found]:
        found |= dict.fromkeys(scope.documents.existing(left), "document")
    for number, index in scope.indexes.items():
        held = _held(ids, index)
        if unseen := [i for i in ids if i not in held]:
            held |= set(index.still_found(unseen))
        found |= {i: f"index {number}" for i in held if i not in found}
    return found


def _held(ids: Sequence[str], index: Index) -> set[str]:
    """Those of which a generation of the index says that it has them, or has not let go yet."""
    held: set[str] = set()
    for at in range(0, len(ids), STATES_AT_ONCE):
        states = index.states(ids[at : at + STATES_AT_ONCE])
        held |= {i for i, state in states.items() if state.present or not state.settled}
    return held


def _owed(erasure: Erasure, scope: JobScope) -> dict[str, str]:
    """Of the memories that quote less than they did, those whose document may still say it."""
    refs = [pending_ref(each.memory_id) for each in erasure.cascade if each.why == QUOTED]
    found = scope.ledger.read(refs) if refs else None
    return {ref.id: "owed" for ref in refs if found and found.get(ref)}


def _note_waiting(erasure: Erasure, holding: dict[str, str], scope: JobScope, world: World) -> None:
    """Say in the receipt who keeps it waiting, and owe again what nobody is about to remove."""
    reason = ", ".join(sorted({"index" if where == "owed" else where for where in holding.values()}))
    unowed = [memory_id for memory_id, where in holding.items() if where != "owed"]
    if erasure.waits_for == reason and not unowed:
        return

    def attempt() -> None:
        draft = Draft(scope, world.clock.now(), [erasure_ref(erasure.id), *map(pending_ref, unowed)])
        for memory_id in unowed:
            draft.owe_removal(memory_id)
        move(draft, erasure, replace(erasure, waits_for=reason))
        if unowed:
            draft.record(Happening(Event.REINDEXED, related=tuple(unowed[:PAGE]), erasure_id=erasure.id))
        draft.commit()

    settle(attempt, world)


def _complete(erasure: Erasure, scope: JobScope, world: World, *, is_last: bool) -> Erasure:
    """Every store was seen without it: the receipt says so, and loses the words of its selector.

    Of a forget that named one memory the audit has its one entry already.
    """
    if erasure.remaining:
        proven = replace(erasure, phase=Phase.COMPLETE, waits_for=None, remaining=(), buried=())
        return advance(erasure, replace(proven, proven_at=world.clock.now()), scope, world)
    draft = Draft(scope, world.clock.now(), [erasure_ref(erasure.id)])
    entry = draft.record(Happening(Event.PROVEN, reason=erasure.reason.value, erasure_id=erasure.id))
    if erasure.is_whole_scope and is_last and not (draft.head.memories or draft.head.fences):
        draft.forget_name()
    done = replace(
        erasure,
        phase=Phase.COMPLETE,
        cursor=None,
        waits_for=None,
        spared=(),
        buried=(),
        selector=_without_words(erasure.selector, scope),
        proven_at=draft.at,
        audit_seq=entry.seq,
        digest=entry.hash,
    )
    moved = move(draft, erasure, done)
    draft.commit()
    return moved


def _without_words(selector: dict[str, Any], scope: JobScope) -> dict[str, Any]:
    """A selector whose every text of the caller's own is replaced by its keyed digest."""
    kept = {"ids", "all", "kind", "before", "after", "expired_before"}

    def sealed(name: str, value: Any) -> Any:
        if name in kept:
            return value
        if name == "filter":
            return {inner: sealed(inner, member) for inner, member in value.items()}
        texts = value if isinstance(value, list) else [value]
        return [scope.keys.note_digest(repr(text)) for text in texts]

    return {name: sealed(name, value) for name, value in selector.items()}
