"""CloudWatch's metrics and alarms: metrics come of log lines too, and alarms weigh periods as AWS does.

The emulator leaves embedded metrics in the log, knows no metric of queues or of the HTTP API, and its alarms
look neither at dimensions nor at what is missing.
"""

from __future__ import annotations

import json
import operator
import time
from typing import TYPE_CHECKING, Any

from ministack.services import cloudwatch, sqs

from local import faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

PATCHES = {
    "ministack.services.cloudwatch": (
        "_metrics",
        "_alarms",
        "_metric_bucket",
        "_dims_key",
        "_dims_from_list",
        "_calc_stats",
        "_stat_value",
        "_evaluate_alarm",
        "_describe_alarms",
        "_record_history",
        "_dispatch_alarm_actions",
        "_evaluate_parent_alarms",
    ),
    "ministack.services.sqs": ("_queues",),
}

_original_describe = cloudwatch._describe_alarms
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}


def record(
    namespace: str, name: str, value: float, unit: str, dimensions: Mapping[str, str], at: float | None = None
) -> None:
    """Keep one value of a metric."""
    point = {"Timestamp": time.time() if at is None else at, "Value": float(value), "Unit": unit}
    key = (namespace, name, cloudwatch._dims_key(dict(dimensions)))
    cloudwatch._metric_bucket(key).append({**point, "Dimensions": dict(dimensions)})


def take_log(log: str) -> None:
    """Make metrics of what a function printed in the embedded format; any other line is none."""
    for line in log.splitlines():
        if '"_aws"' in line:
            _take(json.loads(line))


def _take(line: Mapping[str, Any]) -> None:
    told = line["_aws"]
    for directive in told["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = {name: str(line[name]) for name in names}
            for metric in directive["Metrics"]:
                values = line[metric["Name"]]
                for value in values if isinstance(values, list) else [values]:
                    unit = metric.get("Unit", "None")
                    at = told["Timestamp"] / 1000
                    record(directive["Namespace"], metric["Name"], value, unit, dimensions, at)


def record_api_call(api_id: str, status: int, milliseconds: float) -> None:
    """What API Gateway says of a call to an HTTP API."""
    dimensions = {"ApiId": api_id}
    record("AWS/ApiGateway", "Count", 1, "Count", dimensions)
    record("AWS/ApiGateway", "4xx", 400 <= status < 500, "Count", dimensions)
    record("AWS/ApiGateway", "5xx", status >= 500, "Count", dimensions)
    record("AWS/ApiGateway", "Latency", milliseconds, "Milliseconds", dimensions)


def record_queues(now: float) -> None:
    """What SQS says of every queue, once a minute there and whenever somebody looks here."""
    for queue in list(sqs._queues.values()):
        dimensions = {"QueueName": queue["name"]}
        messages = list(queue["messages"])
        visible = [message for message in messages if message["visible_at"] <= time.time()]
        oldest = min((message["sent_at"] for message in messages), default=None)
        age = 0.0 if oldest is None else time.time() - oldest
        record("AWS/SQS", "ApproximateNumberOfMessagesVisible", len(visible), "Count", dimensions, now)
        record("AWS/SQS", "ApproximateAgeOfOldestMessage", age, "Seconds", dimensions, now)


def state_of(alarm: Mapping[str, Any], values: Sequence[float | None]) -> str | None:
    """The state an alarm comes to by the values of its periods; None for the one it has.

    A period without data is None in `values`.
    """
    treat = alarm.get("TreatMissingData") or "missing"
    crosses = _COMPARISONS[alarm["ComparisonOperator"]]
    verdicts = [None if value is None else crosses(value, alarm["Threshold"]) for value in values]
    if all(verdict is None for verdict in verdicts) and treat in ("missing", "ignore"):
        return "INSUFFICIENT_DATA" if treat == "missing" else None
    breaching = sum(treat == "breaching" if verdict is None else verdict for verdict in verdicts)
    needed = alarm.get("DatapointsToAlarm") or alarm["EvaluationPeriods"]
    return "ALARM" if breaching >= needed else "OK"


def _values(alarm: Mapping[str, Any], now: float) -> Iterator[float | None]:
    """The alarm's statistic in each of its periods, counted back from now."""
    dimensions = cloudwatch._dims_from_list(alarm.get("Dimensions") or [])
    key = (alarm["Namespace"], alarm["MetricName"], cloudwatch._dims_key(dimensions))
    points = list(cloudwatch._metrics.get(key) or [])
    period = alarm["Period"]
    for back in range(alarm["EvaluationPeriods"]):
        end = now - back * period
        within = [point for point in points if end - period < point["Timestamp"] <= end]
        statistic = alarm.get("ExtendedStatistic") or alarm.get("Statistic") or "Average"
        stats = cloudwatch._calc_stats(within)
        yield cloudwatch._stat_value(stats, statistic, within) if stats else None


def evaluate(alarm: dict[str, Any]) -> None:
    """Bring one alarm to the state that its metric calls for, as far ahead as the clock of alarms is."""
    now = time.time() + faults.current().alarms_ahead_seconds
    values = list(_values(alarm, now))
    old, new = alarm["StateValue"], state_of(alarm, values)
    if new is None or new == old:
        return
    reason = f"Periods, the latest first: {values}; threshold {alarm['Threshold']}"
    alarm |= {"StateValue": new, "StateReason": reason, "StateUpdatedTimestamp": int(time.time())}
    cloudwatch._record_history(alarm["AlarmName"], old, new, reason)
    cloudwatch._dispatch_alarm_actions(alarm, old, new, reason)
    cloudwatch._evaluate_parent_alarms(alarm)


def _describe(*arguments: Any) -> Any:
    """Whoever looks at alarms finds them evaluated: AWS does it every minute."""
    record_queues(time.time() + faults.current().alarms_ahead_seconds)
    for alarm in list(cloudwatch._alarms.values()):
        evaluate(alarm)
    return _original_describe(*arguments)


def install() -> None:
    """Evaluate alarms by the rules above."""
    cloudwatch._evaluate_alarm = evaluate
    cloudwatch._describe_alarms = _describe
