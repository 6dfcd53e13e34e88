"""Jobs and the sweep on AWS: scopes opened for work that nobody waits for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from unsay_core.adapters.dynamodb.due import DynamoDueList
from unsay_core.adapters.dynamodb.items import Place
from unsay_core.adapters.dynamodb.ledger import DynamoLedger
from unsay_core.adapters.messaging import SqsDeadLetters, SqsJobQueue, SqsPostponer
from unsay_core.adapters.s3.documents import S3Documents
from unsay_core.adapters.s3.transfers import S3Transfers
from unsay_core.adapters.scoped_session import QUICK
from unsay_core.application.fenced import FencedLedger
from unsay_core.application.job_scope import named_by
from unsay_core.application.ports import JobScope, OpenScope
from unsay_core.application.sweep import SWEEPER
from unsay_core.bootstrap.aws import Keyed
from unsay_core.bootstrap.generations import NoSearch, watched
from unsay_core.contracts.portable import FORM
from unsay_core.domain.scope import Principal, PrincipalKind
from unsay_core.generations import parse_generations
from unsay_core.jobs.job import JobKind

if TYPE_CHECKING:
    from unsay_core.application.ports import JobTask
    from unsay_core.settings import JobsSettings, SweepSettings

AT_WORK = Principal("jobs", PrincipalKind.AGENT, ())  # until a job says who asked for it
SWEEPING = Principal(SWEEPER, PrincipalKind.AGENT, ())


class JobsService(Keyed):
    """What the jobs λ needs: a scope for each job, under the role of its kind, and its queue."""

    def __init__(self, settings: JobsSettings, **given: Any) -> None:
        super().__init__(settings, **given)
        self._settings = settings
        sqs = self.session.client("sqs", config=QUICK)
        self.postponer = SqsPostponer(sqs, settings.jobs_queue_url)
        self.dead_letters = SqsDeadLetters(sqs, settings.jobs_dead_letters_url)

    def job_scope(self, task: JobTask) -> JobScope | None:
        """The scope of a job; None if it has no name any more, because all of it was erased."""
        settings, scope_id = self._settings, task.scope_id
        clients = self.sessions.assume(self._role_of(task.kind), scope_id)
        place = Place(scope_id, settings.ledger_table, settings.record_table)
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
            search=NoSearch(),
            documents=S3Documents(lambda: clients.client("s3"), settings.documents_bucket, scope_id),
            indexes={
                each.number: watched(each, opened) for each in parse_generations(settings.index_generations)
            },
            transfers=S3Transfers(lambda: clients.client("s3"), settings.transfers_bucket, scope_id),
            form=FORM,
            recovery_days=int(settings.recovery_days),
        )

    def _role_of(self, kind: str) -> str:
        carries = kind in (JobKind.EXPORT, JobKind.IMPORT)
        return self._settings.porter_role_arn if carries else self._settings.remover_role_arn


class SweepService(Keyed):
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
        place = Place(scope_id, settings.ledger_table, settings.record_table)
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
        )
