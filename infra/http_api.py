"""The HTTP API: everything behind the authorizer or IAM but health and the OpenAPI document."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.checks import acknowledge
from infra.functions import LOG_RETENTION

if TYPE_CHECKING:
    from infra.functions import PythonFunction
    from infra.stage import Stage

SIGNED_PATHS = "/iam/v1/{proxy+}"  # the same calls, for callers that sign with AWS credentials
MCP_PATH = "/mcp"
SIGNED_MCP_PATH = "/iam/mcp"  # for a host that signs, as AgentCore does with the role of its gateway
PUBLIC_PATHS = ("/v1/health", "/v1/openapi.json")
CREDENTIAL = "$request.header.Authorization"
# How long a revoked key may still be believed.
AUTHORIZATION_CACHE = Duration.seconds(60)
REQUESTS_PER_SECOND = 100
BURST = 200
# No path and no query string: both carry the names of scopes.
ACCESS_LOG = {
    "requestId": "$context.requestId",
    "routeKey": "$context.routeKey",
    "status": "$context.status",
    "latency": "$context.responseLatency",
    "error": "$context.error.message",
}


class HttpApi(Construct):
    """One `$default` route to the api λ, denied by default, and MCP's; and both for whom IAM vouches.

    With a `header`, whoever comes without it is nobody: the gateway does not ask who they are.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        api: PythonFunction,
        mcp: PythonFunction,
        authorizer: PythonFunction,
        stage: Stage,
        header: str | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        integration = integrations.HttpLambdaIntegration(
            "Lambda", api.function, scope_permission_to_route=False
        )
        self.api = apigateway.HttpApi(
            self,
            "Api",
            api_name=f"unsay-{stage.name}",
            create_default_stage=False,
            default_integration=integration,
            default_authorizer=authorizers.HttpLambdaAuthorizer(
                "Authorizer",
                authorizer.function,
                response_types=[authorizers.HttpLambdaResponseType.SIMPLE],
                identity_source=[CREDENTIAL, *([f"$request.header.{header}"] if header else [])],
                results_cache_ttl=AUTHORIZATION_CACHE,
            ),
        )
        self.api.add_routes(
            path=SIGNED_PATHS, integration=integration, authorizer=authorizers.HttpIamAuthorizer()
        )
        to_mcp = integrations.HttpLambdaIntegration("Mcp", mcp.function, scope_permission_to_route=False)
        # By the default authorizer, like everything else.
        self.api.add_routes(path=MCP_PATH, integration=to_mcp)
        self.api.add_routes(
            path=SIGNED_MCP_PATH, integration=to_mcp, authorizer=authorizers.HttpIamAuthorizer()
        )
        for path in PUBLIC_PATHS:
            self._open_route(path, integration)
        self._default_stage(stage)

    @property
    def url(self) -> str:
        """Where the `/v1/...` paths begin, without a slash at the end."""
        return str(self.api.api_endpoint)

    def _open_route(self, path: str, integration: integrations.HttpLambdaIntegration) -> None:
        routes = self.api.add_routes(
            path=path,
            methods=[apigateway.HttpMethod.GET],
            integration=integration,
            authorizer=apigateway.HttpNoneAuthorizer(),
        )
        for route in routes:
            acknowledge(route, "APIG4", "Answers the same to everybody and reads nothing.")

    def _default_stage(self, stage: Stage) -> None:
        log = logs.LogGroup(self, "AccessLog", retention=LOG_RETENTION, removal_policy=stage.removal)
        default = apigateway.HttpStage(
            self,
            "DefaultStage",
            http_api=self.api,
            auto_deploy=True,
            throttle=apigateway.ThrottleSettings(rate_limit=REQUESTS_PER_SECOND, burst_limit=BURST),
        )
        # The construct's own log property is an interface to implement; the resource takes the two values.
        default.node.default_child.access_log_settings = apigateway.CfnStage.AccessLogSettingsProperty(
            destination_arn=log.log_group_arn, format=json.dumps(ACCESS_LOG)
        )
