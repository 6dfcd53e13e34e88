"""The audit log: listed in order, and walked to say where it stops holding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unsay_core.application.pages import Page, page_of
from unsay_core.application.ports import UnreadableError
from unsay_core.domain.audit import AuditEntry, walk
from unsay_core.domain.errors import InvalidRequestError
from unsay_core.domain.ledger import HEAD, Area, Head, audit_ref

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unsay_core.application.ports import OpenScope

PAGE = 200
MOST = 5_000  # entries walked in one call; the next call goes on from there


@dataclass(frozen=True, slots=True)
class Verification:
    """What is known of the chain: `complete` means that the walk reached the head it began with."""

    ok: bool
    complete: bool
    next: int | None
    length: int
    head: Head
    first_bad: int | None


def verify_audit(opened: OpenScope, *, start: int = 1) -> Verification:
    """Check every link from `start` on, and that the last one is what the head names."""
    head = opened.ledger.read([HEAD]).get(HEAD) or Head()
    if start > head.seq + 1:
        raise InvalidRequestError.at("from", "the chain ends before that")
    before = opened.ledger.read([audit_ref(start - 1)]).get(audit_ref(start - 1)) if start > 1 else None
    if start > 1 and before is None:
        return Verification(False, True, None, head.seq, head, first_bad=start - 1)
    stop = min(head.seq, start + MOST - 1)
    try:
        verdict = walk(_entries(opened, start, stop), previous=before)
    except UnreadableError as unreadable:
        return Verification(False, True, None, head.seq, head, first_bad=int(unreadable.ref.id))
    reached = verdict.last.seq if verdict.last else start - 1
    first_bad = verdict.first_bad or (reached + 1 if reached < stop else None)
    if first_bad is None and stop == head.seq and verdict.last and verdict.last.hash != head.hash:
        first_bad = head.seq
    if first_bad is None and stop == head.seq and _is_past(head, opened):
        first_bad = head.seq + 1
    complete = first_bad is not None or stop >= head.seq
    return Verification(
        first_bad is None, complete, None if complete else stop + 1, head.seq, head, first_bad
    )


def list_audit(opened: OpenScope, *, after: int, start: str | None, limit: int) -> Page[AuditEntry]:
    """A page of entries beyond the place `after`; `start` is where an earlier page ended."""
    return page_of(opened.ledger, Area.AUDIT, after=start or audit_ref(after).id, limit=limit)


def _is_past(head: Head, opened: OpenScope) -> bool:
    """True if there is an entry beyond the head that no later head accounts for: somebody put it back."""
    beyond = opened.ledger.page(Area.AUDIT, after=audit_ref(head.seq).id, limit=1)
    return bool(beyond) and (opened.ledger.read([HEAD]).get(HEAD) or Head()).seq == head.seq


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
