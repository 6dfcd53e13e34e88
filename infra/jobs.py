"""Work that outlasts a request: the queue of jobs, and the clock that calls the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.checks import acknowledge_dead_letters
from infra.functions import SIZES
from infra.ledger import DUE_INDEX
from infra.projection import FAILED_RETENTION

if TYPE_CHECKING:
    from aws_cdk import aws_dynamodb as dynamodb

    from infra.functions import PythonFunction

JOBS_CONCURRENCY = 5
VISIBILITY = Duration.seconds(6 * SIZES["jobs"].timeout_seconds + 60)
# Waiting for an index that lags spends a receive each time; at half a minute each these last for eight hours.
JOBS_RECEIVES = 1000
EVERY = "rate(1 minute)"
DUE_KEYS = ["due#*", "erasure#*", "candidate#*"]


class Jobs(Construct):
    """What calls the jobs λ, where lost jobs wait for an operator, and what calls the sweep λ."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.dead = sqs.Queue(self, "DeadLetters", enforce_ssl=True, retention_period=FAILED_RETENTION)
        acknowledge_dead_letters(self.dead)
        self.queue = sqs.Queue(
            self,
            "Queue",
            enforce_ssl=True,
            visibility_timeout=VISIBILITY,
            retention_period=FAILED_RETENTION,
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead, max_receive_count=JOBS_RECEIVES),
        )

    def run_jobs(self, jobs: PythonFunction) -> None:
        """Feed the jobs λ, one job at a time each."""
        jobs.consume("JobsQueue", self.queue, self.dead, batch=1, most=JOBS_CONCURRENCY)

    def let_call(self, role: iam.Role) -> None:
        """Allow a λ to call for jobs."""
        role.add_to_policy(
            iam.PolicyStatement(
                sid="CallForJobs", actions=["sqs:SendMessage"], resources=[self.queue.queue_arn]
            )
        )

    def run_sweep(self, sweep: PythonFunction, ledger: dynamodb.Table) -> None:
        """Call the sweep λ every minute, and let it ask what is due: keys and times of any scope, no more."""
        self.let_call(sweep.role)
        sweep.role.add_to_policy(
            iam.PolicyStatement(
                sid="AskWhatIsDue",
                actions=["dynamodb:Query"],
                resources=[f"{ledger.table_arn}/index/{DUE_INDEX}"],
                conditions={
                    "ForAllValues:StringLike": {"dynamodb:LeadingKeys": DUE_KEYS},
                    "Null": {"dynamodb:LeadingKeys": "false"},
                },
            )
        )
        caller = iam.Role(
            self,
            "SweepCaller",
            description="unsay scheduler: calls the sweep function and nothing else.",
            assumed_by=iam.PrincipalWithConditions(
                iam.ServicePrincipal("scheduler.amazonaws.com"),
                {"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            ),
        )
        caller.add_to_policy(
            iam.PolicyStatement(
                sid="Call", actions=["lambda:InvokeFunction"], resources=[sweep.function.function_arn]
            )
        )
        scheduler.CfnSchedule(
            self,
            "Every",
            description="What has come due is done.",
            schedule_expression=EVERY,
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=sweep.function.function_arn,
                role_arn=caller.role_arn,
                # A run that was missed is made up for by the next: what is due stays due.
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_retry_attempts=0, maximum_event_age_in_seconds=60
                ),
            ),
        )
