"""Evidence: the sentences of stored messages that a forgotten memory was made from go with it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from unsay_core.application.digests import value_digest
from unsay_core.application.draft import Draft
from unsay_core.application.ledger import message_ref, value_tombstone_ref
from unsay_core.application.quotes import find_quote
from unsay_core.application.redaction import blotted, mapped, strings
from unsay_core.application.sentences import sentences
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.tombstone import Tombstone, TombstoneKind
from unsay_core.extraction.conversation import Redaction

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.domain.memory import Memory, Reason
    from unsay_core.extraction.conversation import Message

MESSAGES_AT_ONCE = 12  # each with the tombstones of a few sentences
MOST_GRAVES = 80

Quotes = dict["Ref[Message]", set[str]]


def erase_evidence(
    memories: Sequence[Memory],
    reason: Reason,
    erasure_id: str,
    opened: OpenScope,
    world: World,
    *,
    bury: TombstoneKind,
) -> bool:
    """Redact every message that is known to have said what is forgotten; True if there was one.

    Its sentences are tombstoned unless only ids are, so that the message sent again is redacted too.
    """
    quotes = _quotes(memories)
    refs, found = list(quotes), False
    for at in range(0, len(refs), MESSAGES_AT_ONCE):
        some = refs[at : at + MESSAGES_AT_ONCE]
        draft = Draft(opened, world.clock.now(), some)
        said = _redact(some, quotes, draft)
        if not said:
            continue
        if bury is TombstoneKind.VALUE:
            _bury(said, reason, erasure_id, draft, opened)
        ids = tuple(memory.id for memory in memories)[:MOST_GRAVES]
        draft.record(Happening(Event.REDACTED, related=ids, reason=reason.value, erasure_id=erasure_id))
        draft.commit()
        found = True
    return found


def _quotes(memories: Sequence[Memory]) -> Mapping[Ref[Message], set[str]]:
    """What was said where, as far as the sources of the memories tell."""
    found: Quotes = defaultdict(set)
    for memory in memories:
        for source in (memory.source, *memory.corroborations):
            for seq in source.message_seqs if source.run_id else ():
                found[message_ref(source.run_id or "", seq)].add(source.quote or memory.fact.content)
    return found


def _redact(refs: Sequence[Ref[Message]], quotes: Mapping[Ref[Message], set[str]], draft: Draft) -> list[str]:
    """Take the sentences out of the messages; returns what they were, and the quotes in them."""
    said: list[str] = []
    for ref in refs:
        message = draft.get(ref)
        if message is None:
            continue
        spoken = [(text, list(_spans(text, quotes[ref]))) for text in strings(message.blocks)]
        taken = {text: [span for span, _ in found] for text, found in spoken if found}
        if not taken:
            continue
        said += [text[slice(*span)] for text, spans in taken.items() for span in spans]
        said += [quote for _, found in spoken for _, quote in found]
        blocks = mapped(message.blocks, lambda text, taken=taken: blotted(text, taken.get(text, [])))  # type: ignore[misc]
        draft.put(message.cleared(blocks, [Redaction.FORGOTTEN]))
    return list(dict.fromkeys(said))


def _spans(text: str, quotes: set[str]) -> Iterator[tuple[tuple[int, int], str]]:
    """The sentences of a text that a quote lies in, each with the quote."""
    for quote in quotes:
        found = find_quote(text, quote)
        if found is None:
            continue
        start, end = found
        for first, last in sentences(text):
            if first < end and last > start:
                yield (first, last), quote


def _bury(said: Sequence[str], reason: Reason, erasure_id: str, draft: Draft, opened: OpenScope) -> None:
    digests = list(dict.fromkeys(value_digest(opened.keys, text) for text in said))[:MOST_GRAVES]
    draft.load(*map(value_tombstone_ref, digests))
    for digest in digests:
        known = draft.get(value_tombstone_ref(digest))
        hits, actor = known.hits if known else 0, opened.principal.id
        draft.put(
            Tombstone(
                digest, TombstoneKind.VALUE, draft.at, actor, reason, erasure_id, seq=draft.seq, hits=hits
            )
        )
