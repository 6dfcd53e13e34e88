"""Traces of whoever calls: gone on with, with OpenTelemetry or without, and no word in any span."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import unsay
from tests.support.stack import ROOT
from unsay.tracing import continuing, name_of
from unsay.verbs import recall

if TYPE_CHECKING:
    from collections.abc import Iterator

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Service:
    """Answers every recall, or refuses it."""

    def __init__(self) -> None:
        self.sent: list[httpx.Request] = []
        self.status = 200

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        found = {"items": [], "degraded": False, "reasons": [], "considered": 0, "took_ms": 1}
        problem = {"type": "x", "title": "No Lisbon", "status": 403, "code": "forbidden", "request_id": "r"}
        return httpx.Response(self.status, json=found if self.status == 200 else problem)


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def client(service: Service) -> unsay.Memory:
    return unsay.connect("https://unsay.example", token="token", transport=httpx.MockTransport(service))


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter


def test_a_named_trace_is_gone_on_with(client: unsay.Memory, service: Service) -> None:
    with continuing(PARENT):
        client.recall("Where does Alice live in Lisbon?", scope="acme/alice")
    client.recall("Where?", scope="acme/alice")
    assert [request.headers.get("traceparent") for request in service.sent] == [PARENT, None]


def test_what_is_no_traceparent_is_refused_where_it_is_said() -> None:
    with pytest.raises(ValueError, match="traceparent"), continuing("Lisbon"):
        pass


def test_a_call_is_a_span_of_the_callers_own_and_says_no_word(
    client: unsay.Memory, service: Service, spans: InMemorySpanExporter
) -> None:
    client.recall("Where does Alice live in Lisbon?", scope="acme/alice")
    (told,) = spans.get_finished_spans()
    assert told.name == "unsay recall"
    sent = service.sent[0].headers["traceparent"]
    context: Any = told.context
    assert sent.startswith(f"00-{context.trace_id:032x}-{context.span_id:016x}-0")
    assert not re.search("Lisbon|alice|acme", json.dumps(told.to_json()))


def test_a_refusal_is_told_by_its_type_alone(
    client: unsay.Memory, service: Service, spans: InMemorySpanExporter
) -> None:
    service.status = 403
    with pytest.raises(Exception, match="Lisbon"):
        client.recall("Lisbon?", scope="acme/alice")
    (told,) = spans.get_finished_spans()
    assert not told.status.is_ok
    assert "Lisbon" not in told.to_json()


def test_a_span_is_named_as_the_contract_names_the_call() -> None:
    assert name_of(recall("x", scope="a")) == "recall"


def test_what_the_page_shows_is_what_happens(client: unsay.Memory, service: Service) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "traces.md").read_text(), re.DOTALL)
    exec(block, {"memory": client})
    assert service.sent[0].headers["traceparent"] == PARENT


def test_an_injection_is_a_span_above_its_recall(client: unsay.Memory, spans: InMemorySpanExporter) -> None:
    said = [{"role": "user", "content": "Where does Alice live in Lisbon?"}]
    with trace.get_tracer("mine").start_as_current_span("turn"):
        unsay.Injector(client, scope="acme/alice").inject(said)
    recall_span, inject, turn = spans.get_finished_spans()
    assert [recall_span.name, inject.name, turn.name] == ["unsay recall", "unsay inject", "turn"]
    assert recall_span.parent and recall_span.parent.span_id == inject.context.span_id  # type: ignore[union-attr]
    assert inject.parent and inject.parent.span_id == turn.context.span_id  # type: ignore[union-attr]
    assert "Lisbon" not in recall_span.to_json() + inject.to_json()
