"""Valid time: half-open intervals `[start, end)` whose ends may be unknown."""

from __future__ import annotations

from datetime import UTC, datetime

from unsay_core.domain.values import dataclass

_BEGINNING = datetime.min.replace(tzinfo=UTC)
_END = datetime.max.replace(tzinfo=UTC)


def rfc3339(instant: datetime) -> str:
    """The instant in UTC with microseconds and `Z`, as every answer writes it."""
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


@dataclass(frozen=True, slots=True)
class Interval:
    """When something is true in the world; `None` is an unknown end, never "now"."""

    start: datetime | None = None
    end: datetime | None = None

    @property
    def is_empty(self) -> bool:
        """True for an interval that holds no instant."""
        return self._from >= self._to

    def contains(self, instant: datetime) -> bool:
        """True if `instant` lies in `[start, end)`."""
        return self._from <= instant < self._to

    def overlaps(self, other: Interval) -> bool:
        """True if some instant lies in both."""
        return max(self._from, other._from) < min(self._to, other._to)

    def outlasts(self, other: Interval) -> bool:
        """True if it goes on when the other has ended."""
        return other._to < self._to

    def ended_by(self, instant: datetime) -> Interval:
        """The part before `instant`: what a successor valid from then leaves of this one."""
        return Interval(self.start, min(self._to, instant))

    @property
    def _from(self) -> datetime:
        return self.start or _BEGINNING

    @property
    def _to(self) -> datetime:
        return self.end or _END
