"""cdk-nag and cfn-lint: nothing open, and everything answered for is answered on one construct."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_s3 as s3

from infra.checks import acknowledge, check_with_cdk_nag

# The CDK writes a DependsOn on the role beside the reference to it.
CDKS_OWN_WARNINGS = ["W3005"]
ANSWERED_FOR = {
    ("S1", "Documents/Bucket"),
    ("SMG4", "Pepper/Secret"),
    ("L1", "Functions/Api/Function"),
    ("L1", "Functions/Mcp/Function"),
    ("L1", "Functions/Authorizer/Function"),
    ("L1", "Functions/Project/Function"),
    ("L1", "Functions/Index/Function"),
    ("L1", "Functions/Extract/Function"),
    ("L1", "Functions/Jobs/Function"),
    ("L1", "Functions/Sweep/Function"),
    (
        "IAM5[Resource::arn:<AWS::Partition>:bedrock:*::foundation-model/amazon.nova-2-lite-v1:0]",
        "Functions/Extract/Role",
    ),
    (
        "IAM5[Resource::arn:<AWS::Partition>:bedrock:*::foundation-model/amazon.nova-2-lite-v1:0]",
        "Functions/Jobs/Role",
    ),
    ("S1", "Anchors/Bucket"),
    ("S1", "Intake/Bucket"),
    ("S1", "Transfers/Bucket"),
    ("IAM5[Resource::<TransfersBucket5F697928.Arn>/<aws:PrincipalTag/scope>/*]", "ScopeRoles/Carrier"),
    ("IAM5[Resource::<TransfersBucket5F697928.Arn>/<aws:PrincipalTag/scope>/*]", "ScopeRoles/Porter"),
    ("IAM5[Resource::<TransfersBucket5F697928.Arn>/<aws:PrincipalTag/scope>/*]", "ScopeRoles/Remover"),
    ("IAM5[Resource::<IntakeBucketDF3620F2.Arn>/<aws:PrincipalTag/scope>/*]", "ScopeRoles/Writer"),
    ("IAM5[Resource::<IntakeBucketDF3620F2.Arn>/<aws:PrincipalTag/scope>/*]", "ScopeRoles/Extractor"),
    ("IAM5[Resource::<IntakeBucketDF3620F2.Arn>/<aws:PrincipalTag/scope>/*]", "ScopeRoles/Remover"),
    ("IAM5[Resource::<AnchorsBucketE0A93AD3.Arn>/<aws:PrincipalTag/scope>/*]", "ScopeRoles/Projector"),
    ("IAM5[Resource::<DocumentsBucket089EA665.Arn>/<aws:PrincipalTag/scope>/*]", "ScopeRoles/Projector"),
    ("IAM5[Resource::<DocumentsBucket089EA665.Arn>/<aws:PrincipalTag/scope>/*]", "ScopeRoles/Remover"),
    *(
        ("IAM5[Resource::*]", f"Functions/{name}/Role")  # traces
        for name in ("Api", "Authorizer", "Project", "Index", "Extract", "Jobs", "Sweep", "Mcp")
    ),
    ("SQS3", "Projection/ProjectDeadLetters"),
    ("APIG4", "Http/Api/GET--v1--health"),
    ("APIG4", "Http/Api/GET--v1--openapi.json"),
}
FUNCTIONS = [where for rule, where in ANSWERED_FOR if rule == "L1"]
SERVERLESS_ANSWERED_FOR = {
    *((f"Serverless-{rule}", where) for rule in ("LambdaLatestVersion", "LambdaDLQ") for where in FUNCTIONS),
    *(
        ("Serverless-LambdaEventSourceMappingDestination", f"Functions/{name}/{name}Queue")
        for name in ("Index", "Extract", "Jobs")
    ),
    *(
        ("Serverless-SQSRedrivePolicy", where)
        for where in (
            "Projection/IndexDeadLetters",
            "Projection/ProjectDeadLetters",
            "Extraction/DeadLetters",
            "Jobs/DeadLetters",
        )
    ),
}


def reports(folder):
    return json.loads((folder / "validation-report.json").read_text())["pluginReports"]


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_cdk_nag_leaves_nothing_open(request, stage):
    found = reports(request.getfixturevalue(stage).folder)
    assert [(each["pluginName"], each["conclusion"], each["violations"]) for each in found] == [
        ("AwsSolutions", "success", []),
        ("Serverless", "success", []),
    ]


def test_every_finding_is_answered_for_on_its_own_construct(dev):
    suppressed = [each for report in reports(dev.folder) for each in report["suppressedViolations"]]
    answered = {
        (each["ruleName"].removeprefix("AwsSolutions-"), each["acknowledgedAt"].removeprefix("unsay-dev/"))
        for each in suppressed
    }
    assert answered == ANSWERED_FOR | SERVERLESS_ANSWERED_FOR
    assert all(len(each["reason"]) > 30 for each in suppressed)


def test_a_finding_nobody_answered_for_fails_the_synthesis(tmp_path):
    app = App(outdir=str(tmp_path))
    s3.Bucket(Stack(app, "Open"), "Bucket")
    check_with_cdk_nag(app)
    with pytest.raises(RuntimeError, match=r"[Vv]alidation"):
        app.synth()


def test_an_answer_covers_its_own_rule_only(tmp_path):
    app = App(outdir=str(tmp_path))
    bucket = s3.Bucket(Stack(app, "Half"), "Bucket")
    acknowledge(bucket, "S1", "Answered for, to see the other finding stay.")
    check_with_cdk_nag(app)
    with pytest.raises(RuntimeError):
        app.synth()
    report = reports(tmp_path)[0]
    assert {each["ruleName"] for each in report["violations"]} == {"AwsSolutions-S10"}


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_cfn_lint_finds_nothing_but_the_cdks_own_habit(request, stage):
    template = request.getfixturevalue(stage).path
    cfn_lint = Path(sys.executable).with_name("cfn-lint")
    command = [cfn_lint, "--regions", "us-east-1", "eu-central-1", "--ignore-checks", *CDKS_OWN_WARNINGS]
    done = subprocess.run([*command, "--", template], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
