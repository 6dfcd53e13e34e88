"""The service on AWS: which adapter stands behind each port, from the environment of the λ.

What only one of the λs needs, or only a rare call, is imported where it is made: no cold start waits for it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import boto3
from botocore.config import Config

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.bedrock.embedding import VectorCache
from unsay_core.adapters.dynamodb.access import DynamoKeys, DynamoRegistry
from unsay_core.adapters.dynamodb.counters import DynamoCounters
from unsay_core.adapters.dynamodb.items import Place
from unsay_core.adapters.dynamodb.ledger import DynamoLedger
from unsay_core.adapters.dynamodb.marks import TableMarks
from unsay_core.adapters.dynamodb.pointer import DynamoReadPointer
from unsay_core.adapters.dynamodb.policies import DynamoPolicies
from unsay_core.adapters.dynamodb.rates import DynamoTally
from unsay_core.adapters.messaging import (
    EventBridgeBus,
    SqsDeadLetters,
    SqsIndexQueue,
    SqsJobQueue,
    SqsPostponer,
    event_of_batch,
)
from unsay_core.adapters.metrics import EmbeddedMetrics
from unsay_core.adapters.s3.anchors import S3Anchors
from unsay_core.adapters.s3.documents import S3Documents
from unsay_core.adapters.scoped_session import PROMPT, QUICK, ScopedClients, ScopedSessions
from unsay_core.adapters.snapshots import around_snapshots
from unsay_core.adapters.world import real_world
from unsay_core.adapters.xray import tracer_of_function, watch_calls
from unsay_core.application.access import UseNotes
from unsay_core.application.breaker import Breaker, GuardedSearch
from unsay_core.application.fenced import FencedLedger
from unsay_core.application.keys import Keyring
from unsay_core.application.ledger import ready_ref, upload_ref
from unsay_core.application.ports import (
    AuditScope,
    IndexScope,
    OpenScope,
    ProjectScope,
    TransferScope,
    WorkScope,
)
from unsay_core.application.quotas import Allowance, RecentQuotas
from unsay_core.application.rates import Rates
from unsay_core.application.reading import Reading
from unsay_core.application.scopes import NotedOnce
from unsay_core.bootstrap.generations import Opened, SearchOfReading, index_of
from unsay_core.domain.scope import Action, Principal, PrincipalKind, Scope
from unsay_core.generations import parse_generations
from unsay_core.metrics import FOREIGN_HITS, STS_FAILURES
from unsay_core.tracing import note

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

    from unsay_core.adapters.bedrock.converse import ConverseModel
    from unsay_core.adapters.oidc import OidcTokens
    from unsay_core.application.authenticate import Authenticator
    from unsay_core.application.extract import Extractor
    from unsay_core.application.ports import Search, World
    from unsay_core.application.uploads import Intake, IntakeScope, Parse
    from unsay_core.generations import Generation
    from unsay_core.settings import (
        ApiSettings,
        AuthorizerSettings,
        ExtractSettings,
        IndexSettings,
        JobsSettings,
        ProjectSettings,
        SweepSettings,
    )

    OnTables: TypeAlias = (
        ApiSettings | ExtractSettings | JobsSettings | SweepSettings | ProjectSettings | IndexSettings
    )
    KeyedSettings: TypeAlias = (
        ApiSettings | AuthorizerSettings | ExtractSettings | JobsSettings | SweepSettings
    )

# A model takes its time, and the batch comes again anyway.
PATIENT = Config(connect_timeout=2, read_timeout=60, retries={"total_max_attempts": 1, "mode": "standard"})
# Who extracts, in the audit: whose words a memory was made from stands in its source.
EXTRACTOR = Principal("extractor", PrincipalKind.AGENT, ())


def read_keyring(session: boto3.session.Session, secret_arn: str) -> Keyring:
    """The keys of this deployment, derived from its pepper; one call, at cold start."""
    return Keyring.from_pepper(read_secret(session, secret_arn))


def read_secret(session: boto3.session.Session, arn: str) -> str:
    """A secret of this deployment; one call."""
    with translated("the secrets"):
        found = session.client("secretsmanager", config=QUICK).get_secret_value(SecretId=arn)
    return str(found["SecretString"])


def model_of(session: boto3.session.Session, settings: ExtractSettings | JobsSettings) -> ConverseModel:
    """The model of this deployment, with its guardrail if it has one."""
    from unsay_core.adapters.bedrock.converse import ConverseModel

    name, _, version = settings.guardrail.partition(":")
    guardrail = {"guardrailIdentifier": name, "guardrailVersion": version} if version else None
    client = session.client("bedrock-runtime", config=PATIENT)
    return ConverseModel(lambda: client, settings.model_id, guardrail)


class _Service:
    """What every λ has: an AWS session of its own role, and the world."""

    may_mark = False  # the api λ alone: before it has opened a scope nothing lies in any table

    def __init__(self, *, session: boto3.session.Session | None = None, world: World | None = None) -> None:
        self.session = session or boto3.session.Session()
        self.world = world or replace(real_world(), signals=EmbeddedMetrics(), tracer=tracer_of_function())
        watch_calls(self.session.events, self.world.tracer)
        self._marks: TableMarks | None = None

    @cached_property
    def sessions(self) -> ScopedSessions:
        """The road to STS; whoever is restored from a snapshot goes it anew."""
        world = self.world
        sessions = ScopedSessions(
            self.session, world.clock.now, failed=lambda: world.signals.tell(STS_FAILURES)
        )
        around_snapshots(sessions.forget)
        return sessions

    @cached_property
    def _vectors(self) -> VectorCache:
        return VectorCache()

    def place(self, scope_id: str, settings: OnTables) -> Place:
        """Where a scope lies; raises `UnavailableError` in one that came from a backup."""
        self.marks(settings).check()
        return Place(scope_id, settings.ledger_table, settings.record_table)

    def marks(self, settings: OnTables) -> TableMarks:
        """What says of the tables which they are, read under the λ's own role."""
        if self._marks is None:
            client = self.session.client("dynamodb", config=QUICK)
            tables, clock = (settings.ledger_table, settings.record_table), self.world.clock
            self._marks = TableMarks(lambda: client, tables, clock.monotonic, may_mark=self.may_mark)
            around_snapshots(self._marks.forget)
        return self._marks

    def _opened(self, scope_id: str, root_id: str | None, clients: ScopedClients) -> Opened:
        for_root = self.sessions.assume_for_root
        return Opened(scope_id, root_id, clients, for_root, self._vectors, self.world.executor)


class Keyed(_Service):
    """A λ that may read the pepper."""

    def __init__(self, settings: KeyedSettings, **given: Any) -> None:
        super().__init__(**given)
        self._secret_arn = settings.pepper_secret_arn

    @cached_property
    def keyring(self) -> Keyring:
        """The deployment's keys."""
        return read_keyring(self.session, self._secret_arn)


class Authenticating(Keyed):
    """A λ that finds out who calls."""

    def __init__(self, settings: ApiSettings | AuthorizerSettings, **given: Any) -> None:
        super().__init__(settings, **given)
        self._oidc = settings.oidc

    @cached_property
    def tokens(self) -> OidcTokens:
        """Whoever checks the tokens of the configured issuers."""
        from unsay_core.adapters.oidc import OidcTokens, issuers_of

        return OidcTokens(issuers_of(self._oidc))


class Searches:
    """Searches in whichever generation of the index is read; a hit of another scope is counted."""

    def __init__(
        self,
        settings: ApiSettings | ExtractSettings | JobsSettings,
        pointing: Callable[[], DynamoDBClient],
        world: World,
    ) -> None:
        self._generations = parse_generations(settings.index_generations)
        pointer = DynamoReadPointer(pointing, settings.access_table)
        self._reading = Reading([each.number for each in self._generations], pointer, world.clock)
        self._signals = world.signals

    def of(self, opened: Opened) -> Search:
        """The search of one scope."""
        return SearchOfReading(
            self._reading,
            self._generations,
            opened,
            lambda dropped: self._signals.tell(FOREIGN_HITS, dropped),
        )


class ApiService(Authenticating):
    """What the api λ needs. It opens scopes; it holds no permission to data itself."""

    has_backups = True  # point-in-time recovery of the tables
    may_mark = True

    def __init__(self, settings: ApiSettings, **given: Any) -> None:
        super().__init__(settings, **given)
        self.settings = settings

    @cached_property
    def _searches(self) -> Searches:
        return Searches(self.settings, self._access, self.world)

    @cached_property
    def keys(self) -> DynamoKeys:
        """API keys, under the access table's own role."""
        return DynamoKeys(self._access, self.settings.access_table)

    @cached_property
    def authenticator(self) -> Authenticator:
        """Who calls, where the authorizer did not say: IAM roles, and whom it could not decide on."""
        from unsay_core.adapters.dynamodb.bindings import DynamoBindings
        from unsay_core.application.authenticate import Authenticator
        from unsay_core.application.bindings import RecentBindings

        bindings = DynamoBindings(self._access, self.settings.access_table)
        now = self.world.clock.now
        return Authenticator(self.keys, RecentBindings(bindings, now), self.tokens, self.keyring, now)

    @cached_property
    def uses(self) -> UseNotes:
        """The days on which keys were used."""
        return UseNotes(self.keys, self.world)

    @cached_property
    def registry(self) -> DynamoRegistry:
        """The names of scopes, under the access table's own role."""
        return DynamoRegistry(self._access, self.settings.access_table)

    @cached_property
    def policies(self) -> DynamoPolicies:
        """The policies of roots, under the access table's own role."""
        return DynamoPolicies(self._access, self.settings.access_table)

    def _access(self) -> DynamoDBClient:
        client: DynamoDBClient = self.sessions.assume(self.settings.access_role_arn, None).client("dynamodb")
        return client

    def open_scope(
        self, principal: Principal, scope: Scope, action: Action, *, reading: bool = False
    ) -> OpenScope:
        """See `Door`: the grants decide first, then the role's policy holds whatever comes after."""
        principal.require(action, scope)
        self._rates.take(principal.id, scope.segments[0])
        scope_id = self.keyring.scope_id(scope.canonical)
        note(scope=scope_id)
        role = self.settings.reader_role_arn if reading else self._role(action)
        root_id = self.keyring.scope_id(scope.root)
        clients = self.sessions.assume(role, scope_id)
        place = self.place(scope_id, self.settings)
        return OpenScope(
            scope=scope,
            id=scope_id,
            root_id=root_id,
            principal=principal,
            keys=self.keyring.for_scope(scope_id),
            ledger=FencedLedger(
                DynamoLedger(
                    clients.client("dynamodb", PROMPT if action is Action.READ else QUICK),
                    place,
                )
            ),
            search=GuardedSearch(self._searches.of(self._opened(scope_id, root_id, clients)), self._breaker),
            policy=lambda: self.policies.of(scope.segments[0]),
            allowance=Allowance(lambda: self._quotas.of(scope.segments[0])),
        )

    @cached_property
    def _quotas(self) -> RecentQuotas:
        """What roots grant, as it was a minute ago at the most."""
        return RecentQuotas(self.policies, self.world)

    @cached_property
    def _rates(self) -> Rates:
        """What each caller asked in this minute."""
        return Rates(self._quotas, DynamoTally(self._access, self.settings.access_table), self.world)

    @cached_property
    def _breaker(self) -> Breaker:
        """One for the knowledge base, whichever scope asks."""
        return Breaker(self.world.clock.monotonic)

    def check_tables(self) -> None:
        """See `Service`."""
        self.marks(self.settings).check()

    def open_audit(self, principal: Principal, scope: Scope) -> AuditScope:
        """Open a scope to be audited: as for reading, and with its anchors."""
        opened = self.open_scope(principal, scope, Action.AUDIT)
        clients = self.sessions.assume(self._role(Action.AUDIT), opened.id)
        return AuditScope(
            scope=opened.scope,
            id=opened.id,
            root_id=opened.root_id,
            principal=opened.principal,
            keys=opened.keys,
            ledger=opened.ledger,
            search=opened.search,
            allowance=opened.allowance,
            anchors=S3Anchors(lambda: clients.client("s3"), self.settings.anchors_bucket, opened.id),
        )

    def open_intake(self, principal: Principal, scope: Scope) -> IntakeScope:
        """Open a scope to be written to, with the place where its files are handed in."""
        from unsay_core.adapters.s3.transcripts import SIGNING, S3Transcripts
        from unsay_core.application.uploads import IntakeScope

        opened = self.open_scope(principal, scope, Action.WRITE)
        clients, bucket = (
            self.sessions.assume(self._role(Action.WRITE), opened.id),
            self.settings.intake_bucket,
        )
        return IntakeScope(
            scope=opened.scope,
            id=opened.id,
            root_id=opened.root_id,
            principal=opened.principal,
            keys=opened.keys,
            ledger=opened.ledger,
            search=opened.search,
            allowance=opened.allowance,
            transcripts=S3Transcripts(lambda: clients.client("s3", SIGNING), bucket, opened.id),
        )

    def open_transfer(self, principal: Principal, scope: Scope, *, reading: bool = False) -> TransferScope:
        """Open a scope to be exported or imported into, with the place of the files.

        `reading` takes the same: whoever looks at a job is shown where its files are.
        """
        from unsay_core.adapters.s3.transcripts import SIGNING
        from unsay_core.adapters.s3.transfers import S3Transfers
        from unsay_core.contracts.portable import FORM

        opened = self.open_scope(principal, scope, Action.TRANSFER)
        clients = self.sessions.assume(self._role(Action.TRANSFER), opened.id)
        bucket = self.settings.transfers_bucket
        return TransferScope(
            scope=opened.scope,
            id=opened.id,
            root_id=opened.root_id,
            principal=opened.principal,
            keys=opened.keys,
            ledger=opened.ledger,
            search=opened.search,
            allowance=opened.allowance,
            transfers=S3Transfers(lambda: clients.client("s3", SIGNING), bucket, opened.id),
            form=FORM,
        )

    def _role(self, action: Action) -> str:
        match action:
            case Action.WRITE | Action.REVIEW:
                return self.settings.writer_role_arn
            case Action.FORGET:
                return self.settings.eraser_role_arn
            case Action.TRANSFER:
                return self.settings.carrier_role_arn
            case _:
                return self.settings.reader_role_arn


class ExtractService(Keyed):
    """What the extract λ needs: scopes under the extractor's role, a model, and what meters it."""

    def __init__(self, settings: ExtractSettings, **given: Any) -> None:
        super().__init__(settings, **given)
        self.settings = settings
        sqs = self.session.client("sqs", config=QUICK)
        self.queue = SqsPostponer(sqs, settings.extract_queue_url)
        self.dead_letters = SqsDeadLetters(sqs, settings.extract_dead_letters_url)
        self._policies = DynamoPolicies(self._metering, settings.access_table)
        self._counters = DynamoCounters(self._metering, settings.access_table)
        self._quotas = RecentQuotas(self._policies, self.world)

    @cached_property
    def _searches(self) -> Searches:
        return Searches(self.settings, self._metering, self.world)

    @cached_property
    def model(self) -> ConverseModel:
        """The model, which the λ's own role may invoke: it holds no memory."""
        return model_of(self.session, self.settings)

    def clients(self, scope_id: str) -> ScopedClients:
        """The clients of the scope's tagged session."""
        return self.sessions.assume(self.settings.extractor_role_arn, scope_id)

    def extract_ledger(self, scope_id: str) -> DynamoLedger:
        """The ledger of one scope, under the extractor's role."""
        clients = self.clients(scope_id)
        place = self.place(scope_id, self.settings)
        return DynamoLedger(clients.client("dynamodb"), place)

    def extractor(self, scope_id: str, run_id: str, number: int) -> Extractor | None:
        """What one batch is extracted with; None if its marker is gone, and the work done with it.

        The marker alone tells the scope's name, and it is held against the id under which it was found.
        """
        from unsay_core.application.extract import Extractor
        from unsay_core.application.metering import Meter, Price

        ledger = self.extract_ledger(scope_id)
        marker = ledger.read([ready_ref(run_id, number)]).get(ready_ref(run_id, number))
        if marker is None:
            return None
        opened = self._open(scope_id, marker.scope, EXTRACTOR)
        root = opened.scope.segments[0]
        steering = self._policies.of(root)
        price = Price.parse(self.settings.model_price)
        meter = Meter(root, self.settings.model_id, steering, self._counters, price)

        def give_up(run_id: str, number: int) -> None:
            letter = event_of_batch(scope_id, run_id, number)
            self.dead_letters.set_aside(letter, f"{run_id}-{number}")

        return Extractor(opened, self.world, self.model, meter, steering, give_up, self.settings.prompt)

    def retry(self, scope_id: str, run_id: str) -> None:
        """Let the failed batches of a run be tried again; a scope that has no name any more has none."""
        from unsay_core.application.conversations import retry_run
        from unsay_core.application.job_scope import named_by

        scope = named_by(self.extract_ledger(scope_id), scope_id, self.keyring)
        if scope is not None:
            opened = self._open(scope_id, scope.canonical, EXTRACTOR)
            retry_run(run_id, self._policies.of(scope.segments[0]), opened, self.world)

    def intake(self, scope_id: str, run_id: str, upload_id: str, parse: Parse, letter: str) -> Intake | None:
        """What a file is read with; None if nobody expects it any more, and it was removed.

        Who asked for the upload is who says what stands in it; `letter` tells an operator of one that failed.
        """
        from unsay_core.adapters.s3.transcripts import S3Transcripts
        from unsay_core.application.uploads import Intake

        clients, bucket = self.clients(scope_id), self.settings.intake_bucket
        files = S3Transcripts(lambda: clients.client("s3"), bucket, scope_id)
        place = upload_ref(run_id, upload_id)
        upload = self.extract_ledger(scope_id).read([place]).get(place)
        if upload is None or upload.scope is None:
            files.remove(run_id, upload_id)
            return None
        actor = Principal(upload.actor, PrincipalKind.AGENT, ())
        opened = self._open(scope_id, upload.scope, actor)
        steering = self._policies.of(opened.scope.segments[0])

        def give_up() -> None:
            self.dead_letters.set_aside(letter, upload_id)

        return Intake(opened, self.world, steering, files, parse, give_up)

    def _open(self, scope_id: str, name: str, principal: Principal) -> OpenScope:
        """The scope of that name, which an entry told that lies in it."""
        scope = Scope.parse(name)
        if self.keyring.scope_id(scope.canonical) != scope_id:
            raise ValueError("an entry names another scope than the one it lies in")
        root_id = self.keyring.scope_id(scope.root)
        return OpenScope(
            scope=scope,
            id=scope_id,
            root_id=root_id,
            principal=principal,
            keys=self.keyring.for_scope(scope_id),
            ledger=FencedLedger(self.extract_ledger(scope_id)),
            search=self._searches.of(self._opened(scope_id, root_id, self.clients(scope_id))),
            policy=lambda: self._policies.of(scope.segments[0]),
            allowance=Allowance(lambda: self._quotas.of(scope.segments[0])),
        )

    def _metering(self) -> DynamoDBClient:
        client: DynamoDBClient = self.sessions.assume(self.settings.meter_role_arn, None).client("dynamodb")
        return client


class _Workshop(_Service):
    """Opens scopes for a worker: under the projector's role, each with its own tag."""

    def __init__(self, settings: ProjectSettings | IndexSettings, **given: Any) -> None:
        super().__init__(**given)
        self._common = settings

    def clients(self, scope_id: str) -> ScopedClients:
        """The clients of the scope's tagged session."""
        return self.sessions.assume(self._common.projector_role_arn, scope_id)

    def work_scope(self, scope_id: str) -> WorkScope:
        """Ledger and documents of one scope."""
        clients, common = self.clients(scope_id), self._common
        place = self.place(scope_id, common)
        return WorkScope(
            id=scope_id,
            ledger=DynamoLedger(clients.client("dynamodb"), place),
            documents=S3Documents(lambda: clients.client("s3"), common.documents_bucket, scope_id),
        )


class ProjectService(_Workshop):
    """What the project λ needs: scopes, their anchors and names, the queue of index work, and the bus."""

    def __init__(self, settings: ProjectSettings, **given: Any) -> None:
        super().__init__(settings, **given)
        self._settings = settings
        self.scope_notes = NotedOnce(DynamoRegistry(self._registrar, settings.access_table))
        sqs = self.session.client("sqs", config=QUICK)
        self.queue = SqsIndexQueue(sqs, settings.index_queue_url)
        self.jobs = SqsJobQueue(sqs, settings.jobs_queue_url)
        self.dead_letters = SqsDeadLetters(sqs, settings.project_dead_letters_url)
        self.bus = EventBridgeBus(self.session.client("events", config=QUICK), settings.event_bus_name)

    def project_scope(self, scope_id: str) -> ProjectScope:
        """One scope with the place for its anchors."""
        from unsay_core.adapters.s3.graves import S3Graves

        clients, scope = self.clients(scope_id), self.work_scope(scope_id)
        bucket = self._settings.anchors_bucket
        return ProjectScope(
            id=scope.id,
            ledger=scope.ledger,
            documents=scope.documents,
            anchors=S3Anchors(lambda: clients.client("s3"), bucket, scope_id),
            graves=S3Graves(lambda: clients.client("s3"), bucket, scope_id),
        )

    def _registrar(self) -> DynamoDBClient:
        client: DynamoDBClient = self.sessions.assume(self._settings.registrar_role_arn, None).client(
            "dynamodb"
        )
        return client


class IndexService(_Workshop):
    """What the index λ needs: scopes with the index."""

    def __init__(self, settings: IndexSettings, **given: Any) -> None:
        super().__init__(settings, **given)
        self._settings = settings
        sqs = self.session.client("sqs", config=QUICK)
        self.queue = SqsPostponer(sqs, settings.index_queue_url)
        self.dead_letters = SqsDeadLetters(sqs, settings.index_dead_letters_url)

    @cached_property
    def _generations(self) -> Sequence[Generation]:
        return parse_generations(self._settings.index_generations)

    def index_scope(self, scope_id: str, root_id: str | None) -> IndexScope:
        """One scope with its part of every generation; some lie under its root."""
        clients, scope = self.clients(scope_id), self.work_scope(scope_id)
        opened = self._opened(scope_id, root_id, clients)
        indexes = {each.number: index_of(each, opened) for each in self._generations}
        return IndexScope(id=scope.id, ledger=scope.ledger, documents=scope.documents, indexes=indexes)
