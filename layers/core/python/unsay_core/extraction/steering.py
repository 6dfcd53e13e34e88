"""Steering: what a root's admins say about extraction. One policy for everything below the root."""

from __future__ import annotations

from dataclasses import field
from decimal import Decimal
from enum import StrEnum
from typing import Final

from unsay_core.domain.quota import Quotas
from unsay_core.domain.values import dataclass
from unsay_core.extraction.conversation import Cadence


class Mode(StrEnum):
    """Whether facts of conversations are believed at once, wait for a person, or are not looked for."""

    AUTO = "auto"
    REVIEW = "review"
    OFF = "off"


WORDS: Final = Decimal("0.85")  # share of words in common from which on two statements are merged
COSINE: Final = Decimal("0.95")  # of their vectors, where the longer says all that the shorter does


@dataclass(frozen=True, slots=True)
class Consolidation:
    """How often near duplicates are merged that nobody asked about, None for never; and by which measure.

    `by_model` lets a model word what is merged; without, the longest of the merged does.
    """

    every_days: int | None = 7
    threshold: Decimal = WORDS
    cosine: Decimal | None = COSINE
    by_model: bool = False


@dataclass(frozen=True, slots=True)
class Retention:
    """For how many days memories are kept, and the words of messages; None for ever."""

    memories_days: int | None = None
    messages_days: int | None = None


@dataclass(frozen=True, slots=True)
class Steering:
    """The policy of a root; `daily_tokens` bounds what the model is asked in a day (UTC).

    `allows_secrets` lets credentials into memories and messages, which are refused or redacted otherwise.
    """

    mode: Mode = Mode.AUTO
    cadence: Cadence = field(default_factory=Cadence)
    keep: str | None = None
    never_keep: str | None = None
    daily_tokens: int | None = None
    allows_secrets: bool = False
    quotas: Quotas = field(default_factory=Quotas)
    consolidation: Consolidation = field(default_factory=Consolidation)
    retention: Retention = field(default_factory=Retention)

    @property
    def extracts(self) -> bool:
        """True unless extraction is off."""
        return self.mode is not Mode.OFF
