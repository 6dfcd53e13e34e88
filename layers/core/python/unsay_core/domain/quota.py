"""Quotas: how much a scope may hold, and how much of anything its root's admins grant in a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Quotas:
    """What the policy of a root grants to each scope below it; None is as much as there is.

    `memories` and `bytes` are of what a scope believes, `messages_per_day` is by the day in UTC, and
    `requests_per_minute` is each caller's.
    """

    memories: int | None = None
    bytes: int | None = None
    messages_per_day: int | None = None
    requests_per_minute: int | None = None

    def limits(self) -> dict[str, int]:
        """What is limited of what a scope holds, by name."""
        found = {"memories": self.memories, "bytes": self.bytes, "messages": self.messages_per_day}
        return {name: limit for name, limit in found.items() if limit is not None}


@dataclass(frozen=True, slots=True)
class Usage:
    """What a scope believes, in bytes, and how many messages it took on a day (`2026-05-01`)."""

    bytes: int = 0
    day: str = ""
    messages: int = 0

    def heavier(self, by: int) -> Usage:
        """More bytes, or fewer."""
        return replace(self, bytes=self.bytes + by)

    def talked(self, messages: int, at: datetime) -> Usage:
        """More messages; each day begins anew."""
        return replace(self, day=_day(at), messages=self.messages_on(at) + messages)

    def messages_on(self, at: datetime) -> int:
        """How many messages there were on a day so far."""
        return self.messages if self.day == _day(at) else 0


def _day(at: datetime) -> str:
    return at.date().isoformat()
