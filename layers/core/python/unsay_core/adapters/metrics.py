"""What is counted because it must not happen: each count has an alarm."""

from __future__ import annotations

from aws_lambda_powertools.metrics import MetricUnit, single_metric

FOREIGN_HITS = "ForeignHits"  # the knowledge base answered with what lies in another scope


def count(name: str, value: int = 1) -> None:
    """Say how often something happened; CloudWatch reads it from the log."""
    with single_metric(name=name, unit=MetricUnit.Count, value=value):
        pass
