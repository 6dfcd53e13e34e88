"""The λs: what each is given to run with, and its own role, which may write its own log and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.checks import SERVERLESS, acknowledge
from infra.layers import ARCHITECTURE, RUNTIME, Layers, functions_code
from unsay_core.metrics import NAMESPACE
from unsay_core.settings import variables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_sqs as sqs

    from infra.stage import Stage
    from unsay_core.settings import Settings

LOG_RETENTION = logs.RetentionDays.ONE_MONTH
LOCKED_RUNTIME = "The runtime is the one the locked wheels of the layer are built for; both move together."
SERVERLESS_ANSWERS = {
    "LambdaLatestVersion": LOCKED_RUNTIME,
    "LambdaDLQ": "Whoever calls it sees that it failed and tries again: the gateway, a stream, a queue with "
    "dead letters, or the clock a minute later.",
}


@dataclass(frozen=True)
class Size:
    """Memory buys processor time with it; the timeout is what a caller waits at most."""

    memory_mb: int
    timeout_seconds: int


# The gateway gives up after 30 s: what it calls has to answer, with an error if need be, before that.
SIZES = {
    "api": Size(memory_mb=1024, timeout_seconds=29),
    "mcp": Size(memory_mb=1024, timeout_seconds=29),
    "authorizer": Size(memory_mb=512, timeout_seconds=10),
    "project": Size(memory_mb=512, timeout_seconds=60),
    "index": Size(memory_mb=512, timeout_seconds=45),
    "extract": Size(memory_mb=512, timeout_seconds=180),
    "jobs": Size(memory_mb=512, timeout_seconds=120),
    "sweep": Size(memory_mb=512, timeout_seconds=60),
}


class PythonFunction(Construct):
    """One λ with its log group and its own least-privilege role."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        layers: Sequence[lambda_.LayerVersion],
        stage: Stage,
    ) -> None:
        super().__init__(scope, construct_id)
        self._name = name
        log_group = logs.LogGroup(self, "Log", retention=LOG_RETENTION, removal_policy=stage.removal)
        self.role = self._own_role(log_group)
        self.function = lambda_.Function(
            self,
            "Function",
            description=f"unsay {name}",
            handler=f"functions.{name}.handler.handler",
            code=functions_code(),
            layers=list(layers),
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            memory_size=SIZES[name].memory_mb,
            timeout=Duration.seconds(SIZES[name].timeout_seconds),
            role=self.role,
            log_group=log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            tracing=lambda_.Tracing.ACTIVE,
        )
        acknowledge(self.function, "L1", LOCKED_RUNTIME)
        acknowledge(
            self.role,
            "IAM5[Resource::*]",
            "Segments of a trace are told to X-Ray, which knows no resource that they could be limited to.",
        )
        for rule, reason in SERVERLESS_ANSWERS.items():
            acknowledge(self.function, rule, reason, pack=SERVERLESS)

    def configure(self, settings: type[Settings], **values: str) -> None:
        """Fill the environment with exactly the variables its handler will ask for.

        Raises `ValueError` when a value is missing or nobody reads it: at synth, not at the first cold start.
        """
        names = variables(settings)
        if names.keys() != values.keys():
            raise ValueError(f"{self._name}: settings differ in {sorted(names.keys() ^ values.keys())}")
        for field, variable in names.items():
            self.function.add_environment(variable, values[field])

    def consume(self, construct_id: str, queue: sqs.Queue, dead: sqs.Queue, *, batch: int, most: int) -> None:
        """Feed it from a queue, at most so many at once, and let it set aside what can never be done."""
        queue.grant_consume_messages(self.role)
        self.role.add_to_policy(
            iam.PolicyStatement(sid="SetAside", actions=["sqs:SendMessage"], resources=[dead.queue_arn])
        )
        mapping = lambda_.EventSourceMapping(
            self,
            construct_id,
            target=self.function,
            event_source_arn=queue.queue_arn,
            batch_size=batch,
            max_concurrency=most,
            report_batch_item_failures=True,
        )
        reason = "A queue sets aside by itself what was received too often: this one has dead letters."
        acknowledge(mapping, "LambdaEventSourceMappingDestination", reason, pack=SERVERLESS)

    def _own_role(self, log_group: logs.LogGroup) -> iam.Role:
        role = iam.Role(
            self,
            "Role",
            description=f"unsay {self._name}: its own role, without any memory in reach.",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
        )
        role.add_to_policy(
            iam.PolicyStatement(
                sid="OwnLog",
                actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                resources=[log_group.log_group_arn],
            )
        )
        return role


class Functions(Construct):
    """The λs of the service, all from one code asset and the same two layers; that of MCP has two more."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self._layers = Layers(self, "Layers")
        self._stage = stage
        self.api = self._function("api")
        self.mcp = self._function("mcp", self._layers.client, self._layers.mcp)
        self.authorizer = self._function("authorizer")
        self.project = self._function("project")
        self.index = self._function("index")
        self.extract = self._function("extract")
        self.jobs = self._function("jobs")
        self.sweep = self._function("sweep")

    @property
    def all(self) -> dict[str, PythonFunction]:
        """Every λ by the name of its package in `functions/`."""
        return {
            "api": self.api,
            "mcp": self.mcp,
            "authorizer": self.authorizer,
            "project": self.project,
            "index": self.index,
            "extract": self.extract,
            "jobs": self.jobs,
            "sweep": self.sweep,
        }

    def _function(self, name: str, *more: lambda_.LayerVersion) -> PythonFunction:
        layers = [self._layers.core, self._layers.deps, *more]
        made = PythonFunction(self, name.capitalize(), name=name, layers=layers, stage=self._stage)
        for variable, value in _telemetry(name).items():
            made.function.add_environment(variable, value)
        return made


def _telemetry(name: str) -> dict[str, str]:
    return {
        "POWERTOOLS_SERVICE_NAME": name,
        "POWERTOOLS_METRICS_NAMESPACE": NAMESPACE,
        "POWERTOOLS_LOG_LEVEL": "INFO",
    }
