"""Conversations: what was said, kept once as evidence, and how far memories were made of it."""

from __future__ import annotations

from dataclasses import field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from unsay_core.domain.memory import Fact
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


MOST_AHEAD = timedelta(minutes=5)  # the clock of whoever sends a message, of ours


class Role(StrEnum):
    """Who speaks; only what a user says can become a memory."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"

    @property
    def is_user(self) -> bool:
        """True for the one who is remembered."""
        return self is Role.USER


class Redaction(StrEnum):
    """Why words are missing from a stored message."""

    CREDENTIAL = "credential"
    TOMBSTONE = "tombstone"
    FORGOTTEN = "forgotten"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a run, as it was sent but for what was redacted.

    `blocks` is its text, or a list of content blocks. `digest` tells the same message sent again, also once
    its words are gone. `said_at` is the speaker's time, if the caller told it.
    """

    run_id: str
    seq: int
    role: Role
    blocks: Any
    actor: str
    stored_at: datetime
    digest: str
    said_at: datetime | None = None
    name: str | None = None
    redacted: tuple[Redaction, ...] = ()
    revision: int = 1

    @property
    def texts(self) -> tuple[str, ...]:
        """What was said in words: tool calls, their results and pictures are evidence and nothing more."""
        if isinstance(self.blocks, str):
            return (self.blocks,)
        return tuple(block["text"] for block in self.blocks if isinstance(block.get("text"), str))

    @property
    def dated(self) -> datetime | None:
        """The speaker's time, for what may be said anew after that; None for one that is still to come."""
        is_to_come = self.said_at is not None and self.said_at > self.stored_at + MOST_AHEAD
        return None if is_to_come else self.said_at

    @property
    def time(self) -> datetime:
        """When it was said, as well as is known."""
        return self.said_at or self.stored_at

    def cleared(self, blocks: Any, reasons: Iterable[Redaction]) -> Message:
        """The message without some of its words, and without its name: that may say the same."""
        redacted = tuple(dict.fromkeys([*self.redacted, *reasons]))
        return replace(self, blocks=blocks, name=None, redacted=redacted, revision=self.revision + 1)


@dataclass(frozen=True, slots=True)
class Unread:
    """A stored message that is in no batch yet; `size` in characters, `turn` if a user speaks."""

    seq: int
    size: int
    turn: bool


@dataclass(frozen=True, slots=True)
class Span:
    """A batch by its number, and the first message it covers."""

    number: int
    from_seq: int


@dataclass(frozen=True, slots=True)
class Run:
    """A conversation: how much of it is stored, and what of it waits, in order.

    `open` are the batches that are neither done nor failed: they go one at a time, the first of them first.
    `quiet_at` is when what waits is extracted although nobody says more; None if nothing waits, or for ever.
    """

    run_id: str
    started_at: datetime
    last_at: datetime
    low_water: int = 0
    high_water: int = -1
    messages: int = 0
    waiting: tuple[Unread, ...] = ()
    batches: int = 0
    open: tuple[Span, ...] = ()
    failed: tuple[Span, ...] = ()
    quiet_at: datetime | None = None
    revision: int = 0
    schema: int = 1

    @property
    def extracted_through(self) -> int | None:
        """The number up to which all that is stored is extracted; None if its first message is not."""
        if not self.messages:
            return None
        left = [item.seq for item in self.waiting] + [span.from_seq for span in (*self.open, *self.failed)]
        if not left:
            return self.high_water
        return min(left) - 1 if min(left) > self.low_water else None

    def without(self, number: int) -> Run:
        """The run once a batch needs no further work."""
        return replace(
            self, open=tuple(s for s in self.open if s.number != number), revision=self.revision + 1
        )


class BatchState(StrEnum):
    """Where a batch stands; `waiting` for those before it."""

    WAITING = "waiting"
    QUEUED = "queued"
    EXTRACTING = "extracting"
    DONE = "done"
    FAILED = "failed"

    @property
    def is_over(self) -> bool:
        """True if nobody works on it any more."""
        return self in (BatchState.DONE, BatchState.FAILED)


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many proposals came to nothing, and why."""

    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Some messages of a run that are extracted together.

    `attempts` are replies of the model that could not be used. Whoever works on it holds a lease until
    `lease_until`; `revision` is its fencing token: it moves with every lease, and all that is written for a
    batch expects it unmoved. `abandoned` counts leases that nobody gave back.
    """

    run_id: str
    number: int
    seqs: tuple[int, ...]
    state: BatchState = BatchState.QUEUED
    attempts: int = 0
    abandoned: int = 0
    created: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    error: str | None = None
    lease_until: datetime | None = None
    revision: int = 1
    schema: int = 1


@dataclass(frozen=True, slots=True)
class Planned:
    """One fact that is going to be stored, under an id that was minted for it.

    `quote` is how the user said it in the message `seq`. `is_asserted` tells the user's own words from what
    a model made of them; `reasons` are why a person has to look first. `same_as` names a memory that says
    this already.
    """

    memory_id: str
    seq: int
    fact: Fact
    quote: str
    is_asserted: bool
    reasons: tuple[str, ...] = ()
    same_as: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is going to be written of a batch: stored before any of it is, and gone with the last of it.

    Whoever works on the batch next finds it, and asks no model a second time. The first `written` facts are
    stored, or dropped, already; `epoch` counts the erasures that had happened when the messages were read.
    """

    run_id: str
    number: int
    model: str
    epoch: int
    facts: tuple[Planned, ...]
    written: int = 0
    created: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    revision: int = 1
    schema: int = 1


UPLOAD_BYTES = 16 * 1024 * 1024  # of one file: what a reader holds with ease


class UploadState(StrEnum):
    """Where a transcript stands that is handed in as a file."""

    EXPECTED = "expected"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Upload:
    """A transcript that is handed in as a file: asked for by `actor`, under whose name its messages are kept.

    `scope` is the scope's name, for whoever reads the file; it leaves once that is done. `error` says what is
    wrong with the file, never what stands in it.
    """

    run_id: str
    id: str
    actor: str
    asked_at: datetime
    scope: str | None = None
    state: UploadState = UploadState.EXPECTED
    error: str | None = None
    ttl: int | None = None  # epoch seconds; one that never comes is forgotten by the table itself
    revision: int = 1
    schema: int = 1


@dataclass(frozen=True, slots=True)
class Ready:
    """The outbox marker of a batch whose turn it is. It alone says the scope's name, and leaves with it."""

    run_id: str
    number: int
    scope: str
    revision: int = 1
    trace: str | None = None  # of whoever brought the words


@dataclass(frozen=True, slots=True)
class Cadence:
    """When waiting messages become a batch: after so many turns of the user, or so many characters.

    Or when nobody has said anything for `idle` seconds; None for never.
    """

    turns: int = 5
    size: int = 32_000
    idle: int | None = 1_800


MOST_MESSAGES = 100  # in one batch
MOST_AT_ONCE = 20  # batches cut in one transaction


@dataclass(frozen=True, slots=True)
class Cut:
    """What became due, and what still waits."""

    due: tuple[tuple[int, ...], ...] = ()
    waiting: tuple[Unread, ...] = field(default=())


def cut(waiting: Sequence[Unread], cadence: Cadence, *, everything: bool = False) -> Cut:
    """Cut batches off waiting messages in the order of the run; `everything` leaves none waiting.

    When more is due than one transaction takes, the batches grow instead.
    """
    ordered = sorted(waiting, key=lambda item: item.seq)
    turns = sum(item.turn for item in ordered)
    groups = list(_groups(ordered, replace(cadence, turns=max(cadence.turns, -(-turns // MOST_AT_ONCE)))))
    rest = groups.pop() if groups and not everything and not _is_due(groups[-1], cadence) else []
    due = tuple(tuple(item.seq for item in group) for group in groups)
    if len(due) > MOST_AT_ONCE:  # by size alone: what is left is cut with the next message
        rest = [item for group in groups[MOST_AT_ONCE:] for item in group] + rest
        due = due[:MOST_AT_ONCE]
    return Cut(due, tuple(rest))


def _groups(ordered: Sequence[Unread], cadence: Cadence) -> Iterator[list[Unread]]:
    group: list[Unread] = []
    for item in ordered:
        group.append(item)
        if _is_due(group, cadence):
            yield group
            group = []
    if group:
        yield group


def _is_due(group: Sequence[Unread], cadence: Cadence) -> bool:
    return (
        sum(item.turn for item in group) >= cadence.turns
        or sum(item.size for item in group) >= cadence.size
        or len(group) >= MOST_MESSAGES
    )
