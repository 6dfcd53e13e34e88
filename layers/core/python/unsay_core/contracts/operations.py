"""Every call of the API, once: handlers are routed by this table, and the OpenAPI document is made of it.

Models stand here by module and name. Whoever routes needs none of them: a cold start would wait for all.
"""

from __future__ import annotations

from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING

from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Operation:
    """One call. Its path parameters stand in braces; `action` is the grant it needs, if any.

    `refusals` are the statuses that only this call's own rules lead to; see `statuses` for the rest.
    """

    name: str
    method: str
    path: str
    summary: str
    answer: str
    action: str | None = None
    query: str | None = None
    body: str | None = None
    status: int = 200
    headers: tuple[str, ...] = field(default=())
    refusals: tuple[int, ...] = ()
    also: tuple[int, ...] = ()  # other statuses of success
    other_answer: str | None = None  # what these answer with, if it is something else

    @property
    def is_public(self) -> bool:
        """True if the call needs no credential."""
        return self.name in ("health", "openapi")

    @property
    def statuses(self) -> tuple[int, ...]:
        """Every status that the service answers this call with, its own faults apart."""
        found = {self.status, 400, *self.also, *self.refusals}
        if not self.is_public:
            found |= {401, 403, 429, 503}
        if "{id}" in self.path:
            found |= {404}
        if self.body is not None:
            found |= {413}
        if "If-Match" in self.headers:
            found |= {412, 428}
        return tuple(sorted(found))


def model_of(name: str) -> type[BaseModel]:
    """The model that stands in the table as `module.Name`."""
    module, _, own = name.partition(".")
    model: type[BaseModel] = getattr(import_module(f"{__package__}.{module}"), own)
    return model


OPERATIONS = (
    Operation(
        "remember",
        "POST",
        "/v1/memories",
        "Remember a fact; a duplicate of an active one answers 200 with that one.",
        "schemas.MemoryOut",
        action="write",
        body="requests.RememberIn",
        status=201,
        headers=("Idempotency-Key",),
        refusals=(409, 410, 422),
        also=(200,),
    ),
    Operation(
        "list",
        "GET",
        "/v1/memories",
        "List memories, newest first.",
        "schemas.ListOut",
        action="read",
        query="requests.ListQuery",
    ),
    Operation(
        "get",
        "GET",
        "/v1/memories/{id}",
        "Get one memory, whatever its status.",
        "schemas.MemoryOut",
        action="read",
        query="requests.GetQuery",
    ),
    Operation(
        "correct",
        "POST",
        "/v1/memories/{id}/correct",
        "Replace a memory by another, because the world changed or it never held.",
        "schemas.MemoryOut",
        action="write",
        query="requests.ScopeQuery",
        body="requests.CorrectIn",
        status=201,
        headers=("If-Match", "Idempotency-Key"),
        refusals=(409, 410, 422),
    ),
    Operation(
        "forget",
        "DELETE",
        "/v1/memories/{id}",
        "Forget one memory: from the answer on no read returns it.",
        "schemas.ErasureOut",
        action="forget",
        query="requests.ForgetQuery",
        status=202,
        refusals=(410, 413),
    ),
    Operation(
        "forget_selection",
        "POST",
        "/v1/forget",
        "Forget all that a selector takes: from the answer on no read returns any of it.",
        "schemas.ErasureOut",
        action="forget",
        body="selection.ForgetIn",
        status=202,
        headers=("Idempotency-Key",),
        refusals=(404, 422),
        also=(200,),
        other_answer="schemas.SelectedOut",
    ),
    Operation(
        "prune",
        "POST",
        "/v1/prune",
        "Erase what has expired; its values may be written again.",
        "schemas.ErasureOut",
        action="forget",
        body="selection.PruneIn",
        status=202,
        headers=("Idempotency-Key",),
        refusals=(404, 422),
        also=(200,),
        other_answer="schemas.SelectedOut",
    ),
    Operation(
        "remember_batch",
        "POST",
        "/v1/memories/batch",
        "Remember up to 25 facts, each on its own; the order is kept.",
        "schemas.BatchOut",
        action="write",
        body="requests.BatchIn",
        headers=("Idempotency-Key",),
    ),
    Operation(
        "edit",
        "PATCH",
        "/v1/memories/{id}",
        "Edit a memory in place: what is absent stays, null clears.",
        "schemas.MemoryOut",
        action="write",
        query="requests.ScopeQuery",
        body="requests.EditIn",
        headers=("If-Match",),
        refusals=(409, 422),
    ),
    Operation(
        "retract",
        "POST",
        "/v1/memories/{id}/retract",
        "It was never true, and nothing replaces it.",
        "schemas.MemoryOut",
        action="forget",
        query="requests.ScopeQuery",
        body="requests.ReasonIn",
        headers=("If-Match", "Idempotency-Key"),
        refusals=(409, 410, 422),
    ),
    Operation(
        "dispute",
        "POST",
        "/v1/memories/{id}/dispute",
        "Somebody doubts it: out of recall, until a person has decided.",
        "schemas.MemoryOut",
        action="write",
        query="requests.ScopeQuery",
        body="requests.ReasonIn",
        headers=("If-Match", "Idempotency-Key"),
        refusals=(409, 410, 422),
    ),
    Operation(
        "history",
        "GET",
        "/v1/memories/{id}/history",
        "Versions and events of a memory, oldest first.",
        "schemas.HistoryOut",
        action="read",
        query="requests.ScopeQuery",
    ),
    Operation(
        "list_reviews",
        "GET",
        "/v1/reviews",
        "What waits for a person.",
        "schemas.ReviewsOut",
        action="review",
        query="people.ReviewsQuery",
    ),
    Operation(
        "decide_review",
        "POST",
        "/v1/reviews/{id}",
        "Approve or reject what waits.",
        "schemas.MemoryOut",
        action="review",
        query="requests.ScopeQuery",
        body="people.DecisionIn",
        headers=("If-Match", "Idempotency-Key"),
        refusals=(409, 410, 422),
    ),
    Operation(
        "list_tombstones",
        "GET",
        "/v1/tombstones",
        "What must not come back: digests, never text.",
        "schemas.TombstonesOut",
        action="forget",
        query="requests.PageQuery",
    ),
    Operation(
        "lift_tombstone",
        "POST",
        "/v1/tombstones/{id}/lift",
        "Let a value be learned again.",
        "schemas.TombstoneOut",
        action="review",
        query="requests.ScopeQuery",
        body="requests.ReasonIn",
        headers=("Idempotency-Key",),
        refusals=(409, 422),
    ),
    Operation(
        "list_audit",
        "GET",
        "/v1/audit",
        "The audit entries of a scope, in order.",
        "schemas.AuditOut",
        action="audit",
        query="people.AuditQuery",
    ),
    Operation(
        "statistics",
        "GET",
        "/v1/stats",
        "Counts of a scope, and how far its index lags.",
        "schemas.StatisticsOut",
        action="read",
        query="requests.ScopeQuery",
    ),
    Operation(
        "list_scopes",
        "GET",
        "/v1/scopes",
        "The scopes that are known, of those the caller may read.",
        "schemas.ScopesOut",
        action="read",
        query="requests.ScopesQuery",
    ),
    Operation(
        "list_erasures",
        "GET",
        "/v1/erasures",
        "The receipts of a scope, newest first.",
        "schemas.ErasuresOut",
        action="forget",
        query="requests.PageQuery",
    ),
    Operation(
        "recall",
        "POST",
        "/v1/recall",
        "Recall the memories that answer a query best.",
        "schemas.RecallOut",
        action="read",
        body="requests.RecallIn",
    ),
    Operation(
        "erasure",
        "GET",
        "/v1/erasures/{id}",
        "The receipt of a forget.",
        "schemas.ErasureOut",
        action="forget",
        query="requests.ScopeQuery",
    ),
    Operation(
        "verify_audit",
        "GET",
        "/v1/audit/verify",
        "Walk the audit chain of a scope.",
        "schemas.VerifyOut",
        action="audit",
        query="people.VerifyQuery",
    ),
    Operation(
        "make_key",
        "POST",
        "/v1/keys",
        "Make an API key that may do no more than its maker.",
        "schemas.KeyOut",
        action="admin",
        body="access.KeyIn",
        status=201,
        headers=("Idempotency-Key",),
        refusals=(410, 422),
    ),
    Operation(
        "list_keys",
        "GET",
        "/v1/keys",
        "List the API keys whose every grant the caller administers.",
        "schemas.KeysOut",
        action="admin",
        query="access.KeysQuery",
    ),
    Operation(
        "revoke_key",
        "DELETE",
        "/v1/keys/{id}",
        "Revoke an API key and what was delegated with it; it stops within 60 seconds.",
        "schemas.ListedKeyOut",
        action="admin",
    ),
    Operation(
        "delegate",
        "POST",
        "/v1/delegations",
        "Make a weaker key for a sub-agent, for an hour at the most.",
        "schemas.DelegationOut",
        body="access.DelegationIn",
        status=201,
        headers=("Idempotency-Key",),
        refusals=(410, 422),
    ),
    Operation(
        "record_messages",
        "POST",
        "/v1/conversations/{run_id}/messages",
        "Keep messages of a conversation, each once; what they make due is extracted.",
        "conversations.RecordedOut",
        action="write",
        body="conversations.MessagesIn",
        status=202,
        headers=("Idempotency-Key",),
        refusals=(409, 410, 422),
    ),
    Operation(
        "flush_conversation",
        "POST",
        "/v1/conversations/{run_id}/flush",
        "Extract what waits of a conversation.",
        "conversations.HandedOut",
        action="write",
        query="requests.ScopeQuery",
        status=202,
        headers=("Idempotency-Key",),
        refusals=(404, 410, 422),
    ),
    Operation(
        "retry_conversation",
        "POST",
        "/v1/conversations/{run_id}/retry",
        "Try the failed batches of a conversation again.",
        "conversations.HandedOut",
        action="write",
        query="requests.ScopeQuery",
        status=202,
        headers=("Idempotency-Key",),
        refusals=(404, 410, 422),
    ),
    Operation(
        "upload_conversation",
        "POST",
        "/v1/conversations/{run_id}/upload",
        "Where to put a transcript; once it is there, it is extracted.",
        "conversations.UploadOut",
        action="write",
        query="requests.ScopeQuery",
        status=201,
        headers=("Idempotency-Key",),
        refusals=(410, 422),
    ),
    Operation(
        "list_conversations",
        "GET",
        "/v1/conversations",
        "The conversations of a scope, by their ids.",
        "conversations.RunsOut",
        action="read",
        query="requests.PageQuery",
    ),
    Operation(
        "conversation",
        "GET",
        "/v1/conversations/{run_id}",
        "A conversation with its messages, and how far it is extracted.",
        "conversations.ConversationOut",
        action="read",
        query="conversations.ConversationQuery",
        refusals=(404,),
    ),
    Operation(
        "export",
        "POST",
        "/v1/export",
        "Write the memories of a scope to files, by a job that says where they are.",
        "transfers.JobOut",
        action="transfer",
        body="transfers.ExportIn",
        status=202,
        headers=("Idempotency-Key",),
        refusals=(404, 422),
    ),
    Operation(
        "import",
        "POST",
        "/v1/import",
        "Bring exported memories into a scope, by a job; nothing that was taken back comes back.",
        "transfers.JobOut",
        action="transfer",
        body="transfers.ImportIn",
        status=202,
        headers=("Idempotency-Key",),
        refusals=(404, 422),
    ),
    Operation(
        "consolidate",
        "POST",
        "/v1/consolidate",
        "Merge memories that say nearly the same, or take such merges back.",
        "transfers.JobOut",
        action="write",
        body="consolidation.ConsolidateIn",
        status=202,
        headers=("Idempotency-Key",),
        refusals=(404, 410, 422),
    ),
    Operation(
        "job",
        "GET",
        "/v1/jobs/{id}",
        "A job: how far it is, and what came of it.",
        "transfers.JobOut",
        action="transfer",
        query="requests.ScopeQuery",
    ),
    Operation(
        "policy",
        "GET",
        "/v1/policy",
        "How the conversations below a root are extracted, and what its scopes may hold.",
        "conversations.PolicyOut",
        action="admin",
        query="requests.ScopeQuery",
    ),
    Operation(
        "set_policy",
        "PUT",
        "/v1/policy",
        "Say how the conversations below a root are extracted, and what its scopes may hold.",
        "conversations.PolicyOut",
        action="admin",
        query="requests.ScopeQuery",
        body="conversations.PolicyIn",
    ),
    Operation("health", "GET", "/v1/health", "Whether the service is up.", "schemas.HealthOut"),
    Operation("openapi", "GET", "/v1/openapi.json", "This document.", "schemas.OpenApiOut"),
)
