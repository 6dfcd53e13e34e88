"""What the use cases need from the world, as protocols."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from unsay_core.application.quotas import Allowance, unlimited
from unsay_core.domain.memory import Memory
from unsay_core.domain.values import dataclass
from unsay_core.extraction.steering import Steering
from unsay_core.metrics import SILENT
from unsay_core.retrieval.filters import EVERYTHING
from unsay_core.tracing import UNTRACED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from concurrent.futures import Executor
    from datetime import datetime

    from unsay_core.application.graves import GraveNotes
    from unsay_core.application.keys import ScopeKeys
    from unsay_core.application.ledger import Area, Change, Entry, Ref
    from unsay_core.application.rewording import Editor
    from unsay_core.application.transfers import Form, Transfers
    from unsay_core.application.uploads import Transcripts
    from unsay_core.domain.scope import Action, Principal, Scope
    from unsay_core.metrics import Signals
    from unsay_core.retrieval.filters import All
    from unsay_core.tracing import Tracer

T = TypeVar("T")


class ConflictError(Exception):
    """What a change expected to find is no longer there; read again and decide anew."""


class UnreadableError(Exception):
    """What lies at a place is not what is written there: somebody else changed it."""

    def __init__(self, ref: Ref[Any]) -> None:
        super().__init__(f"an entry of area {ref.area} cannot be read")
        self.ref = ref


class SearchError(Exception):
    """The knowledge base did not answer; `reason` goes to the caller."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Snapshot:
    """What one consistent read found; at `unreadable` lies what has lost its form."""

    def __init__(
        self, entries: Mapping[Ref[Entry], Entry], unreadable: Collection[Ref[Any]] = frozenset()
    ) -> None:
        self._entries = entries
        self.unreadable = unreadable

    def get(self, ref: Ref[T]) -> T | None:
        """The entry at a place that was read, or None if nothing lies there. Raises `UnreadableError`."""
        if ref in self.unreadable:
            raise UnreadableError(ref)
        return cast("T | None", self._entries.get(cast("Ref[Entry]", ref)))

    def memories(self) -> list[Memory]:
        """Every memory that was found; raises `UnreadableError` if there is one that cannot be read."""
        for ref in self.unreadable:
            raise UnreadableError(ref)
        return self.intact_memories()

    def intact_memories(self) -> list[Memory]:
        """Every memory that was found and can be read."""
        return [entry for entry in self._entries.values() if isinstance(entry, Memory)]


class Ledger(Protocol):
    """The ledger and record of one opened scope; no argument can name another."""

    def read(self, refs: Sequence[Ref[Any]]) -> Snapshot:
        """One consistent read of at most 100 places; what has lost its form is told to who asks for it."""

    def page(
        self, area: Area, *, after: str | None = None, limit: int, newest_first: bool = False
    ) -> Sequence[Entry]:
        """Up to `limit` entries of an area in the order of their ids, beyond the id `after`.

        Raises `UnreadableError` for an entry that has lost its form.
        """

    def commit(self, change: Change) -> None:
        """All of the change or nothing; raises `ConflictError` if an expectation does not hold.

        At most 100 parts, no two of them for one place.
        """


@dataclass(frozen=True, slots=True)
class Hit:
    """What the knowledge base proposes: an id and how near its text is (cosine, 0 to 1)."""

    memory_id: str
    score: float


class Search(Protocol):
    """The knowledge base, narrowed to one scope before anything else is said."""

    def nearest(
        self, query: str, *, limit: int, live_only: bool, timeout: float, wanted: All = EVERYTHING
    ) -> Sequence[Hit]:
        """The nearest memories of the scope; raises `SearchError`. `timeout` in seconds.

        Of `wanted` it applies what it can be sure of, and leaves the rest to whoever has the memories.
        """


class Embedder(Protocol):
    """A model that turns texts into vectors; those of another name are not comparable with its own."""

    @property
    def name(self) -> str:
        """What it is called, its version included."""

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text, all of one length."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A head of a scope's audit chain as it was put out of reach; `at` is the store's own time."""

    seq: int
    hash: str
    at: datetime
    location: str


class Anchors(Protocol):
    """The anchored heads of one scope's audit chain; what is here once, nobody can take back."""

    def put(self, seq: int, hash: str) -> None:
        """Anchor a head; again changes nothing."""

    def since(self, seq: int) -> Iterator[Anchor]:
        """What is anchored from a place in the chain on, in order; a place anchored twice comes twice."""


def _nobody() -> None:
    return None


@dataclass(frozen=True, slots=True)
class OpenScope:
    """One scope, opened for one principal: everything a use case may touch.

    `root_id` is the id of its first segment. `policy` looks its root's policy up: it is asked where something
    depends on it, and not before. `allowance` is what the scope may hold.
    """

    scope: Scope
    id: str
    root_id: str
    principal: Principal
    keys: ScopeKeys
    ledger: Ledger
    search: Search
    policy: Callable[[], Steering] = field(default=Steering, kw_only=True)
    allowance: Allowance = field(default_factory=unlimited, kw_only=True)


@dataclass(frozen=True, slots=True)
class TransferScope(OpenScope):
    """A scope opened to be exported or imported into."""

    transfers: Transfers
    form: Form


@dataclass(frozen=True, slots=True)
class JobScope(TransferScope):
    """A scope opened for a job: with its documents, every generation of its index, and all its files.

    For `recovery_days` the tables can be restored to any of their moments, with all that was in them.
    `editor` is who words what is merged, if the root's policy wants anybody to.
    """

    documents: Documents
    indexes: Mapping[int, Index]
    transcripts: Transcripts
    recovery_days: int
    editor: Callable[[], Editor | None] = field(default=_nobody, kw_only=True)


@dataclass(frozen=True, slots=True)
class AuditScope(OpenScope):
    """A scope opened to be audited: with what is anchored of its chain."""

    anchors: Anchors


class Door(Protocol):
    """The only way to a scope's data."""

    def open_scope(
        self, principal: Principal, scope: Scope, action: Action, *, reading: bool = False
    ) -> OpenScope:
        """Open a scope for one action; raises `ForbiddenError` before anything is looked up.

        `reading` asks for less than the action allows: a review that is only looked at.
        """


class Clock(Protocol):
    """Time, as an argument."""

    def now(self) -> datetime:
        """The time of day, in UTC."""

    def monotonic(self) -> float:
        """Seconds from some start, never going back."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


@dataclass(frozen=True, slots=True)
class World:
    """Clock, ids, chance and threads: what makes a use case repeatable in a test. And who is told of it."""

    clock: Clock
    new_id: Callable[[str], str]
    new_nonce: Callable[[], str]
    uniform: Callable[[float, float], float]
    executor: Executor
    signals: Signals = SILENT
    tracer: Tracer = UNTRACED


@dataclass(frozen=True, slots=True)
class DocumentState:
    """What the knowledge base says of one document."""

    settled: bool
    present: bool
    failed: bool = False


class Index(Protocol):
    """One generation of the index as the index worker sees it, for the memories of one scope.

    `token` names a request: a service that does what it is asked later ignores one it has seen.
    """

    def put(self, memories: Sequence[Memory], *, token: str) -> None:
        """Add or replace up to 10 documents; they become retrievable later."""

    def delete(self, memory_ids: Sequence[str], *, token: str) -> None:
        """Remove up to 10 documents; they stop being retrievable later."""

    def states(self, memory_ids: Sequence[str]) -> Mapping[str, DocumentState]:
        """What is known of up to 10 documents."""

    def still_found(self, memory_ids: Sequence[str]) -> Collection[str]:
        """Those that a search answers with, whatever is said of their documents."""


class Documents(Protocol):
    """The owner's copy of each memory: one JSON object in the scope's prefix."""

    def put(self, memory: Memory) -> None:
        """Store a version unless a newer one is there."""

    def delete(self, memory_ids: Sequence[str]) -> None:
        """Remove every copy of each."""

    def existing(self, memory_ids: Sequence[str]) -> set[str]:
        """Those of which any copy is there."""

    def listed(self) -> Iterator[str]:
        """The ids of all memories of the scope that have a copy."""


@dataclass(frozen=True)
class WorkScope:
    """One scope as a background worker may touch it."""

    id: str
    ledger: Ledger
    documents: Documents


@dataclass(frozen=True)
class ProjectScope(WorkScope):
    """One scope as its changes are projected: with its anchors and its list of tombstones."""

    anchors: Anchors
    graves: GraveNotes


@dataclass(frozen=True)
class IndexScope(WorkScope):
    """One scope with its part of every generation of the index, by the generation's number."""

    indexes: Mapping[int, Index]


@dataclass(frozen=True, slots=True)
class IndexTask:
    """One message to the index worker.

    `rebuild` asks that a memory be looked at though nobody owes it: a generation may lack it.
    """

    scope_id: str
    memory_id: str
    seq: int
    root_id: str | None = None
    rebuild: bool = False
    trace: str | None = None  # of whoever asked for it


class IndexQueue(Protocol):
    """The queue of index work: in order for each memory."""

    def send(self, tasks: Sequence[IndexTask]) -> None:
        """Enqueue; sending one twice does no harm."""

    def waiting(self) -> int:
        """About how many messages nobody has taken yet."""


@dataclass(frozen=True, slots=True)
class JobTask:
    """One message to the jobs worker: an entry of area E or J; `kind` tells which role opens the scope."""

    scope_id: str
    area: Area
    id: str
    kind: str
    trace: str | None = None  # of whoever asked for it


class JobQueue(Protocol):
    """The queue of jobs; a job is one at a time in its scope by what lies in the ledger, not by the queue."""

    def call(self, tasks: Sequence[JobTask]) -> None:
        """Call for jobs; calling twice does no harm."""


class DeadLetters(Protocol):
    """Where work that nobody can do waits for a person, and raises an alarm."""

    def set_aside(self, letter: str, name: str) -> None:
        """Keep it there; `name` tells it from others that read the same."""


class EventBus(Protocol):
    """Domain events for whoever listens: ids and digests, never text."""

    def publish(self, events: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        """Publish (type, detail) pairs."""
