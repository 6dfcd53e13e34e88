"""The messages of the standard streams, whole or not."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.shared._stream_protocols import ReadStream

Incoming = SessionMessage | Exception


@asynccontextmanager
async def mended(read: ReadStream[Incoming]) -> AsyncIterator[ReadStream[Incoming]]:
    """The same messages, with those that the SDK cannot read for one half of a surrogate pair.

    It would drop them, and their senders would wait for ever; so the tool gets them, and refuses the text.
    """
    inlet, outlet = anyio.create_memory_object_stream[Incoming](0)

    async def pump() -> None:
        async with read, inlet:
            async for message in read:
                await inlet.send(_mended(message))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pump)
        yield outlet
        tasks.cancel_scope.cancel()


def _mended(message: Incoming) -> Incoming:
    if not isinstance(message, ValidationError):
        return message
    line = message.errors()[0]["input"]
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(json.loads(line), by_name=False))
    except (TypeError, ValueError, RecursionError):
        return message
