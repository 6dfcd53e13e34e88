"""What callers get: one rendering of each thing, the same through every call."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from unsay_core.domain.timeline import rfc3339
from unsay_core.jobs.erasure import Phase

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.application.access import ApiKey, NewKey
    from unsay_core.application.look_up import History
    from unsay_core.application.recall import Recalled, Recollection
    from unsay_core.application.statistics import Statistics
    from unsay_core.application.verify_audit import Verification
    from unsay_core.domain.audit import AuditEntry
    from unsay_core.domain.memory import Imported, Memory, Review, Source
    from unsay_core.domain.tombstone import Tombstone
    from unsay_core.jobs.erasure import Erasure

BACKUP = timedelta(days=35)  # how long the tables' point-in-time recovery reaches back


def memory_answer(memory: Memory, scope: str, now: datetime) -> dict[str, Any]:
    """A memory."""
    fact = memory.fact
    return {
        "id": memory.id,
        "scope": scope,
        "kind": fact.kind.value,
        "content": fact.content,
        "key": fact.key,
        "path": list(fact.path),
        "tags": list(fact.tags),
        "importance": fact.importance,
        "data": fact.data,
        "metadata": fact.metadata,
        "status": memory.status_at(now).value,
        "trust": memory.trust.value,
        "valid_from": _instant(fact.valid_from),
        "valid_to": _instant(fact.valid_to),
        "recorded_at": _instant(memory.recorded_at),
        "invalidated_at": _instant(memory.invalidated_by(now)),
        "updated_at": _instant(memory.updated_at),
        "expires_at": _instant(fact.expires_at),
        "version": memory.version,
        "supersedes": list(memory.supersedes),
        "superseded_by": memory.superseded_by,
        "derived_from": list(memory.derived_from),
        "source": _source(memory.source),
        "corroborations": [_source(source) for source in memory.corroborations],
        "review": _review(memory.review),
        "index": {"state": memory.index_state.value, "at": _instant(memory.indexed_at or memory.updated_at)},
        "schema": memory.schema,
    }


def history_answer(found: History, scope: str, now: datetime) -> dict[str, Any]:
    """What a memory was, each version as it stood until the next, and what happened to it."""
    until = [*(following.updated_at for following in found.versions[1:]), now]
    return {
        "versions": [memory_answer(v, scope, at) for v, at in zip(found.versions, until, strict=False)],
        "events": [event_answer(entry) for entry in found.events],
    }


def event_answer(entry: AuditEntry) -> dict[str, Any]:
    """An audit entry."""
    happening = entry.happening
    return {
        "seq": entry.seq,
        "at": _instant(entry.at),
        "event": happening.event.value,
        "actor": entry.actor,
        "channel": happening.channel,
        "memory_id": happening.memory_id,
        "version": happening.version,
        "related": list(happening.related),
        "reason": happening.reason,
        "commitment": happening.commitment,
        "note_digest": happening.note_digest,
        "erasure_id": happening.erasure_id,
        "tombstone": happening.tombstone,
        "prev": entry.prev,
        "hash": entry.hash,
        "before": [{"memory_id": each.memory_id, "seq": each.seq} for each in happening.before],
        "schema": entry.schema,
    }


def tombstone_answer(grave: Tombstone) -> dict[str, Any]:
    """A tombstone: a digest, never text. A tombstone of an id names the id."""
    return {
        "id": grave.digest,
        "kind": grave.kind.value,
        "at": _instant(grave.at),
        "reason": grave.reason.value,
        "actor": grave.actor,
        "hits": grave.hits,
        "lifted": grave.lifted,
        "erasure_id": grave.erasure_id,
    }


def statistics_answer(found: Statistics) -> dict[str, Any]:
    """Counts of a scope."""
    return {
        "kinds": dict(found.kinds),
        "statuses": dict(found.statuses),
        "trusts": dict(found.trusts),
        "bytes": found.bytes,
        "index": {"pending": found.pending, "oldest_pending": _instant(found.oldest_pending)},
        "complete": found.complete,
    }


def recollection_answer(found: Recollection, now: datetime, took: float) -> dict[str, Any]:
    """The answer to a recall; `took` in seconds."""
    return {
        "items": [_recalled(item, now) for item in found.items],
        "degraded": found.degraded,
        "reasons": list(found.reasons),
        "considered": found.considered,
        "took_ms": round(took * 1000),
    }


def erasure_answer(erasure: Erasure, *, has_backups: bool) -> dict[str, Any]:
    """A receipt: what each store is known to hold and, where there are backups, until when they may.

    Where there are none there are no places for files either: the service is one file itself.
    """
    return {
        "id": erasure.id,
        "state": "complete" if erasure.completed_at else "pending",
        "selector": erasure.selector,
        "reason": erasure.reason.value,
        "requested_at": _instant(erasure.requested_at),
        "completed_at": _instant(erasure.completed_at),
        "matched": erasure.matched,
        "erased": erasure.erased,
        "tombstones": erasure.tombstones,
        "cascade": [
            {"id": gone.memory_id, "why": gone.why, "outcome": gone.outcome} for gone in erasure.cascade
        ],
        "cascaded": erasure.cascaded,
        "redacted": erasure.redacted,
        "messages": erasure.messages,
        "waits_for": erasure.waits_for,
        "stores": [*_stores(erasure), *_files(erasure), *([_backup(erasure)] if has_backups else [])],
        "audit_seq": erasure.audit_seq,
        "actor": erasure.actor,
        "digest": erasure.digest,
    }


def _stores(erasure: Erasure) -> list[dict[str, Any]]:
    """What was seen of each store; of the ledger what was done to it, and what a sweep of a selection saw."""
    at_work = (Phase.MEMORIES, Phase.CONVERSATIONS, Phase.REMAINS, Phase.SWEEP)
    is_removed = erasure.phase not in at_work
    is_proven = erasure.completed_at is not None
    seen = _instant(erasure.proven_at)
    ledger = "swept: nothing left" if erasure.was_fenced else f"removed by change {erasure.audit_seq}"
    waiting = f"still held by: {erasure.waits_for}" if erasure.waits_for else None
    missed = waiting or (seen and f"looked for and not there at {seen}")
    reported = waiting or (seen and f"reported not there at {seen}")
    elsewhere = {"state": "absent" if is_proven else "pending", "until": None}
    return [
        {
            "store": "ledger",
            "state": "absent" if is_removed else "pending",
            "until": None,
            "proof": ledger if is_removed else None,
        },
        {"store": "document", **elsewhere, "proof": missed},
        {"store": "index", **elsewhere, "proof": reported},
    ]


def _files(erasure: Erasure) -> list[dict[str, Any]]:
    """Exports and imports, and transcripts: what a list of them showed."""
    seen = _instant(erasure.cleared_at)
    waits = erasure.waits_for if erasure.phase is Phase.FILES else None
    proof = seen and f"listed: nothing from before at {seen}"
    state = "absent" if seen else "pending"
    shown = {"state": state, "until": None, "proof": f"still held by: {waits}" if waits else proof}
    return [{"store": "transfers", **shown}, {"store": "intake", **shown}]


def _backup(erasure: Erasure) -> dict[str, Any]:
    return {
        "store": "backup",
        "state": "retained",
        "proof": "point-in-time recovery of the tables",
        "until": _instant(erasure.retained_until or erasure.requested_at + BACKUP),
    }


def verification_answer(found: Verification) -> dict[str, Any]:
    """What walking the audit chain found."""
    anchored = found.anchored
    return {
        "ok": found.ok,
        "complete": found.complete,
        "next": found.next,
        "length": found.length,
        "head": {"seq": found.head.seq, "hash": found.head.hash},
        "first_bad": found.first_bad,
        "anchored": anchored
        and {"seq": anchored.seq, "at": _instant(anchored.at), "location": anchored.location},
    }


def listed_key_answer(key: ApiKey) -> dict[str, Any]:
    """A key as it is listed."""
    return {
        "id": key.id,
        "name": key.name,
        "kind": key.principal.kind.value,
        "grants": [grant.to_json() for grant in key.principal.grants],
        "created_at": _instant(key.created_at),
        "created_by": key.created_by,
        "expires_at": _instant(key.expires_at),
        "last_used": key.last_used or None,
        "revoked_at": _instant(key.revoked_at),
    }


def key_answer(made: NewKey) -> dict[str, Any]:
    """A key just made: the only time its secret is shown."""
    return {**listed_key_answer(made.key), "secret": made.secret}


def delegation_answer(made: NewKey) -> dict[str, Any]:
    """A delegation just made: the only time its secret is shown."""
    key = made.key
    return {
        "id": key.id,
        "principal": key.principal.id,
        "grants": [grant.to_json() for grant in key.principal.grants],
        "created_at": _instant(key.created_at),
        "expires_at": _instant(key.expires_at),
        "secret": made.secret,
    }


def _recalled(item: Recalled, now: datetime) -> dict[str, Any]:
    scores = item.scores
    return {
        "memory": memory_answer(item.memory, item.opened.scope.canonical, now),
        "score": round(item.score, 6),
        "scores": {
            "semantic": None if scores.semantic is None else round(scores.semantic, 6),
            "lexical": round(scores.lexical, 6),
            "recency": round(scores.recency, 6),
            "importance": round(scores.importance, 6),
        },
    }


def _review(review: Review | None) -> dict[str, Any] | None:
    if review is None:
        return None
    return {
        "reasons": list(review.reasons),
        "since": _instant(review.since),
        "decision": review.decision,
        "decided_by": review.decided_by,
        "decided_at": _instant(review.decided_at),
    }


def _source(source: Source) -> dict[str, Any]:
    return {
        "channel": source.channel,
        "actor": source.actor,
        "run_id": source.run_id,
        "message_seqs": list(source.message_seqs),
        "quote": source.quote,
        "model": source.model,
        "import": source.imported and _imported(source.imported),
    }


def _imported(imported: Imported) -> dict[str, Any]:
    return {
        "job_id": imported.job_id,
        "channel": imported.channel,
        "actor": imported.actor,
        "recorded_at": _instant(imported.recorded_at),
    }


def _instant(value: datetime | None) -> str | None:
    return rfc3339(value) if value else None
