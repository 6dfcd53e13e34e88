"""A memory: what is held to be true, since when, and on whose word."""

from __future__ import annotations

import re
from dataclasses import field, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from unsay_core.domain.characters import BRAILLE_BLANK, DEFAULT_IGNORABLE
from unsay_core.domain.errors import InvalidRequestError
from unsay_core.domain.timeline import Interval
from unsay_core.domain.values import dataclass

SCHEMA = 1
SLOT_KEY_FORM = "the key of a belief is 1 to 64 of a-z 0-9 _ . -"
_SLOT_KEY = re.compile(r"[a-z0-9_.-]{1,64}", re.ASCII)
MOST_PASSAGES = 32  # of an item; what follows belongs to the last
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")
MOST_CORROBORATIONS = 20  # sources kept beside the first, the latest ones
MERGING = "consolidate"  # the channel of what was merged of others


class Kind(StrEnum):
    """What sort of thing is remembered."""

    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"
    ITEM = "item"  # a keyed record, not a belief


BELIEFS = tuple(kind for kind in Kind if kind is not Kind.ITEM)


class Status(StrEnum):
    """Where a memory stands; only `active` is recalled."""

    ACTIVE = "active"
    CANDIDATE = "candidate"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    REJECTED = "rejected"
    EXPIRED = "expired"


class Trust(StrEnum):
    """How far a memory is vouched for; the write path assigns it, a payload cannot."""

    DISPUTED = "disputed"
    INFERRED = "inferred"
    ASSERTED = "asserted"
    VERIFIED = "verified"

    @property
    def rank(self) -> int:
        """Order of confidence, lowest first."""
        return list(Trust).index(self)


class IndexState(StrEnum):
    """Whether the knowledge base is known to hold the current version."""

    PENDING = "pending"
    INDEXED = "indexed"
    FAILED = "failed"


class Because(StrEnum):
    """Why a memory is corrected: the world changed, or it never held."""

    CHANGED = "changed"
    WRONG = "wrong"


class Reason(StrEnum):
    """Why something is taken away."""

    USER_REQUEST = "user_request"
    INCORRECT = "incorrect"
    OUTDATED = "outdated"
    DUPLICATE = "duplicate"
    CONSENT_WITHDRAWN = "consent_withdrawn"
    POLICY = "policy"
    SECURITY = "security"
    TEST = "test"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Imported:
    """What a memory's line in an import says of its first source; nobody here vouches for it."""

    job_id: str
    channel: str
    actor: str
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Source:
    """Where a memory came from; `actor` is the authenticated principal."""

    channel: str
    actor: str
    run_id: str | None = None
    message_seqs: tuple[int, ...] = ()
    quote: str | None = None
    model: str | None = None
    imported: Imported | None = None

    def adds_nothing_to(self, known: Source) -> bool:
        """True if everything this source says is said by another already."""
        same = (self.channel, self.actor, self.run_id) == (known.channel, known.actor, known.run_id)
        return (
            same and set(self.message_seqs) <= set(known.message_seqs) and self.quote in (None, known.quote)
        )

    def joined(self, other: Source) -> Source:
        """The same run, with the messages of both."""
        return replace(self, message_seqs=tuple(sorted({*self.message_seqs, *other.message_seqs})))


def is_slot_key(key: str) -> bool:
    """True if a belief may have this key."""
    return _SLOT_KEY.fullmatch(key) is not None


def is_blank(text: str) -> bool:
    """True if a text shows nothing: white space and invisible characters at most."""
    return all(c.isspace() or c in DEFAULT_IGNORABLE or c == BRAILLE_BLANK for c in text)


def _bytes_of(value: Any) -> int:
    match value:
        case str():
            return len(value.encode("utf-8", "surrogatepass"))
        case dict():
            return sum(_bytes_of(name) + _bytes_of(member) for name, member in value.items())
        case list() | tuple():
            return sum(map(_bytes_of, value))
        case _:
            return 0 if value is None else len(str(value))


@dataclass(frozen=True, slots=True)
class Fact:
    """What a caller states: the part of a memory that a correction may replace.

    The key of a belief names its slot. That of an item is its address, together with `path`: labels that
    nothing reads anything into.
    """

    content: str
    kind: Kind = Kind.SEMANTIC
    key: str | None = None
    path: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    importance: Decimal = Decimal("0.5")
    data: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None

    @property
    def weight(self) -> int:
        """Bytes of what a caller can make long: content, data and metadata."""
        return sum(map(_bytes_of, (self.content, self.data, self.metadata)))

    @property
    def validity(self) -> Interval:
        """When the fact is true in the world."""
        return Interval(self.valid_from, self.valid_to)

    @property
    def is_item(self) -> bool:
        """True for a keyed record: it is written over, and nothing that is done to beliefs is done to it."""
        return self.kind is Kind.ITEM

    @property
    def passages(self) -> tuple[str, ...]:
        """The texts that a query is compared with, of which the best counts.

        A belief is one. An item's are its paragraphs: a record has many fields, and what one of them says
        is not less to the point for what the others say.
        """
        parts = _BLANK_LINES.split(self.content, MOST_PASSAGES - 1) if self.is_item else [self.content]
        return tuple(filter(None, parts)) or (self.content,)

    @property
    def slot(self) -> str | None:
        """The slot it takes among the beliefs, if any."""
        return None if self.is_item else self.key

    def require_fit(self) -> None:
        """Raise `InvalidRequestError` unless its parts fit each other and its kind."""
        if self.validity.is_empty:
            raise InvalidRequestError.at("valid_to", "valid_from is not before valid_to")
        if self.is_item:
            if self.key is None:
                raise InvalidRequestError.at("key", "an item has a key")
            return
        if self.path:
            raise InvalidRequestError.at("path", "only an item has a path")
        if self.key is not None and not is_slot_key(self.key):
            raise InvalidRequestError.at("key", SLOT_KEY_FORM)
        if is_blank(self.content):
            raise InvalidRequestError.at("content", "content is empty")


@dataclass(frozen=True, slots=True)
class Review:
    """Why a memory waits for a person, or what a person decided."""

    reasons: tuple[str, ...]
    since: datetime
    decision: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None


def closed(review: Review | None, decision: str) -> Review | None:
    """A question that something else than a review has answered."""
    return replace(review, decision=decision) if review and review.decision is None else review


@dataclass(frozen=True, slots=True)
class Memory:
    """One version of one memory, as the ledger keeps it.

    `nonce` keys the content commitment in the audit log and is erased with the text, so that a digest
    of a forgotten fact cannot be guessed. `seq` is the last audit entry about this memory, and
    `earlier_values` are the digests of what it said before it was edited. The scope is not a field: the
    partition it lies in says it.

    A successor may begin later than now: until then the memory stays `active` in what is left of its time.
    `continued_by` holds on where a successor ends that took time out of the middle. `lapsed` says that the
    projections were told of its expiry, which readers do not wait for.
    """

    id: str
    fact: Fact
    source: Source
    trust: Trust
    recorded_at: datetime
    updated_at: datetime
    nonce: str
    status: Status = Status.ACTIVE
    invalidated_at: datetime | None = None
    version: int = 1
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    superseded_because: Because | None = None
    continued_by: str | None = None
    derived_from: tuple[str, ...] = ()
    derivatives: tuple[str, ...] = ()
    index_state: IndexState = IndexState.PENDING
    indexed_at: datetime | None = None
    review: Review | None = None
    note: str | None = None
    seq: int = 0
    earlier_values: tuple[str, ...] = ()
    corroborations: tuple[Source, ...] = ()
    lapsed: bool = False
    schema: int = SCHEMA

    @property
    def is_merge(self) -> bool:
        """True for what stands for near duplicates: derived from these, its members, it replaced them."""
        return self.source.channel == MERGING

    def status_at(self, now: datetime) -> Status:
        """The status a reader sees: what has expired, or whose successor has begun, is so at that instant."""
        if self.status is not Status.ACTIVE or (not self.superseded_by and not self.fact.expires_at):
            return self.status
        begun = self.fact.valid_to if self.superseded_by else None
        ends = {Status.SUPERSEDED: begun, Status.EXPIRED: self.fact.expires_at}
        passed = {status: end for status, end in ends.items() if end is not None and end <= now}
        return min(passed, key=lambda status: passed[status], default=Status.ACTIVE)

    def invalidated_by(self, now: datetime) -> datetime | None:
        """When it stopped being believed; `invalidated_at`, or the beginning of a successor."""
        is_past = self.status is Status.ACTIVE and self.status_at(now) is Status.SUPERSEDED
        return self.fact.valid_to if is_past else self.invalidated_at

    def waits_at(self, now: datetime) -> bool:
        """True if a person has to decide on it: a candidate, or what is believed and in doubt."""
        asked = self.review is not None and self.review.decision is None
        return asked and self.status_at(now) in (Status.ACTIVE, Status.CANDIDATE)

    def next_version(self, at: datetime, status: Status, **changes: Any) -> Memory:
        """The version that follows, not yet indexed; leaving `active` is the end of being believed."""
        left = self.status is Status.ACTIVE and status is not Status.ACTIVE
        return replace(
            self,
            status=status,
            version=self.version + 1,
            updated_at=at,
            invalidated_at=at if left else self.invalidated_at,
            index_state=IndexState.PENDING,
            indexed_at=None,
            lapsed=False,
            **changes,
        )

    def superseded(
        self, *, by: Memory, because: Because, at: datetime, continued_by: str | None = None
    ) -> Memory:
        """The next version of this memory: replaced by another, now or when that one begins.

        What changed stops holding when its successor starts; what was wrong keeps the interval it was
        recorded with, and `superseded_because` says that it never held.
        """
        fact, status = self.fact, Status.SUPERSEDED
        if because is Because.CHANGED:
            fact = self._ended(by.fact.valid_from or min(at, by.fact.valid_to or at))
            goes_on = not fact.validity.is_empty and Interval(at).overlaps(fact.validity)
            status = Status.ACTIVE if goes_on else Status.SUPERSEDED
        return self.next_version(
            at,
            status,
            fact=fact,
            superseded_by=by.id,
            superseded_because=because,
            continued_by=continued_by or self.continued_by,
            derivatives=(*self.derivatives, *([continued_by] if continued_by else [])),
        )

    def continued(self, memory_id: str, since: datetime, at: datetime) -> Memory:
        """What goes on of this memory after another has taken time out of its middle.

        It stands on this one alone, and goes when this one is forgotten; so the audit's commitment to these
        words, and the nonce that keys it, are good for both.
        """
        return replace(
            self,
            id=memory_id,
            fact=replace(self.fact, valid_from=since),
            recorded_at=at,
            updated_at=at,
            version=1,
            supersedes=(self.id,),
            derived_from=(self.id,),
            derivatives=(),
            corroborations=(),
            index_state=IndexState.PENDING,
            indexed_at=None,
        )

    def corroborated(self, source: Source) -> tuple[Source, ...]:
        """Every source beside the first, once another has said the same; runs are joined by their id."""
        for at, known in enumerate((self.source, *self.corroborations)):
            if source.adds_nothing_to(known):
                return self.corroborations
            if at and source.run_id and source.run_id == known.run_id:
                rest = self.corroborations[: at - 1] + self.corroborations[at:]
                return (*rest, known.joined(source))
        return (*self.corroborations, source)[-MOST_CORROBORATIONS:]

    def answers(self, *, now: datetime, valid_at: datetime | None, known_at: datetime | None) -> bool:
        """True if this version is an answer to what holds, or held, as we knew it.

        Without either time: what is active and valid now. With one: also what was superseded because it
        changed, for the time that it held; status is judged at `known_at`.
        """
        status = self.status_at(known_at or now)
        changed = status is Status.SUPERSEDED and self.superseded_because is Because.CHANGED
        held = status is Status.ACTIVE or (changed and bool(valid_at or known_at))
        return held and self.fact.validity.contains(valid_at or known_at or now)

    def _ended(self, instant: datetime) -> Fact:
        ended = self.fact.validity.ended_by(instant)
        return replace(self.fact, valid_to=self.fact.valid_from if ended.is_empty else ended.end)
