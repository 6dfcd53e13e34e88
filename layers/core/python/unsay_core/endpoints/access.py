"""Credentials: keys made, listed and revoked, and weaker ones made for sub-agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.access import MakeKey, list_keys, make_key, revoke_key
from unsay_core.application.delegate import Delegate, delegate
from unsay_core.contracts import access, answers, cursor
from unsay_core.domain.scope import Action
from unsay_core.endpoints.reply import Reply, replayed

if TYPE_CHECKING:
    from unsay_core.endpoints.call import Call
    from unsay_core.endpoints.service import Service

_LISTING = b"keys"  # what a cursor of it holds for, together with who asked


def make_api_key(call: Call, service: Service) -> Reply:
    """`POST /v1/keys`."""
    asked = call.body(access.KeyIn)
    command = MakeKey(
        asked.name, asked.kind, tuple(asked.grants), asked.expires_at, idempotency=call.idempotency_key
    )
    made = make_key(command, call.principal, service.keys, service.keyring, service.world)
    return Reply(201, answers.key_answer(made), replayed(made.replayed))


def list_api_keys(call: Call, service: Service) -> Reply:
    """`GET /v1/keys`."""
    asked, caller, keyring = call.query(access.KeysQuery), call.principal, service.keyring
    after = cursor.open_(keyring, caller.id, _LISTING, asked.cursor) if asked.cursor is not None else None
    page = list_keys(caller, service.keys, after=after, limit=asked.limit)
    beyond = cursor.seal(keyring, caller.id, _LISTING, page.next_after) if page.next_after else None
    items = [answers.listed_key_answer(key) for key in page.entries]
    return Reply(200, {"items": items, "next_cursor": beyond})


def revoke_api_key(call: Call, service: Service) -> Reply:
    """`DELETE /v1/keys/{id}`."""
    key = revoke_key(call.id, call.principal, service.keys, service.world.clock.now())
    return Reply(200, answers.listed_key_answer(key))


def make_delegation(call: Call, service: Service) -> Reply:
    """`POST /v1/delegations`."""
    asked = call.body(access.DelegationIn)
    command = Delegate(
        frozenset(map(Action, asked.actions)), asked.ttl_seconds, asked.scope, call.idempotency_key
    )
    made = delegate(command, call.identity, service.keys, service.keyring, service.world)
    return Reply(201, answers.delegation_answer(made), replayed(made.replayed))
