"""Refusals as problem documents (RFC 9457)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unsay_core.domain.errors import UnsayError


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
