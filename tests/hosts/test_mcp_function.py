"""The mcp λ under a real client of MCP, over HTTP as the gateway brings it."""

import asyncio
import copy
import json

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from functions.mcp.app import McpApp
from tests.functional.test_identity import bind
from tests.support.http import event, principal
from unsay.mcp import FORGETTING, INSTRUCTIONS, READING, REVIEWING, WRITING
from unsay_core.domain.errors import UnavailableError
from unsay_core.domain.scope import Action, Grant, PrincipalKind, ScopePattern

SCOPE = "acme/users/alice"
TEA = "Alice drinks green tea."
URL = "https://abcdefghij.execute-api.eu-central-1.amazonaws.com/mcp"
AGENT = principal(SCOPE, Action.READ, Action.WRITE, Action.FORGET, kind=PrincipalKind.AGENT, key="key_agent")
TALK = Action.READ, Action.WRITE, Action.FORGET
_REQUEST = event("api_request")


class Gateway:
    """What API Gateway is to the λ, for one caller whom its authorizer has found, or IAM: then by an ARN."""

    def __init__(self, service, who, *, read_only=False):
        self.app = McpApp(service, read_only=read_only)
        self.who = who
        self.expires_at = "0"

    def ask(self, method, body=b"", **headers):
        request = copy.deepcopy(_REQUEST)
        told, path = {"lambda": {"undecided": "true"}}, "/mcp"
        if isinstance(self.who, str):
            told, path = {"iam": {"userArn": self.who}}, "/iam/mcp"
        elif self.who:
            told["lambda"] = {"principal": json.dumps(self.who.to_json()), "expires_at": self.expires_at}
        request |= {"routeKey": f"ANY {path}", "rawPath": path, "body": body.decode(), "headers": headers}
        request["requestContext"]["http"] |= {"method": method, "path": path}
        request["requestContext"]["authorizer"] = told
        return self.app(request, None)

    def post(self, message):
        body = json.dumps(message).encode()
        return self.ask("POST", body, accept="application/json", **{"content-type": "application/json"})

    async def __call__(self, request):
        body, headers = await request.aread(), dict(request.headers)
        # A λ has no event loop of its own.
        answer = await asyncio.to_thread(lambda: self.ask(request.method, body, **headers))
        return httpx2.Response(answer["statusCode"], headers=answer["headers"], content=answer["body"])


def hosted(gateway, *steps):
    """What a host is told of the server, its tools, and the answers to its calls."""

    async def session():
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(gateway))
        async with Client(streamable_http_client(URL, http_client=http)) as host:
            tools = {tool.name for tool in (await host.list_tools()).tools}
            return host.instructions, tools, [await host.call_tool(*step) for step in steps]

    return asyncio.run(session())


def tools_of(service, who, **given):
    return hosted(Gateway(service, who, **given))[1]


def test_a_host_that_signs_works_on_the_scope_of_its_role(service, memory):
    account = "arn:aws:sts::123456789012:assumed-role"
    bind(service)
    _, tools, (made,) = hosted(
        Gateway(service, f"{account}/agents-shop/session"), ("remember", {"content": TEA})
    )
    assert tools == READING | WRITING
    kept = memory.get(made.structured_content["memory"]["id"], scope="acme/agents/agents-shop")
    assert (kept.content, kept.source.actor.startswith("iam_")) == (TEA, True)
    assert Gateway(service, f"{account}/others/session").post({})["statusCode"] == 403


def text(result):
    return "".join(block.text for block in result.content)


def test_a_host_remembers_recalls_and_forgets_in_the_scope_of_its_key(service, memory):
    instructions, tools, (made, found) = hosted(
        Gateway(service, AGENT),
        ("remember", {"content": TEA}),
        ("memory___recall", {"query": "What does Alice drink?"}),
    )
    assert (instructions, tools) == (INSTRUCTIONS, READING | WRITING | FORGETTING)
    told = made.structured_content["memory"]
    assert [each["id"] for each in found.structured_content["memories"]] == [told["id"]]
    (kept,) = memory.list(scope=SCOPE).items
    assert (kept.id, kept.content) == (told["id"], TEA)
    assert memory.audit(scope=SCOPE).items[0].actor.endswith("key_agent")

    *_, (gone, again) = hosted(
        Gateway(service, AGENT),
        ("forget", {"memory_id": kept.id}),
        ("remember", {"content": TEA.upper()}),
    )
    assert memory.erasure(gone.structured_content["erasure_id"], scope=SCOPE).erased == 1
    assert "taken back before" in text(again)


def test_two_callers_of_one_process_each_work_in_their_own_scope(service, memory):
    gateway = Gateway(service, AGENT)
    hosted(gateway, ("remember", {"content": TEA}))
    gateway.who = principal("acme/users/bob", *TALK, kind=PrincipalKind.AGENT)
    *_, (found, made) = hosted(gateway, ("list", {}), ("remember", {"content": "Bob drinks coffee."}))
    assert found.structured_content["memories"] == []
    assert not made.is_error, "the control"
    assert [each.content for each in memory.list(scope="acme/users/bob").items] == ["Bob drinks coffee."]
    assert [each.content for each in memory.list(scope=SCOPE).items] == [TEA]


def test_the_tools_are_those_of_the_credentials_actions(service):
    agent = PrincipalKind.AGENT
    assert tools_of(service, principal(SCOPE, Action.READ, kind=agent)) == READING
    assert tools_of(service, principal(SCOPE, Action.WRITE, kind=agent)) == WRITING
    assert tools_of(service, principal(SCOPE)) == READING | WRITING | FORGETTING | REVIEWING, "of a person"


def test_a_stage_that_only_reads_serves_no_other_tool_to_anybody(service):
    assert tools_of(service, principal(SCOPE), read_only=True) == READING
    *_, (refused,) = hosted(Gateway(service, AGENT, read_only=True), ("remember", {"content": TEA}))
    assert refused.is_error
    assert "Unknown tool" in text(refused)


@pytest.mark.parametrize("scopes", [["acme/*"], ["*"], [SCOPE, "acme/users/bob"], [SCOPE, "acme/*"], []])
def test_a_credential_that_leaves_a_choice_of_scopes_is_refused(service, scopes):
    grants = tuple(Grant(ScopePattern.parse(scope), frozenset(TALK)) for scope in scopes)
    who = type(AGENT)("key_wide", PrincipalKind.AGENT, grants)
    answer = Gateway(service, who).post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert answer["statusCode"] == 403
    assert "exactly one scope" in json.loads(answer["body"])["error"]["message"]
    assert (
        Gateway(service, AGENT).post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})["statusCode"] == 200
    ), "the control"


def test_grants_that_name_one_scope_twice_name_one(service):
    grants = tuple(Grant(ScopePattern.parse(SCOPE), frozenset({action})) for action in TALK)
    assert tools_of(service, type(AGENT)("key_two", PrincipalKind.AGENT, grants)) == (
        READING | WRITING | FORGETTING
    )


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_to_open_and_no_session_to_end(service, method):
    answer = Gateway(service, AGENT).ask(method, accept="text/event-stream")
    assert (answer["statusCode"], answer["headers"]["Allow"]) == (405, "POST")


def test_a_key_that_ended_since_the_gateway_looked_is_refused(service):
    gateway = Gateway(service, AGENT)
    gateway.expires_at = str(int(service.clock.now().timestamp()) - 1)
    assert gateway.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})["statusCode"] == 401


def test_a_caller_on_whom_nobody_can_decide_comes_again(service, monkeypatch):
    def down(_credential):
        raise UnavailableError("the keys are not to be had")

    monkeypatch.setattr(service.authenticator, "bearer", down)
    answer = Gateway(service, None).post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert answer["statusCode"] == 503


def test_a_fault_is_told_without_a_word_of_it(service, monkeypatch, capsys):
    def broken(_credential):
        raise RuntimeError(TEA)

    monkeypatch.setattr(service.authenticator, "bearer", broken)
    answer = Gateway(service, None).post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert answer["statusCode"] == 500
    assert "logged" in answer["body"]
    assert TEA not in answer["body"] + capsys.readouterr().out
