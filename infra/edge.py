"""`waf: cloudfront`: a distribution with a web ACL in front of the API, and no way around it for a key.

An HTTP API takes no web ACL itself. The distribution adds a header to what it passes on, and the authorizer
turns away whoever comes without it: the header is part of what the gateway remembers an answer by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_cdk import Aws, CfnRule, CfnRuleAssertion, Fn, Stack
from aws_cdk import aws_cloudfront as cloudfront
from aws_cdk import aws_cloudfront_origins as origins
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_wafv2 as wafv2
from constructs import Construct

from infra.checks import acknowledge

if TYPE_CHECKING:
    from infra.stage import Stage

WAF = "waf"
NONE, CLOUDFRONT = "none", "cloudfront"
GLOBAL_REGION = "us-east-1"  # where everything of CloudFront's is made, web ACLs among it
REQUESTS_PER_ADDRESS = 2_000  # in five minutes
# Not the common rules: they refuse bodies over 8 KB, and sentences that look like code. Memories are both.
MANAGED = ("AWSManagedRulesAmazonIpReputationList", "AWSManagedRulesKnownBadInputsRuleSet")
UNROTATED = "A new value has to reach the distribution and the authorizer together: a deploy does that."


def web_acl_wanted(scope: Construct) -> str | None:
    """What the context says: None, `cloudfront`, or the ARN of a web ACL of one's own.

    Raises `ValueError` for anything else.
    """
    said = str(scope.node.try_get_context(WAF) or NONE)
    if said == NONE:
        return None
    if said != CLOUDFRONT and f":wafv2:{GLOBAL_REGION}:" not in said:
        raise ValueError(f"unknown {WAF} {said!r}: choose {NONE}, {CLOUDFRONT}, or a web ACL's global ARN")
    return said


class Door(Construct):
    """The secret by which the authorizer knows that a request came through the distribution."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.secret = secretsmanager.Secret(
            self,
            "Secret",
            description="unsay: what the distribution says to the authorizer, in a header.",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                password_length=64, exclude_punctuation=True
            ),
            removal_policy=stage.removal,
        )
        acknowledge(self.secret, "SMG4", UNROTATED)

    @property
    def arn(self) -> str:
        """Its ARN."""
        return str(self.secret.node.default_child.attr_id)


class Edge(Construct):
    """The distribution, its web ACL, and the header that it adds."""

    def __init__(
        self, scope: Construct, construct_id: str, *, api_id: str, door: Door, header: str, web_acl: str
    ) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        self.distribution = cloudfront.Distribution(
            self,
            "Distribution",
            comment="unsay: the API behind a web ACL.",
            web_acl_id=self._web_acl() if web_acl == CLOUDFRONT else web_acl,
            minimum_protocol_version=cloudfront.SecurityPolicyProtocol.TLS_V1_2_2021,
            default_behavior=cloudfront.BehaviorOptions(
                origin=origins.HttpOrigin(
                    f"{api_id}.execute-api.{stack.region}.{stack.url_suffix}",
                    custom_headers={header: door.secret.secret_value.unsafe_unwrap()},
                    protocol_policy=cloudfront.OriginProtocolPolicy.HTTPS_ONLY,
                    origin_ssl_protocols=[cloudfront.OriginSslPolicy.TLS_V1_2],
                ),
                allowed_methods=cloudfront.AllowedMethods.ALLOW_ALL,
                # An answer is one caller's, and says itself that nobody may store it.
                cache_policy=cloudfront.CachePolicy.CACHING_DISABLED,
                origin_request_policy=cloudfront.OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
                viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.HTTPS_ONLY,
            ),
        )
        self._answer_for()

    @property
    def url(self) -> str:
        """Where the `/v1/...` paths begin."""
        return f"https://{self.distribution.distribution_domain_name}"

    def _answer_for(self) -> None:
        for rule, reason in (
            ("CFR1", "Who may call is a matter of keys; a web ACL of one's own can ask for a country too."),
            (
                "CFR3",
                "Its access log would have query strings, and so names of scopes; the API's own has none.",
            ),
            ("CFR4", "Without a domain of one's own, the certificate is CloudFront's and decides on TLS."),
        ):
            acknowledge(self.distribution, rule, reason)

    def _web_acl(self) -> str:
        """Made by this stack, which then has to be where CloudFront looks for it."""
        CfnRule(
            self,
            "OnlyThere",
            assertions=[
                CfnRuleAssertion(
                    assert_=Fn.condition_equals(Aws.REGION, GLOBAL_REGION),
                    assert_description=f"A web ACL of CloudFront is made in {GLOBAL_REGION}: deploy there or "
                    "give the ARN of one.",
                )
            ],
        )
        acl = wafv2.CfnWebACL(
            self,
            "WebAcl",
            description="unsay: known bad addresses and inputs, and too many requests from one address.",
            scope="CLOUDFRONT",
            default_action=wafv2.CfnWebACL.DefaultActionProperty(allow={}),
            visibility_config=_seen("unsay"),
            rules=[_rate_rule(), *(_managed_rule(name, n) for n, name in enumerate(MANAGED, start=1))],
        )
        return str(acl.attr_arn)


def _rate_rule() -> wafv2.CfnWebACL.RuleProperty:
    statement = wafv2.CfnWebACL.RateBasedStatementProperty(
        aggregate_key_type="IP", limit=REQUESTS_PER_ADDRESS
    )
    return wafv2.CfnWebACL.RuleProperty(
        name="OneAddress",
        priority=0,
        action=wafv2.CfnWebACL.RuleActionProperty(block={}),
        statement=wafv2.CfnWebACL.StatementProperty(rate_based_statement=statement),
        visibility_config=_seen("OneAddress"),
    )


def _managed_rule(name: str, priority: int) -> wafv2.CfnWebACL.RuleProperty:
    statement: Any = wafv2.CfnWebACL.ManagedRuleGroupStatementProperty(vendor_name="AWS", name=name)
    return wafv2.CfnWebACL.RuleProperty(
        name=name,
        priority=priority,
        override_action=wafv2.CfnWebACL.OverrideActionProperty(none={}),
        statement=wafv2.CfnWebACL.StatementProperty(managed_rule_group_statement=statement),
        visibility_config=_seen(name),
    )


def _seen(name: str) -> wafv2.CfnWebACL.VisibilityConfigProperty:
    """Counted, and not sampled: a sample shows requests."""
    return wafv2.CfnWebACL.VisibilityConfigProperty(
        cloud_watch_metrics_enabled=True, metric_name=name, sampled_requests_enabled=False
    )
