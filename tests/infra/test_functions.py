"""The λs: runtime, environment, and the outputs that callers find them by."""

from __future__ import annotations

import pytest

from unsay_core.settings import (
    ApiSettings,
    AuthorizerSettings,
    ExtractSettings,
    IndexSettings,
    JobsSettings,
    McpSettings,
    ProjectSettings,
    SweepSettings,
    variables,
)

SETTINGS = {
    "api": ApiSettings,
    "mcp": McpSettings,
    "authorizer": AuthorizerSettings,
    "project": ProjectSettings,
    "index": IndexSettings,
    "extract": ExtractSettings,
    "jobs": JobsSettings,
    "sweep": SweepSettings,
}
SIZES = {
    "api": (1024, 29),
    "mcp": (1024, 29),
    "authorizer": (512, 10),
    "project": (512, 60),
    "index": (512, 45),
    "extract": (512, 180),
    "jobs": (512, 120),
    "sweep": (512, 60),
}
LAYERS = ("Core", "Deps", "Client", "Mcp")
OUTPUTS = {
    "ApiUrl",
    "McpUrl",
    "ApiId",
    "EventBusName",
    "LedgerTable",
    "RecordTable",
    "AccessTable",
    "DocumentsBucket",
    "AnchorsBucket",
    "IndexGenerations",
    "IndexQueueUrl",
    "IndexDeadLettersUrl",
    "ProjectDeadLettersUrl",
    "PepperSecretArn",
    "ReaderRoleArn",
    "WriterRoleArn",
    "EraserRoleArn",
    "ProjectorRoleArn",
    "AccessRoleArn",
    "RegistrarRoleArn",
    "ExtractorRoleArn",
    "MeterRoleArn",
    "ModelId",
    "Guardrail",
    "ExtractQueueUrl",
    "ExtractDeadLettersUrl",
    "ApiFunctionRoleArn",
    "IntakeBucket",
    "TransfersBucket",
    "CarrierRoleArn",
    "PorterRoleArn",
    "RemoverRoleArn",
    "SweeperRoleArn",
    "JobsQueueUrl",
    "JobsDeadLettersUrl",
}
every_function = pytest.mark.parametrize("name", SETTINGS)


def function(template, name):
    return template.one("AWS::Lambda::Function", f"Functions{name.capitalize()}")


def test_the_stack_holds_these_functions_and_no_helper_of_the_cdk(dev):
    handlers = {each["Properties"]["Handler"] for each in dev.of_type("AWS::Lambda::Function").values()}
    assert handlers == {f"functions.{name}.handler.handler" for name in SETTINGS}


@every_function
def test_a_function_is_told_exactly_what_its_settings_ask_for(dev, name):
    environment = function(dev, name)["Environment"]["Variables"]
    telemetry = {
        "POWERTOOLS_SERVICE_NAME": name,
        "POWERTOOLS_METRICS_NAMESPACE": "unsay",
        "POWERTOOLS_LOG_LEVEL": "INFO",
    }
    assert {key: environment.pop(key) for key in telemetry} == telemetry
    assert environment.keys() == set(variables(SETTINGS[name]).values())


NO_RESOURCE = {"edge_secret_arn", "model_price", "oidc", "prompt", "read_only", "recovery_days"}


@every_function
def test_a_setting_named_after_a_resource_points_at_that_resource(dev, name):
    environment = function(dev, name)["Environment"]["Variables"]
    outputs = dev.body["Outputs"]
    for field, variable in variables(SETTINGS[name]).items():
        if field in NO_RESOURCE:
            continue
        output = "".join(part.capitalize() for part in field.split("_"))
        assert environment[variable] == outputs[output]["Value"]


@every_function
def test_a_function_runs_on_arm_with_its_layers_and_logs_json(dev, name):
    made = function(dev, name)
    assert made["Runtime"] == "python3.13"
    assert made["Architectures"] == ["arm64"]
    layers = [dev.logical_id(f"FunctionsLayers{layer}", "AWS::Lambda::LayerVersion") for layer in LAYERS]
    shared = layers if name == "mcp" else layers[:2]
    assert [layer["Ref"] for layer in made["Layers"]] == shared
    assert made["LoggingConfig"]["LogFormat"] == "JSON"
    assert (made["MemorySize"], made["Timeout"]) == SIZES[name]


@every_function
def test_no_function_takes_concurrency_from_a_new_account(dev, name):
    assert "ReservedConcurrentExecutions" not in function(dev, name)


def test_every_log_is_forgotten_after_a_month(dev):
    assert {
        each["Properties"]["RetentionInDays"] for each in dev.of_type("AWS::Logs::LogGroup").values()
    } == {30}


def test_the_outputs_are_these(dev):
    assert dev.body["Outputs"].keys() == OUTPUTS


def test_the_stack_knows_neither_account_nor_region(dev):
    text = dev.path.read_text()
    assert "000000000000" not in text
    assert "us-east-1" not in text
