"""The real service on AWS in this process: the calls it makes are the ones counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.awsrequest import AWSResponse
from moto import mock_aws

from tests.support.fakes import PEPPER
from unsay_core.bootstrap.aws import ApiService
from unsay_core.generations import KnowledgeBaseGeneration, as_plain
from unsay_core.settings import ApiSettings

TABLES = ("ledger", "record", "access")
ROLES = ("reader", "writer", "eraser", "carrier", "access")
GENERATIONS = (KnowledgeBaseGeneration(1, "KB12345678", "DS12345678"),)
_NO_HITS = b'{"retrievalResults": []}'


class _Body:
    """The body of an answer that was never sent."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield _NO_HITS


@contextmanager
def aws_service() -> Iterator[ApiService]:
    """`ApiService` over tables, roles and a secret; its knowledge base proposes nothing."""
    with mock_aws():
        session = boto3.session.Session("test", "test", region_name="us-east-1")
        _make_tables(session)
        session.client("s3").create_bucket(Bucket="anchors", ObjectLockEnabledForBucket=True)
        secret = session.client("secretsmanager").create_secret(Name="pepper", SecretString=PEPPER)
        arns = {f"{name}_role_arn": f"arn:aws:iam::123456789012:role/{name}" for name in ROLES}
        tables = {f"{name}_table": name for name in TABLES}
        settings = ApiSettings(
            **tables,
            **arns,
            documents_bucket="documents",
            anchors_bucket="anchors",
            intake_bucket="intake",
            transfers_bucket="transfers",
            index_generations=json.dumps(as_plain(GENERATIONS)),
            pepper_secret_arn=secret["ARN"],
            oidc="[]",
        )
        session.events.register_first("before-send.bedrock-agent-runtime.Retrieve", _retrieved)
        yield ApiService(settings, session=session)


def _make_tables(session: boto3.session.Session) -> None:
    keys = [("pk", "HASH"), ("sk", "RANGE")]
    for table in TABLES:
        session.client("dynamodb").create_table(
            TableName=table,
            KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys],  # type: ignore[misc]
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name, _ in keys],
            BillingMode="PAY_PER_REQUEST",
        )


def _retrieved(request: Any, **_: Any) -> AWSResponse:
    return AWSResponse(request.url, 200, {"Content-Type": "application/json"}, _Body())
