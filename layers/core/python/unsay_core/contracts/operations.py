"""Every call of the API, once: handlers are routed by this table, and the OpenAPI document is made of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel

from unsay_core.contracts import requests, schemas


@dataclass(frozen=True, slots=True)
class Operation:
    """One call. Its path parameters stand in braces; `action` is the grant it needs, if any."""

    name: str
    method: str
    path: str
    summary: str
    answer: type[BaseModel]
    action: str | None = None
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    status: int = 200
    headers: tuple[str, ...] = field(default=())

    @property
    def is_public(self) -> bool:
        """True if the call needs no credential."""
        return self.name in ("health", "openapi")


class OpenApiOut(schemas.Answer):
    """An OpenAPI 3.1 document."""

    openapi: str


OPERATIONS = (
    Operation(
        "remember",
        "POST",
        "/v1/memories",
        "Remember a fact; a duplicate of an active one answers 200 with that one.",
        schemas.MemoryOut,
        action="write",
        body=requests.RememberIn,
        status=201,
        headers=("Idempotency-Key",),
    ),
    Operation(
        "list",
        "GET",
        "/v1/memories",
        "List memories, newest first.",
        schemas.ListOut,
        action="read",
        query=requests.ListQuery,
    ),
    Operation(
        "get",
        "GET",
        "/v1/memories/{id}",
        "Get one memory, whatever its status.",
        schemas.MemoryOut,
        action="read",
        query=requests.ScopeQuery,
    ),
    Operation(
        "correct",
        "POST",
        "/v1/memories/{id}/correct",
        "Replace a memory by another, because the world changed or it never held.",
        schemas.MemoryOut,
        action="write",
        query=requests.ScopeQuery,
        body=requests.CorrectIn,
        status=201,
        headers=("If-Match", "Idempotency-Key"),
    ),
    Operation(
        "forget",
        "DELETE",
        "/v1/memories/{id}",
        "Forget one memory: from the answer on no read returns it.",
        schemas.ErasureOut,
        action="forget",
        query=requests.ForgetQuery,
        status=202,
    ),
    Operation(
        "recall",
        "POST",
        "/v1/recall",
        "Recall the memories that answer a query best.",
        schemas.RecallOut,
        action="read",
        body=requests.RecallIn,
    ),
    Operation(
        "erasure",
        "GET",
        "/v1/erasures/{id}",
        "The receipt of a forget.",
        schemas.ErasureOut,
        action="forget",
        query=requests.ScopeQuery,
    ),
    Operation(
        "verify_audit",
        "GET",
        "/v1/audit/verify",
        "Walk the audit chain of a scope.",
        schemas.VerifyOut,
        action="audit",
        query=requests.VerifyQuery,
    ),
    Operation(
        "make_key",
        "POST",
        "/v1/keys",
        "Make an API key that may do no more than its maker.",
        schemas.KeyOut,
        action="admin",
        body=requests.KeyIn,
        status=201,
    ),
    Operation("health", "GET", "/v1/health", "Whether the service is up.", schemas.HealthOut),
    Operation("openapi", "GET", "/v1/openapi.json", "This document.", OpenApiOut),
)
