"""Post words: the index by words is brought to what the ledger says of up to ten memories.

It lies in the ledger beside the memories. Postings are changed only where the change that asks for it is
still the memory's latest, and a memory's list of words is written before any posting and goes after the
last: so nothing comes back after an erasure, and what was posted is found again to be removed.
"""

from __future__ import annotations

from base64 import b32encode
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from unsay_core.application.keys import WORD_BYTES
from unsay_core.application.ledger import (
    Absent,
    Check,
    Delete,
    Holds,
    Listed,
    Postings,
    Put,
    listed_ref,
    pending_ref,
    postings_ref,
    ref_of,
)
from unsay_core.application.ports import ConflictError
from unsay_core.domain.values import dataclass
from unsay_core.retrieval.postings import SIZE, Posting, pack, packed_id, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from unsay_core.application.ledger import Change, Expectation
    from unsay_core.application.ports import Ledger

FRESH = 32  # postings of a word in the entry that every new one rewrites; beyond, they go into stock together
IN_STOCK = 1024  # the newest; a word that more memories have tells little of any
AT_ONCE = 40  # words in one transaction, with two entries each


@dataclass(frozen=True)
class Owed:
    """A memory that is to be posted as `wanted`, by the digests of its words, and under no other word.

    `seq` is the change that asks for it, None where the memory is gone and nobody owes it any more. `stays`
    is false of a memory that leaves the index.
    """

    memory_id: str
    seq: int | None
    listed: Listed | None
    wanted: Mapping[bytes, Posting]
    stays: bool

    @cached_property
    def memory(self) -> bytes:
        """Its id as postings have it."""
        return packed_id(self.memory_id)

    @cached_property
    def terms(self) -> frozenset[bytes]:
        """Every word it is, may be or will be posted under."""
        return _split(self.listed).union(self.wanted)

    @cached_property
    def counted(self) -> frozenset[bytes]:
        """The words whose totals are known to include it."""
        return _split(self.listed) if self.listed and self.listed.settled else frozenset()


def _split(listed: Listed | None) -> frozenset[bytes]:
    terms = listed.terms if listed else b""
    return frozenset(terms[at : at + WORD_BYTES] for at in range(0, len(terms), WORD_BYTES))


def term_name(digest: bytes) -> str:
    """A word's digest as the ledger's keys have it: 16 characters."""
    return b32encode(digest).decode("ascii").lower()


def post_words(owed: Sequence[Owed], ledger: Ledger) -> bool:
    """Bring the postings of some memories to what is wanted; False if another was faster: look again."""
    terms = sorted({term for one in owed for term in one.terms})
    *earlier, last = [terms[at : at + AT_ONCE] for at in range(0, len(terms), AT_ONCE)] or [[]]
    lists = {one.memory_id: one.listed for one in owed}
    guards = [Check(pending_ref(one.memory_id), Holds("seq", one.seq)) for one in owed if one.seq is not None]
    try:
        if earlier:
            begun = {one.memory_id: _listed(one, settled=False) for one in owed}
            ledger.commit((*(Put(new, _as_read(lists[i])) for i, new in begun.items()), *guards))
            lists, guards = dict(begun), []
        for part in earlier:
            stays = (Check(listed_ref(i), _as_read(listed)) for i, listed in lists.items())
            ledger.commit((*_posted(part, owed, ledger), *stays))
        ends = (end for one in owed for end in _ended(one, lists[one.memory_id]))
        ledger.commit((*_posted(last, owed, ledger), *ends, *guards))
    except ConflictError:
        return False
    return True


def _listed(one: Owed, *, settled: bool) -> Listed:
    terms = one.wanted if settled else one.terms
    revision = one.listed.revision + 1 if one.listed else 1
    return Listed(one.memory_id, one.seq or 0, b"".join(sorted(terms)), settled, revision)


def _ended(one: Owed, now: Listed | None) -> Change:
    """The list of a memory's words as it is in the end."""
    if not one.stays:
        return (Delete(listed_ref(one.memory_id), _as_read(now)),) if now else ()
    revision = now.revision + 1 if now else 1
    return (Put(replace(_listed(one, settled=True), revision=revision), _as_read(now)),)


def _posted(terms: Sequence[bytes], owed: Sequence[Owed], ledger: Ledger) -> Iterator[Put | Delete]:
    """What changes in the postings of some words."""
    places = {
        term: [postings_ref(term_name(term), is_stock=is_stock) for is_stock in (False, True)]
        for term in terms
    }
    if not places:
        return
    found = ledger.read([ref for refs in places.values() for ref in refs])
    for term, (fresh, stock) in places.items():
        yield from _changed(term, found.get(fresh), found.get(stock), owed)


def _changed(
    term: bytes, fresh: Postings | None, stock: Postings | None, owed: Sequence[Owed]
) -> Iterator[Put | Delete]:
    concerned = {one.memory: one for one in owed if term in one.terms}
    new = [one.wanted[term] for one in concerned.values() if term in one.wanted]
    kept, counted = _without(fresh, concerned)
    stocked, counted_there = _without(stock, concerned)
    counted = counted | counted_there | {i for i, one in concerned.items() if term in one.counted}
    here = pack(new) + kept
    if len(here) > FRESH * SIZE:
        here, stocked = b"", (here + stocked)[: IN_STOCK * SIZE]
    total = (fresh.total if fresh else 0) + len(new) - len(counted)
    total = max(total, (len(here) + len(stocked)) // SIZE)
    name = term_name(term)
    yield from _written(Postings(name, is_stock=False, packed=here, total=total), fresh, keep=total > 0)
    yield from _written(Postings(name, is_stock=True, packed=stocked), stock, keep=bool(stocked))


def _without(there: Postings | None, memories: Mapping[bytes, Owed]) -> tuple[bytes, set[bytes]]:
    """The postings of other memories, and whose were left out."""
    packed = there.packed if there else b""
    postings = list(unpack(packed))
    left_out = {memory for memory, *_ in postings if memory in memories}
    if not left_out:
        return packed, left_out
    return pack(Posting(*posting) for posting in postings if posting[0] not in left_out), left_out


def _written(new: Postings, there: Postings | None, *, keep: bool) -> Iterator[Put | Delete]:
    ref = ref_of(new)
    if not keep:
        if there:
            yield Delete(ref, _as_read(there))
    elif there is None:
        yield Put(new, Absent())
    elif (new.packed, new.total) != (there.packed, there.total):
        yield Put(replace(new, revision=there.revision + 1), _as_read(there))


def _as_read(there: Postings | Listed | None) -> Expectation:
    return Holds("revision", there.revision) if there else Absent()
