"""What the ledger of one scope holds besides memories, and how a change to it is stated.

A change is all or nothing. Each part of it says what it expects to find, so that two writers that
decided on the same state cannot both be right.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

from unsay_core.domain.audit import GENESIS, AuditEntry
from unsay_core.domain.memory import Fact, Memory
from unsay_core.domain.quota import Usage
from unsay_core.domain.timeline import Interval
from unsay_core.domain.tombstone import Tombstone, TombstoneKind
from unsay_core.domain.values import dataclass
from unsay_core.extraction.conversation import Batch, Message, Plan, Ready, Run, Upload
from unsay_core.jobs.erasure import Erasure, Fence
from unsay_core.jobs.job import Job


class Area(StrEnum):
    """One area of a scope's partition; the value is the letter in its key."""

    HEAD = "H"
    MEMORY = "M"
    VERSION = "V"
    DUPLICATE = "D"
    SLOT = "K"
    PENDING = "P"
    OUTCOME = "I"
    ERASURE = "E"
    REVIEW = "R"
    CONVERSATION = "C"
    READY = "Q"
    TOMBSTONE = "T"
    AUDIT = "A"
    POSTINGS = "X"
    LISTED = "W"
    JOB = "J"


E_co = TypeVar("E_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Ref(Generic[E_co]):
    """Where an entry of type `E_co` lies in its scope."""

    area: Area
    id: str


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a scope's audit chain; every change moves it, which puts changes in one order.

    `epoch` counts erasures: what began before one must not commit after it. `fences` are those at work.
    `scope` is the name under which background work opens the scope; `tidy_at` is when the projections are
    next held against the ledger. `usage` is what quotas are held against; None in the head of a scope that an
    earlier release has written to, which counts nothing until `unsay-admin migrate` has counted it.
    """

    seq: int = 0
    hash: str = GENESIS
    epoch: int = 0
    memories: int = 0
    fences: tuple[Fence, ...] = ()
    scope: str | None = None
    tidy_at: datetime | None = None
    usage: Usage | None = None
    schema: int = 1


NEW_HEAD = Head(usage=Usage())  # of a scope in which nothing has happened yet


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a memory that another has replaced."""

    memory: Memory


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The active memory that says exactly this."""

    digest: str
    memory_id: str
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Occupant:
    """One memory in a slot and when it holds there."""

    memory_id: str
    validity: Interval


@dataclass(frozen=True, slots=True)
class Slot:
    """The active memories under one key: at most one at each valid time."""

    key: str
    revision: int
    occupants: tuple[Occupant, ...]


class Work(StrEnum):
    """What the projections have to do with a memory."""

    PUT = "put"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Pending:
    """Work that documents and index still owe; `seq` is the change that asked for it.

    Carries what recall ranks by, so that what was just written is found while the index lags, and the scope's
    name for whoever keeps the list of scopes; both leave with it. `root_id` is the id of the scope's first
    segment, under which some indexes lie; `told` are the generations of the index that were asked.
    """

    memory_id: str
    seq: int
    work: Work
    fact: Fact | None = None
    told: tuple[int, ...] = ()
    scope: str | None = None
    root_id: str | None = None
    words: bytes | None = None  # by keyed digests, see `retrieval/postings.py`
    at: datetime | None = None  # when it was asked for
    trace: str | None = None  # of whoever asked for it


@dataclass(frozen=True, slots=True)
class Postings:
    """Which memories have a word: the newest of them, or what was packed away before (`is_stock`).

    `term` is the word's keyed digest. `total` counts every memory that has it, and stands with the newest.
    """

    term: str
    is_stock: bool
    packed: bytes
    total: int = 0
    revision: int = 1


@dataclass(frozen=True, slots=True)
class Listed:
    """The words that a memory is posted under, or may be while this is not `settled`; `seq` is its change."""

    memory_id: str
    seq: int
    terms: bytes
    settled: bool
    revision: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a request with an idempotency key led to, kept for a day in the change's own transaction.

    `ttl` is epoch seconds. It is checked when read: the table's own expiry runs late.
    """

    id: str
    request_digest: str
    status: int
    memory_id: str
    version: int
    ttl: int
    data: Any = None  # what was answered, where it cannot be read from what was made; never text


class Waiting(StrEnum):
    """What a memory in the review queue is."""

    CANDIDATE = "candidate"
    DISPUTED = "disputed"


@dataclass(frozen=True, slots=True)
class Reviewable:
    """A place in the review queue."""

    memory_id: str
    waiting: Waiting
    since: datetime


Entry: TypeAlias = (
    Head
    | Memory
    | Version
    | Duplicate
    | Slot
    | Pending
    | Outcome
    | Reviewable
    | Run
    | Message
    | Batch
    | Plan
    | Ready
    | Upload
    | Tombstone
    | Erasure
    | AuditEntry
    | Postings
    | Listed
    | Job
)

HEAD: Ref[Head] = Ref(Area.HEAD, "HEAD")


def memory_ref(memory_id: str) -> Ref[Memory]:
    """A memory's current version."""
    return Ref(Area.MEMORY, memory_id)


def version_ref(memory_id: str, version: int) -> Ref[Version]:
    """A replaced version; the number is padded so that versions sort."""
    return Ref(Area.VERSION, f"{memory_id}#{version:06d}")


def duplicate_ref(digest: str) -> Ref[Duplicate]:
    """The memory that says exactly this."""
    return Ref(Area.DUPLICATE, digest)


def slot_ref(key: str) -> Ref[Slot]:
    """The slot of a key."""
    return Ref(Area.SLOT, key)


def pending_ref(memory_id: str) -> Ref[Pending]:
    """The work owed for a memory."""
    return Ref(Area.PENDING, memory_id)


def reviewable_ref(memory_id: str) -> Ref[Reviewable]:
    """A memory's place in the review queue."""
    return Ref(Area.REVIEW, memory_id)


def run_ref(run_id: str) -> Ref[Run]:
    """A conversation; what belongs to it follows it, for `#` comes before all that a run's id may hold."""
    return Ref(Area.CONVERSATION, run_id)


def message_ref(run_id: str, seq: int) -> Ref[Message]:
    """A message; sixteen digits, so that messages sort."""
    return Ref(Area.CONVERSATION, f"{run_id}#m#{seq:016d}")


def batch_ref(run_id: str, number: int) -> Ref[Batch]:
    """A batch of a conversation's messages."""
    return Ref(Area.CONVERSATION, f"{run_id}#b#{number:06d}")


def plan_ref(run_id: str, number: int) -> Ref[Plan]:
    """What is going to be written of a batch."""
    return Ref(Area.CONVERSATION, f"{run_id}#p#{number:06d}")


def upload_ref(run_id: str, upload_id: str) -> Ref[Upload]:
    """A transcript that is handed in as a file."""
    return Ref(Area.CONVERSATION, f"{run_id}#u#{upload_id}")


def ready_ref(run_id: str, number: int) -> Ref[Ready]:
    """The outbox marker of a batch."""
    return Ref(Area.READY, f"{run_id}#{number:06d}")


def postings_ref(term: str, *, is_stock: bool) -> Ref[Postings]:
    """The postings of a word, by its keyed digest."""
    return Ref(Area.POSTINGS, f"{term}.stock" if is_stock else term)


def listed_ref(memory_id: str) -> Ref[Listed]:
    """The words a memory is posted under."""
    return Ref(Area.LISTED, memory_id)


def outcome_ref(outcome_id: str) -> Ref[Outcome]:
    """The outcome of a request with an idempotency key."""
    return Ref(Area.OUTCOME, outcome_id)


def erasure_ref(erasure_id: str) -> Ref[Erasure]:
    """A receipt."""
    return Ref(Area.ERASURE, erasure_id)


def job_ref(job_id: str) -> Ref[Job]:
    """A job."""
    return Ref(Area.JOB, job_id)


def value_tombstone_ref(digest: str) -> Ref[Tombstone]:
    """The tombstone of a value, by its keyed digest."""
    return Ref(Area.TOMBSTONE, f"value:{digest}")


def id_tombstone_ref(memory_id: str) -> Ref[Tombstone]:
    """The tombstone of an id."""
    return Ref(Area.TOMBSTONE, f"id:{memory_id}")


# That of a whole scope: what was said or kept before it is refused.
SCOPE_TOMBSTONE: Ref[Tombstone] = Ref(Area.TOMBSTONE, "scope")


def audit_ref(seq: int) -> Ref[AuditEntry]:
    """An audit entry; twelve digits, so that entries sort."""
    return Ref(Area.AUDIT, f"{seq:012d}")


def ref_of(entry: Entry) -> Ref[Entry]:  # noqa: C901, PLR0912 - one line per type of entry
    """Where an entry lies."""
    match entry:
        case Head():
            return HEAD
        case Memory(id=memory_id):
            return memory_ref(memory_id)
        case Version(memory=memory):
            return version_ref(memory.id, memory.version)
        case Duplicate(digest=digest):
            return duplicate_ref(digest)
        case Slot(key=key):
            return slot_ref(key)
        case Pending(memory_id=memory_id):
            return pending_ref(memory_id)
        case Outcome(id=outcome_id):
            return outcome_ref(outcome_id)
        case Reviewable(memory_id=memory_id):
            return reviewable_ref(memory_id)
        case Tombstone(kind=TombstoneKind.VALUE, digest=digest):
            return value_tombstone_ref(digest)
        case Tombstone(kind=TombstoneKind.SCOPE):
            return SCOPE_TOMBSTONE
        case Tombstone(digest=memory_id):
            return id_tombstone_ref(memory_id)
        case Run(run_id=run_id):
            return run_ref(run_id)
        case Message(run_id=run_id, seq=seq):
            return message_ref(run_id, seq)
        case Batch(run_id=run_id, number=number):
            return batch_ref(run_id, number)
        case Plan(run_id=run_id, number=number):
            return plan_ref(run_id, number)
        case Ready(run_id=run_id, number=number):
            return ready_ref(run_id, number)
        case Upload(run_id=run_id, id=upload_id):
            return upload_ref(run_id, upload_id)
        case Erasure(id=erasure_id):
            return erasure_ref(erasure_id)
        case Postings(term=term, is_stock=is_stock):
            return postings_ref(term, is_stock=is_stock)
        case Listed(memory_id=memory_id):
            return listed_ref(memory_id)
        case Job(id=job_id):
            return job_ref(job_id)
        case _:
            return audit_ref(entry.seq)


@dataclass(frozen=True, slots=True)
class Absent:
    """Expects nothing there."""


@dataclass(frozen=True, slots=True)
class Anything:
    """Expects nothing in particular."""


@dataclass(frozen=True, slots=True)
class Holds:
    """Expects an entry whose whole-number field has this value: a version, a sequence, a revision."""

    field: str
    value: int


Expectation: TypeAlias = Absent | Anything | Holds


@dataclass(frozen=True, slots=True)
class Put:
    """Write an entry whole."""

    entry: Entry
    expect: Expectation = Anything()

    @property
    def ref(self) -> Ref[Entry]:
        """Where it goes."""
        return ref_of(self.entry)


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove an entry."""

    ref: Ref[Entry]
    expect: Expectation = Anything()


@dataclass(frozen=True, slots=True)
class Check:
    """Change nothing there; only expect."""

    ref: Ref[Entry]
    expect: Expectation


Change: TypeAlias = tuple[Put | Delete | Check, ...]
