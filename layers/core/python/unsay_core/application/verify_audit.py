"""The audit log: listed in order, and walked to say where it stops holding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unsay_core.application.anchor import Compared, compare, newest_anchor, up_to
from unsay_core.application.ledger import HEAD, Area, Head, audit_ref
from unsay_core.application.pages import Page, page_of
from unsay_core.application.ports import UnreadableError
from unsay_core.domain.audit import AuditEntry, walk
from unsay_core.domain.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from unsay_core.application.ports import Anchor, AuditScope, OpenScope

PAGE = 200
MOST = 5_000  # entries walked in one call; the next call goes on from there


@dataclass(frozen=True, slots=True)
class Verification:
    """What is known of the chain: `complete` means that the walk reached the head it began with.

    `first_bad` is where it stops holding. Where a chain was made anew it is the first anchored place with
    another hash: what was forged begins there or after the anchor before it.
    """

    ok: bool
    complete: bool
    next: int | None
    length: int
    head: Head
    first_bad: int | None
    anchored: Anchor | None


def verify_audit(opened: AuditScope, *, start: int = 1) -> Verification:
    """Check every link from `start` on, that the last is what the head names, and all that is anchored."""
    head = _head(opened)
    if start > head.seq + 1:
        raise InvalidRequestError.at("from", "the chain ends before that")
    stop = min(head.seq, start + MOST - 1)
    hashes: dict[int, str] = {}
    broken = _first_broken(opened, head, start, stop, hashes)
    compared = _compared(opened, head, start, stop, hashes)
    first_bad = min((bad for bad in (broken, compared.first_bad) if bad is not None), default=None)
    complete = first_bad is not None or stop >= head.seq
    return Verification(
        ok=first_bad is None,
        complete=complete,
        next=None if complete else stop + 1,
        length=head.seq,
        head=head,
        first_bad=first_bad,
        anchored=compared.last,
    )


def list_audit(opened: OpenScope, *, after: int, start: str | None, limit: int) -> Page[AuditEntry]:
    """A page of entries beyond the place `after`; `start` is where an earlier page ended."""
    return page_of(opened.ledger, Area.AUDIT, after=start or audit_ref(after).id, limit=limit)


def _head(opened: OpenScope) -> Head:
    return opened.ledger.read([HEAD]).get(HEAD) or Head()


def _first_broken(opened: OpenScope, head: Head, start: int, stop: int, hashes: dict[int, str]) -> int | None:
    """Walk a stretch of the chain, noting its hashes; returns the first place that does not hold."""
    before = opened.ledger.read([audit_ref(start - 1)]).get(audit_ref(start - 1)) if start > 1 else None
    if start > 1 and before is None:
        return start - 1
    try:
        verdict = walk(_noted(_entries(opened, start, stop), hashes), previous=before)
    except UnreadableError as unreadable:
        return int(unreadable.ref.id)
    reached = verdict.last.seq if verdict.last else start - 1
    if verdict.first_bad or reached < stop:
        return verdict.first_bad or reached + 1
    if stop == head.seq and verdict.last and verdict.last.hash != head.hash:
        return head.seq
    return head.seq + 1 if stop == head.seq and _is_past(head, opened) else None


def _compared(opened: AuditScope, head: Head, start: int, stop: int, hashes: Mapping[int, str]) -> Compared:
    """What the anchors say of the stretch, and the newest of them all."""
    if stop < head.seq:
        stretch = compare(hashes, up_to(stop, opened.anchors.since(start)))
        return Compared(stretch.first_bad, newest_anchor(opened.anchors, head.seq))
    stretch = compare(hashes, opened.anchors.since(start))
    newest = stretch.last or newest_anchor(opened.anchors, head.seq)
    if newest and newest.seq > head.seq and newest.seq > _head(opened).seq:  # the tail it anchors is gone
        return Compared(min(stretch.first_bad or newest.seq, head.seq + 1), newest)
    return Compared(stretch.first_bad, newest)


def _noted(entries: Iterator[AuditEntry], hashes: dict[int, str]) -> Iterator[AuditEntry]:
    for entry in entries:
        hashes[entry.seq] = entry.hash
        yield entry


def _is_past(head: Head, opened: OpenScope) -> bool:
    """True if there is an entry beyond the head that no later head accounts for: somebody put it back."""
    beyond = opened.ledger.page(Area.AUDIT, after=audit_ref(head.seq).id, limit=1)
    return bool(beyond) and _head(opened).seq == head.seq


def _entries(opened: OpenScope, start: int, stop: int) -> Iterator[AuditEntry]:
    """Entries up to `stop`: what was appended since the head was read is for the next walk."""
    after = audit_ref(start - 1).id
    while True:
        page = opened.ledger.page(Area.AUDIT, after=after, limit=PAGE)
        entries = [entry for entry in page if isinstance(entry, AuditEntry)]
        yield from (entry for entry in entries if entry.seq <= stop)
        if len(page) < PAGE or entries[-1].seq >= stop:
            return
        after = audit_ref(entries[-1].seq).id
