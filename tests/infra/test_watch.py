"""Alarms and dashboards as they are deployed."""

from __future__ import annotations

import json

import pytest

from infra.alarms import ALARMS
from infra.dashboards import BOARDS
from infra.lines import Own
from unsay_core.metrics import CATALOGUE, FOREIGN_HITS


def body_of(template, board):
    """A dashboard's JSON, with what it refers to by its logical id."""
    parts = template.one("AWS::CloudWatch::Dashboard", f"Watch{board}")["DashboardBody"]["Fn::Join"][1]
    return json.loads("".join(part if isinstance(part, str) else named(part) for part in parts))


def named(reference):
    return str(reference.get("Ref") or reference.get("Fn::GetAtt", ["region"])[0])


@pytest.mark.parametrize("alarm", ALARMS, ids=lambda alarm: alarm.name)
def test_an_alarm_watches_what_it_says_and_names_its_page(dev, alarm):
    deployed = dev.one("AWS::CloudWatch::Alarm", f"Watch{alarm.name}")
    assert (deployed["MetricName"], deployed["Threshold"]) == (alarm.line.name, alarm.threshold)
    assert (deployed["Period"], deployed["EvaluationPeriods"]) == (alarm.minutes * 60, 1)
    assert deployed.get("Statistic", deployed.get("ExtendedStatistic")) == alarm.line.statistic
    assert deployed["TreatMissingData"] == alarm.silence
    assert deployed["AlarmDescription"].startswith(alarm.says)
    assert deployed["AlarmDescription"].endswith(f"/docs/runbook/{alarm.page}.md")
    if isinstance(alarm.line, Own):
        assert deployed["Namespace"] == "unsay"
        found = {each["Name"]: each["Value"] for each in deployed["Dimensions"]}
        assert found == alarm.line.dimensions


def test_there_are_more_than_ten_alarms_and_none_beside_them(dev):
    assert len(dev.of_type("AWS::CloudWatch::Alarm")) == len(ALARMS) > 10


def test_an_alarm_watches_every_dead_letter_queue(dev):
    queues = dev.of_type("AWS::SQS::Queue")
    watched = {
        each["Properties"]["Dimensions"][0]["Value"]["Fn::GetAtt"][0]
        for each in dev.of_type("AWS::CloudWatch::Alarm").values()
        if each["Properties"]["Namespace"] == "AWS/SQS"
    }
    assert watched == {name for name in queues if "DeadLetters" in name}
    assert len(watched) == 4


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_dashboard_draws_what_it_says_and_shows_every_alarm_with_a_link_to_its_page(dev, board):
    widgets = body_of(dev, board.name)["widgets"]
    drawn = {each["properties"]["title"]: each for each in widgets if each["type"] == "metric"}
    assert set(drawn) == {graph.title for graph in board.graphs}
    for graph in board.graphs:
        text = json.dumps(drawn[graph.title])
        assert all(line.name in text for line in graph.lines)
    (status,) = [each for each in widgets if each["type"] == "alarm"]
    assert set(status["properties"]["alarms"]) == set(dev.of_type("AWS::CloudWatch::Alarm"))
    links = "".join(each["properties"]["markdown"] for each in widgets if each["type"] == "text")
    for alarm in ALARMS:
        assert f"[{alarm.name}](https://" in links
        assert f"/docs/runbook/{alarm.page}.md)" in links


def test_every_metric_is_drawn_somewhere():
    lines = [line for board in BOARDS for graph in board.graphs for line in graph.lines]
    assert {line.metric for line in lines if isinstance(line, Own)} == set(CATALOGUE)


def test_a_line_that_nobody_tells_cannot_be_drawn():
    with pytest.raises(ValueError, match="ForeignHits"):
        Own(FOREIGN_HITS, "sweep", "Sum")
    with pytest.raises(ValueError, match="ForeignHits"):
        Own(FOREIGN_HITS, "api", "Sum", by="reason")


def test_the_functions_tell_what_the_alarms_watch(dev):
    for alarm in ALARMS:
        if isinstance(alarm.line, Own):
            made = dev.one("AWS::Lambda::Function", f"Functions{alarm.line.service.capitalize()}")
            assert made["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"] == alarm.line.service


def test_an_alarm_wakes_nobody_unless_a_topic_is_named(dev):
    assert not any(
        "AlarmActions" in each["Properties"] for each in dev.of_type("AWS::CloudWatch::Alarm").values()
    )
