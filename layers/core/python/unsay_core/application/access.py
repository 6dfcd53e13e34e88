"""API keys: who a caller is and what they may name."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from unsay_core.application.ports import ConflictError
from unsay_core.domain.errors import ForbiddenError, IdempotencyMismatchError, InvalidRequestError
from unsay_core.domain.scope import Action, Grant, Principal, PrincipalKind, ScopePattern

if TYPE_CHECKING:
    from unsay_core.application.keys import Keyring
    from unsay_core.application.ports import World

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
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
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class MakeKey:
    """What a key shall be."""

    name: str
    kind: PrincipalKind
    grants: tuple[Grant, ...]
    expires_at: datetime | None = None
    idempotency: str | None = None


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
    if command.idempotency is None:
        return store_key(command, maker.id, keys, keyring, world)
    return _same_key_again(command, maker, keys, keyring, world)


def _same_key_again(command: MakeKey, maker: Principal, keys: Keys, keyring: Keyring, world: World) -> NewKey:
    """A key whose id and secret follow from the request's name: a retry gets the one it missed.

    Nothing has to be kept for it, least of all the secret.
    """
    seed = keyring.sign("key request", f"{maker.id}\n{command.idempotency}".encode())
    number = int.from_bytes(seed[:16])
    digits = "".join(_DIGITS[(number >> shift) & 31] for shift in range(120, -1, -5))
    key_id, rest = f"key_0{digits}", keyring.sign("key secret", seed).hex()
    made = _minted(command, maker.id, key_id, rest, keyring, world)
    earlier = keys.find(key_id)
    if earlier is None:
        try:
            keys.add(made.key)
        except ConflictError:  # the same request was faster
            return _same_key_again(command, maker, keys, keyring, world)
        return made
    if (earlier.name, earlier.principal, earlier.expires_at) != (
        command.name,
        made.key.principal,
        command.expires_at,
    ):
        raise IdempotencyMismatchError("this Idempotency-Key made another key")
    return NewKey(earlier, made.secret, replayed=True)


def _administers(maker: Principal, pattern: ScopePattern) -> bool:
    return any(Action.ADMIN in own.actions and own.pattern.contains(pattern) for own in maker.grants)


def first_admin() -> MakeKey:
    """The key of the first human admin: every action on every scope."""
    everything = Grant(ScopePattern.parse("*"), frozenset(Action))
    return MakeKey("first admin", PrincipalKind.HUMAN, (everything,))


def store_key(command: MakeKey, maker_id: str, keys: Keys, keyring: Keyring, world: World) -> NewKey:
    """Mint and store a key; whoever calls this has checked that it may be."""
    made = _minted(command, maker_id, world.new_id("key"), secrets.token_urlsafe(32), keyring, world)
    keys.add(made.key)
    return made


def _minted(
    command: MakeKey, maker_id: str, key_id: str, rest: str, keyring: Keyring, world: World
) -> NewKey:
    secret = f"{PREFIX}{key_id.removeprefix('key_')}_{rest}"
    key = ApiKey(
        id=key_id,
        name=command.name,
        digest=keyring.api_key_digest(secret),
        principal=Principal(key_id, command.kind, command.grants),
        created_at=world.clock.now(),
        created_by=maker_id,
        expires_at=command.expires_at,
    )
    return NewKey(key, secret)


def authenticate(secret: str, keys: Keys, keyring: Keyring, now: datetime) -> ApiKey | None:
    """The key of a secret, or None; the comparison takes the same time for every guess."""
    key_id, _, rest = secret.removeprefix(PREFIX).partition("_")
    if not secret.startswith(PREFIX) or not rest or not key_id.isalnum() or not key_id.isascii():
        return None
    key = keys.find(f"key_{key_id}")
    if key is None or not hmac.compare_digest(key.digest, keyring.api_key_digest(secret)):
        return None
    expired = key.expires_at is not None and key.expires_at <= now
    return None if expired else key
