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


@pytest.mark.parametrize("guide", ["deploy.md", "backends.md"])
def test_the_generations_that_a_guide_shows_can_be_deployed(guide):
    shown = re.findall(r"```json\n(.*?)```", (ROOT / "docs" / guide).read_text(), re.DOTALL)
    assert shown
    for context in shown:
        assert len(index_specs(json.loads(f"{{{context}}}")["index"])) > 1


VECTORS = {**TITAN, "backend": "s3-vectors"}


@pytest.fixture(scope="module")
def direct(tmp_path_factory) -> Template:
    """A knowledge base, and S3 Vectors without one beside it."""
    folder = tmp_path_factory.mktemp("direct") / "cdk.out"
    listed = [{"generation": 1, **TITAN}, {"generation": 2, **VECTORS}]
    synthesize(str(folder), stage="dev", index=listed)
    return Template(folder, "dev")


def test_s3_vectors_without_a_knowledge_base_is_a_bucket_that_outlives_its_generation(direct):
    """CloudFormation cannot delete a bucket with indexes it did not make."""
    bucket = direct.resources[direct.logical_id("Vectors2", "AWS::S3Vectors::VectorBucket")]
    assert bucket["Properties"]["VectorBucketName"] == "unsay-dev-g2"
    assert (bucket["DeletionPolicy"], bucket["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert len(direct.of_type("AWS::Bedrock::KnowledgeBase")) == 1


def test_without_s3_vectors_there_are_no_roles_for_it(dev):
    assert not [name for name in dev.of_type("AWS::IAM::Role") if name.startswith("ScopeRolesFinder")]


@pytest.mark.parametrize(
    ("role", "trusted", "actions"),
    [
        ("Finder", ("Api", "Mcp", "Extract", "Jobs"), {"QueryVectors", "GetVectors"}),
        ("Indexer", ("Index",), {"CreateIndex", "PutVectors", "GetVectors", "DeleteVectors"}),
    ],
)
def test_a_role_of_vector_indexes_reaches_the_index_of_its_own_root_and_one_model(
    direct, role, trusted, actions
):
    index, embed = direct.statements(f"ScopeRoles{role}")
    assert {action.removeprefix("s3vectors:") for action in listed(index["Action"])} == actions
    bucket = direct.logical_id("Vectors2", "AWS::S3Vectors::VectorBucket")
    own = {"Fn::Join": ["", [{"Fn::GetAtt": [bucket, "VectorBucketArn"]}, "/index/${aws:PrincipalTag/root}"]]}
    assert listed(index["Resource"]) == [own]
    assert embed["Action"] == "bedrock:InvokeModel"
    assert json.dumps(embed["Resource"]).count("foundation-model/") == 1
    for statement in (index, embed):
        assert statement["Condition"] == {"Null": {"aws:PrincipalTag/root": "false"}}
    made = direct.one("AWS::IAM::Role", f"ScopeRoles{role}")
    trusts = made["AssumeRolePolicyDocument"]["Statement"]
    named = {arn["Fn::GetAtt"][0] for trust in trusts for arn in listed(trust["Principal"]["AWS"])}
    assert named == {direct.logical_id(f"Functions{each}Role", "AWS::IAM::Role") for each in trusted}
    for trust in trusts:
        assert set(trust["Action"]) == {"sts:AssumeRole", "sts:TagSession"}
        assert trust["Condition"] == {
            "StringLike": {"aws:RequestTag/root": "?*"},
            "ForAllValues:StringEquals": {"aws:TagKeys": ["root"]},
        }


@pytest.mark.parametrize(
    ("function", "own", "other"),
    [
        ("Api", "Finder", "Indexer"),
        ("Mcp", "Finder", "Indexer"),
        ("Extract", "Finder", "Indexer"),
        ("Jobs", "Finder", "Indexer"),
        ("Index", "Indexer", "Finder"),
    ],
)
def test_a_function_may_assume_the_one_role_of_vector_indexes_it_needs(direct, function, own, other):
    (assume,) = (s for s in direct.statements(f"Functions{function}") if s.get("Sid") == "OpenScopes")
    assert f"ScopeRoles{own}" in json.dumps(assume["Resource"])
    assert f"ScopeRoles{other}" not in json.dumps(assume["Resource"])


def test_no_role_of_a_scope_reaches_a_vector_index_and_no_role_of_a_root_reaches_a_table(direct):
    for name in direct.of_type("AWS::IAM::Role"):
        actions = {action for s in direct.statements(name) for action in listed(s["Action"])}
        vectors = {action for action in actions if action.startswith("s3vectors:")}
        if name.startswith(("ScopeRolesFinder", "ScopeRolesIndexer")):
            assert vectors
            assert actions - vectors == {"bedrock:InvokeModel"}
        elif name.startswith("ScopeRoles"):
            assert not vectors


def test_nothing_is_open_in_a_stack_with_both(direct):
    reports = json.loads((direct.folder / "validation-report.json").read_text())["pluginReports"]
    assert [(each["conclusion"], each["violations"]) for each in reports] == [("success", [])] * 2
