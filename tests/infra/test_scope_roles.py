"""The wall, as written: what a role may do in an opened scope, and that nothing else opens one.

The table is repeated here on purpose: a change of a permission has to be made twice.
"""

from __future__ import annotations

import json

import pytest

from tests.infra.conftest import listed

OWN = "${aws:PrincipalTag/scope}"
READS = {"BatchGetItem": "*", "Query": "*"}
RETRIEVE = {"Retrieve"}
WRITE_INDEX = {"IngestKnowledgeBaseDocuments", "DeleteKnowledgeBaseDocuments", "GetKnowledgeBaseDocuments"}
GRANTED = {
    "Reader": {"Ledger": READS, "Record": READS},
    "Writer": {
        "Ledger": READS | {"PutItem": "HMVDKPRCQIJ", "DeleteItem": "DKR"},
        "Record": READS | {"PutItem": "AT", "ConditionCheckItem": "T"},
    },
    "Eraser": {
        "Ledger": READS | {"PutItem": "HMVDPREIKC", "DeleteItem": "MVDKR"},
        "Record": READS | {"PutItem": "AT"},
    },
    "Extractor": {
        "Ledger": READS | {"PutItem": "HMVDKPRCQ", "DeleteItem": "DKPRCQ", "ConditionCheckItem": "*"},
        "Record": READS | {"PutItem": "AT", "ConditionCheckItem": "T"},
    },
    "Projector": {
        "Ledger": READS | {"PutItem": "MPXW", "DeleteItem": "PXW", "ConditionCheckItem": "PW"},
        "Record": READS,
    },
    "Remover": {
        "Ledger": READS | {"PutItem": "HMVPREKCJD", "DeleteItem": "MVDKRCQIJ"},
        "Record": READS | {"PutItem": "AT"},
    },
    "Carrier": {
        "Ledger": {"BatchGetItem": "*", "PutItem": "HIJ"},
        "Record": {"BatchGetItem": "*", "PutItem": "A"},
    },
    "Porter": {
        "Ledger": READS | {"PutItem": "HMVDKPRJ", "DeleteItem": "DKR", "ConditionCheckItem": "H"},
        "Record": READS | {"PutItem": "AT", "ConditionCheckItem": "T"},
    },
    "Sweeper": {
        "Ledger": READS | {"PutItem": "HMPEJCQ"},
        "Record": READS | {"PutItem": "A"},
    },
}
TRUSTED = {
    "Reader": ["FunctionsApiRole", "FunctionsMcpRole"],
    "Writer": ["FunctionsApiRole", "FunctionsMcpRole"],
    "Eraser": ["FunctionsApiRole", "FunctionsMcpRole"],
    "Extractor": ["FunctionsExtractRole"],
    "Projector": ["FunctionsProjectRole", "FunctionsIndexRole"],
    "Remover": ["FunctionsJobsRole"],
    "Carrier": ["FunctionsApiRole"],
    "Porter": ["FunctionsJobsRole"],
    "Sweeper": ["FunctionsSweepRole"],
}
KNOWLEDGE_BASE = {
    "Reader": RETRIEVE,
    "Writer": set(),
    "Eraser": set(),
    "Extractor": RETRIEVE,
    "Projector": WRITE_INDEX,
    "Remover": {"GetKnowledgeBaseDocuments", "Retrieve"},
    "Carrier": set(),
    "Porter": set(),
    "Sweeper": set(),
}

METERING = ("Extract", "Jobs", "Sweep")
EVERY_ROLE = (*GRANTED, "Access", "Registrar", "Meter")

every_tagged_role = pytest.mark.parametrize("role", GRANTED)


def actions_of(statement, service):
    return {action.removeprefix(f"{service}:") for action in listed(statement["Action"])}


def of_service(statements, service):
    return [each for each in statements if listed(each["Action"])[0].startswith(f"{service}:")]


def table_of(template, statement):
    (arn,) = listed(statement["Resource"])
    logical_id, attribute = arn["Fn::GetAtt"]
    assert attribute == "Arn"
    assert template.resources[logical_id]["Type"] == "AWS::DynamoDB::Table"
    return logical_id.removeprefix("Tables")[: len("Ledger")]


def areas_of(statement):
    patterns = statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
    assert all(pattern.startswith(f"{OWN}#") for pattern in patterns)
    return "".join(pattern.removeprefix(f"{OWN}#") for pattern in patterns)


@every_tagged_role
def test_a_role_reaches_exactly_these_areas_of_these_tables(dev, role):
    found: dict[str, dict[str, str]] = {}
    for statement in of_service(dev.statements(f"ScopeRoles{role}"), "dynamodb"):
        for action in actions_of(statement, "dynamodb"):
            areas = found.setdefault(table_of(dev, statement), {})
            assert action not in areas, "one statement per action and table"
            areas[action] = areas_of(statement)
    assert found == GRANTED[role]


@every_tagged_role
def test_a_statement_on_items_does_not_hold_without_a_leading_key_or_without_the_tag(dev, role):
    for statement in of_service(dev.statements(f"ScopeRoles{role}"), "dynamodb"):
        guards = {"dynamodb:LeadingKeys": "false", "aws:PrincipalTag/scope": "false"}
        assert statement["Condition"]["Null"] == guards
        assert statement["Condition"].keys() == {"Null", "ForAllValues:StringLike"}


@every_tagged_role
def test_no_statement_of_a_role_holds_without_the_tag(dev, role):
    for statement in dev.statements(f"ScopeRoles{role}"):
        assert statement["Condition"]["Null"]["aws:PrincipalTag/scope"] == "false"


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_no_role_scans_speaks_partiql_or_holds_a_wildcard(dev, role):
    for statement in dev.statements(f"ScopeRoles{role}"):
        assert statement["Effect"] == "Allow"
        assert "NotAction" not in statement
        assert "NotResource" not in statement
        assert "*" not in listed(statement["Resource"])
        for action in listed(statement["Action"]):
            assert "*" not in action
            assert "Scan" not in action
            assert "PartiQL" not in action


@every_tagged_role
def test_only_these_functions_assume_a_role_and_only_with_a_scope_tag(dev, role):
    trust = dev.one("AWS::IAM::Role", f"ScopeRoles{role}")["AssumeRolePolicyDocument"]["Statement"]
    callers = []
    for statement in trust:
        assert statement["Effect"] == "Allow"
        assert set(listed(statement["Action"])) == {"sts:AssumeRole", "sts:TagSession"}
        assert statement["Condition"] == {
            "StringLike": {"aws:RequestTag/scope": "?*"},
            "ForAllValues:StringEquals": {"aws:TagKeys": ["scope"]},
        }
        assert statement["Principal"].keys() == {"AWS"}
        callers += [arn["Fn::GetAtt"] for arn in listed(statement["Principal"]["AWS"])]
    expected = [[dev.logical_id(prefix, "AWS::IAM::Role"), "Arn"] for prefix in TRUSTED[role]]
    assert sorted(callers) == sorted(expected)


@every_tagged_role
def test_a_role_calls_the_knowledge_base_only_for_its_own_part(dev, role):
    statements = of_service(dev.statements(f"ScopeRoles{role}"), "bedrock")
    allowed = set().union(*(actions_of(each, "bedrock") for each in statements))
    assert allowed == KNOWLEDGE_BASE[role]
    for statement in statements:
        knowledge_base = dev.logical_id("KnowledgeBase", "AWS::Bedrock::KnowledgeBase")
        assert statement["Resource"] == {"Fn::GetAtt": [knowledge_base, "KnowledgeBaseArn"]}


@pytest.mark.parametrize(
    ("role", "actions"),
    [("Projector", {"GetObject", "PutObject", "DeleteObject"}), ("Remover", {"DeleteObject"})],
)
def test_only_these_touch_documents_and_only_under_their_own_prefix(dev, role, actions):
    touching = {role for role in EVERY_ROLE if on_bucket(dev, role, "Documents")}
    assert touching == {"Projector", "Remover"}
    objects, listing = on_bucket(dev, role, "Documents")
    assert actions_of(objects, "s3") == actions
    assert objects["Resource"] == objects_of_own_scope(dev, "Documents")
    assert actions_of(listing, "s3") == {"ListBucket"}
    lists_its_own_prefix_only(listing)


def test_files_of_exports_and_imports_are_signed_by_one_role_and_carried_by_another(dev):
    assert {role for role in EVERY_ROLE if on_bucket(dev, role, "Transfers")} == {
        "Carrier",
        "Porter",
        "Remover",
    }
    carried = {"GetObject", "PutObject"}
    for role, may in (
        ("Carrier", carried),
        ("Porter", carried | {"DeleteObject"}),
        ("Remover", {"DeleteObject"}),
    ):
        objects, listing = on_bucket(dev, role, "Transfers")
        assert actions_of(objects, "s3") == may
        assert objects["Resource"] == objects_of_own_scope(dev, "Transfers")
        assert objects["Condition"] == {"Null": {"aws:PrincipalTag/scope": "false"}}
        lists_its_own_prefix_only(listing)


def test_a_copy_is_gone_after_a_day(dev, prod):
    for template in (dev, prod):
        (rule,) = template.one("AWS::S3::Bucket", "Transfers")["LifecycleConfiguration"]["Rules"]
        assert (rule["Status"], rule["ExpirationInDays"]) == ("Enabled", 1)
        assert "VersioningConfiguration" not in template.one("AWS::S3::Bucket", "Transfers")


def test_a_transcript_is_put_by_the_writer_read_by_the_extractor_and_found_by_who_removes_it(dev):
    assert {role for role in EVERY_ROLE if on_bucket(dev, role, "Intake")} == {
        "Writer",
        "Extractor",
        "Remover",
    }
    for role, actions in (
        ("Writer", {"PutObject"}),
        ("Extractor", {"GetObject", "DeleteObject"}),
        ("Remover", {"DeleteObject"}),
    ):
        objects, *listing = on_bucket(dev, role, "Intake")
        assert [actions_of(each, "s3") for each in listing] == ([{"ListBucket"}] if role == "Remover" else [])
        for each in listing:
            lists_its_own_prefix_only(each)
        assert actions_of(objects, "s3") == actions
        assert objects["Resource"] == objects_of_own_scope(dev, "Intake")
        assert objects["Condition"] == {"Null": {"aws:PrincipalTag/scope": "false"}}


def test_an_anchor_is_added_by_the_projector_listed_by_the_reader_and_taken_back_by_nobody(dev):
    assert {role for role in EVERY_ROLE if on_bucket(dev, role, "Anchors")} == {"Projector", "Reader"}
    (adding,) = on_bucket(dev, "Projector", "Anchors")
    assert actions_of(adding, "s3") == {"PutObject"}
    assert adding["Resource"] == objects_of_own_scope(dev, "Anchors")
    (listing,) = on_bucket(dev, "Reader", "Anchors")
    assert actions_of(listing, "s3") == {"ListBucketVersions"}
    lists_its_own_prefix_only(listing)


def test_nobody_at_all_shortens_a_lock_or_reaches_an_anchor_beside_the_two(dev):
    for logical_id in dev.of_type("AWS::IAM::Role"):
        for statement in dev.statements(logical_id):
            actions = actions_of(statement, "s3")
            assert not {each for each in actions if "Retention" in each or "LegalHold" in each}
            assert not {each for each in actions if "ObjectVersion" in each or "*" in each}
            if "Anchors" in json.dumps(statement["Resource"]):
                assert actions in ({"PutObject"}, {"ListBucketVersions"})


def on_bucket(template, role, name):
    statements = of_service(template.statements(f"ScopeRoles{role}"), "s3")
    bucket = template.logical_id(name, "AWS::S3::Bucket")
    return [each for each in statements if bucket in json.dumps(each["Resource"])]


def objects_of_own_scope(template, name):
    arn = {"Fn::GetAtt": [template.logical_id(name, "AWS::S3::Bucket"), "Arn"]}
    return {"Fn::Join": ["", [arn, f"/{OWN}/*"]]}


def lists_its_own_prefix_only(statement):
    assert statement["Condition"]["StringLike"] == {"s3:prefix": [f"{OWN}/*"]}
    assert statement["Condition"]["Null"]["s3:prefix"] == "false"


def test_the_access_role_reaches_the_access_table_alone(dev):
    (statement,) = dev.statements("ScopeRolesAccess")
    assert table_of(dev, statement) == "Access"
    assert actions_of(statement, "dynamodb") == {
        "GetItem",
        "PutItem",
        "UpdateItem",
        "Query",
        "ConditionCheckItem",
    }
    (trust,) = dev.one("AWS::IAM::Role", "ScopeRolesAccess")["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Action"] == "sts:AssumeRole"
    trusted = [dev.logical_id(f"Functions{name}Role", "AWS::IAM::Role") for name in ("Api", "Mcp")]
    assert trust["Principal"] == {"AWS": [{"Fn::GetAtt": [role, "Arn"]} for role in trusted]}


def test_the_registrar_adds_names_of_scopes_and_reaches_no_key(dev):
    (statement,) = dev.statements("ScopeRolesRegistrar")
    assert table_of(dev, statement) == "Access"
    assert actions_of(statement, "dynamodb") == {"PutItem"}
    assert statement["Condition"] == {
        "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["ROOTS", "SCOPES#*"]},
        "Null": {"dynamodb:LeadingKeys": "false"},
    }
    (trust,) = dev.one("AWS::IAM::Role", "ScopeRolesRegistrar")["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Action"] == "sts:AssumeRole"
    project = dev.logical_id("FunctionsProjectRole", "AWS::IAM::Role")
    assert trust["Principal"] == {"AWS": {"Fn::GetAtt": [project, "Arn"]}}


def test_the_meter_reads_policies_and_counts_and_reaches_no_key(dev):
    reading, counting = sorted(dev.statements("ScopeRolesMeter"), key=lambda each: listed(each["Action"])[0])
    assert {table_of(dev, each) for each in (reading, counting)} == {"Access"}
    assert (actions_of(reading, "dynamodb"), actions_of(counting, "dynamodb")) == (
        {"GetItem"},
        {"UpdateItem"},
    )
    for statement, keys in ((reading, ["POLICY#*", "METER#*", "INDEX"]), (counting, ["METER#*"])):
        assert statement["Condition"] == {
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": keys},
            "Null": {"dynamodb:LeadingKeys": "false"},
        }
    (trust,) = dev.one("AWS::IAM::Role", "ScopeRolesMeter")["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Action"] == "sts:AssumeRole"
    callers = [dev.logical_id(f"Functions{name}Role", "AWS::IAM::Role") for name in METERING]
    assert trust["Principal"] == {"AWS": [{"Fn::GetAtt": [caller, "Arn"]} for caller in callers]}


def test_nobody_deletes_from_the_record(dev):
    destructive = {"DeleteItem", "UpdateItem", "BatchWriteItem"}
    record = {"Fn::GetAtt": [dev.logical_id("TablesRecord", "AWS::DynamoDB::Table"), "Arn"]}
    reached = 0
    for role in dev.of_type("AWS::IAM::Role"):
        for statement in dev.statements(role):
            if record in listed(statement["Resource"]):
                reached += 1
                assert not actions_of(statement, "dynamodb") & destructive
    assert reached, "a record nobody reaches would prove nothing"
