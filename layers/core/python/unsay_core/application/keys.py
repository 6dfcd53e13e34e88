"""Keys derived from the deployment's pepper, and the keyed digests made with them.

Plain hashes of scopes and short facts can be guessed. Everything here is an HMAC under a key that only
the pepper gives, so a copy of the tables alone is not enough to test a guess.
"""

from __future__ import annotations

import hmac
from base64 import b32encode
from dataclasses import field
from typing import TYPE_CHECKING

from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

WORD_BYTES = 10  # of a word's digest

_SALT = b"unsay/v1"
_HASH_BYTES = 32
_MIN_PEPPER_BYTES = 16


def hkdf_extract(salt: bytes, secret: bytes) -> bytes:
    """The pseudorandom key of `secret` (RFC 5869, section 2.2, SHA-256)."""
    return hmac.digest(salt, secret, "sha256")


def hkdf_expand(key: bytes, info: bytes, length: int = _HASH_BYTES) -> bytes:
    """`length` bytes for the purpose `info` (RFC 5869, section 2.3, SHA-256)."""
    if not 0 < length <= 255 * _HASH_BYTES:
        raise ValueError("HKDF-SHA256 gives 1 to 8160 bytes")
    output = block = b""
    for counter in range(1, -(-length // _HASH_BYTES) + 1):
        block = hmac.digest(key, block + info + bytes([counter]), "sha256")
        output += block
    return output[:length]


def _digest(key: bytes, message: bytes) -> str:
    """HMAC-SHA256 as 52 lower-case base32 characters: safe in keys, paths and tags."""
    return b32encode(hmac.digest(key, message, "sha256")).decode("ascii").rstrip("=").lower()


def content_commitment(nonce: bytes, content: str) -> str:
    """What the audit says of a text. The nonce is stored with the text and erased with it.

    After that nobody can test a guess against the commitment, the holder of the pepper included.
    """
    return _digest(nonce, content.encode("utf-8"))


@dataclass(frozen=True, slots=True)
class ScopeKeys:
    """The keys of one scope: a digest made in one never matches one made in another."""

    _key: bytes = field(repr=False)

    def tombstone_digest(self, normalised: str, normaliser: int) -> str:
        """The digest a forgotten value leaves; made by one version of the normaliser."""
        return self._digest(f"tombstone/{normaliser}", normalised.encode("utf-8"))

    def duplicate_digest(self, parts: bytes) -> str:
        """The digest of what makes two memories duplicates."""
        return self._digest("duplicate", parts)

    def request_digest(self, body: bytes) -> str:
        """The digest that tells a retry from another request under the same idempotency key."""
        return self._digest("request", body)

    def word_digests(self, words: Iterable[str]) -> dict[str, bytes]:
        """The short digests under which words are indexed; ten bytes tell a million words apart."""
        key = hkdf_expand(self._key, b"word")
        return {word: hmac.digest(key, word.encode("utf-8"), "sha256")[:WORD_BYTES] for word in words}

    def note_digest(self, text: str) -> str:
        """What the audit keeps of a note after the note is erased."""
        return self._digest("note", text.encode("utf-8"))

    def message_digest(self, body: bytes) -> str:
        """What tells a message sent again from another one under its number, also when it is redacted."""
        return self._digest("message", body)

    def run_digest(self, run_id: str) -> str:
        """What the audit calls a conversation: a caller may have named it after somebody."""
        return self._digest("run", run_id.encode("utf-8"))

    def _digest(self, purpose: str, message: bytes) -> str:
        return _digest(hkdf_expand(self._key, purpose.encode("ascii")), message)


@dataclass(frozen=True, slots=True)
class Keyring:
    """The deployment's keys, one per purpose; its repr shows none of them."""

    _root: bytes = field(repr=False)

    @classmethod
    def from_pepper(cls, pepper: str | bytes) -> Keyring:
        """The keys of a pepper. Raises `ValueError` when it is too short to be one."""
        secret = pepper.encode("utf-8") if isinstance(pepper, str) else pepper
        if len(secret) < _MIN_PEPPER_BYTES:
            raise ValueError(f"the pepper needs at least {_MIN_PEPPER_BYTES} bytes")
        return cls(hkdf_extract(_SALT, secret))

    def scope_id(self, canonical: str) -> str:
        """The 52 characters under which everything of a scope is stored."""
        return _digest(self._purpose("scope-id"), canonical.encode("utf-8"))

    def for_scope(self, scope_id: str) -> ScopeKeys:
        """The keys of one scope."""
        return ScopeKeys(self._purpose(f"scope-keys/{scope_id}"))

    def api_key_digest(self, secret: str) -> str:
        """What is stored of an API key's secret."""
        return _digest(self._purpose("api-key"), secret.encode("utf-8"))

    def actor_digest(self, subject: str) -> str:
        """What stands for somebody of another house in ids and the audit: their name is theirs."""
        return _digest(self._purpose("actor"), subject.encode("utf-8"))[:26]

    def sign(self, purpose: str, message: bytes) -> bytes:
        """A 32-byte signature; one made for another purpose never verifies."""
        return hmac.digest(self._purpose(f"sign/{purpose}"), message, "sha256")

    def _purpose(self, name: str) -> bytes:
        return hkdf_expand(self._root, name.encode("utf-8"))
