"""Dates as a model writes them: ISO 8601, down to a day, a month or a year."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[Tt ](.+))?)?)?", re.ASCII)


def begins(text: str) -> datetime | None:
    """When the day, month, year or instant begins, in UTC; None for what is no date."""
    found = _parsed(text)
    return found[0] if found else None


def ends(text: str) -> datetime | None:
    """When what is said to hold until then is over: behind the day, month or year named."""
    found = _parsed(text)
    return found[1] if found else None


def _parsed(text: str) -> tuple[datetime, datetime] | None:
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, time = match.groups()
    try:
        if time:
            instant = datetime.fromisoformat(text.strip().upper().replace(" ", "T", 1))
            instant = instant.replace(tzinfo=instant.tzinfo or UTC).astimezone(UTC)
            return instant, instant
        start = datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC)
        return start, _next(start, has_month=bool(month), has_day=bool(day))
    except (ValueError, OverflowError):
        return None


def _next(start: datetime, *, has_month: bool, has_day: bool) -> datetime:
    if has_day:
        return start + timedelta(days=1)
    if has_month:
        return (start + timedelta(days=31)).replace(day=1)
    return start.replace(year=start.year + 1)
