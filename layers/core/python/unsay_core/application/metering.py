"""Metering: what the model costs a root in a day, and whether it is worth asking it just now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.extraction.conversation import Batch
    from unsay_core.extraction.steering import Steering

FAILURES_IN_A_ROW = 10  # from then on the breaker is open
PROBE = 3  # while it is, every third batch that is due may try


class Counters(Protocol):
    """Whole numbers that several processes count up."""

    def read(self, name: str) -> int:
        """A counter; 0 if nobody has counted."""

    def add(self, name: str, amount: int) -> int:
        """Count up, and tell how far."""

    def clear(self, name: str) -> None:
        """Begin anew."""


class Gauges(Protocol):
    """Where it is told what extraction costs and brings: numbers and reasons, never a word of anybody."""

    def asked(self, tokens: int, seconds: float) -> None:
        """A batch was asked about: what it took of the model, in all its questions."""

    def extracted(self, batch: Batch) -> None:
        """A batch is done."""

    def gave_up(self, reason: str) -> None:
        """A batch has failed."""


@dataclass(frozen=True, slots=True)
class Meter:
    """The breaker and the budget of one root with one model."""

    root: str
    model: str
    steering: Steering
    counters: Counters

    def hindrance(self, now: datetime) -> str | None:
        """Why the model may not be asked now, or None."""
        limit = self.steering.daily_tokens
        if limit is not None and self.counters.read(self._tokens(now)) >= limit:
            return "budget"
        if self.counters.read(self._failures) < FAILURES_IN_A_ROW:
            return None
        return None if self.counters.add(self._due, 1) % PROBE == 0 else "model_unavailable"

    def answered(self, tokens: int, now: datetime) -> None:
        """The model answered, whatever it said: the breaker closes."""
        self.counters.add(self._tokens(now), tokens)
        if self.counters.read(self._failures):
            self.counters.clear(self._failures)

    def failed(self) -> None:
        """The model gave no answer."""
        self.counters.add(self._failures, 1)

    @property
    def _failures(self) -> str:
        return f"{self.root}/failures/{self.model}"

    @property
    def _due(self) -> str:
        return f"{self.root}/due/{self.model}"

    def _tokens(self, now: datetime) -> str:
        return f"{self.root}/tokens/{now.date().isoformat()}"
