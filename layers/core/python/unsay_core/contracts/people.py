"""What people send who decide and check: reviews, and the audit log."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from unsay_core.contracts.base import Note, Wire, refuse
from unsay_core.contracts.requests import PageQuery, ReasonField, ScopeQuery


class DecisionIn(Wire):
    """`POST /v1/reviews/{id}`."""

    decision: Literal["approve", "reject"]
    reason: ReasonField | None = None
    note: Note | None = None

    @model_validator(mode="after")
    def _a_rejection_has_a_reason(self) -> DecisionIn:
        if self.decision == "reject" and self.reason is None:
            raise refuse("reason", "a rejection has a reason")
        return self


class ReviewsQuery(PageQuery):
    """`GET /v1/reviews`."""

    state: Literal["candidate", "disputed", "active"] = "candidate"


def _whole(value: object) -> int:
    """A place in the chain, as a query string writes it."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 12:
        return int(value)
    raise ValueError("a whole number")


class AuditQuery(PageQuery):
    """`GET /v1/audit`: entries after a place in the chain."""

    after: Annotated[int, BeforeValidator(_whole)] = 0


class VerifyQuery(ScopeQuery):
    """`GET /v1/audit/verify`."""

    start: Annotated[int, BeforeValidator(_whole), Field(alias="from", ge=1)] = 1
