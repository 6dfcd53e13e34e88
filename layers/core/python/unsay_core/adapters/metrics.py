"""Metrics in the log, in CloudWatch's embedded format, whence CloudWatch makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from unsay_core.metrics import NAMESPACE, SERVICE, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unsay_core.metrics import Metric

_UNITS = {
    Unit.COUNT: MetricUnit.Count,
    Unit.SECONDS: MetricUnit.Seconds,
    Unit.MILLISECONDS: MetricUnit.Milliseconds,
    Unit.BYTES: MetricUnit.Bytes,
    Unit.DOLLARS: MetricUnit.NoUnit,
}


class EmbeddedMetrics:
    """See `Signals`. The λ's own name, from its environment, is a dimension of all it tells."""

    def tell(
        self, metric: Metric, value: float = 1, *, whose: Mapping[str, str] | None = None, **dimensions: str
    ) -> None:
        """One line of the log: the metric of the λ, and that of its dimensions if it has any."""
        metric.check(dimensions)
        line = AmazonCloudWatchEMFProvider(namespace=NAMESPACE)
        line.add_metric(metric.name, _UNITS[metric.unit], value)
        if dimensions:
            line.add_dimensions(**{SERVICE: line.service or "", **dimensions})
        for kind, digest in (whose or {}).items():
            line.add_metadata(kind, digest)
        line.flush_metrics()
