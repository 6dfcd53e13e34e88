"""Jobs and the sweep on AWS: scopes opened for work that nobody waits for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from unsay_core.adapters.dynamodb.counters import DynamoCounters
from unsay_core.adapters.dynamodb.due import DynamoDueList
from unsay_core.adapters.dynamodb.ledger import DynamoLedger
from unsay_core.adapters.dynamodb.policies import DynamoPolicies
from unsay_core.adapters.messaging import SqsDeadLetters, SqsJobQueue, SqsPostponer
from unsay_core.adapters.s3.documents import S3Documents
from unsay_core.adapters.s3.transcripts import S3Transcripts
from unsay_core.adapters.s3.transfers import S3Transfers
from unsay_core.adapters.scoped_session import QUICK
from unsay_core.application.fenced import FencedLedger
from unsay_core.application.job_scope import named_by
from unsay_core.application.jobs import SWEEPER
from unsay_core.application.metering import Gauges, Meter, Price
from unsay_core.application.ports import JobScope, OpenScope
from unsay_core.application.rewording import Editor
from unsay_core.bootstrap.aws import Keyed, Searches, model_of
from unsay_core.bootstrap.generations import NoSearch, watched
from unsay_core.contracts.portable import FORM
from unsay_core.domain.scope import Principal, PrincipalKind
from unsay_core.generations import parse_generations
from unsay_core.jobs.job import JobKind

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from unsay_core.adapters.bedrock.converse import ConverseModel
    from unsay_core.application.ports import JobTask
    from unsay_core.domain.scope import Scope
    from unsay_core.settings import JobsSettings, SweepSettings

AT_WORK = Principal("jobs", PrincipalKind.AGENT, ())  # until a job says who asked for it
SWEEPING = Principal(SWEEPER, PrincipalKind.AGENT, ())


class _Steered(Keyed):
    """A λ for work that nobody waits for, which asks the policies of roots how to do it."""

    def __init__(self, settings: JobsSettings | SweepSettings, **given: Any) -> None:
        super().__init__(settings, **given)
        self._meter_role_arn = settings.meter_role_arn
        self._policies = DynamoPolicies(self._metering, settings.access_table)

    def _metering(self) -> DynamoDBClient:
        client: DynamoDBClient = self.sessions.assume(self._meter_role_arn, None).client("dynamodb")
        return client


class JobsService(_Steered):
    """What the jobs λ needs: a scope for each job, under the role of its kind, and its queue."""

    def __init__(self, settings: JobsSettings, **given: Any) -> None:
        super().__init__(settings, **given)
        self._settings = settings
        self._counters = DynamoCounters(self._metering, settings.access_table)
        sqs = self.session.client("sqs", config=QUICK)
        self.postponer = SqsPostponer(sqs, settings.jobs_queue_url)
        self.dead_letters = SqsDeadLetters(sqs, settings.jobs_dead_letters_url)

    @cached_property
    def model(self) -> ConverseModel:
        """The model, which the λ's own role may invoke."""
        return model_of(self.session, self._settings)

    @cached_property
    def _searches(self) -> Searches:
        return Searches(self._settings, self._metering, self.world)

    def job_scope(self, task: JobTask) -> JobScope | None:
        """The scope of a job; None if it has no name any more, because all of it was erased."""
        settings, scope_id = self._settings, task.scope_id
        clients = self.sessions.assume(self._role_of(task.kind), scope_id)
        place = self.place(scope_id, settings)
        ledger = DynamoLedger(clients.client("dynamodb"), place)
        scope = named_by(ledger, scope_id, self.keyring)
        if scope is None:
            return None
        root_id = self.keyring.scope_id(scope.root)
        opened = self._opened(scope_id, root_id, clients)
        return JobScope(
            scope=scope,
            id=scope_id,
            root_id=root_id,
            principal=AT_WORK,
            keys=self.keyring.for_scope(scope_id),
            ledger=ledger,
            search=self._searches.of(opened),
            documents=S3Documents(lambda: clients.client("s3"), settings.documents_bucket, scope_id),
            indexes={
                each.number: watched(each, opened) for each in parse_generations(settings.index_generations)
            },
            transfers=S3Transfers(lambda: clients.client("s3"), settings.transfers_bucket, scope_id),
            form=FORM,
            transcripts=S3Transcripts(lambda: clients.client("s3"), settings.intake_bucket, scope_id),
            recovery_days=int(settings.recovery_days),
            policy=lambda: self._policies.of(scope.segments[0]),
            editor=lambda: self._editor(scope, scope_id, root_id),
        )

    def _editor(self, scope: Scope, scope_id: str, root_id: str) -> Editor | None:
        """Who words what is merged: the model, at its root's expense; None where its policy wants nobody."""
        settings, steering = self._settings, self._policies.of(scope.segments[0])
        if not steering.consolidation.by_model:
            return None
        price = Price.parse(settings.model_price)
        meter = Meter(scope.segments[0], settings.model_id, steering, self._counters, price)
        gauges = Gauges(self.world.signals, root_id, scope_id)
        return Editor(self.model, meter, gauges, self.world)

    def _role_of(self, kind: str) -> str:
        carries = kind in (JobKind.EXPORT, JobKind.IMPORT)
        return self._settings.porter_role_arn if carries else self._settings.remover_role_arn


class SweepService(_Steered):
    """What the sweep λ needs: the list of what is due, scopes, and the queue of jobs."""

    def __init__(self, settings: SweepSettings, **given: Any) -> None:
        super().__init__(settings, **given)
        self._settings = settings
        self.jobs = SqsJobQueue(self.session.client("sqs", config=QUICK), settings.jobs_queue_url)

    @cached_property
    def due(self) -> DynamoDueList:
        """What is due, under the λ's own role."""
        return DynamoDueList(self.session.client("dynamodb", config=QUICK), self._settings.ledger_table)

    def sweep_scope(self, scope_id: str) -> OpenScope | None:
        """One scope under the sweeper's role; None if it has no name any more."""
        settings = self._settings
        clients = self.sessions.assume(settings.sweeper_role_arn, scope_id)
        place = self.place(scope_id, settings)
        ledger = DynamoLedger(clients.client("dynamodb"), place)
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
            policy=lambda: self._policies.of(scope.segments[0]),
        )
