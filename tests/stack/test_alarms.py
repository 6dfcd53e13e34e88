"""Every alarm of the deployed stack: a fault sets it off, and what its page says to do clears it.

On a cloud of its own, because an alarm weighs whatever happened in the last minutes. Alarms that wait for
hours are given seconds instead; that a period is over is seen by the alarms' clock, which is set ahead.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import unsay
from infra.alarms import ALARMS
from infra.dashboards import BOARDS
from infra.lines import Own
from local.pictures import draw
from local.place import Place
from tests.support.stack import ROOT, Stack, eventually, free_port, start, stop
from unsay_core.admin.redrive import redrive
from unsay_core.metrics import CATALOGUE, NAMESPACE

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

    def every_one_went_off(self) -> bool:
        pages = self.cloudwatch.get_paginator("describe_alarm_history").paginate(
            HistoryItemType="StateUpdate"
        )
        items = [item for page in pages for item in page["AlarmHistoryItems"]]
        off = [item["AlarmName"] for item in items if item["HistorySummary"].endswith("to ALARM")]
        return all(any(f"Watch{alarm.name}" in name for name in off) for alarm in ALARMS)

    def all_clear(self) -> None:
        """Once their periods are over, no alarm is left, but that nobody has swept meanwhile.

        Later than any other look ahead: whoever looks leaves the depth of the queues at that time.
        """
        self.stack.faults(alarms_ahead_seconds=2 * HOURS)
        assert {name for name, state in self.states().items() if state != "OK"} - {"SweepSilent"} == set()
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

    def post_letters(self) -> None:
        """Messages that name no work, to every worker."""
        for name in ("Extract", "Jobs"):
            self.sqs.send_message(QueueUrl=self.stack.outputs[f"{name}QueueUrl"], MessageBody="no work")
        index = self.stack.outputs["IndexQueueUrl"]
        group = {"MessageGroupId": "g", "MessageDeduplicationId": "g"}
        self.sqs.send_message(QueueUrl=index, MessageBody="no work", **group)
        strange = {"pk": {"S": "nobody#P"}, "sk": {"S": "nothing"}}
        self.dynamodb.put_item(TableName=self.stack.outputs["LedgerTable"], Item=strange)

    def remove_letters(self) -> None:
        """What the page says of letters that no try can do."""
        for name in ("Index", "Project", "Extract", "Jobs"):
            self.sqs.purge_queue(QueueUrl=self.stack.outputs[f"{name}DeadLettersUrl"])

    def items(self, table: str, ending: str) -> list[Any]:
        found = self.dynamodb.scan(TableName=self.stack.outputs[table])["Items"]
        return [item for item in found if item["pk"]["S"].endswith(ending)]

    def put(self, table: str, item: Any) -> None:
        self.dynamodb.put_item(TableName=self.stack.outputs[table], Item=item)

    def policy(self, extraction: str) -> None:
        answer = self.client.put("/v1/policy", params={"scope": "alarms"}, json={"extraction": extraction})
        assert answer.status_code == 200, answer.text

    def stands_still(self) -> bool:
        """The erasures at work, as if they had not moved for long, and a sweep that finds them."""
        for erasure in self.items("LedgerTable", "#E"):
            if "due_at" in erasure:
                self.put("LedgerTable", erasure | {"due_at": {"S": "2020-01-01T00:00:00Z"}})
        return bool(self.sweep())

    def verified(self) -> bool:
        return bool(self.client.get("/v1/audit/verify", params={"scope": MINE}).json()["ok"])


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


def test_alarms_of_what_is_behind_and_of_what_must_not_happen_go_off_and_clear(
    ops: Ops, tmp_path: Path
) -> None:
    faults, heal = ops.stack.faults, ops.stack.no_faults
    outputs = ops.stack.outputs
    ops.indexed(ops.remember("The boat lies at the pier.", NEIGHBOUR), NEIGHBOUR)
    ops.lower("ProjectionLate", 500)
    faults(down=["events"])
    ops.remember("The key hangs behind the door.")
    ops.goes_off("ProjectionLate")
    heal()

    ops.post_letters()
    ops.goes_off("IndexDeadLetters", "ProjectDeadLetters", "ExtractDeadLetters", "JobsDeadLetters")
    faults(alarms_ahead_seconds=HOURS)
    assert ops.states()["JobsDeadLetters"] == "ALARM", "time alone clears nothing"
    assert redrive(ops.sqs, outputs["IndexDeadLettersUrl"], outputs["IndexQueueUrl"]) == 1
    faults(alarms_ahead_seconds=0)
    ops.goes_off("IndexDeadLetters")  # nobody can do it: it came back
    ops.remove_letters()

    for name in ("IndexLate", "StuckJobs", "ErasureLate", "CandidatesWait"):
        ops.lower(name, 1)
    faults(kb_drop_deletes=True, kb_lag_seconds=30)
    ops.remember("The anchor is rusty.")
    selector = {"filter": {"kind": "semantic"}}
    asked = {"scope": NEIGHBOUR, "selector": selector, "reason": "user_request"}
    erasure = ops.client.post("/v1/forget", json=asked).json()
    ops.goes_off("IndexLate")
    eventually(lambda: ops.stands_still() and ops.states()["StuckJobs"] == "ALARM")
    ops.goes_off("ErasureLate")
    ops.policy("review")
    ops.say("candidates", "I live in Lisbon.")
    eventually(lambda: ops.batches("candidates") == ["done"])
    eventually(lambda: ops.sweep() and ops.states()["CandidatesWait"] == "ALARM")
    heal()

    entries = [item for item in ops.items("RecordTable", "#A") if int(item["sk"]["S"]) == 1]
    for entry in entries:
        changed = json.loads(entry["record"]["S"]) | {"actor": "somebody"}
        ops.put("RecordTable", entry | {"record": {"S": json.dumps(changed)}})
    assert not ops.verified()
    ops.goes_off("ProjectAuditEntryChanged", "ChainBroken")
    for entry in entries:
        ops.put("RecordTable", entry)
    assert ops.verified()

    for memory in ops.client.get("/v1/reviews", params={"scope": MINE}).json()["items"]:
        path, decided = f"/v1/reviews/{memory['id']}", {"decision": "approve"}
        seen = {"If-Match": f'"{memory["version"]}"'}
        answer = ops.client.post(path, params={"scope": MINE}, json=decided, headers=seen)
        assert answer.status_code == 200, answer.text
    receipt = f"/v1/erasures/{erasure['id']}"
    eventually(
        lambda: ops.client.get(receipt, params={"scope": NEIGHBOUR}).json()["state"] == "complete",
        within=120,
    )
    _drawn_is_told(ops)
    pictures = draw(ops.cloudwatch, Path(os.environ.get("PICTURES", tmp_path)))
    assert [path.read_text().count("<polyline") > 5 for path in pictures] == [True] * len(BOARDS)
    ops.all_clear()
    assert ops.every_one_went_off()


def _drawn_is_told(ops: Ops) -> None:
    """Everything that a widget or an alarm names was told by this run, and nothing that has no name."""
    memory = ops.remember("The mast is tall.")
    ops.client.delete(f"/v1/memories/{memory['id']}", params={"scope": MINE, "reason": "user_request"})
    refused = ops.client.post("/v1/memories", json={"scope": MINE, "content": "The mast is tall."})
    assert refused.status_code == 409
    _merge(ops)
    _ask_too_much(ops)
    pages = ops.cloudwatch.get_paginator("list_metrics").paginate()
    found = [metric for page in pages for metric in page["Metrics"]]
    told = {(each["Namespace"], each["MetricName"]) for each in found}
    ours = {name for namespace, name in told if namespace == NAMESPACE}
    assert ours == {metric.name for metric in CATALOGUE}
    lines = [line for board in BOARDS for graph in board.graphs for line in graph.lines]
    for line in [*lines, *(alarm.line for alarm in ALARMS)]:
        if isinstance(line, Own):
            assert line.name in ours
        else:
            assert line.name in {name for namespace, name in told if namespace.startswith("AWS/")}, line
    words = json.dumps([each["Dimensions"] for each in found if each["Namespace"] == NAMESPACE])
    assert not [word for word in ("alarms", "mine", "neighbour", "boat", "mast") if word in words]


def _merge(ops: Ops) -> None:
    scope = "alarms/merged"
    for often in ("every day", "every single day"):
        ops.remember(f"Carol feeds a heron by the river {often}.", scope)
    answer = ops.client.post("/v1/consolidate", json={"scope": scope, "threshold": 0.8})
    assert answer.status_code == 202, answer.text
    job = answer.headers["Location"]
    eventually(lambda: ops.client.get(job).json()["state"] == "complete", within=90)


def _ask_too_much(ops: Ops) -> None:
    """In a root of its own, whose quota nobody has looked at before."""
    policy = {"quotas": {"memories": 1}}
    assert ops.client.put("/v1/policy", params={"scope": "narrow"}, json=policy).status_code == 200
    ops.remember("The mast is tall.", "narrow/one")
    refused = ops.client.post("/v1/memories", json={"scope": "narrow/one", "content": "The sail is red."})
    assert refused.status_code == 429
