"""Anchor: heads of the audit chain go where no role of the service can change them, and are compared there.

A chain that was made anew is consistent in itself. What tells it from the true one is a hash of the true one
that was put out of reach while it was new.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from unsay_core.application.ledger import audit_ref

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from unsay_core.application.ports import Anchor, Anchors, ProjectScope

WINDOW = 900  # places looked through first for the newest anchor: one list


@dataclass(frozen=True, slots=True)
class Compared:
    """What the anchors of a stretch say: the first place they contradict, the last anchor seen."""

    first_bad: int | None
    last: Anchor | None


def anchor_head(seq: int, scope: ProjectScope) -> None:
    """Anchor an entry of the chain, and with it every one before."""
    entry = scope.ledger.read([audit_ref(seq)]).get(audit_ref(seq))
    if entry is not None:
        scope.anchors.put(entry.seq, entry.hash)


def compare(hashes: Mapping[int, str], anchors: Iterable[Anchor]) -> Compared:
    """Hold the hashes of a stretch of the chain against what is anchored of it.

    Bad is a place whose entry has another hash than an anchor of it; where there are two, one always has.
    """
    first_bad: int | None = None
    last: Anchor | None = None
    for anchor in anchors:
        if first_bad is None and hashes.get(anchor.seq, anchor.hash) != anchor.hash:
            first_bad = anchor.seq
        last = anchor
    return Compared(first_bad, last)


def up_to(seq: int, anchors: Iterable[Anchor]) -> Iterable[Anchor]:
    """The anchors of places up to one, read no further than that."""
    return takewhile(lambda anchor: anchor.seq <= seq, anchors)


def newest_anchor(anchors: Anchors, head: int) -> Anchor | None:
    """The last anchor of a chain that ends at `head`; looked for near its end first, then further back."""
    window = WINDOW
    while True:
        last = deque(anchors.since(max(1, head - window)), maxlen=1)
        if last or window >= head:
            return last[0] if last else None
        window *= 10
