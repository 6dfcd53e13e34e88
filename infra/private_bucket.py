"""What every bucket of the stack is: private, encrypted, and reached over TLS alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_cdk import aws_s3 as s3

if TYPE_CHECKING:
    from constructs import Construct


def private_bucket(scope: Construct, **more: Any) -> s3.Bucket:
    """A bucket of a construct that holds one; `more` is what sets it apart from the others."""
    return s3.Bucket(
        scope,
        "Bucket",
        encryption=s3.BucketEncryption.S3_MANAGED,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
        enforce_ssl=True,
        **more,
    )
