"""The api λ: HTTP in, one use case, HTTP out."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from functions.api.app import Api
from functions.entrypoint import logger
from unsay_core.bootstrap.aws import ApiService
from unsay_core.settings import ApiSettings

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

api = Api(ApiService(ApiSettings.from_environment()))
gc.freeze()  # all that was made until here stays: no collection looks through it, none in the first request


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer an HTTP API request (payload format 2.0)."""
    return api(event, context)
