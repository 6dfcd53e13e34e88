"""From a change in the ledger to the documents, the knowledge base and the bus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.checks import acknowledge, acknowledge_dead_letters

if TYPE_CHECKING:
    from aws_cdk import aws_dynamodb as dynamodb

    from infra.functions import PythonFunction
    from infra.ledger import Tables
    from infra.stage import Stage

STREAM_BATCH = 100  # what one read of the ledger takes, and one removal of documents
# A record that keeps failing holds up its shard, other scopes with it: after an hour it is set aside. What it
# would have projected is still pending in the ledger, and recall reads pending memories there.
STREAM_RECORD_AGE = Duration.hours(1)
STREAM_RETRIES = 1000
# A knowledge base takes 10 documents a call and few calls at once; over that it fails the call.
INDEX_BATCH = 10
INDEX_CONCURRENCY = 2
INDEX_VISIBILITY = Duration.seconds(60)
# Being throttled or waiting for the index spends a receive, so a message gets some two hours of them.
INDEX_RECEIVES = 100
# Of memories that are owed to the projections, of batches that are due, and of jobs that are called for.
MARKERS = ["#P", "#Q", "#E", "#J"]
ANY_CHANGE = ["INSERT", "MODIFY", "REMOVE"]
FAILED_RETENTION = Duration.days(14)


class Projection(Construct):
    """The index queue, the event bus, and where failed work waits for an operator."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.bus = events.EventBus(
            self,
            "Bus",
            event_bus_name=f"unsay-{stage.name}",
            description="What happened to memories, in the past tense.",
        )
        self.index_dead = sqs.Queue(
            self, "IndexDeadLetters", fifo=True, enforce_ssl=True, retention_period=FAILED_RETENTION
        )
        self.index_queue = sqs.Queue(
            self,
            "IndexQueue",
            fifo=True,
            enforce_ssl=True,
            visibility_timeout=INDEX_VISIBILITY,
            retention_period=FAILED_RETENTION,
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.index_dead, max_receive_count=INDEX_RECEIVES),
        )
        self.project_dead = sqs.Queue(
            self, "ProjectDeadLetters", enforce_ssl=True, retention_period=FAILED_RETENTION
        )
        acknowledge(
            self.project_dead, "SQS3", "It is a dead-letter queue: here the streams' failed batches end."
        )
        for queue in (self.index_dead, self.project_dead):
            acknowledge_dead_letters(queue)

    @property
    def dead_letters(self) -> dict[str, sqs.Queue]:
        """Every queue that should be empty, by what filled it."""
        return {"index": self.index_dead, "project": self.project_dead}

    def run_project(self, project: PythonFunction, tables: Tables) -> None:
        """Feed the project λ: outbox markers from the ledger, audit entries and tombstones from the record.

        Audit entries are only ever added. That one was changed or removed is let through to raise an alarm.
        """
        _let_list_streams(project.role)
        self._read_stream(
            project, "LedgerStream", tables.ledger, suffixes=MARKERS, kinds=["INSERT", "MODIFY"]
        )
        self._read_stream(project, "RecordStream", tables.record, suffixes=["#A", "#T"], kinds=ANY_CHANGE)
        project.role.add_to_policy(
            iam.PolicyStatement(
                sid="AskForIndexing", actions=["sqs:SendMessage"], resources=[self.index_queue.queue_arn]
            )
        )
        project.role.add_to_policy(
            iam.PolicyStatement(
                sid="TellWhatHappened", actions=["events:PutEvents"], resources=[self.bus.event_bus_arn]
            )
        )

    def run_index(self, index: PythonFunction) -> None:
        """Feed the index λ in batches the knowledge base takes, in order per memory."""
        index.consume(
            "IndexQueue", self.index_queue, self.index_dead, batch=INDEX_BATCH, most=INDEX_CONCURRENCY
        )

    def _read_stream(
        self,
        project: PythonFunction,
        construct_id: str,
        table: dynamodb.Table,
        *,
        suffixes: list[str],
        kinds: list[str],
    ) -> None:
        _let_read(project.role, construct_id, str(table.table_stream_arn))
        lambda_.EventSourceMapping(
            project,
            construct_id,
            target=project.function,
            event_source_arn=table.table_stream_arn,
            starting_position=lambda_.StartingPosition.TRIM_HORIZON,
            filters=[_only(suffixes, kinds)],
            batch_size=STREAM_BATCH,
            bisect_batch_on_error=True,
            report_batch_item_failures=True,
            retry_attempts=STREAM_RETRIES,
            max_record_age=STREAM_RECORD_AGE,
            on_failure=sources.SqsDlq(self.project_dead),
        )


def _only(suffixes: list[str], kinds: list[str]) -> Any:
    """A stream filter on the area that ends the partition key: other changes cost no invocation."""
    areas = [{"suffix": suffix} for suffix in suffixes]
    pattern = {"eventName": kinds, "dynamodb": {"Keys": {"pk": {"S": areas}}}}
    return lambda_.FilterCriteria.filter(pattern)


def _let_read(role: iam.Role, sid: str, stream_arn: str) -> None:
    role.add_to_policy(
        iam.PolicyStatement(
            sid=sid,
            actions=["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"],
            resources=[stream_arn],
        )
    )


def _let_list_streams(role: iam.Role) -> None:
    """Lambda refuses a stream mapping whose role may not list streams."""
    role.add_to_policy(
        iam.PolicyStatement(sid="ListStreams", actions=["dynamodb:ListStreams"], resources=["*"])
    )
    acknowledge(
        role,
        "IAM5[Resource::*]",
        "ListStreams takes no resource; it answers names, never what a stream holds.",
    )
