"""Optimistic concurrency: who changes a memory says which version they saw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.domain.errors import PreconditionRequiredError, VersionConflictError

if TYPE_CHECKING:
    from unsay_core.domain.memory import Memory


def require_version(memory: Memory, seen: int | None) -> None:
    """Raise unless the caller saw the current version."""
    if seen is None:
        raise PreconditionRequiredError("send If-Match with the version you saw")
    if seen != memory.version:
        raise VersionConflictError(current_version=memory.version)
