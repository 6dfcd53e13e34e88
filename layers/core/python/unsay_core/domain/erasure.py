"""The receipt of a forget."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from unsay_core.domain.memory import Reason


@dataclass(frozen=True, slots=True)
class Cascaded:
    """A memory that went along with the one asked for, and why."""

    memory_id: str
    why: str
    outcome: str = "erased"


@dataclass(frozen=True, slots=True)
class Erasure:
    """The receipt of a forget; `remaining` are the memories a projection may still hold."""

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

    @property
    def completed_at(self) -> datetime | None:
        """When the last store was proven empty."""
        return None if self.remaining else self.proven_at
