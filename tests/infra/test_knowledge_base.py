"""The knowledge base on S3 Vectors: most of it can never be changed once made, so it has to be right."""

from __future__ import annotations

import pytest

from tests.infra.conftest import listed


def test_the_index_fits_the_model_and_keeps_bedrocks_text_unfilterable(dev):
    index = dev.one("AWS::S3Vectors::Index")
    assert index["Dimension"] == 1024
    assert index["DistanceMetric"] == "cosine"
    assert index["DataType"] == "float32"
    unfilterable = index["MetadataConfiguration"]["NonFilterableMetadataKeys"]
    assert unfilterable == ["AMAZON_BEDROCK_TEXT", "AMAZON_BEDROCK_METADATA"]


def test_the_knowledge_base_embeds_with_titan_at_the_dimension_of_its_index(dev):
    configuration = dev.one("AWS::Bedrock::KnowledgeBase")["KnowledgeBaseConfiguration"]
    vector = configuration["VectorKnowledgeBaseConfiguration"]
    assert configuration["Type"] == "VECTOR"
    assert vector["EmbeddingModelArn"]["Fn::Join"][1][-1] == "::foundation-model/amazon.titan-embed-text-v2:0"
    embedding = vector["EmbeddingModelConfiguration"]["BedrockEmbeddingModelConfiguration"]
    assert embedding == {"Dimensions": 1024, "EmbeddingDataType": "FLOAT32"}


def test_the_knowledge_base_waits_for_the_policy_of_its_role(dev):
    knowledge_base = next(iter(dev.of_type("AWS::Bedrock::KnowledgeBase").values()))
    policy = dev.logical_id("KnowledgeBase", "AWS::IAM::Policy")
    assert policy in knowledge_base["DependsOn"]


def test_its_role_embeds_with_one_model_and_works_on_one_index(dev):
    embed, vectors = dev.statements("KnowledgeBaseRole")
    assert embed["Action"] == "bedrock:InvokeModel"
    assert (
        embed["Resource"]
        == dev.one("AWS::Bedrock::KnowledgeBase")["KnowledgeBaseConfiguration"][
            "VectorKnowledgeBaseConfiguration"
        ]["EmbeddingModelArn"]
    )
    assert set(listed(vectors["Action"])) == {
        "s3vectors:GetIndex",
        "s3vectors:PutVectors",
        "s3vectors:GetVectors",
        "s3vectors:ListVectors",
        "s3vectors:QueryVectors",
        "s3vectors:DeleteVectors",
    }
    index = dev.logical_id("KnowledgeBase", "AWS::S3Vectors::Index")
    assert vectors["Resource"] == {"Fn::GetAtt": [index, "IndexArn"]}


def test_only_bedrock_of_this_account_assumes_its_role(dev):
    (trust,) = dev.one("AWS::IAM::Role", "KnowledgeBaseRole")["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "bedrock.amazonaws.com"}
    assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
    assert "aws:SourceArn" in trust["Condition"]["ArnLike"]


def test_documents_come_inline_and_whole(dev):
    source = dev.one("AWS::Bedrock::DataSource")
    assert source["DataSourceConfiguration"] == {"Type": "CUSTOM"}
    chunking = source["VectorIngestionConfiguration"]["ChunkingConfiguration"]
    assert chunking == {"ChunkingStrategy": "NONE"}


@pytest.mark.parametrize(
    "kind", ["Bedrock::KnowledgeBase", "Bedrock::DataSource", "S3Vectors::VectorBucket", "S3Vectors::Index"]
)
def test_an_index_goes_with_its_generation_even_in_prod(prod, kind):
    """What outlived it would keep what is forgotten after it; the ledger makes it again."""
    for made in prod.of_type(f"AWS::{kind}").values():
        assert (made["DeletionPolicy"], made["UpdateReplacePolicy"]) == ("Delete", "Delete")
    assert prod.one("AWS::Bedrock::DataSource")["DataDeletionPolicy"] == "DELETE"


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_names_that_block_a_replacement_carry_a_generation_and_the_stage(request, stage):
    template = request.getfixturevalue(stage)
    assert template.one("AWS::S3Vectors::Index")["IndexName"] == f"unsay-{stage}-g1"
    assert template.one("AWS::Bedrock::KnowledgeBase")["Name"] == f"unsay-{stage}-g1"
