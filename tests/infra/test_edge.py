"""`waf: cloudfront`: a web ACL in front, and no way around it."""

from __future__ import annotations

import json

import pytest
from aws_cdk import App, Stack

from infra.edge import web_acl_wanted
from tests.infra.conftest import Template
from unsay_core.settings import EDGE_HEADER


def test_the_distribution_is_behind_the_web_acl_and_caches_nothing(guarded: Template):
    made = guarded.one("AWS::CloudFront::Distribution")["DistributionConfig"]
    (acl,) = guarded.of_type("AWS::WAFv2::WebACL")
    assert made["WebACLId"] == {"Fn::GetAtt": [acl, "Arn"]}
    behaviour = made["DefaultCacheBehavior"]
    assert behaviour["ViewerProtocolPolicy"] == "https-only"
    assert behaviour["CachePolicyId"] == "4135ea2d-6df8-44a3-9df3-4b5a84be39ad", "AWS's own: caching disabled"
    assert {"POST", "PATCH", "PUT", "DELETE"} <= set(behaviour["AllowedMethods"])


def test_the_acl_blocks_and_shows_no_request(guarded: Template):
    acl = guarded.one("AWS::WAFv2::WebACL")
    assert acl["Scope"] == "CLOUDFRONT"
    assert [rule["Name"] for rule in acl["Rules"]] == [
        "OneAddress",
        "AWSManagedRulesAmazonIpReputationList",
        "AWSManagedRulesKnownBadInputsRuleSet",
    ]
    seen = [acl["VisibilityConfig"], *(rule["VisibilityConfig"] for rule in acl["Rules"])]
    assert {each["SampledRequestsEnabled"] for each in seen} == {False}


def test_the_distribution_says_a_secret_that_stands_in_no_template(guarded: Template):
    (origin,) = guarded.one("AWS::CloudFront::Distribution")["DistributionConfig"]["Origins"]
    (header,) = origin["OriginCustomHeaders"]
    assert header["HeaderName"] == EDGE_HEADER
    assert "{{resolve:secretsmanager:" in json.dumps(header["HeaderValue"])
    assert origin["CustomOriginConfig"]["OriginProtocolPolicy"] == "https-only"


def test_the_gateway_remembers_an_answer_by_the_header_too(guarded: Template, prod: Template):
    credential = "$request.header.Authorization"
    asked = guarded.one("AWS::ApiGatewayV2::Authorizer")["IdentitySource"]
    assert asked == [credential, f"$request.header.{EDGE_HEADER}"]
    assert prod.one("AWS::ApiGatewayV2::Authorizer")["IdentitySource"] == [credential]


def test_the_authorizer_alone_may_read_what_the_distribution_says(guarded: Template):
    (door,) = (name for name in guarded.of_type("AWS::SecretsManager::Secret") if name.startswith("Door"))
    readers = [
        name
        for name, each in guarded.of_type("AWS::IAM::Policy").items()
        if door in json.dumps(each["Properties"]["PolicyDocument"])
    ]
    assert [name.startswith("FunctionsAuthorizer") for name in readers] == [True]


def test_callers_are_told_the_distribution(guarded: Template, prod: Template):
    (distribution,) = guarded.of_type("AWS::CloudFront::Distribution")
    assert distribution in json.dumps(guarded.body["Outputs"]["ApiUrl"])
    assert "AWS::CloudFront::Distribution" not in {each["Type"] for each in prod.resources.values()}


def test_an_acl_of_this_stack_is_made_where_cloudfront_looks_for_it(guarded: Template):
    (rule,) = (each for each in guarded.body["Rules"].values() if "us-east-1" in json.dumps(each))
    assert rule["Assertions"][0]["Assert"] == {"Fn::Equals": [{"Ref": "AWS::Region"}, "us-east-1"]}


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("none", None),
        ("cloudfront", "cloudfront"),
        ("arn:aws:wafv2:us-east-1:1:global/webacl/a/b", "arn:aws:wafv2:us-east-1:1:global/webacl/a/b"),
    ],
)
def test_the_context_names_an_acl_or_none(said: str, wanted: str | None):
    assert web_acl_wanted(Stack(App(context={"waf": said}), "S")) == wanted


def test_an_acl_of_another_region_is_refused():
    with pytest.raises(ValueError, match="choose none, cloudfront"):
        web_acl_wanted(Stack(App(context={"waf": "arn:aws:wafv2:eu-west-1:1:regional/webacl/a/b"}), "S"))
