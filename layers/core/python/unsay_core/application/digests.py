"""The keyed digests by which a scope recognises a statement or a value without keeping it twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.domain.duplicate import statement
from unsay_core.domain.keys import content_commitment
from unsay_core.domain.tombstone import NORMALISER, normalise

if TYPE_CHECKING:
    from unsay_core.domain.keys import ScopeKeys
    from unsay_core.domain.memory import Fact, Memory


def duplicate_digest(keys: ScopeKeys, fact: Fact) -> str:
    """Equal for facts that say exactly the same."""
    return keys.duplicate_digest(statement(fact))


def value_digest(keys: ScopeKeys, content: str) -> str:
    """Equal for contents that a tombstone must treat as one value."""
    return keys.tombstone_digest(normalise(content), NORMALISER)


def value_digests(keys: ScopeKeys, content: str) -> tuple[str, ...]:
    """The digest of a value under every normaliser that ever buried one, newest first."""
    return (value_digest(keys, content),)


def commitment(memory: Memory) -> str:
    """What the audit log keeps of a memory's words; worthless once the nonce is erased with them."""
    return content_commitment(bytes.fromhex(memory.nonce), memory.fact.content)
