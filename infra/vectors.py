"""A bucket for S3 Vectors without a knowledge base: the λs embed, and each root gets an index of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import RemovalPolicy
from aws_cdk import aws_s3vectors as s3vectors
from constructs import Construct

from infra.knowledge_base import model_arn

if TYPE_CHECKING:
    from infra.stage import Stage


class VectorBucket(Construct):
    """The bucket alone: the indexes come with the first memory of each root.

    CloudFormation deletes no bucket that holds indexes it did not make, so this one is left behind when its
    generation is no longer listed; `unsay-admin remove-generation` empties and deletes it.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        generation: int,
        model: str,
        dimension: int,
    ) -> None:
        super().__init__(scope, construct_id)
        self.generation = generation
        self.model = model
        self.dimension = dimension
        self.model_arn = model_arn(self, model)
        self.name = f"unsay-{stage.name}-g{generation}"
        self._bucket = s3vectors.CfnVectorBucket(
            self,
            "Bucket",
            vector_bucket_name=self.name,
            encryption_configuration=s3vectors.CfnVectorBucket.EncryptionConfigurationProperty(
                sse_type="AES256"
            ),
        )
        self._bucket.apply_removal_policy(RemovalPolicy.RETAIN)

    def index_arn(self, name: str) -> str:
        """The ARN of one index."""
        return f"{self._bucket.attr_vector_bucket_arn}/index/{name}"
