"""Every call our roles are granted resolves to the action and the exact ARN the policies name."""

import json

import pytest
from botocore.exceptions import ClientError

from local.place import ACCOUNT, REGION

DENIED = {"AccessDenied", "AccessDeniedException"}


def regional(service, resource):
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"


KB = regional("bedrock", "knowledge-base/KB00000001")
INDEX = regional("s3vectors", "bucket/vectors/index/index")
CUSTOM = {"dataSourceType": "CUSTOM", "custom": {"id": "1"}}
DOCUMENTS = {"knowledgeBaseId": "KB00000001", "dataSourceId": "DS00000001", "documentIdentifiers": [CUSTOM]}
IDENTIFIED = {"customDocumentIdentifier": {"id": "1"}, "sourceType": "IN_LINE"}
INGESTED = {
    "knowledgeBaseId": "KB00000001",
    "dataSourceId": "DS00000001",
    "documents": [{"content": {"dataSourceType": "CUSTOM", "custom": IDENTIFIED}}],
}
VECTORS = {"vectorBucketName": "vectors", "indexName": "index"}
CALLS = [
    (
        "bedrock-agent-runtime",
        "retrieve",
        {"knowledgeBaseId": "KB00000001", "retrievalQuery": {"text": "x"}},
        "bedrock:Retrieve",
        KB,
    ),
    (
        "bedrock-agent",
        "ingest_knowledge_base_documents",
        INGESTED,
        "bedrock:IngestKnowledgeBaseDocuments",
        KB,
    ),
    (
        "bedrock-agent",
        "delete_knowledge_base_documents",
        DOCUMENTS,
        "bedrock:DeleteKnowledgeBaseDocuments",
        KB,
    ),
    ("bedrock-agent", "get_knowledge_base_documents", DOCUMENTS, "bedrock:GetKnowledgeBaseDocuments", KB),
    ("s3vectors", "get_vectors", {**VECTORS, "keys": ["1"]}, "s3vectors:GetVectors", INDEX),
    ("s3vectors", "get_vectors", {"indexArn": INDEX, "keys": ["1"]}, "s3vectors:GetVectors", INDEX),
    ("s3vectors", "delete_vectors", {**VECTORS, "keys": ["1"]}, "s3vectors:DeleteVectors", INDEX),
    (
        "s3vectors",
        "get_vector_bucket",
        {"vectorBucketName": "vectors"},
        "s3vectors:GetVectorBucket",
        regional("s3vectors", "bucket/vectors"),
    ),
    (
        "bedrock-runtime",
        "invoke_model",
        {"modelId": "amazon.titan-embed-text-v2:0", "body": '{"inputText": "x"}'},
        "bedrock:InvokeModel",
        f"arn:aws:bedrock:{REGION}::foundation-model/amazon.titan-embed-text-v2:0",
    ),
    (
        "events",
        "put_events",
        {"Entries": [{"Source": "u", "DetailType": "d", "Detail": "{}", "EventBusName": "bus"}]},
        "events:PutEvents",
        regional("events", "event-bus/bus"),
    ),
    (
        "dynamodb",
        "get_item",
        {"TableName": "t", "Key": {"pk": {"S": "1"}}},
        "dynamodb:GetItem",
        regional("dynamodb", "table/t"),
    ),
    (
        "dynamodb",
        "query",
        {
            "TableName": "t",
            "IndexName": "due",
            "KeyConditionExpression": "a = :a",
            "ExpressionAttributeValues": {":a": {"S": "1"}},
        },
        "dynamodb:Query",
        regional("dynamodb", "table/t/index/due"),
    ),
    (
        "s3",
        "head_object",
        {"Bucket": "exact-documents", "Key": "k/x"},
        "s3:GetObject",
        "arn:aws:s3:::exact-documents/k/x",
    ),
    (
        "s3",
        "delete_object",
        {"Bucket": "exact-documents", "Key": "k/x"},
        "s3:DeleteObject",
        "arn:aws:s3:::exact-documents/k/x",
    ),
    ("lambda", "invoke", {"FunctionName": "f"}, "lambda:InvokeFunction", regional("lambda", "function:f")),
]


def refused(call):
    """Whether IAM refuses a call; that the resource does not exist is found out only behind IAM."""
    try:
        call()
    except ClientError as error:
        code = error.response["Error"]["Code"]
        return code in DENIED or code == "403"
    return False


@pytest.fixture(scope="module")
def session_with(cloud):
    """Makes sessions of a role with one grant."""
    cloud.client("s3").create_bucket(Bucket="exact-documents")
    made = []

    def make(action, resource):
        made.append(
            cloud.role(f"exact-{len(made)}", {"Effect": "Allow", "Action": action, "Resource": resource})
        )
        return cloud.assume(made[-1])

    return make


@pytest.mark.parametrize(("service", "method", "request_", "action", "resource"), CALLS)
def test_a_call_needs_exactly_its_action_on_its_resource(
    cloud, session_with, service, method, request_, action, resource
):
    def call(granted_action, granted_resource):
        client = cloud.client(service, session_with(granted_action, granted_resource))
        return lambda: getattr(client, method)(**request_)

    assert not refused(call(action, resource))
    assert refused(call(action, f"{resource}x"))
    assert refused(call(action.partition(":")[0] + ":ListSomethingElse", resource))


def test_a_queue_is_checked_by_its_arn(cloud, session_with):
    url = cloud.client("sqs").create_queue(QueueName="exact.fifo", Attributes={"FifoQueue": "true"})[
        "QueueUrl"
    ]
    message = {"QueueUrl": url, "MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
    arn = regional("sqs", "exact.fifo")
    assert not refused(
        lambda: cloud.client("sqs", session_with("sqs:SendMessage", arn)).send_message(**message)
    )
    other = session_with("sqs:SendMessage", f"{arn}x")
    assert refused(lambda: cloud.client("sqs", other).send_message(**message))


def test_a_secret_is_checked_by_its_full_arn_whichever_way_it_is_named(cloud, session_with):
    arn = cloud.client("secretsmanager").create_secret(Name="exact", SecretString="s")["ARN"]
    granted = cloud.client("secretsmanager", session_with("secretsmanager:GetSecretValue", arn))
    assert granted.get_secret_value(SecretId=arn)["SecretString"] == "s"
    assert granted.get_secret_value(SecretId="exact")["SecretString"] == "s"
    other = cloud.client("secretsmanager", session_with("secretsmanager:GetSecretValue", f"{arn[:-1]}?x"))
    assert refused(lambda: other.get_secret_value(SecretId=arn))


class TestTaggedSessions:
    """A role that only one function's role may open, for one named scope."""

    @pytest.fixture(scope="class")
    @classmethod
    def roles(cls, cloud):
        caller = cloud.role(
            "tag-caller", {"Effect": "Allow", "Action": ["sts:AssumeRole", "sts:TagSession"], "Resource": "*"}
        )
        trust = {
            "Effect": "Allow",
            "Principal": {"AWS": caller},
            "Action": ["sts:AssumeRole", "sts:TagSession"],
            "Condition": {
                "StringLike": {"aws:RequestTag/scope": "?*"},
                "ForAllValues:StringEquals": {"aws:TagKeys": ["scope"]},
            },
        }
        nothing = {"Effect": "Allow", "Action": "sts:GetCallerIdentity", "Resource": "*"}
        return {"caller": cloud.assume(caller), "role": cloud.role("tag-scoped", nothing, trust=trust)}

    def test_the_named_role_opens_it_with_a_scope(self, cloud, roles):
        assert cloud.assume(roles["role"], {"scope": "aaaa"}, by=roles["caller"])["AccessKeyId"]

    @pytest.mark.parametrize("tags", [{}, {"scope": ""}, {"tenant": "a"}, {"scope": "a", "admin": "1"}])
    def test_no_tag_another_tag_or_one_more_tag_is_refused(self, cloud, roles, tags):
        assert refused(lambda: cloud.assume(roles["role"], tags, by=roles["caller"]))

    def test_another_role_is_refused(self, cloud, roles):
        grant = {"Effect": "Allow", "Action": "sts:*", "Resource": "*"}
        stranger = cloud.assume(cloud.role("tag-stranger", grant))
        assert refused(lambda: cloud.assume(roles["role"], {"scope": "aaaa"}, by=stranger))


def test_a_bucket_that_refuses_plain_http_answers_on_loopback(cloud, session_with):
    s3 = cloud.client("s3")
    s3.create_bucket(Bucket="tls-only")
    policy = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": ["arn:aws:s3:::tls-only", "arn:aws:s3:::tls-only/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    document = json.dumps({"Version": "2012-10-17", "Statement": [policy]})
    s3.put_bucket_policy(Bucket="tls-only", Policy=document)
    client = cloud.client("s3", session_with("s3:*", "arn:aws:s3:::tls-only/*"))
    assert client.put_object(Bucket="tls-only", Key="k", Body=b"1")["ETag"]
