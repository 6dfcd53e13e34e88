"""The receipt of a forget, and the fence that holds while it is carried out."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from unsay_core.domain.memory import Reason
from unsay_core.domain.tombstone import TombstoneKind
from unsay_core.domain.values import dataclass
from unsay_core.jobs.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from unsay_core.domain.memory import Memory

MOST_CASCADED = 100  # memories that a receipt names one by one
MOST_BURIED = 100  # values that it knows by their digests, while it is at work
QUOTED = "quoted"  # why a memory is named that has lost a quote
MANY = ("*",)  # in their place: more than that
SELECTED = "selected"  # why a memory goes that was asked for


@dataclass(frozen=True, slots=True)
class Cascaded:
    """A memory that went along with the one asked for, and why."""

    memory_id: str
    why: str
    outcome: str = "erased"


class Phase(StrEnum):
    """How far an erasure is; each begins when nothing is left for the one before.

    That of one memory begins with its twins: the ledger let go of it in the transaction that forgot it.
    """

    MEMORIES = "memories"
    CONVERSATIONS = "conversations"
    REMAINS = "remains"
    SWEEP = "sweep"
    TWINS = "twins"
    FILES = "files"
    MESSAGES = "messages"
    QUOTES = "quotes"
    PROOF = "proof"
    COMPLETE = "complete"


@dataclass(frozen=True)
class Fence:
    """A selection that is being erased: from the change `seq` on nobody reads what it covers.

    It stands in the head of the scope until the ledger holds nothing of it any more.
    """

    erasure_id: str
    selector: dict[str, Any]
    seq: int
    at: datetime
    reason: Reason
    bury: TombstoneKind

    @cached_property
    def selection(self) -> Selection:
        """What it covers, ready to be asked."""
        return Selection.of(self.selector)

    def covers(self, memory: Memory) -> bool:
        """True for a memory of the selection as it stood when the fence was set.

        What it covers is written by nobody, so that what changed later was never covered.
        """
        return memory.seq <= self.seq and self.selection.takes(memory)


@dataclass(frozen=True, slots=True)
class Erasure:
    """The receipt of a forget, and the job that carries it out: `cursor` says how far a phase is.

    `waits_for` tells what it waits for, `cleared_at` when its files were seen to be gone. `remaining` are
    the memories of a forget that named one, which projections may still hold; those of a selection are found
    by their tombstones. `retained_until` is when the last backup that holds anything of it is gone. `spared`
    are values that others have said too, `buried` those of the memories and of their evidence: by them it is
    found who else said so. With evidence, which is `quoted`, other memories may quote the same sentence.
    """

    id: str
    selector: dict[str, Any]
    reason: Reason
    requested_at: datetime
    actor: str
    matched: int = 0
    erased: int = 0
    tombstones: int = 0
    audit_seq: int = 0
    digest: str = ""
    cascade: tuple[Cascaded, ...] = ()
    remaining: tuple[str, ...] = ()
    proven_at: datetime | None = None
    revision: int = 0
    schema: int = 1
    phase: Phase = Phase.COMPLETE
    cursor: str | None = None
    bury: TombstoneKind = TombstoneKind.VALUE
    seq: int = 0
    cascaded: int = 0
    redacted: int = 0
    messages: int = 0
    waits_for: str | None = None
    retained_until: datetime | None = None
    spared: tuple[str, ...] = ()
    buried: tuple[str, ...] = ()
    quoted: bool = False
    cleared_at: datetime | None = None
    trace: str | None = None  # of whoever asked for it

    @property
    def completed_at(self) -> datetime | None:
        """When the last store was proven empty."""
        return self.proven_at if self.is_over and not self.remaining else None

    @property
    def was_fenced(self) -> bool:
        """True for the erasure of a selection, which takes time; one memory is gone in one go."""
        return self.seq > 0

    @property
    def is_over(self) -> bool:
        """True if no job has to work on it."""
        return self.phase is Phase.COMPLETE

    @property
    def is_called_for(self) -> bool:
        """True if a job has to work on it and none has begun."""
        if self.phase is Phase.TWINS:
            return bool(self.remaining) and not self.was_fenced and self.cursor is None
        return self.phase is Phase.MEMORIES and self.cursor is None and not self.erased

    def burying(self, digests: Iterable[str]) -> tuple[str, ...]:
        """The values that are buried, with some more; `MANY` from some number on."""
        known = tuple(dict.fromkeys((*self.buried, *digests)))
        return MANY if self.buried == MANY or len(known) > MOST_BURIED else known

    @property
    def is_whole_scope(self) -> bool:
        """True if all of a scope is erased."""
        return bool(self.selector.get("all"))

    @property
    def run_id(self) -> str | None:
        """The conversation that is erased, if it is one."""
        found = self.selector.get("run_id")
        return found if isinstance(found, str) else None


def retained(removed_at: datetime, days: int) -> datetime:
    """When the last backup of a table is gone that may hold what was removed then."""
    return removed_at + timedelta(days=days)
