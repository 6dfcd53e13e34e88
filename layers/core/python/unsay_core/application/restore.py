"""Restore: what a backup brought back of a scope is held against the list of what was taken back since.

First the chain goes on where the record ends, then the tombstones stand again, then what they forbid is
erased as it was the first time: by the same forget, with its cascade, its evidence and a receipt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unsay_core.application.digests import value_digests
from unsay_core.application.draft import Draft
from unsay_core.application.forget import Forget, forget
from unsay_core.application.graves import Standing
from unsay_core.application.ledger import (
    Area,
    id_tombstone_ref,
    memory_ref,
    message_ref,
    value_tombstone_ref,
)
from unsay_core.application.pages import Page, page_of
from unsay_core.application.redaction import Graves
from unsay_core.application.settle import change, settle
from unsay_core.application.take_back import TakeBack, retract
from unsay_core.domain.audit import AuditEntry, Event, Happening
from unsay_core.domain.errors import AlreadyForgottenError, NotFoundError
from unsay_core.domain.lifecycle import Act, may
from unsay_core.domain.memory import Reason, Status
from unsay_core.domain.tombstone import TombstoneKind
from unsay_core.extraction.conversation import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from unsay_core.application.graves import Grave, GraveNotes
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
class _Standing:
    """What must not be there: ids, values that are to be nowhere, values that nobody believes."""

    ids: frozenset[str]
    erased: frozenset[str]
    buried: frozenset[str]

    @classmethod
    def of(cls, graves: Sequence[Grave]) -> _Standing:
        """By sort; what was lifted stands for nothing."""
        standing = [grave for grave in graves if grave.standing is not Standing.LIFTED]
        values = [grave for grave in standing if grave.kind is TombstoneKind.VALUE]
        return cls(
            ids=frozenset(grave.digest for grave in standing if grave.kind is TombstoneKind.ID),
            erased=frozenset(grave.digest for grave in values if grave.standing is Standing.ERASED),
            buried=frozenset(grave.digest for grave in values if grave.standing is Standing.BURIED),
        )


def check_restored(graves: GraveNotes, opened: OpenScope, world: World) -> Restored:
    """Take away again what a backup brought back of a scope; a second time finds nothing.

    Memory is bounded by the list of one scope. Raises `BusyError`, `UnavailableError`.
    """
    known = list(graves.listed())
    follow_chain(opened, world)
    done = Restored(tombstones=_dig_again(known, opened, world))
    standing = _Standing.of(known)
    for memory in _memories(opened):
        done += _judge(memory, standing, opened, world)
    return done + Restored(redacted=_redact(opened, world))


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


def _place(grave: Grave) -> Any:
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


def _judge(memory: Memory, standing: _Standing, opened: OpenScope, world: World) -> Restored:
    values = set(memory.earlier_values)
    if not memory.fact.is_item:
        values.update(value_digests(opened.keys, memory.fact.content))
    if memory.id in standing.ids or values & standing.erased:
        return Restored(erased=_forget(memory, opened, world))
    if values & standing.buried and memory.status in (Status.ACTIVE, Status.CANDIDATE):
        return Restored(retracted=_retract(memory, opened, world))
    return Restored()


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
    graves = Graves((*current.texts, current.name or ""), draft, opened)
    (blocks, _), why = graves.cleared([current.blocks, current.name], current.said_at)
    if not why:
        return 0
    draft.put(current.cleared(blocks, why))
    draft.record(Happening(Event.REDACTED, channel="restore"))
    draft.commit()
    return 1
