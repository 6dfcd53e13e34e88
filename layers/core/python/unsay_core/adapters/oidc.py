"""Tokens of the configured OpenID Connect issuers: whose they are, and nothing a token says of its own keys.

A token's header chooses among algorithms and keys that are allowed here. Where it points for keys (`jku`,
`x5u`) or what keys it brings along (`jwk`, `x5c`) is never looked at.
"""

from __future__ import annotations

import json
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from unsay_core.adapters.https_json import FetchError, fetch_json
from unsay_core.domain.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from jwt import PyJWK

    Fetch = Callable[[str], dict[str, Any]]

ALGORITHMS = frozenset({"RS256", "PS256", "ES256", "EdDSA"})  # none of them takes a shared secret
TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})  # a logout token is no access token
SKEW = timedelta(seconds=60)  # a clock of the issuer that is ahead; ours decides when a token ends
FRESH = timedelta(minutes=10)  # how long a key the issuer withdrew may still be believed
STALE = timedelta(hours=24)  # … while the issuer cannot be reached
AGAIN = timedelta(seconds=60)  # between two looks for a key that was not there
RETRY = timedelta(seconds=5)  # between two tries at an issuer that failed
_RSA_BITS = 2_048
_END_OF_TIME = 253_402_300_799  # 9999-12-31T23:59:59Z


@dataclass(frozen=True, slots=True)
class Issuer:
    """Whose tokens are taken, and for whom they have to be made out."""

    url: str
    audiences: frozenset[str]


def issuers_of(setting: str) -> tuple[Issuer, ...]:
    """The issuers of the setting `oidc`: a JSON list of `{"issuer", "audiences"}`."""
    return tuple(Issuer(each["issuer"], frozenset(each["audiences"])) for each in json.loads(setting))


class OidcTokens:
    """See `Tokens`."""

    def __init__(self, issuers: Sequence[Issuer], fetch: Fetch = fetch_json) -> None:
        self._issuers = {issuer.url: issuer for issuer in issuers}
        self._keys = {issuer.url: IssuerKeys(issuer.url, fetch) for issuer in issuers}

    def verified(self, token: str, now: datetime) -> Mapping[str, Any] | None:
        """What needs no key is looked at first: a stale or foreign token makes nobody fetch anything."""
        parts = _parts(token)
        if parts is None:
            return None
        header, claims = parts
        url = claims.get("iss")
        issuer = self._issuers.get(url) if isinstance(url, str) else None
        if issuer is None or not _is_acceptable(header) or not _is_in_force(claims, issuer, now):
            return None
        key = self._keys[issuer.url].find(header["kid"], header["alg"], now)
        return claims if key is not None and _is_signed(token, key, header["alg"]) else None


class IssuerKeys:
    """The public keys of one issuer, found through its discovery document and kept for a while."""

    def __init__(self, url: str, fetch: Fetch) -> None:
        self._url = url
        self._fetch = fetch
        self._lock = threading.Lock()
        self._found: list[dict[str, Any]] = []
        self._fetched_at: datetime | None = None
        self._next_try: datetime | None = None

    def find(self, kid: str, alg: str, now: datetime) -> PyJWK | None:
        """The key of an id that is one for this algorithm; an unknown id is looked for again, but seldom.

        Raises `UnavailableError` while no keys are known and the issuer does not answer.
        """
        with self._lock:
            if self._fetched_at is None or now - self._fetched_at > FRESH:
                self._refresh(now)
            key = _usable(self._found, kid, alg)
            if key is None and self._refresh(now):
                key = _usable(self._found, kid, alg)
            return key

    def _refresh(self, now: datetime) -> bool:
        """Fetch the keys unless that was tried just now; whether they were fetched."""
        if self._next_try is None or now >= self._next_try:
            try:
                self._found = self._fetched()
                self._fetched_at, self._next_try = now, now + AGAIN
                return True
            except FetchError:
                self._next_try = now + RETRY
        if self._fetched_at is None or now - self._fetched_at > STALE:
            raise UnavailableError("the issuer's keys cannot be had")
        return False

    def _fetched(self) -> list[dict[str, Any]]:
        about = self._fetch(f"{self._url.rstrip('/')}/.well-known/openid-configuration")
        address = about.get("jwks_uri")
        # The document of another issuer, or keys from a weaker place, is worse than none.
        if about.get("issuer") != self._url or not isinstance(address, str) or not self._may_be_at(address):
            raise FetchError("the discovery document is not the issuer's")
        keys = self._fetch(address).get("keys")
        if not isinstance(keys, list):
            raise FetchError("the issuer's keys have no list of keys")
        return [key for key in keys if isinstance(key, dict)]

    def _may_be_at(self, address: str) -> bool:
        return address.startswith(("https://", self._url.partition("://")[0] + "://"))


def _usable(keys: Sequence[dict[str, Any]], kid: str, alg: str) -> PyJWK | None:
    for each in keys:
        if each.get("kid") == kid and each.get("alg", alg) == alg and each.get("use", "sig") == "sig":
            return _loaded(each, alg)
    return None


def _loaded(jwk: dict[str, Any], alg: str) -> PyJWK | None:
    from jwt import PyJWK, PyJWTError  # 0.1 s and more, which most callers, with API keys, need not wait for

    try:
        key = PyJWK(jwk, algorithm=alg)
    except (PyJWTError, ValueError, TypeError):
        return None
    too_short = alg in ("RS256", "PS256") and key.key.key_size < _RSA_BITS
    return None if too_short else key


def _is_signed(token: str, key: PyJWK, alg: str) -> bool:
    from jwt import PyJWS

    try:
        PyJWS().decode(token, key, algorithms=[alg])
    except Exception:  # noqa: BLE001 - a signature that cannot be checked, for whatever reason, is none
        return False
    return True


def _is_acceptable(header: Mapping[str, Any]) -> bool:
    """Whether we know all that a token's header demands to be known."""
    alg, kid, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
    return (
        isinstance(alg, str)
        and alg in ALGORITHMS
        and isinstance(kid, str)
        and isinstance(kind, str)
        and kind.lower() in TYPES
        and "crit" not in header
        and "b64" not in header
    )


def _is_in_force(claims: Mapping[str, Any], issuer: Issuer, now: datetime) -> bool:
    """Whether a token is for us, of somebody, begun and not ended."""
    subject, audience = claims.get("sub"), claims.get("aud")
    ends = _instant(claims.get("exp"))
    begins = [_instant(claims[name]) for name in ("nbf", "iat") if name in claims]
    named = audience if isinstance(audience, list) else [audience]
    return (
        isinstance(subject, str)
        and 1 <= len(subject) <= 255
        and any(isinstance(name, str) and name in issuer.audiences for name in named)
        and ends is not None
        and now.timestamp() < ends
        and all(begin is not None and begin <= (now + SKEW).timestamp() for begin in begins)
    )


def _instant(value: object) -> float | None:
    """Seconds since 1970, if a claim says such a time."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _END_OF_TIME:
        return None
    return float(value)


def _parts(token: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Header and claims of three well-formed parts; nothing of it is believed yet."""
    parts = token.split(".")
    if len(parts) != 3 or not all(parts):
        return None
    try:
        header, claims, _ = (_bytes(part) for part in parts)
        return _json_object(header), _json_object(claims)
    except (ValueError, RecursionError):
        return None


def _bytes(part: str) -> bytes:
    decoded = urlsafe_b64decode(part + "=" * (-len(part) % 4))
    # Base64 has several spellings of the same bytes, and passes over what is none: one spelling is a token.
    if urlsafe_b64encode(decoded).decode("ascii").rstrip("=") != part:
        raise ValueError("not base64url as tokens have it")
    return decoded


def _json_object(text: bytes) -> dict[str, Any]:
    value = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name stands twice")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
