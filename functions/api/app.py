"""The gateway's events on their way to the endpoints, and the answers on their way back."""

from __future__ import annotations

from base64 import b64decode
from functools import partial
from typing import TYPE_CHECKING, Any

from functions.entrypoint import UNDECIDED, bearer_of, log_fault
from unsay_core.application.identity import Identity
from unsay_core.domain.errors import ForbiddenError
from unsay_core.endpoints.call import Request
from unsay_core.endpoints.router import Endpoints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aws_lambda_powertools.utilities.typing import LambdaContext

    from unsay_core.application.authenticate import Authenticator
    from unsay_core.bootstrap.aws import ApiService

SIGNED = "/iam"  # what the paths begin with whose callers sign with AWS credentials


class Api:
    """The HTTP API over one service: an API Gateway event (payload format 2.0) in, its answer out."""

    def __init__(self, service: ApiService) -> None:
        self._service = service
        self._endpoints = Endpoints(service, partial(log_fault, "a request failed"))

    def __call__(self, event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer one request."""
        answer = self._endpoints.answer(request_of(event, lambda: self._service.authenticator))
        return {"statusCode": answer.status, "headers": dict(answer.headers), "body": answer.body}


def request_of(event: Mapping[str, Any], authenticator: Callable[[], Authenticator]) -> Request:
    """The request in an event; the authenticator is for callers whom the gateway does not name."""
    context, headers = event["requestContext"], event.get("headers") or {}
    lower = {name.lower(): value for name, value in headers.items()}
    return Request(
        method=context["http"]["method"],
        path=_without_prefix(event["rawPath"]),
        query=event.get("rawQueryString") or "",
        headers=lower,
        body=_body(event),
        id=context["requestId"],
        who=lambda: _identity(context.get("authorizer") or {}, lower, authenticator),
    )


def _without_prefix(path: str) -> str:
    """A request below `/iam` is the same call; who makes it, the gateway says beside the path."""
    return path.removeprefix(SIGNED) if path.startswith(f"{SIGNED}/") else path


def _body(event: Mapping[str, Any]) -> bytes:
    text: str = event.get("body") or ""
    return b64decode(text) if event.get("isBase64Encoded") else text.encode("utf-8", "surrogatepass")


def _identity(
    told: Mapping[str, Any], headers: Mapping[str, str], authenticator: Callable[[], Authenticator]
) -> Identity | None:
    """Who calls, as the gateway or its authorizer found; nothing in the request can say otherwise."""
    if "iam" in told:
        role = authenticator().role(told["iam"].get("userArn") or "")
        if role is None:
            raise ForbiddenError("nothing is granted here to this role")
        return role
    authorizer = told.get("lambda") or {}
    if UNDECIDED in authorizer:
        return authenticator().bearer(bearer_of(headers) or "")
    return Identity.from_context(authorizer) if authorizer.get("principal") else None
