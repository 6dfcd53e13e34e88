"""`UNSAY_AWS=1 python -m tests.aws`: the kit for a real account. It deploys, tries, reports and destroys.

Nothing else selects it: it spends money in the account that the AWS credentials are of.
"""

from __future__ import annotations

import argparse
import os
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tests.aws.account import Account, cdk
from tests.aws.steps import OPEN, Finding, Pair, deletion, operators, scope_pair, tried
from tests.support.stack import ROOT
from unsay_core.admin.cli import bootstrap

ALLOWED = "UNSAY_AWS"
BUCKETS = ("DocumentsBucket", "IntakeBucket", "TransfersBucket")
REPORT = ROOT / "build" / "real-account.md"


def run(account: Account) -> Iterator[Finding]:
    """Every step, in order."""
    pair: Pair | None = None
    for found in tried("the pair of scopes", scope_pair(account, uuid.uuid4().hex[:8])):
        if isinstance(found, Pair):
            pair = found
        else:
            yield found
    if pair is not None:
        for name, step in (("2. operators", operators), ("deletion", deletion)):
            yield from _findings(name, step(account, pair))
    for name, ask in OPEN.items():
        yield from _findings(name, ask(account))


def _findings(name: str, step: Iterator[Finding]) -> Iterator[Finding]:
    return (found for found in tried(name, step) if isinstance(found, Finding))


def page(findings: list[Finding], where: str) -> str:
    """The report."""
    marks = {True: "yes", False: "**no**", None: ""}
    rows = [f"| {each.question} | {each.answer.replace('|', '/')} | {marks[each.ok]} |" for each in findings]
    head = [
        f"# A run on {where}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "",
        "| question | answer | as promised |",
    ]
    return "\n".join([*head, "|---|---|---|", *rows, ""])


def empty_buckets(account: Account) -> None:
    """CloudFormation deletes no bucket that holds objects."""
    s3 = account.session.client("s3")
    for output in BUCKETS:
        bucket = account.stack.outputs[output]
        for found in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
            for each in found.get("Contents", []):
                s3.delete_object(Bucket=bucket, Key=each["Key"])


def main(arguments: list[str]) -> int:
    """Deploy, try, report, destroy; returns 1 if anything was not as promised."""
    parser = argparse.ArgumentParser(prog="python -m tests.aws", description=__doc__)
    parser.add_argument("--stack", default="unsay-dev")
    parser.add_argument("--deployed", action="store_true", help="try the stack that is there, and leave it")
    parser.add_argument("--url", default="", help="where the API answers, if not where the stack says")
    parser.add_argument(
        "--key", default=os.environ.get("UNSAY_TOKEN", ""), help="an admin's; else one is made"
    )
    parser.add_argument("--report", type=Path, default=REPORT)
    asked = parser.parse_args(arguments)
    if os.environ.get(ALLOWED) != "1":
        parser.error(f"this spends money in an AWS account: set {ALLOWED}=1 if that is meant")
    findings = []
    if not asked.deployed:
        seconds = cdk("deploy", "--require-approval", "never", asked.stack)
        findings.append(Finding("seconds to deploy", f"{seconds:.0f}", True))
    account = Account.of(asked.stack, asked.key or bootstrap(asked.stack)["secret"], url=asked.url)
    for found in run(account):
        findings.append(found)
        sys.stdout.write(f"{found.question}: {found.answer}\n")
        sys.stdout.flush()
    if not asked.deployed:
        empty_buckets(account)
        findings.append(Finding("seconds to destroy", f"{cdk('destroy', '--force', asked.stack):.0f}", True))
    asked.report.parent.mkdir(parents=True, exist_ok=True)
    asked.report.write_text(page(findings, account.session.region_name or "an unnamed Region"))
    sys.stdout.write(f"report: {asked.report}\n")
    return int(any(found.ok is False for found in findings))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
