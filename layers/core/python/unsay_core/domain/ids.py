"""Ids: a prefix that says what they name, and a lower-case ULID that sorts by time."""

from __future__ import annotations

import re

from unsay_core.domain.errors import NotFoundError

_ULID = re.compile(r"[0-7][0-9a-hjkmnp-tv-z]{25}", re.ASCII)


def require_id(text: str, prefix: str) -> str:
    """The id, if it can be one of ours; nothing else can lie in a scope, so `NotFoundError` otherwise."""
    kind, _, ulid = text.partition("_")
    if kind != prefix or not _ULID.fullmatch(ulid):
        raise NotFoundError("no such thing in this scope")
    return text
