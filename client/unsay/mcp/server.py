"""The server: which tools there are for whom, and in which scope they work."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import Context, MCPServer

from unsay.mcp.answers import NOTE
from unsay.mcp.tools import FORGETTING, READING, REVIEWING, WRITING, Tools, hints

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from unsay.client import Memory
    from unsay.verbs import Scope

# AgentCore Gateway writes `<target>___<tool>`.
_TARGET = "___"

INSTRUCTIONS = (
    "A long-term memory about one user or one piece of work. Recall before you answer from memory; remember "
    "what will matter in later conversations, one fact at a time; correct what has changed instead of "
    f"remembering it beside the old; forget when the user asks. {NOTE}"
)


@dataclass(frozen=True)
class Opened:
    """The scope that a call works on, and the service as the caller may use it."""

    memory: Memory
    scope: Scope


class MemoryServer(MCPServer[Any]):
    """The tools that a caller may use; their names are known with a gateway's prefix, too."""

    def __init__(self, opened: Callable[[], Opened], names: Collection[str]) -> None:
        super().__init__(
            name="unsay",
            title="unsay memory",
            instructions=INSTRUCTIONS,
            version=importlib.metadata.version("unsay"),
            # Its information names scopes and ids, and the standard error of a server is somebody's log.
            log_level="ERROR",
        )
        tools = Tools(opened)
        for name in [name for name in vars(Tools) if name in names]:
            self.add_tool(getattr(tools, name), name=name, annotations=hints(name))

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any] | None = None
    ) -> Any:
        """Call a tool by its own name, or by the one that a gateway made of it."""
        return await super().call_tool(name.rpartition(_TARGET)[2], arguments, context)


def server_of(
    memory: Memory, *, scope: Scope, read_only: bool = False, forgetting: bool = True, reviewing: bool = False
) -> MemoryServer:
    """A server on one scope, which no argument of a tool can leave.

    `reviewing` adds what only a person's credential may do: deciding what is believed.
    """
    names = set(READING)
    if not read_only:
        names |= (
            WRITING | (FORGETTING if forgetting else frozenset()) | (REVIEWING if reviewing else frozenset())
        )
    opened = Opened(memory, scope)
    return MemoryServer(lambda: opened, names)
