"""Going on with a trace: each call is a span of the caller's own, and the service's spans stand below.

With `opentelemetry-api` installed, by itself. Without it a `traceparent` can be named: `continuing(…)`.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

from unsay_core.contracts.operations import OPERATIONS
from unsay_core.tracing import TracePlace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from unsay.asking import Ask

HEADER = "traceparent"
_named: ContextVar[str | None] = ContextVar("traceparent", default=None)


@contextmanager
def continuing(traceparent: str) -> Iterator[None]:
    """Send calls with this W3C `traceparent`; raises `ValueError` for what is none."""
    if TracePlace.parse(traceparent) is None:
        raise ValueError("not a traceparent: 00-, 32 and 16 digits of base 16, flags")
    token = _named.set(traceparent)
    try:
        yield
    finally:
        _named.reset(token)


@contextmanager
def span(ask: Ask[Any]) -> Iterator[None]:
    """A call as a span named as the service names it, with nothing of what is asked."""
    api = _opentelemetry()
    if api is None:
        yield
        return
    with work(name_of(ask), api.SpanKind.CLIENT):
        yield


@contextmanager
def work(name: str, kind: Any = None) -> Iterator[None]:
    """What the client does, as a span of that name."""
    api = _opentelemetry()
    if api is None:
        yield
        return
    # What went wrong may quote a memory: the type alone is told.
    told = api.get_tracer("unsay").start_as_current_span(
        f"unsay {name}",
        kind=kind or api.SpanKind.INTERNAL,
        record_exception=False,
        set_status_on_exception=False,
    )
    with told as current:
        try:
            yield
        except Exception as error:
            current.set_status(api.Status(api.StatusCode.ERROR, type(error).__name__))
            raise


def headers() -> Mapping[str, str]:
    """What goes along with a request for the service to go on with the trace."""
    carrier: dict[str, str] = {}
    if _named.get() is None and _opentelemetry() is not None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(carrier)
    named = _named.get() or carrier.get(HEADER)
    return {HEADER: named} if named else {}


def name_of(ask: Ask[Any]) -> str:
    """What the contract calls a question."""
    for operation in OPERATIONS:
        own = operation.path.removeprefix("/v1/").split("/")
        fits = operation.method == ask.method and len(own) == len(ask.path)
        if fits and all(a == b or a.startswith("{") for a, b in zip(own, ask.path, strict=True)):
            return operation.name
    return "call"


@cache
def _opentelemetry() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace
