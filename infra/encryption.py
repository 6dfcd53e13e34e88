"""`encryption: cmk`: one key of your own for all that the stack keeps.

Without it every store is encrypted with a key of AWS. With it, whoever administers the key can shut the
whole service off, and CloudTrail has each use of it. Which scope may be read stays with the roles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_cdk import Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3vectors as s3vectors
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sqs as sqs
from constructs import Construct

if TYPE_CHECKING:
    from infra.stage import Stage

ENCRYPTION = "encryption"
AWS, CMK = "aws", "cmk"
# Through these alone the account's own principals use the key: no policy of any role names it.
SERVICES = ("dynamodb", "s3", "sqs", "secretsmanager", "s3vectors", "events")
USE = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]
DATA_KEY_SECONDS = 300  # for which a queue uses one data key; a shorter time is more calls to KMS


def is_own_key(scope: Construct) -> bool:
    """What the context says. Raises `ValueError` for a word that is neither."""
    said = scope.node.try_get_context(ENCRYPTION) or AWS
    if said not in (AWS, CMK):
        raise ValueError(f"unknown {ENCRYPTION} {said!r}: choose {AWS} or {CMK}")
    return bool(said == CMK)


class OwnKey(Construct):
    """The key, rotated every year, and who may use it."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.key = kms.Key(
            self,
            "Key",
            description="unsay: tables, buckets, vectors, queues, bus, logs and the pepper.",
            enable_key_rotation=True,
            removal_policy=stage.removal,
        )
        for statement in self._statements():
            self.key.add_to_resource_policy(statement)

    def encrypt(self, stack: Stack) -> None:
        """Put everything of a stack that holds state under the key: what is added later too."""
        for each in stack.node.find_all():
            _encrypt(each, self.key.key_arn)

    def _statements(self) -> list[iam.PolicyStatement]:
        stack = Stack.of(self)
        own = {"aws:SourceAccount": stack.account}
        through = [f"{service}.{stack.region}.{stack.url_suffix}" for service in SERVICES]
        any_log = f"arn:{stack.partition}:logs:{stack.region}:{stack.account}:log-group:*"
        return [
            _allow(
                "ThroughServices",
                iam.AnyPrincipal(),
                {"StringEquals": {"kms:CallerAccount": stack.account, "kms:ViaService": through}},
                # DynamoDB keeps a grant for what it does by itself: streams, backups, TTL.
                [*USE, "kms:CreateGrant"],
            ),
            _allow(
                "Logs",
                iam.ServicePrincipal(f"logs.{stack.region}.{stack.url_suffix}"),
                {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": any_log}},
            ),
            # A rule of the bus, or of the account's own, puts messages into an encrypted queue.
            _allow("Events", iam.ServicePrincipal("events.amazonaws.com"), {"StringEquals": own}),
            _allow(
                "VectorIndexing",
                iam.ServicePrincipal("indexing.s3vectors.amazonaws.com"),
                {"StringEquals": own},
                ["kms:Decrypt"],
            ),
        ]


def _allow(
    sid: str, principal: iam.IPrincipal, conditions: dict[str, Any], actions: list[str] | None = None
) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=sid, principals=[principal], actions=actions or USE, resources=["*"], conditions=conditions
    )


def _encrypt(each: Any, key_arn: str) -> None:
    match each:
        case dynamodb.CfnTable():
            each.sse_specification = dynamodb.CfnTable.SSESpecificationProperty(
                sse_enabled=True, sse_type="KMS", kms_master_key_id=key_arn
            )
        case s3.CfnBucket():
            each.bucket_encryption = _bucket_encryption(key_arn)
        case s3vectors.CfnVectorBucket():
            each.encryption_configuration = s3vectors.CfnVectorBucket.EncryptionConfigurationProperty(
                sse_type="aws:kms", kms_key_arn=key_arn
            )
        case sqs.CfnQueue():
            each.kms_master_key_id = key_arn
            each.kms_data_key_reuse_period_seconds = DATA_KEY_SECONDS
        case events.CfnEventBus():
            each.kms_key_identifier = key_arn
        case logs.CfnLogGroup() | secretsmanager.CfnSecret():
            each.kms_key_id = key_arn


def _bucket_encryption(key_arn: str) -> s3.CfnBucket.BucketEncryptionProperty:
    """With a key of each bucket's own below it, or every object would be a call to KMS."""
    rule = s3.CfnBucket.ServerSideEncryptionRuleProperty(
        bucket_key_enabled=True,
        server_side_encryption_by_default=s3.CfnBucket.ServerSideEncryptionByDefaultProperty(
            sse_algorithm="aws:kms", kms_master_key_id=key_arn
        ),
    )
    return s3.CfnBucket.BucketEncryptionProperty(server_side_encryption_configuration=[rule])
