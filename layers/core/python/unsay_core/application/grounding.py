"""Grounding: what a model proposes becomes a fact only if the user said it, in words that can be read.

Deterministic, and in our hands: the model's own judgement can only take away.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from unsay_core.application.dates import begins, ends
from unsay_core.application.quotes import find_quote
from unsay_core.application.scripts import main_script
from unsay_core.application.sentences import is_question, sentence_around
from unsay_core.application.spoken import spoken
from unsay_core.application.suspicion import addresses_agent, is_planted
from unsay_core.domain.memory import Fact, Kind
from unsay_core.domain.tombstone import normalise
from unsay_core.extraction.conversation import Planned
from unsay_core.extraction.credentials import REDACTED, find_credential
from unsay_core.retrieval.lexicon import query_words, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unsay_core.application.model_reply import Proposal
    from unsay_core.domain.memory import Memory
    from unsay_core.extraction.conversation import Message

LONGEST = 1_000  # characters of a fact, and of its quote
NEAR = 0.8  # share of words in common from which on two statements may be one
_KEY_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_.-")
_KINDS = frozenset({Kind.SEMANTIC.value, Kind.EPISODIC.value, Kind.PROCEDURAL.value})
_STANCES = {"asked": "question"}  # how a drop is called; the others are called what the model calls them


class UngroundedError(Exception):
    """A proposal that is no fact; `reason` is counted in the batch's `dropped`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Ground:
    """What proposals are held against: the messages they may cite, by number, and the memories by theirs."""

    messages: Mapping[int, Message]
    known: Sequence[Memory]
    allows_secrets: bool = False


@dataclass(frozen=True, slots=True)
class _Quote:
    text: str
    sentence: str


def grounded(proposal: Proposal, ground: Ground, memory_id: str) -> Planned:
    """The fact a proposal is; raises `UngroundedError`."""
    message = ground.messages.get(proposal.message)
    if message is None:
        raise UngroundedError("unknown_message")
    if not message.role.is_user:
        raise UngroundedError("not_the_user")
    if proposal.stance != "stated":
        raise UngroundedError(_STANCES.get(proposal.stance, proposal.stance))
    quote = _located(proposal.quote, message)
    content = _content(proposal.content, quote, allows_secrets=ground.allows_secrets)
    known = _known(proposal, content, ground.known)
    fact, is_clear = _fact(proposal, content, known, message)
    return Planned(
        memory_id=memory_id,
        seq=message.seq,
        fact=fact,
        quote=quote.text,
        is_asserted=_lies_in(content, quote.text),
        reasons=tuple(_reasons(proposal, fact, quote, known, ground.known, is_clear=is_clear)),
        same_as=known.id if known and _is_same(content, known) else None,
    )


def _located(quote: str, message: Message) -> _Quote:
    """The quote as it stands in the message; raises if it does not, or if nobody states it there."""
    if not 0 < len(quote) <= LONGEST or sum(c.isalnum() for c in quote) < 2:
        raise UngroundedError("quote_not_found")
    for stretch in (stretch for text in message.texts for stretch in spoken(text)):
        found = find_quote(stretch, quote)
        if found is None:
            continue
        sentence = sentence_around(stretch, *found)
        if is_question(sentence):
            raise UngroundedError("question")
        if REDACTED in stretch[slice(*found)]:
            raise UngroundedError("redacted")
        return _Quote(stretch[slice(*found)], sentence)
    raise UngroundedError("quote_not_found")


def _content(proposed: str, quote: _Quote, *, allows_secrets: bool) -> str:
    content = unicodedata.normalize("NFC", " ".join(proposed.split()))
    if not any(c.isalnum() for c in content):
        raise UngroundedError("empty")
    if len(content) > LONGEST:
        raise UngroundedError("too_long")
    if find_credential(content) and not allows_secrets:
        raise UngroundedError("secret")
    if main_script(content) != main_script(quote.sentence):
        raise UngroundedError("language")
    return content


def _known(proposal: Proposal, content: str, known: Sequence[Memory]) -> Memory | None:
    """The memory a proposal is about: one that says the same, or the one whose number the model gave."""
    same = next((memory for memory in known if _is_same(content, memory)), None)
    named = proposal.known is not None and 1 <= proposal.known <= len(known)
    return same or (known[proposal.known - 1] if named and proposal.known else None)


def _is_same(content: str, memory: Memory) -> bool:
    return normalise(content) == normalise(memory.fact.content)


def _fact(proposal: Proposal, content: str, known: Memory | None, message: Message) -> tuple[Fact, bool]:
    """The fact, and whether all its dates are clear."""
    start = begins(proposal.valid_from) if proposal.valid_from else None
    end = ends(proposal.valid_to) if proposal.valid_to else None
    is_clear = bool(start) == bool(proposal.valid_from) and bool(end) == bool(proposal.valid_to)
    if start and end and start >= end:
        start, end, is_clear = None, None, False
    key = _key(proposal.key) or (known.fact.key if known and proposal.relation == "replaces" else None)
    if key and start is None:
        start = message.time if end is None or message.time < end else None
    importance = (
        Decimal("0.5") if proposal.importance is None else Decimal(str(round(proposal.importance, 2)))
    )
    kind = Kind(proposal.kind) if proposal.kind in _KINDS else Kind.SEMANTIC
    return Fact(content, kind, key, importance=importance, valid_from=start, valid_to=end), is_clear


def _key(proposed: str | None) -> str | None:
    key = (proposed or "").lower().replace(" ", "_")
    return key if 0 < len(key) <= 64 and set(key) <= _KEY_CHARACTERS else None


def _reasons(
    proposal: Proposal,
    fact: Fact,
    quote: _Quote,
    about: Memory | None,
    known: Sequence[Memory],
    *,
    is_clear: bool,
) -> list[str]:
    """Why a person should look first."""
    reasons = {
        "planted_instruction": is_planted(quote.sentence) or is_planted(fact.content),
        "addresses_agent": proposal.to_agent or addresses_agent(fact.content),
        "weak_evidence": not _shares_words(fact.content, quote.sentence),
        "unclear_date": not is_clear,
    }
    if about is not None and not _is_same(fact.content, about):
        replaces = proposal.relation == "replaces" and not (fact.key and fact.key == about.fact.key)
        reasons["replaces_known"] = replaces
    reasons["near_duplicate"] = any(_is_near(fact, memory) for memory in known)
    return [reason for reason, holds in reasons.items() if holds]


def _shares_words(content: str, sentence: str) -> bool:
    said = set(words(sentence))
    return any(word in said for word in words(content))


def _is_near(fact: Fact, memory: Memory) -> bool:
    """True for two statements with nearly the same words; under one key they take turns instead."""
    if (fact.key and fact.key == memory.fact.key) or _is_same(fact.content, memory):
        return False
    return jaccard(query_words(fact.content), query_words(memory.fact.content)) >= NEAR


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Words in common, as a share of all."""
    return len(one & other) / len(one | other) if one | other else 0.0


def _lies_in(content: str, quote: str) -> bool:
    """True if the fact is, but for case, spacing and final punctuation, what the user said."""
    return find_quote(normalise(quote), normalise(content)) is not None
