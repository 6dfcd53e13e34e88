"""What can be drawn and watched: lines of our own metrics, and of those that AWS has of what we use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from unsay_core.metrics import NAMESPACE, SERVICE

if TYPE_CHECKING:
    from unsay_core.metrics import Metric


@dataclass(frozen=True)
class Own:
    """One of our metrics as a λ tells it; `at` is one value of its dimension, `by` a line for each."""

    metric: Metric
    service: str
    statistic: str
    at: tuple[str, str] | None = None
    by: str | None = None

    def __post_init__(self) -> None:
        named = self.at[0] if self.at else self.by
        if self.service not in self.metric.services or named not in (None, *self.metric.dimensions):
            raise ValueError(f"{self.metric.name} is not told so: {self}")

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.name

    @property
    def dimensions(self) -> dict[str, str]:
        """What CloudWatch knows the line by."""
        return {SERVICE: self.service, **dict([self.at] if self.at else [])}

    @property
    def search(self) -> str | None:
        """The expression that finds a line for each value of a dimension; None if it is one line."""
        if self.by is None:
            return None
        named = f'{SERVICE}="{self.service}" MetricName="{self.name}"'
        return f"SEARCH('{{{NAMESPACE},{SERVICE},{self.by}}} {named}', '{self.statistic}')"


@dataclass(frozen=True)
class Native:
    """A metric that AWS has of something in the stack: `of` names it as `Watch` does."""

    of: str
    name: str
    statistic: str


Line: TypeAlias = Own | Native
