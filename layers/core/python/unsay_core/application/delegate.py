"""Delegations: a weaker key for a sub-agent, for an hour at the most, that ends with its maker's."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from unsay_core.application.access import DELEGATION, ApiKey, NewKey, derived, same_again, secret_of
from unsay_core.domain.errors import ForbiddenError
from unsay_core.domain.scope import Action, Grant, Principal, PrincipalKind, ScopePattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unsay_core.application.access import Keys
    from unsay_core.application.identity import Identity
    from unsay_core.application.keys import Keyring
    from unsay_core.application.ports import World

NEVER = frozenset({Action.ADMIN, Action.REVIEW})


@dataclass(frozen=True, slots=True)
class Delegate:
    """What a sub-agent shall be able to do, for how many seconds; no pattern is all the caller has."""

    actions: frozenset[Action]
    ttl_seconds: int
    pattern: ScopePattern | None = None
    idempotency: str | None = None


def delegate(command: Delegate, caller: Identity, keys: Keys, keyring: Keyring, world: World) -> NewKey:
    """Make a key of less; raises `ForbiddenError` for what the caller does not hold.

    It never outlives the caller's own credential, and `authenticate` refuses it once that is revoked.
    """
    grants = tuple(_narrowed(caller.principal, command))
    if command.idempotency is None:
        delegation_id, rest = world.new_id(DELEGATION), secrets.token_urlsafe(32)
    else:
        delegation_id, rest = derived(DELEGATION, caller.principal, command.idempotency, keyring)
    secret = secret_of(delegation_id, rest)
    now = world.clock.now()
    ends = now + timedelta(seconds=command.ttl_seconds)
    key = ApiKey(
        id=delegation_id,
        name=f"delegation of {command.ttl_seconds} s",
        digest=keyring.api_key_digest(secret),
        principal=Principal(_actor(caller.principal, delegation_id), PrincipalKind.AGENT, grants),
        created_at=now,
        created_by=caller.principal.id,
        expires_at=min(ends, caller.expires_at) if caller.expires_at else ends,
        root=caller.root,
        bindings=caller.bindings,
    )
    return same_again(NewKey(key, secret), keys)


def _actor(caller: Principal, delegation_id: str) -> str:
    """Who acts, after whom it acts for: the delegation itself is gone when the audit is read."""
    return f"{caller.id.partition('+')[0]}+{delegation_id}"


def _narrowed(caller: Principal, command: Delegate) -> Iterator[Grant]:
    """The caller's grants, of these actions and within the pattern; each action must be held somewhere."""
    if command.pattern is not None:
        asked = Grant(command.pattern, command.actions)
        if not caller.includes(asked):
            raise ForbiddenError("a delegation cannot be given more than its maker holds")
        yield asked
        return
    held = frozenset[Action]().union(*(grant.actions for grant in caller.grants))
    if not command.actions <= held:
        raise ForbiddenError("a delegation cannot be given more than its maker holds")
    for grant in caller.grants:
        if actions := grant.actions & command.actions:
            yield replace(grant, actions=actions)
