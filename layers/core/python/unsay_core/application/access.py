"""API keys: who a caller is and what they may name."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from unsay_core.domain.errors import ForbiddenError, InvalidRequestError
from unsay_core.domain.scope import Action, Grant, Principal, PrincipalKind, ScopePattern

if TYPE_CHECKING:
    from unsay_core.application.ports import World
    from unsay_core.domain.keys import Keyring

PREFIX = "unsay_"  # of a secret: a leaked one is found by looking for it


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is kept: the digest of its secret, and the principal it stands for."""

    id: str
    name: str
    digest: str
    principal: Principal
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    schema: int = 1


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made; the secret is shown this once."""

    key: ApiKey
    secret: str


@dataclass(frozen=True, slots=True)
class MakeKey:
    """What a key shall be."""

    name: str
    kind: PrincipalKind
    grants: tuple[Grant, ...]
    expires_at: datetime | None = None


class Keys(Protocol):
    """The access table, as far as keys go."""

    def find(self, key_id: str) -> ApiKey | None:
        """A key by its id."""

    def add(self, key: ApiKey) -> None:
        """Store a new key; raises `ConflictError` if the id is taken."""


def make_key(command: MakeKey, maker: Principal, keys: Keys, keyring: Keyring, world: World) -> NewKey:
    """Make a key that may do no more than its maker; raises `ForbiddenError` otherwise."""
    Principal("key", command.kind, command.grants)  # raises for a key nobody could make
    if command.expires_at is not None and command.expires_at <= world.clock.now():
        raise InvalidRequestError.at("expires_at", "the key would have expired already")
    if not all(_administers(maker, grant.pattern) for grant in command.grants):
        raise ForbiddenError("a key is made by an admin of every scope it names")
    if command.kind is PrincipalKind.HUMAN and maker.kind is not PrincipalKind.HUMAN:
        raise ForbiddenError("only a human makes a human's key")
    if not all(maker.includes(grant) for grant in command.grants):
        raise ForbiddenError("a key cannot be given more than its maker holds")
    return store_key(command, maker.id, keys, keyring, world)


def _administers(maker: Principal, pattern: ScopePattern) -> bool:
    return any(Action.ADMIN in own.actions and own.pattern.contains(pattern) for own in maker.grants)


def first_admin() -> MakeKey:
    """The key of the first human admin: every action on every scope."""
    everything = Grant(ScopePattern.parse("*"), frozenset(Action))
    return MakeKey("first admin", PrincipalKind.HUMAN, (everything,))


def store_key(command: MakeKey, maker_id: str, keys: Keys, keyring: Keyring, world: World) -> NewKey:
    """Mint and store a key; whoever calls this has checked that it may be."""
    key_id = world.new_id("key")
    secret = f"{PREFIX}{key_id.removeprefix('key_')}_{secrets.token_urlsafe(32)}"
    key = ApiKey(
        id=key_id,
        name=command.name,
        digest=keyring.api_key_digest(secret),
        principal=Principal(key_id, command.kind, command.grants),
        created_at=world.clock.now(),
        created_by=maker_id,
        expires_at=command.expires_at,
    )
    keys.add(key)
    return NewKey(key, secret)


def authenticate(secret: str, keys: Keys, keyring: Keyring, now: datetime) -> Principal | None:
    """The principal of a key's secret, or None; the comparison takes the same time for every guess."""
    key_id, _, rest = secret.removeprefix(PREFIX).partition("_")
    if not secret.startswith(PREFIX) or not rest or not key_id.isalnum() or not key_id.isascii():
        return None
    key = keys.find(f"key_{key_id}")
    if key is None or not hmac.compare_digest(key.digest, keyring.api_key_digest(secret)):
        return None
    expired = key.expires_at is not None and key.expires_at <= now
    return None if expired else key.principal
