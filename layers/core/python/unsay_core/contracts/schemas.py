"""The shapes of the answers, for the OpenAPI document and for clients."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from unsay_core.domain.memory import Kind, Reason, Status, Trust


class Answer(BaseModel):
    """An answer of the service. Clients ignore what they do not know."""

    model_config = ConfigDict(extra="ignore", defer_build=True)


class FieldProblem(Answer):
    """One thing wrong with one field."""

    path: str
    message: str


class SourceOut(Answer):
    """Where a memory came from."""

    channel: str
    actor: str
    run_id: str | None
    message_seqs: list[int]
    quote: str | None
    model: str | None
    import_: dict[str, Any] | None = Field(alias="import")


class IndexOut(Answer):
    """Whether the knowledge base is known to hold the current version."""

    state: Literal["pending", "indexed", "failed"]
    at: datetime


class ReviewOut(Answer):
    """Why a memory waits for a person, or what a person decided."""

    reasons: list[str]
    since: datetime
    decision: str | None
    decided_by: str | None
    decided_at: datetime | None


class MemoryOut(Answer):
    """A memory."""

    id: str
    scope: str
    kind: Kind
    content: str
    key: str | None
    path: list[str]
    tags: list[str]
    importance: float
    data: Any
    metadata: dict[str, Any]
    status: Status
    trust: Trust
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime
    invalidated_at: datetime | None
    updated_at: datetime
    expires_at: datetime | None
    version: int
    supersedes: list[str]
    superseded_by: str | None
    derived_from: list[str]
    source: SourceOut
    corroborations: list[SourceOut] = Field(default_factory=list)
    review: ReviewOut | None
    index: IndexOut
    schema_: int = Field(alias="schema")
    deduplicated: bool = False


class Problem(Answer):
    """A refusal (RFC 9457), of a call or of one item."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: list[FieldProblem] = Field(default_factory=list)


class ResultOut(Answer):
    """What became of one item: a memory, or a problem."""

    status: int
    memory: MemoryOut | None = None
    problem: Problem | None = None


class BatchOut(Answer):
    """What became of each item, in their order."""

    results: list[ResultOut]


class BeforeOut(Answer):
    """The entry that was the last about a memory until this one."""

    memory_id: str
    seq: int


class EventOut(Answer):
    """An audit entry: digests and ids, never text."""

    seq: int
    at: datetime
    event: str
    actor: str
    channel: str
    memory_id: str | None
    version: int | None
    related: list[str]
    reason: str | None
    commitment: str | None
    note_digest: str | None
    erasure_id: str | None
    tombstone: str | None
    prev: str
    hash: str
    before: list[BeforeOut] = Field(default_factory=list)
    schema_: int = Field(default=1, alias="schema")


class HistoryOut(Answer):
    """Versions and events, oldest first; of a forgotten memory the events only."""

    versions: list[MemoryOut]
    events: list[EventOut]


class AuditOut(Answer):
    """A page of audit entries."""

    items: list[EventOut]
    next_cursor: str | None


class TombstoneOut(Answer):
    """What must not come back: a digest, or an id."""

    id: str
    kind: Literal["id", "value", "scope"]
    at: datetime
    reason: Reason
    actor: str
    hits: int
    lifted: bool
    erasure_id: str | None


class TombstonesOut(Answer):
    """A page of tombstones."""

    items: list[TombstoneOut]
    next_cursor: str | None


class ReviewItemOut(MemoryOut):
    """A memory that waits, and the ids of the believed ones nearest to it."""

    nearest: list[str]


class ReviewsOut(Answer):
    """A page of what waits for a person."""

    items: list[ReviewItemOut]
    next_cursor: str | None


class IndexLagOut(Answer):
    """What the index does not hold yet."""

    pending: int
    oldest_pending: datetime | None


class StatisticsOut(Answer):
    """Counts of a scope."""

    kinds: dict[str, int]
    statuses: dict[str, int]
    trusts: dict[str, int]
    bytes: int
    index: IndexLagOut
    complete: bool


class ScopesOut(Answer):
    """The scopes that are known, of those the caller may read; may lag."""

    items: list[str]


class ListOut(Answer):
    """A page of memories; `next_cursor` is null at the end.

    `unreadable` are the ids of memories that are damaged where they lie; it is there only if there are any.
    """

    items: list[MemoryOut]
    next_cursor: str | None
    unreadable: list[str] | None = None


class ScoresOut(Answer):
    """The parts of a score; `semantic` is null while the index does not hold the memory."""

    semantic: float | None
    lexical: float
    recency: float
    importance: float


class RecalledOut(Answer):
    """One memory that answers a query, and how well."""

    memory: MemoryOut
    score: float
    scores: ScoresOut


class RecallOut(Answer):
    """What was found, and why it may be less than there is."""

    items: list[RecalledOut]
    degraded: bool
    reasons: list[str]
    considered: int
    took_ms: int
    prompt: str | None = None


class CascadeOut(Answer):
    """A memory that went along with the one asked for."""

    id: str
    why: str
    outcome: str


class StoreOut(Answer):
    """What one store is known to hold of what was forgotten."""

    store: str
    state: Literal["absent", "pending", "retained"]
    proof: str | None
    until: datetime | None


class ErasureOut(Answer):
    """The receipt of a forget."""

    id: str
    state: Literal["pending", "complete", "failed"]
    selector: dict[str, Any]
    reason: Reason
    requested_at: datetime
    completed_at: datetime | None
    matched: int
    erased: int
    tombstones: int
    cascade: list[CascadeOut]
    cascaded: int = 0
    redacted: int = 0
    messages: int = 0
    waits_for: str | None = None
    stores: list[StoreOut]
    audit_seq: int
    digest: str
    actor: str


class SelectedOut(Answer):
    """What a dry run found: some of the memories that are selected, and where the next answer goes on."""

    matched: int
    ids: list[str]
    next: str | None


class HeadOut(Answer):
    """The end of an audit chain."""

    seq: int
    hash: str


class AnchorOut(Answer):
    """Where a head of the chain was put out of reach of the service."""

    seq: int
    at: datetime
    location: str


class VerifyOut(Answer):
    """What walking the audit chain found; `next` is where to go on when it is not complete."""

    ok: bool
    complete: bool
    next: int | None
    length: int
    head: HeadOut
    first_bad: int | None
    anchored: AnchorOut | None


class GrantOut(Answer):
    """Some actions in some scopes."""

    scope: str
    actions: list[str]


class ListedKeyOut(Answer):
    """An API key as it is listed; `last_used` is a day, of which the last hours may lag."""

    id: str
    name: str
    kind: Literal["agent", "human"]
    grants: list[GrantOut]
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used: date | None
    revoked_at: datetime | None


class KeyOut(ListedKeyOut):
    """An API key just made; `secret` is shown this once."""

    secret: str = Field(repr=False)


class KeysOut(Answer):
    """A page of the keys whose every grant the caller administers."""

    items: list[ListedKeyOut]
    next_cursor: str | None


class DelegationOut(Answer):
    """A weaker key for a while; `principal` is who acts with it, in audit entries and sources."""

    id: str
    principal: str
    grants: list[GrantOut]
    created_at: datetime
    expires_at: datetime
    secret: str = Field(repr=False)


class HealthOut(Answer):
    """`ok`, or which part is degraded."""

    status: Literal["ok", "degraded"]
    degraded: list[str]


class ErasuresOut(Answer):
    """A page of receipts."""

    items: list[ErasureOut]
    next_cursor: str | None


class OpenApiOut(Answer):
    """An OpenAPI 3.1 document."""

    openapi: str
