"""API keys: made by who holds as much, listed and revoked by who administers all they reach."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Protocol

from unsay_core.application.pages import READ_AT_ONCE, READ_MOST, Page
from unsay_core.application.ports import ConflictError
from unsay_core.domain.errors import (
    ForbiddenError,
    ForgottenError,
    IdempotencyMismatchError,
    InvalidRequestError,
    NotFoundError,
    SecretRefusedError,
    UnavailableError,
)
from unsay_core.domain.ids import require_id
from unsay_core.domain.scope import Action, Grant, Principal, PrincipalKind, ScopePattern
from unsay_core.domain.values import dataclass
from unsay_core.extraction.credentials import find_credential

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from unsay_core.application.keys import Keyring
    from unsay_core.application.ports import World

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
PREFIX = "unsay_"  # of a secret: a leaked one is found by looking for it
REMEMBERED = 10_000  # keys a process keeps in mind
KEY, DELEGATION = "key", "dlg"  # what an id begins with


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is kept: the digest of its secret, and the principal it stands for.

    A delegation is a key too: it hangs on the key `root`, or on `bindings`, and ends with them.
    """

    id: str
    name: str
    digest: str
    principal: Principal
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_by: str = ""
    last_used: str = ""
    root: str = ""
    bindings: tuple[str, ...] = ()
    schema: int = 1

    @property
    def is_delegation(self) -> bool:
        """True if it is a weaker key for a while, made from another credential."""
        return self.id.startswith(f"{DELEGATION}_")


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
        """A key or a delegation by its id, revoked or not."""

    def add(self, key: ApiKey) -> None:
        """Store a new key; raises `ConflictError` if the id is taken."""

    def page(self, *, after: str | None, limit: int) -> Sequence[ApiKey]:
        """Up to `limit` keys in the order of their ids, beyond the id `after`; no delegations."""

    def revoke(self, key_id: str, by: str, at: datetime) -> None:
        """Mark a key revoked, once; raises `ConflictError` if it is, or is not there."""

    def note_use(self, key_id: str, day: str) -> None:
        """Note the day a key was used last, as `2026-05-01`; an earlier one than is noted changes nothing."""


def make_key(command: MakeKey, maker: Principal, keys: Keys, keyring: Keyring, world: World) -> NewKey:
    """Make a key that may do no more than its maker; raises `ForbiddenError` otherwise."""
    Principal("key", command.kind, command.grants)  # raises for a key nobody could make
    if command.expires_at is not None and command.expires_at <= world.clock.now():
        raise InvalidRequestError.at("expires_at", "the key would have expired already")
    if not _administers(maker, command.grants):
        raise ForbiddenError("a key is made by an admin of every scope it names")
    _require_human(maker, command.kind)
    if not all(maker.includes(grant) for grant in command.grants):
        raise ForbiddenError("a key cannot be given more than its maker holds")
    if find_credential(command.name):
        raise SecretRefusedError("the name looks like a credential")
    if command.idempotency is None:
        return store_key(command, maker.id, keys, keyring, world)
    key_id, rest = derived(KEY, maker, command.idempotency, keyring)
    return same_again(_minted(command, maker.id, key_id, rest, keyring, world), keys)


def derived(prefix: str, maker: Principal, idempotency: str, keyring: Keyring) -> tuple[str, str]:
    """An id and a secret that follow from the request's name: a retry gets the ones it missed.

    Nothing has to be kept for it, least of all the secret.
    """
    seed = keyring.sign(f"{prefix} request", f"{maker.id}\n{idempotency}".encode())
    number = int.from_bytes(seed[:16])
    digits = "".join(_DIGITS[(number >> shift) & 31] for shift in range(120, -1, -5))
    return f"{prefix}_0{digits}", keyring.sign(f"{prefix} secret", seed).hex()


def same_again(made: NewKey, keys: Keys) -> NewKey:
    """Store a key, or find it stored by the same request before.

    Raises `IdempotencyMismatchError` if that asked for another key, `ForgottenError` if it was revoked.
    """
    earlier = keys.find(made.key.id)
    if earlier is None:
        try:
            keys.add(made.key)
        except ConflictError:  # the same request was faster
            return same_again(made, keys)
        return made
    if _asked_for(earlier) != _asked_for(made.key):
        raise IdempotencyMismatchError("this Idempotency-Key made another key")
    if earlier.revoked_at is not None:
        raise ForgottenError("the key this request made was revoked")
    return NewKey(earlier, made.secret, replayed=True)


def _asked_for(key: ApiKey) -> tuple[object, ...]:
    # A delegation's end was counted from the first request; how long it was to last is its name.
    return key.name, key.principal, None if key.is_delegation else key.expires_at


def list_keys(caller: Principal, keys: Keys, *, after: str | None, limit: int) -> Page[ApiKey]:
    """The keys whose every grant lies within what the caller administers; a page may be short."""
    _require_admin(caller)
    found: list[ApiKey] = []
    looked_at, beyond = 0, after
    while True:
        some = keys.page(after=beyond, limit=READ_AT_ONCE)
        for key in some:
            looked_at, beyond = looked_at + 1, key.id
            if _administers(caller, key.principal.grants):
                found.append(key)
            if len(found) == limit or looked_at == READ_MOST:
                return Page(tuple(found), beyond)
        if len(some) < READ_AT_ONCE:
            return Page(tuple(found), None)


def revoke_key(key_id: str, caller: Principal, keys: Keys, now: datetime) -> ApiKey:
    """Revoke a key the caller may see, with every delegation made from it; again changes nothing.

    Raises `NotFoundError` for a key that is not theirs, the same whether it exists or not.
    """
    _require_admin(caller)
    key = keys.find(require_id(key_id, KEY))
    if key is None or not _administers(caller, key.principal.grants):
        raise NotFoundError("no such key among those the caller administers")
    _require_human(caller, key.principal.kind)
    if key.revoked_at is None:
        try:
            keys.revoke(key_id, caller.id, now)
        except ConflictError:  # another revoked it; who and when stays as it was
            pass
    return keys.find(key_id) or key


class UseNotes:
    """Notes the day each key was used last, beside the request and not before its answer.

    What is lost, because an environment is frozen or the table is down, the key's next request notes.
    """

    def __init__(self, keys: Keys, world: World) -> None:
        self._keys = keys
        self._world = world
        self._noted: dict[str, str] = {}

    def note(self, key_id: str, last_used: str) -> None:
        """A key is used now; `last_used` is the day that was noted for it, as far as is known here."""
        today = self._world.clock.now().date().isoformat()
        if max(last_used, self._noted.get(key_id, "")) >= today:
            return
        if len(self._noted) >= REMEMBERED:
            self._noted.clear()
        self._noted[key_id] = today
        self._world.executor.submit(self._write, key_id, today)

    def _write(self, key_id: str, day: str) -> None:
        try:
            self._keys.note_use(key_id, day)
        except UnavailableError:
            self._noted.pop(key_id, None)


def _require_admin(caller: Principal) -> None:
    if not any(Action.ADMIN in grant.actions for grant in caller.grants):
        raise ForbiddenError("keys are for admins")


def _require_human(caller: Principal, kind: PrincipalKind) -> None:
    if kind is PrincipalKind.HUMAN and caller.kind is not PrincipalKind.HUMAN:
        raise ForbiddenError("only a human makes or revokes a human's key")


def _administers(caller: Principal, grants: Sequence[Grant]) -> bool:
    """Whether every pattern lies within one that the caller administers."""
    own = [grant.pattern for grant in caller.grants if Action.ADMIN in grant.actions]
    return all(any(pattern.contains(grant.pattern) for pattern in own) for grant in grants)


def first_admin() -> MakeKey:
    """The key of the first human admin: every action on every scope."""
    everything = Grant(ScopePattern.parse("*"), frozenset(Action))
    return MakeKey("first admin", PrincipalKind.HUMAN, (everything,))


def store_key(command: MakeKey, maker_id: str, keys: Keys, keyring: Keyring, world: World) -> NewKey:
    """Mint and store a key; whoever calls this has checked that it may be."""
    made = _minted(command, maker_id, world.new_id(KEY), secrets.token_urlsafe(32), keyring, world)
    keys.add(made.key)
    return made


def _minted(
    command: MakeKey, maker_id: str, key_id: str, rest: str, keyring: Keyring, world: World
) -> NewKey:
    secret = secret_of(key_id, rest)
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


def secret_of(key_id: str, rest: str) -> str:
    """The secret of a key: it says which key it is of, so that one read finds the digest to compare with."""
    return f"{PREFIX}{key_id.removeprefix(f'{KEY}_')}_{rest}"
