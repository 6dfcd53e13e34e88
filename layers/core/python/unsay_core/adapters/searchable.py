"""What an index keeps beside a memory's vector, to filter by: the same in every backend, and small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.domain.memory import Status

if TYPE_CHECKING:
    from unsay_core.domain.memory import Memory


def searchable(scope_id: str, memory: Memory) -> dict[str, str | float]:
    """Text and numbers by name, some 200 bytes; a knowledge base takes 1 KB. Times are seconds."""
    fact = memory.fact
    found: dict[str, str | float] = {
        "scope": scope_id,
        "memory": memory.id,
        "kind": fact.kind.value,
        "live": int(memory.status is Status.ACTIVE),
        "version": memory.version,
    }
    if fact.valid_from:
        found["valid_from"] = fact.valid_from.timestamp()
    if fact.valid_to:
        found["valid_to"] = fact.valid_to.timestamp()
    return found
