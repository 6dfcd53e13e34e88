"""Refusals as problem documents (RFC 9457)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unsay_core.domain.errors import QuotaExceededError, ThrottledError
from unsay_core.metrics import REFUSALS

if TYPE_CHECKING:
    from unsay_core.domain.errors import UnsayError
    from unsay_core.metrics import Signals


def problem_document(refusal: UnsayError, request_id: str) -> dict[str, Any]:
    """A refusal, of a call or of one item of a batch."""
    return {
        "type": f"urn:unsay:problem:{refusal.code}",
        "title": refusal.title,
        "status": refusal.status,
        "detail": refusal.detail,
        "code": refusal.code,
        "request_id": request_id,
        **refusal.extra,
    }


def count_refusal(refusal: UnsayError, signals: Signals) -> None:
    """Tell of a refusal by quota or rate, which its root's policy might want to be wider for."""
    if isinstance(refusal, QuotaExceededError | ThrottledError):
        signals.tell(REFUSALS, reason=refusal.quota)
