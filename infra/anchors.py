"""The bucket where heads of the audit chains are out of everyone's reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.checks import acknowledge
from infra.private_bucket import private_bucket

if TYPE_CHECKING:
    from infra.stage import Stage

RETENTION_DAYS = "anchor_retention_days"


class Anchors(Construct):
    """`<sid>/<seq>-<hash>`, locked by default. It stays when the stack goes: nothing can empty it.

    In `dev` the lock is one that an administrator of the account may lift, and holds for a day. In `prod` it
    is one that nobody may lift, the account's root included, for as long as `cdk.json` says.
    """

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.bucket = private_bucket(
            self,
            versioned=True,
            object_lock_enabled=True,
            object_lock_default_retention=self._retention(stage),
            removal_policy=RemovalPolicy.RETAIN,
        )
        acknowledge(
            self.bucket,
            "S1",
            "Only scope roles under a session tag reach it, one to add and one to list. "
            "Access logs would be a second bucket that names every scope.",
        )

    def _retention(self, stage: Stage) -> s3.ObjectLockRetention:
        if not stage.protected:
            return s3.ObjectLockRetention.governance(Duration.days(1))
        days = int(self.node.get_context(RETENTION_DAYS))
        return s3.ObjectLockRetention.compliance(Duration.days(days))
