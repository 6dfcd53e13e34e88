"""A request of MCP, answered from the one scope that the credential of its caller names."""

from __future__ import annotations

from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from functions.api.app import request_of
from functions.entrypoint import log_fault
from unsay.mcp import FORGETTING, READING, REVIEWING, WRITING
from unsay.mcp.http import HttpAnswer, answered, only_post, refused
from unsay.mcp.server import MemoryServer, Opened
from unsay.transport import Transport, judged
from unsay_core.domain.errors import ForbiddenError, UnsayError
from unsay_core.domain.scope import Action, Scope
from unsay_core.endpoints.call import Call, Request
from unsay_core.endpoints.router import Endpoints

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from unsay.transport import Written
    from unsay_core.application.identity import Identity
    from unsay_core.bootstrap.aws import ApiService
    from unsay_core.domain.scope import Principal

# Only a person can hold `review`.
_TOOLS = {
    Action.READ: READING,
    Action.WRITE: WRITING,
    Action.FORGET: FORGETTING,
    Action.REVIEW: REVIEWING,
}


class McpApp:
    """MCP over one service: an API Gateway event (payload format 2.0) in, its answer out."""

    def __init__(self, service: ApiService, *, read_only: bool) -> None:
        self._service = service
        self._read_only = read_only
        self._endpoints = Endpoints(service, partial(log_fault, "a call of a tool failed"))
        self._opened: ContextVar[Opened] = ContextVar("opened")
        # By the names of their tools, whose schemas take a quarter of a second to make.
        self._servers: dict[frozenset[str], MemoryServer] = {}

    def __call__(self, event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer one request."""
        answer = self._answer(request_of(event, lambda: self._service.authenticator))
        return {"statusCode": answer.status, "headers": dict(answer.headers), "body": answer.body.decode()}

    def _answer(self, request: Request) -> HttpAnswer:
        if request.method != "POST":
            return only_post()
        try:
            identity = Call(request, "POST /mcp", self._service.world.clock.now()).identity
            self._opened.set(self._open(identity, request.id))
            server = self._server(identity.principal)
            return answered(server, request.method, request.headers, request.body)
        except UnsayError as refusal:
            return refused(refusal.status, f"{refusal.title}: {refusal.detail}".removesuffix(": "))
        except Exception as fault:  # noqa: BLE001 - whatever it is, the host gets an answer it can read
            log_fault("a request failed", fault)
            return refused(500, "Something went wrong: this is a fault of the service; it was logged")

    def _open(self, identity: Identity, request_id: str) -> Opened:
        scope = only_scope(identity.principal)
        asked = InHand(self._endpoints, identity, request_id, self._service)
        return Opened(asked.send, scope.canonical)

    def _server(self, principal: Principal) -> MemoryServer:
        names = self._tools(principal)
        if names not in self._servers:
            self._servers[names] = MemoryServer(self._opened.get, names)
        return self._servers[names]

    def _tools(self, principal: Principal) -> frozenset[str]:
        held = {action for grant in principal.grants for action in grant.actions}
        names = frozenset(name for action, tools in _TOOLS.items() if action in held for name in tools)
        return names & READING if self._read_only else names


class InHand(Transport):
    """Questions to the endpoints of this process, by whoever the gateway said is calling."""

    def __init__(
        self, endpoints: Endpoints, identity: Identity, request_id: str, service: ApiService
    ) -> None:
        super().__init__("", sleep=service.world.clock.sleep)
        self._endpoints = endpoints
        self._identity = identity
        self._id = request_id

    def close(self) -> None:
        """Nothing is held."""

    def sweep(self) -> None:
        """The sweep λ does that."""

    def _once(self, written: Written) -> object:
        request = Request(
            method=written.method,
            path=written.path,
            query=written.query,
            headers={name.lower(): value for name, value in written.headers.items()},
            body=written.body or b"",
            id=self._id,
            who=lambda: self._identity,
        )
        answer = self._endpoints.answer(request)
        return judged(answer.status, answer.headers.get("Retry-After"), answer.body)


def only_scope(principal: Principal) -> Scope:
    """The scope that all grants are of; raises `ForbiddenError` where they leave a choice.

    A choice would be made by an argument, and arguments are the model's.
    """
    patterns = {grant.pattern for grant in principal.grants}
    if len(patterns) != 1 or any(pattern.below for pattern in patterns):
        raise ForbiddenError("over MCP a credential names exactly one scope: make a delegation for it")
    return Scope(patterns.pop().prefix)
