"""One scope as an MCP server: `unsay serve --scope acme/users/alice`, or in code

>>> from unsay.mcp import server_of
>>> server_of(memory, scope="acme/users/alice", read_only=True).run()
"""

from unsay.mcp.server import INSTRUCTIONS, MemoryServer, Opened, server_of
from unsay.mcp.tools import FORGETTING, READING, REVIEWING, WRITING

__all__ = [
    "FORGETTING",
    "INSTRUCTIONS",
    "READING",
    "REVIEWING",
    "WRITING",
    "MemoryServer",
    "Opened",
    "server_of",
]
