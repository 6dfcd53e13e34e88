"""The index queue and the event bus: ids and digests only, never text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from unsay_core.adapters.aws_errors import translated
from unsay_core.application.ledger import Area
from unsay_core.application.ports import IndexTask, JobTask
from unsay_core.application.project import BATCH_READY
from unsay_core.domain.ids import is_digest, is_id
from unsay_core.tracing import TracePlace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_sqs import SQSClient

SOURCE = "unsay"
MOST = 10  # messages or events in one request
FILE_CAME = "Object Created"
REDRIVEN = "redriven"
_PLACE = re.compile(r"(?P<scope>[^/]+)/(?P<run>[^/]+)/(?P<upload>[^/]+)\.jsonl")


class SqsIndexQueue:
    """See `IndexQueue`; a FIFO group per memory keeps its work in order."""

    def __init__(self, client: SQSClient, url: str) -> None:
        self._client = client
        self._url = url

    def send(self, tasks: Sequence[IndexTask]) -> None:
        """Send in batches; the deduplication id makes a repeated send one message."""
        for at in range(0, len(tasks), MOST):
            entries: Any = [_message(number, task) for number, task in enumerate(tasks[at : at + MOST])]
            with translated("the index queue"):
                answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
            if answer.get("Failed"):
                raise RuntimeError("the index queue refused a message")

    def waiting(self) -> int:
        """As the queue counts them: approximately."""
        wanted: Any = ["ApproximateNumberOfMessages"]
        with translated("the index queue"):
            answer = self._client.get_queue_attributes(QueueUrl=self._url, AttributeNames=wanted)
        return int(answer["Attributes"]["ApproximateNumberOfMessages"])


class SqsJobQueue:
    """See `JobQueue`."""

    def __init__(self, client: SQSClient, url: str) -> None:
        self._client = client
        self._url = url

    def call(self, tasks: Sequence[JobTask]) -> None:
        """Send in batches."""
        for at in range(0, len(tasks), MOST):
            entries: Any = [
                {"Id": str(number), "MessageBody": body_of_job(task)}
                for number, task in enumerate(tasks[at : at + MOST])
            ]
            with translated("the job queue"):
                answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
            if answer.get("Failed"):
                raise RuntimeError("the job queue refused a message")


class SqsPostponer:
    """Lets messages that are not done yet come back sooner than the queue's own time-out."""

    def __init__(self, client: SQSClient, url: str) -> None:
        self._client = client
        self._url = url

    def postpone(self, receipts: Mapping[str, int]) -> None:
        """Let each message, by its receipt handle, come back after so many seconds."""
        handles = list(receipts)
        for at in range(0, len(handles), MOST):
            entries: Any = [
                {"Id": str(number), "ReceiptHandle": handle, "VisibilityTimeout": receipts[handle]}
                for number, handle in enumerate(handles[at : at + MOST])
            ]
            with translated("the index queue"):
                self._client.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)


class SqsDeadLetters:
    """See `DeadLetters`. A queue that keeps an order gets each letter as a group of its own."""

    def __init__(self, client: SQSClient, url: str) -> None:
        self._client = client
        self._url = url

    def set_aside(self, letter: str, name: str) -> None:
        """One message; `name` tells it from others that read the same."""
        order: Any = {}
        if self._url.endswith(".fifo"):
            order = {"MessageGroupId": name, "MessageDeduplicationId": name}
        with translated("the dead letters"):
            self._client.send_message(QueueUrl=self._url, MessageBody=letter, **order)


def _message(number: int, task: IndexTask) -> dict[str, str]:
    return {
        "Id": str(number),
        "MessageBody": body_of_task(task),
        "MessageGroupId": task.memory_id,
        "MessageDeduplicationId": f"{task.memory_id}-{task.seq}{'-rebuild' if task.rebuild else ''}",
    }


def body_of_task(task: IndexTask) -> str:
    """A task as a message carries it."""
    named = {"sid": task.scope_id, "id": task.memory_id, "seq": task.seq}
    root = {"root": task.root_id} if task.root_id else {}
    more = {"rebuild": True} if task.rebuild else {}
    return json.dumps(named | root | more | _trace(task.trace))


def task_of_message(body: str) -> IndexTask:
    """The task a message carries; raises `ValueError` if it names none, or no scope."""
    message = json.loads(body)
    named = (message.get("sid"), message.get("id"), message.get("seq")) if isinstance(message, dict) else ()
    match named:
        case (str(scope_id), str(memory_id), int(seq)) if is_digest(scope_id) and is_id(memory_id, "mem"):
            root = message.get("root")
            root_id = root if isinstance(root, str) and is_digest(root) else None
            rebuild = message.get("rebuild") is True
            return IndexTask(scope_id, memory_id, seq, root_id, rebuild, _trace_of(message))
    raise ValueError("this names no work in any scope")


def body_of_job(task: JobTask) -> str:
    """A call for a job as a message carries it: ids, and the kind, which says what may open the scope."""
    named = {"sid": task.scope_id, "area": task.area.value, "id": task.id, "kind": task.kind}
    return json.dumps(named | _trace(task.trace))


def job_of_message(body: str) -> JobTask:
    """The job a message calls for; raises `ValueError` if it names none, or no scope."""
    message = json.loads(body)
    named = [message.get(name) for name in ("sid", "area", "id", "kind")] if isinstance(message, dict) else []
    match named:
        case [str(scope_id), "E" | "J" as area, str(job_id), str(kind)] if is_digest(scope_id):
            return JobTask(scope_id, Area(area), job_id, kind, _trace_of(message))
    raise ValueError("this names no job in any scope")


def _trace(traceparent: str | None) -> dict[str, str]:
    return {"trace": traceparent} if traceparent else {}


def _trace_of(message: Mapping[str, Any]) -> str | None:
    """The trace that a message belongs to, if it names one at all."""
    place = TracePlace.parse(message["trace"]) if isinstance(message.get("trace"), str) else None
    return str(place) if place else None


def trace_of_event(event: Mapping[str, Any]) -> TracePlace | None:
    """The place in a trace from which an event came; None for an event of nobody's trace."""
    detail = event.get("detail")
    return TracePlace.parse(_trace_of(detail)) if isinstance(detail, dict) else None


def batch_of_event(event: Mapping[str, Any]) -> tuple[str, str, int]:
    """Scope id, run and number of the batch in an event; raises `KeyError`, `TypeError`, `ValueError`."""
    detail = event["detail"]
    return str(detail["scope_id"]), str(detail["run_id"]), int(detail["batch"])


def upload_of_event(event: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Scope id, run and upload of a file that has come; None for an event of something else.

    All three are the file's own place, which nobody can choose; what else the event says is not looked at.
    Raises `KeyError`, `TypeError`, and `ValueError` for a place where no upload is expected.
    """
    if event.get("detail-type") != FILE_CAME:
        return None
    found = _PLACE.fullmatch(event["detail"]["object"]["key"])
    if found is None or not is_digest(found["scope"]) or not is_id(found["upload"], "upl"):
        raise ValueError("this is the place of no upload")
    return found["scope"], found["run"], found["upload"]


def is_redriven(event: Mapping[str, Any]) -> bool:
    """True for an event that was sent again from the dead letters."""
    return bool(event.get(REDRIVEN))


def redriven(letter: str) -> str:
    """A dead letter as it is sent again; one that is no event goes as it is."""
    try:
        event = json.loads(letter)
    except ValueError:
        return letter
    return json.dumps({**event, REDRIVEN: True}) if isinstance(event, dict) else letter


def event_of_batch(scope_id: str, run_id: str, number: int) -> str:
    """A message that calls for a batch, as the bus would put it: so that a dead letter can be sent again."""
    detail = {"scope_id": scope_id, "run_id": run_id, "batch": number}
    return json.dumps({"source": SOURCE, "detail-type": BATCH_READY, "detail": detail})


class EventBridgeBus:
    """See `EventBus`."""

    def __init__(self, client: EventBridgeClient, bus: str) -> None:
        self._client = client
        self._bus = bus

    def publish(self, events: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        """Publish in batches; an event that was refused fails the call, and the batch comes again."""
        for at in range(0, len(events), MOST):
            entries: Any = [self._entry(kind, detail) for kind, detail in events[at : at + MOST]]
            with translated("the event bus"):
                answer = self._client.put_events(Entries=entries)
            if answer["FailedEntryCount"]:
                raise RuntimeError("the event bus refused an event")

    def _entry(self, kind: str, detail: Mapping[str, object]) -> dict[str, str]:
        text = json.dumps(detail)
        return {"Source": SOURCE, "DetailType": kind, "Detail": text, "EventBusName": self._bus}
