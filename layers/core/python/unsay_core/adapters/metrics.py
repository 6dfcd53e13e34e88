"""What is counted because it must not happen, or not for long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_lambda_powertools.metrics import MetricUnit, single_metric

if TYPE_CHECKING:
    from unsay_core.extraction.conversation import Batch

FOREIGN_HITS = "ForeignHits"  # the knowledge base answered with what lies in another scope
DEGRADED = "DegradedRecalls"  # a recall went without a store, or without a part of one, for a `reason`

STUCK = "StuckJobs"  # a job had not moved for long, and was called again


def count(name: str, value: int = 1, **dimensions: str) -> None:
    """Say how often something happened; CloudWatch reads it from the log."""
    with single_metric(name=name, unit=MetricUnit.Count, value=value) as metric:
        for dimension, member in dimensions.items():
            metric.add_dimension(dimension, member)


class ExtractionGauges:
    """See `Gauges`: metrics of the extract λ. Whose they are stands beside each, by ids of scope and root.

    Not as a dimension, which would be a metric of its own, and paid for, for every root: who wants the cost
    of one asks the log.
    """

    def __init__(self, root_id: str, scope_id: str) -> None:
        self._whose = {"root_id": root_id, "scope_id": scope_id}

    def asked(self, tokens: int, seconds: float) -> None:
        """Tokens, and how long the model took."""
        self._tell("ModelTokens", MetricUnit.Count, tokens)
        self._tell("ModelTime", MetricUnit.Seconds, seconds)

    def extracted(self, batch: Batch) -> None:
        """What was kept, and what was dropped for which reason."""
        self._tell("FactsKept", MetricUnit.Count, len(batch.created) + len(batch.merged))
        for dropped in batch.dropped:
            self._tell("FactsDropped", MetricUnit.Count, dropped.count, reason=dropped.reason)

    def gave_up(self, reason: str) -> None:
        """A batch has failed, for a reason."""
        self._tell("BatchesFailed", MetricUnit.Count, 1, reason=reason)

    def _tell(self, name: str, unit: MetricUnit, value: float, **dimensions: str) -> None:
        with single_metric(name=name, unit=unit, value=value) as metric:
            for dimension, member in dimensions.items():
                metric.add_dimension(dimension, member)
            for whose, digest in self._whose.items():
                metric.add_metadata(whose, digest)
