"""Spans for X-Ray: one datagram each to the daemon that runs beside every λ with tracing.

Written by hand for the start of a λ: the SDK is in maintenance, and patches what it finds at import.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from unsay_core.tracing import UNTRACED, Span, TracePlace, current

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from botocore.hooks import BaseEventHooks

    from unsay_core.tracing import Tracer

_HEADER = b'{"format": "json", "version": 1}\n'
_HERE = re.compile(
    r"Root=1-([0-9a-f]{8})-([0-9a-f]{24})(?:;Parent=([0-9a-f]{16}))?(?:;Sampled=([01]))?", re.ASCII
)
_DAEMON = "AWS_XRAY_DAEMON_ADDRESS"  # set by Lambda, where tracing is on
_CALL = "unsay.call"  # in botocore's context of a call: its name, and when it began
_INVOCATION = "_X_AMZN_TRACE_ID"  # set by Lambda for each invocation


class XrayTracer:
    """See `Tracer`; `send` takes a datagram, `service` is whose work it is."""

    def __init__(self, service: str, send: Callable[[bytes], None]) -> None:
        self._service = service
        self._send = send

    @contextmanager
    def span(self, name: str, *, under: TracePlace | None = None) -> Iterator[Span]:
        """A subsegment of what is done here; a segment where another trace is gone on with."""
        parent = under or _around()
        span = Span(name, parent and _below(parent))
        token, started, is_fault = current.set(span), time.time(), True
        try:
            yield span
            is_fault = False
        finally:
            current.reset(token)
            self._tell(span, parent, started, is_segment=under is not None, is_fault=is_fault)

    def called(self, name: str, started: float, *, is_fault: bool, **attributes: str | int | float) -> None:
        """A call to a store is over that this thread made."""
        parent = _around()
        span = Span(name, parent and _below(parent))
        span.note(**attributes)
        self._tell(span, parent, started, is_segment=False, is_fault=is_fault)

    def _tell(
        self, span: Span, parent: TracePlace | None, started: float, *, is_segment: bool, is_fault: bool
    ) -> None:
        place = span.place
        if place is None or parent is None or not place.is_sampled:
            return
        document: dict[str, Any] = {
            "name": f"unsay {self._service}" if is_segment else span.name,
            "id": place.span_id,
            "trace_id": f"1-{place.trace_id[:8]}-{place.trace_id[8:]}",
            "parent_id": parent.span_id,
            "start_time": started,
            "end_time": time.time(),
            "annotations": {"work": span.name, **span.attributes},
        }
        document |= {} if is_segment else {"type": "subsegment"}
        document |= {"fault": True} if is_fault else {}
        with suppress(OSError):  # no work fails because nobody watches it
            self._send(_HEADER + json.dumps(document, separators=(",", ":")).encode())


def _around() -> TracePlace | None:
    """Where this thread stands: in a span, or in the invocation of the λ itself."""
    span = current.get()
    return span.place if span else invocation(os.environ.get(_INVOCATION, ""))


def _below(parent: TracePlace) -> TracePlace:
    return TracePlace(parent.trace_id, secrets.token_hex(8), parent.is_sampled)


def invocation(header: str) -> TracePlace | None:
    """The place that Lambda gives an invocation; None without tracing."""
    found = _HERE.match(header)
    if found is None or found[3] is None:
        return None
    return TracePlace(found[1] + found[2], found[3], found[4] == "1")


def tracer_of_function() -> Tracer:
    """The tracer of this λ; one that tells nobody where tracing is off."""
    host, _, port = os.environ.get(_DAEMON, "").rpartition(":")
    if not host:
        return UNTRACED
    sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sending.setblocking(False)
    service = os.environ.get("POWERTOOLS_SERVICE_NAME", "")
    return XrayTracer(service, lambda datagram: _sent(sending, datagram, (host, int(port))))


def _sent(sending: socket.socket, datagram: bytes, address: tuple[str, int]) -> None:
    sending.sendto(datagram, address)


def watch_calls(events: BaseEventHooks, tracer: Tracer) -> None:
    """Let every call of clients that are made from now on tell a span: which call, and how it went."""
    if not isinstance(tracer, XrayTracer):
        return

    def begin(model: Any, context: dict[str, Any], **_: Any) -> None:
        context[_CALL] = (f"{model.service_model.service_name}.{model.name}", time.time())

    # Of a call that got no answer the hooks are told its context alone.
    def end(context: dict[str, Any], parsed: Any = None, **_: Any) -> None:
        told = (parsed or {}).get("ResponseMetadata", {})
        status = told.get("HTTPStatusCode", 0)
        tracer.called(
            *context[_CALL],
            is_fault=status == 0 or status >= 500,
            status=status,
            retries=told.get("RetryAttempts", 0),
        )

    events.register("before-call", begin)
    events.register("after-call", end)
    events.register("after-call-error", end)
