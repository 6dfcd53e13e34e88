"""Metrics of the local cloud, and its alarms: what a log line becomes, and when an alarm goes off."""

import json
import time

import pytest

from local import metrics

PERIOD = 60


@pytest.mark.parametrize(
    ("values", "treat", "needed", "state"),
    [
        ([3.0], "notBreaching", None, "ALARM"),
        ([0.0], "notBreaching", None, "OK"),
        ([None], "notBreaching", None, "OK"),
        ([None], "breaching", None, "ALARM"),
        ([None], "missing", None, "INSUFFICIENT_DATA"),
        ([None], "ignore", None, None),
        ([None, 3.0], "missing", 1, "ALARM"),
        ([3.0, 0.0, 3.0], "notBreaching", 2, "ALARM"),
        ([3.0, 0.0, 0.0], "notBreaching", 2, "OK"),
        ([3.0, 0.0, 3.0], "notBreaching", None, "OK"),
    ],
)
def test_an_alarm_weighs_its_periods(values, treat, needed, state):
    alarm = {
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "Threshold": 1.0,
        "EvaluationPeriods": len(values),
        "DatapointsToAlarm": needed,
        "TreatMissingData": treat,
    }
    assert metrics.state_of(alarm, values) == state


@pytest.fixture
def alarm(cloud):
    """An alarm on two of one metric's three dimensions, two minutes long."""
    cloudwatch = cloud.client("cloudwatch")
    cloudwatch.put_metric_alarm(
        AlarmName="test",
        Namespace="test",
        MetricName="Lost",
        Dimensions=[{"Name": "service", "Value": "a"}],
        Statistic="Sum",
        Period=PERIOD,
        EvaluationPeriods=1,
        Threshold=2,
        ComparisonOperator="GreaterThanOrEqualToThreshold",
        TreatMissingData="notBreaching",
    )
    yield lambda: cloudwatch.describe_alarms(AlarmNames=["test"])["MetricAlarms"][0]["StateValue"]
    cloudwatch.delete_alarms(AlarmNames=["test"])
    cloud.faults(alarms_ahead_seconds=None)


def put(cloud, service, value):
    cloud.client("cloudwatch").put_metric_data(
        Namespace="test",
        MetricData=[
            {"MetricName": "Lost", "Value": value, "Dimensions": [{"Name": "service", "Value": service}]}
        ],
    )


def test_an_alarm_goes_off_by_its_own_dimensions_alone_and_clears_when_its_period_is_over(cloud, alarm):
    assert alarm() == "OK"
    put(cloud, "b", 5)
    assert alarm() == "OK"
    put(cloud, "a", 1)
    put(cloud, "a", 1)
    assert alarm() == "ALARM"
    cloud.faults(alarms_ahead_seconds=PERIOD + 1)
    assert alarm() == "OK"


def test_a_queue_says_how_much_waits_in_it(cloud):
    sqs, cloudwatch = cloud.client("sqs"), cloud.client("cloudwatch")
    url = sqs.create_queue(QueueName="counted")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="x")
    cloudwatch.describe_alarms()
    found = cloudwatch.get_metric_statistics(
        Namespace="AWS/SQS",
        MetricName="ApproximateNumberOfMessagesVisible",
        Dimensions=[{"Name": "QueueName", "Value": "counted"}],
        StartTime=time.time() - 300,
        EndTime=time.time() + 60,
        Period=60,
        Statistics=["Maximum"],
    )
    assert [point["Maximum"] for point in found["Datapoints"]] == [1.0]
    sqs.delete_queue(QueueUrl=url)


def test_a_line_of_another_kind_is_no_metric():
    metrics.take_log("no json\n" + json.dumps({"message": "hello"}))
