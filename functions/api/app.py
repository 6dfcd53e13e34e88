"""The router: every operation of the contract, and every refusal as a problem document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from functions.api.call import Call
from functions.api.endpoints import ENDPOINTS
from functions.api.problem import problem_document
from functions.entrypoint import log_fault
from unsay_core.contracts import exact_json
from unsay_core.contracts.operations import OPERATIONS
from unsay_core.domain.errors import MethodNotAllowedError, NotFoundError, UnsayError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_lambda_powertools.utilities.typing import LambdaContext

    from functions.api.endpoints.reply import Reply
    from unsay_core.application.authenticate import Identity
    from unsay_core.bootstrap.aws import ApiService
    from unsay_core.contracts.operations import Operation


SIGNED = "/iam"  # what the paths begin with whose callers sign with AWS credentials


def _pattern(path: str) -> re.Pattern[str]:
    """What a path with parameters matches."""
    segments = ("[^/]+" if part.startswith("{") else re.escape(part) for part in path.split("/"))
    return re.compile("/".join(segments))


class InternalError(UnsayError, status=500, code="internal", title="Something went wrong"):
    """A fault of ours."""


class Api:
    """The HTTP API over one service: an API Gateway event in, its answer out."""

    def __init__(self, service: ApiService) -> None:
        self._service = service
        self._router = APIGatewayHttpResolver()
        for operation in OPERATIONS:
            self._router.route(_rule(operation), method=operation.method)(self._view(operation))
        self._router.not_found(self._nothing_there)
        self._router.exception_handler(UnsayError)(self._problem)
        self._router.exception_handler(Exception)(self._fault)

    def __call__(self, event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer one request."""
        event = _without_prefix(event)
        # The router keeps the event on its class, where routers in other threads would answer each other's.
        self._router.current_event = APIGatewayProxyEventV2(event)
        return self._router.resolve(event, context)

    def _view(self, operation: Operation) -> Callable[..., Response[str]]:
        route = f"{operation.method} {operation.path}"
        endpoint = ENDPOINTS[operation.name]

        def view(**named: str) -> Response[str]:
            service, thing = self._service, next(iter(named.values()), "")
            event, now = self._router.current_event, service.world.clock.now()
            call = Call(event, route, now, lambda: service.authenticator, thing)
            call.check(has_query=operation.query is not None)
            if not operation.is_public:
                self._note_use(call.identity)
            return _response(endpoint(call, self._service))

        return view

    def _note_use(self, identity: Identity) -> None:
        if identity.last_used is not None:
            self._service.uses.note(identity.root, identity.last_used)

    def _nothing_there(self, _error: Exception) -> Response[str]:
        asked = self._router.current_event.path
        methods = [each.method for each in OPERATIONS if _pattern(each.path).fullmatch(asked)]
        if not methods:
            return self._problem(NotFoundError("there is no such call"))
        answer = self._problem(MethodNotAllowedError("this path does not take that method"))
        answer.headers["Allow"] = ", ".join(methods)
        return answer

    def _problem(self, refusal: UnsayError) -> Response[str]:
        request_id = self._router.current_event.request_context.request_id
        body = problem_document(refusal, request_id)
        after = refusal.retry_after
        return Response(
            status_code=refusal.status,
            content_type="application/problem+json",
            body=exact_json.dumps(body),
            headers={"Retry-After": str(after)} if after else {},
        )

    def _fault(self, fault: Exception) -> Response[str]:
        log_fault("a request failed", fault)
        return self._problem(InternalError("this is a fault of the service; it was logged"))


def _without_prefix(event: dict[str, Any]) -> dict[str, Any]:
    """A request below `/iam` is the same call; who makes it, the gateway says beside the path."""
    path = event["rawPath"]
    return {**event, "rawPath": path.removeprefix(SIGNED)} if path.startswith(f"{SIGNED}/") else event


def _rule(operation: Operation) -> str:
    return operation.path.replace("{", "<").replace("}", ">")


def _response(reply: Reply) -> Response[str]:
    return Response(
        status_code=reply.status,
        content_type="application/json",
        body=exact_json.dumps(reply.body),
        headers={**reply.headers, "Cache-Control": "no-store"},
    )
