"""The issuers of the context, checked before anything is deployed."""

from __future__ import annotations

import json

import pytest

from infra.oidc import oidc_setting

ISSUER = {"issuer": "https://login.example.com/tenant", "audiences": ["unsay"]}


def test_no_issuer_is_an_empty_list():
    assert oidc_setting(None) == oidc_setting([]) == oidc_setting("[]") == "[]"


def test_the_command_line_and_the_file_say_the_same():
    assert json.loads(oidc_setting(json.dumps([ISSUER]))) == json.loads(oidc_setting([ISSUER])) == [ISSUER]


@pytest.mark.parametrize(
    "wrong",
    [
        {"issuer": "http://login.example.com"},
        {"issuer": "login.example.com"},
        {"issuer": "https://"},
        {"issuer": "https://login.example.com/?tenant=a"},
        {"issuer": "https://login.example.com/#a"},
        {"audiences": []},
        {"audiences": [""]},
        {"audiences": "unsay"},
        {"algorithms": ["none"]},
    ],
)
def test_what_would_take_tokens_from_anybody_is_refused_at_synth(wrong):
    with pytest.raises(ValueError, match="oidc"):
        oidc_setting([ISSUER | wrong])


@pytest.mark.parametrize("wrong", [{"issuer": "https://a"}, "{}", ["https://a"]])
def test_what_is_no_list_of_issuers_is_refused(wrong):
    with pytest.raises(ValueError, match="oidc"):
        oidc_setting(wrong)


def test_a_stack_without_an_issuer_takes_no_tokens(dev):
    for name in ("Api", "Authorizer"):
        function = dev.one("AWS::Lambda::Function", f"Functions{name}")
        assert function["Environment"]["Variables"]["UNSAY_OIDC"] == "[]"
