"""Ids: a prefix that says what they name, and a lower-case ULID that sorts by time."""

from __future__ import annotations

import re

from unsay_core.domain.errors import NotFoundError

_DIGEST = re.compile(r"[a-z2-7]{52}", re.ASCII)
_ULID = re.compile(r"[0-7][0-9a-hjkmnp-tv-z]{25}", re.ASCII)


def require_digest(text: str) -> str:
    """The digest, if it can be one of ours; raises `NotFoundError` otherwise."""
    if not _DIGEST.fullmatch(text):
        raise NotFoundError("no such thing in this scope")
    return text


def require_id(text: str, prefix: str) -> str:
    """The id, if it can be one of ours; nothing else can lie in a scope, so `NotFoundError` otherwise."""
    kind, _, ulid = text.partition("_")
    if kind != prefix or not _ULID.fullmatch(ulid):
        raise NotFoundError("no such thing in this scope")
    return text
