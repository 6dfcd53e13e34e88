"""The dashboards as pictures: each line is found by what it stands for, and drawn."""

import re
from datetime import UTC, datetime, timedelta

import boto3
import pytest
from moto import mock_aws

from infra.dashboards import BOARDS
from local.pictures import draw


@pytest.fixture
def cloudwatch(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    with mock_aws():
        yield boto3.client("cloudwatch", region_name="us-east-1")


def measured(cloudwatch, namespace, name, values, **dimensions):
    pairs = [{"Name": key, "Value": value} for key, value in dimensions.items()]
    now = datetime.now(UTC)
    for ago, value in enumerate(values):
        at = now - timedelta(minutes=ago)
        datum = {"MetricName": name, "Value": value, "Timestamp": at, "Dimensions": pairs}
        cloudwatch.put_metric_data(Namespace=namespace, MetricData=[datum])


def labels(document):
    return re.findall(r"<tspan[^>]*>(.*?)  </tspan>", document)


def test_a_picture_has_the_lines_of_its_dashboard_and_no_others(cloudwatch, tmp_path):
    measured(cloudwatch, "unsay", "ErasuresPending", [1, 2, 3], service="sweep")
    measured(cloudwatch, "unsay", "ErasuresPending", [9], service="another")
    measured(cloudwatch, "unsay", "TombstoneHits", [1, 1], service="api")
    measured(cloudwatch, "unsay", "TombstoneHits", [1, 1], service="api", channel="import")
    depth = "ApproximateNumberOfMessagesVisible"
    measured(cloudwatch, "AWS/SQS", depth, [5], QueueName="unsay-dev-JobsDeadLetters8F")
    measured(cloudwatch, "AWS/SQS", depth, [5], QueueName="unsay-dev-JobsQueue8F")
    drawn = {path.stem: path.read_text() for path in draw(cloudwatch, tmp_path)}
    assert drawn.keys() == {board.name.lower() for board in BOARDS}
    assert labels(drawn["forgetting"]) == [
        "sweep ErasuresPending Maximum",
        "import",
        "jobs dead letters Maximum",
    ]
    assert drawn["forgetting"].count("<polyline") == 3
    assert labels(drawn["health"]) == ["jobs dead letters Maximum"]
    assert labels(drawn["cost"]) == []
