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
    from unsay_core.domain.memory import Memory

MOST_CASCADED = 100  # memories that a receipt names one by one


@dataclass(frozen=True, slots=True)
class Cascaded:
    """A memory that went along with the one asked for, and why."""

    memory_id: str
    why: str
    outcome: str = "erased"


class Phase(StrEnum):
    """How far the erasure of a selection is; each begins when nothing is left for the one before."""

    MEMORIES = "memories"
    CONVERSATIONS = "conversations"
    REMAINS = "remains"
    SWEEP = "sweep"
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
    """The receipt of a forget; `remaining` are the memories a projection may still hold.

    An erasure of a selection is a job and has a `phase`: then `cursor` says how far that is, `waits_for` what
    it waits for, and instead of `remaining` the markers of index work are counted. `retained_until` is when
    the last backup that holds anything of it is gone. `spared` are values that others have said too.
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
    phase: Phase | None = None
    cursor: str | None = None
    bury: TombstoneKind = TombstoneKind.VALUE
    seq: int = 0
    cascaded: int = 0
    redacted: int = 0
    messages: int = 0
    waits_for: str | None = None
    retained_until: datetime | None = None
    spared: tuple[str, ...] = ()

    @property
    def completed_at(self) -> datetime | None:
        """When the last store was proven empty."""
        if self.phase is not None:
            return self.proven_at if self.phase is Phase.COMPLETE else None
        return None if self.remaining else self.proven_at

    @property
    def is_over(self) -> bool:
        """True if no job has to work on it."""
        return self.phase in (None, Phase.COMPLETE)

    @property
    def is_called_for(self) -> bool:
        """True if a job has to work on it and none has begun."""
        return self.phase is Phase.MEMORIES and self.cursor is None and not self.erased

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
