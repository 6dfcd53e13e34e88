"""The bucket of plain JSON documents, one per memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.checks import acknowledge

if TYPE_CHECKING:
    from infra.stage import Stage


class Documents(Construct):
    """`<sid>/memories/<id>.json`. Unversioned: a noncurrent version would outlive a forget."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            versioned=False,
            removal_policy=stage.removal,
        )
        acknowledge(
            self.bucket,
            "S1",
            "Only scope roles under a session tag reach it, and who changed what is in the audit chain. "
            "Access logs would be a second bucket that names every memory.",
        )
