"""An MCP host's session with one scope. A host of yours would start `unsay serve --scope …` instead."""

import asyncio

from mcp import Client

import unsay
from unsay.mcp import server_of


async def session(memory: unsay.Memory) -> None:
    async with Client(server_of(memory, scope="acme/users/alice")) as host:
        print("tools:", ", ".join(sorted(tool.name for tool in (await host.list_tools()).tools)))
        made = await host.call_tool("remember", {"content": "Alice drinks green tea.", "tags": ["drinks"]})
        tea = made.structured_content["memory"]["id"]
        found = await host.call_tool("recall", {"query": "What does Alice drink?"})
        print("recalled:", found.structured_content["memories"][0]["content"])
        gone = await host.call_tool("forget", {"memory_id": tea})
        print("receipt:", gone.structured_content["erasure_id"].partition("_")[0])
        refused = await host.call_tool("remember", {"content": "Alice drinks green tea."})
        print("again:", refused.content[0].text)


def main() -> None:
    with unsay.connect("memory://") as memory:
        asyncio.run(session(memory))


if __name__ == "__main__":
    main()
