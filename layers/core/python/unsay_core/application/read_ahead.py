"""A ledger that has read some places together: who comes to each of them alone need not ask again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unsay_core.application.ports import Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import Ledger

AT_ONCE = 100  # places in one read


class ReadAhead:
    """The reading side of a `Ledger`. What was read ahead is told once: who looks again sees the ledger."""

    def __init__(self, ledger: Ledger, places: Sequence[Ref[Any]]) -> None:
        self._ledger = ledger
        self._ahead: dict[Ref[Any], Any] = {}
        for at in range(0, len(places), AT_ONCE):
            some = places[at : at + AT_ONCE]
            found = ledger.read(some)
            self._ahead |= {ref: found.get(ref) for ref in some}

    def read(self, refs: Sequence[Ref[Any]]) -> Snapshot:
        """What was read ahead, if that is all of it and was not told yet."""
        if any(ref not in self._ahead for ref in refs):
            return self._ledger.read(refs)
        told = {ref: self._ahead.pop(ref) for ref in refs}
        return Snapshot({ref: entry for ref, entry in told.items() if entry is not None})
