"""The authorizer λ: whose key is this? A key it does not know is denied, and nobody learns why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from functions.entrypoint import logger
from unsay_core.application.access import authenticate
from unsay_core.bootstrap.aws import AuthorizerService
from unsay_core.settings import AuthorizerSettings

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from unsay_core.application.access import ApiKey

SCHEME = "bearer"
service = AuthorizerService(AuthorizerSettings.from_environment())


@logger.inject_lambda_context
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Answer the gateway's question with a simple response: allowed, and who it is."""
    key = _key(event)
    if key is None:
        return {"isAuthorized": False}
    expires_at = int(key.expires_at.timestamp()) if key.expires_at else 0
    context = {"principal": json.dumps(key.principal.to_json()), "expires_at": str(expires_at)}
    return {"isAuthorized": True, "context": context}


def _key(event: dict[str, Any]) -> ApiKey | None:
    scheme, _, secret = event.get("headers", {}).get("authorization", "").partition(" ")
    if scheme.lower() != SCHEME or not secret:
        return None
    return authenticate(secret.strip(), service.keys, service.keyring, service.world.clock.now())
