"""The knowledge base on S3 Vectors: it proposes ids, nothing more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import RemovalPolicies, Stack
from aws_cdk import aws_bedrock as bedrock
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3vectors as s3vectors
from constructs import Construct

if TYPE_CHECKING:
    from infra.stage import Stage

# Bedrock writes these two itself. Filterable metadata is limited to 2 KB, which a text would overflow.
UNFILTERABLE = ["AMAZON_BEDROCK_TEXT", "AMAZON_BEDROCK_METADATA"]
VECTOR_ACTIONS = [
    "s3vectors:GetIndex",
    "s3vectors:PutVectors",
    "s3vectors:GetVectors",
    "s3vectors:ListVectors",
    "s3vectors:QueryVectors",
    "s3vectors:DeleteVectors",
]


class KnowledgeBase(Construct):
    """Vector bucket, index, knowledge base and a CUSTOM source: documents come inline, without sync jobs.

    Nearly every property of an index and of a knowledge base is create-only. A change there is the next
    generation, built beside this one under its own names.
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
        self._name = f"unsay-{stage.name}-g{generation}"
        self._dimension = dimension
        self._model_arn = model_arn(self, model)
        self._index = self._vector_index()
        self._role = self._service_role()
        self._policy = self._service_policy()
        self._knowledge_base = self._vector_knowledge_base()
        self._source = self._custom_source()
        # It can be made again from the ledger, and if it outlived its generation, nobody would take out of it
        # what is forgotten from then on.
        RemovalPolicies.of(self).destroy()

    @property
    def id(self) -> str:
        """The id that Retrieve and Ingest are called with."""
        return str(self._knowledge_base.attr_knowledge_base_id)

    @property
    def arn(self) -> str:
        """The only resource the Bedrock actions of a role can be bound to."""
        return str(self._knowledge_base.attr_knowledge_base_arn)

    @property
    def data_source_id(self) -> str:
        """The CUSTOM source documents are ingested into."""
        return str(self._source.attr_data_source_id)

    def _vector_index(self) -> s3vectors.CfnIndex:
        bucket = s3vectors.CfnVectorBucket(
            self,
            "VectorBucket",
            encryption_configuration=s3vectors.CfnVectorBucket.EncryptionConfigurationProperty(
                sse_type="AES256"
            ),
        )
        return s3vectors.CfnIndex(
            self,
            "VectorIndex",
            vector_bucket_arn=bucket.attr_vector_bucket_arn,
            index_name=self._name,
            data_type="float32",
            dimension=self._dimension,
            distance_metric="cosine",
            metadata_configuration=s3vectors.CfnIndex.MetadataConfigurationProperty(
                non_filterable_metadata_keys=UNFILTERABLE
            ),
        )

    def _service_role(self) -> iam.Role:
        stack = Stack.of(self)
        any_knowledge_base = stack.format_arn(service="bedrock", resource="knowledge-base", resource_name="*")
        return iam.Role(
            self,
            "Role",
            description="Bedrock embeds documents and keeps their vectors for unsay.",
            assumed_by=iam.ServicePrincipal(
                "bedrock.amazonaws.com",
                conditions={
                    "StringEquals": {"aws:SourceAccount": stack.account},
                    "ArnLike": {"aws:SourceArn": any_knowledge_base},
                },
            ),
        )

    def _service_policy(self) -> iam.Policy:
        return iam.Policy(
            self,
            "Policy",
            roles=[self._role],
            statements=[
                iam.PolicyStatement(
                    sid="Embed", actions=["bedrock:InvokeModel"], resources=[self._model_arn]
                ),
                iam.PolicyStatement(
                    sid="Vectors", actions=VECTOR_ACTIONS, resources=[self._index.attr_index_arn]
                ),
            ],
        )

    def _vector_knowledge_base(self) -> bedrock.CfnKnowledgeBase:
        kb = bedrock.CfnKnowledgeBase
        knowledge_base = kb(
            self,
            "KnowledgeBase",
            name=self._name,
            description="Proposes memory ids to unsay. The ledger decides what is shown.",
            role_arn=self._role.role_arn,
            knowledge_base_configuration=kb.KnowledgeBaseConfigurationProperty(
                type="VECTOR",
                vector_knowledge_base_configuration=kb.VectorKnowledgeBaseConfigurationProperty(
                    embedding_model_arn=self._model_arn,
                    embedding_model_configuration=kb.EmbeddingModelConfigurationProperty(
                        bedrock_embedding_model_configuration=kb.BedrockEmbeddingModelConfigurationProperty(
                            dimensions=self._dimension, embedding_data_type="FLOAT32"
                        )
                    ),
                ),
            ),
            storage_configuration=kb.StorageConfigurationProperty(
                type="S3_VECTORS",
                s3_vectors_configuration=kb.S3VectorsConfigurationProperty(
                    index_arn=self._index.attr_index_arn
                ),
            ),
        )
        # Bedrock tries the role out on creation; a role whose policy comes later fails it.
        knowledge_base.node.add_dependency(self._policy)
        return knowledge_base

    def _custom_source(self) -> bedrock.CfnDataSource:
        source = bedrock.CfnDataSource
        return source(
            self,
            "Source",
            name=f"memories-g{self.generation}",
            knowledge_base_id=self._knowledge_base.attr_knowledge_base_id,
            data_source_configuration=source.DataSourceConfigurationProperty(type="CUSTOM"),
            data_deletion_policy="DELETE",
            vector_ingestion_configuration=source.VectorIngestionConfigurationProperty(
                chunking_configuration=source.ChunkingConfigurationProperty(chunking_strategy="NONE")
            ),
        )


def model_arn(scope: Construct, model: str) -> str:
    """The ARN of a foundation model of this Region."""
    stack = Stack.of(scope)
    arn = stack.format_arn(service="bedrock", account="", resource="foundation-model", resource_name=model)
    return str(arn)
