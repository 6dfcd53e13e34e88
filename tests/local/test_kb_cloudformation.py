"""The CloudFormation types of S3 Vectors and Bedrock knowledge bases."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.local.kb_cloud import Cloud, document, index_resource, knowledge_base, template, wait_until

pytest_plugins = ["tests.local.kb_fixtures"]

NUMBERS = itertools.count()


@pytest.fixture
def name(ai_cloud: Cloud) -> Iterator[str]:
    """A fresh stack name; the stack is gone after the test."""
    stack = f"stack-{next(NUMBERS)}"
    yield stack
    cloudformation = ai_cloud.client("cloudformation")
    left = [each for each in cloudformation.list_stacks()["StackSummaries"] if each["StackName"] == stack]
    if left and left[0]["StackStatus"] != "DELETE_COMPLETE":
        ai_cloud.delete_stack(stack)


def refused(cloud: Cloud, name: str, **changes: Any) -> str:
    with pytest.raises(AssertionError, match="ROLLBACK") as caught:
        cloud.deploy(name, template(name, **changes))
    return str(caught.value)


def without_permission(action: str) -> dict[str, Any]:
    policy = template("x")["Resources"]["RolePolicy"]
    for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
        if isinstance(statement["Action"], list):
            statement["Action"] = [each for each in statement["Action"] if each != action]
    return policy


def test_references_and_attributes_are_those_of_the_schemas(ai_cloud: Cloud, name: str) -> None:
    outputs = ai_cloud.deploy(name, template(name))
    agent = ai_cloud.client("bedrock-agent")
    held = agent.get_knowledge_base(knowledgeBaseId=outputs["KnowledgeBaseId"])["knowledgeBase"]
    assert held["knowledgeBaseArn"] == outputs["KnowledgeBaseArn"]
    assert held["storageConfiguration"]["s3VectorsConfiguration"]["indexArn"] == outputs["IndexArn"]
    assert outputs["DataSourceRef"] == f"{outputs['KnowledgeBaseId']}|{outputs['DataSourceId']}"
    assert outputs["IndexArn"].startswith(outputs["VectorBucketArn"] + "/index/")
    source = agent.get_data_source(
        knowledgeBaseId=outputs["KnowledgeBaseId"], dataSourceId=outputs["DataSourceId"]
    )
    assert source["dataSource"]["dataDeletionPolicy"] == "DELETE"
    assert agent.list_tags_for_resource(resourceArn=outputs["KnowledgeBaseArn"])["tags"]["Owner"] == "tests"


def test_a_deleted_stack_leaves_nothing_behind(ai_cloud: Cloud, name: str) -> None:
    outputs = ai_cloud.deploy(name, template(name))
    kb = knowledge_base(ai_cloud, outputs)
    ai_cloud.faults(kb_lag_seconds=0)
    kb.ingest(document("d", "a text"))
    assert kb.found("a text") == ["d"]
    assert ai_cloud.delete_stack(name) == "DELETE_COMPLETE"
    for call, arguments in (
        (ai_cloud.client("s3vectors").get_index, {"indexArn": outputs["IndexArn"]}),
        (ai_cloud.client("s3vectors").get_vector_bucket, {"vectorBucketArn": outputs["VectorBucketArn"]}),
        (kb.agent.get_knowledge_base, {"knowledgeBaseId": kb.id}),
        (kb.agent.get_data_source, {"knowledgeBaseId": kb.id, "dataSourceId": kb.data_source}),
    ):
        with pytest.raises(ClientError, match="NotFound"):
            call(**arguments)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"Index": index_resource(Dimension=512)}, "512 dimensions, the embedding model 1024"),
        ({"RolePolicy": without_permission("s3vectors:QueryVectors")}, "may not s3vectors:QueryVectors"),
        ({"RolePolicy": without_permission("s3vectors:DeleteVectors")}, "may not s3vectors:DeleteVectors"),
    ],
    ids=["dimension", "query", "delete"],
)
def test_a_knowledge_base_that_could_not_work_is_refused(
    ai_cloud: Cloud, name: str, changes: dict, reason: str
) -> None:
    assert reason in refused(ai_cloud, name, **changes)


def test_a_knowledge_base_with_an_absent_role_is_refused(ai_cloud: Cloud, name: str) -> None:
    resource = template(name)["Resources"]["KnowledgeBase"]
    resource["Properties"]["RoleArn"] = "arn:aws:iam::000000000000:role/absent"
    assert "unable to assume the given role" in refused(ai_cloud, name, KnowledgeBase=resource)


def test_a_knowledge_base_whose_role_does_not_trust_bedrock_is_refused(ai_cloud: Cloud, name: str) -> None:
    role = template(name)["Resources"]["Role"]
    statement = role["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]
    statement["Principal"]["Service"] = "lambda.amazonaws.com"
    assert "does not trust bedrock.amazonaws.com" in refused(ai_cloud, name, Role=role)


def test_a_bucket_that_holds_a_foreign_index_is_not_deleted(ai_cloud: Cloud, name: str) -> None:
    outputs = ai_cloud.deploy(name, template(name))
    vectors = ai_cloud.client("s3vectors")
    made = {"indexName": "foreign", "dataType": "float32", "dimension": 4, "distanceMetric": "cosine"}
    foreign = vectors.create_index(vectorBucketArn=outputs["VectorBucketArn"], **made)["indexArn"]
    assert ai_cloud.delete_stack(name) == "DELETE_FAILED"
    assert "not empty" in ai_cloud.reasons(name)
    vectors.delete_index(indexArn=foreign)


def test_a_changed_index_is_replaced_and_the_knowledge_base_with_it(ai_cloud: Cloud, name: str) -> None:
    before = ai_cloud.deploy(name, template(name))
    changed = template(f"{name}-2", Index=index_resource(DistanceMetric="euclidean"))
    after = ai_cloud.deploy(name, changed)
    assert after["IndexArn"] != before["IndexArn"]
    assert after["KnowledgeBaseId"] != before["KnowledgeBaseId"]
    assert after["VectorBucketArn"] == before["VectorBucketArn"]
    vectors = ai_cloud.client("s3vectors")
    held = vectors.list_indexes(vectorBucketArn=after["VectorBucketArn"])["indexes"]
    assert [index["indexArn"] for index in held] == [after["IndexArn"]]


def test_replacing_a_knowledge_base_under_its_name_fails_and_rolls_back(ai_cloud: Cloud, name: str) -> None:
    before = ai_cloud.deploy(name, template(name))
    changed = template(name, Index=index_resource(DistanceMetric="euclidean"))
    with pytest.raises(AssertionError, match=f"KnowledgeBase with name {name} already exists"):
        ai_cloud.deploy(name, changed)
    kb = knowledge_base(ai_cloud, before)
    ai_cloud.faults(kb_lag_seconds=0)
    kb.ingest(document("d", "still here"))
    wait_until(lambda: kb.found("still here") == ["d"])


def test_a_new_description_updates_in_place(ai_cloud: Cloud, name: str) -> None:
    before = ai_cloud.deploy(name, template(name))
    resource = template(name)["Resources"]["KnowledgeBase"]
    resource["Properties"] |= {"Description": "for the tests", "Tags": {"Owner": "others"}}
    after = ai_cloud.deploy(name, template(name, KnowledgeBase=resource))
    assert after == before
    agent = ai_cloud.client("bedrock-agent")
    held = agent.get_knowledge_base(knowledgeBaseId=after["KnowledgeBaseId"])["knowledgeBase"]
    assert held["description"] == "for the tests"
    assert agent.list_tags_for_resource(resourceArn=after["KnowledgeBaseArn"])["tags"]["Owner"] == "others"


def test_a_bucket_policy_is_kept_and_removed_with_its_resource(ai_cloud: Cloud, name: str) -> None:
    policy = {
        "Type": "AWS::S3Vectors::VectorBucketPolicy",
        "Properties": {
            "VectorBucketArn": {"Fn::GetAtt": ["Bucket", "VectorBucketArn"]},
            "Policy": {"Version": "2012-10-17", "Statement": []},
        },
    }
    outputs = ai_cloud.deploy(name, template(name, Policy=policy))
    vectors = ai_cloud.client("s3vectors")
    held = vectors.get_vector_bucket_policy(vectorBucketArn=outputs["VectorBucketArn"])["policy"]
    assert '"2012-10-17"' in held
    ai_cloud.deploy(name, template(name))
    with pytest.raises(ClientError, match="NotFound"):
        vectors.get_vector_bucket_policy(vectorBucketArn=outputs["VectorBucketArn"])
