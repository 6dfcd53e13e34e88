"""Each host's client against the deployed stack, with IAM enforced."""

import asyncio
import os
import subprocess
import sys

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from strands import Agent
from strands.memory import MemoryManager

import unsay
from tests.docs.test_hosts import OVER_HTTPS, blocks_of
from tests.hosts.scripted import Scripted, uses
from tests.support.stack import eventually
from unsay.langgraph import UnsayStore
from unsay.mcp import FORGETTING, READING, WRITING
from unsay.strands import ReadOnlyUnsayMemoryStore, UnsayMemoryStore, injection_format

pytestmark = pytest.mark.stack
TEA = "Alice drinks green tea."


@pytest.fixture(scope="module")
def agent_key(stack):
    with unsay.connect(stack.url, token=stack.admin_key) as admin:
        grants = {"hosts/*": ["read", "write", "forget"]}
        return admin.make_key("hosts", kind="agent", grants=grants).secret


@pytest.fixture
def memory(stack, agent_key):
    with unsay.connect(stack.url, token=agent_key) as client:
        yield client


def test_a_langgraph_store_keeps_finds_refreshes_and_forgets(memory):
    store = UnsayStore(memory, scope="hosts/langgraph", fields=["text"])
    store.put(("notes",), "tea", {"text": TEA, "n": 1.5}, ttl=60)
    store.put(("notes:tea",), "tea", {"text": "Another."})
    assert store.get(("notes",), "tea").value == {"text": TEA, "n": 1.5}
    found = store.search(("notes",), query="What does Alice drink?", filter={"n": {"$gt": 1}})
    assert [(item.key, item.score is None) for item in found] == [("tea", False)]
    (item,) = memory.list(scope="hosts/langgraph", kind="item", path=["notes"]).items
    assert item.version == 3, "both reads have refreshed it"
    store.delete(("notes",), "tea")
    assert store.list_namespaces() == [("notes:tea",)]
    (receipt,) = memory.erasures(scope="hosts/langgraph").items
    eventually(lambda: memory.erasure(receipt.id, scope="hosts/langgraph").state == "complete")


def test_a_strands_agent_learns_from_what_is_said_and_its_helper_reads(memory, stack):
    scope = "hosts/strands"
    store = UnsayMemoryStore(memory, scope=scope, name="alice", extraction=True, deadline_seconds=60.0)
    manager = MemoryManager(stores=[store], injection={"format": injection_format})
    Agent(model=Scripted(), memory_manager=manager, callback_handler=None)("I live in Lisbon.")
    eventually(lambda: [found.content for found in memory.list(scope=scope).items] == ["I live in Lisbon."])
    (home,) = memory.list(scope=scope).items

    reading = ReadOnlyUnsayMemoryStore.delegated(memory, scope=scope, name="alice", deadline_seconds=60.0)
    helper = Scripted()
    Agent(model=helper, memory_manager=MemoryManager(stores=[reading]), callback_handler=None)(
        "Where do I live?"
    )
    assert "I live in Lisbon." in helper.last_told
    with pytest.raises(unsay.ForbiddenError):
        reading.memory.forget(home, reason="user_request")

    forgets = Scripted(uses("forget_in_alice", memory_id=home.id))
    Agent(model=forgets, memory_manager=manager, callback_handler=None)("Forget where I live.")
    assert memory.list(scope=scope).items == []


def test_an_mcp_host_works_on_the_scope_it_was_started_for(stack, agent_key, memory):
    environment = {
        "UNSAY_URL": stack.url,
        "UNSAY_TOKEN": agent_key,
        "UNSAY_SCOPE": "hosts/mcp",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "HOME": "/nonexistent",
    }
    command = ["-c", "from unsay.cli import main; main()", "serve"]
    parameters = StdioServerParameters(command=sys.executable, args=command, env=environment)

    async def session():
        async with Client(stdio_client(parameters)) as host:
            made = await host.call_tool("remember", {"content": TEA})
            found = await host.call_tool("recall", {"query": "What does Alice drink?"})
            gone = await host.call_tool("forget", {"memory_id": made.structured_content["memory"]["id"]})
            again = await host.call_tool("remember", {"content": TEA.upper()})
            return found.structured_content, gone.structured_content, again

    found, gone, again = asyncio.run(session())
    assert [each["content"] for each in found["memories"]] == [TEA]
    assert memory.erasure(gone["erasure_id"], scope="hosts/mcp").erased == 1
    assert again.is_error


def test_an_mcp_host_works_over_https_as_the_page_shows(stack):
    (block,) = (block for block in blocks_of("mcp") if OVER_HTTPS in block)
    environment = {
        "UNSAY_URL": stack.url,
        "UNSAY_TOKEN": stack.admin_key,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-c", block], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_mcp_over_https_forgets_in_the_one_scope_of_a_delegation_and_nowhere_else(stack, memory):
    scope = "hosts/mcp-over-https"
    made = memory.delegate(["read", "write", "forget"], ttl_seconds=600, scope=scope)
    json_answers = {"Accept": "application/json"}

    async def session():
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {made.secret}"}, timeout=60)
        async with Client(streamable_http_client(f"{stack.url}/mcp", http_client=http)) as host:
            tools = {tool.name for tool in (await host.list_tools()).tools}
            kept = await host.call_tool("unsay___remember", {"content": TEA})
            gone = await host.call_tool("forget", {"memory_id": kept.structured_content["memory"]["id"]})
            return tools, gone.structured_content, await host.call_tool("remember", {"content": TEA.upper()})

    tools, gone, again = asyncio.run(session())
    assert tools == READING | WRITING | FORGETTING
    assert memory.erasure(gone["erasure_id"], scope=scope).erased == 1
    assert again.is_error
    with httpx2.Client(base_url=stack.url, headers=json_answers, timeout=60) as http:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

        def answered(method, secret):
            return http.request(
                method, "/mcp", headers={"Authorization": f"Bearer {secret}"}, json=asked
            ).status_code

        assert [answered(method, made.secret) for method in ("POST", "GET", "DELETE")] == [200, 405, 405]
        assert answered("POST", stack.admin_key) == 403, "a key for every scope leaves a choice"
        assert answered("POST", "nobody") == 403, "the gateway's own"
