"""The list of what was taken back, kept beside the anchors: a restored table is held against it.

A backup of the ledger brings back what was forgotten since, and a backup of the record has lost the
tombstones themselves. So each tombstone is noted where no role of the service can change or remove anything:
its digest or id, when, why and of what sort. Never a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from unsay_core.application.ledger import Area, Ref
from unsay_core.domain.tombstone import Tombstone, TombstoneKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from unsay_core.application.ports import Ledger
    from unsay_core.domain.memory import Reason


class Standing(StrEnum):
    """What a tombstone stands for. In this order: of two notes of one moment the later one holds."""

    BURIED = "buried"  # not to be learned again; the text may stand in a history
    ERASED = "erased"  # and to be nowhere
    LIFTED = "lifted"


@dataclass(frozen=True, slots=True)
class Grave:
    """One note of the list."""

    kind: TombstoneKind
    digest: str
    at: datetime
    standing: Standing
    reason: Reason

    @classmethod
    def of(cls, tombstone: Tombstone) -> Grave:
        """What is noted of a tombstone as it stands."""
        erased = tombstone.erasure_id is not None or tombstone.kind is TombstoneKind.ID
        standing = Standing.LIFTED if tombstone.lifted else Standing.ERASED if erased else Standing.BURIED
        return cls(tombstone.kind, tombstone.digest, tombstone.at, standing, tombstone.reason)

    def tombstone(self, actor: str, seq: int) -> Tombstone:
        """The tombstone that a restored record lacks."""
        return Tombstone(
            self.digest,
            self.kind,
            self.at,
            actor,
            self.reason,
            seq=seq,
            lifted=self.standing is Standing.LIFTED,
        )


class GraveNotes(Protocol):
    """The list of one scope; what is noted once, nobody can take back."""

    def note(self, graves: Sequence[Grave]) -> None:
        """Note them; again changes nothing."""

    def listed(self) -> Iterator[Grave]:
        """The last note of each digest and id."""


def note_tombstones(sorts: Sequence[str], ledger: Ledger, graves: GraveNotes) -> None:
    """Note the tombstones that lie at up to a hundred places of the record."""
    refs: list[Ref[Tombstone]] = [Ref(Area.TOMBSTONE, sort) for sort in sorts]
    found = ledger.read(refs)
    if there := [Grave.of(tombstone) for ref in refs if (tombstone := found.get(ref))]:
        graves.note(there)
