"""The other ports in memory, and the whole service on them: the same use cases and handlers, no AWS."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from tests.support.clock import FakeClock, fake_world
from tests.support.extraction import FakeModel
from tests.support.knowledge_base import FakeIndex, FakeKnowledgeBase, FakeSearch
from tests.support.signals import MemorySignals
from unsay_core.adapters.memory_ledger import MemoryLedger
from unsay_core.application.access import UseNotes
from unsay_core.application.authenticate import Authenticator
from unsay_core.application.bindings import RecentBindings
from unsay_core.application.breaker import Breaker, GuardedSearch
from unsay_core.application.conversations import retry_run
from unsay_core.application.due import Listing, listing_of
from unsay_core.application.extract import Extractor
from unsay_core.application.fenced import FencedLedger
from unsay_core.application.graves import Standing
from unsay_core.application.job_scope import named_by
from unsay_core.application.keys import Keyring
from unsay_core.application.ledger import Area, ready_ref, ref_of, upload_ref
from unsay_core.application.metering import Gauges, Meter, Price
from unsay_core.application.ports import (
    Anchor,
    AuditScope,
    ConflictError,
    IndexScope,
    JobScope,
    OpenScope,
    ProjectScope,
    TransferScope,
    WorkScope,
)
from unsay_core.application.quotas import Allowance, RecentQuotas
from unsay_core.application.rates import Rates
from unsay_core.application.rewording import Editor
from unsay_core.application.scopes import NotedOnce
from unsay_core.application.sweep import Due
from unsay_core.application.transfers import StoredFile
from unsay_core.application.uploads import Address, Intake, IntakeScope, TranscriptError, WaitingFile
from unsay_core.bootstrap.aws import EXTRACTOR
from unsay_core.bootstrap.generations import NoSearch
from unsay_core.bootstrap.jobs import SWEEPING
from unsay_core.contracts.portable import FORM
from unsay_core.domain.errors import NotFoundError, UnavailableError
from unsay_core.domain.scope import Action, Principal, PrincipalKind, Scope
from unsay_core.extraction.steering import Steering

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from unsay_core.application.access import ApiKey
    from unsay_core.application.bindings import Binding
    from unsay_core.application.graves import Grave
    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import IndexTask, JobTask
    from unsay_core.application.reindex import Reached
    from unsay_core.application.uploads import Parse
    from unsay_core.domain.memory import Memory

PEPPER = "a pepper for tests, long enough to be one"


class MemoryDocuments:
    """See `Documents`."""

    def __init__(self) -> None:
        self.objects: dict[str, Memory] = {}
        self._lock = threading.Lock()

    def put(self, memory: Memory) -> None:
        with self._lock:
            there = self.objects.get(memory.id)
            if there is None or there.version <= memory.version:
                self.objects[memory.id] = memory

    def delete(self, memory_ids: Sequence[str]) -> None:
        with self._lock:
            for memory_id in memory_ids:
                self.objects.pop(memory_id, None)

    def existing(self, memory_ids: Sequence[str]) -> set[str]:
        return {memory_id for memory_id in memory_ids if self.exists(memory_id)}

    def exists(self, memory_id: str) -> bool:
        return memory_id in self.objects

    def listed(self) -> Iterator[str]:
        return iter(sorted(self.objects))


class MemoryTransfers:
    """See `Transfers`; a link is `memory:` and the file's name."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.files: dict[str, tuple[bytes, datetime]] = {}
        self.longest_read = 0

    def put(self, name: str, body: bytes) -> None:
        self.files[name] = (body, self._clock.now())

    def read(self, name: str, start: int, length: int) -> bytes:
        if name not in self.files:
            raise NotFoundError("no such file in this scope")
        found = self.files[name][0][start : start + length]
        self.longest_read = max(self.longest_read, len(found))
        return found

    def listed(self, prefix: str = "") -> Iterator[StoredFile]:
        for name, (body, at) in sorted(self.files.items()):
            if name.startswith(prefix):
                yield StoredFile(name, len(body), at)

    def delete(self, name: str) -> None:
        self.files.pop(name, None)

    def link(self, name: str, *, writing: bool = False) -> str:
        return f"memory:{'put' if writing else 'get'}:{name}"


class MemoryKeys:
    """See `Keys`; `down` is what it raises when it cannot be reached."""

    def __init__(self) -> None:
        self._keys: dict[str, ApiKey] = {}
        self.down: Exception | None = None

    def find(self, key_id: str) -> ApiKey | None:
        self._reach()
        return self._keys.get(key_id)

    def add(self, key: ApiKey) -> None:
        self._reach()
        if key.id in self._keys:
            raise ConflictError("the id is taken")
        self._keys[key.id] = key

    def page(self, *, after: str | None, limit: int) -> list[ApiKey]:
        self._reach()
        beyond = sorted(key_id for key_id in self._keys if key_id > (after or ""))
        return [self._keys[key_id] for key_id in beyond if not self._keys[key_id].is_delegation][:limit]

    def revoke(self, key_id: str, by: str, at: datetime) -> None:
        self._reach()
        key = self._keys.get(key_id)
        if key is None or key.revoked_at is not None:
            raise ConflictError("no such key, or revoked")
        self._keys[key_id] = replace(key, revoked_at=at, revoked_by=by)

    def note_use(self, key_id: str, day: str) -> None:
        self._reach()
        key = self._keys.get(key_id)
        if key is not None and key.last_used < day:
            self._keys[key_id] = replace(key, last_used=day)

    def _reach(self) -> None:
        if self.down is not None:
            raise self.down


class MemoryBindings:
    """See `Bindings`; `down` is what it raises when it cannot be reached."""

    def __init__(self) -> None:
        self._bindings: dict[str, Binding] = {}
        self.reads = 0
        self.down: Exception | None = None

    def all(self) -> list[Binding]:
        self.reads += 1
        if self.down is not None:
            raise self.down
        return [self._bindings[each] for each in sorted(self._bindings)]

    def add(self, binding: Binding) -> None:
        self._bindings[binding.id] = binding

    def remove(self, binding_id: str) -> bool:
        return self._bindings.pop(binding_id, None) is not None


class ClaimsAsTokens:
    """See `Tokens`; a token is its claims in JSON, unless it is not one; `down` as elsewhere."""

    def __init__(self) -> None:
        self.down: Exception | None = None

    def verified(self, token: str, now: datetime) -> dict[str, Any] | None:
        if self.down is not None:
            raise self.down
        if not token.startswith("{"):
            return None
        claims: dict[str, Any] = json.loads(token)
        return claims if claims["exp"] > now.timestamp() else None


class MemoryRegistry:
    """See `Registry`."""

    def __init__(self) -> None:
        self._scopes: dict[str, Scope] = {}

    def add(self, scope: Scope) -> None:
        self._scopes[scope.canonical] = scope

    def roots(self) -> set[str]:
        return {scope.segments[0] for scope in self._scopes.values()}

    def below(self, root: str) -> list[Scope]:
        return [scope for _, scope in sorted(self._scopes.items()) if scope.segments[0] == root]


class MemoryPolicies:
    """See `Policies`."""

    def __init__(self) -> None:
        self._roots: dict[str, Steering] = {}

    def of(self, root: str) -> Steering:
        return self._roots.get(root, Steering())

    def put(self, root: str, steering: Steering) -> None:
        self._roots[root] = steering


class MemoryAnchors:
    """See `Anchors`; `down` is what it raises when it cannot be reached."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.objects: dict[tuple[int, str], datetime] = {}
        self.down: Exception | None = None

    def put(self, seq: int, hash: str) -> None:
        self._reach()
        self.objects.setdefault((seq, hash), self._clock.now())

    def since(self, seq: int) -> Iterator[Anchor]:
        self._reach()
        for (there, digest), at in sorted(self.objects.items()):
            if there >= seq:
                yield Anchor(there, digest, at, f"memory:{there:012d}-{digest}")

    def _reach(self) -> None:
        if self.down is not None:
            raise self.down


class MemoryGraves:
    """See `GraveNotes`."""

    def __init__(self) -> None:
        self.notes: set[Grave] = set()

    def note(self, graves: Sequence[Grave]) -> None:
        self.notes.update(graves)

    def listed(self) -> Iterator[Grave]:
        order = list(Standing)
        found = sorted(self.notes, key=lambda g: (g.kind, g.digest, g.at, order.index(g.standing)))
        yield from {(grave.kind, grave.digest): grave for grave in found}.values()


class MemoryReadPointer:
    """See `ReadPointer`; `down` is what it raises when it cannot be reached."""

    def __init__(self) -> None:
        self.points_at: int | None = None
        self.looks = 0
        self.down: Exception | None = None

    def current(self) -> int | None:
        self.looks += 1
        if self.down is not None:
            raise self.down
        return self.points_at

    def turn(self, to: int, *, instead_of: int | None) -> None:
        if self.points_at != instead_of:
            raise ConflictError("somebody else has turned it")
        self.points_at = to


class MemoryBookmark:
    """See `Bookmark`."""

    def __init__(self) -> None:
        self._reached: Reached | None = None

    def read(self) -> Reached | None:
        return self._reached

    def put(self, reached: Reached) -> None:
        self._reached = reached

    def remove(self) -> None:
        self._reached = None


class MemoryIndexQueue:
    """See `IndexQueue`; a task that was sent before is taken once, as within the deduplication window."""

    def __init__(self) -> None:
        self.tasks: list[IndexTask] = []
        self.postponed: dict[str, int] = {}

    def send(self, tasks: Sequence[IndexTask]) -> None:
        self.tasks.extend(task for task in tasks if task not in self.tasks)

    def waiting(self) -> int:
        return len(self.tasks)

    def postpone(self, receipts: Mapping[str, int]) -> None:
        self.postponed |= receipts


class MemoryJobQueue:
    """See `JobQueue`."""

    def __init__(self) -> None:
        self.tasks: list[JobTask] = []
        self.postponed: dict[str, int] = {}

    def call(self, tasks: Sequence[JobTask]) -> None:
        self.tasks.extend(tasks)

    def postpone(self, receipts: Mapping[str, int]) -> None:
        self.postponed |= receipts


class MemoryDueList:
    """See `DueList`: what each entry says of itself, as if it were written where it lies now."""

    def __init__(self, service: FakeService) -> None:
        self._service = service

    def until(self, now: datetime, *, limit: int) -> list[Due]:
        found = [*self._list(Listing.DUE, now), *self._list(Listing.ERASURES, now)]
        return sorted((due for due in found if due.at <= now), key=lambda due: due.at)[:limit]

    def candidates(self, now: datetime, *, limit: int) -> list[Due]:
        return self._list(Listing.CANDIDATES, now)[:limit]

    def erasures(self, now: datetime, *, limit: int) -> list[Due]:
        return self._list(Listing.ERASURES, now)[:limit]

    def _list(self, listing: Listing, now: datetime) -> list[Due]:
        return [
            Due(scope_id, area, ref_of(entry).id, listed[1])
            for scope_id, ledger in self._service.ledgers.items()
            for area in Area
            for entry in ledger.page(area, limit=1_000_000)
            if (listed := listing_of(entry, self._service.written.get((scope_id, ref_of(entry)), now)))
            and listed[0] is listing
        ]


class MemoryDeadLetters:
    """See `DeadLetters`; `down` is what it raises when it cannot be reached."""

    def __init__(self) -> None:
        self.letters: list[str] = []
        self.down: Exception | None = None

    def set_aside(self, letter: str, name: str) -> None:
        if self.down is not None:
            raise self.down
        self.letters.append(letter)


class MemoryCounters:
    """See `Counters`."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = defaultdict(int)

    def read(self, name: str) -> int:
        return self.counts[name]

    def add(self, name: str, amount: int) -> int:
        self.counts[name] += amount
        return self.counts[name]

    def clear(self, name: str) -> None:
        self.counts[name] = 0


class MemoryTally:
    """See `Tally`; `down` if it cannot be reached."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], int] = defaultdict(int)
        self.asked = 0
        self.down = False

    def add(self, root: str, name: str, amount: int, until: datetime) -> int:
        if self.down:
            raise UnavailableError
        self.asked += 1
        self.counts[root, name] += amount
        return self.counts[root, name]


class MemoryTranscripts:
    """See `Transcripts`; `put` is whoever holds an address."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.files: dict[tuple[str, str], bytes] = {}
        self.put_at: dict[tuple[str, str], datetime] = {}

    def address(self, run_id: str, upload_id: str) -> Address:
        return Address(f"memory:{run_id}/{upload_id}", "PUT", {"If-None-Match": "*"}, 300)

    def put(self, run_id: str, upload_id: str, file: bytes) -> None:
        self.files.setdefault((run_id, upload_id), file)
        self.put_at.setdefault((run_id, upload_id), self._clock.now())

    def read(self, run_id: str, upload_id: str) -> bytes:
        if (run_id, upload_id) not in self.files:
            raise TranscriptError("missing")
        return self.files[run_id, upload_id]

    def remove(self, run_id: str, upload_id: str) -> None:
        self.files.pop((run_id, upload_id), None)

    def waiting(self) -> Iterator[WaitingFile]:
        for run_id, upload_id in sorted(self.files):
            yield WaitingFile(run_id, upload_id, self.put_at[run_id, upload_id])


class FakeService:
    """What `ApiService` is to the api λ and what its siblings are to the workers."""

    has_backups = True
    is_restored = False

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.signals = MemorySignals()
        self.world = replace(fake_world(self.clock), signals=self.signals)
        self.keyring = Keyring.from_pepper(PEPPER)
        self.keys = MemoryKeys()
        self.bindings = MemoryBindings()
        self.tokens = ClaimsAsTokens()
        recent = RecentBindings(self.bindings, self.clock.now)
        self.edge_secret: str | None = None
        self.authenticator = Authenticator(self.keys, recent, self.tokens, self.keyring, self.clock.now)
        self.uses = UseNotes(self.keys, self.world)
        self.registry = MemoryRegistry()
        self.policies = MemoryPolicies()
        self.quotas = RecentQuotas(self.policies, self.world)
        self.tally = MemoryTally()
        self.rates = Rates(self.quotas, self.tally, self.world)
        self.scope_notes = NotedOnce(self.registry)
        self.knowledge_base = FakeKnowledgeBase()
        self.generations = {1: self.knowledge_base}
        self.breaker = Breaker(self.clock.monotonic)
        self.queue = MemoryIndexQueue()
        self.jobs = MemoryJobQueue()
        self.postponer = self.jobs
        self.due = MemoryDueList(self)
        self.written: dict[tuple[str, Ref[Any]], datetime] = {}  # when an entry was written, if it matters
        self.model = FakeModel()
        self.price: Price | None = None
        self.counters = MemoryCounters()
        self.dead_letters = MemoryDeadLetters()
        self.ledgers: dict[str, MemoryLedger] = defaultdict(MemoryLedger)
        self.documents: dict[str, MemoryDocuments] = defaultdict(MemoryDocuments)
        self.anchors: dict[str, MemoryAnchors] = defaultdict(lambda: MemoryAnchors(self.clock))
        self.files: dict[str, MemoryTranscripts] = defaultdict(lambda: MemoryTranscripts(self.clock))
        self.transfers: dict[str, MemoryTransfers] = defaultdict(lambda: MemoryTransfers(self.clock))
        self.graves: dict[str, MemoryGraves] = defaultdict(MemoryGraves)
        self.opened: list[str] = []

    def open_scope(
        self, principal: Principal, scope: Scope, action: Action, *, reading: bool = False
    ) -> OpenScope:
        """See `Door`."""
        principal.require(action, scope)
        self.rates.take(principal.id, scope.segments[0])
        scope_id = self.keyring.scope_id(scope.canonical)
        self.opened.append(scope.canonical)
        return OpenScope(
            scope=scope,
            id=scope_id,
            root_id=self.keyring.scope_id(scope.root),
            principal=principal,
            keys=self.keyring.for_scope(scope_id),
            ledger=FencedLedger(self.ledgers[scope_id]),
            search=GuardedSearch(FakeSearch(self.knowledge_base, scope_id), self.breaker),
            policy=lambda: self.policies.of(scope.segments[0]),
            allowance=Allowance(lambda: self.quotas.of(scope.segments[0])),
        )

    def check_tables(self) -> None:
        """The tables of the fakes are nobody's backup, unless a test says so."""
        if self.is_restored:
            raise UnavailableError("a table came from a backup and has not been checked yet")

    def open_audit(self, principal: Principal, scope: Scope) -> AuditScope:
        """A scope as the api λ opens it to audit it."""
        opened = self.open_scope(principal, scope, Action.AUDIT)
        parts = {part.name: getattr(opened, part.name) for part in fields(opened)}
        return AuditScope(**parts, anchors=self.anchors[opened.id])

    def open_transfer(self, principal: Principal, scope: Scope, *, reading: bool = False) -> TransferScope:
        """A scope as the api λ opens it to be exported or imported into."""
        opened = self.open_scope(principal, scope, Action.TRANSFER)
        parts = {part.name: getattr(opened, part.name) for part in fields(opened)}
        return TransferScope(**parts, transfers=self.transfers[opened.id], form=FORM)

    def work_scope(self, scope_id: str) -> WorkScope:
        """A scope as the workers open it."""
        return WorkScope(scope_id, self.ledgers[scope_id], self.documents[scope_id])

    def project_scope(self, scope_id: str) -> ProjectScope:
        """A scope as the project λ opens it to anchor its chain."""
        anchors = self.anchors[scope_id]
        ledger, documents = self.ledgers[scope_id], self.documents[scope_id]
        return ProjectScope(scope_id, ledger, documents, anchors, self.graves[scope_id])

    def index_scope(self, scope_id: str, root_id: str | None = None) -> IndexScope:
        """A scope as the index λ opens it."""
        indexes = {number: FakeIndex(base, scope_id) for number, base in self.generations.items()}
        return IndexScope(scope_id, self.ledgers[scope_id], self.documents[scope_id], indexes)

    def job_scope(self, task: JobTask) -> JobScope | None:
        """A scope as the jobs λ opens it."""
        opened = self.sweep_scope(task.scope_id)
        if opened is None:
            return None
        parts = {part.name: getattr(opened, part.name) for part in fields(opened)}
        parts["ledger"] = self.ledgers[task.scope_id]
        parts["search"] = FakeSearch(self.knowledge_base, task.scope_id)
        index = self.index_scope(task.scope_id)
        files = {"transfers": self.transfers[task.scope_id], "transcripts": self.files[task.scope_id]}
        files |= {"form": FORM}
        stores = {"documents": index.documents, "indexes": index.indexes}
        return JobScope(**parts, **stores, **files, recovery_days=35, editor=lambda: self._editor(opened))

    def _editor(self, opened: OpenScope) -> Editor | None:
        steering, root = opened.policy(), opened.scope.segments[0]
        if not steering.consolidation.by_model:
            return None
        meter = Meter(root, self.model.name, steering, self.counters, self.price)
        return Editor(self.model, meter, Gauges(self.world.signals, opened.root_id, opened.id), self.world)

    def sweep_scope(self, scope_id: str) -> OpenScope | None:
        """A scope as the sweep λ opens it."""
        ledger = self.ledgers[scope_id]
        scope = named_by(ledger, scope_id, self.keyring)
        if scope is None:
            return None
        return OpenScope(
            scope=scope,
            id=scope_id,
            root_id=self.keyring.scope_id(scope.root),
            principal=SWEEPING,
            keys=self.keyring.for_scope(scope_id),
            ledger=FencedLedger(ledger),
            search=NoSearch(),
            policy=lambda: self.policies.of(scope.segments[0]),
        )

    def extract_ledger(self, scope_id: str) -> MemoryLedger:
        """The ledger of one scope, as the extract λ has it."""
        return self.ledgers[scope_id]

    def extractor(self, scope_id: str, run_id: str, number: int) -> Extractor | None:
        """What the extract λ works on a batch with."""
        ledger = self.ledgers[scope_id]
        marker = ledger.read([ready_ref(run_id, number)]).get(ready_ref(run_id, number))
        if marker is None:
            return None
        opened = self._opened(scope_id, marker.scope, EXTRACTOR)
        root = opened.scope.segments[0]
        steering = self.policies.of(root)
        meter = Meter(root, self.model.name, steering, self.counters, self.price)

        def give_up(run_id: str, number: int) -> None:
            self.dead_letters.set_aside(f"{run_id}/{number}", f"{run_id}-{number}")

        return Extractor(opened, self.world, self.model, meter, steering, give_up)

    def open_intake(self, principal: Principal, scope: Scope) -> IntakeScope:
        """A scope as the api λ opens it to let a file be handed in."""
        opened = self.open_scope(principal, scope, Action.WRITE)
        parts = {part.name: getattr(opened, part.name) for part in fields(opened)}
        return IntakeScope(**parts, transcripts=self.files[opened.id])

    def retry(self, scope_id: str, run_id: str) -> None:
        """What a redriven letter asks for."""
        scope = named_by(self.ledgers[scope_id], scope_id, self.keyring)
        if scope is not None:
            opened = self._opened(scope_id, scope.canonical, EXTRACTOR)
            retry_run(run_id, self.policies.of(scope.segments[0]), opened, self.world)

    def intake(self, scope_id: str, run_id: str, upload_id: str, parse: Parse, letter: str) -> Intake | None:
        """What the extract λ reads a file with."""
        place = upload_ref(run_id, upload_id)
        upload = self.ledgers[scope_id].read([place]).get(place)
        if upload is None or upload.scope is None:
            self.files[scope_id].remove(run_id, upload_id)
            return None
        opened = self._opened(scope_id, upload.scope, Principal(upload.actor, PrincipalKind.AGENT, ()))
        steering = self.policies.of(opened.scope.segments[0])

        def give_up() -> None:
            self.dead_letters.set_aside(letter, upload_id)

        return Intake(opened, self.world, steering, self.files[scope_id], parse, give_up)

    def _opened(self, scope_id: str, name: str, principal: Principal) -> OpenScope:
        scope = Scope.parse(name)
        return OpenScope(
            scope=scope,
            id=scope_id,
            root_id=self.keyring.scope_id(scope.root),
            principal=principal,
            keys=self.keyring.for_scope(scope_id),
            search=FakeSearch(self.knowledge_base, scope_id),
            ledger=self.ledgers[scope_id],
            policy=lambda: self.policies.of(scope.segments[0]),
            allowance=Allowance(lambda: self.quotas.of(scope.segments[0])),
        )

    def dump(self) -> str:
        """Everything that lies in any store, as text: where a canary must not be."""
        entries = [ledger.page(area, limit=1_000_000) for ledger in self.ledgers.values() for area in Area]
        documents = [store.objects for store in self.documents.values()]
        bases = [(base.documents, base.waiting) for base in self.generations.values()]
        files = [store.files for stores in (self.transfers, self.files) for store in stores.values()]
        return repr([entries, documents, bases, self.queue.tasks, files])
