"""The deployed policies decide as the table says: each request is sent with such a session's credentials."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.isolation.decisions import ALLOW, BUCKETS, DENY, OPENINGS, TABLES, Opening, Row, Session, rows
from tests.support.stack import Stack, session_of

pytestmark = pytest.mark.stack

DENIED = {"AccessDenied", "AccessDeniedException", "403", "Forbidden"}
OWNER = {"AWS": "arn:aws:iam::000000000000:root"}

Clients = Callable[[Session, str], Any]


@pytest.fixture(scope="module")
def clients(stack: Stack) -> Clients:
    """Clients with the policies of a role, in a session with the tags of a row."""

    @cache
    def credentials(session: Session) -> dict[str, str]:
        output = session.role.replace("FunctionsApi", "ApiFunction") + "RoleArn"
        return session_of(stack, output, **dict(session.tags))

    @cache
    def client(session: Session, service: str) -> Any:
        return stack.aws(service, **credentials(session))

    return client


@pytest.fixture(scope="module")
def names(stack: Stack) -> dict[str, str]:
    """The names that the deployment gave things."""
    outputs, agent = stack.outputs, stack.aws("bedrock-agent")
    base = agent.list_knowledge_bases()["knowledgeBaseSummaries"][0]["knowledgeBaseId"]
    source = agent.list_data_sources(knowledgeBaseId=base)["dataSourceSummaries"][0]["dataSourceId"]
    return {
        **{table: outputs[f"{table}Table"] for table in TABLES},
        **{bucket: outputs[f"{bucket}Bucket"] for bucket in BUCKETS},
        "KnowledgeBase": base,
        "DataSource": source,
    }


def named(parameters: Any, names: dict[str, str]) -> Any:
    """Parameters with the deployment's names in place of the architecture's."""

    def within(value: Any) -> Any:
        if isinstance(value, list):
            return [within(member) for member in value]
        if isinstance(value, dict):
            return {names.get(name, name): within(member) for name, member in value.items()}
        if isinstance(value, str) and value.startswith("SELECT"):
            return value.replace('"Ledger"', f'"{names["Ledger"]}"')
        return names.get(value, value) if isinstance(value, str) else value

    return within(parameters)


def outcome(call: Callable[..., Any], **parameters: Any) -> str:
    """What became of a call: a refusal for any other reason came after IAM had let it through."""
    try:
        call(**parameters)
    except ClientError as refused:
        return DENY if refused.response["Error"]["Code"] in DENIED else ALLOW
    return ALLOW


def test_every_decision_is_as_the_table_says(clients: Clients, names: dict[str, str]) -> None:
    def decided(row: Row) -> str:
        call = getattr(clients(row.session, row.request.service), row.request.operation)
        return outcome(call, **named(row.request.parameters, names))

    assert [f"{row.session}: {row.what}" for row in rows() if decided(row) != row.answer] == []


def role_of(stack: Stack, caller: str) -> str:
    pages = stack.aws("iam").get_paginator("list_roles").paginate()
    prefix = f"unsay-dev-Functions{caller.capitalize()}Role"
    (found,) = (r["RoleName"] for page in pages for r in page["Roles"] if r["RoleName"].startswith(prefix))
    return str(found)


@pytest.fixture(scope="module")
def callers(stack: Stack) -> Iterator[dict[str, dict[str, str]]]:
    """The credentials of each λ's own role, which trusts Lambda alone, so the owner is let in."""
    iam, sts = stack.aws("iam"), stack.aws("sts")
    kept: dict[str, str] = {}
    found: dict[str, dict[str, str]] = {}
    letting_in = {"Effect": "Allow", "Principal": OWNER, "Action": "sts:AssumeRole"}
    anything = {"Effect": "Allow", "Action": "sts:*", "Resource": "*"}
    stranger = "a-stranger"
    iam.create_role(RoleName=stranger, AssumeRolePolicyDocument=policy(letting_in))
    iam.put_role_policy(RoleName=stranger, PolicyName="p", PolicyDocument=policy(anything))
    for caller in sorted({opening.caller for opening in OPENINGS}):
        name = stranger if caller.startswith("a stranger") else role_of(stack, caller)
        if name != stranger:
            trust = iam.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]
            kept[name] = json.dumps(trust)
            opened = policy(*trust["Statement"], letting_in)
            iam.update_assume_role_policy(RoleName=name, PolicyDocument=opened)
        arn = f"arn:aws:iam::000000000000:role/{name}"
        given = sts.assume_role(RoleArn=arn, RoleSessionName="probe")["Credentials"]
        found[caller] = {
            "aws_access_key_id": given["AccessKeyId"],
            "aws_secret_access_key": given["SecretAccessKey"],
            "aws_session_token": given["SessionToken"],
        }
    yield found
    for name, trust in kept.items():
        iam.update_assume_role_policy(RoleName=name, PolicyDocument=trust)


def policy(*statements: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def test_every_role_is_given_to_whom_the_table_says(stack: Stack, callers: dict[str, dict[str, str]]) -> None:
    def given(opening: Opening) -> str:
        return outcome(
            stack.aws("sts", **callers[opening.caller]).assume_role,
            RoleArn=stack.outputs[f"{opening.role}RoleArn"],
            RoleSessionName="probe",
            Tags=[{"Key": key, "Value": value} for key, value in opening.tags],
        )

    assert [(o.caller, o.role, o.what) for o in OPENINGS if given(o) != o.answer] == []
