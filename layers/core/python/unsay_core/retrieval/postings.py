"""Postings: where a word is said, packed so that a thousand of them are read in a millisecond.

A posting names a memory, its place in its conversation, and how the word stands in it; it holds no text. The
word itself is known by a keyed digest alone, which is given with the text by whoever has the key.
"""

from __future__ import annotations

import struct
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from unsay_core.domain.memory import Memory
    from unsay_core.retrieval.lexicon import Wording

_FORM = struct.Struct("<16sQBBB")
SIZE = _FORM.size
MOST_COUNTED = 255  # of a word in a memory, and of its words
ASKS, LEADS, LIVE = 1, 2, 4  # the memory is a question; the word names who speaks; the memory is believed

MOST_WORDS = 300  # different words under which a memory is found; a book is found by its beginning
_WORD = struct.Struct("<10sBB")
_TEXT = struct.Struct("<BB")
NO_WORDS = _TEXT.pack(0, 0)  # the wording of an empty text

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_TO_DIGITS = str.maketrans(_CROCKFORD, "0123456789abcdefghijklmnopqrstuv")  # as `int` reads them
_PAIRS = [high + low for high in _CROCKFORD for low in _CROCKFORD]  # ten bits each
_PREFIX = "mem_"
_RUN_BYTES = 4
_FAR = 1 << 31  # where a memory of a conversation stands that names no message of it


class Posting(NamedTuple):
    """One memory that has a word; `place` is as `place_of` says, `length` the memory's in words."""

    memory: bytes
    place: int
    times: int
    length: int
    traits: int


def pack(postings: Iterable[Posting]) -> bytes:
    """The bytes that are stored."""
    return b"".join(_FORM.pack(*posting) for posting in postings)


def unpack(packed: bytes) -> Iterator[tuple[bytes, int, int, int, int]]:
    """The postings again, as bare tuples: making names of them takes longer than reading them."""
    return _FORM.iter_unpack(packed)


def packed_id(memory_id: str) -> bytes:
    """A memory's id in 16 bytes."""
    return int(memory_id.removeprefix(_PREFIX).translate(_TO_DIGITS), 32).to_bytes(16)


def unpacked_id(packed: bytes) -> str:
    """The id that 16 bytes stand for."""
    number = int.from_bytes(packed)
    return _PREFIX + "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def place_of(memory: Memory, own: bytes) -> int:
    """Where a memory stands, as one number: those of its neighbours in the same conversation are beside it.

    A memory without a conversation stands alone. `own` is its packed id.
    """
    source = memory.source
    if source.run_id is None:
        return in_run(int.from_bytes(own[-_RUN_BYTES:]), 0)
    run = int.from_bytes(blake2b(source.run_id.encode("utf-8"), digest_size=_RUN_BYTES).digest())
    return in_run(run, min(source.message_seqs, default=_FAR | int.from_bytes(own[-3:])))


def in_run(run: int, seq: int) -> int:
    """The place of a message in a conversation."""
    return run << 32 | min(seq, 0xFFFFFFFF)


def run_of(place: int) -> int:
    """The conversation of a place."""
    return place >> 32


def pack_wording(wording: Wording, digests: Mapping[str, bytes]) -> bytes:
    """A text's words by their digests, as much as is posted of them."""
    words = islice(wording.counts.items(), MOST_WORDS)
    counted = (_WORD.pack(digests[word], min(n, MOST_COUNTED), word in wording.lead) for word, n in words)
    traits = ASKS if wording.asks else 0
    return _TEXT.pack(min(wording.length, MOST_COUNTED), traits) + b"".join(counted)


def said(wording: bytes) -> dict[bytes, tuple[int, int]]:
    """How often each word is said, and whether it names who speaks, by the words' digests."""
    return {word: (times, leads) for word, times, leads in _WORD.iter_unpack(wording[_TEXT.size :])}


def length_and_traits(wording: bytes) -> tuple[int, int]:
    """How many words a text has, and what it is."""
    length, traits = _TEXT.unpack_from(wording)
    return length, traits


def postings_of(memory: Memory, wording: bytes, *, is_live: bool) -> dict[bytes, Posting]:
    """What is to be posted of a memory, by the digests of its words."""
    length, traits = length_and_traits(wording)
    traits |= LIVE if is_live else 0
    own = packed_id(memory.id)
    place = place_of(memory, own)
    return {
        word: Posting(own, place, times, length, traits | (LEADS if leads else 0))
        for word, (times, leads) in said(wording).items()
    }
