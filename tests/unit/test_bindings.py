"""Bindings: whom they fit, and what a claim may become."""

from __future__ import annotations

from typing import Any

import pytest

from unsay_core.application.bindings import Binding, Template, granted, role_claims
from unsay_core.domain.errors import InvalidRequestError, InvalidScopeError
from unsay_core.domain.scope import Action, PrincipalKind

ISSUER = "https://login.example.com"
READ, WRITE, REVIEW = Action.READ, Action.WRITE, Action.REVIEW


def bound(
    scope: str = "acme/users/{sub}",
    *actions: Action,
    kind: PrincipalKind = PrincipalKind.AGENT,
    **claims: str,
) -> Binding:
    return Binding(
        kind,
        (Template(scope, frozenset(actions or {READ})),),
        issuer=ISSUER,
        claims=tuple(claims.items()),
    )


def for_role(role: str, scope: str = "acme/agents/{role}") -> Binding:
    return Binding(PrincipalKind.AGENT, (Template(scope, frozenset({READ})),), role=role)


def scopes(bindings: list[Binding], claims: dict[str, Any], issuer: str | None = ISSUER) -> list[str]:
    found = granted(bindings, issuer, claims)
    return [str(grant.pattern) for grant in found.grants] if found else []


def test_a_claim_becomes_one_segment() -> None:
    assert scopes([bound()], {"sub": "alice"}) == ["acme/users/alice"]
    assert scopes([bound("{org}/{sub}/*")], {"sub": "alice", "org": "acme"}) == ["acme/alice/*"]


@pytest.mark.parametrize(
    ("value", "segment"),
    [
        ("a/b", "a%2Fb"),
        ("../admin", "..%2Fadmin"),
        ("100%", "100%25"),
        ("a%2Fb", "a%252Fb"),
        ("auth0|user@example.com", "auth0|user@example.com"),
        ("{sub}", "{sub}"),
        ("a*", "a*"),
        ("日本 語", "日本 語"),
    ],
)
def test_a_claim_stays_one_segment_whatever_it_holds(value: str, segment: str) -> None:
    assert scopes([bound()], {"sub": value}) == [f"acme/users/{segment}"]
    assert scopes([bound("{sub}/*")], {"sub": value}) == [f"{segment}/*"]


@pytest.mark.parametrize(
    "value",
    [
        *("", "*", ".", "..", " alice", "alice ", "al\u200bice", "al\u202eice", "a\nb", "\ud800", "x" * 129),
        *("cafe\u0301", None, 1, True, ["alice"], {"a": "b"}),
    ],
)
def test_a_claim_that_is_no_segment_as_it_stands_grants_nothing(value: Any) -> None:
    assert scopes([bound()], {"sub": value}) == []
    assert scopes([bound()], {}) == []
    assert scopes([bound(), bound("acme/shared")], {"sub": value}) == ["acme/shared"]


@pytest.mark.parametrize("scope", ["", "acme//x", "acme/*/x", "acme/ {sub}", "a/../{x}"])
def test_a_template_nothing_could_be_made_of_is_refused(scope: str) -> None:
    with pytest.raises(InvalidScopeError):
        bound(scope)


@pytest.mark.parametrize("scope", ["acme/u-{sub}", "acme/{}", "acme/{sub"])
def test_a_placeholder_is_a_whole_segment_or_none(scope: str) -> None:
    assert scopes([bound(scope)], {"sub": "alice"}) == [scope]


@pytest.mark.parametrize(
    ("claims", "fits"),
    [
        ({"groups": "readers", "sub": "a"}, True),
        ({"groups": ["writers", "readers"], "sub": "a"}, True),
        ({"groups": "readers-evil", "sub": "a"}, False),
        ({"groups": "reader", "sub": "a"}, False),
        ({"groups": ["readers,writers"], "sub": "a"}, False),
        ({"groups": {"readers": True}, "sub": "a"}, False),
        ({"groups": [], "sub": "a"}, False),
        ({"groups": None, "sub": "a"}, False),
        ({"sub": "a"}, False),
    ],
)
def test_a_claim_is_the_value_or_a_list_that_holds_it(claims: dict[str, Any], fits: bool) -> None:
    assert bool(scopes([bound(groups="readers")], claims)) is fits


def test_what_is_no_text_is_compared_as_json_and_what_is_absent_is_not_null() -> None:
    assert scopes([bound(email_verified="true")], {"sub": "a", "email_verified": True})
    assert not scopes([bound(email_verified="true")], {"sub": "a", "email_verified": False})
    assert scopes([bound(level="2")], {"sub": "a", "level": 2})
    assert not scopes([bound(level="null")], {"sub": "a"})


def test_every_claim_of_a_binding_has_to_fit() -> None:
    both = bound(groups="readers", tenant="acme")
    assert scopes([both], {"sub": "a", "groups": ["readers"], "tenant": "acme"})
    assert not scopes([both], {"sub": "a", "groups": ["readers"], "tenant": "other"})


def test_another_issuer_says_nothing_here() -> None:
    assert scopes([bound()], {"sub": "a"})
    for issuer in ("https://login.example.com/", "https://evil.example.com", None):
        assert not scopes([bound()], {"sub": "a", "arn": ""}, issuer)


def test_several_bindings_are_a_union() -> None:
    several = [bound("acme/{sub}", READ), bound("acme/{sub}", WRITE), bound("acme/{sub}", READ, tenant="x")]
    found = granted(several, ISSUER, {"sub": "alice"})
    assert found is not None
    assert [sorted(grant.actions) for grant in found.grants] == [["read"], ["write"]]
    assert found.bindings == tuple(binding.id for binding in several[:2])


def test_a_human_is_who_some_binding_says_is_one() -> None:
    everyone, people = bound(), bound("acme/*", REVIEW, kind=PrincipalKind.HUMAN, groups="people")
    alice, robot = {"sub": "alice", "groups": ["people"]}, {"sub": "robot"}
    of_alice, of_robot = (
        granted([everyone, people], ISSUER, alice),
        granted([everyone, people], ISSUER, robot),
    )
    assert of_alice is not None
    assert of_robot is not None
    assert (of_alice.kind, of_robot.kind) == (PrincipalKind.HUMAN, PrincipalKind.AGENT)


def test_only_a_human_may_hold_review() -> None:
    with pytest.raises(InvalidRequestError):
        bound("acme/*", REVIEW)
    assert bound("acme/*", REVIEW, kind=PrincipalKind.HUMAN)


SESSION = "arn:aws:sts::123456789012:assumed-role/agents-shop/i-0abc"


def test_a_session_is_its_role_without_the_name_it_gave_itself() -> None:
    assert role_claims(SESSION) == {
        "arn": "arn:aws:iam::123456789012:role/agents-shop",
        "account": "123456789012",
        "role": "agents-shop",
    }
    other = "arn:aws:sts::123456789012:assumed-role/agents-shop/alice@example.com"
    assert role_claims(other) == role_claims(SESSION)


@pytest.mark.parametrize(
    "arn",
    [
        "",
        "arn:aws:iam::123456789012:root",
        "arn:aws:iam::123456789012:user/agents-shop",
        "arn:aws:iam::123456789012:role/agents-shop",
        "arn:aws:sts::123456789012:federated-user/agents-shop",
        "arn:aws:sts::123456789012:assumed-role/agents-shop",
        "arn:aws:sts::123456789012:assumed-role/agents-shop/",
        "arn:aws:sts::123456789012:assumed-role/agents-shop/a/b",
        "arn:aws:sts::123456789012:assumed-role/path/agents-shop/session",
        "arn:aws:sts::12345678901:assumed-role/agents-shop/session",
        "arn:evil:sts::123456789012:assumed-role/agents-shop/session",
        f"{SESSION}\n",
        f" {SESSION}",
    ],
)
def test_who_is_no_session_of_a_role_is_nobody(arn: str) -> None:
    assert role_claims(arn) is None


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("arn:aws:iam::123456789012:role/agents-shop", True),
        ("arn:aws:iam::123456789012:role/agents-*", True),
        ("arn:aws:iam::123456789012:role/*-shop", True),
        ("arn:aws:iam::123456789012:role/*", True),
        ("arn:aws:iam::123456789012:role/agents", False),
        ("arn:aws:iam::123456789012:role/agents-sho", False),
        ("arn:aws:iam::123456789012:role/gents-shop", False),
        ("arn:aws:iam::123456789012:role/agents.shop", False),
        ("arn:aws:iam::123456789012:role/shop-*", False),
        ("arn:aws:iam::210987654321:role/agents-shop", False),
        ("arn:aws-cn:iam::123456789012:role/agents-shop", False),
    ],
)
def test_a_pattern_is_of_one_account_and_means_what_it_says(pattern: str, fits: bool) -> None:
    claims = role_claims(SESSION)
    assert claims is not None
    assert bool(scopes([for_role(pattern)], claims, None)) is fits


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "arn:aws:iam::*:role/agents",
        "arn:aws:iam::123456789012:*",
        "arn:aws:iam::123456789012:role/path/agents",
        "arn:aws:iam::123456789012:role/",
        "arn:aws:iam::123456789012:user/agents",
        "arn:aws:sts::123456789012:assumed-role/agents/*",
        "arn:aws:iam::123456789012:role/a b",
        "arn:aws:iam::123456789012:role/a?",
    ],
)
def test_a_pattern_over_accounts_paths_or_other_things_than_roles_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidRequestError):
        for_role(pattern)


def test_a_binding_is_for_an_issuer_or_for_a_role() -> None:
    grants = (Template("acme/x", frozenset({READ})),)
    role = "arn:aws:iam::123456789012:role/a"
    for issuer, pattern in ((None, None), (ISSUER, role)):
        with pytest.raises(InvalidRequestError):
            Binding(PrincipalKind.AGENT, grants, issuer=issuer, role=pattern)
    with pytest.raises(InvalidRequestError):
        Binding(PrincipalKind.AGENT, (), issuer=ISSUER)


def test_the_id_follows_from_what_a_binding_says() -> None:
    same = Binding(
        PrincipalKind.AGENT,
        (Template("acme/users/{sub}", frozenset({READ})),),
        issuer=ISSUER,
        note="another note",
    )
    assert same.id == bound().id
    others = [
        bound("acme/users/{sub}", WRITE),
        bound("acme/{sub}"),
        bound(tenant="x"),
        bound(kind=PrincipalKind.HUMAN),
        for_role("arn:aws:iam::123456789012:role/a"),
    ]
    assert len({binding.id for binding in [same, *others]}) == 6
