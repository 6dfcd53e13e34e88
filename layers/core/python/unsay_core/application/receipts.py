"""Receipts: what an erasure asked for, and what is proven of each store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.ledger import Area, erasure_ref
from unsay_core.application.pages import Page, page_of
from unsay_core.domain.errors import NotFoundError

if TYPE_CHECKING:
    from unsay_core.application.ports import OpenScope
    from unsay_core.jobs.erasure import Erasure


def receipt(erasure_id: str, opened: OpenScope) -> Erasure:
    """One receipt; raises `NotFoundError`."""
    ref = erasure_ref(erasure_id)
    erasure = opened.ledger.read([ref]).get(ref)
    if erasure is None:
        raise NotFoundError("no such erasure in this scope")
    return erasure


def list_receipts(opened: OpenScope, *, after: str | None, limit: int) -> Page[Erasure]:
    """A page of receipts, newest first."""
    return page_of(opened.ledger, Area.ERASURE, after=after, limit=limit, newest_first=True)
