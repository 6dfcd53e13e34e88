"""The contract of `Bindings`, on every backend."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.support.fakes import MemoryBindings
from unsay_core.adapters.dynamodb.bindings import DynamoBindings
from unsay_core.application.bindings import Binding, Template
from unsay_core.domain.scope import Action, PrincipalKind

if TYPE_CHECKING:
    from unsay_core.application.bindings import Bindings

_numbers = count(1)


@pytest.fixture(params=["memory", "moto"])
def bindings(request: pytest.FixtureRequest) -> Bindings:
    if request.param == "memory":
        return MemoryBindings()
    client = request.getfixturevalue("moto_session").client("dynamodb")
    return DynamoBindings(lambda: client, "access")


def new_binding(kind: PrincipalKind = PrincipalKind.HUMAN) -> Binding:
    grants = (
        Template("acme/users/{sub}", frozenset({Action.READ, Action.WRITE})),
        Template("acme/ünï/a%2Fb/*", frozenset({Action.AUDIT})),
    )
    claims = (("groups", "people"), ("number", str(next(_numbers))))
    return Binding(kind, grants, issuer="https://login.example.com", claims=claims, note="ünï \U0001f600")


def test_bindings_come_back_as_they_were_added_in_the_order_of_their_ids(bindings: Bindings) -> None:
    role = "arn:aws:iam::123456789012:role/agents-*"
    agent = Binding(
        PrincipalKind.AGENT,
        (Template("acme/agents/{role}", frozenset({Action.READ})),),
        role=role,
        note=str(next(_numbers)),
    )
    made = [new_binding(), agent, new_binding()]
    for binding in made:
        bindings.add(binding)
    found = [binding for binding in bindings.all() if binding in made]
    assert found == sorted(made, key=lambda binding: binding.id)
    for binding in made:
        bindings.remove(binding.id)


def test_a_binding_that_is_removed_is_gone_and_its_neighbour_stays(bindings: Bindings) -> None:
    gone, stays = new_binding(), new_binding()
    bindings.add(gone)
    bindings.add(stays)
    assert bindings.remove(gone.id) is True
    assert gone not in bindings.all()
    assert stays in bindings.all()
    assert bindings.remove(gone.id) is False


def test_the_same_binding_again_is_one(bindings: Bindings) -> None:
    binding = new_binding()
    bindings.add(binding)
    bindings.add(binding)
    assert bindings.all().count(binding) == 1
