"""Metrics in the log, in CloudWatch's embedded format, whence CloudWatch makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_lambda_powertools.metrics import MetricUnit, single_metric

from unsay_core.metrics import NAMESPACE, Unit

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
        """One line of the log."""
        metric.check(dimensions)
        unit = _UNITS[metric.unit]
        with single_metric(name=metric.name, unit=unit, value=value, namespace=NAMESPACE) as told:
            for dimension, member in dimensions.items():
                told.add_dimension(dimension, member)
            for kind, digest in (whose or {}).items():
                told.add_metadata(kind, digest)
