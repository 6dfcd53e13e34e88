"""Messages: what a conversation says of what is forgotten, though no memory was made of it, is redacted too.

By now every tombstone of the erasure is dug, and what is said from then on is held against them as it is
stored. So the messages that are there are looked through once, a page at a time, by the same comparison.
Where few values are buried their digests are in the receipt, and a page costs one read; else tombstones are
read beside it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from unsay_core.application.conversations import run_happening
from unsay_core.application.digests import value_digests
from unsay_core.application.draft import READ_MOST, Draft
from unsay_core.application.jobs import move
from unsay_core.application.ledger import Area, erasure_ref, ref_of, value_tombstone_ref
from unsay_core.application.redaction import Graves, pieces, redacted, strings
from unsay_core.application.settle import settle
from unsay_core.domain.audit import Event
from unsay_core.extraction.conversation import Message
from unsay_core.jobs.erasure import MANY, Erasure, Phase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set
    from typing import Any

    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import JobScope, World

PAGE = 100  # entries of conversations in one read
LOOKED_AT = 1_000  # of them in one step, if nobody said any of it
AT_ONCE = 12  # messages redacted in one transaction


def has_messages(erasure: Erasure, scope: JobScope) -> bool:
    """True if there is anything to look for, and anywhere to look."""
    return bool(erasure.buried and (erasure.cursor or scope.ledger.page(Area.CONVERSATION, limit=1)))


def clear_messages(erasure: Erasure, scope: JobScope, world: World) -> Erasure:
    """Look through the next messages, and redact some of those that say what is buried."""
    after = erasure.cursor
    for _ in range(0, LOOKED_AT, PAGE):
        page = scope.ledger.page(Area.CONVERSATION, after=after, limit=PAGE)
        texts = {ref_of(m): [*strings([m.blocks, m.name])] for m in page if isinstance(m, Message)}
        said = said_of_it(texts, erasure, scope)
        some = list(said)[:AT_ONCE]
        after = ref_of(page[-1]).id if len(page) == PAGE else None
        after = some[-1].id if len(said) > AT_ONCE else after
        if some or after is None:
            break
    digests = {piece: found for ref in some for piece, found in said[ref].items()}
    return settle(lambda: _redact(some, digests, after, erasure, scope, world), world)


def said_of_it(
    texts: Mapping[Ref[Any], Iterable[str]], erasure: Erasure, scope: JobScope
) -> dict[Ref[Any], dict[str, tuple[str, ...]]]:
    """Where something says what is buried: each piece of its texts that does so, with its digests."""
    known = {
        ref: {piece: value_digests(scope.keys, piece) for piece in _pieces(said)}
        for ref, said in texts.items()
    }
    said = {digest for each in known.values() for found in each.values() for digest in found}
    buried = buried_by(erasure, said, scope)
    of_it = {
        ref: {piece: found for piece, found in each.items() if not buried.isdisjoint(found)}
        for ref, each in known.items()
    }
    return {ref: each for ref, each in of_it.items() if each}


def _pieces(texts: Iterable[str]) -> Iterable[str]:
    return {text[start:end] for text in texts for start, end in pieces(text)}


def buried_by(erasure: Erasure, digests: Set[str], scope: JobScope) -> set[str]:
    """Those of the digests of which there is a tombstone of this erasure."""
    if erasure.buried != MANY:
        return {*digests} & {*erasure.buried}
    refs = [value_tombstone_ref(digest) for digest in sorted(digests)]
    found: set[str] = set()
    for at in range(0, len(refs), READ_MOST):
        some = refs[at : at + READ_MOST]
        snapshot = scope.ledger.read(some)
        graves = [grave for ref in some if (grave := snapshot.get(ref))]
        found |= {grave.digest for grave in graves if grave.erasure_id == erasure.id}
    return found


def _redact(
    refs: Sequence[Ref[Any]],
    digests: Mapping[str, tuple[str, ...]],
    after: str | None,
    erasure: Erasure,
    scope: JobScope,
    world: World,
) -> Erasure:
    """One transaction: some messages without what is buried, counted, and how far the job is."""
    draft = Draft(scope, world.clock.now(), [erasure_ref(erasure.id), *refs])
    graves = Graves(draft, digests)
    there = [message for ref in refs if (message := draft.get(ref))]
    cleared = [without for message in there if (without := redacted(message, graves))]
    for message in cleared:
        draft.put(message)
    for run_id in dict.fromkeys(message.run_id for message in cleared):
        reason = erasure.reason.value
        draft.record(run_happening(Event.REDACTED, run_id, scope, reason=reason, erasure_id=erasure.id))
    phase = Phase.QUOTES if after is None else Phase.MESSAGES
    count = erasure.redacted + len(cleared)
    moved = move(draft, erasure, replace(erasure, redacted=count, cursor=after, phase=phase))
    draft.commit()
    return moved
