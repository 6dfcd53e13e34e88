"""The mcp λ: a request of MCP in, the calls its tool makes, its answer out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.entrypoint import logger
from functions.mcp.app import McpApp
from unsay_core.bootstrap.aws import ApiService
from unsay_core.endpoints import memories, reads  # noqa: F401 - asked most: no first request waits for them
from unsay_core.settings import McpSettings

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

_settings = McpSettings.from_environment()
app = McpApp(ApiService(_settings), read_only=_settings.read_only == "true")


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer an HTTP API request (payload format 2.0)."""
    return app(event, context)
