"""Who calls: an API key, a delegation, a token of an issuer or an IAM role becomes a principal."""

from __future__ import annotations

import hmac
import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from unsay_core.application.access import DELEGATION, KEY, PREFIX
from unsay_core.application.bindings import granted, role_claims
from unsay_core.application.identity import Identity
from unsay_core.domain.scope import Principal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from unsay_core.application.access import ApiKey, Keys
    from unsay_core.application.bindings import Binding
    from unsay_core.application.keys import Keyring

MOST_BYTES = 8_192  # of a credential; the gateway takes no longer headers than 10,240 bytes in all
_SECRET = re.compile(rf"{PREFIX}(?:({DELEGATION})_)?([0-7][0-9a-hjkmnp-tv-z]{{25}})_[A-Za-z0-9_-]+", re.ASCII)


def subject_id(issuer: str, subject: str, keyring: Keyring) -> str:
    """Under which id a subject of an issuer acts here: stable, and not to be read back."""
    return f"oidc_{keyring.actor_digest(json.dumps([issuer, subject]))}"


def role_id(arn: str, keyring: Keyring) -> str:
    """Under which id a role acts here, by its own ARN."""
    return f"iam_{keyring.actor_digest(arn)}"


def came_through(secret: str | None, given: str) -> bool:
    """Whether a request brings what the one way in adds to it; without a secret every way is one."""
    return secret is None or hmac.compare_digest(secret.encode(), given.encode("utf-8", "surrogatepass"))


class Tokens(Protocol):
    """Whoever checks the tokens of the configured issuers."""

    def verified(self, token: str, now: datetime) -> Mapping[str, Any] | None:
        """The claims of a token that holds at `now`, with `iss`, `sub` and `exp`; None for any other.

        Raises `UnavailableError` when the issuer's keys are not to be had.
        """


class Authenticator:
    """Turns a credential into an identity, or into None, and nobody learns why.

    Raises `UnavailableError` when the stores it has to ask do not answer: that is no denial.
    """

    def __init__(
        self,
        keys: Keys,
        bindings: Callable[[], Sequence[Binding]],
        tokens: Tokens,
        keyring: Keyring,
        now: Callable[[], datetime],
    ) -> None:
        self._keys = keys
        self._bindings = bindings
        self._tokens = tokens
        self._keyring = keyring
        self._now = now

    def bearer(self, credential: str) -> Identity | None:
        """Whose API key, delegation or token this is."""
        if len(credential) > MOST_BYTES:
            return None
        if credential.startswith(PREFIX):
            return self._key(credential)
        claims = self._tokens.verified(credential, self._now())
        if claims is None:
            return None
        ends = datetime.fromtimestamp(claims["exp"], UTC)
        actor = subject_id(claims["iss"], claims["sub"], self._keyring)
        return self._bound(actor, claims["iss"], claims, ends)

    def role(self, arn: str) -> Identity | None:
        """Who an IAM role is to us, by the ARN the gateway says of a signed request."""
        claims = role_claims(arn)
        if claims is None:
            return None
        return self._bound(role_id(claims["arn"], self._keyring), None, claims)

    def _bound(
        self, principal_id: str, issuer: str | None, claims: Mapping[str, Any], ends: datetime | None = None
    ) -> Identity | None:
        found = granted(self._bindings(), issuer, claims)
        if found is None:
            return None
        principal = Principal(principal_id, found.kind, found.grants)
        return Identity(principal, ends, bindings=found.bindings)

    def _key(self, secret: str) -> Identity | None:
        match = _SECRET.fullmatch(secret)
        if match is None:
            return None
        key = self._keys.find(f"{match[1] or KEY}_{match[2]}")
        digest = self._keyring.api_key_digest(secret)
        # Compared with something in any case: the same work whether the key exists or not.
        same = hmac.compare_digest(digest, key.digest if key else digest[::-1])
        if key is None or not same or not self._holds(key):
            return None
        if key.is_delegation:
            return Identity(key.principal, key.expires_at, key.root, key.bindings)
        return Identity(key.principal, key.expires_at, root=key.id, last_used=key.last_used)

    def _holds(self, key: ApiKey) -> bool:
        """Whether a key is neither revoked nor past its end, nor what a delegation hangs on."""
        if key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= self._now()):
            return False
        if not key.is_delegation:
            return True
        if key.root:
            root = self._keys.find(key.root)
            return root is not None and self._holds(root)
        return set(key.bindings) <= {binding.id for binding in self._bindings()}
