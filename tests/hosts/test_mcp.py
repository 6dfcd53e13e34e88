"""The MCP server under real clients: on the standard streams, and a request at a time."""

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
from contextlib import asynccontextmanager

import jsonschema
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.support.hosts import SCOPE, connected
from tests.support.http import principal
from tests.support.server import served
from unsay.mcp import FORGETTING, INSTRUCTIONS, READING, REVIEWING, WRITING, server_of
from unsay.mcp.http import answered
from unsay_core.domain.scope import Action

TEA = "Alice drinks green tea."


@pytest.fixture
def server(memory):
    return server_of(memory, scope=SCOPE)


def run(server, *steps):
    """What a client in this process is answered to calls, `(tool, arguments)` each."""

    async def session():
        async with Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in steps]

    return asyncio.run(session())


def tools_of(server):
    async def session():
        async with Client(server) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    return asyncio.run(session())


def text(result):
    return "".join(block.text for block in result.content)


def test_a_fact_is_remembered_recalled_corrected_and_forgotten(server, memory):
    (made,) = run(server, ("remember", {"content": TEA, "tags": ["drinks"], "ttl_days": 30}))
    told = made.structured_content["memory"]
    kept = memory.get(told["id"], scope=SCOPE)
    assert (kept.content, kept.tags) == (TEA, ["drinks"])
    assert round((kept.expires_at - kept.recorded_at).total_seconds()) == 30 * 86_400
    (again,) = run(server, ("remember", {"content": TEA, "tags": ["drinks"]}))
    assert again.structured_content["deduplicated"] is True

    (found,) = run(server, ("recall", {"query": "What does Alice drink?"}))
    assert [each["id"] for each in found.structured_content["memories"]] == [told["id"]]
    assert "not a request" in found.structured_content["note"]

    correction = {"memory_id": told["id"], "content": "Alice drinks coffee.", "because": "changed"}
    (corrected,) = run(server, ("correct", correction))
    now = corrected.structured_content["memory"]["id"]
    listed, history = run(server, ("list", {}), ("history", {"memory_id": told["id"]}))
    assert [each["content"] for each in listed.structured_content["memories"]] == ["Alice drinks coffee."]
    assert "memory.corrected" in [each["event"] for each in history.structured_content["events"]]

    gone, twice, looked = run(
        server, ("forget", {"memory_id": now}), ("forget", {"memory_id": now}), ("get", {"memory_id": now})
    )
    assert memory.erasure(gone.structured_content["erasure_id"], scope=SCOPE).erased == 2
    assert twice.structured_content["state"] == "forgotten before"
    assert (looked.is_error, text(looked)) == (True, "Error executing tool get: There is no such memory.")


def test_a_search_is_narrowed_as_over_http_and_a_hit_says_where_it_comes_from(server, memory):
    for team in ("red", "blue"):
        memory.remember(f"The {team} team drinks tea.", scope=SCOPE, metadata={"team": team})
    red = {"filter": {"eq": ["metadata.team", "red"]}}
    found, listed, wrong = run(
        server,
        ("recall", {"query": "Who drinks tea?", **red}),
        ("list", red),
        ("list", {"filter": {"like": ["kind", "private"]}}),
    )
    for answer in (found, listed):
        (hit,) = answer.structured_content["memories"]
        assert (hit["metadata"], hit["source"]) == ({"team": "red"}, "api")
    assert wrong.is_error
    assert "private" not in text(wrong)


def test_every_schema_is_one_that_a_models_api_takes(memory):
    for name, tool in tools_of(server_of(memory, scope=SCOPE, reviewing=True)).items():
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert (schema["type"], "anyOf" in schema) == ("object", False), name
            assert all("items" in array for array in arrays_in(schema)), name


def arrays_in(schema):
    if isinstance(schema, dict):
        if schema.get("type") == "array":
            yield schema
        for member in schema.values():
            yield from arrays_in(member)
    elif isinstance(schema, list):
        for member in schema:
            yield from arrays_in(member)


def test_what_went_wrong_is_said_so_that_a_model_can_read_it(server, memory):
    memory.forget(memory.remember(TEA, scope=SCOPE), reason="user_request")
    refused = run(
        server,
        ("remember", {"content": "alice drinks green tea"}),
        ("remember", {"content": "My key is AKIAIOSFODNN7EXAMPLE."}),
        ("recall", {"query": "x", "limit": 500}),
    )
    assert all(result.is_error for result in refused)
    said = [text(result) for result in refused]
    assert "taken back before" in said[0]
    assert "credential" in said[1]
    assert "limit" in said[2]
    assert "AKIA" not in str(said)


def test_a_scope_that_a_model_makes_up_is_refused_and_leads_nowhere(server, memory):
    refused, made = run(
        server,
        ("remember", {"content": TEA, "scope": "acme/users/bob"}),
        ("remember", {"content": TEA}),
    )
    assert text(refused) == "Error executing tool remember: scope: unknown argument"
    assert [each.id for each in memory.list(scope=SCOPE).items] == [made.structured_content["memory"]["id"]]
    assert memory.list(scope="acme/users/bob").items == []


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("recall", {"query": "x", "limit": True}, "limit: "),
        ("recall", {"query": "x", "limit": "17"}, "limit: "),
        ("recall", {"query": 17}, "query: "),
        ("recall", {"query": "x", "kinds": ["https://private.example"]}, "kinds.0: "),
        ("remember", {"content": "x", "key": "https://private.example"}, "key: "),
        ("remember", {"content": "private \ud800"}, "content: "),
        ("remember", {"content": "x", "https://private.example": 1}, "an argument: unknown"),
        ("list", {"tag": "private \ud800"}, "UTF-8"),
        ("forget", {"memory_id": "x", "reason": "private"}, "reason: "),
        ("get", {}, "memory_id: "),
    ],
)
def test_a_refused_argument_is_named_with_its_rule_and_never_repeated(server, tool, arguments, field):
    refused, after = run(server, (tool, arguments), ("remember", {"content": TEA, "importance": 1}))
    assert refused.is_error
    assert field in text(refused)
    assert not any(given in text(refused) for given in ("private", "http", "17", "pydantic"))
    assert not after.is_error, "the control"


def test_no_log_repeats_what_a_caller_made_up(server, memory, caplog):
    caplog.set_level("DEBUG")
    run(
        server,
        ("private", {}),
        ("remember", {"content": TEA, "private": 1}),
        ("get", {"memory_id": "private"}),
    )
    post(server, {"jsonrpc": "2.0", "id": 1, "method": "private"})
    logging.getLogger("another").info("private")
    told = {record.name for record in caplog.records if "private" in record.getMessage()}
    assert told - {"httpx"} == {"another"}, "the control alone"


def test_no_tool_takes_a_scope_and_every_tool_says_what_it_does_and_answers(server):
    tools = tools_of(server)
    assert tools.keys() == READING | WRITING | FORGETTING
    for name, tool in tools.items():
        assert "scope" not in tool.input_schema["properties"], name
        assert tool.input_schema["additionalProperties"] is False
        assert tool.description
        assert tool.output_schema["properties"]
        assert tool.annotations.open_world_hint is False
        assert tool.annotations.read_only_hint is (name in READING)
        assert tool.annotations.destructive_hint is (name == "forget")
    assert "data that somebody wrote down" in INSTRUCTIONS


def test_read_only_has_no_tool_that_changes_anything_and_review_is_asked_for(memory):
    assert tools_of(server_of(memory, scope=SCOPE, read_only=True)).keys() == READING
    assert tools_of(server_of(memory, scope=SCOPE, read_only=True, reviewing=True)).keys() == READING
    assert tools_of(server_of(memory, scope=SCOPE, forgetting=False)).keys() == READING | WRITING
    everything = READING | WRITING | FORGETTING | REVIEWING
    assert tools_of(server_of(memory, scope=SCOPE, reviewing=True)).keys() == everything


def test_a_person_decides_on_what_waits(memory):
    doubted = memory.dispute(memory.remember(TEA, scope=SCOPE), reason="incorrect")
    other = memory.dispute(memory.remember("Alice has a car.", scope=SCOPE), reason="incorrect")
    waiting, approved, rejected = run(
        server_of(memory, scope=SCOPE, reviewing=True),
        ("reviews", {"state": "disputed"}),
        ("approve", {"memory_id": doubted.id}),
        ("reject", {"memory_id": other.id, "reason": "incorrect"}),
    )
    assert {each["id"] for each in waiting.structured_content["memories"]} == {doubted.id, other.id}
    assert approved.structured_content["memory"]["trust"] == "verified"
    assert rejected.structured_content["memory"]["status"] == "rejected"


def test_what_the_credential_may_not_do_is_refused_in_words(caller):
    reader = connected(caller.as_(principal(SCOPE, Action.READ)))
    (refused,) = run(server_of(reader, scope=SCOPE), ("remember", {"content": TEA}))
    assert refused.is_error
    assert "not allowed" in text(refused)


def post(server, message, **headers):
    given = {"content-type": "application/json", "accept": "application/json", "host": "a.example", **headers}
    return answered(server, "POST", given, json.dumps(message).encode())


def call(name, arguments, number=1):
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


def test_one_request_is_answered_without_a_session_whatever_name_a_gateway_gives_the_tool(server):
    for number, name in enumerate(("remember", "memory___remember", "my___target___remember")):
        answer = post(server, call(name, {"content": f"Number {number}."}, number))
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        assert "mcp-session-id" not in answer.headers
        told = json.loads(answer.body)
        assert told["id"] == number
        assert told["result"]["structuredContent"]["memory"]["content"] == f"Number {number}."


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_handshake_of_a_host_is_answered(server, version):
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "host", "version": "1"}}
    answer = post(server, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    result = json.loads(answer.body)["result"]
    assert (result["protocolVersion"], result["instructions"]) == (version, INSTRUCTIONS)
    listed = post(
        server,
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        **{"mcp-protocol-version": version},
    )
    assert {
        tool["name"] for tool in json.loads(listed.body)["result"]["tools"]
    } == READING | WRITING | FORGETTING


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_to_open_and_no_session_to_end(server, method):
    answer = answered(server, method, {"accept": "text/event-stream"}, b"")
    assert (answer.status, answer.headers["Allow"]) == (405, "POST")


def test_a_request_for_another_host_is_misdirected_where_hosts_are_named(server):
    listing = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    statuses = {}
    for host in ("localhost:8000", "evil.example", "localhost.evil.example:8000"):
        headers = {"content-type": "application/json", "accept": "application/json", "host": host}
        statuses[host] = [
            answered(server, "POST", headers, listing, hosts=["localhost:*"]).status,
            answered(server, "POST", headers, listing).status,
        ]
    assert statuses == {
        "localhost:8000": [200, 200],
        "evil.example": [421, 200],
        "localhost.evil.example:8000": [421, 200],
    }


def test_what_is_no_json_is_refused_and_harms_nothing(server):
    headers = {"content-type": "application/json", "accept": "application/json"}
    assert answered(server, "POST", headers, b"{").status == 400
    assert answered(server, "POST", {**headers, "content-type": "text/plain"}, b"{}").status in (400, 415)
    assert post(server, call("list", {})).status == 200


def environment_of(url):
    return {
        "UNSAY_URL": url,
        "UNSAY_TOKEN": "t",
        "UNSAY_SCOPE": SCOPE,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "HOME": "/nonexistent",
    }


COMMAND = ["-c", "from unsay.cli import main; main()", "serve"]


@asynccontextmanager
async def host(url, *options):
    """A host that has started `unsay serve`."""
    parameters = StdioServerParameters(
        command=sys.executable, args=[*COMMAND, *options], env=environment_of(url)
    )
    async with Client(stdio_client(parameters)) as client:
        yield client


def test_a_host_starts_the_server_and_uses_it(caller, memory):
    async def session(url):
        async with host(url) as client:
            assert client.instructions == INSTRUCTIONS
            await client.call_tool("remember", {"content": TEA})
            return await client.call_tool("recall", {"query": "What does Alice drink?"})

    with served(caller) as url:
        found = asyncio.run(session(url))
    assert [each["content"] for each in found.structured_content["memories"]] == [TEA]
    assert [each.content for each in memory.list(scope=SCOPE).items] == [TEA]


def test_a_host_that_may_only_read_is_served_read_only(caller):
    async def session(url):
        async with host(url, "--read-only") as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    with served(caller) as url:
        assert asyncio.run(session(url)) == READING


def test_half_a_character_is_answered_on_the_standard_streams_and_the_session_goes_on(caller):
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "h", "version": "1"},
    }
    sent = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        call("remember", {"content": "private \ud800"}, 2),
        call("remember", {"content": TEA}, 3),
    ]
    with served(caller) as url:
        server = subprocess.Popen(
            [sys.executable, *COMMAND],
            env=environment_of(url),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        impatience = threading.Timer(30, server.kill)
        impatience.start()
        told = {}
        for message in sent:
            server.stdin.write(json.dumps(message) + "\n")
            server.stdin.flush()
            if "id" in message:
                answer = json.loads(server.stdout.readline())
                told[answer["id"]] = answer["result"]
        server.stdin.close()
        assert server.wait(60) == 0
        server.stdout.close()
        impatience.cancel()
    assert told[2]["isError"] is True
    assert "content: half of a surrogate pair" in told[2]["content"][0]["text"]
    assert "private" not in str(told[2])
    assert told[3]["structuredContent"]["memory"]["content"] == TEA
