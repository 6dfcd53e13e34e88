"""What was given up or lost is tried again: by an operator who redrives, and by the sweep."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import boto3
from moto import mock_aws

from tests.functional.test_handlers import ROOMY, batch_record, handlers
from tests.support.extraction import Talk, drain, wrote
from tests.support.fakes import FakeService
from tests.support.http import Caller
from unsay_core.adapters.messaging import event_of_batch, is_redriven, redriven
from unsay_core.admin.redrive import redrive
from unsay_core.application.ledger import Area, ready_ref
from unsay_core.application.sweep import sweep

__all__ = ["handlers"]

LISBON = "I live in Lisbon."


def swept(service: FakeService) -> list[Area]:
    """What the sweep finds due and does."""
    found = list(service.due.until(service.clock.now(), limit=100))
    for due in found:
        opened = service.sweep_scope(due.scope_id)
        assert opened is not None
        sweep(due, opened, service.world, service.jobs)
    return [due.area for due in found]


def test_a_letter_sent_again_lets_the_failed_batch_be_tried_anew(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    talk = Talk(api)
    answer, service.model.otherwise = service.model.otherwise, wrote("?")
    talk.say(LISBON, flush=True)
    drain(service)
    (batch,) = talk.read()["batches"]
    assert batch["state"] == "failed"
    service.model.otherwise = answer
    (scope_id,) = service.ledgers
    record = batch_record(scope_id, "run-1", 1)
    handlers["extract"].handler({"Records": [record]}, ROOMY)
    assert talk.read()["batches"][0]["state"] == "failed", "as it is, it finds nothing left to do"
    record["body"] = redriven(record["body"])
    assert handlers["extract"].handler({"Records": [record]}, ROOMY) == {"batchItemFailures": []}
    (batch,) = talk.read()["batches"]
    assert (batch["state"], api.listed()) == ("done", [LISBON])
    assert "conversation.retried" in api.events()
    handlers["extract"].handler({"Records": [record]}, ROOMY)
    assert len(api.listed()) == 1


def test_a_letter_about_a_scope_that_is_gone_is_done_with(
    service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    record = batch_record("z" * 52, "run-1", 1)
    record["body"] = redriven(record["body"])
    assert handlers["extract"].handler({"Records": [record]}, ROOMY) == {"batchItemFailures": []}


def test_every_dead_letter_goes_back_to_its_queue_and_none_is_lost() -> None:
    with mock_aws():
        sqs = boto3.client("sqs", "us-east-1")
        dead, queue = (sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("dead", "queue"))
        letters = [event_of_batch("a" * 52, "run-1", number) for number in range(12)]
        for letter in [*letters, "no event"]:
            sqs.send_message(QueueUrl=dead, MessageBody=letter)
        assert redrive(sqs, dead, queue) == 13
        assert redrive(sqs, dead, queue) == 0
        back: list[Any] = []
        while found := sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages"):
            back += [message["Body"] for message in found]
    assert "no event" in back
    events = [json.loads(body) for body in back if body != "no event"]
    assert all(map(is_redriven, events))
    assert sorted(event["detail"]["batch"] for event in events) == list(range(12))
    assert not is_redriven(json.loads(letters[0]))


def test_a_letter_that_comes_back_at_once_is_left_for_another_time() -> None:
    with mock_aws():
        sqs = boto3.client("sqs", "us-east-1")
        dead = sqs.create_queue(QueueName="dead")["QueueUrl"]
        for letter in (event_of_batch("a" * 52, "run-1", 1), "no event"):
            sqs.send_message(QueueUrl=dead, MessageBody=letter)
        assert redrive(sqs, dead, queue=dead) == 2
        there = "ApproximateNumberOfMessages"
        assert sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=[there])["Attributes"] == {there: "2"}


class ComingBack:
    """Dead letters that come back as soon as they were sent, and are hidden for no time at all."""

    def __init__(self, *letters: str) -> None:
        self.letters = list(letters)
        self.looks = 0

    def get_queue_attributes(self, **_: Any) -> Any:
        return {"Attributes": {"ApproximateNumberOfMessages": str(len(self.letters))}}

    def receive_message(self, **_: Any) -> Any:
        self.looks += 1
        assert self.looks < 100, "looked at for ever"
        return {"Messages": [{"Body": each, "ReceiptHandle": each} for each in self.letters[:2]]}

    def send_message(self, *, MessageBody: str, **_: Any) -> None:
        self.letters.append(MessageBody)

    def delete_message(self, *, ReceiptHandle: str, **_: Any) -> None:
        self.letters.remove(ReceiptHandle)


def test_letters_that_come_back_again_and_again_are_not_looked_at_for_ever() -> None:
    sqs: Any = ComingBack("a", "b", "c", "d", "e")
    assert 1 <= redrive(sqs, "dead", "queue") <= 5
    assert len(sqs.letters) == 5, "and none is lost"


def test_the_sweep_hands_over_what_has_gone_quiet(api: Caller, service: FakeService) -> None:
    talk, busy = Talk(api), Talk(api, "run-2")
    talk.say(LISBON)
    busy.say("We have a dog.")
    assert swept(service) == []
    service.clock.sleep(1_700)
    busy.say("Our dog is old.")
    service.clock.sleep(101)
    assert swept(service) == [Area.CONVERSATION]
    drain(service)
    assert (api.listed(), busy.read()["waiting"]) == ([LISBON], 2)
    assert Area.CONVERSATION not in swept(service)
    assert api.verify()["ok"]


def test_the_sweep_calls_again_for_a_batch_whose_call_was_lost(
    api: Caller, service: FakeService, handlers: dict[str, ModuleType]
) -> None:
    Talk(api).say(LISBON, flush=True)
    (scope_id,) = service.ledgers
    service.written[scope_id, ready_ref("run-1", 1)] = service.clock.now()
    assert swept(service) == []
    service.clock.sleep(3_601)
    assert swept(service) == [Area.READY]
    (marker,) = service.ledgers[scope_id].page(Area.READY, limit=9)
    assert marker.revision == 2, "written anew, which the stream tells"  # type: ignore[union-attr]
    drain(service)
    assert api.listed() == [LISBON]
    service.clock.sleep(3_601)
    assert Area.READY not in swept(service)
