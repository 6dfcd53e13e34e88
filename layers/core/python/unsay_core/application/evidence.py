"""Evidence: the sentences of stored messages that a forgotten memory was made from go with it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from unsay_core.application.digests import value_digest
from unsay_core.application.draft import Draft
from unsay_core.application.ledger import erasure_ref, message_ref, value_tombstone_ref
from unsay_core.application.quotes import find_quote
from unsay_core.application.redaction import blotted, mapped, strings
from unsay_core.application.sentences import sentences
from unsay_core.application.verdict import put_receipt
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.tombstone import Tombstone, TombstoneKind
from unsay_core.extraction.conversation import Redaction

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.application.verdict import Verdict
    from unsay_core.domain.memory import Memory
    from unsay_core.extraction.conversation import Message
    from unsay_core.jobs.erasure import Erasure

MESSAGES_AT_ONCE = 12
MOST_GRAVES = 80  # dug in one transaction, beside so many messages
NAMED = 50  # memories that an audit entry names

Quotes = dict["Ref[Message]", set[str]]


def erase_evidence(memories: Sequence[Memory], verdict: Verdict, opened: OpenScope, world: World) -> bool:
    """Redact every message that is known to have said what is forgotten; True if there was one.

    Its sentences are tombstoned unless only ids are, so that the message sent again is redacted too.
    """
    quotes = _quotes(memories)
    named = tuple(memory.id for memory in memories)[:NAMED]
    refs, found = list(quotes), False
    for at in range(0, len(refs), MESSAGES_AT_ONCE):
        some = refs[at : at + MESSAGES_AT_ONCE]
        while some:
            left = _redact_some(some, quotes, named, verdict, opened, world)
            found = found or left is not None
            some = left or []
    return found


def _redact_some(
    refs: Sequence[Ref[Message]],
    quotes: Mapping[Ref[Message], set[str]],
    named: tuple[str, ...],
    verdict: Verdict,
    opened: OpenScope,
    world: World,
) -> list[Ref[Message]] | None:
    """One transaction; None if none of the messages says anything of it, else those still to be done.

    First of all as many sentences are buried as are too many to be so with the messages they stand in.
    """
    draft = Draft(opened, world.clock.now(), [*refs, erasure_ref(verdict.erasure_id)])
    cleared, said = _cleared(refs, quotes, draft)
    if not cleared:
        return None
    digests = list(dict.fromkeys(value_digest(opened.keys, text) for text in said))
    if verdict.bury is not TombstoneKind.VALUE:
        digests = []
    draft.load(*map(value_tombstone_ref, digests))
    wanted = [digest for digest in digests if not _stands(digest, verdict, draft)]
    fits = len(wanted) <= MOST_GRAVES
    for digest in wanted[:MOST_GRAVES]:
        _bury(digest, verdict, draft, opened)
    for message in cleared if fits else ():
        draft.put(message)
    reason, erasure_id = verdict.reason.value, verdict.erasure_id
    draft.record(Happening(Event.REDACTED, related=named, reason=reason, erasure_id=erasure_id))
    if verdict.receipt(draft):
        _count(len(cleared) if fits else 0, wanted[:MOST_GRAVES], verdict, draft)
    draft.commit()
    verdict.said.extend(digests)
    return [] if fits else list(refs)


def _count(redacted: int, buried: Sequence[str], verdict: Verdict, draft: Draft) -> None:
    def change(erasure: Erasure) -> Erasure:
        return replace(
            erasure,
            redacted=erasure.redacted + redacted,
            tombstones=erasure.tombstones + len(buried),
            buried=erasure.burying(buried),
            quoted=True,
        )

    put_receipt(draft, verdict, change)


def _quotes(memories: Sequence[Memory]) -> Mapping[Ref[Message], set[str]]:
    """What was said where, as far as the sources of the memories tell."""
    found: Quotes = defaultdict(set)
    for memory in memories:
        for source in (memory.source, *memory.corroborations):
            for seq in source.message_seqs if source.run_id else ():
                found[message_ref(source.run_id or "", seq)].add(source.quote or memory.fact.content)
    return found


def _cleared(
    refs: Sequence[Ref[Message]], quotes: Mapping[Ref[Message], set[str]], draft: Draft
) -> tuple[list[Message], list[str]]:
    """The messages without the sentences; and what these were, with the quotes in them."""
    cleared: list[Message] = []
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
        cleared.append(message.cleared(blocks, [Redaction.FORGOTTEN]))
    return cleared, said


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


def _stands(digest: str, verdict: Verdict, draft: Draft) -> bool:
    """True for a sentence that this erasure has buried before."""
    known = draft.get(value_tombstone_ref(digest))
    return known is not None and known.erasure_id == verdict.erasure_id and not known.lifted


def _bury(digest: str, verdict: Verdict, draft: Draft, opened: OpenScope) -> None:
    known = draft.get(value_tombstone_ref(digest))
    hits, actor = known.hits if known else 0, opened.principal.id
    reason, erasure_id = verdict.reason, verdict.erasure_id
    draft.put(
        Tombstone(digest, TombstoneKind.VALUE, draft.at, actor, reason, erasure_id, seq=draft.seq, hits=hits)
    )
