"""Metering: what the model costs a root in a day, and whether it is worth asking it just now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from unsay_core.extraction.conversation import BatchState
from unsay_core.metrics import (
    BATCHES,
    BATCHES_FAILED,
    FACTS_DROPPED,
    FACTS_KEPT,
    MODEL_COST,
    MODEL_TIME,
    MODEL_TOKENS,
)
from unsay_core.tracing import note

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.extraction.conversation import Batch
    from unsay_core.extraction.steering import Steering
    from unsay_core.metrics import Signals

FAILURES_IN_A_ROW = 10  # from then on the breaker is open
PROBE = 3  # while it is, every third batch that is due may try


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs: US dollars for a million tokens that it reads, and that it writes."""

    read: float
    written: float

    @classmethod
    def parse(cls, setting: str) -> Price | None:
        """A price from `0.3/2.5`; None from `none`, where nobody has said what the model costs."""
        if setting == "none":
            return None
        read, _, written = setting.partition("/")
        return cls(float(read), float(written))

    def of(self, tokens: int, written: int) -> float:
        """What so many tokens cost, of which so many were written."""
        return ((tokens - written) * self.read + written * self.written) / 1_000_000


class Counters(Protocol):
    """Whole numbers that several processes count up."""

    def read(self, name: str) -> int:
        """A counter; 0 if nobody has counted."""

    def add(self, name: str, amount: int) -> int:
        """Count up, and tell how far."""

    def clear(self, name: str) -> None:
        """Begin anew."""


class Gauges:
    """What extraction costs and brings, told for one scope: numbers and reasons, never a word of anybody."""

    def __init__(self, signals: Signals, root_id: str, scope_id: str) -> None:
        self._signals = signals
        self._root = root_id
        self._whose = {"root_id": root_id, "scope_id": scope_id}

    def asked(self, tokens: int, seconds: float, cost: float | None) -> None:
        """The model was asked: what all questions about one thing took, and cost if that is known."""
        note(tokens=tokens)
        self._signals.tell(MODEL_TOKENS, tokens, whose=self._whose, root=self._root)
        if cost is not None:
            self._signals.tell(MODEL_COST, cost, whose=self._whose, root=self._root)
        self._signals.tell(MODEL_TIME, seconds, whose=self._whose)

    def leased(self) -> None:
        """Somebody works on a batch."""
        self._came_to_be(BatchState.EXTRACTING)

    def released(self) -> None:
        """Nothing came of it; a batch waits again."""
        self._came_to_be(BatchState.QUEUED)

    def extracted(self, batch: Batch) -> None:
        """A batch is done: what was kept, and what was dropped for which reason."""
        self._came_to_be(BatchState.DONE)
        self._signals.tell(FACTS_KEPT, len(batch.created) + len(batch.merged), whose=self._whose)
        for dropped in batch.dropped:
            self._signals.tell(FACTS_DROPPED, dropped.count, whose=self._whose, reason=dropped.reason)

    def gave_up(self, reason: str) -> None:
        """A batch has failed."""
        self._came_to_be(BatchState.FAILED)
        self._signals.tell(BATCHES_FAILED, whose=self._whose, reason=reason)

    def _came_to_be(self, state: BatchState) -> None:
        self._signals.tell(BATCHES, whose=self._whose, state=state.value)


@dataclass(frozen=True, slots=True)
class Meter:
    """The breaker and the budget of one root with one model, and the price of that, if anybody said it."""

    root: str
    model: str
    steering: Steering
    counters: Counters
    price: Price | None = None

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

    def cost(self, tokens: int, written: int) -> float | None:
        """What so many tokens cost in US dollars, of which so many were written."""
        return None if self.price is None else self.price.of(tokens, written)

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
