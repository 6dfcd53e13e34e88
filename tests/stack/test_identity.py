"""Who calls, on the deployed stack: keys that end, signed requests, tokens, and stores that are down."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from typer.testing import CliRunner

import unsay
from tests.support.issuer import AUDIENCE, Issuer, on_loopback
from tests.support.stack import Stack, eventually, session_of
from unsay_core.admin.cli import app

pytestmark = pytest.mark.stack

ACCOUNT = "arn:aws:iam::000000000000"
INVOKE = {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": "*"}


@pytest.fixture
def admin(stack: Stack) -> Iterator[httpx.Client]:
    with stack.client() as client:
        yield client


@pytest.fixture
def unsay_admin(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The command line of whoever operates the stack; returns what it prints."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", stack.endpoint_url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


def make(client: httpx.Client, scope: str, *actions: str) -> dict[str, Any]:
    grants = [{"scope": scope, "actions": list(actions)}]
    answer = client.post("/v1/keys", json={"name": "k", "kind": "agent", "grants": grants})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def recall(stack: Stack, credential: str, scope: str, path: str = "/v1/recall") -> httpx.Response:
    with stack.client(credential) as client:
        return client.post(path, json={"scope": scope, "query": "tea"})


def test_a_revoked_key_and_what_it_delegated_stop_within_a_minute(stack: Stack, admin: httpx.Client) -> None:
    key, other = make(admin, "identity/*", "read"), make(admin, "identity/*", "read")
    with stack.client(key["secret"]) as client:
        body = {"actions": ["read"], "scope": "identity/a", "ttl_seconds": 600}
        delegated = client.post("/v1/delegations", json=body).json()
    for credential in (key["secret"], delegated["secret"]):
        assert recall(stack, credential, "identity/a").status_code == 200
    assert recall(stack, delegated["secret"], "identity/b").status_code == 403
    assert recall(stack, key["secret"], "identity/b").status_code == 200
    assert admin.delete(f"/v1/keys/{key['id']}").status_code == 200
    for credential in (key["secret"], delegated["secret"]):
        eventually(
            lambda credential=credential: recall(stack, credential, "identity/a").status_code == 403,
            within=75,
        )
    assert recall(stack, other["secret"], "identity/a").status_code == 200


def test_the_day_a_key_was_used_last_is_noted(stack: Stack, admin: httpx.Client) -> None:
    key = make(admin, "identity/used", "read")
    idle = make(admin, "identity/used", "read")

    def day(key_id: str) -> Any:
        cursor: dict[str, str] = {}
        while True:
            page = admin.get("/v1/keys", params={"limit": "100", **cursor}).json()
            for found in page["items"]:
                if found["id"] == key_id:
                    return found["last_used"]
            cursor = {"cursor": page["next_cursor"]}

    assert recall(stack, key["secret"], "identity/used").status_code == 200
    eventually(lambda: day(key["id"]))
    assert day(idle["id"]) is None


def test_without_the_access_table_a_new_caller_is_told_to_come_again_and_then_let_in(
    stack: Stack, admin: httpx.Client, faults: Callable[..., None]
) -> None:
    key = make(admin, "identity/outage", "read")
    faults(throttle={"dynamodb.GetItem": 1.0})
    answer = recall(stack, key["secret"], "identity/outage")
    assert answer.status_code == 503, answer.text
    assert answer.json()["code"] == "unavailable"
    assert answer.headers["Retry-After"]
    # Nobody gets in meanwhile, whatever they bring.
    assert recall(stack, "unsay_" + "0" * 26 + "_x", "identity/outage").status_code == 503
    faults(throttle={})
    assert recall(stack, key["secret"], "identity/outage").status_code == 200
    assert recall(stack, "unsay_" + "0" * 26 + "_x", "identity/outage").status_code == 401


def test_the_authorizer_reads_keys_and_bindings_and_nothing_else(stack: Stack) -> None:
    (name,) = (
        role["RoleName"]
        for role in stack.aws("iam").list_roles()["Roles"]
        if "Authorizer" in role["RoleName"]
    )
    stack.outputs["AuthorizerRole"] = f"{ACCOUNT}:role/{name}"
    dynamodb = stack.aws("dynamodb", **session_of(stack, "AuthorizerRole"))
    table = {"TableName": stack.outputs["AccessTable"]}

    def get(pk: str, sk: str) -> Any:
        return dynamodb.get_item(**table, Key={"pk": {"S": pk}, "sk": {"S": sk}})

    def query(pk: str) -> Any:
        values = {":pk": {"S": pk}}
        return dynamodb.query(**table, KeyConditionExpression="pk = :pk", ExpressionAttributeValues=values)

    get("KEYS", "key_x")
    get("DELEGATION#dlg_x", "DELEGATION")
    query("BINDINGS")
    denied: list[Callable[[], Any]] = [
        lambda: query("KEYS"),
        lambda: query("ROOTS"),
        lambda: query("SCOPES#identity"),
        lambda: get("ROOTS", "identity"),
        lambda: get("KEYSX", "x"),
        lambda: dynamodb.scan(**table),
        lambda: dynamodb.put_item(**table, Item={"pk": {"S": "KEYS"}, "sk": {"S": "key_x"}}),
        lambda: dynamodb.delete_item(**table, Key={"pk": {"S": "BINDINGS"}, "sk": {"S": "x"}}),
    ]
    for call in denied:
        with pytest.raises(ClientError, match="AccessDenied"):
            call()


def role_session(stack: Stack, name: str, *statements: dict[str, Any]) -> Credentials:
    """Credentials of a role in the account, with these rights and no others."""
    iam = stack.aws("iam")
    owner = {"Effect": "Allow", "Principal": {"AWS": f"{ACCOUNT}:root"}, "Action": "sts:AssumeRole"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [owner]})
    with suppress(iam.exceptions.EntityAlreadyExistsException):
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)
    if statements:
        policy = json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
        iam.put_role_policy(RoleName=name, PolicyName="invoke", PolicyDocument=policy)
    given = stack.aws("sts").assume_role(RoleArn=f"{ACCOUNT}:role/{name}", RoleSessionName="a-session")
    found = given["Credentials"]
    return Credentials(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])


def signed(
    stack: Stack,
    credentials: Credentials,
    path: str,
    body: dict[str, Any],
    *,
    service: str = "execute-api",
    sent: dict[str, Any] | None = None,
) -> httpx.Response:
    """A request signed with AWS credentials; `sent` is another body than the signed one."""
    request = AWSRequest("POST", f"{stack.url}{path}", data=json.dumps(body))
    SigV4Auth(credentials, service, "us-east-1").add_auth(request)
    content = json.dumps(sent if sent is not None else body)
    headers = {**request.headers, "Content-Type": "application/json", "Accept": "application/json"}
    return httpx.post(f"{stack.url}{path}", content=content, headers=headers, timeout=60)


def test_a_request_signed_with_aws_credentials_acts_as_its_role(
    stack: Stack, unsay_admin: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = role_session(stack, "agents-shop", INVOKE)
    body = {"scope": "identity/agents/agents-shop", "content": "The shop sells tea."}
    before = signed(stack, shop, "/iam/v1/memories", body)
    assert (before.status_code, before.json()["code"]) == (403, "forbidden")
    unsay_admin(
        *("bind", "--role", f"{ACCOUNT}:role/agents-*", "--kind", "agent"),
        *("--grant", "identity/agents/{role}=read,write"),
    )
    made = eventually(
        lambda: (answer := signed(stack, shop, "/iam/v1/memories", body)).status_code == 201 and answer,
        within=75,
    )
    actor = unsay_admin("actor", "--role", f"{ACCOUNT}:role/agents-shop").strip()
    assert made.json()["source"]["actor"] == actor
    elsewhere = signed(stack, shop, "/iam/v1/memories", body | {"scope": "identity/agents/other"})
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (403, "forbidden")

    # The client signs as well, whatever has to be escaped in a path and a query.
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", shop.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", shop.secret_key)
    monkeypatch.setenv("AWS_SESSION_TOKEN", shop.token)
    with unsay.connect(stack.url, aws=unsay.AwsAuth(region="us-east-1"), timeout=60) as memory:
        scope = "identity/agents/agents-shop"
        tagged = memory.remember("The shop sells mate.", scope=scope, tags=["tea & ü+"])
        assert [each.id for each in memory.list(scope=scope, tag="tea & ü+").items] == [tagged.id]
        assert memory.get(tagged).source.actor == actor
        memory.converse("run.1:a", [{"seq": 0, "role": "user", "content": "Hello."}], scope=scope)
        assert memory.conversation("run.1:a", scope=scope).messages[0].content == "Hello."
        with pytest.raises(unsay.ForbiddenError):
            memory.list(scope="identity/agents/other")


def test_a_host_of_mcp_that_signs_works_on_the_scope_of_its_role(
    stack: Stack, unsay_admin: Callable[..., str]
) -> None:
    unsay_admin(
        *("bind", "--role", f"{ACCOUNT}:role/hosts-*", "--kind", "agent"),
        *("--grant", "identity/hosts/{role}=read,write"),
    )
    host, stranger = role_session(stack, "hosts-a", INVOKE), role_session(stack, "strangers", INVOKE)

    def called(who: Credentials, tool: str, **arguments: Any) -> httpx.Response:
        asked = {"name": tool, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
        return signed(stack, who, "/iam/mcp", body)

    made = eventually(
        lambda: (answer := called(host, "remember", content="Tea is out.")).status_code == 200 and answer,
        within=75,
    )
    assert made.json()["result"]["structuredContent"]["memory"]["content"] == "Tea is out."
    asked = {"scope": "identity/hosts/hosts-a", "query": "tea"}
    listed = eventually(  # each λ has looked the bindings up for itself, a minute ago at the most
        lambda: (answer := signed(stack, host, "/iam/v1/recall", asked)).status_code == 200 and answer,
        within=75,
    )
    assert [item["memory"]["content"] for item in listed.json()["items"]] == ["Tea is out."]
    assert called(host, "forget", memory_id="mem_1").json()["result"]["isError"], "it may not forget"
    assert called(stranger, "recall", query="tea").status_code == 403
    assert httpx.post(f"{stack.url}/iam/mcp", json={}, timeout=60).status_code == 403


def test_a_signature_that_does_not_hold_reaches_nobody(stack: Stack, unsay_admin: Callable[..., str]) -> None:
    unsay_admin(
        *("bind", "--role", f"{ACCOUNT}:role/signers-*", "--kind", "agent"),
        *("--grant", "identity/signers/{role}=read"),
    )
    good, bare = role_session(stack, "signers-a", INVOKE), role_session(stack, "signers-b")
    body = {"scope": "identity/signers/signers-a", "query": "tea"}
    eventually(lambda: signed(stack, good, "/iam/v1/recall", body).status_code == 200, within=75)
    wrong_secret = Credentials(good.access_key, "x" * 40, good.token)
    wrong_token = Credentials(good.access_key, good.secret_key, "x" * 40)
    refused = [
        signed(stack, wrong_secret, "/iam/v1/recall", body),
        signed(stack, wrong_token, "/iam/v1/recall", body),
        signed(stack, good, "/iam/v1/recall", body, service="sts"),
        signed(stack, good, "/iam/v1/recall", body, sent=body | {"query": "coffee"}),
        signed(stack, bare, "/iam/v1/recall", body | {"scope": "identity/signers/signers-b"}),
        recall(stack, stack.admin_key, "identity/a", "/iam/v1/recall"),
        httpx.post(f"{stack.url}/iam/v1/recall", json=body, timeout=60),
    ]
    for answer in refused:
        assert (answer.status_code, answer.json()) == (403, {"message": "Forbidden"})
    assert signed(stack, good, "/iam/v1/recall", body).status_code == 200


@pytest.fixture
def issuer(stack: Stack) -> Iterator[Issuer]:
    """An issuer on loopback, configured at both functions as the context configures one."""
    client = stack.aws("lambda")
    names = [f["FunctionName"] for f in client.list_functions()["Functions"]]
    taking = [name for name in names if "FunctionsApi" in name or "FunctionsAuthorizer" in name]
    kept = {name: client.get_function_configuration(FunctionName=name)["Environment"] for name in taking}
    with on_loopback() as found:
        oidc = json.dumps([{"issuer": found.url, "audiences": [AUDIENCE]}])
        for name, environment in kept.items():
            variables = environment["Variables"] | {"UNSAY_OIDC": oidc}
            client.update_function_configuration(FunctionName=name, Environment={"Variables": variables})
        yield found
    for name, environment in kept.items():
        client.update_function_configuration(FunctionName=name, Environment=environment)


def test_a_token_of_the_issuer_acts_in_the_scope_of_its_subject(
    stack: Stack, issuer: Issuer, unsay_admin: Callable[..., str]
) -> None:
    bound = unsay_admin(
        *("bind", "--issuer", issuer.url, "--claim", "groups=shoppers", "--kind", "agent"),
        *("--grant", "identity/users/{sub}=read,write", "--json"),
    )
    now = time.time()
    token = issuer.token(now, sub="alice@example.com", groups=["shoppers"])
    with stack.client(token) as client:
        body = {"scope": "identity/users/alice@example.com", "content": "Alice drinks tea."}
        made = client.post("/v1/memories", json=body)
        assert made.status_code == 201, made.text
        actor = unsay_admin("actor", "--issuer", issuer.url, "--subject", "alice@example.com").strip()
        assert made.json()["source"]["actor"] == actor
        assert client.post("/v1/memories", json=body | {"scope": "identity/users/bob"}).status_code == 403
    attacks = {
        "another group": issuer.token(now, sub="alice@example.com", groups=["others"]),
        "expired": issuer.token(now, exp=int(now) - 5, groups=["shoppers"]),
        "another audience": issuer.token(now, aud="x", groups=["shoppers"]),
        "a stranger's key": Issuer(issuer.url).token(now, "ec", groups=["shoppers"]),
        "no algorithm": token.replace(token.split(".")[0], "eyJhbGciOiJub25lIn0"),
    }
    for attack, bad in attacks.items():
        answer = recall(stack, bad, "identity/users/alice@example.com")
        assert (answer.status_code, answer.json()) == (403, {"message": "Forbidden"}), attack
    ending = issuer.token(now, exp=int(time.time()) + 4, groups=["shoppers"])
    assert recall(stack, ending, "identity/users/alice").status_code == 200
    eventually(lambda: recall(stack, ending, "identity/users/alice").status_code == 401, within=30)
    unsay_admin("unbind", json.loads(bound)["id"])
    assert json.loads(bound)["id"] not in unsay_admin("bindings", "--json")
    fresh = issuer.token(now, sub="alice@example.com", groups=["shoppers"], jti="another")
    assert recall(stack, fresh, "identity/users/alice@example.com").status_code == 403


def test_an_issuer_that_is_down_gives_503_and_then_lets_its_subjects_in(
    stack: Stack, issuer: Issuer, unsay_admin: Callable[..., str]
) -> None:
    unsay_admin(*("bind", "--issuer", issuer.url, "--kind", "agent", "--grant", "identity/down/{sub}=read"))
    issuer.down = True
    token = issuer.token(time.time())
    answer = recall(stack, token, "identity/down/alice")
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    issuer.down = False
    eventually(lambda: recall(stack, token, "identity/down/alice").status_code == 200, within=30)
