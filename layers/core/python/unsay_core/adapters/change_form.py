"""What no store takes, whatever it holds: one that took it would hide a fault until production."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unsay_core.application.ledger import Change

MOST_PARTS = 100  # of one transaction of DynamoDB


def require_form(change: Change) -> None:
    """Raise `ValueError` for a change of too many parts, or of two parts for one place."""
    if len(change) > MOST_PARTS:
        raise ValueError(f"a change has at most {MOST_PARTS} parts")
    if len({part.ref for part in change}) < len(change):
        raise ValueError("a change cannot include multiple operations on one item")
