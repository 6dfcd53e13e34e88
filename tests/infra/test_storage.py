"""Tables, documents and the pepper: their keys, and what each stage keeps."""

from __future__ import annotations

import json
from collections import Counter

import pytest

STATE = {
    "AWS::DynamoDB::Table": 3,
    "AWS::SecretsManager::Secret": 1,
    "AWS::Logs::LogGroup": 9,
}
KEYS = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
every_table = pytest.mark.parametrize("table", ["Ledger", "Record", "Access"])
every_bucket = pytest.mark.parametrize("bucket", ["Documents", "Anchors", "Intake", "Transfers"])
every_kind = pytest.mark.parametrize("kind", STATE)


@every_table
def test_a_table_is_on_demand_recoverable_and_keyed_by_pk_and_sk(dev, table):
    made = dev.one("AWS::DynamoDB::Table", f"Tables{table}")
    assert made["KeySchema"] == KEYS
    assert made["BillingMode"] == "PAY_PER_REQUEST"
    assert made["PointInTimeRecoverySpecification"] == {
        "PointInTimeRecoveryEnabled": True,
        "RecoveryPeriodInDays": 35,
    }


def test_streams_carry_keys_and_never_a_text(dev):
    assert dev.one("AWS::DynamoDB::Table", "TablesLedger")["StreamSpecification"] == {
        "StreamViewType": "KEYS_ONLY"
    }
    assert dev.one("AWS::DynamoDB::Table", "TablesRecord")["StreamSpecification"] == {
        "StreamViewType": "KEYS_ONLY"
    }
    assert "StreamSpecification" not in dev.one("AWS::DynamoDB::Table", "TablesAccess")


def test_the_ledger_expires_items_and_indexes_what_is_due(dev):
    ledger = dev.one("AWS::DynamoDB::Table", "TablesLedger")
    assert ledger["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
    (due,) = ledger["GlobalSecondaryIndexes"]
    assert due["IndexName"] == "due"
    assert [key["AttributeName"] for key in due["KeySchema"]] == ["due_pk", "due_at"]
    assert due["Projection"] == {"ProjectionType": "KEYS_ONLY"}


def test_nothing_expires_from_the_record(dev):
    assert "TimeToLiveSpecification" not in dev.one("AWS::DynamoDB::Table", "TablesRecord")


def test_from_the_access_table_expires_what_says_so(dev):
    """Delegations alone carry the attribute; see the contract suite of keys."""
    access = dev.one("AWS::DynamoDB::Table", "TablesAccess")
    assert access["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}


def test_the_document_bucket_keeps_no_old_version(dev):
    bucket = dev.one("AWS::S3::Bucket", "Documents")
    assert "VersioningConfiguration" not in bucket
    assert "ObjectLockEnabled" not in bucket


@every_bucket
def test_a_bucket_is_closed_to_the_public_and_to_plain_text(dev, bucket):
    made = dev.one("AWS::S3::Bucket", bucket)
    assert set(made["PublicAccessBlockConfiguration"].values()) == {True}
    (statement,) = dev.one("AWS::S3::BucketPolicy", bucket)["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Condition"]) == (
        "Deny",
        {"Bool": {"aws:SecureTransport": "false"}},
    )


def test_the_pepper_is_generated_in_the_account_and_stands_in_no_template(dev):
    secret = dev.one("AWS::SecretsManager::Secret")
    assert secret["GenerateSecretString"] == {"ExcludePunctuation": True, "PasswordLength": 64}
    assert "SecretString" not in secret


@every_kind
def test_dev_destroys_what_prod_retains(dev, prod, kind):
    for template, policy in ((dev, "Delete"), (prod, "Retain")):
        made = template.of_type(kind).values()
        assert len(made) == STATE[kind]
        assert {each["DeletionPolicy"] for each in made} == {policy}
        assert {each["UpdateReplacePolicy"] for each in made} == {policy}


def test_dev_destroys_its_documents_and_prod_retains_them(dev, prod):
    for template, policy in ((dev, "Delete"), (prod, "Retain")):
        made = template.resources[template.logical_id("Documents", "AWS::S3::Bucket")]
        assert (made["DeletionPolicy"], made["UpdateReplacePolicy"]) == (policy, policy)


def test_anchors_are_versioned_locked_and_outlive_the_stack_in_every_stage(dev, prod):
    for template, rule in (
        (dev, {"Mode": "GOVERNANCE", "Days": 1}),
        (prod, {"Mode": "COMPLIANCE", "Days": 400}),
    ):
        made = template.resources[template.logical_id("Anchors", "AWS::S3::Bucket")]
        assert (made["DeletionPolicy"], made["UpdateReplacePolicy"]) == ("Retain", "Retain")
        bucket = made["Properties"]
        assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
        assert bucket["ObjectLockEnabled"] is True
        assert bucket["ObjectLockConfiguration"] == {
            "ObjectLockEnabled": "Enabled",
            "Rule": {"DefaultRetention": rule},
        }
        assert "LifecycleConfiguration" not in bucket


@every_table
def test_prod_refuses_to_delete_a_table_and_dev_does_not(dev, prod, table):
    assert prod.one("AWS::DynamoDB::Table", f"Tables{table}")["DeletionProtectionEnabled"] is True
    assert dev.one("AWS::DynamoDB::Table", f"Tables{table}")["DeletionProtectionEnabled"] is False


def test_prod_refuses_to_delete_the_stack(dev, prod):
    assert stack_properties(prod)["terminationProtection"] is True
    assert not stack_properties(dev).get("terminationProtection")


def kinds(template):
    return Counter(each["Type"] for each in template.resources.values())


def stack_properties(template):
    manifest = json.loads((template.folder / "manifest.json").read_text())
    return manifest["artifacts"][f"unsay-{template.stage}"]["properties"]


def test_prod_and_dev_are_the_same_stack_but_for_their_names_and_policies(dev, prod):
    assert kinds(dev) == kinds(prod)
    assert dev.body["Outputs"] == prod.body["Outputs"]
