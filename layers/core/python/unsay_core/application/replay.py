"""Idempotency: the same request again gets the first outcome again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from unsay_core.application.ledger import Outcome, memory_ref, outcome_ref, version_ref
from unsay_core.domain.errors import ForgottenError, IdempotencyMismatchError
from unsay_core.domain.memory import Memory
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from unsay_core.application.draft import Draft
    from unsay_core.application.ledger import Ref

KEPT = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """What makes two requests one: `id` digests principal, route and key, `request_digest` the body."""

    id: str
    request_digest: str

    @property
    def ref(self) -> Ref[Outcome]:
        """Where the outcome is kept."""
        return outcome_ref(self.id)


@dataclass(frozen=True, slots=True)
class Written:
    """What a write led to; `created` tells `201` from `200`."""

    memory: Memory
    created: bool = True
    deduplicated: bool = False
    replayed: bool = False


def keep(written: Written, key: IdempotencyKey | None, draft: Draft) -> Written:
    """Keep the outcome of a request that named itself, in the change's own transaction."""
    if key is not None:
        memory, status = written.memory, 201 if written.created else 200
        keep_outcome(key, status, memory.id, memory.version, draft)
    return written


def keep_outcome(key: IdempotencyKey, status: int, made: str, version: int, draft: Draft) -> None:
    """Keep what a request led to: which thing, in which version."""
    ttl = int((draft.at + KEPT).timestamp())
    draft.put(Outcome(key.id, key.request_digest, status, made, version, ttl))


def earlier_outcome(key: IdempotencyKey | None, draft: Draft) -> Outcome | None:
    """What this very request led to before; raises `IdempotencyMismatchError` for another body."""
    outcome = draft.get(key.ref) if key else None
    if key is None or outcome is None or outcome.ttl <= draft.at.timestamp():
        return None
    if outcome.request_digest != key.request_digest:
        raise IdempotencyMismatchError("this Idempotency-Key was used with another body")
    return outcome


def replayed(key: IdempotencyKey | None, draft: Draft) -> Written | None:
    """The first outcome of this request, or None if it is new.

    Raises `IdempotencyMismatchError` for another body under the same key, `ForgottenError` if what it
    made has been erased since.
    """
    outcome = earlier_outcome(key, draft)
    if outcome is None:
        return None
    memory, created = _as_made(outcome, draft), outcome.status == 201
    deduplicated = not (created or memory.fact.is_item)
    return Written(memory, created=created, deduplicated=deduplicated, replayed=True)


def _as_made(outcome: Outcome, draft: Draft) -> Memory:
    current, kept = memory_ref(outcome.memory_id), version_ref(outcome.memory_id, outcome.version)
    draft.load(current, kept)
    version, memory = draft.get(kept), draft.get(current)
    if version is not None:
        return version.memory
    if memory is None:
        raise ForgottenError("what this request made has been forgotten")
    return memory
