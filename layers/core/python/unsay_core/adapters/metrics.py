"""What is counted because it must not happen, or not for long."""

from __future__ import annotations

from aws_lambda_powertools.metrics import MetricUnit, single_metric

FOREIGN_HITS = "ForeignHits"  # the knowledge base answered with what lies in another scope
DEGRADED = "DegradedRecalls"  # a recall went without a store, or without a part of one, for a `reason`

STUCK = "StuckJobs"  # a job had not moved for long, and was called again


def count(name: str, value: int = 1, **dimensions: str) -> None:
    """Say how often something happened; CloudWatch reads it from the log."""
    with single_metric(name=name, unit=MetricUnit.Count, value=value) as metric:
        for dimension, member in dimensions.items():
            metric.add_dimension(dimension, member)
