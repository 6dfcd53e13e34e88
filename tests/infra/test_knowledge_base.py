"""The knowledge base on S3 Vectors: most of it can never be changed once made, so it has to be right."""

from __future__ import annotations

import json
import re

import pytest

from app import synthesize
from infra.freshness import ROOT
from infra.index import IndexSpec, index_specs
from tests.infra.conftest import Template, listed

TITAN = {"backend": "knowledge-base", "model": "amazon.titan-embed-text-v2:0", "dimension": 1024}
NOVA = {"backend": "knowledge-base", "model": "amazon.nova-2-multimodal-embeddings-v1:0", "dimension": 384}


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> Template:
    """Two generations side by side."""
    folder = tmp_path_factory.mktemp("two") / "cdk.out"
    synthesize(str(folder), stage="dev", index=[{"generation": 1, **TITAN}, {"generation": 3, **NOVA}])
    return Template(folder, "dev")


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


def test_a_second_generation_stands_beside_the_first_which_is_not_touched(dev, two):
    for name, made in dev.of_type("AWS::Bedrock::KnowledgeBase").items():
        assert two.resources[name] == made
    indexes = {
        each["Properties"]["IndexName"]: each for each in two.of_type("AWS::S3Vectors::Index").values()
    }
    assert indexes.keys() == {"unsay-dev-g1", "unsay-dev-g3"}
    assert indexes["unsay-dev-g3"]["Properties"]["Dimension"] == 384
    names = {each["Properties"]["Name"] for each in two.of_type("AWS::Bedrock::KnowledgeBase").values()}
    assert names == {"unsay-dev-g1", "unsay-dev-g3"}


def test_every_function_that_uses_the_index_is_told_of_all_its_generations(two):
    told = two.body["Outputs"]["IndexGenerations"]["Value"]
    text = "".join(part if isinstance(part, str) else "X" for part in told["Fn::Join"][1])
    assert [(each["number"], each["backend"]) for each in json.loads(text)] == [
        (1, "knowledge-base"),
        (3, "knowledge-base"),
    ]
    for name in ("Api", "Index"):
        function = two.one("AWS::Lambda::Function", f"Functions{name}")
        assert function["Environment"]["Variables"]["UNSAY_INDEX_GENERATIONS"] == told


def test_scope_roles_reach_every_generation_and_nothing_else(two):
    bases = {
        json.dumps({"Fn::GetAtt": [name, "KnowledgeBaseArn"]})
        for name in two.of_type("AWS::Bedrock::KnowledgeBase")
    }
    for role in ("ScopeRolesReader", "ScopeRolesProjector"):
        (statement,) = (each for each in two.statements(role) if each.get("Sid") == "KnowledgeBase")
        assert {json.dumps(arn) for arn in listed(statement["Resource"])} == bases


@pytest.mark.parametrize(
    "context",
    [
        [],
        [{"generation": 1, **TITAN}, {"generation": 1, **NOVA}],
        [{"generation": 0, **TITAN}],
        [{"generation": 1, **TITAN, "dimension": 384}],
        [{"generation": 1, **TITAN, "model": "amazon.titan-embed-text-v1"}],
        [{"generation": 1, **TITAN, "backend": "a-spreadsheet"}],
    ],
)
def test_what_cannot_be_deployed_is_refused_at_synth(context):
    with pytest.raises(ValueError, match="index: "):
        index_specs(context)


def test_the_context_may_come_as_text_from_the_command_line():
    assert index_specs(json.dumps([{"generation": 2, **NOVA}])) == [IndexSpec(2, *NOVA.values())]


def test_the_generations_of_the_deployment_guide_can_be_deployed():
    shown = re.findall(r"```json\n(.*?)```", (ROOT / "docs" / "deploy.md").read_text(), re.DOTALL)
    assert shown
    for context in shown:
        assert len(index_specs(json.loads(f"{{{context}}}")["index"])) > 1
