"""The server: which tools there are for whom, and in which scope they work."""

from __future__ import annotations

import importlib.metadata
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.stdio import stdio_server
from pydantic import ValidationError

from unsay.mcp.answers import NOTE
from unsay.mcp.arguments import named, strict_tool
from unsay.mcp.stdio import mended
from unsay.mcp.tools import FORGETTING, READING, REVIEWING, WRITING, Tools, hints

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from unsay.asking import A, Ask
    from unsay.client import Memory
    from unsay.verbs import Scope

# AgentCore Gateway writes `<target>___<tool>`.
_TARGET = "___"

INSTRUCTIONS = (
    "A long-term memory about one user or one piece of work. Recall before you answer from memory; remember "
    "what will matter in later conversations, one fact at a time; correct what has changed instead of "
    f"remembering it beside the old; forget when the user asks. {NOTE}"
)


class Asked(Protocol):
    """The service, as the caller may use it: `Memory.ask`, or the `send` of a transport."""

    def __call__(self, ask: Ask[A], /) -> A:
        """The answer; raises an `UnsayError`."""


@dataclass(frozen=True)
class Opened:
    """The scope that a call works on, and where its questions go."""

    ask: Asked
    scope: Scope


class MemoryServer(MCPServer[Any]):
    """The tools that a caller may use; their names are known with a gateway's prefix, too."""

    def __init__(self, opened: Callable[[], Opened], names: Collection[str]) -> None:
        tools = Tools(opened)
        # The SDK's log repeats names that a caller made up, and what a fault says.
        logging.getLogger("mcp").setLevel(logging.CRITICAL)
        super().__init__(
            name="unsay",
            title="unsay memory",
            instructions=INSTRUCTIONS,
            version=_version(),
            log_level="ERROR",
            tools=[
                strict_tool(getattr(tools, name), name, hints(name)) for name in vars(Tools) if name in names
            ],
        )

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any] | None = None
    ) -> Any:
        """Call a tool by its own name, or by the one that a gateway made of it.

        Raises `ToolError`; of arguments it names field and rule, where the SDK would quote the value.
        """
        own = name.rpartition(_TARGET)[2]
        try:
            return await super().call_tool(own, arguments, context)
        except UnexpectedToolError:
            raise
        except ToolError as refused:
            if isinstance(refused.__cause__, ValidationError):
                raise ToolError(f"Error executing tool {own}: {named(refused.__cause__)}") from None
            raise

    async def run_stdio_async(self) -> None:
        """Serve the standard streams; a message with half a character in it is answered, too."""
        server = self._lowlevel_server
        async with stdio_server() as (read, write), mended(read) as messages:
            await server.run(messages, write, server.create_initialization_options())


def _version() -> str:
    """The version, where the package was installed: in the layer of a λ it only lies."""
    try:
        return importlib.metadata.version("unsay")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


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
    opened = Opened(memory.ask, scope)
    return MemoryServer(lambda: opened, names)
