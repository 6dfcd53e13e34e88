"""Event source mappings: DynamoDB streams and FIFO queues as Lambda polls them.

The emulator's stream poller runs every function in one thread and knows no partial batch response; its FIFO
poller runs one batch at a time, and edits a queue's messages from a second thread without a lock.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ministack import app
from ministack.core import arn as arns
from ministack.core import responses
from ministack.services import dynamodb, lambda_svc, sqs

from local import metrics, persistence

if TYPE_CHECKING:
    from collections.abc import Callable

PATCHES = {
    "ministack.app": ("_MAIN_LOOP",),
    "ministack.core.responses": ("request_scope",),
    "ministack.services.dynamodb": ("stream_start_position", "stream_end_position", "stream_records_since"),
    "ministack.services.lambda_svc": (
        "_poll_dynamodb_streams",
        "_sqs_esm_concurrency",
        "_dispatch_esm_batch",
        "_iter_all_esms",
        "_apply_filter_criteria",
        "_execute_function",
        "_get_func_record_for_qualifier",
        "_dynamodb_stream_table_from_arn_spec",
        "_send_ddb_stream_failure_record",
        "_reserved_concurrency",
        "_dynamodb_stream_positions",
        "_dynamodb_stream_positions_lock",
        "_esm_inflight",
        "_esm_backoff_until",
        "_ESM_SQS_DEFAULT_CONCURRENCY",
    ),
    "ministack.services.sqs": ("_receive_messages_for_esm", "_delete_messages_for_esm"),
}

_RETRY_SECONDS = 0.5
_original_dispatch = lambda_svc._dispatch_esm_batch
_original_receive = sqs._receive_messages_for_esm
_original_delete = sqs._delete_messages_for_esm


@dataclass
class _Attempt:
    """How often the batch at one position of a stream has failed, and how small it was cut."""

    position: int
    size: int
    count: int = 0


_attempts: dict[str, _Attempt] = {}


def _poll_streams() -> bool:
    """Start a batch of every stream that has one; True if any did."""
    started = [_poll_in_scope(*found) for found in lambda_svc._iter_all_esms()]
    return any(started)


def _poll_in_scope(account: str, region: str, mapping: dict[str, Any]) -> bool:
    with responses.request_scope(account, region):
        return _ready(mapping) and _poll_stream(mapping)


def _ready(mapping: dict[str, Any]) -> bool:
    """Whether a mapping reads a live stream, has no batch in flight and is not waiting to retry."""
    identifier = mapping["UUID"]
    return (
        bool(mapping.get("Enabled", True))
        and ":dynamodb:" in mapping.get("EventSourceArn", "")
        and not lambda_svc._esm_inflight.get(identifier)
        and lambda_svc._esm_backoff_until.get(identifier, 0) <= time.time()
        and (dynamodb._tables.get(_table_name(mapping)) or {}).get("LatestStreamArn")
        == mapping["EventSourceArn"]
    )


def _table_name(mapping: dict[str, Any]) -> str:
    found = lambda_svc._dynamodb_stream_table_from_arn_spec(arns.parse_arn(mapping["EventSourceArn"]))
    return str(found[0]) if found else ""


def _poll_stream(mapping: dict[str, Any]) -> bool:
    function, _ = lambda_svc._get_func_record_for_qualifier(mapping["FunctionName"], mapping.get("Qualifier"))
    table, position = _table_name(mapping), _position(mapping)
    attempt = _attempts.setdefault(mapping["UUID"], _Attempt(position, int(mapping.get("BatchSize", 100))))
    if attempt.position != position:
        attempt = _attempts[mapping["UUID"]] = _Attempt(position, int(mapping.get("BatchSize", 100)))
    records = dynamodb.stream_records_since(table, position, attempt.size) if function else []
    if not records:
        return False
    kept = [
        (n, record)
        for n, record in enumerate(records)
        if lambda_svc._apply_filter_criteria([record], mapping)
    ]
    if kept:
        lambda_svc._dispatch_esm_batch(
            mapping["UUID"], _run_batch, mapping, function, kept, position, len(records), attempt
        )
    else:
        _advance(mapping, position + len(records))
    return True


def _position(mapping: dict[str, Any]) -> int:
    """Where a mapping reads on: never before the stream's horizon."""
    table, identifier = _table_name(mapping), mapping["UUID"]
    horizon = int(dynamodb.stream_start_position(table))
    with lambda_svc._dynamodb_stream_positions_lock:
        positions = lambda_svc._dynamodb_stream_positions
        if identifier not in positions:
            latest = mapping.get("StartingPosition", "LATEST") != "TRIM_HORIZON"
            positions[identifier] = dynamodb.stream_end_position(table) if latest else horizon
        positions[identifier] = max(positions[identifier], horizon)
        return int(positions[identifier])


def _advance(mapping: dict[str, Any], position: int) -> None:
    with lambda_svc._dynamodb_stream_positions_lock:
        lambda_svc._dynamodb_stream_positions[mapping["UUID"]] = position


def _run_batch(
    mapping: dict[str, Any],
    function: dict[str, Any],
    kept: list[tuple[int, dict[str, Any]]],
    position: int,
    read: int,
    attempt: _Attempt,
) -> None:
    """Invoke the function with one batch, then move the mapping's position as Lambda would."""
    records = [record for _, record in kept]
    age = time.time() - records[0]["dynamodb"]["ApproximateCreationDateTime"]
    dimensions = {"FunctionName": function["config"]["FunctionName"]}
    metrics.record("AWS/Lambda", "IteratorAge", max(0.0, age) * 1000, "Milliseconds", dimensions)
    result = lambda_svc._execute_function(function, {"Records": records})
    first_failed = 0 if result.get("error") else _first_failed(mapping, result.get("body"), records)
    if first_failed is None:
        mapping["LastProcessingResult"] = "OK"
        _advance(mapping, position + read)
        return
    mapping["LastProcessingResult"] = "PROBLEM: Function call failed"
    if first_failed:
        _advance(mapping, position + kept[first_failed][0])
        return
    attempt.count += 1
    if _exhausted(mapping, records[0], attempt):
        lambda_svc._send_ddb_stream_failure_record(
            mapping, function, records, mapping["EventSourceArn"], result, "RetryAttemptsExhausted"
        )
        _advance(mapping, position + read)
        return
    if mapping.get("BisectBatchOnFunctionError") and attempt.size > 1:
        attempt.size, attempt.count = max(1, min(attempt.size, read) // 2), 0
    lambda_svc._esm_backoff_until[mapping["UUID"]] = time.time() + _RETRY_SECONDS


def _first_failed(mapping: dict[str, Any], body: Any, records: list[dict[str, Any]]) -> int | None:
    """Index of the first record a partial batch response returns; 0 when it returns one that was not sent."""
    failures = body.get("batchItemFailures") if isinstance(body, dict) else None
    if "ReportBatchItemFailures" not in mapping.get("FunctionResponseTypes", []) or not failures:
        return None
    numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
    named = [failure.get("itemIdentifier") for failure in failures]
    return min(numbers.index(name) if name in numbers else 0 for name in named)


def _exhausted(mapping: dict[str, Any], first: dict[str, Any], attempt: _Attempt) -> bool:
    """Whether a failing batch has used up its retries or its age; a batch still to be cut has not."""
    if mapping.get("BisectBatchOnFunctionError") and attempt.size > 1:
        return False
    retries = int(mapping.get("MaximumRetryAttempts", -1))
    age = int(mapping.get("MaximumRecordAgeInSeconds", -1))
    too_old = time.time() - first["dynamodb"]["ApproximateCreationDateTime"] > age
    return (0 <= retries < attempt.count) or (age > 0 and too_old)


def _queue_concurrency(
    mapping: dict[str, Any],
    function: dict[str, Any],
    config: dict[str, Any],
    queue: dict[str, Any] | None = None,
) -> int:
    """Batches in flight for a queue, FIFO or not: the queue itself holds back a group that has one."""
    del queue
    limit = int(
        (mapping.get("ScalingConfig") or {}).get("MaximumConcurrency")
        or lambda_svc._ESM_SQS_DEFAULT_CONCURRENCY
    )
    reserved = lambda_svc._reserved_concurrency(function, config)
    return limit if reserved is None else min(limit, reserved)


def _on_loop(call: Callable[..., Any]) -> Callable[..., Any]:
    """Run a queue edit where all the others run: two threads editing one queue can lose a message."""

    async def edit(*arguments: Any) -> Any:
        return call(*arguments)

    def run(*arguments: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(edit(*arguments), app._MAIN_LOOP).result()

    return run


def _dispatch(mapping_id: str, run: Callable[..., None], *arguments: Any) -> None:
    """Start a batch; whatever it changed (a position, a queue) is saved after it."""

    def run_and_touch(*inner: Any) -> None:
        run(*inner)
        persistence.touch(tables=False)

    _original_dispatch(mapping_id, run_and_touch, *arguments)


def install() -> None:
    """Take over the stream poller and the emulator's queue handling for Lambda."""
    lambda_svc._poll_dynamodb_streams = _poll_streams
    lambda_svc._sqs_esm_concurrency = _queue_concurrency
    lambda_svc._dispatch_esm_batch = _dispatch
    sqs._receive_messages_for_esm = _on_loop(_original_receive)
    sqs._delete_messages_for_esm = _on_loop(_original_delete)
