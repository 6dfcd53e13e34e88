"""Tokens at the real authorizer: whose hold, and every way to make one that must not."""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import urlsafe_b64decode
from collections.abc import Callable
from datetime import datetime, timedelta
from types import ModuleType
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import get_default_algorithms

from tests.functional.test_handlers import CONTEXT
from tests.support.fakes import FakeService
from tests.support.http import Caller, event
from tests.support.issuer import AUDIENCE, Issuer, b64, forged
from unsay_core.adapters import oidc
from unsay_core.adapters.oidc import OidcTokens
from unsay_core.application.authenticate import Authenticator
from unsay_core.application.bindings import Binding, Template
from unsay_core.domain.scope import Action, PrincipalKind
from unsay_core.settings import EDGE_HEADER

DENIED = {"isAuthorized": False}
UNDECIDED = {"isAuthorized": True, "context": {"undecided": "true"}}


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
def service(issuer: Issuer) -> FakeService:
    """A service that takes the issuer's tokens, with a scope for each of its subjects."""
    service = FakeService()
    service.tokens = OidcTokens([oidc.Issuer(issuer.url, frozenset({AUDIENCE, "other"}))], issuer.fetch)  # type: ignore[assignment]
    actions = frozenset({Action.READ, Action.WRITE})
    everyone = Binding(PrincipalKind.AGENT, (Template("acme/users/{sub}", actions),), issuer=issuer.url)
    service.bindings.add(everyone)
    service.authenticator = Authenticator(
        service.keys, service.bindings.all, service.tokens, service.keyring, service.clock.now
    )
    return service


@pytest.fixture
def authorize(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, Any]]:
    """The authorizer's answer to a credential."""
    module = authorizer_of(service, monkeypatch)

    def ask(credential: str) -> dict[str, Any]:
        request = event("authorizer_request")
        request["headers"]["authorization"] = f"Bearer {credential}"
        answer: dict[str, Any] = module.handler(request, CONTEXT)
        return answer

    return ask


def authorizer_of(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    from importlib import import_module

    from unsay_core import settings

    for variable in settings.variables(settings.AuthorizerSettings).values():
        monkeypatch.setenv(variable, "value")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    module = import_module("functions.authorizer.handler")
    monkeypatch.setattr(module, "service", service)
    return module


@pytest.fixture
def now(service: FakeService) -> float:
    return service.clock.now().timestamp()


def test_a_token_is_its_subject_with_what_the_bindings_grant(
    authorize: Any, issuer: Issuer, now: float
) -> None:
    answer = authorize(issuer.token(now))
    principal = json.loads(answer["context"]["principal"])
    assert principal["grants"] == [{"scope": "acme/users/alice", "actions": ["read", "write"]}]
    assert principal["kind"] == "agent"
    assert answer["context"]["expires_at"] == str(int(now) + 600)


@pytest.mark.parametrize("kid", ["rsa", "pss", "ec", "ed"])
def test_every_allowed_algorithm_is_taken_with_a_key_of_its_kind(
    authorize: Any, issuer: Issuer, now: float, kid: str
) -> None:
    assert authorize(issuer.token(now, kid))["isAuthorized"] is True


def test_the_id_of_a_subject_is_stable_and_says_nothing_of_them(
    authorize: Any, issuer: Issuer, now: float
) -> None:
    def actor(**claims: Any) -> str:
        context = authorize(issuer.token(now, **claims))["context"]
        return str(json.loads(context["principal"])["id"])

    alice = actor(sub="alice@example.com")
    assert alice == actor(sub="alice@example.com", aud=["x", "other"], exp=int(now) + 60)
    assert alice != actor(sub="bob@example.com")
    assert alice.startswith("oidc_")
    assert "alice" not in alice


def confusion(issuer: Issuer, now: float, alg: str) -> str:
    """Signed with the public key as if it were a shared secret."""
    public = (
        issuer.private["rsa"][1].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    head, body = b64(json.dumps({"alg": alg, "kid": "rsa"})), b64(json.dumps(issuer.claims(now)))
    return f"{head}.{body}.{b64(hmac.digest(public, f'{head}.{body}'.encode(), hashlib.sha256))}"


def own_key(issuer: Issuer, now: float, **header: Any) -> str:
    """Signed with a key of the attacker's."""
    stranger = Issuer(issuer.url)
    stranger.private["rsa"] = ("RS256", rsa.generate_private_key(public_exponent=65537, key_size=2048))
    if "jwk" in header:
        header["jwk"] = stranger.keys[0]
    return stranger.token(now, header=header)


def swapped(token: str, part: int, change: Callable[[str], str]) -> str:
    """One part of a good token in another spelling."""
    parts = token.split(".")
    parts[part] = change(parts[part])
    return ".".join(parts)


def edited(token: str, **claims: Any) -> str:
    """A good token's signature over other claims."""

    def edit(part: str) -> str:
        stated = json.loads(urlsafe_b64decode(part + "=="))
        return b64(json.dumps(stated | claims))

    return swapped(token, 1, edit)


def plain(issuer: Issuer, now: float) -> str:
    return json.dumps(issuer.claims(now))


ATTACKS: dict[str, Callable[[Issuer, float], str]] = {
    "algorithm none": lambda i, n: forged({"alg": "none", "kid": "rsa"}, plain(i, n), b"")[:-1] + ".",
    "algorithm none with a signature": lambda i, n: forged({"alg": "none", "kid": "rsa"}, plain(i, n)),
    "algorithm None": lambda i, n: forged({"alg": "NoNe", "kid": "rsa"}, plain(i, n)),
    "no algorithm": lambda i, n: forged({"kid": "rsa"}, plain(i, n)),
    "a number as algorithm": lambda i, n: forged({"alg": 256, "kid": "rsa"}, plain(i, n)),
    "a list of algorithms": lambda i, n: forged({"alg": ["RS256"], "kid": "rsa"}, plain(i, n)),
    "the public key as a shared secret": lambda i, n: confusion(i, n, "HS256"),
    "… under the name of the real algorithm": lambda i, n: confusion(i, n, "RS256"),
    "a key of the attacker's": own_key,
    "a key the token brings along": lambda i, n: own_key(i, n, jwk={}),
    "keys from where the token points": lambda i, n: own_key(i, n, jku="https://evil.example.com/keys"),
    "a certificate from where the token points": lambda i, n: own_key(i, n, x5u="https://evil.example.com/c"),
    "a certificate the token brings along": lambda i, n: own_key(i, n, x5c=["MIIB"]),
    "an unknown key": lambda i, n: own_key(i, n, kid="nobody"),
    "a path as key": lambda i, n: own_key(i, n, kid="../../dev/null"),
    "a number as key": lambda i, n: own_key(i, n, kid=1),
    "no key named": lambda i, n: forged({"alg": "RS256"}, plain(i, n)),
    "the key of another algorithm": lambda i, n: i.token(n, "pss", {"kid": "rsa"}),
    "another issuer": lambda i, n: i.token(n, iss="https://evil.example.com"),
    "the issuer with a slash": lambda i, n: i.token(n, iss=i.url + "/"),
    "no issuer": lambda i, n: i.token(n, iss=None),
    "a list of issuers": lambda i, n: i.token(n, iss=[i.url]),
    "another audience": lambda i, n: i.token(n, aud="somebody-else"),
    "an audience that begins alike": lambda i, n: i.token(n, aud="unsay-dev"),
    "several other audiences": lambda i, n: i.token(n, aud=["a", "b"]),
    "no audience": lambda i, n: i.token(n, aud=None),
    "an object as audience": lambda i, n: i.token(n, aud={"unsay": True}),
    "expired": lambda i, n: i.token(n, exp=int(n) - 1),
    "expired this second": lambda i, n: i.token(n, exp=int(n)),
    "no end": lambda i, n: i.token(n, exp=None),
    "an end in words": lambda i, n: i.token(n, exp=str(int(n) + 600)),
    "true as end": lambda i, n: i.token(n, exp=True),
    "an end beyond all time": lambda i, n: i.token(n, exp=10**18),
    "an infinite end": lambda i, n: i.signed(
        plain(i, n).replace(f'"exp": {int(n) + 600}', '"exp": Infinity')
    ),
    "an end that is no number": lambda i, n: i.signed(plain(i, n).replace(f"{int(n) + 600}", "NaN")),
    "not yet": lambda i, n: i.token(n, nbf=int(n) + 120),
    "not yet in words": lambda i, n: i.token(n, nbf="later"),
    "issued in the future": lambda i, n: i.token(n, iat=int(n) + 120),
    "no subject": lambda i, n: i.token(n, sub=None),
    "an empty subject": lambda i, n: i.token(n, sub=""),
    "a number as subject": lambda i, n: i.token(n, sub=7),
    "a subject that is no segment": lambda i, n: i.token(n, sub="*"),
    "a claim twice": lambda i, n: i.signed(plain(i, n)[:-1] + ', "sub": "bob"}'),
    "a header twice": lambda i, n: swapped(
        i.token(n), 0, lambda _: b64('{"alg": "none", "alg": "RS256", "kid": "rsa"}')
    ),
    "no object as claims": lambda i, n: i.signed('["alice"]'),
    "no JSON as claims": lambda i, n: i.signed("alice"),
    "endless depth": lambda i, n: i.signed("[" * 5_000),
    "a critical header": lambda i, n: i.token(n, header={"crit": ["exp"], "exp": 1}),
    "an unencoded payload": lambda i, n: i.token(n, header={"b64": True}),
    "a logout token": lambda i, n: i.token(n, header={"typ": "logout+jwt"}),
    "claims of another": lambda i, n: edited(i.token(n), sub="bob"),
    "no signature": lambda i, n: i.token(n).rpartition(".")[0] + ".",
    "two parts": lambda i, n: i.token(n).rpartition(".")[0],
    "four parts": lambda i, n: i.token(n) + ".x",
    "five parts": lambda i, n: i.token(n) + ".x.y",
    "a signature with padding": lambda i, n: i.token(n) + "==",
    "a signature cut short": lambda i, n: i.token(n)[:-4],
    "a line break inside": lambda i, n: swapped(i.token(n), 1, lambda p: p[:8] + "\n" + p[8:]),
    "too long": lambda i, n: i.token(n, more="x" * 9_000),
    "an empty token": lambda i, n: "..",
    "a word": lambda i, n: "token",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_token_that_does_not_hold_is_denied_and_the_good_one_is_taken(
    authorize: Any, issuer: Issuer, now: float, attack: str
) -> None:
    assert authorize(ATTACKS[attack](issuer, now)) == DENIED
    assert authorize(issuer.token(now))["isAuthorized"] is True
    assert all(url.startswith(issuer.url) for url in issuer.fetched)


def test_keys_that_no_token_may_use_are_not_used(authorize: Any, issuer: Issuer, now: float) -> None:
    short = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    other_curve = ec.generate_private_key(ec.SECP384R1())
    issuer.private |= {
        "short": ("RS256", short),
        "enc": ("RS256", issuer.private["rsa"][1]),
        "oct": ("RS256", issuer.private["rsa"][1]),
    }
    issuer.withheld |= {"enc", "oct"}
    rs256 = get_default_algorithms()["RS256"]
    public = rs256.to_jwk(issuer.private["rsa"][1].public_key(), as_dict=True)
    issuer.extra = [
        {**public, "kid": "enc", "use": "enc"},
        {"kty": "oct", "kid": "oct", "k": b64("secret")},
        {**get_default_algorithms()["ES384"].to_jwk(other_curve.public_key(), as_dict=True), "kid": "p384"},
        {"kty": "RSA", "kid": "broken", "n": "!", "e": "AQAB"},
        {"kty": "EC", "kid": "broken2"},
        "not a key",  # type: ignore[list-item]
    ]
    for kid in ("short", "enc", "oct"):
        assert authorize(issuer.token(now, kid)) == DENIED, kid
    for kid, alg in (("p384", "ES256"), ("broken", "RS256"), ("broken2", "ES256")):
        assert authorize(forged({"alg": alg, "kid": kid}, plain(issuer, now))) == DENIED, kid
    assert authorize(issuer.token(now))["isAuthorized"] is True


def test_a_clock_that_is_a_little_ahead_is_forgiven_and_the_end_is_not(
    authorize: Any, issuer: Issuer, now: float
) -> None:
    ahead = int(now) + 50
    assert authorize(issuer.token(now, iat=ahead, nbf=ahead))["isAuthorized"] is True
    assert authorize(issuer.token(now, exp=int(now) + 1))["isAuthorized"] is True
    assert authorize(issuer.token(now, exp=now - 0.5)) == DENIED


def test_keys_are_fetched_once_and_again_when_they_are_old(
    authorize: Any, issuer: Issuer, now: float, service: FakeService
) -> None:
    for _ in range(5):
        authorize(issuer.token(now))
    assert len(issuer.fetched) == 2  # where the keys are, and the keys
    service.clock.pass_(seconds=oidc.FRESH.total_seconds() + 1)
    later = service.clock.now().timestamp()
    assert authorize(issuer.token(later))["isAuthorized"] is True
    assert len(issuer.fetched) == 4


def test_a_new_key_is_found_at_its_first_token_and_the_old_one_is_gone(
    authorize: Any, issuer: Issuer, now: float, service: FakeService
) -> None:
    old = issuer.token(now)
    assert authorize(old)["isAuthorized"] is True
    issuer.rotate()
    service.clock.pass_(seconds=oidc.AGAIN.total_seconds())
    later = service.clock.now().timestamp()
    assert authorize(issuer.token(later, "rsa2"))["isAuthorized"] is True
    assert authorize(old) == DENIED


def test_unknown_keys_make_nobody_fetch_more_than_once_a_minute(
    authorize: Any, issuer: Issuer, now: float, service: FakeService
) -> None:
    authorize(issuer.token(now))
    service.clock.pass_(seconds=oidc.AGAIN.total_seconds())
    fetched = len(issuer.fetched)
    for number in range(50):
        assert authorize(own_key(issuer, now, kid=f"made-up-{number}")) == DENIED
    assert len(issuer.fetched) == fetched + 2


def test_a_token_that_needs_no_key_to_be_refused_makes_nobody_fetch(
    authorize: Any, issuer: Issuer, now: float
) -> None:
    for attack in ("another issuer", "expired", "another audience", "algorithm none", "a claim twice"):
        assert authorize(ATTACKS[attack](issuer, now)) == DENIED
    assert issuer.fetched == []


def test_an_issuer_that_is_down_decides_nothing_until_it_answers(
    authorize: Any, issuer: Issuer, now: float, service: FakeService
) -> None:
    issuer.down = True
    for _ in range(10):
        assert authorize(issuer.token(now)) == UNDECIDED
    assert len(issuer.fetched) == 1
    issuer.down = False
    service.clock.pass_(seconds=oidc.RETRY.total_seconds())
    assert authorize(issuer.token(now))["isAuthorized"] is True


def test_known_keys_outlast_an_issuer_that_is_down_for_a_day(
    authorize: Any, issuer: Issuer, now: float, service: FakeService
) -> None:
    authorize(issuer.token(now))
    issuer.down = True
    service.clock.pass_(hours=23)
    assert authorize(issuer.token(service.clock.now().timestamp()))["isAuthorized"] is True
    service.clock.pass_(hours=2)
    assert authorize(issuer.token(service.clock.now().timestamp())) == UNDECIDED


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example.com", "jwks_uri": "https://login.example.com/tenant/keys"},
        {"issuer": "https://login.example.com/tenant", "jwks_uri": "http://login.example.com/tenant/keys"},
        {"issuer": "https://login.example.com/tenant", "jwks_uri": "file:///etc/passwd"},
        {"issuer": "https://login.example.com/tenant", "jwks_uri": ["https://login.example.com/tenant/keys"]},
        {"issuer": "https://login.example.com/tenant"},
        {},
    ],
)
def test_keys_from_a_document_that_is_not_the_issuers_are_not_fetched(
    authorize: Any, issuer: Issuer, now: float, document: dict[str, Any]
) -> None:
    right = issuer.document
    issuer.document = lambda url: document if "well-known" in url else right(url)  # type: ignore[method-assign]
    assert authorize(issuer.token(now)) == UNDECIDED
    assert len(issuer.fetched) == 1


def test_what_the_gateway_remembers_of_a_token_ends_with_the_token(
    authorize: Any, issuer: Issuer, now: float, service: FakeService
) -> None:
    context = authorize(issuer.token(now, exp=int(now) + 30))["context"]
    caller = Caller(service, None).identified({"lambda": context})
    assert caller.recall(scope="acme/users/alice").status == 200
    service.clock.stand_at(datetime.fromtimestamp(int(now) + 30, service.clock.now().tzinfo))
    assert (caller.recall(scope="acme/users/alice").status) == 401


def test_a_token_acts_in_its_own_scope_and_in_no_other(
    authorize: Any, issuer: Issuer, now: float, service: FakeService
) -> None:
    caller = Caller(service, None).identified({"lambda": authorize(issuer.token(now))["context"]})
    made = caller.remember("x", scope="acme/users/alice")
    assert made["source"]["actor"].startswith("oidc_")
    assert caller.recall(scope="acme/users/bob").status == 403
    caller = Caller(service, None).identified({"lambda": authorize(issuer.token(now, sub="a/b"))["context"]})
    assert caller.remember("x", scope="acme/users/a%2Fb").status == 201
    assert caller.remember("x", scope="acme/users/a/b").status == 403


def test_a_skewed_clock_is_less_than_a_cache() -> None:
    assert oidc.SKEW <= timedelta(seconds=60)


def test_whoever_comes_around_the_distribution_is_nobody(
    service: FakeService, issuer: Issuer, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = authorizer_of(service, monkeypatch)
    service.edge_secret = "said-by-the-distribution"

    def allowed(**headers: str) -> bool:
        request = event("authorizer_request")
        request["headers"] |= {"authorization": f"Bearer {issuer.token(now)}", **headers}
        return bool(module.handler(request, CONTEXT)["isAuthorized"])

    assert allowed(**{EDGE_HEADER: "said-by-the-distribution"})
    for other in ({}, {EDGE_HEADER: ""}, {EDGE_HEADER: "said-by-another"}, {EDGE_HEADER: "\udcff"}):
        assert not allowed(**other), other
    service.edge_secret = None
    assert allowed()
