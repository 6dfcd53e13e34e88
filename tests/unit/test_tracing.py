"""Traces: how one is gone on with, what a span may say, and what X-Ray is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import ReadTimeoutError

from unsay_core.adapters.messaging import body_of_job, body_of_task, job_of_message, task_of_message
from unsay_core.adapters.world import Threads
from unsay_core.adapters.xray import XrayTracer, invocation, tracer_of_function, watch_calls
from unsay_core.application.ledger import Area
from unsay_core.application.ports import IndexTask, JobTask
from unsay_core.tracing import UNTRACED, TracePlace, here, note

if TYPE_CHECKING:
    from collections.abc import Iterator

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"
OURS = "1-0af76519-16cd43dd8448eb211c80319c"


class Daemon:
    """What X-Ray's daemon gets."""

    def __init__(self) -> None:
        self.segments: list[dict[str, Any]] = []

    def __call__(self, datagram: bytes) -> None:
        header, _, document = datagram.partition(b"\n")
        assert json.loads(header) == {"format": "json", "version": 1}
        self.segments.append(json.loads(document))


@pytest.fixture
def daemon() -> Daemon:
    return Daemon()


@pytest.fixture
def tracer(daemon: Daemon) -> XrayTracer:
    return XrayTracer("api", daemon)


@pytest.fixture
def invoked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", f"Root={OURS};Parent={SPAN};Sampled=1;Lineage=1:x:0")
    yield


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "nonsense",
        PARENT.upper(),
        PARENT + "-more",
        PARENT.replace("00-", "ff-", 1),
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}-0١",
    ],
)
def test_what_is_no_traceparent_begins_no_trace(text: str | None) -> None:
    assert TracePlace.parse(text) is None


@pytest.mark.parametrize(("flags", "sampled"), [("01", True), ("00", False), ("03", True)])
def test_a_traceparent_names_a_place_and_whether_it_is_told(flags: str, sampled: bool) -> None:
    place = TracePlace.parse(f"00-{TRACE}-{SPAN}-{flags}")
    assert place == TracePlace(TRACE, SPAN, sampled)
    assert TracePlace.parse(str(place)) == place


def test_work_under_another_place_is_a_segment_of_its_trace_and_what_it_does_stands_below(
    tracer: XrayTracer, daemon: Daemon
) -> None:
    with tracer.span("remember", under=TracePlace.parse(PARENT)) as outer:
        outer.note(status=201)
        with tracer.span("inner"):
            note(scope="digest", count=3)
    inner, segment = daemon.segments
    assert (segment["name"], segment["trace_id"], segment["parent_id"]) == ("unsay api", OURS, SPAN)
    assert segment["annotations"] == {"work": "remember", "status": 201}
    assert "type" not in segment
    assert (inner["type"], inner["parent_id"], inner["trace_id"]) == ("subsegment", segment["id"], OURS)
    assert inner["annotations"] == {"work": "inner", "scope": "digest", "count": 3}
    assert segment["start_time"] <= inner["start_time"] <= inner["end_time"] <= segment["end_time"]


@pytest.mark.usefixtures("invoked")
def test_work_of_nobodys_trace_stands_below_the_invocation(tracer: XrayTracer, daemon: Daemon) -> None:
    with tracer.span("sweep"):
        assert TracePlace.parse(here())
    (told,) = daemon.segments
    assert (told["trace_id"], told["parent_id"], told["type"]) == (OURS, SPAN, "subsegment")
    assert here() is None


@pytest.mark.parametrize("header", ["", "Root=1-x", f"Root={OURS}", f"Root={OURS};Sampled=1"])
def test_outside_of_any_trace_nothing_is_told(tracer: XrayTracer, daemon: Daemon, header: str) -> None:
    assert invocation(header) is None
    with tracer.span("remember"):
        assert here() is None
    assert daemon.segments == []


def test_a_trace_that_is_not_sampled_goes_on_and_is_not_told(tracer: XrayTracer, daemon: Daemon) -> None:
    with tracer.span("remember", under=TracePlace(TRACE, SPAN, is_sampled=False)):
        assert (here() or "").endswith("-00")
    assert daemon.segments == []


def test_work_that_failed_says_so_and_not_why(tracer: XrayTracer, daemon: Daemon) -> None:
    with pytest.raises(ValueError, match="Lisbon"), tracer.span("x", under=TracePlace.parse(PARENT)):
        raise ValueError("I live in Lisbon")
    (told,) = daemon.segments
    assert told["fault"] is True
    assert "Lisbon" not in json.dumps(told)


@pytest.mark.parametrize(
    "said", [{"content": "x"}, {"query": "x"}, {"reason": "I live in Lisbon, é"}, {"model": "x" * 200}]
)
def test_no_span_says_a_text(tracer: XrayTracer, said: dict[str, str]) -> None:
    with tracer.span("x") as span, pytest.raises(ValueError, match="no span may say"):
        span.note(**said)


def test_a_daemon_that_is_away_fails_no_work() -> None:
    def away(_: bytes) -> None:
        raise OSError("unreachable")

    with XrayTracer("api", away).span("x", under=TracePlace.parse(PARENT)) as span:
        assert span.place


def test_without_a_daemon_nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_XRAY_DAEMON_ADDRESS", raising=False)
    assert tracer_of_function() is UNTRACED
    monkeypatch.setenv("AWS_XRAY_DAEMON_ADDRESS", "127.0.0.1:9")
    assert isinstance(tracer_of_function(), XrayTracer)
    with UNTRACED.span("x", under=TracePlace.parse(PARENT)):
        note(scope="x")
        assert here() is None


def test_threads_go_on_with_the_trace_of_whoever_asked(tracer: XrayTracer) -> None:
    with Threads(2) as threads, tracer.span("x", under=TracePlace.parse(PARENT)):
        assert threads.submit(here).result() == here()
        assert list(threads.map(lambda _: here(), range(2))) == [here()] * 2
        assert here()


def test_a_call_to_a_store_says_which_it_was_and_how_it_went(tracer: XrayTracer, daemon: Daemon) -> None:
    session = boto3.session.Session("k", "s", region_name="us-east-1")
    watch_calls(session.events, tracer)
    client: Any = session.client("dynamodb")
    body = json.dumps({"Item": {"pk": {"S": "Lisbon"}}}).encode()
    client.meta.events.register("before-send", lambda **_: _answer(200, body))
    with tracer.span("x", under=TracePlace.parse(PARENT)):
        client.get_item(TableName="t", Key={"pk": {"S": "Lisbon"}})
    call, _ = daemon.segments
    assert (call["name"], call["type"]) == ("dynamodb.GetItem", "subsegment")
    assert call["annotations"] == {"work": "dynamodb.GetItem", "status": 200, "retries": 0}
    assert "Lisbon" not in json.dumps(daemon.segments)


def test_a_call_that_gets_no_answer_fails_as_it_would_and_says_so(tracer: XrayTracer, daemon: Daemon) -> None:
    session = boto3.session.Session("k", "s", region_name="us-east-1")
    watch_calls(session.events, tracer)
    client: Any = session.client("dynamodb", config=Config(retries={"total_max_attempts": 1}))

    def unheard(**_: Any) -> None:
        raise ReadTimeoutError(endpoint_url="https://dynamodb")

    client.meta.events.register("before-send", unheard)
    with tracer.span("x", under=TracePlace.parse(PARENT)), pytest.raises(ReadTimeoutError):
        client.get_item(TableName="t", Key={"pk": {"S": "Lisbon"}})
    call, _ = daemon.segments
    assert (call["name"], call["fault"]) == ("dynamodb.GetItem", True)


def _answer(status: int, body: bytes) -> Any:
    class Raw:
        def stream(self, **_: Any) -> Iterator[bytes]:
            yield body

    return AWSResponse("https://dynamodb", status, {"x-amzn-requestid": "r"}, Raw())


def test_the_trace_rides_in_messages_and_what_is_none_is_dropped() -> None:
    scope_id, memory = "a" * 52, f"mem_{0:026d}"
    task = task_of_message(body_of_task(IndexTask(scope_id, memory, 1, trace=PARENT)))
    assert task.trace == PARENT
    job = JobTask(scope_id, Area.JOB, "job_1", "export", PARENT)
    assert job_of_message(body_of_job(job)).trace == PARENT
    for wrong in ("a text", 3, {"x": 1}):
        body = json.loads(body_of_task(task)) | {"trace": wrong}
        assert task_of_message(json.dumps(body)).trace is None
