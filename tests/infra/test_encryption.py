"""`encryption: cmk`, and what holds of every store whichever key it has."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from aws_cdk import App, Stack

from infra.encryption import is_own_key
from tests.infra.conftest import Template, listed

STORES = {
    "AWS::DynamoDB::Table": lambda each: each["SSESpecification"]["KMSMasterKeyId"],
    "AWS::S3::Bucket": lambda each: _rule(each)["ServerSideEncryptionByDefault"]["KMSMasterKeyID"],
    "AWS::S3Vectors::VectorBucket": lambda each: each["EncryptionConfiguration"]["KmsKeyArn"],
    "AWS::SQS::Queue": lambda each: each["KmsMasterKeyId"],
    "AWS::Events::EventBus": lambda each: each["KmsKeyIdentifier"],
    "AWS::Logs::LogGroup": lambda each: each["KmsKeyId"],
    "AWS::SecretsManager::Secret": lambda each: each["KmsKeyId"],
}


def _rule(bucket):
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    return rule


@pytest.mark.parametrize("kind", STORES)
def test_whatever_keeps_something_is_under_the_key(guarded: Template, kind: str):
    (key,) = guarded.of_type("AWS::KMS::Key")
    for name, each in guarded.of_type(kind).items():
        assert STORES[kind](each["Properties"]) == {"Fn::GetAtt": [key, "Arn"]}, name


def test_a_bucket_asks_for_a_key_of_its_own_below_it(guarded: Template):
    for each in guarded.of_type("AWS::S3::Bucket").values():
        assert _rule(each["Properties"])["BucketKeyEnabled"] is True


def test_the_key_is_rotated_and_outlives_a_stack_to_keep(guarded: Template):
    (key,) = guarded.of_type("AWS::KMS::Key").values()
    assert key["Properties"]["EnableKeyRotation"] is True
    assert key["DeletionPolicy"] == "Retain"


def test_principals_of_the_account_use_it_through_the_stores_alone(guarded: Template):
    (key,) = guarded.of_type("AWS::KMS::Key").values()
    statements = {each.get("Sid", "Administer"): each for each in key["Properties"]["KeyPolicy"]["Statement"]}
    assert statements.keys() == {"Administer", "ThroughServices", "Logs", "Events", "VectorIndexing"}
    through = statements["ThroughServices"]["Condition"]["StringEquals"]
    assert through["kms:CallerAccount"] == {"Ref": "AWS::AccountId"}
    services = [each["Fn::Join"][1][0].rstrip(".") for each in through["kms:ViaService"]]
    assert services == ["dynamodb", "s3", "sqs", "secretsmanager", "s3vectors", "events"]
    for sid in ("Logs", "Events", "VectorIndexing"):
        assert statements[sid]["Condition"], f"{sid} is bound to this account"


def test_no_role_may_use_the_key_by_itself(guarded: Template):
    documents = [
        each["Properties"]["PolicyDocument"] for each in guarded.of_type("AWS::IAM::Policy").values()
    ]
    for role in guarded.of_type("AWS::IAM::Role").values():
        documents += [each["PolicyDocument"] for each in role["Properties"].get("Policies", [])]
    actions = [a for each in documents for s in each["Statement"] for a in listed(s["Action"])]
    assert "dynamodb:PutItem" in actions
    assert [action for action in actions if action.startswith("kms:")] == []


def test_by_default_there_is_no_key(prod: Template):
    assert "AWS::KMS::Key" not in {each["Type"] for each in prod.resources.values()}


def test_a_word_that_is_no_encryption_is_refused():
    with pytest.raises(ValueError, match="choose aws or cmk"):
        is_own_key(Stack(App(context={"encryption": "rot13"}), "S"))


def test_with_the_key_both_packs_and_cfn_lint_find_nothing(guarded: Template):
    reports = json.loads((guarded.folder / "validation-report.json").read_text())["pluginReports"]
    assert [each["violations"] for each in reports] == [[], []]
    cfn_lint = Path(sys.executable).with_name("cfn-lint")
    command = [cfn_lint, "--regions", "us-east-1", "--ignore-checks", "W3005", "--", guarded.path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ---- with any key


def test_every_bucket_is_private_and_reached_over_tls_alone(prod: Template):
    policies = [each["Properties"] for each in prod.of_type("AWS::S3::BucketPolicy").values()]
    for name, bucket in prod.of_type("AWS::S3::Bucket").items():
        assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}, name
        (policy,) = [each["PolicyDocument"] for each in policies if each["Bucket"] == {"Ref": name}]
        assert any(_is_tls_only(statement) for statement in policy["Statement"]), name


def test_every_queue_is_reached_over_tls_alone(prod: Template):
    policies = [each["Properties"] for each in prod.of_type("AWS::SQS::QueuePolicy").values()]
    for name in prod.of_type("AWS::SQS::Queue"):
        own = [each["PolicyDocument"] for each in policies if {"Ref": name} in each["Queues"]]
        assert any(_is_tls_only(statement) for each in own for statement in each["Statement"]), name


def test_only_what_must_not_be_lost_has_versions(prod: Template):
    """A noncurrent version would outlive a forget; an anchor's tells of a fork, and holds no text."""
    versioned = [
        name
        for name, each in prod.of_type("AWS::S3::Bucket").items()
        if each["Properties"].get("VersioningConfiguration")
    ]
    assert [name.startswith("Anchors") for name in versioned] == [True]


def test_every_log_has_an_end(prod: Template):
    assert {
        each["Properties"]["RetentionInDays"] for each in prod.of_type("AWS::Logs::LogGroup").values()
    } == {30}


def _is_tls_only(statement):
    return statement["Effect"] == "Deny" and statement.get("Condition") == {
        "Bool": {"aws:SecureTransport": "false"}
    }
