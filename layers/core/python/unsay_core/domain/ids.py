"""Ids: a prefix that says what they name, and a lower-case ULID that sorts by time."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import reduce

from unsay_core.domain.errors import NotFoundError

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, lower case
_DIGEST = re.compile(r"[a-z2-7]{52}", re.ASCII)
_ULID = re.compile(r"[0-7][0-9a-hjkmnp-tv-z]{25}", re.ASCII)


def is_digest(text: object) -> bool:
    """True for what can be a keyed digest of ours: a scope's id, a value's."""
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


def is_id(text: object, prefix: str) -> bool:
    """True for what can be an id of ours of that kind."""
    kind, _, ulid = text.partition("_") if isinstance(text, str) else ("", "", "")
    return kind == prefix and _ULID.fullmatch(ulid) is not None


def minted_at(made: str) -> datetime:
    """When an id of ours was made, to the millisecond."""
    digits = made.partition("_")[2][:10]
    ms = reduce(lambda number, digit: number * 32 + _DIGITS.index(digit), digits, 0)
    return datetime.fromtimestamp(ms / 1000, UTC)


def require_digest(text: str) -> str:
    """The digest, if it can be one of ours; raises `NotFoundError` otherwise."""
    if not is_digest(text):
        raise NotFoundError("no such thing in this scope")
    return text


def require_id(text: str, prefix: str) -> str:
    """The id, if it can be one of ours; nothing else can lie in a scope, so `NotFoundError` otherwise."""
    if not is_id(text, prefix):
        raise NotFoundError("no such thing in this scope")
    return text
