"""The λs' own roles hold no data: what they may do is open a scope, and their own plumbing."""

from __future__ import annotations

import pytest

from tests.infra.conftest import listed

TRACE = {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}
LOG = {"logs:CreateLogStream", "logs:PutLogEvents"} | TRACE
OPEN = {"sts:AssumeRole", "sts:TagSession"}
KNOW_TABLES = {"dynamodb:DescribeTable", "dynamodb:BatchGetItem"}  # the mark within each, and nothing else
READ_STREAM = {"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"}
GRANTED = {
    "Api": LOG | OPEN | KNOW_TABLES | {"dynamodb:PutItem", "secretsmanager:GetSecretValue"},
    "Mcp": LOG | OPEN | KNOW_TABLES | {"dynamodb:PutItem", "secretsmanager:GetSecretValue"},
    "Authorizer": LOG | {"secretsmanager:GetSecretValue", "dynamodb:GetItem", "dynamodb:Query"},
    "Project": LOG
    | OPEN
    | KNOW_TABLES
    | READ_STREAM
    | {
        "dynamodb:ListStreams",
        "events:PutEvents",
        "sqs:SendMessage",
        "sqs:GetQueueAttributes",
        "sqs:GetQueueUrl",
    },
    "Extract": LOG
    | OPEN
    | KNOW_TABLES
    | {
        "bedrock:InvokeModel",
        "secretsmanager:GetSecretValue",
        "sqs:SendMessage",
        "sqs:ReceiveMessage",
        "sqs:DeleteMessage",
        "sqs:ChangeMessageVisibility",
        "sqs:GetQueueAttributes",
        "sqs:GetQueueUrl",
    },
    "Jobs": LOG
    | OPEN
    | KNOW_TABLES
    | {
        "secretsmanager:GetSecretValue",
        "bedrock:InvokeModel",
        "sqs:SendMessage",
        "sqs:ReceiveMessage",
        "sqs:DeleteMessage",
        "sqs:ChangeMessageVisibility",
        "sqs:GetQueueAttributes",
        "sqs:GetQueueUrl",
    },
    "Sweep": LOG
    | OPEN
    | KNOW_TABLES
    | {"secretsmanager:GetSecretValue", "sqs:SendMessage", "dynamodb:Query"},
    "Index": LOG
    | OPEN
    | KNOW_TABLES
    | {
        "sqs:SendMessage",
        "sqs:ReceiveMessage",
        "sqs:DeleteMessage",
        "sqs:ChangeMessageVisibility",
        "sqs:GetQueueAttributes",
        "sqs:GetQueueUrl",
    },
}
OPENS = {
    "Api": {"Reader", "Writer", "Eraser", "Carrier", "Access"},
    "Mcp": {"Reader", "Writer", "Eraser", "Access"},
    "Project": {"Projector", "Registrar"},
    "Index": {"Projector"},
    "Extract": {"Extractor", "Meter"},
    "Jobs": {"Remover", "Porter", "Meter"},
    "Sweep": {"Sweeper", "Meter"},
}


@pytest.mark.parametrize("name", GRANTED)
def test_a_function_holds_exactly_these_actions(dev, name):
    statements = dev.statements(f"Functions{name}Role")
    held = {action for statement in statements for action in listed(statement["Action"])}
    assert held == GRANTED[name]
    assert all(statement["Effect"] == "Allow" for statement in statements)


@pytest.mark.parametrize("name", GRANTED)
def test_a_function_names_every_resource_it_reaches(dev, name):
    anywhere = [each for each in dev.statements(f"Functions{name}Role") if "*" in listed(each["Resource"])]
    actions = {action for each in anywhere for action in listed(each["Action"])}
    assert actions == TRACE | ({"dynamodb:ListStreams"} if name == "Project" else set())


@pytest.mark.parametrize("name", OPENS)
def test_of_the_scopes_tables_a_function_itself_sees_the_mark_alone(dev, name):
    tables = {dev.logical_id(f"Tables{each}", "AWS::DynamoDB::Table") for each in ("Ledger", "Record")}
    statements = {each.get("Sid"): each for each in dev.statements(f"Functions{name}Role")}
    on_items = [
        sid
        for sid, each in statements.items()
        if any(
            f"dynamodb:{verb}" in listed(each["Action"]) for verb in ("BatchGetItem", "GetItem", "PutItem")
        )
    ]
    assert on_items == ["TableMarks"]
    mark = statements["TableMarks"]
    assert {arn["Fn::GetAtt"][0] for arn in listed(mark["Resource"])} == tables
    assert mark["Condition"] == {
        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["TABLE"]},
        "Null": {"dynamodb:LeadingKeys": "false"},
    }
    assert ("dynamodb:PutItem" in listed(mark["Action"])) == (name in ("Api", "Mcp"))


@pytest.mark.parametrize("name", ["Api", "Mcp"])
def test_a_function_that_callers_reach_reaches_no_bucket_and_no_queue(dev, name):
    data = {"AWS::S3::Bucket", "AWS::Bedrock::KnowledgeBase", "AWS::SQS::Queue"}
    for statement in dev.statements(f"Functions{name}Role"):
        for resource in listed(statement["Resource"]):
            if resource == "*":  # X-Ray, which has none
                continue
            logical_id = resource["Ref"] if "Ref" in resource else resource["Fn::GetAtt"][0]
            assert dev.resources[logical_id]["Type"] not in data


@pytest.mark.parametrize("name", OPENS)
def test_a_function_opens_scopes_with_these_roles_only(dev, name):
    (statement,) = (
        each for each in dev.statements(f"Functions{name}Role") if each.get("Sid") == "OpenScopes"
    )
    roles = [arn["Fn::GetAtt"][0] for arn in listed(statement["Resource"])]
    expected = {dev.logical_id(f"ScopeRoles{each}", "AWS::IAM::Role") for each in OPENS[name]}
    assert set(roles) == expected


@pytest.mark.parametrize("name", GRANTED)
def test_a_function_writes_to_its_own_log_only(dev, name):
    (statement,) = (each for each in dev.statements(f"Functions{name}Role") if each.get("Sid") == "OwnLog")
    own = dev.logical_id(f"Functions{name}Log", "AWS::Logs::LogGroup")
    assert statement["Resource"] == {"Fn::GetAtt": [own, "Arn"]}


@pytest.mark.parametrize(
    ("sid", "action", "partitions"),
    [
        ("ReadKeys", "dynamodb:GetItem", ["KEYS", "DELEGATION#*"]),
        ("ReadBindings", "dynamodb:Query", "BINDINGS"),
    ],
)
def test_the_authorizer_reads_single_keys_and_bindings_from_the_access_table_only(
    dev, sid, action, partitions
):
    (statement,) = (each for each in dev.statements("FunctionsAuthorizerRole") if each.get("Sid") == sid)
    access = dev.logical_id("TablesAccess", "AWS::DynamoDB::Table")
    assert statement["Action"] == action
    assert statement["Resource"] == {"Fn::GetAtt": [access, "Arn"]}
    assert listed(statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]) == listed(
        partitions
    )
    assert statement["Condition"]["Null"] == {"dynamodb:LeadingKeys": "false"}


@pytest.mark.parametrize("name", GRANTED)
def test_only_lambda_assumes_a_function_role(dev, name):
    (trust,) = dev.one("AWS::IAM::Role", f"Functions{name}Role")["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "lambda.amazonaws.com"}
