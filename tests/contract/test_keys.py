"""The `Keys` port: API keys by id."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.samples import AT, SECOND
from unsay_core.adapters.dynamodb.access import DynamoKeys
from unsay_core.application.access import ApiKey
from unsay_core.application.ports import ConflictError
from unsay_core.domain.scope import Action, Grant, Principal, PrincipalKind, ScopePattern

if TYPE_CHECKING:
    import boto3

    from unsay_core.application.access import Keys

_numbers = itertools.count(1)


def new_key() -> ApiKey:
    key_id = f"key_{next(_numbers):026d}"
    grants = (
        Grant(ScopePattern.parse("acme/users/a%2Fb"), frozenset({Action.READ, Action.WRITE})),
        Grant(ScopePattern.parse("acme/*"), frozenset(Action)),
        Grant(ScopePattern.parse("*"), frozenset({Action.AUDIT})),
    )
    return ApiKey(
        key_id, "ünï \U0001f600", "digest", Principal(key_id, PrincipalKind.HUMAN, grants), AT, "key_0"
    )


def test_a_key_comes_back_as_it_was_added(keys: Keys) -> None:
    forever, for_a_while = new_key(), replace(new_key(), expires_at=SECOND)
    keys.add(forever)
    keys.add(for_a_while)
    assert keys.find(forever.id) == forever
    assert keys.find(for_a_while.id) == for_a_while


def test_a_key_that_was_never_added_is_not_found(keys: Keys) -> None:
    key = new_key()
    keys.add(key)
    assert keys.find(f"{key.id}0") is None
    assert keys.find(key.id) == key


def test_an_id_is_taken_once(keys: Keys) -> None:
    key = new_key()
    keys.add(key)
    with pytest.raises(ConflictError):
        keys.add(replace(key, name="another"))
    assert keys.find(key.id) == key


def test_the_first_key_can_be_made_once(moto_session: boto3.session.Session) -> None:
    keys = DynamoKeys(lambda: moto_session.client("dynamodb"), "access")
    first, second = new_key(), new_key()
    keys.first.add(first)
    with pytest.raises(ConflictError):
        keys.first.add(second)
    assert keys.find(first.id) == first
    assert keys.find(second.id) is None
