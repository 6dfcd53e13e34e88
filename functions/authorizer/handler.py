"""The authorizer λ: who is this? Whom it does not know it denies, and nobody learns why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.entrypoint import UNDECIDED, bearer_of, log_fault, logger
from unsay_core.application.authenticate import came_through
from unsay_core.bootstrap.authorizer import AuthorizerService
from unsay_core.settings import EDGE_HEADER, AuthorizerSettings

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

service = AuthorizerService(AuthorizerSettings.from_environment())


@logger.inject_lambda_context
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Answer the gateway's question with a simple response: allowed, and who it is.

    Where it cannot tell, an error would be the gateway's own 500. The request goes on instead, with nobody
    named: the api λ asks again, and answers 503 if it cannot tell either.
    """
    headers = event.get("headers") or {}
    credential = bearer_of(headers)
    if credential is None:
        return {"isAuthorized": False}
    try:
        if not came_through(service.edge_secret, headers.get(EDGE_HEADER) or ""):
            return {"isAuthorized": False}
        identity = service.authenticator.bearer(credential)
    except Exception as fault:  # noqa: BLE001 - whatever it was: undecided is neither allowed nor denied
        log_fault("a caller could not be decided on", fault)
        return {"isAuthorized": True, "context": {UNDECIDED: "true"}}
    if identity is None:
        return {"isAuthorized": False}
    return {"isAuthorized": True, "context": identity.to_context()}
