"""Receipts: what an erasure asked for, and what is proven of each store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.domain.errors import NotFoundError
from unsay_core.domain.ledger import erasure_ref

if TYPE_CHECKING:
    from unsay_core.application.ports import OpenScope
    from unsay_core.domain.ledger import Erasure


def receipt(erasure_id: str, opened: OpenScope) -> Erasure:
    """One receipt; raises `NotFoundError`."""
    ref = erasure_ref(erasure_id)
    erasure = opened.ledger.read([ref]).get(ref)
    if erasure is None:
        raise NotFoundError("no such erasure in this scope")
    return erasure
