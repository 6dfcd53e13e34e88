"""From messages that are due to memories: what wakes the extract function, and what it may ask."""

from __future__ import annotations

import json

import pytest

from app import synthesize
from tests.infra.conftest import Template, listed


def test_an_event_of_the_service_alone_wakes_it_through_a_queue(dev):
    rule = dev.one("AWS::Events::Rule", "ExtractionReady")
    assert rule["EventPattern"] == {"source": ["unsay"], "detail-type": ["conversation.ready"]}
    bus = dev.logical_id("ProjectionBus", "AWS::Events::EventBus")
    assert rule["EventBusName"] == {"Ref": bus}
    queue = dev.logical_id("ExtractionQueue", "AWS::SQS::Queue")
    assert [target["Arn"] for target in rule["Targets"]] == [{"Fn::GetAtt": [queue, "Arn"]}]
    mapping = dev.one("AWS::Lambda::EventSourceMapping", "FunctionsExtract")
    assert mapping["EventSourceArn"] == {"Fn::GetAtt": [queue, "Arn"]}
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 5}


def test_a_file_that_came_wakes_it_through_the_same_queue(dev):
    rule = dev.one("AWS::Events::Rule", "ExtractionUploaded")
    intake = dev.logical_id("Intake", "AWS::S3::Bucket")
    assert rule["EventPattern"] == {
        "source": ["aws.s3"],
        "detail-type": ["Object Created"],
        "detail": {"bucket": {"name": [{"Ref": intake}]}},
    }
    assert "EventBusName" not in rule, "S3 tells the account's own bus"
    queue = dev.logical_id("ExtractionQueue", "AWS::SQS::Queue")
    assert [target["Arn"] for target in rule["Targets"]] == [{"Fn::GetAtt": [queue, "Arn"]}]
    notified = dev.one("AWS::S3::Bucket", "Intake")["NotificationConfiguration"]
    assert notified == {"EventBridgeConfiguration": {"EventBridgeEnabled": True}}


def test_what_nobody_could_read_is_gone_after_a_week(dev, prod):
    for template in (dev, prod):
        (rule,) = template.one("AWS::S3::Bucket", "Intake")["LifecycleConfiguration"]["Rules"]
        assert (rule["Status"], rule["ExpirationInDays"]) == ("Enabled", 7)
        assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
        assert "VersioningConfiguration" not in template.one("AWS::S3::Bucket", "Intake")


def test_a_message_stays_hidden_for_more_than_six_times_what_the_function_may_take(dev):
    queue = dev.one("AWS::SQS::Queue", "ExtractionQueue")
    assert queue["VisibilityTimeout"] > 6 * dev.one("AWS::Lambda::Function", "FunctionsExtract")["Timeout"]
    dead = dev.logical_id("ExtractionDeadLetters", "AWS::SQS::Queue")
    assert queue["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::GetAtt": [dead, "Arn"]},
        "maxReceiveCount": 1000,
    }


def test_it_asks_one_model_and_the_profile_that_leads_to_it(dev):
    (asking,) = (each for each in dev.statements("FunctionsExtractRole") if each.get("Sid") == "AskModel")
    profile, model = (json.dumps(resource) for resource in listed(asking["Resource"]))
    assert ":bedrock:*::foundation-model/amazon.nova-2-lite-v1:0" in model
    assert ":inference-profile/global.amazon.nova-2-lite-v1:0" in profile


def test_another_model_and_a_guardrail_are_a_matter_of_context(tmp_path):
    synthesize(str(tmp_path), extraction_model="mistral.small", extraction_guardrail="gr123:4", stage="dev")
    template = Template(tmp_path, "dev")
    statements = {each.get("Sid"): each for each in template.statements("FunctionsExtractRole")}
    (model,) = listed(statements["AskModel"]["Resource"])
    assert "foundation-model/mistral.small" in json.dumps(model)
    assert ":guardrail/gr123" in json.dumps(statements["UseGuardrail"]["Resource"])
    environment = template.one("AWS::Lambda::Function", "FunctionsExtract")["Environment"]["Variables"]
    assert (environment["UNSAY_MODEL_ID"], environment["UNSAY_GUARDRAIL"]) == ("mistral.small", "gr123:4")
    assert environment["UNSAY_MODEL_PRICE"] == "none", "nobody has said what it costs"


def test_what_the_model_costs_is_said_in_one_place(dev, tmp_path):
    def price(template):
        environment = template.one("AWS::Lambda::Function", "FunctionsExtract")["Environment"]["Variables"]
        return environment["UNSAY_MODEL_PRICE"]

    assert price(dev) == "0.3/2.5", "by the model, whichever profile leads to it"
    synthesize(str(tmp_path), model_prices={"global.amazon.nova-2-lite-v1:0": [1, 4]}, stage="dev")
    assert price(Template(tmp_path, "dev")) == "1/4"


def test_the_prompt_is_a_matter_of_context_too_and_has_to_be_one_there_is(dev, tmp_path):
    environment = dev.one("AWS::Lambda::Function", "FunctionsExtract")["Environment"]["Variables"]
    assert environment["UNSAY_PROMPT"] == "1"
    with pytest.raises(ValueError, match="extraction_prompt"):
        synthesize(str(tmp_path), extraction_prompt="0", stage="dev")
