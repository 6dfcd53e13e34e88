"""The keyed digests by which a scope recognises a statement or a value without keeping it twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.keys import content_commitment
from unsay_core.domain.duplicate import identity
from unsay_core.domain.readings import readings
from unsay_core.domain.tombstone import NORMALISER, NORMALISERS
from unsay_core.retrieval.lexicon import Wording
from unsay_core.retrieval.postings import pack_wording

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unsay_core.application.keys import ScopeKeys
    from unsay_core.domain.memory import Fact, Memory
    from unsay_core.domain.tombstone import Normaliser


def duplicate_digest(keys: ScopeKeys, fact: Fact) -> str:
    """Equal for beliefs that say exactly the same, and for items of one address."""
    return keys.duplicate_digest(identity(fact))


def waiting_digest(keys: ScopeKeys, fact: Fact) -> str:
    """Equal for facts that say exactly the same and wait for a person, and never for one that is believed."""
    return keys.duplicate_digest(b"waiting " + identity(fact))


def value_digest(keys: ScopeKeys, content: str) -> str:
    """Under this the tombstone of a content is written: the newest normaliser's digest."""
    return keys.tombstone_digest(NORMALISERS[NORMALISER](content), NORMALISER)


def value_digests(
    keys: ScopeKeys, content: str, normalisers: Mapping[int, Normaliser] = NORMALISERS
) -> tuple[str, ...]:
    """Under any of these its tombstone may lie: one of each normaliser ever released, newest first.

    And of whatever else the content may say, as the newest would have written it.
    """
    newest = max(normalisers)
    forms = {version: normalisers[version](content) for version in sorted(normalisers, reverse=True)}
    written = [keys.tombstone_digest(form, version) for version, form in forms.items()]
    return (*written, *(keys.tombstone_digest(form, newest) for form in readings(content, forms[newest])))


def keyed_wording(keys: ScopeKeys, content: str) -> bytes:
    """The words of a content for the index, which has no key: by their digests."""
    wording = Wording.of(content)
    return pack_wording(wording, keys.word_digests(wording.counts))


def commitment(memory: Memory) -> str:
    """What the audit log keeps of a memory's words; worthless once the nonce is erased with them."""
    return content_commitment(bytes.fromhex(memory.nonce), memory.fact.content)
