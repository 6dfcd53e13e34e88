"""Idempotency: the same request again gets the first outcome again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from unsay_core.domain.errors import ForgottenError, IdempotencyMismatchError
from unsay_core.domain.ledger import Absent, Holds, Outcome, Put, memory_ref, outcome_ref, version_ref

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.application.ports import OpenScope, Snapshot
    from unsay_core.domain.ledger import Ref
    from unsay_core.domain.memory import Memory

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

    def kept(self, written: Written, snapshot: Snapshot, now: datetime) -> Put:
        """What to keep of a request that succeeded, unless the same request was faster.

        An outcome past its day may still lie there: then the guard is on that one.
        """
        memory, earlier = written.memory, snapshot.get(self.ref)
        expect = Holds("ttl", earlier.ttl) if earlier else Absent()
        status = 201 if written.created else 200
        ttl = int((now + KEPT).timestamp())
        return Put(Outcome(self.id, self.request_digest, status, memory.id, memory.version, ttl), expect)


@dataclass(frozen=True, slots=True)
class Written:
    """What a write led to; `created` tells `201` from `200`."""

    memory: Memory
    created: bool = True
    deduplicated: bool = False
    replayed: bool = False


def replayed(
    key: IdempotencyKey | None, snapshot: Snapshot, opened: OpenScope, now: datetime
) -> Written | None:
    """The first outcome of this request, or None if it is new.

    Raises `IdempotencyMismatchError` for another body under the same key, `ForgottenError` if what it
    made has been erased since.
    """
    outcome = snapshot.get(key.ref) if key else None
    if key is None or outcome is None or outcome.ttl <= now.timestamp():
        return None
    if outcome.request_digest != key.request_digest:
        raise IdempotencyMismatchError("this Idempotency-Key was used with another body")
    memory = _as_made(outcome, opened)
    created = outcome.status == 201
    return Written(memory, created=created, deduplicated=not created, replayed=True)


def _as_made(outcome: Outcome, opened: OpenScope) -> Memory:
    current, replaced = memory_ref(outcome.memory_id), version_ref(outcome.memory_id, outcome.version)
    found = opened.ledger.read([current, replaced])
    memory, version = found.get(current), found.get(replaced)
    if version is not None:
        return version.memory
    if memory is None:
        raise ForgottenError("what this request made has been forgotten")
    return memory
