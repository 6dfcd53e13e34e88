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


def test_an_alarm_watches_server_errors(dev):
    alarm = dev.one("AWS::CloudWatch::Alarm", "WatchServerErrors")
    assert (alarm["Namespace"], alarm["MetricName"], alarm["Threshold"]) == ("AWS/ApiGateway", "5xx", 1)


@pytest.mark.parametrize(
    ("metric", "function"),
    [("AuditEntryChanged", "project"), ("ForeignHits", "api"), ("ForeignHits", "extract")],
)
def test_an_alarm_watches_what_must_not_happen(dev, metric, function):
    alarm = dev.one("AWS::CloudWatch::Alarm", f"Watch{function.capitalize()}{metric}")
    assert (alarm["Namespace"], alarm["MetricName"]) == ("unsay", metric)
    assert alarm["Dimensions"] == [{"Name": "service", "Value": function}]
    assert (alarm["Threshold"], alarm["EvaluationPeriods"]) == (1, 1)
    made = dev.one("AWS::Lambda::Function", f"Functions{function.capitalize()}")
    variables = made["Environment"]["Variables"]
    assert variables["POWERTOOLS_METRICS_NAMESPACE"] == alarm["Namespace"]
    assert variables["POWERTOOLS_SERVICE_NAME"] == function


def test_an_alarm_watches_every_dead_letter_queue(dev):
    queues = dev.of_type("AWS::SQS::Queue")
    watched = {
        each["Properties"]["Dimensions"][0]["Value"]["Fn::GetAtt"][0]
        for each in dev.of_type("AWS::CloudWatch::Alarm").values()
        if each["Properties"]["Namespace"] == "AWS/SQS"
    }
    assert watched == {name for name in queues if "DeadLetters" in name}
    assert len(watched) == 4


def test_the_dashboard_shows_every_alarm_and_how_far_the_projections_lag(dev):
    body = dev.one("AWS::CloudWatch::Dashboard")["DashboardBody"]["Fn::Join"][1]
    text = "".join(part for part in body if isinstance(part, str))
    assert "IteratorAge" in text
    assert "ApproximateAgeOfOldestMessage" in text
    alarms = {name for name in dev.of_type("AWS::CloudWatch::Alarm")}
    assert {
        part["Fn::GetAtt"][0] for part in body if isinstance(part, dict) and "Fn::GetAtt" in part
    } >= alarms
