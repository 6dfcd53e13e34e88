"""Steering: what a root's admins say about extraction. One policy for everything below the root."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from unsay_core.domain.quota import Quotas
from unsay_core.domain.values import dataclass
from unsay_core.extraction.conversation import Cadence


class Mode(StrEnum):
    """Whether facts of conversations are believed at once, wait for a person, or are not looked for."""

    AUTO = "auto"
    REVIEW = "review"
    OFF = "off"


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

    @property
    def extracts(self) -> bool:
        """True unless extraction is off."""
        return self.mode is not Mode.OFF
