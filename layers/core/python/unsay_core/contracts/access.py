"""What callers send to make, list and weaken credentials."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from unsay_core.contracts.base import Instant, Wire, page_size, parse_query_limit
from unsay_core.contracts.requests import member_of
from unsay_core.domain.scope import Action, Grant, PrincipalKind, ScopePattern

PrincipalKindField = Annotated[PrincipalKind, member_of(PrincipalKind)]
PatternField = Annotated[
    ScopePattern,
    BeforeValidator(ScopePattern.parse),
    WithJsonSchema({"type": "string", "examples": ["acme/users/alice", "acme/*"]}),
]
_GRANT = {
    "type": "object",
    "properties": {
        "scope": {"type": "string", "examples": ["acme/users/alice", "acme/*", "*"]},
        "actions": {"type": "array", "items": {"enum": [str(action) for action in Action]}, "minItems": 1},
    },
    "required": ["scope", "actions"],
    "additionalProperties": False,
}


class KeysQuery(Wire):
    """`GET /v1/keys`."""

    limit: page_size(100, parse_query_limit) = 20  # type: ignore[valid-type]
    cursor: str | None = None


class KeyIn(Wire):
    """`POST /v1/keys`."""

    name: Annotated[str, Field(min_length=1, max_length=128)]
    kind: PrincipalKindField
    grants: Annotated[
        list[Annotated[Grant, BeforeValidator(Grant.from_json), WithJsonSchema(_GRANT)]],
        Field(min_length=1, max_length=50),
    ]
    expires_at: Instant | None = None


class DelegationIn(Wire):
    """`POST /v1/delegations`; no scope is every scope the caller's own grants name."""

    actions: Annotated[
        list[Literal["read", "write", "forget", "audit", "transfer"]], Field(min_length=1, max_length=5)
    ]
    scope: PatternField | None = None
    ttl_seconds: Annotated[int, Field(ge=1, le=3_600)]
