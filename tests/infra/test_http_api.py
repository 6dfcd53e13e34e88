"""The HTTP API: denied by default, throttled, and silent about who asked for what."""

from __future__ import annotations

import json


def test_everything_but_health_and_the_openapi_document_is_behind_the_authorizer_or_iam(dev):
    routes = {
        each["Properties"]["RouteKey"]: each["Properties"]
        for each in dev.of_type("AWS::ApiGatewayV2::Route").values()
    }
    authorizer = {"Ref": dev.logical_id("Http", "AWS::ApiGatewayV2::Authorizer")}
    signed = {"ANY /iam/v1/{proxy+}": "$default", "ANY /iam/mcp": "ANY /mcp"}
    public = {"GET /v1/health", "GET /v1/openapi.json"}
    assert routes.keys() == {"$default", "ANY /mcp", *signed, *public}
    for route, other in signed.items():
        assert routes[route]["AuthorizationType"] == "AWS_IAM"
        assert routes[route]["Target"] == routes[other]["Target"]
    for route in ("$default", "ANY /mcp"):
        assert routes[route]["AuthorizationType"] == "CUSTOM"
        assert routes[route]["AuthorizerId"] == authorizer
    assert routes["GET /v1/health"]["AuthorizationType"] == "NONE"
    assert routes["GET /v1/openapi.json"]["AuthorizationType"] == "NONE"


def test_the_authorizer_is_cached_by_the_credential_alone_and_for_a_minute_at_most(dev):
    authorizer = dev.one("AWS::ApiGatewayV2::Authorizer")
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]
    assert authorizer["AuthorizerResultTtlInSeconds"] == 60
    assert authorizer["EnableSimpleResponses"] is True
    assert authorizer["AuthorizerPayloadFormatVersion"] == "2.0"


def test_each_route_leads_to_its_function_which_answers_before_the_gateway_gives_up(dev):
    integrations = dev.of_type("AWS::ApiGatewayV2::Integration")
    assert len(integrations) == 2
    for route, name in (("$default", "Api"), ("ANY /mcp", "Mcp")):
        (target,) = (
            each["Properties"]["Target"]["Fn::Join"][1][1]["Ref"]
            for each in dev.of_type("AWS::ApiGatewayV2::Route").values()
            if each["Properties"]["RouteKey"] == route
        )
        integration = integrations[target]["Properties"]
        function = dev.logical_id(f"Functions{name}", "AWS::Lambda::Function")
        assert integration["IntegrationUri"] == {"Fn::GetAtt": [function, "Arn"]}
        assert integration["PayloadFormatVersion"] == "2.0"
        gateway_milliseconds = integration.get("TimeoutInMillis", 30_000)
        assert dev.resources[function]["Properties"]["Timeout"] * 1000 < gateway_milliseconds


def test_requests_are_throttled_on_the_default_stage(dev):
    stage = dev.one("AWS::ApiGatewayV2::Stage")
    assert stage["StageName"] == "$default"
    assert stage["AutoDeploy"] is True
    assert stage["DefaultRouteSettings"] == {"ThrottlingBurstLimit": 200, "ThrottlingRateLimit": 100}


def test_the_access_log_names_no_path_no_query_and_no_caller(dev):
    log = dev.one("AWS::ApiGatewayV2::Stage")["AccessLogSettings"]
    assert json.loads(log["Format"]) == {
        "requestId": "$context.requestId",
        "routeKey": "$context.routeKey",
        "status": "$context.status",
        "latency": "$context.responseLatency",
        "error": "$context.error.message",
    }
    group = dev.logical_id("Http", "AWS::Logs::LogGroup")
    assert log["DestinationArn"] == {"Fn::GetAtt": [group, "Arn"]}


def test_only_this_api_invokes_the_functions(dev):
    for permission in dev.of_type("AWS::Lambda::Permission").values():
        granted = permission["Properties"]
        assert granted["Principal"] == "apigateway.amazonaws.com"
        api = {"Ref": dev.logical_id("Http", "AWS::ApiGatewayV2::Api")}
        assert api in granted["SourceArn"]["Fn::Join"][1]
