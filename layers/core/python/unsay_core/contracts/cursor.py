"""Page cursors: a position in one listing, signed, and good for that listing of that scope alone."""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING

from unsay_core.domain.errors import InvalidCursorError

if TYPE_CHECKING:
    from unsay_core.application.keys import Keyring

_SIGNATURE_BYTES = 16


def seal(keyring: Keyring, scope_id: str, query: bytes, position: str) -> str:
    """The cursor for what follows `position` in the listing that `query` (its canonical bytes) describes."""
    place = position.encode("utf-8")
    return _text(_signature(keyring, scope_id, query, place) + place)


def open_(keyring: Keyring, scope_id: str, query: bytes, cursor: str) -> str:
    """The position a cursor holds. Raises `InvalidCursorError` unless it was sealed for this very listing."""
    sealed = _bytes(cursor)
    signature, place = sealed[:_SIGNATURE_BYTES], sealed[_SIGNATURE_BYTES:]
    if not hmac.compare_digest(signature, _signature(keyring, scope_id, query, place)):
        raise InvalidCursorError
    return place.decode("utf-8")


def _signature(keyring: Keyring, scope_id: str, query: bytes, place: bytes) -> bytes:
    # Digests of one length keep the parts apart: no scope and query read as another scope and query.
    listing = hashlib.sha256(scope_id.encode("utf-8")).digest() + hashlib.sha256(query).digest()
    return keyring.sign("cursor", listing + place)[:_SIGNATURE_BYTES]


def _text(sealed: bytes) -> str:
    return urlsafe_b64encode(sealed).decode("ascii").rstrip("=")


def _bytes(cursor: str) -> bytes:
    try:
        sealed = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except ValueError:
        raise InvalidCursorError from None
    # Base64 has several spellings of the same bytes; only ours is a cursor.
    if _text(sealed) != cursor:
        raise InvalidCursorError
    return sealed
