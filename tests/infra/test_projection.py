"""The way from the ledger to the index, and what is watched."""

from __future__ import annotations

import json

import pytest


def stream(template, name):
    return template.one("AWS::Lambda::EventSourceMapping", f"FunctionsProject{name}Stream")


@pytest.mark.parametrize(
    ("name", "kinds", "suffixes"),
    [
        ("Ledger", ["INSERT", "MODIFY"], ["#P", "#Q", "#E", "#J"]),
        ("Record", ["INSERT", "MODIFY", "REMOVE"], ["#A", "#T"]),
    ],
)
def test_a_stream_wakes_the_project_function_for_these_areas_only(dev, name, kinds, suffixes):
    mapping = stream(dev, name)
    table = dev.logical_id(f"Tables{name}", "AWS::DynamoDB::Table")
    assert mapping["EventSourceArn"] == {"Fn::GetAtt": [table, "StreamArn"]}
    (filtered,) = mapping["FilterCriteria"]["Filters"]
    assert json.loads(filtered["Pattern"]) == {
        "eventName": kinds,
        "dynamodb": {"Keys": {"pk": {"S": [{"suffix": suffix} for suffix in suffixes]}}},
    }
    assert mapping["StartingPosition"] == "TRIM_HORIZON"


@pytest.mark.parametrize("name", ["Ledger", "Record"])
def test_a_failing_record_is_isolated_retried_for_an_hour_and_set_aside(dev, name):
    mapping = stream(dev, name)
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["BisectBatchOnFunctionError"] is True
    assert mapping["MaximumRecordAgeInSeconds"] == 3600
    assert mapping["MaximumRetryAttempts"] == 1000
    queue = dev.logical_id("ProjectionProjectDeadLetters", "AWS::SQS::Queue")
    assert mapping["DestinationConfig"]["OnFailure"]["Destination"] == {"Fn::GetAtt": [queue, "Arn"]}


def test_index_work_comes_in_order_in_tens_and_two_at_a_time(dev):
    mapping = dev.one("AWS::Lambda::EventSourceMapping", "FunctionsIndex")
    assert mapping["BatchSize"] == 10
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 2}
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    queue = dev.one("AWS::SQS::Queue", "ProjectionIndexQueue")
    assert queue["FifoQueue"] is True
    assert queue["VisibilityTimeout"] == 60
    dead = dev.logical_id("ProjectionIndexDeadLetters", "AWS::SQS::Queue")
    assert queue["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::GetAtt": [dead, "Arn"]},
        "maxReceiveCount": 100,
    }
    assert dev.resources[dead]["Properties"]["FifoQueue"] is True


def test_a_message_stays_hidden_while_the_index_function_may_still_work_on_it(dev):
    queue = dev.one("AWS::SQS::Queue", "ProjectionIndexQueue")
    assert queue["VisibilityTimeout"] > dev.one("AWS::Lambda::Function", "FunctionsIndex")["Timeout"]


def test_the_bus_is_named_after_the_stage(dev, prod):
    assert dev.one("AWS::Events::EventBus")["Name"] == "unsay-dev"
    assert prod.one("AWS::Events::EventBus")["Name"] == "unsay-prod"
