"""The bucket through which memories leave and come in, a day at the most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.checks import acknowledge
from infra.private_bucket import private_bucket

if TYPE_CHECKING:
    from infra.stage import Stage

KEPT = Duration.days(1)


class Transfers(Construct):
    """`<sid>/exports/<job>/…`, `<sid>/imports/<job>/…`. Unversioned: these are copies, and have an end."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.bucket = private_bucket(
            self,
            versioned=False,
            removal_policy=stage.removal,
            lifecycle_rules=[
                s3.LifecycleRule(id="Expire", expiration=KEPT, abort_incomplete_multipart_upload_after=KEPT)
            ],
        )
        acknowledge(
            self.bucket,
            "S1",
            "Only scope roles under a session tag reach it, and each export and import is audited. "
            "Access logs would be a second bucket that names every scope.",
        )
