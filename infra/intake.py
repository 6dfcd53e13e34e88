"""The bucket where transcripts lie until they have been read, and the event that tells of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.checks import acknowledge
from infra.private_bucket import private_bucket

if TYPE_CHECKING:
    from infra.stage import Stage

# What could not be read is kept for whoever mends it, and no longer: it is in no one's receipt.
KEPT = Duration.days(7)


class Intake(Construct):
    """`<sid>/<run>/<upload>.jsonl`. Unversioned: a noncurrent version would outlive a forget."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.bucket = private_bucket(
            self,
            versioned=False,
            removal_policy=stage.removal,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="Expire", expiration=KEPT, abort_incomplete_multipart_upload_after=Duration.days(1)
                )
            ],
        )
        made = self.bucket.node.default_child
        if not isinstance(made, s3.CfnBucket):
            raise TypeError("a bucket is made by CloudFormation's own resource")
        # Stated here and not by `event_bridge_enabled`, which would bring a λ that configures the bucket.
        made.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
            event_bridge_configuration=s3.CfnBucket.EventBridgeConfigurationProperty(
                event_bridge_enabled=True
            )
        )
        acknowledge(
            self.bucket,
            "S1",
            "Only scope roles under a session tag reach it, and what came of a file is in the audit chain. "
            "Access logs would be a second bucket that names every conversation.",
        )
