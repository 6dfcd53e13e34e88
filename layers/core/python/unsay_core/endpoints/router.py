"""The router: every operation of the contract, and every refusal as a problem document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.contracts import exact_json
from unsay_core.contracts.operations import OPERATIONS
from unsay_core.domain.errors import (
    MethodNotAllowedError,
    NotFoundError,
    QuotaExceededError,
    ThrottledError,
    UnsayError,
)
from unsay_core.domain.values import dataclass
from unsay_core.endpoints import ENDPOINTS
from unsay_core.endpoints.call import Call
from unsay_core.endpoints.problem import count_refusal, problem_document
from unsay_core.endpoints.reply import quota_header
from unsay_core.tracing import TracePlace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from unsay_core.application.identity import Identity
    from unsay_core.contracts.operations import Operation
    from unsay_core.endpoints.call import Request
    from unsay_core.endpoints.reply import Reply
    from unsay_core.endpoints.service import Service
    from unsay_core.tracing import Span

# A path that stands in the contract as it is goes before one with a parameter in that place.
_ROUTES = tuple(
    (tuple(operation.path.split("/")), operation)
    for operation in sorted(OPERATIONS, key=lambda operation: "{" in operation.path)
)


class InternalError(UnsayError, status=500, code="internal", title="Something went wrong"):
    """A fault of ours."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: a status, headers, and JSON."""

    status: int
    headers: Mapping[str, str]
    body: str


class Endpoints:
    """Every call of the API over one service: a request in, its answer out. Threads may share it.

    `log_fault` is told of what was no refusal: a fault of ours, whose message might quote a memory.
    """

    def __init__(self, service: Service, log_fault: Callable[[Exception], None]) -> None:
        self._service = service
        self._log_fault = log_fault

    def answer(self, request: Request) -> Answer:
        """Answer one request, going on with the trace that it names. Raises nothing."""
        under = TracePlace.parse(request.headers.get("traceparent"))
        with self._service.world.tracer.span("request", under=under) as span:
            answer = self._answer(request, span)
            span.note(status=answer.status)
            return answer

    def _answer(self, request: Request, span: Span) -> Answer:
        try:
            return _answer(self._reply(request, span))
        except UnsayError as refusal:
            span.note(reason=refusal.code)
            count_refusal(refusal, self._service.world.signals)
            return _problem(refusal, request)
        except Exception as fault:  # noqa: BLE001 - whatever it is, the caller gets a problem document
            return self._fault(fault, request)

    def _reply(self, request: Request, span: Span) -> Reply:
        operation, thing = _route(request)
        span.name = operation.name
        service = self._service
        call = Call(request, f"{operation.method} {operation.path}", service.world.clock.now(), thing)
        call.check(has_query=operation.query is not None)
        if not operation.is_public:
            self._note_use(call.identity)
        return ENDPOINTS[operation.name](call, service)

    def _note_use(self, identity: Identity) -> None:
        if identity.last_used is not None:
            self._service.uses.note(identity.root, identity.last_used)

    def _fault(self, fault: Exception, request: Request) -> Answer:
        self._log_fault(fault)
        return _problem(InternalError("this is a fault of the service; it was logged"), request)


def _route(request: Request) -> tuple[Operation, str]:
    """The operation that is asked for, and the parameter in its path, if it has one."""
    there = list(_at(request.path))
    for operation, thing in there:
        if operation.method == request.method:
            return operation, thing
    if there:
        raise MethodNotAllowedError("this path does not take that method")
    raise NotFoundError("there is no such call")


def _at(path: str) -> Iterator[tuple[Operation, str]]:
    """The operations that a path leads to, whatever their method."""
    asked = path.split("/")
    for segments, operation in _ROUTES:
        if len(segments) == len(asked):
            others = [pair for pair in zip(segments, asked, strict=True) if pair[0] != pair[1]]
            if all(own.startswith("{") and given for own, given in others):
                yield operation, others[0][1] if others else ""


def _answer(reply: Reply) -> Answer:
    headers = {"Content-Type": "application/json", **reply.headers, "Cache-Control": "no-store"}
    return Answer(reply.status, headers, exact_json.dumps(reply.body))


def _problem(refusal: UnsayError, request: Request) -> Answer:
    headers = {"Content-Type": "application/problem+json"}
    if refusal.retry_after:
        headers["Retry-After"] = str(refusal.retry_after)
    if isinstance(refusal, QuotaExceededError | ThrottledError):
        headers |= quota_header(refusal.quota, refusal.limit, 0)
    if isinstance(refusal, MethodNotAllowedError):
        headers["Allow"] = ", ".join(operation.method for operation, _ in _at(request.path))
    return Answer(refusal.status, headers, exact_json.dumps(problem_document(refusal, request.id)))
