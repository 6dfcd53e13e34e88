"""Secrets stay secret: canaries go through every route and failure, then all that was kept is searched.

A cloud of its own, because it is stopped at the end: its state on disk is the last of what is searched.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.place import Place
from tests.isolation.routes import routes
from tests.support.stack import ROOT, Stack, eventually, free_port, start, stop

pytestmark = pytest.mark.stack

# Canaries by where they are put; none is a word of anything else.
WORDS = [f"canary{place}quokka" for place in "content data meta tag quote note".split()]
OTHERS = [f"canary{place}quokka" for place in "slot label query request name".split()]
CONTENT, DATA, META, TAG, QUOTE, NOTE = WORDS
SLOT, LABEL, QUERY, REQUEST, NAME = OTHERS
PERSON = "canarypersonquokka"
SCOPE = f"flock/{PERSON}"
TOKEN = "unsay_canarytokenquokka_0123456789"
ALL = (*WORDS, *OTHERS, PERSON, "canarytokenquokka")
PLANTED = "canaryplantedquokka"  # the control: put where nothing may be, to see that it is found
FACT = {"content": f"the {CONTENT} sings", "data": {"x": [DATA]}, "metadata": {"a": META}, "tags": [TAG]}
SOURCE = {"source": {"quote": f"I said {QUOTE}", "run_id": "run1"}}

# Where words belong, beside the owner's documents: the ledger and the index.
AT_HOME = ("dynamodb-", "knowledge_base_documents-", "s3vectors-")


@dataclass
class Flock:
    """A deployed stack, what drove it, and every refusal it gave."""

    stack: Stack
    place: Place
    client: httpx.Client
    refusals: list[str] = field(default_factory=list)
    driven: set[str] = field(default_factory=set)
    secrets: list[str] = field(default_factory=list)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        content = body if isinstance(body, str) or body is None else json.dumps(body)
        given = {"Content-Type": "application/json", "If-Match": '"1"', "traceparent": f"00-{NAME}-{NAME}-01"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.client.request(method, path, content=content, headers=given)
        if answer.status_code >= 400:
            self.refusals.append(f"{answer.status_code} {answer.text} {dict(answer.headers)}")
        return answer

    def remember(self, scope: str = SCOPE, **fields: Any) -> Any:
        answer = self.call("POST", "/v1/memories", {"scope": scope, **FACT, **SOURCE, **fields})
        assert answer.status_code in (200, 201), answer.text
        return answer.json()


@pytest.fixture(scope="module")
def flock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flock]:
    """Everything was driven; the cloud still runs."""
    subprocess.run([sys.executable, "-m", "infra.synth"], cwd=ROOT, check=True, capture_output=True)
    place = Place(free_port(), tmp_path_factory.mktemp("canaries") / "state")
    stack = start(place)
    try:
        with stack.client() as client:
            found = Flock(stack, place, client)
            plant(stack)
            drive_every_route(found)
            drive_a_life(found)
            drive_mcp(found)
            drive_refusals(found)
            drive_faults(found)
            yield found
    finally:
        stop(place)


def plant(stack: Stack) -> None:
    """The control, and a listener on the bus."""
    logs, sqs, events = stack.aws("logs"), stack.aws("sqs"), stack.aws("events")
    logs.create_log_group(logGroupName="planted")
    logs.create_log_stream(logGroupName="planted", logStreamName="s")
    event = {"timestamp": 1_777_627_800_000, "message": PLANTED}
    logs.put_log_events(logGroupName="planted", logStreamName="s", logEvents=[event])
    url = sqs.create_queue(QueueName="listener")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    bus = stack.outputs["EventBusName"]
    events.put_rule(Name="all", EventBusName=bus, EventPattern=json.dumps({"source": ["unsay", "planted"]}))
    events.put_targets(Rule="all", EventBusName=bus, Targets=[{"Id": "q", "Arn": arn}])
    planted = {"Source": "planted", "DetailType": "x", "Detail": json.dumps({"x": PLANTED})}
    events.put_events(Entries=[{**planted, "EventBusName": bus}])
    planted_metric = {"MetricName": PLANTED, "Value": 1.0}
    stack.aws("cloudwatch").put_metric_data(Namespace="planted", MetricData=[planted_metric])


def drive_every_route(flock: Flock) -> None:
    """Each operation of the document, with canaries for every text that it takes."""
    memory = flock.remember()
    ids = {"memories": memory["id"], "reviews": memory["id"], "tombstones": "a" * 52}
    ids |= {"erasures": f"era_{0:026d}", "keys": f"key_{0:026d}", "jobs": f"job_{0:026d}"}
    ids |= {"conversations": "run-1"}
    for route in routes():
        built = route.request(SCOPE, ids)
        said = NAME if route.name == "make_key" else CONTENT
        body = None if built.body is None else json.dumps(built.body).replace("word", said)
        answer = flock.call(built.method, f"{built.path}?{built.query}" if built.query else built.path, body)
        assert answer.status_code < 500, (route, answer.text)
        flock.driven.add(route.name)
        if "secret" in answer.text and route.name in ("make_key", "delegate"):
            flock.secrets.append(answer.json()["secret"])


def drive_a_life(flock: Flock) -> None:
    """What happens to memories that are read, corrected, doubted, taken back and forgotten."""
    where = f"?scope=flock%2F{PERSON}"
    note = {"reason": "other", "note": f"a note on {NOTE}"}
    one = flock.remember(content=f"{CONTENT} one", key=f"slot.{SLOT}")
    path = f"/v1/memories/{one['id']}"
    flock.call("PATCH", path + where, {"tags": [TAG, "b"]})
    new = flock.call(
        "POST",
        f"{path}/correct{where}",
        {"content": f"{CONTENT} two", "because": "wrong", "quote": QUOTE, "note": NOTE},
        If_Match='"2"',
    ).json()
    flock.call("POST", f"/v1/memories/{new['id']}/dispute{where}", note)
    flock.call("POST", f"/v1/reviews/{new['id']}{where}", {"decision": "approve", **note}, If_Match='"2"')
    flock.call("POST", f"/v1/memories/{new['id']}/retract{where}", note, If_Match='"3"')
    flock.call("GET", f"/v1/memories/{new['id']}/history{where}")
    for grave in flock.call("GET", f"/v1/tombstones{where}").json()["items"][:2]:
        flock.call("POST", f"/v1/tombstones/{grave['id']}/lift{where}", note)
    item = {"kind": "item", "key": f"{SLOT} {REQUEST}", "path": [LABEL]}
    flock.call("POST", "/v1/memories", {"scope": SCOPE, **FACT, **item})
    gone = flock.remember(content=f"{CONTENT} three")
    flock.call("DELETE", f"/v1/memories/{gone['id']}{where}&reason=test", {"note": NOTE})
    again = flock.call("POST", "/v1/memories", {"scope": SCOPE, "content": f"{CONTENT} three"})
    assert again.status_code == 409
    kept = flock.remember(content=f"{CONTENT} four")
    flock.call("POST", "/v1/recall", {"scope": SCOPE, "query": f"{QUERY} {CONTENT}", "tags": [TAG]})
    flock.call("POST", "/v1/recall", {"scope": SCOPE, "query": f"{QUERY} {CONTENT}", "format": "prompt"})
    grants = [{"scope": SCOPE, "actions": ["read"]}]
    made = flock.call("POST", "/v1/keys", {"name": NAME, "kind": "agent", "grants": grants})
    flock.secrets.append(made.json()["secret"])
    with flock.stack.client(made.json()["secret"]) as other:
        answer = other.get(f"/v1/memories?scope=other%2F{PERSON}")
        flock.refusals.append(f"{answer.status_code} {answer.text} {dict(answer.headers)}")
    eventually(
        lambda: flock.call("GET", f"/v1/memories/{kept['id']}{where}").json()["index"]["state"] == "indexed",
        within=90,
    )


def drive_mcp(flock: Flock) -> None:
    """Tools that do what they should, that are given what they do not take, and requests that are none."""
    grants = [{"scope": SCOPE, "actions": ["read", "write", "forget"]}]
    key = flock.call("POST", "/v1/keys", {"name": "host", "kind": "agent", "grants": grants}).json()["secret"]
    flock.secrets.append(key)

    def post(message: Any, secret: str = key) -> httpx.Response:
        return flock.call(
            "POST", "/mcp", message, Authorization=f"Bearer {secret}", Accept="application/json"
        )

    def use(tool: str, **arguments: Any) -> Any:
        asked = {"name": tool, "arguments": arguments}
        answer = post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked})
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    made = use("remember", content=f"{CONTENT} by a tool", tags=[TAG])
    memory_id = made["structuredContent"]["memory"]["id"]
    assert use("recall", query=QUERY)["structuredContent"]["note"]
    assert use("forget", memory_id=memory_id)["structuredContent"]["erasure_id"]
    for tool, wrong in (
        ("remember", {"content": CONTENT, LABEL: 1}),
        ("get", {"memory_id": CONTENT}),
        (NAME, {}),
    ):
        assert use(tool, **wrong)["isError"]
    post(f'{{"{CONTENT}')
    post({"jsonrpc": "2.0", "id": 1, "method": CONTENT})
    post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, flock.stack.admin_key)
    flock.call("GET", f"/mcp?{QUERY}", Authorization=f"Bearer {key}")


def drive_refusals(flock: Flock) -> None:
    """What is refused: malformed, forbidden, unknown, stale, too large, somebody's secret."""
    where = f"?scope=flock%2F{PERSON}"
    for body in (
        {"scope": f"{PERSON}//", **FACT},
        {"scope": SCOPE, "content": CONTENT, "importance": META},
        {"scope": SCOPE, "content": CONTENT, "metadata": {f"_{META}": 1}},
        {"scope": SCOPE, "content": CONTENT, "metadata": {META: None}},
        {"scope": SCOPE, "content": CONTENT, f"unknown {META}": 1},
        {"scope": SCOPE, "content": CONTENT, "kind": TAG},
        {"scope": SCOPE, "content": CONTENT, "valid_from": QUOTE},
        {"scope": SCOPE, "content": CONTENT, "key": f"!{SLOT}"},
        {"scope": SCOPE, "content": f"{CONTENT} password: hunter2hunter2hunter2{DATA}"},
        {"scope": SCOPE, "content": f"{CONTENT} AKIAIOSFODNN7EXAMPLE"},
        {"scope": SCOPE, "content": CONTENT * 2_000},
        f'{{"scope": "{SCOPE}", "content": "{CONTENT}"',
        f'{{"scope": "{SCOPE}", "the {DATA}": 1, "the {DATA}": 2}}',
        f'["{CONTENT}"]',
        f"{CONTENT}" * 20_000,
    ):
        assert flock.call("POST", "/v1/memories", body).status_code >= 400
    for wanted in ({"eq": [f"{META}.x", 1]}, {QUERY: [META]}, {"eq": [f"data.{DATA}"]}):
        asked = {"scope": SCOPE, "query": QUERY, "filter": wanted}
        assert flock.call("POST", "/v1/recall", asked).status_code == 400
    for path in (
        f"/v1/memories{where}&cursor={TAG}",
        f"/v1/memories{where}&kind={TAG}",
        f"/v1/memories{where}&the%20{META}=1",
        f"/v1/memories/{CONTENT}{where}",
        f"/v1/{CONTENT}/{DATA}",
        f"/v1/erasures/era_{QUERY}{where}",
        f"/v1/audit/verify{where}&from={QUERY}",
        f"/v1/scopes?prefix={PERSON}%2F%2F",
    ):
        assert flock.call("GET", path).status_code >= 400
    named = {"Idempotency_Key": f"{REQUEST}"}
    for status, content in ((201, f"{CONTENT} named"), (422, f"{CONTENT} other")):
        body = {"scope": SCOPE, "content": content}
        assert flock.call("POST", "/v1/memories", body, **named).status_code == status
    for token in (TOKEN, f"{TOKEN}.{TOKEN}.{TOKEN}", f"{flock.stack.admin_key}{QUERY}"):
        answer = flock.call("GET", f"/v1/memories{where}", Authorization=f"Bearer {token}")
        assert answer.status_code in (401, 403)


def drive_faults(flock: Flock) -> None:
    """The same words while AWS fails."""
    where = f"?scope=flock%2F{PERSON}"
    for number, faults in enumerate(
        (
            {"down": ["dynamodb"]},
            {"down": ["sts"]},
            {"throttle": {"dynamodb.TransactWriteItems": 1.0}},
            {"throttle": {"dynamodb.BatchGetItem": 1.0}},
            {"down": ["bedrock-agent-runtime"]},
            {"down": ["s3", "sqs", "events", "bedrock-agent"]},
        )
    ):
        flock.stack.faults(**faults)
        scope = f"{SCOPE}/{number}"  # not opened yet: STS is asked
        flock.call("POST", "/v1/memories", {"scope": scope, **FACT, **SOURCE})
        flock.call("POST", "/v1/recall", {"scope": SCOPE, "query": f"{QUERY} {CONTENT}"})
        flock.call("GET", f"/v1/memories{where}&tag={TAG}")
        flock.stack.no_faults()
    failing = flock.remember(content=f"{CONTENT} stubborn")
    flock.stack.faults(kb_fail_ids=[failing["id"]])
    eventually(lambda: "fault" in "".join(logged(flock.stack)), within=60)
    flock.stack.no_faults()


def logged(stack: Stack) -> list[str]:
    """Every line of every log, with the names of groups and streams."""
    logs, found = stack.aws("logs"), []
    for group in logs.describe_log_groups()["logGroups"]:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"])
        events = [event for page in pages for event in page["events"]]
        found += [f"{group['logGroupName']} {e.get('logStreamName')} {e['message']}" for e in events]
    return found


def queued(stack: Stack) -> list[str]:
    """Every message that lies in a queue, the dead letters and the bus's listener among them."""
    sqs, found = stack.aws("sqs"), []
    for url in sqs.list_queues()["QueueUrls"]:
        for _ in range(20):
            received = sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"], MessageAttributeNames=["All"]
            )
            found += [f"{url} {json.dumps(message)}" for message in received.get("Messages", [])]
            if not received.get("Messages"):
                break
    return found


def measured(stack: Stack) -> list[str]:
    """Every metric with its dimensions, and every alarm with its reason."""
    cloudwatch = stack.aws("cloudwatch")
    alarms = cloudwatch.describe_alarms()["MetricAlarms"]
    return [str(each) for each in [*cloudwatch.list_metrics()["Metrics"], *alarms]]


def traced(stack: Stack) -> list[str]:
    """Every span of every trace."""
    found = httpx.get(stack.control_url.replace("/_faults", "/_traces")).json()["segments"]
    return [json.dumps(segment) for segment in found]


def kept(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of the cloud's state."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "unpacked" not in path.parts:
            yield str(path.relative_to(folder)), path.read_bytes()


def spellings(word: str) -> list[bytes]:
    """A word as it is, and as base64 has it, wherever it begins."""
    plain = word.encode()
    encoded = [base64.b64encode(b"\0" * shift + plain)[shift + 1 : -4] for shift in range(3)]
    return [plain, plain.upper(), plain.hex().encode(), *encoded]


def finds(text: str | bytes, words: tuple[str, ...] = ALL) -> set[str]:
    """The canaries in a text, whatever their spelling."""
    data = text.encode() if isinstance(text, str) else text
    return {word for word in words if any(spelling in data for spelling in spellings(word))}


def test_no_refusal_repeats_a_word_in_body_or_headers(flock: Flock) -> None:
    assert len(flock.refusals) > 40
    assert {int(refusal[:3]) for refusal in flock.refusals} >= {400, 403, 404, 409, 413, 422, 503}
    for refusal in flock.refusals:
        assert finds(refusal) == set(), refusal
    assert {refusal[:3] for refusal in flock.refusals if refusal.startswith("5")} == {"503"}


def test_every_route_was_driven(flock: Flock) -> None:
    assert flock.driven == {route.name for route in routes()}


def hidden(secret: str) -> str:
    """What of a key nobody else knows: all behind its id, which may hold an underscore anywhere."""
    found = re.fullmatch(r"unsay_(?:[a-z]+_)?[0-9a-z]{26}_(.+)", secret)
    assert found, "a key has another form"
    return found[1]


def test_no_log_queue_event_metric_or_trace_holds_a_word(flock: Flock) -> None:
    spans = traced(flock.stack)
    assert len(spans) > 100
    lines = [*logged(flock.stack), *queued(flock.stack), *measured(flock.stack), *spans]
    secret = tuple(map(hidden, [flock.stack.admin_key, *flock.secrets]))
    assert [line for line in lines if finds(line, (*ALL, *secret))] == []
    planted = [line for line in lines if PLANTED in line]
    assert len(planted) >= 3, "the control: what was put into a log, an event and a metric is found"


def test_the_record_and_the_keys_hold_no_words(flock: Flock) -> None:
    tables = flock.stack.outputs
    scan = flock.stack.aws("dynamodb").get_paginator("scan")

    def held(table: str) -> str:
        return json.dumps([page["Items"] for page in scan.paginate(TableName=tables[table])], default=repr)

    assert finds(held("RecordTable")) == set()
    assert finds(held("AccessTable")) <= {PERSON, NAME}, "the names of scopes and keys, and nothing said"
    assert finds(held("LedgerTable")) >= {CONTENT, DATA, META, TAG, QUOTE}, "the control: here they are"


def test_nothing_on_disk_holds_a_word_but_the_ledger_the_documents_and_the_index(flock: Flock) -> None:
    """Last: the cloud is stopped, and writes down all it has."""
    bucket = flock.stack.outputs["DocumentsBucket"]
    secret = tuple(map(hidden, [flock.stack.admin_key, *flock.secrets]))
    stop(flock.place)
    found = {name: finds(data, (*ALL, *secret)) for name, data in kept(flock.place.state)}
    at_home = {n for n in found if n.startswith(tuple(f"cloud/{home}" for home in AT_HOME)) or bucket in n}
    assert {n: words for n, words in found.items() if words and n not in {*at_home, "local.json"}} == {}
    assert set().union(*(found[n] for n in at_home if bucket in n)) >= {CONTENT, DATA, META, TAG, QUOTE}
    assert len([n for n in at_home if found[n]]) >= 4, "the control: the search does find them"
    assert found["local.json"], "and the first key lies where it was put"
