"""What a run cost by CloudWatch's meters and list prices of us-east-1: λs and tables, which meter at once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import boto3

GIGABYTE_SECOND, REQUEST = 0.0000133334, 0.20e-6  # arm64
WRITE_UNIT, READ_UNIT = 0.625e-6, 0.125e-6  # on demand
PERIOD = 60  # seconds


def cost(session: boto3.session.Session, outputs: Mapping[str, str], begun: datetime) -> dict[str, float]:
    """Dollars by what they were spent on, since the run began."""
    meter = _Meter(session, begun)
    memory = _functions(session, outputs)
    gigabyte_seconds = sum(
        meter.sum("AWS/Lambda", "Duration", FunctionName=name) / 1000 * megabytes / 1024
        for name, megabytes in memory.items()
    )
    calls = sum(meter.sum("AWS/Lambda", "Invocations", FunctionName=name) for name in memory)
    tables = [outputs[each] for each in ("LedgerTable", "RecordTable", "AccessTable")]
    written = sum(meter.sum("AWS/DynamoDB", "ConsumedWriteCapacityUnits", TableName=name) for name in tables)
    read = sum(meter.sum("AWS/DynamoDB", "ConsumedReadCapacityUnits", TableName=name) for name in tables)
    return {
        f"{calls:.0f} calls of λs, {gigabyte_seconds:.1f} GB-s": gigabyte_seconds * GIGABYTE_SECOND
        + calls * REQUEST,
        f"{written:.0f} units written and {read:.0f} read": written * WRITE_UNIT + read * READ_UNIT,
    }


class _Meter:
    def __init__(self, session: boto3.session.Session, begun: datetime) -> None:
        self._client = session.client("cloudwatch")
        self._begun = begun

    def sum(self, namespace: str, metric: str, **dimensions: str) -> float:
        answer = self._client.get_metric_statistics(
            Namespace=namespace,
            MetricName=metric,
            Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
            StartTime=self._begun - timedelta(seconds=PERIOD),
            EndTime=datetime.now(UTC) + timedelta(seconds=PERIOD),
            Period=PERIOD,
            Statistics=["Sum"],
        )
        return sum(point["Sum"] for point in answer["Datapoints"])


def _functions(session: boto3.session.Session, outputs: Mapping[str, str]) -> dict[str, int]:
    """The stack's functions with their memory, in megabytes; they are named as the stack is."""
    prefix = outputs["LedgerTable"].partition("-Tables")[0]
    pages = session.client("lambda").get_paginator("list_functions").paginate()
    found = (each for page in pages for each in page["Functions"])
    return {
        each["FunctionName"]: each["MemorySize"] for each in found if each["FunctionName"].startswith(prefix)
    }
