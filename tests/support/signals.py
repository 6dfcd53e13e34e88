"""Metrics as they are told, kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unsay_core.metrics import Metric


@dataclass(frozen=True)
class Told:
    """One number that was told."""

    metric: Metric
    value: float
    dimensions: Mapping[str, str]
    whose: Mapping[str, str]


class MemorySignals:
    """See `Signals`."""

    def __init__(self) -> None:
        self.told: list[Told] = []

    def tell(
        self, metric: Metric, value: float = 1, *, whose: Mapping[str, str] | None = None, **dimensions: str
    ) -> None:
        metric.check(dimensions)
        self.told.append(Told(metric, value, dimensions, whose or {}))

    def values(self, metric: Metric, **dimensions: str) -> list[float]:
        """What was told of one metric, in order."""
        return [
            each.value
            for each in self.told
            if each.metric is metric and dimensions.items() <= each.dimensions.items()
        ]
