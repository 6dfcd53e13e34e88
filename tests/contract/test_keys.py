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


def test_keys_come_in_the_order_of_their_ids_page_by_page(keys: Keys) -> None:
    made = [new_key() for _ in range(5)]
    for key in made:
        keys.add(key)
    mine = {key.id for key in made}
    found, after = [], made[0].id
    while page := keys.page(after=after, limit=2):
        assert len(page) <= 2
        found += [key for key in page if key.id in mine]
        after = page[-1].id
    assert found == made[1:]


def test_a_delegation_is_found_and_is_in_no_list(keys: Keys) -> None:
    key = new_key()
    delegation = replace(
        new_key(), id=f"dlg_{key.id[4:]}", expires_at=SECOND, root=key.id, bindings=("bnd_1", "bnd_2")
    )
    keys.add(key)
    keys.add(delegation)
    assert keys.find(delegation.id) == delegation
    before = f"{key.id[:-1]}"
    assert [each.id for each in keys.page(after=before, limit=100) if each.id == key.id] == [key.id]
    assert not any(each.is_delegation for each in keys.page(after=None, limit=100))
    with pytest.raises(ConflictError):
        keys.add(delegation)


def test_a_key_is_revoked_once_and_stays_where_it_was(keys: Keys) -> None:
    key, other = new_key(), new_key()
    keys.add(key)
    keys.add(other)
    keys.revoke(key.id, "key_admin", AT)
    assert keys.find(key.id) == replace(key, revoked_at=AT, revoked_by="key_admin")
    for again in (key.id, f"{key.id}0"):
        with pytest.raises(ConflictError):
            keys.revoke(again, "key_other", SECOND)
    assert keys.find(key.id) == replace(key, revoked_at=AT, revoked_by="key_admin")
    assert keys.find(f"{key.id}0") is None
    assert keys.find(other.id) == other


def test_the_day_of_the_last_use_only_moves_on(keys: Keys) -> None:
    key = new_key()
    keys.add(key)
    for day, noted in (
        ("2026-05-02", "2026-05-02"),
        ("2026-05-01", "2026-05-02"),
        ("2026-05-03", "2026-05-03"),
    ):
        keys.note_use(key.id, day)
        assert keys.find(key.id) == replace(key, last_used=noted)


def test_the_use_of_a_key_that_is_not_there_makes_none(keys: Keys) -> None:
    keys.note_use("key_nobody", "2026-05-01")
    assert keys.find("key_nobody") is None


def test_a_delegation_says_when_the_table_may_drop_it(moto_session: boto3.session.Session) -> None:
    client = moto_session.client("dynamodb")
    keys = DynamoKeys(lambda: client, "access")
    delegation = replace(new_key(), id="dlg_00", expires_at=SECOND)
    key = replace(new_key(), expires_at=SECOND)
    keys.add(delegation)
    keys.add(key)
    kept = client.get_item(
        TableName="access", Key={"pk": {"S": "DELEGATION#dlg_00"}, "sk": {"S": "DELEGATION"}}
    )["Item"]
    assert kept["ttl"] == {"N": str(int(SECOND.timestamp()))}
    found = client.get_item(TableName="access", Key={"pk": {"S": "KEYS"}, "sk": {"S": key.id}})["Item"]
    assert "ttl" not in found


def test_the_first_key_can_be_made_once(moto_session: boto3.session.Session) -> None:
    keys = DynamoKeys(lambda: moto_session.client("dynamodb"), "access")
    first, second = new_key(), new_key()
    keys.first.add(first)
    with pytest.raises(ConflictError):
        keys.first.add(second)
    assert keys.find(first.id) == first
    assert keys.find(second.id) is None
