"""The ledger in memory: the readable model that the others are tested against."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from unsay_core.adapters.change_form import require_form
from unsay_core.application.ledger import (
    Absent,
    Area,
    Check,
    Delete,
    Entry,
    Expectation,
    Holds,
    Put,
    Ref,
    ref_of,
)
from unsay_core.application.ports import ConflictError, Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unsay_core.application.ledger import Change


class MemoryLedger:
    """One scope's entries in a dictionary, changed under a lock."""

    def __init__(self) -> None:
        self._entries: dict[Ref[Entry], Entry] = {}
        self._lock = threading.Lock()

    def read(self, refs: Sequence[Ref[Any]]) -> Snapshot:
        """See `Ledger.read`."""
        with self._lock:
            return Snapshot({ref: self._entries[ref] for ref in refs if ref in self._entries})

    def page(
        self, area: Area, *, after: str | None = None, limit: int, newest_first: bool = False
    ) -> list[Entry]:
        """See `Ledger.page`."""
        with self._lock:
            ids = sorted((ref.id for ref in self._entries if ref.area is area), reverse=newest_first)
            beyond = [i for i in ids if after is None or (i < after if newest_first else i > after)]
            return [self._entries[Ref(area, i)] for i in beyond[:limit]]

    def commit(self, change: Change) -> None:
        """See `Ledger.commit`."""
        require_form(change)
        with self._lock:
            for part in change:
                self._check(part.ref, part.expect)
            for part in change:
                self._apply(part)

    def _check(self, ref: Ref[Entry], expect: Expectation) -> None:
        found = self._entries.get(ref)
        match expect:
            case Absent() if found is not None:
                raise ConflictError(f"{ref.area} is taken")
            case Holds(field, value) if found is None or getattr(found, field) != value:
                raise ConflictError(f"{ref.area} has moved on")

    def _apply(self, part: Put | Delete | Check) -> None:
        match part:
            case Put(entry):
                self._entries[ref_of(entry)] = entry
            case Delete(ref):
                self._entries.pop(ref, None)
