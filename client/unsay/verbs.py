"""Every verb, once: what it takes, and the question it becomes. `Memory` and `AsyncMemory` ask them.

A verb on one memory takes the memory, or an id with `scope=`. What changes a memory is meant for the version
that was seen: the given memory's, or `version=` beside an id.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Final, Literal

from unsay.asking import A, Ask
from unsay_core.contracts import exact_json
from unsay_core.contracts.conversations import (
    ConversationOut,
    HandedOut,
    PolicyOut,
    RecordedOut,
    RunsOut,
    UploadOut,
)
from unsay_core.contracts.schemas import (
    AuditOut,
    BatchOut,
    DelegationOut,
    ErasureOut,
    ErasuresOut,
    HistoryOut,
    KeyOut,
    KeysOut,
    ListedKeyOut,
    ListOut,
    MemoryOut,
    RecallOut,
    ReviewsOut,
    ScopesOut,
    SelectedOut,
    StatisticsOut,
    TombstoneOut,
    TombstonesOut,
    VerifyOut,
)
from unsay_core.contracts.transfers import JobOut
from unsay_core.domain import labels

Scope = str | Sequence[str]
"""`"acme/users/alice"`, or its segments: `["acme", "users", "a/b"]`."""
Instant = datetime | str
"""A time with an offset, as a `datetime` or in RFC 3339."""


class _Keep(Enum):
    KEEP = "keep"

    def __repr__(self) -> str:
        return self.name


KEEP: Final = _Keep.KEEP
"""In a correction or an edit: leave this field as it is. `None` clears it."""


def remember(
    content: str,
    *,
    scope: Scope,
    kind: str = "semantic",
    key: str | None = None,
    path: Sequence[str] = (),
    tags: Sequence[str] = (),
    importance: float = 0.5,
    data: Any = None,
    metadata: Mapping[str, Any] | None = None,
    valid_from: Instant | None = None,
    valid_to: Instant | None = None,
    expires_at: Instant | None = None,
    ttl_seconds: int | None = None,
    derived_from: Sequence[str] = (),
    run_id: str | None = None,
    message_seqs: Sequence[int] = (),
    quote: str | None = None,
    idempotency_key: str | None = None,
) -> Ask[MemoryOut]:
    """Remember a fact. A duplicate of an active one answers with that one, `deduplicated`.

    `kind` is `semantic`, `episodic` or `procedural`; `key` names a slot that holds one active memory. Or it
    is `item`, a record that is written over at its `path` and `key`.
    Raises `TombstonedError` for a value that was taken back, `SecretRefusedError` for a credential.
    """
    body = {
        "scope": scope,
        "content": content,
        "kind": kind,
        "key": key,
        "path": path,
        "tags": tags,
        "importance": importance,
        "data": data,
        "metadata": metadata or {},
        "valid_from": _instant(valid_from),
        "valid_to": _instant(valid_to),
        "expires_at": _instant(expires_at),
        "ttl_seconds": ttl_seconds,
        "derived_from": derived_from,
        "source": {"run_id": run_id, "message_seqs": message_seqs, "quote": quote},
    }
    return _post(MemoryOut, "memories", body=body, once=idempotency_key)


def remember_batch(
    items: Sequence[Mapping[str, Any]], *, scope: Scope, idempotency_key: str | None = None
) -> Ask[BatchOut]:
    """Remember up to 25 facts, each on its own: what is wrong with one does not keep out the others.

    An item has the fields of `POST /v1/memories`; the results are in the order of the items, a memory or a
    problem each.
    """
    return _post(
        BatchOut, "memories", "batch", body={"scope": scope, "items": [*items]}, once=idempotency_key
    )


def get(
    memory: MemoryOut | str, *, scope: Scope | None = None, known_at: Instant | None = None
) -> Ask[MemoryOut]:
    """One memory, whatever its status, as it is or as it was believed at `known_at`.

    A forgotten one raises `NotFoundError`.
    """
    memory_id, where = _address(memory, scope)
    return _get(MemoryOut, "memories", memory_id, scope=where, known_at=known_at)


def list(
    *,
    scope: Scope,
    limit: int = 20,
    cursor: str | None = None,
    order: Literal["asc", "desc"] = "desc",
    status: str = "active",
    kind: str | None = None,
    tag: str | None = None,
    key: str | None = None,
    path: Sequence[str] | None = None,
    trust: str | None = None,
    run_id: str | None = None,
    filter: Mapping[str, Any] | None = None,
    valid_at: Instant | None = None,
    known_at: Instant | None = None,
) -> Ask[ListOut]:
    """A page of memories, newest first. `next_cursor` leads to the next page; None ends the list."""
    return _get(
        ListOut,
        "memories",
        scope=scope,
        limit=limit,
        cursor=cursor,
        order=order,
        status=status,
        kind=kind,
        tag=tag,
        key=key,
        path=None if path is None else labels.joined(path),
        trust=trust,
        run_id=run_id,
        filter=None if filter is None else exact_json.dumps(filter),
        valid_at=valid_at,
        known_at=known_at,
    )


def recall(
    query: str,
    *,
    scope: Scope | None = None,
    scopes: Sequence[Scope] | None = None,
    limit: int = 5,
    kinds: Sequence[str] | None = None,
    tags: Sequence[str] = (),
    filter: Mapping[str, Any] | None = None,
    min_trust: str | None = None,
    min_score: float | None = None,
    include: Sequence[Literal["candidate", "disputed"]] = (),
    valid_at: Instant | None = None,
    known_at: Instant | None = None,
    deadline_ms: int = 3_000,
    format: Literal["entries", "prompt"] = "entries",
    max_chars: int | None = None,
) -> Ask[RecallOut]:
    """The memories that answer a query best, in one scope or in up to eight `scopes`.

    `filter` narrows: `{"eq": ["metadata.team", "red"]}`; docs/filters.md has the language.
    With `format="prompt"` the answer's `prompt` is one block to paste, of at most `max_chars`.
    `degraded` is true when a store was late or down; `reasons` then say which, and what the rest found
    is there.
    """
    body = {
        "scope": scope,
        "scopes": scopes,
        "query": query,
        "limit": limit,
        "kinds": kinds,
        "tags": tags,
        "filter": filter,
        "min_trust": min_trust,
        "min_score": min_score,
        "include": include,
        "valid_at": _instant(valid_at),
        "known_at": _instant(known_at),
        "deadline_ms": deadline_ms,
        "format": format,
        "max_chars": max_chars,
    }
    return Ask(RecallOut, "POST", ("recall",), body=body, repeatable=True)


def correct(
    memory: MemoryOut | str,
    content: str,
    *,
    because: str,
    scope: Scope | None = None,
    version: int | None = None,
    quote: str | None = None,
    note: str | None = None,
    kind: str | _Keep = KEEP,
    key: str | _Keep | None = KEEP,
    tags: Sequence[str] | _Keep = KEEP,
    importance: float | _Keep = KEEP,
    data: Any = KEEP,
    metadata: Mapping[str, Any] | _Keep = KEEP,
    valid_from: Instant | _Keep | None = KEEP,
    valid_to: Instant | _Keep | None = KEEP,
    expires_at: Instant | _Keep | None = KEEP,
    idempotency_key: str | None = None,
) -> Ask[MemoryOut]:
    """Replace a memory, because the world `changed` or it was `wrong`; returns the new one.

    Raises `VersionConflictError` when it has moved on since it was seen, `TombstonedError` for a value that
    was taken back.
    """
    said = {"content": content, "because": because, "quote": quote, "note": note}
    fields = _named(
        kind=kind,
        key=key,
        tags=tags,
        importance=importance,
        data=data,
        metadata=metadata,
        valid_from=valid_from,
        valid_to=valid_to,
        expires_at=expires_at,
    )
    return _change(memory, "correct", {**said, **fields}, scope, version, idempotency_key)


def edit(
    memory: MemoryOut | str,
    *,
    scope: Scope | None = None,
    version: int | None = None,
    content: str | _Keep = KEEP,
    kind: str | _Keep = KEEP,
    key: str | _Keep | None = KEEP,
    tags: Sequence[str] | _Keep = KEEP,
    importance: float | _Keep = KEEP,
    data: Any = KEEP,
    metadata: Mapping[str, Any] | _Keep = KEEP,
    valid_to: Instant | _Keep | None = KEEP,
    expires_at: Instant | _Keep | None = KEEP,
) -> Ask[MemoryOut]:
    """Edit a memory in place: a new version of the same one. What changed in the world is a correction."""
    body = _named(
        content=content,
        kind=kind,
        key=key,
        tags=tags,
        importance=importance,
        data=data,
        metadata=metadata,
        valid_to=valid_to,
        expires_at=expires_at,
    )
    memory_id, where = _address(memory, scope)
    # Not repeated: an edit carries no key, so a lost answer and a stale version would look alike.
    return Ask(
        MemoryOut, "PATCH", ("memories", memory_id), {"scope": where}, body, _if_match(memory, version)
    )


def retract(
    memory: MemoryOut | str,
    *,
    reason: str,
    note: str | None = None,
    scope: Scope | None = None,
    version: int | None = None,
    idempotency_key: str | None = None,
) -> Ask[MemoryOut]:
    """It was never true, and nothing replaces it: out of recall, and its value is not learned again."""
    return _change(memory, "retract", {"reason": reason, "note": note}, scope, version, idempotency_key)


def dispute(
    memory: MemoryOut | str,
    *,
    reason: str,
    note: str | None = None,
    scope: Scope | None = None,
    version: int | None = None,
    idempotency_key: str | None = None,
) -> Ask[MemoryOut]:
    """Doubt it: out of recall unless asked for, until a person has decided."""
    return _change(memory, "dispute", {"reason": reason, "note": note}, scope, version, idempotency_key)


def forget(
    memory: MemoryOut | str,
    *,
    reason: str,
    scope: Scope | None = None,
    tombstone: Literal["value", "id"] = "value",
) -> Ask[ErasureOut]:
    """Forget a memory and what it replaced; returns the receipt, `pending` until every store is clean.

    From the answer on no read returns it, and its value may not be written again (unless `tombstone`
    is `"id"`). `reason` is one of `unsay.Reason`. A second time raises `AlreadyForgottenError`.
    """
    memory_id, where = _address(memory, scope)
    query = {"scope": where, "reason": reason, "tombstone": tombstone}
    return Ask(ErasureOut, "DELETE", ("memories", memory_id), query)


def forget_all(
    *,
    scope: Scope,
    reason: str,
    tombstone: Literal["value", "id"] = "value",
    idempotency_key: str | None = None,
    **selector: Any,
) -> Ask[ErasureOut]:
    """Forget all that a selector takes; returns the receipt, which a job completes.

    The selector is `ids=[…]`, `filter={…}`, `run_id="…"`, or `all=True` with `confirm`, the scope's name.
    From the answer on no read returns any of it.
    """
    asked = {"scope": scope, "selector": selector, "reason": reason, "tombstone": tombstone}
    return _post(ErasureOut, "forget", body=asked, once=idempotency_key)


def would_forget(*, scope: Scope, cursor: str | None = None, **selector: Any) -> Ask[SelectedOut]:
    """Some of the ids that `forget_all` would take with this selector; `next` goes on as `cursor`."""
    asked = {"scope": scope, "selector": selector, "reason": "other", "dry_run": True, "cursor": cursor}
    return Ask(SelectedOut, "POST", ("forget",), body=asked, repeatable=True)


def prune(*, scope: Scope, idempotency_key: str | None = None) -> Ask[ErasureOut]:
    """Erase what has expired; its values may be written again."""
    return _post(ErasureOut, "prune", body={"scope": scope}, once=idempotency_key)


def erasure(erasure_id: str, *, scope: Scope) -> Ask[ErasureOut]:
    """The receipt of a forget, as it stands now."""
    return _get(ErasureOut, "erasures", erasure_id, scope=scope)


def erasures(*, scope: Scope, limit: int = 20, cursor: str | None = None) -> Ask[ErasuresOut]:
    """A page of receipts, newest first."""
    return _get(ErasuresOut, "erasures", scope=scope, limit=limit, cursor=cursor)


def export(
    *,
    scope: Scope,
    include: Sequence[str] = ("active",),
    idempotency_key: str | None = None,
) -> Ask[JobOut]:
    """Write the memories of a scope to files. The job's `result` has their addresses once it is complete.

    `include` are statuses, `disputed`, and `history`: what is no longer believed, and all earlier versions.
    """
    body = {"scope": scope, "include": [*include]}
    return _post(JobOut, "export", body=body, once=idempotency_key)


def bring(
    items: Sequence[Mapping[str, Any]] | None = None,
    *,
    scope: Scope,
    parts: int = 1,
    on_conflict: Literal["skip", "newer", "fail"] = "skip",
    resurrect: bool = False,
    idempotency_key: str | None = None,
) -> Ask[JobOut]:
    """Bring exported memories into a scope: lines as `items`, or as many files as `parts` says.

    For files the job waits, with an address for each in `result["uploads"]`; `start_import` begins it.
    Nothing that was taken back comes back, but with `resurrect` and the right to review. `result` counts
    what was refused, by reason.
    """
    what = {"items": [*items]} if items is not None else {"upload": {"parts": parts}}
    body = {"scope": scope, **what, "on_conflict": on_conflict, "resurrect": resurrect}
    return _post(JobOut, "import", body=body, once=idempotency_key)


def start_import(job_id: str, *, scope: Scope) -> Ask[JobOut]:
    """Begin an import whose files are there; begun before, it answers as it stands."""
    return _post(JobOut, "import", body={"scope": scope, "upload": job_id}, once=None)


def consolidate(
    *,
    scope: Scope,
    threshold: float = 0.85,
    cosine: float | None = 0.95,
    kinds: Sequence[str] | None = None,
    dry_run: bool = False,
    undo: str | None = None,
    idempotency_key: str | None = None,
) -> Ask[JobOut]:
    """Merge memories that have at least `threshold` of their words in common; `job` tells what came of it.

    Or half of them, where the longer says all that the shorter does and their vectors have that `cosine`;
    None for words alone. `dry_run` only finds them, `undo` takes back what the job of that id merged.
    """
    body = {"scope": scope, "threshold": threshold, "cosine": cosine, "dry_run": dry_run}
    body |= {"kinds": [*kinds]} if kinds else {}
    body |= {"undo": undo} if undo else {}
    return _post(JobOut, "consolidate", body=body, once=idempotency_key)


def job(job_id: str, *, scope: Scope) -> Ask[JobOut]:
    """How far a job is, and what came of it."""
    return _get(JobOut, "jobs", job_id, scope=scope)


def history(memory: MemoryOut | str, *, scope: Scope | None = None) -> Ask[HistoryOut]:
    """Versions and events of a memory, oldest first; of a forgotten one the events, without text."""
    memory_id, where = _address(memory, scope)
    return _get(HistoryOut, "memories", memory_id, "history", scope=where)


def reviews(
    *,
    scope: Scope,
    state: Literal["candidate", "disputed", "active"] = "candidate",
    limit: int = 20,
    cursor: str | None = None,
) -> Ask[ReviewsOut]:
    """A page of what waits for a person, with the ids of the believed memories nearest to each."""
    return _get(ReviewsOut, "reviews", scope=scope, state=state, limit=limit, cursor=cursor)


def approve(
    memory: MemoryOut | str,
    *,
    note: str | None = None,
    scope: Scope | None = None,
    version: int | None = None,
    idempotency_key: str | None = None,
) -> Ask[MemoryOut]:
    """Believe what waited: `active` and `verified`. For a human's credential only."""
    body = {"decision": "approve", "note": note}
    return _decide(memory, body, scope, version, idempotency_key)


def reject(
    memory: MemoryOut | str,
    *,
    reason: str,
    note: str | None = None,
    scope: Scope | None = None,
    version: int | None = None,
    idempotency_key: str | None = None,
) -> Ask[MemoryOut]:
    """Refuse what waited: `rejected`, and its value is not learned again. For a human's credential only."""
    body = {"decision": "reject", "reason": reason, "note": note}
    return _decide(memory, body, scope, version, idempotency_key)


def tombstones(*, scope: Scope, limit: int = 20, cursor: str | None = None) -> Ask[TombstonesOut]:
    """A page of what must not come back: digests, never text."""
    return _get(TombstonesOut, "tombstones", scope=scope, limit=limit, cursor=cursor)


def lift_tombstone(
    tombstone: TombstoneOut | str,
    *,
    scope: Scope,
    reason: str,
    note: str | None = None,
    idempotency_key: str | None = None,
) -> Ask[TombstoneOut]:
    """Let a value be learned again. For a human's credential only."""
    found = tombstone.id if isinstance(tombstone, TombstoneOut) else tombstone
    body, where = {"reason": reason, "note": note}, {"scope": _canonical(scope)}
    return _post(TombstoneOut, "tombstones", found, "lift", query=where, body=body, once=idempotency_key)


def audit(*, scope: Scope, after: int = 0, limit: int = 20, cursor: str | None = None) -> Ask[AuditOut]:
    """A page of audit entries, in order, from the one after `after`."""
    return _get(AuditOut, "audit", scope=scope, after=after, limit=limit, cursor=cursor)


def verify_audit(*, scope: Scope, start: int = 1) -> Ask[VerifyOut]:
    """Walk the audit chain of a scope from entry `start`; go on at `next` until it is `complete`."""
    return Ask(
        VerifyOut,
        "GET",
        ("audit", "verify"),
        {"scope": _canonical(scope), "from": str(start)},
        repeatable=True,
    )


def converse(
    run_id: str, messages: Sequence[Mapping[str, Any]], *, scope: Scope, flush: bool = False
) -> Ask[RecordedOut]:
    """Hand in up to 50 messages of a conversation: `{"seq", "role", "content", "at", "name"}` each.

    Each is kept once, however often it is sent; facts of what the user said are remembered in the
    background, after every few turns, or at once with `flush`. Raises `SeqConflictError` if a number has
    other words.
    """
    said = [{name: _instant(value) for name, value in message.items()} for message in messages]
    body = {"scope": scope, "messages": said, "flush": flush}
    return Ask(RecordedOut, "POST", ("conversations", run_id, "messages"), body=body, repeatable=True)


def flush(run_id: str, *, scope: Scope) -> Ask[HandedOut]:
    """Extract what waits of a conversation."""
    return _run(HandedOut, run_id, "flush", scope=scope)


def retry(run_id: str, *, scope: Scope) -> Ask[HandedOut]:
    """Try the failed batches of a conversation again."""
    return _run(HandedOut, run_id, "retry", scope=scope)


def upload(run_id: str, *, scope: Scope, idempotency_key: str | None = None) -> Ask[UploadOut]:
    """Where to put a transcript of a conversation: `PUT` its lines to `url`, with exactly these `headers`.

    Each line is a message in JSON, as `converse` takes them. Once the file is there, all of it is extracted.
    """
    where = {"scope": _canonical(scope)}
    named = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
    return Ask(UploadOut, "POST", ("conversations", run_id, "upload"), where, headers=named, repeatable=True)


def conversations(*, scope: Scope, limit: int = 20, cursor: str | None = None) -> Ask[RunsOut]:
    """A page of the conversations of a scope, by their ids."""
    return _get(RunsOut, "conversations", scope=scope, limit=limit, cursor=cursor)


def conversation(
    run_id: str, *, scope: Scope, limit: int = 100, cursor: str | None = None
) -> Ask[ConversationOut]:
    """A conversation with a page of its messages, and how far it is extracted."""
    return _get(ConversationOut, "conversations", run_id, scope=scope, limit=limit, cursor=cursor)


def policy(*, scope: Scope) -> Ask[PolicyOut]:
    """How the conversations below a root are extracted; `scope` is the root, for its admins."""
    return _get(PolicyOut, "policy", scope=scope)


def set_policy(
    *,
    scope: Scope,
    extraction: Literal["auto", "review", "off"] = "auto",
    secrets: Literal["refuse", "allow"] = "refuse",
    cadence: Mapping[str, int | None] | None = None,
    instructions: Mapping[str, str | None] | None = None,
    budget: Mapping[str, int | None] | None = None,
    quotas: Mapping[str, int | None] | None = None,
    consolidation: Mapping[str, Any] | None = None,
    retention: Mapping[str, int | None] | None = None,
) -> Ask[PolicyOut]:
    """Say how the conversations below a root are extracted; what is left out is as by default.

    `cadence={"user_turns": 5, "tokens": 8000, "idle_seconds": 1800}`,
    `instructions={"keep": …, "never_keep": …}`, `budget={"daily_tokens": …}`,
    `quotas={"memories": …, "bytes": …, "messages_per_day": …, "requests_per_minute": …}`,
    `consolidation={"every_days": 7, "threshold": 0.85, "cosine": 0.95, "text": "longest"}`,
    `retention={"memories_days": …, "messages_days": …}`.
    """
    body = {
        "extraction": extraction,
        "secrets": secrets,
        "cadence": dict(cadence or {}),
        "instructions": dict(instructions or {}),
        "budget": dict(budget or {}),
        "quotas": dict(quotas or {}),
        "consolidation": dict(consolidation or {}),
        "retention": dict(retention or {}),
    }
    where = {"scope": _canonical(scope)}
    return Ask(PolicyOut, "PUT", ("policy",), where, body=body, repeatable=True)


def statistics(*, scope: Scope) -> Ask[StatisticsOut]:
    """Counts of a scope, and how far its index lags."""
    return _get(StatisticsOut, "stats", scope=scope)


def scopes(*, prefix: Scope | None = None) -> Ask[ScopesOut]:
    """The scopes that are known, of those the caller may read; may lag."""
    return _get(ScopesOut, "scopes", prefix=None if prefix is None else _canonical(prefix))


def make_key(
    name: str,
    *,
    kind: Literal["agent", "human"],
    grants: Mapping[str, Sequence[str]],
    expires_at: Instant | None = None,
    idempotency_key: str | None = None,
) -> Ask[KeyOut]:
    """Make an API key: `grants={"acme/users/*": ["read", "write"]}`. Its secret is shown this once."""
    body = {
        "name": name,
        "kind": kind,
        "grants": [{"scope": scope, "actions": actions} for scope, actions in grants.items()],
        "expires_at": _instant(expires_at),
    }
    return _post(KeyOut, "keys", body=body, once=idempotency_key)


def keys(*, limit: int = 20, cursor: str | None = None) -> Ask[KeysOut]:
    """A page of the API keys whose every grant the caller administers; never their secrets."""
    return _get(KeysOut, "keys", limit=limit, cursor=cursor)


def revoke_key(key: ListedKeyOut | str) -> Ask[ListedKeyOut]:
    """Revoke an API key, and what was delegated with it; it stops within a minute."""
    found = key.id if isinstance(key, ListedKeyOut) else key
    return Ask(ListedKeyOut, "DELETE", ("keys", found), repeatable=True)


def delegate(
    actions: Sequence[str],
    *,
    ttl_seconds: int,
    scope: Scope | None = None,
    idempotency_key: str | None = None,
) -> Ask[DelegationOut]:
    """Make a weaker key for a sub-agent, for an hour at the most; without a scope, wherever the caller may.

    `scope` may end in `/*`. The secret is shown this once.
    """
    body = {"actions": [*actions], "ttl_seconds": ttl_seconds}
    where = {} if scope is None else {"scope": _canonical(scope)}
    return _post(DelegationOut, "delegations", body=body | where, once=idempotency_key)


def _get(answer: type[A], *path: str, scope: Scope | None = None, **query: Any) -> Ask[A]:
    given = {name: _instant(value) for name, value in query.items() if value is not None}
    where = {} if scope is None else {"scope": _canonical(scope)}
    return Ask(answer, "GET", path, where | {n: str(v) for n, v in given.items()}, repeatable=True)


def _run(answer: type[A], run_id: str, verb: str, *, scope: Scope) -> Ask[A]:
    """What may be asked of a run as often as one likes."""
    where = {"scope": _canonical(scope)}
    return Ask(answer, "POST", ("conversations", run_id, verb), where, repeatable=True)


def _post(
    answer: type[A],
    *path: str,
    body: Mapping[str, Any],
    once: str | None,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Ask[A]:
    """A write under an idempotency key, the caller's or one of our own, so that it may be repeated."""
    idempotent = {**(headers or {}), "Idempotency-Key": once or uuid.uuid4().hex}
    return Ask(answer, "POST", path, query or {}, body, idempotent, repeatable=True)


def _change(
    memory: MemoryOut | str,
    verb: str,
    body: Mapping[str, Any],
    scope: Scope | None,
    version: int | None,
    once: str | None,
) -> Ask[MemoryOut]:
    memory_id, where = _address(memory, scope)
    seen = _if_match(memory, version)
    return _post(
        MemoryOut, "memories", memory_id, verb, query={"scope": where}, body=body, headers=seen, once=once
    )


def _decide(
    memory: MemoryOut | str,
    body: Mapping[str, Any],
    scope: Scope | None,
    version: int | None,
    once: str | None,
) -> Ask[MemoryOut]:
    memory_id, where = _address(memory, scope)
    seen = _if_match(memory, version)
    return _post(MemoryOut, "reviews", memory_id, query={"scope": where}, body=body, headers=seen, once=once)


def _named(**fields: Any) -> dict[str, Any]:
    """The fields that were named, times as they are sent."""
    return {name: _instant(value) for name, value in fields.items() if value is not KEEP}


def _if_match(memory: MemoryOut | str, version: int | None) -> dict[str, str]:
    seen = memory.version if version is None and isinstance(memory, MemoryOut) else version
    return {} if seen is None else {"If-Match": f'"{seen}"'}


def _address(memory: MemoryOut | str, scope: Scope | None) -> tuple[str, str]:
    """A memory's id and scope."""
    if isinstance(memory, MemoryOut):
        return memory.id, memory.scope if scope is None else _canonical(scope)
    if scope is None:
        raise TypeError("an id does not say whose memory it is: pass scope=…")
    return memory, _canonical(scope)


def _canonical(scope: Scope) -> str:
    """The scope as one string; whether it is a valid one, the service decides."""
    if isinstance(scope, str):
        return scope
    return labels.joined(scope)


def _instant(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
