"""An API key as plain JSON: what never changes of it, and what its use and its end change."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from unsay_core.application.access import ApiKey
from unsay_core.domain.scope import Principal
from unsay_core.domain.timeline import rfc3339

if TYPE_CHECKING:
    from collections.abc import Mapping


def lasting(key: ApiKey) -> dict[str, Any]:
    """What never changes."""
    return {
        "id": key.id,
        "name": key.name,
        "digest": key.digest,
        "principal": key.principal.to_json(),
        "created_at": rfc3339(key.created_at),
        "created_by": key.created_by,
        "expires_at": rfc3339(key.expires_at) if key.expires_at else None,
        "root": key.root,
        "bindings": list(key.bindings),
        "schema": key.schema,
    }


def changing(key: ApiKey) -> dict[str, str]:
    """What does: texts, empty where nothing happened yet."""
    revoked_at = rfc3339(key.revoked_at) if key.revoked_at else ""
    return {"revoked_at": revoked_at, "revoked_by": key.revoked_by, "last_used": key.last_used}


def key_of(said: Mapping[str, Any], changed: Mapping[str, str]) -> ApiKey:
    """The key of both."""
    return ApiKey(
        id=said["id"],
        name=said["name"],
        digest=said["digest"],
        principal=Principal.from_json(said["principal"]),
        created_at=datetime.fromisoformat(said["created_at"]),
        created_by=said["created_by"],
        expires_at=_instant(said["expires_at"]),
        revoked_at=_instant(changed["revoked_at"]),
        revoked_by=changed["revoked_by"],
        last_used=changed["last_used"],
        root=said["root"],
        bindings=tuple(said["bindings"]),
        schema=said["schema"],
    )


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
