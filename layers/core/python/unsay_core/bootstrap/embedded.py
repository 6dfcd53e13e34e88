"""The service in one process: every port on a SQLite file, or in memory, and nobody else's machine.

What the λs do beside the api is done here after each change, in the thread that asked for it: no thread and
no queue outlives a call. Work that a crash left behind lies in the file, and goes with the next change.
"""

from __future__ import annotations

import logging
import secrets
import threading
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import uuid4

from unsay_core.adapters.anchor_file import AnchoredLedger, AnchorFile, FileAnchors
from unsay_core.adapters.folder_transcripts import FolderTranscripts
from unsay_core.adapters.folder_transfers import TransferFolder
from unsay_core.adapters.minilm import MiniLm, is_installed
from unsay_core.adapters.own_model import OwnModel
from unsay_core.adapters.rules import RuleModel
from unsay_core.adapters.sqlite import InMemoryFile, LedgerFile, SqliteLedger
from unsay_core.adapters.sqlite.kept import (
    SqliteCounters,
    SqliteKeys,
    SqlitePolicies,
    SqliteRegistry,
    pepper_of,
)
from unsay_core.adapters.sqlite.owed import unreadable
from unsay_core.adapters.sqlite.schema import DamagedFileError, ForeignFileError
from unsay_core.adapters.sqlite.vectors import SqliteVectors, drop_others
from unsay_core.adapters.world import real_world
from unsay_core.application.access import UseNotes
from unsay_core.application.authenticate import Authenticator
from unsay_core.application.fenced import FencedLedger
from unsay_core.application.identity import Identity
from unsay_core.application.job_scope import named_by
from unsay_core.application.keys import Keyring
from unsay_core.application.ledger import ready_ref, upload_ref
from unsay_core.application.metering import Gauges, Meter
from unsay_core.application.ports import (
    AuditScope,
    IndexScope,
    JobScope,
    OpenScope,
    TransferScope,
    UnreadableError,
)
from unsay_core.application.quotas import Allowance
from unsay_core.application.rewording import Editor
from unsay_core.bootstrap.chores import Chores, log_fault
from unsay_core.contracts.portable import FORM
from unsay_core.domain.errors import ForbiddenError
from unsay_core.domain.scope import Action, Grant, Principal, PrincipalKind, Scope, ScopePattern
from unsay_core.endpoints.call import Request
from unsay_core.endpoints.router import Endpoints, InternalError
from unsay_core.extraction.conversation import UploadState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from unsay_core.adapters.own_model import Asked
    from unsay_core.adapters.sqlite.file import AnyFile
    from unsay_core.application.extract import Extractor
    from unsay_core.application.ports import Embedder, World
    from unsay_core.application.uploads import Intake, IntakeScope, WaitingFile
    from unsay_core.domain.memory import Memory
    from unsay_core.endpoints.router import Answer

__all__ = ["DamagedFileError", "Embedded", "ForeignFileError", "packaged_embedder"]

log = logging.getLogger("unsay")

# Whoever may open the file may do everything with it.
OWNER = Principal("owner", PrincipalKind.HUMAN, (Grant(ScopePattern.parse("*"), frozenset(Action)),))
EXTRACTOR, AT_WORK = (Principal(name, PrincipalKind.AGENT, ()) for name in ("extractor", "jobs"))
GENERATION = 1  # the one index there is
_RECALL = "/v1/recall"


def packaged_embedder() -> Embedder | None:
    """The model of the extra `local`, if it is installed."""
    return MiniLm() if is_installed() else None


class Embedded:
    """A deployment of one process: requests in, answers out. Threads may share it.

    `path` is the file, None for memory alone; with a token, whoever that is asks, and no more than they may.
    Raises `ForeignFileError` for a path that is no ledger of ours, `DamagedFileError` for a broken one.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        embedder: Embedder | None,
        model: Asked | None = None,
        token: str | None = None,
        world: World | None = None,
    ) -> None:
        self._service = EmbeddedService(path, embedder, world or real_world(), model)
        self._met = threading.local()
        self._endpoints = Endpoints(self._service, self._note_fault)
        self._chores = Chores(self._service)
        self._token = token
        self._chores.see_to_what_is_due()

    def answer(self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer one request, as a gateway would pass it on.

        Raises `DamagedFileError` or `ForeignFileError` where it is the file that cannot be read.
        """
        if path == _RECALL:
            self._service.warm_up()
        self._chores.see_to_new_files()
        request = Request(method, path, query, headers, body, uuid4().hex, self._identity)
        self._met.damage = None
        answer = self._endpoints.answer(request)
        if answer.status == InternalError.status and self._met.damage is not None:
            raise self._met.damage
        if method != "GET":
            self._chores.run()
        return answer

    def sweep(self) -> None:
        """Do all that is owed or has come due, and drop what is kept for a time that is over."""
        self._chores.sweep()

    def unreadable(self) -> list[tuple[str, str]]:
        """Scope and id of every entry that has lost its form; a scope without a name is told by its id."""
        service = self._service
        names = {service.keyring.scope_id(scope.canonical): scope for scope in service.registry.all()}
        return [
            (str(names.get(damaged.scope_id, damaged.scope_id)), damaged.id)
            for damaged in unreadable(service.file)
        ]

    def close(self) -> None:
        """Close the file, and let the threads go that looked things up."""
        self._service.close()

    def _note_fault(self, fault: Exception) -> None:
        log_fault(fault)
        if isinstance(fault, UnreadableError):
            fault = DamagedFileError(f"{fault.ref.id} is damaged; `unsay doctor` lists whatever is")
        if isinstance(fault, DamagedFileError | ForeignFileError):
            self._met.damage = fault

    def _identity(self) -> Identity:
        if self._token is None:
            return Identity(OWNER)
        found = self._service.authenticator.bearer(self._token)
        if found is None:
            raise ForbiddenError("the key is not known here, was revoked or has expired")
        return found


class EmbeddedService:
    """See `Service`; and what the workers need, for they work here too."""

    has_backups = False  # whoever copies the file knows how long they keep the copy

    def __init__(
        self, path: Path | None, embedder: Embedder | None, world: World, model: Asked | None = None
    ) -> None:
        self.world = world
        self.embedder = embedder
        self.file: AnyFile = LedgerFile(path) if path else InMemoryFile()
        beside = path.with_name(f"{path.name}.anchors") if path else None
        self._anchors = AnchorFile(beside, world.clock)
        self.transfers = TransferFolder(path.with_name(f"{path.name}.transfers") if path else None)
        self.intake = TransferFolder(path.with_name(f"{path.name}.intake") if path else None)
        self.keyring = Keyring.from_pepper(pepper_of(self.file, self._first_pepper))
        self.keys = SqliteKeys(self.file)
        self.registry = SqliteRegistry(self.file)
        self.policies = SqlitePolicies(self.file)
        self.counters = SqliteCounters(self.file)
        self.uses = UseNotes(self.keys, world)
        self.model = RuleModel() if model is None else OwnModel(model)
        if embedder is not None:
            drop_others(self.file, embedder)

    def close(self) -> None:
        """Let file and threads go."""
        self.world.executor.shutdown()
        self.transfers.close()
        self.intake.close()
        self.file.close()

    def warm_up(self) -> None:
        """Load the packaged model: no deadline of a recall is meant for that."""
        if isinstance(self.embedder, MiniLm):
            self.embedder.load()

    @cached_property
    def authenticator(self) -> Authenticator:
        """Whose key a token is; there are no issuers here."""
        return Authenticator(self.keys, list, NoTokens(), self.keyring, self.world.clock.now)

    def open_scope(
        self, principal: Principal, scope: Scope, action: Action, *, reading: bool = False
    ) -> OpenScope:
        """See `Door`: the grants decide."""
        principal.require(action, scope)
        return self.opened(principal, scope)

    def opened(self, principal: Principal, scope: Scope) -> OpenScope:
        """A scope, opened for whoever was let in."""
        scope_id = self.keyring.scope_id(scope.canonical)
        return OpenScope(
            scope=scope,
            id=scope_id,
            root_id=self.keyring.scope_id(scope.root),
            principal=principal,
            keys=self.keyring.for_scope(scope_id),
            ledger=FencedLedger(self.ledger(scope_id)),
            search=self.vectors(scope_id),
            policy=lambda: self.policies.of(scope.segments[0]),
            allowance=Allowance(lambda: self.policies.of(scope.segments[0]).quotas),
        )

    def named(self, scope_id: str, principal: Principal) -> OpenScope | None:
        """A scope that is known by its id; None if it has no name any more."""
        scope = named_by(self.ledger(scope_id), scope_id, self.keyring)
        return None if scope is None else self.opened(principal, scope)

    def _first_pepper(self) -> str:
        """That of a new file; raises `ForeignFileError` where one was before, and is gone."""
        if not self._anchors.is_empty():
            raise ForeignFileError("new beside the anchors of another: put that one back, or move them")
        return secrets.token_urlsafe(48)

    def check_tables(self) -> None:
        """Whoever put an old copy of the file in its place wanted what is in it."""

    def open_audit(self, principal: Principal, scope: Scope) -> AuditScope:
        """Open a scope to be audited: as for reading, and with its anchors."""
        opened = self.open_scope(principal, scope, Action.AUDIT)
        return AuditScope(
            scope=opened.scope,
            id=opened.id,
            root_id=opened.root_id,
            principal=opened.principal,
            keys=opened.keys,
            ledger=opened.ledger,
            search=opened.search,
            anchors=FileAnchors(self._anchors, opened.id),
        )

    def open_intake(self, principal: Principal, scope: Scope) -> IntakeScope:
        """Open a scope to be written to, with the folder in which its files are handed in."""
        from unsay_core.application.uploads import IntakeScope

        opened = self.open_scope(principal, scope, Action.WRITE)
        return IntakeScope(
            scope=opened.scope,
            id=opened.id,
            root_id=opened.root_id,
            principal=opened.principal,
            keys=opened.keys,
            ledger=opened.ledger,
            search=opened.search,
            policy=opened.policy,
            allowance=opened.allowance,
            transcripts=self.transcripts(opened.id),
        )

    def transcripts(self, scope_id: str) -> FolderTranscripts:
        """The files of one scope that wait to be read."""
        return FolderTranscripts(self.intake.folder(scope_id))

    def intake_of(self, file: WaitingFile, scope_id: str) -> Intake | None:
        """What a file is read with; None for one that nobody expects, or that could not be read before."""
        ref = upload_ref(file.run_id, file.upload_id)
        upload = self.ledger(scope_id).read([ref]).get(ref)
        if upload is None or upload.state is UploadState.DONE:
            self.transcripts(scope_id).remove(file.run_id, file.upload_id)
            return None
        if upload.scope is None or upload.state is UploadState.FAILED:
            return None
        from unsay_core.application.uploads import Intake
        from unsay_core.endpoints.transcript import read_transcript

        # Who asked for the upload is who says what stands in it.
        opened = self.opened(
            Principal(upload.actor, PrincipalKind.AGENT, ()), scope := Scope.parse(upload.scope)
        )
        steering = self.policies.of(scope.segments[0])
        files = self.transcripts(scope_id)
        return Intake(opened, self.world, steering, files, read_transcript, _give_up_a_file)

    def open_transfer(self, principal: Principal, scope: Scope, *, reading: bool = False) -> TransferScope:
        """Open a scope to carry memories out of it and into it, as files beside the ledger."""
        opened = self.open_scope(principal, scope, Action.TRANSFER)
        return TransferScope(
            scope=opened.scope,
            id=opened.id,
            root_id=opened.root_id,
            principal=opened.principal,
            keys=opened.keys,
            ledger=opened.ledger,
            search=opened.search,
            transfers=self.transfers.of(opened.id),
            form=FORM,
        )

    def ledger(self, scope_id: str) -> AnchoredLedger:
        """The ledger of one scope."""
        return AnchoredLedger(SqliteLedger(self.file, scope_id), FileAnchors(self._anchors, scope_id))

    def vectors(self, scope_id: str) -> SqliteVectors:
        """The vectors of one scope."""
        return SqliteVectors(self.file, scope_id, self.embedder)

    def index_scope(self, scope_id: str) -> IndexScope:
        """One scope as its memories are indexed."""
        indexes = {GENERATION: self.vectors(scope_id)}
        return IndexScope(id=scope_id, ledger=self.ledger(scope_id), documents=NoDocuments(), indexes=indexes)

    def job_scope(self, scope_id: str) -> JobScope | None:
        """One scope as a job works on it."""
        opened = self.named(scope_id, AT_WORK)
        if opened is None:
            return None
        return JobScope(
            scope=opened.scope,
            id=opened.id,
            root_id=opened.root_id,
            principal=opened.principal,
            keys=opened.keys,
            ledger=self.ledger(scope_id),
            search=opened.search,
            documents=NoDocuments(),
            indexes={GENERATION: self.vectors(scope_id)},
            transfers=self.transfers.of(opened.id),
            form=FORM,
            transcripts=self.transcripts(scope_id),
            recovery_days=0,
            policy=opened.policy,
            editor=lambda: self._editor(opened),
        )

    def _editor(self, opened: OpenScope) -> Editor | None:
        """Who words what is merged: a model of one's own, where the policy wants one; a rule has no words."""
        steering, root = opened.policy(), opened.scope.segments[0]
        if isinstance(self.model, RuleModel) or not steering.consolidation.by_model:
            return None
        meter = Meter(root, self.model.name, steering, self.counters)
        return Editor(self.model, meter, Gauges(self.world.signals, opened.root_id, opened.id), self.world)

    def extractor(self, scope_id: str, run_id: str, number: int) -> Extractor | None:
        """What one batch is extracted with; None if its marker is gone, and the work done with it."""
        ref = ready_ref(run_id, number)
        marker = self.ledger(scope_id).read([ref]).get(ref)
        if marker is None:
            return None
        from unsay_core.application.extract import Extractor

        scope = Scope.parse(marker.scope)
        root = scope.segments[0]
        steering = self.policies.of(root)
        meter = Meter(root, self.model.name, steering, self.counters)
        opened = self.opened(EXTRACTOR, scope)
        return Extractor(opened, self.world, self.model, meter, steering, _give_up)


class NoTokens:
    """See `Tokens`: no issuer is known here."""

    def verified(self, token: str, now: datetime) -> None:
        """No token holds."""


class NoDocuments:
    """See `Documents`: the file is the owner's already."""

    def put(self, memory: Memory) -> None:
        """Nothing to copy to."""

    def delete(self, memory_ids: Sequence[str]) -> None:
        """Nothing was copied."""

    def existing(self, memory_ids: Sequence[str]) -> set[str]:
        """None."""
        return set()

    def listed(self) -> Iterator[str]:
        """None."""
        return iter(())


def _give_up_a_file() -> None:
    log.warning("a file that was handed in could not be read as a transcript")


def _give_up(run_id: str, number: int) -> None:
    log.warning("a batch of a conversation could not be extracted")
