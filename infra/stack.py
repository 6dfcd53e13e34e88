"""The stack: one construct per capability, and the wires between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_iam as iam

from infra.anchors import Anchors
from infra.documents import Documents
from infra.edge import Door, Edge, web_acl_wanted
from infra.encryption import OwnKey, is_own_key
from infra.extraction import Extraction
from infra.functions import Functions
from infra.http_api import MCP_PATH, HttpApi
from infra.index import IndexGenerations, index_specs
from infra.intake import Intake
from infra.jobs import Jobs
from infra.ledger import RECOVERY_DAYS, Tables
from infra.mcp import read_only_setting
from infra.oidc import oidc_setting
from infra.pepper import Pepper
from infra.projection import Projection
from infra.scope_roles import SERVING, ScopeRoles
from infra.transfers import Transfers
from infra.watch import Watch
from unsay_core.settings import (
    EDGE_HEADER,
    NO_EDGE,
    TABLE_MARK,
    ApiSettings,
    AuthorizerSettings,
    ExtractSettings,
    IndexSettings,
    JobsSettings,
    McpSettings,
    ProjectSettings,
    SweepSettings,
)

if TYPE_CHECKING:
    from constructs import Construct

    from infra.stage import Stage


class UnsayStack(Stack):
    """A memory service: ledger, projections, API. Knows neither account nor Region until it is deployed."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(
            scope,
            construct_id,
            description="unsay: agent memory you own, and can take back",
            termination_protection=stage.protected,
        )
        self.tables = Tables(self, "Tables", stage=stage)
        self.documents = Documents(self, "Documents", stage=stage)
        self.intake = Intake(self, "Intake", stage=stage)
        self.transfers = Transfers(self, "Transfers", stage=stage)
        self.anchors = Anchors(self, "Anchors", stage=stage)
        self.index = IndexGenerations(self, index_specs(self.node.get_context("index")), stage=stage)
        self.pepper = Pepper(self, "Pepper", stage=stage)
        self.functions = Functions(self, "Functions", stage=stage)
        self.scope_roles = ScopeRoles(
            self,
            "ScopeRoles",
            callers={name: each.role for name, each in self.functions.all.items()},
            tables=self.tables,
            documents=self.documents,
            intake=self.intake,
            transfers=self.transfers,
            anchors=self.anchors,
            index=self.index,
        )
        self.projection = Projection(self, "Projection", stage=stage)
        self.extraction = Extraction(self, "Extraction", bus=self.projection.bus, intake=self.intake.bucket)
        self.jobs = Jobs(self, "Jobs")
        web_acl = web_acl_wanted(self)
        self.door = Door(self, "Door", stage=stage) if web_acl else None
        self.http_api = HttpApi(
            self,
            "Http",
            api=self.functions.api,
            mcp=self.functions.mcp,
            authorizer=self.functions.authorizer,
            stage=stage,
            header=EDGE_HEADER if self.door else None,
        )
        self.url = self.http_api.url
        if self.door and web_acl:
            api_id = self.http_api.api.api_id
            edge = Edge(self, "Edge", api_id=api_id, door=self.door, header=EDGE_HEADER, web_acl=web_acl)
            self.url = edge.url
        self._wire_requests()
        self._wire_projection()
        self._wire_extraction()
        self._wire_jobs()
        self._let_tell_tables()
        Watch(
            self,
            "Watch",
            http_api=self.http_api,
            functions=self.functions,
            index_queue=self.projection.index_queue,
            dead_letters=self.projection.dead_letters
            | {"extract": self.extraction.dead, "jobs": self.jobs.dead},
        )
        if is_own_key(self):
            OwnKey(self, "OwnKey", stage=stage).encrypt(self)
        self._outputs()

    def _wire_requests(self) -> None:
        api, mcp, authorizer = self.functions.api, self.functions.mcp, self.functions.authorizer
        issuers = oidc_setting(self.node.try_get_context("oidc"))
        serving = self._serving(issuers)
        api.configure(ApiSettings, **serving)
        read_only = read_only_setting(self.node.try_get_context("mcp_read_only"))
        mcp.configure(McpSettings, read_only=read_only, **serving)
        both = "Reader", "Writer", "Eraser", "Access"
        self.scope_roles.let_assume(api.role, *both, "Carrier", *self.scope_roles.of_roots_for("api"))
        self.scope_roles.let_assume(mcp.role, *both, *self.scope_roles.of_roots_for("mcp"))
        self._let_read_pepper(api.role)
        self._let_read_pepper(mcp.role)
        authorizer.configure(
            AuthorizerSettings,
            access_table=self.tables.access.table_name,
            pepper_secret_arn=self.pepper.arn,
            oidc=issuers,
            edge_secret_arn=self.door.arn if self.door else NO_EDGE,
        )
        self._let_read_pepper(authorizer.role)
        if self.door:
            self._let_read_secret(authorizer.role, "ReadDoor", self.door.arn)
        self._let_read_access(authorizer.role, "ReadKeys", "GetItem", "KEYS", "DELEGATION#*")
        self._let_read_access(authorizer.role, "ReadBindings", "Query", "BINDINGS")

    def _serving(self, issuers: str) -> dict[str, str]:
        """What the λs are told that callers reach."""
        return {
            "ledger_table": self.tables.ledger.table_name,
            "record_table": self.tables.record.table_name,
            "access_table": self.tables.access.table_name,
            "documents_bucket": self.documents.bucket.bucket_name,
            "anchors_bucket": self.anchors.bucket.bucket_name,
            "intake_bucket": self.intake.bucket.bucket_name,
            "transfers_bucket": self.transfers.bucket.bucket_name,
            "index_generations": self.index.setting(self.scope_roles.arn),
            "reader_role_arn": self.scope_roles.arn("Reader"),
            "writer_role_arn": self.scope_roles.arn("Writer"),
            "eraser_role_arn": self.scope_roles.arn("Eraser"),
            "carrier_role_arn": self.scope_roles.arn("Carrier"),
            "access_role_arn": self.scope_roles.arn("Access"),
            "pepper_secret_arn": self.pepper.arn,
            "oidc": issuers,
        }

    def _wire_projection(self) -> None:
        project, index = self.functions.project, self.functions.index
        shared = {
            "ledger_table": self.tables.ledger.table_name,
            "record_table": self.tables.record.table_name,
            "documents_bucket": self.documents.bucket.bucket_name,
            "index_queue_url": self.projection.index_queue.queue_url,
            "projector_role_arn": self.scope_roles.arn("Projector"),
        }
        project.configure(
            ProjectSettings,
            access_table=self.tables.access.table_name,
            anchors_bucket=self.anchors.bucket.bucket_name,
            registrar_role_arn=self.scope_roles.arn("Registrar"),
            event_bus_name=self.projection.bus.event_bus_name,
            project_dead_letters_url=self.projection.project_dead.queue_url,
            jobs_queue_url=self.jobs.queue.queue_url,
            **shared,
        )
        index.configure(
            IndexSettings,
            index_generations=self.index.setting(self.scope_roles.arn),
            index_dead_letters_url=self.projection.index_dead.queue_url,
            **shared,
        )
        self.scope_roles.let_assume(project.role, "Projector", "Registrar")
        self.scope_roles.let_assume(index.role, "Projector", *self.scope_roles.of_roots_for("index"))
        self.projection.run_project(project, self.tables)
        self.jobs.let_call(project.role)
        self.projection.run_index(index)

    def _wire_extraction(self) -> None:
        extract = self.functions.extract
        extract.configure(
            ExtractSettings,
            ledger_table=self.tables.ledger.table_name,
            record_table=self.tables.record.table_name,
            access_table=self.tables.access.table_name,
            intake_bucket=self.intake.bucket.bucket_name,
            index_generations=self.index.setting(self.scope_roles.arn),
            extract_queue_url=self.extraction.queue.queue_url,
            extract_dead_letters_url=self.extraction.dead.queue_url,
            prompt=self.extraction.prompt,
            extractor_role_arn=self.scope_roles.arn("Extractor"),
            meter_role_arn=self.scope_roles.arn("Meter"),
            pepper_secret_arn=self.pepper.arn,
            **self.extraction.model,
        )
        self.scope_roles.let_assume(
            extract.role, "Extractor", "Meter", *self.scope_roles.of_roots_for("extract")
        )
        self._let_read_pepper(extract.role)
        self.extraction.run_extract(extract)

    def _wire_jobs(self) -> None:
        jobs, sweep = self.functions.jobs, self.functions.sweep
        shared = {
            "ledger_table": self.tables.ledger.table_name,
            "record_table": self.tables.record.table_name,
            "jobs_queue_url": self.jobs.queue.queue_url,
            "access_table": self.tables.access.table_name,
            "meter_role_arn": self.scope_roles.arn("Meter"),
            "pepper_secret_arn": self.pepper.arn,
        }
        jobs.configure(
            JobsSettings,
            documents_bucket=self.documents.bucket.bucket_name,
            index_generations=self.index.setting(self.scope_roles.arn),
            jobs_dead_letters_url=self.jobs.dead.queue_url,
            transfers_bucket=self.transfers.bucket.bucket_name,
            intake_bucket=self.intake.bucket.bucket_name,
            remover_role_arn=self.scope_roles.arn("Remover"),
            porter_role_arn=self.scope_roles.arn("Porter"),
            recovery_days=str(RECOVERY_DAYS),
            **self.extraction.model,
            **shared,
        )
        sweep.configure(SweepSettings, sweeper_role_arn=self.scope_roles.arn("Sweeper"), **shared)
        self.scope_roles.let_assume(
            jobs.role, "Remover", "Porter", "Meter", *self.scope_roles.of_roots_for("jobs")
        )
        self.scope_roles.let_assume(sweep.role, "Sweeper", "Meter")
        self._let_read_pepper(jobs.role)
        self._let_read_pepper(sweep.role)
        self.jobs.run_jobs(jobs)
        self.extraction.let_ask(jobs.role)
        self.jobs.run_sweep(sweep, self.tables.ledger)

    def _let_tell_tables(self) -> None:
        """Each λ that opens scopes sees which tables it has, by a mark of no scope; who serves makes it."""
        tables = [self.tables.ledger.table_arn, self.tables.record.table_arn]
        opening = (*SERVING, "project", "index", "extract", "jobs", "sweep")
        for name, role in ((each, self.functions.all[each].role) for each in opening):
            marking = ["dynamodb:PutItem"] if name in SERVING else []
            role.add_to_policy(
                iam.PolicyStatement(sid="KnowTables", actions=["dynamodb:DescribeTable"], resources=tables)
            )
            role.add_to_policy(
                iam.PolicyStatement(
                    sid="TableMarks",
                    actions=["dynamodb:BatchGetItem", *marking],
                    resources=tables,
                    conditions={
                        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [TABLE_MARK]},
                        "Null": {"dynamodb:LeadingKeys": "false"},
                    },
                )
            )

    def _let_read_pepper(self, role: iam.Role) -> None:
        self._let_read_secret(role, "ReadPepper", self.pepper.arn)

    def _let_read_secret(self, role: iam.Role, sid: str, arn: str) -> None:
        role.add_to_policy(
            iam.PolicyStatement(sid=sid, actions=["secretsmanager:GetSecretValue"], resources=[arn])
        )

    def _let_read_access(self, role: iam.Role, sid: str, action: str, *partitions: str) -> None:
        """One kind of read of some partitions: who may ask whose a key is sees no name of a scope."""
        role.add_to_policy(
            iam.PolicyStatement(
                sid=sid,
                actions=[f"dynamodb:{action}"],
                resources=[self.tables.access.table_arn],
                conditions={
                    "ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(partitions)},
                    "Null": {"dynamodb:LeadingKeys": "false"},
                },
            )
        )

    def _outputs(self) -> None:
        outputs = {
            "ApiUrl": self.url,
            "McpUrl": f"{self.url}{MCP_PATH}",
            "ApiId": self.http_api.api.api_id,
            "EventBusName": self.projection.bus.event_bus_name,
            "LedgerTable": self.tables.ledger.table_name,
            "RecordTable": self.tables.record.table_name,
            "AccessTable": self.tables.access.table_name,
            "DocumentsBucket": self.documents.bucket.bucket_name,
            "IntakeBucket": self.intake.bucket.bucket_name,
            "TransfersBucket": self.transfers.bucket.bucket_name,
            "AnchorsBucket": self.anchors.bucket.bucket_name,
            "IndexGenerations": self.index.setting(self.scope_roles.arn),
            "IndexQueueUrl": self.projection.index_queue.queue_url,
            "IndexDeadLettersUrl": self.projection.index_dead.queue_url,
            "ProjectDeadLettersUrl": self.projection.project_dead.queue_url,
            "PepperSecretArn": self.pepper.arn,
            "ReaderRoleArn": self.scope_roles.arn("Reader"),
            "WriterRoleArn": self.scope_roles.arn("Writer"),
            "EraserRoleArn": self.scope_roles.arn("Eraser"),
            "CarrierRoleArn": self.scope_roles.arn("Carrier"),
            "PorterRoleArn": self.scope_roles.arn("Porter"),
            "ProjectorRoleArn": self.scope_roles.arn("Projector"),
            "AccessRoleArn": self.scope_roles.arn("Access"),
            "RegistrarRoleArn": self.scope_roles.arn("Registrar"),
            "ExtractorRoleArn": self.scope_roles.arn("Extractor"),
            "MeterRoleArn": self.scope_roles.arn("Meter"),
            "ModelId": self.extraction.model_id,
            "Guardrail": self.extraction.guardrail,
            "ExtractQueueUrl": self.extraction.queue.queue_url,
            "ExtractDeadLettersUrl": self.extraction.dead.queue_url,
            "RemoverRoleArn": self.scope_roles.arn("Remover"),
            "SweeperRoleArn": self.scope_roles.arn("Sweeper"),
            "JobsQueueUrl": self.jobs.queue.queue_url,
            "JobsDeadLettersUrl": self.jobs.dead.queue_url,
            "ApiFunctionRoleArn": self.functions.api.role.role_arn,
        }
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)
