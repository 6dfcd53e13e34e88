"""Restore: what a backup brought back of a scope is held against the list of what was taken back since.

First the chain goes on where the record ends, then the tombstones stand again, then what was erased is erased
as it was the first time: by the same forget, with its cascade, its evidence and a receipt. What is erased is
known by its id, and what is retracted by the record, so that what others have said in the same words stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unsay_core.application.digests import value_digests
from unsay_core.application.draft import Draft
from unsay_core.application.forget import Forget, forget
from unsay_core.application.graves import Standing
from unsay_core.application.ledger import (
    SCOPE_TOMBSTONE,
    Area,
    id_tombstone_ref,
    memory_ref,
    message_ref,
    ref_of,
    value_tombstone_ref,
)
from unsay_core.application.pages import Page, page_of
from unsay_core.application.redaction import Graves, redacted
from unsay_core.application.restore_runs import ErasedRuns, erase_runs_again, leave_runs
from unsay_core.application.settle import change, settle
from unsay_core.application.take_back import TakeBack, retract
from unsay_core.domain.audit import AuditEntry, Event, Happening
from unsay_core.domain.errors import AlreadyForgottenError, NotFoundError
from unsay_core.domain.lifecycle import Act, may
from unsay_core.domain.memory import Because, Reason, Status
from unsay_core.domain.tombstone import TombstoneKind
from unsay_core.extraction.conversation import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from unsay_core.application.graves import Grave, GraveNotes
    from unsay_core.application.keys import ScopeKeys
    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.domain.memory import Memory

AT_ONCE = 80  # tombstones in one transaction
PAGE = 100


@dataclass(frozen=True, slots=True)
class Restored:
    """What had come back to a scope, and was taken away again."""

    tombstones: int = 0
    erased: int = 0
    retracted: int = 0
    redacted: int = 0

    def __add__(self, other: Restored) -> Restored:
        """Of both together."""
        return Restored(
            self.tombstones + other.tombstones,
            self.erased + other.erased,
            self.retracted + other.retracted,
            self.redacted + other.redacted,
        )

    @property
    def found_nothing(self) -> bool:
        """True if nothing had come back, and nothing was missing."""
        return self == Restored()


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known to have been taken away, by the list of tombstones and by the record.

    `ids` were erased. `taken_back` are ids that were retracted, rejected or corrected as wrong, `values`
    those of which nobody knows whose they were: a check has dug their tombstones again, because the record
    was lost.
    """

    ids: frozenset[str]
    values: frozenset[str]
    taken_back: frozenset[str]
    runs: ErasedRuns

    def is_erased(self, memory: Memory) -> bool:
        """True if the first erasure took it. What it left, because others had said the same, stays."""
        until = self.runs.whole_until
        return memory.id in self.ids or (until is not None and memory.recorded_at <= until)

    def is_taken_back(self, memory: Memory, keys: ScopeKeys) -> bool:
        """True if it was believed no more."""
        if memory.id in self.taken_back:
            return True
        if memory.fact.is_item or not self.values:
            return False
        return not self.values.isdisjoint((*value_digests(keys, memory.fact.content), *memory.earlier_values))


def check_restored(graves: GraveNotes, opened: OpenScope, world: World) -> Restored:
    """Take away again what a backup brought back of a scope; a second time finds nothing.

    Memory is bounded by the list of one scope, and by what was taken back in it. Raises `BusyError`,
    `UnavailableError`.
    """
    noted = list(graves.listed())
    follow_chain(opened, world)
    done = Restored(tombstones=_dig_again(noted, opened, world))
    known = _known(noted, opened)
    for memory in _memories(opened):
        done += _judge(memory, known, opened, world)
    return done + Restored(redacted=erase_runs_again(known.runs, opened, world) + _redact(opened, world))


def _known(noted: Sequence[Grave], opened: OpenScope) -> _Known:
    """By sort; what was lifted stands for nothing."""
    standing = [grave for grave in noted if grave.standing is not Standing.LIFTED]
    of_scope = [grave.at for grave in standing if grave.kind is TombstoneKind.SCOPE]
    taken_back: set[str] = set()
    dug_again: set[int] = set()
    runs: dict[str, datetime] = {}
    for entry in _chain(opened):
        happening = entry.happening
        taken_back.update(_taken_back(happening))
        if happening.event is Event.RESTORED:
            dug_again.add(entry.seq)
        if happening.event is Event.ERASED and happening.commitment:
            runs[happening.commitment] = entry.at
    return _Known(
        ids=frozenset(grave.digest for grave in standing if grave.kind is TombstoneKind.ID),
        values=frozenset(_nobodys(standing, dug_again, opened)) if dug_again else frozenset(),
        taken_back=frozenset(taken_back),
        runs=ErasedRuns(runs, max(of_scope, default=None)),
    )


def _chain(opened: OpenScope) -> Iterator[AuditEntry]:
    after: str | None = None
    while True:
        page = opened.ledger.page(Area.AUDIT, after=after, limit=PAGE)
        yield from (entry for entry in page if isinstance(entry, AuditEntry))
        if len(page) < PAGE:
            return
        after = ref_of(page[-1]).id


def _taken_back(happening: Happening) -> Iterable[str]:
    """The memories that an entry says are believed no more."""
    if happening.event in (Event.RETRACTED, Event.REJECTED) and happening.memory_id:
        return (happening.memory_id,)
    is_wrong = happening.event is Event.CORRECTED and happening.reason == Because.WRONG.value
    return happening.related if is_wrong else ()


def _nobodys(standing: Sequence[Grave], dug_again: set[int], opened: OpenScope) -> Iterator[str]:
    """The buried values whose tombstones a check has put, and no act that the record tells of."""
    buried = [g for g in standing if g.kind is TombstoneKind.VALUE and g.standing is Standing.BURIED]
    for at in range(0, len(buried), PAGE):
        refs = [value_tombstone_ref(grave.digest) for grave in buried[at : at + PAGE]]
        found = opened.ledger.read(refs)
        yield from (g.digest for ref in refs if (g := found.get(ref)) and g.seq in dug_again)


def follow_chain(opened: OpenScope, world: World) -> int:
    """Let a head of before go on where the record ends; returns by how many entries it lagged."""

    def follow(draft: Draft) -> int:
        last = _last_entry(draft.seq - 1, opened)
        if last is None:
            return 0
        lag = last.seq - draft.seq + 1
        draft.follow(last)
        draft.new_epoch()
        draft.record(Happening(Event.RESTORED))
        return lag

    return change(follow, opened, world, lambda: ())


def _last_entry(beyond: int, opened: OpenScope) -> AuditEntry | None:
    """The end of the record, if it lies beyond the head."""
    newest = opened.ledger.page(Area.AUDIT, limit=1, newest_first=True)
    found = [entry for entry in newest if isinstance(entry, AuditEntry) and entry.seq > beyond]
    return found[0] if found else None


def _dig_again(known: Sequence[Grave], opened: OpenScope, world: World) -> int:
    """Put the tombstones that the record lacks; returns how many."""
    dug = 0
    for at in range(0, len(known), AT_ONCE):
        some = known[at : at + AT_ONCE]

        def dig(draft: Draft, some: Sequence[Grave] = some) -> int:
            missing = [grave for grave in some if draft.get(_place(grave)) is None]
            for grave in missing:
                draft.put(grave.tombstone(opened.principal.id, draft.seq))
            if missing:
                draft.record(Happening(Event.RESTORED))
            return len(missing)

        dug += change(dig, opened, world, lambda some=some: map(_place, some))  # type: ignore[misc]
    return dug


def _place(grave: Grave) -> Ref[Any]:
    if grave.kind is TombstoneKind.SCOPE:
        return SCOPE_TOMBSTONE
    is_value = grave.kind is TombstoneKind.VALUE
    return value_tombstone_ref(grave.digest) if is_value else id_tombstone_ref(grave.digest)


def _memories(opened: OpenScope) -> Iterator[Memory]:
    after: str | None = None
    while True:
        page: Page[Memory] = page_of(opened.ledger, Area.MEMORY, limit=PAGE, after=after)
        yield from page.entries
        if page.next_after is None:
            return
        after = page.next_after


def _judge(memory: Memory, known: _Known, opened: OpenScope, world: World) -> Restored:
    if known.is_erased(memory):
        return Restored(erased=_forget(memory, opened, world))
    is_believed = memory.status in (Status.ACTIVE, Status.CANDIDATE)
    if is_believed and known.is_taken_back(memory, opened.keys):
        return Restored(retracted=_retract(memory, opened, world))
    return Restored(redacted=leave_runs(memory, known.runs, opened, world))


def _forget(memory: Memory, opened: OpenScope, world: World) -> int:
    """Erase it again; it may have gone with another."""
    try:
        return forget(Forget(memory.id, Reason.POLICY, TombstoneKind.ID), opened, world).erased
    except (NotFoundError, AlreadyForgottenError):
        return 0


def _retract(memory: Memory, opened: OpenScope, world: World) -> int:
    current = opened.ledger.read([memory_ref(memory.id)]).get(memory_ref(memory.id))
    if current is None or not may(current, Act.RETRACT, world.clock.now()):
        return 0
    retract(TakeBack(current.id, current.version, Reason.POLICY), opened, world)
    return 1


def _redact(opened: OpenScope, world: World) -> int:
    """Blot out of the conversations what the tombstones forbid; returns how many messages it was in."""
    after, count = None, 0
    while True:
        page: Page[Message] = page_of(
            opened.ledger, Area.CONVERSATION, limit=PAGE, after=after, wanted=lambda e: isinstance(e, Message)
        )
        for message in page.entries:
            count += settle(lambda message=message: _redact_one(message, opened, world), world)  # type: ignore[misc]
        if page.next_after is None:
            return count
        after = page.next_after


def _redact_one(message: Message, opened: OpenScope, world: World) -> int:
    place = message_ref(message.run_id, message.seq)
    draft = Draft(opened, world.clock.now(), [place])
    current = draft.get(place)
    if current is None:
        return 0
    graves = Graves.over((*current.texts, current.name or ""), draft, opened)
    without = redacted(current, graves)
    if without is None:
        return 0
    draft.put(without)
    draft.record(Happening(Event.REDACTED, channel="restore"))
    draft.commit()
    return 1
