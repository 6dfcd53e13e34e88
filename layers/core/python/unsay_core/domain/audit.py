"""The audit log of a scope: one entry per change, each bound to the one before by its hash.

An entry carries digests and ids, never text, so that erasing a memory does not break the chain.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

GENESIS = "0" * 64


class Event(StrEnum):
    """What an entry records, in the past tense."""

    REMEMBERED = "memory.remembered"
    INFERRED = "memory.inferred"
    BROUGHT = "memory.imported"
    CORROBORATED = "memory.corroborated"
    EDITED = "memory.edited"
    REPLACED = "memory.replaced"
    CORRECTED = "memory.corrected"
    RETRACTED = "memory.retracted"
    DISPUTED = "memory.disputed"
    APPROVED = "memory.approved"
    REJECTED = "memory.rejected"
    BURIED = "memory.buried"
    WEAKENED = "memory.weakened"
    EXPIRED = "memory.expired"
    FORGOTTEN = "memory.forgotten"
    FENCED = "erasure.requested"
    REMOVED = "erasure.removed"
    PROVEN = "erasure.complete"
    ERASED = "conversation.erased"
    RECORDED = "conversation.recorded"
    UPLOADING = "conversation.upload_expected"
    REDACTED = "conversation.redacted"
    EXTRACTED = "conversation.extracted"
    GIVEN_UP = "conversation.failed"
    RETRIED = "conversation.retried"
    REINDEXED = "scope.reindexed"
    MERGED = "memory.merged"
    UNMERGED = "memory.unmerged"
    RESTORED = "scope.restored"
    EXPORTED = "scope.exported"
    IMPORTED = "scope.imported"
    LIFTED = "tombstone.lifted"
    REFUSED = "write.refused"


@dataclass(frozen=True, slots=True)
class Before:
    """The entry that was the last about a memory until this one: a memory's own thread in the chain."""

    memory_id: str
    seq: int


@dataclass(frozen=True, slots=True)
class Happening:
    """What a use case reports; the draft adds the threads, and the chain place, time and hash."""

    event: Event
    memory_id: str | None = None
    version: int | None = None
    commitment: str | None = None
    related: tuple[str, ...] = ()
    reason: str | None = None
    note_digest: str | None = None
    erasure_id: str | None = None
    tombstone: str | None = None
    before: tuple[Before, ...] = ()
    channel: str = "api"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One link of the chain; `hash` covers every other field and so the whole past."""

    seq: int
    at: datetime
    actor: str
    happening: Happening
    prev: str
    hash: str = ""
    schema: int = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """What walking a stretch of the chain found; `first_bad` is the first entry that does not hold."""

    ok: bool
    last: AuditEntry | None
    first_bad: int | None = None


def entry_hash(entry: AuditEntry) -> str:
    """SHA-256, in hex, over the canonical JSON of every field but the hash itself."""
    fields = asdict(replace(entry, hash=""))
    fields["at"] = entry.at.isoformat()
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def sealed(entry: AuditEntry) -> AuditEntry:
    """The entry with its hash filled in."""
    return replace(entry, hash=entry_hash(entry))


def walk(entries: Iterable[AuditEntry], *, previous: AuditEntry | None) -> Verdict:
    """Check entries in order against the one before them; stops at the first that does not hold."""
    last = previous
    for entry in entries:
        expected_seq = last.seq + 1 if last else 1
        expected_prev = last.hash if last else GENESIS
        if (entry.seq, entry.prev, entry.hash) != (expected_seq, expected_prev, entry_hash(entry)):
            return Verdict(ok=False, last=last, first_bad=expected_seq)
        last = entry
    return Verdict(ok=True, last=last)
