"""Alarms of the deployed stack: a fault sets each off, and what its page says to do clears it.

On a cloud of its own, because an alarm weighs whatever happened in the last minutes. Alarms that wait for
hours are given seconds instead; that a period is over is seen by the alarms' clock, which is set ahead.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import unsay
from infra.alarms import ALARMS
from local.place import Place
from tests.support.stack import ROOT, Stack, eventually, free_port, start, stop
from unsay_core.admin.redrive import redrive

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.stack

MINE, NEIGHBOUR = "alarms/mine", "alarms/neighbour"
HOURS = 2 * 3_600


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    subprocess.run([sys.executable, "-m", "infra.synth"], cwd=ROOT, check=True, capture_output=True)
    place = Place(free_port(), tmp_path_factory.mktemp("alarms") / "state")
    yield start(place)
    stop(place)


class Ops:
    """The stack as whoever is on call has it: alarms, queues, functions, tables, and callers at the API."""

    def __init__(self, stack: Stack, client: httpx.Client) -> None:
        self.stack, self.client = stack, client
        self.cloudwatch, self.sqs, self.dynamodb = (
            stack.aws(each) for each in ("cloudwatch", "sqs", "dynamodb")
        )

    def states(self) -> dict[str, str]:
        """The state of each alarm by its name in the code."""
        pages = self.cloudwatch.get_paginator("describe_alarms").paginate()
        found = [alarm for page in pages for alarm in page["MetricAlarms"]]
        return {each.name: self._of(found, each.name)["StateValue"] for each in ALARMS}

    def _of(self, found: list[Any], name: str) -> Any:
        (alarm,) = [each for each in found if f"Watch{name}" in each["AlarmName"]]
        return alarm

    def lower(self, name: str, threshold: float) -> None:
        """The alarm as it is, but for its threshold."""
        alarm = self._of(self.cloudwatch.describe_alarms()["MetricAlarms"], name)
        kept = {
            key: alarm[key]
            for key in (
                "AlarmName",
                "AlarmDescription",
                "MetricName",
                "Namespace",
                "Dimensions",
                "Statistic",
                "ExtendedStatistic",
                "Period",
                "EvaluationPeriods",
                "ComparisonOperator",
                "TreatMissingData",
            )
            if alarm.get(key)
        }
        if "ExtendedStatistic" in kept:
            kept.pop("Statistic", None)
        self.cloudwatch.put_metric_alarm(**kept, Threshold=threshold)

    def goes_off(self, *names: str) -> None:
        eventually(lambda: all(self.states()[name] == "ALARM" for name in names))

    def all_clear(self) -> None:
        """Once their periods are over, no alarm is left, but that nobody has swept meanwhile."""
        self.stack.faults(alarms_ahead_seconds=HOURS)
        states = {name: state for name, state in self.states().items() if name != "SweepSilent"}
        assert set(states.values()) == {"OK"}, states
        self.stack.faults(alarms_ahead_seconds=0)

    def sweep(self) -> Any:
        functions = self.stack.aws("lambda").list_functions()["Functions"]
        (name,) = [each["FunctionName"] for each in functions if "Sweep" in each["FunctionName"]]
        answer = self.stack.aws("lambda").invoke(FunctionName=name)
        return json.loads(answer["Payload"].read())

    def remember(self, content: str, scope: str = MINE) -> Any:
        made = self.client.post("/v1/memories", json={"scope": scope, "content": content})
        assert made.status_code in (200, 201), made.text
        return made.json()

    def indexed(self, memory: Any, scope: str = MINE) -> None:
        def state() -> bool:
            found = self.client.get(f"/v1/memories/{memory['id']}", params={"scope": scope})
            return bool(found.json()["index"]["state"] == "indexed")

        eventually(state)

    def recall(self) -> Any:
        return self.client.post("/v1/recall", json={"scope": MINE, "query": "Where is the boat?"}).json()

    def recall_as_host(self) -> None:
        """What a host of MCP asks, in the scope of its credential."""
        with unsay.connect(self.stack.url, token=self.stack.admin_key) as memory:
            secret = memory.delegate(["read"], ttl_seconds=600, scope=MINE).secret
        asked = {"name": "recall", "arguments": {"query": "Where is the boat?"}}
        answer = httpx.post(
            f"{self.stack.url}/mcp",
            headers={"Authorization": f"Bearer {secret}", "Accept": "application/json"},
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked},
            timeout=60,
        )
        assert answer.status_code == 200, answer.text

    def say(self, run: str, *texts: str) -> None:
        messages = [{"seq": n, "role": "user", "content": text} for n, text in enumerate(texts, 1)]
        body = {"scope": MINE, "messages": messages, "flush": True}
        assert self.client.post(f"/v1/conversations/{run}/messages", json=body).status_code == 202

    def batches(self, run: str) -> list[str]:
        found = self.client.get(f"/v1/conversations/{run}", params={"scope": MINE}).json()
        return [batch["state"] for batch in found["batches"]]


@pytest.fixture
def ops(alone: Stack) -> Iterator[Ops]:
    with alone.client() as client:
        yield Ops(alone, client)
    alone.no_faults()


def test_alarms_of_calls_and_of_extraction_go_off_and_clear(ops: Ops) -> None:
    faults, heal = ops.stack.faults, ops.stack.no_faults
    ops.sweep()
    assert "ALARM" not in ops.states().values()

    faults(alarms_ahead_seconds=HOURS)
    assert ops.states()["SweepSilent"] == "ALARM"
    faults(alarms_ahead_seconds=0)
    assert ops.sweep()["failed"] == 0
    assert ops.states()["SweepSilent"] == "OK"

    boat = ops.remember("The boat lies in the harbour.", NEIGHBOUR)
    ops.indexed(boat, NEIGHBOUR)
    ops.indexed(ops.remember("The car stands in the garage."))
    faults(kb_ignore_filters=True)
    ops.recall()
    ops.recall_as_host()
    ops.say("foreign", "I have a boat in the harbour.")
    ops.goes_off("ApiForeignHits", "McpForeignHits", "ExtractForeignHits")
    heal()

    faults(down=["bedrock-agent-runtime"])
    assert all(ops.recall()["degraded"] for _ in range(6))
    ops.goes_off("RecallDegraded")
    heal()

    faults(delay_seconds={f"dynamodb.{read}": 2.2 for read in ("BatchGetItem", "TransactGetItems", "Query")})
    ops.recall()
    ops.recall()
    ops.goes_off("RecallSlow")
    heal()

    faults(down=["sts"])
    refused = [ops.client.get("/v1/memories", params={"scope": f"alarms/new{n}"}) for n in range(3)]
    assert [answer.status_code for answer in refused] == [503] * 3
    ops.goes_off("ServerErrors", "StsFailures")
    heal()

    ops.lower("ExtractionStalls", 1)
    faults(down=["bedrock-runtime"])
    ops.say("stalls", "I own a bicycle.")
    ops.goes_off("ExtractionStalls")
    heal()
    eventually(lambda: ops.batches("stalls") == ["done"])

    faults(converse_replies=[{"text": "?"}] * 3)
    ops.say("fails", "I own a rowing boat.")
    eventually(lambda: ops.batches("fails") == ["failed"], within=120)
    ops.goes_off("ExtractDeadLetters")
    heal()
    outputs = ops.stack.outputs
    assert redrive(ops.sqs, outputs["ExtractDeadLettersUrl"], outputs["ExtractQueueUrl"]) == 1
    eventually(lambda: ops.batches("fails") == ["done"])
    made_up = {"message": 1, "quote": "I own a yacht.", "content": "I own a yacht.", "stance": "stated"}
    faults(converse_replies=[{"input": {"facts": [made_up]}}])
    ops.say("made-up", "I own a tent.")
    eventually(lambda: ops.batches("made-up") == ["done"])
    ops.all_clear()
