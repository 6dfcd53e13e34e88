"""Event sources: streams and FIFO queues reach their functions as Lambda delivers them."""

import json
import time

import pytest

from tests.local.conftest import until


@pytest.fixture
def write(cloud, app):
    """Put a key into the table whose stream is read."""
    client = cloud.client("dynamodb")

    def put(pk):
        client.put_item(TableName=app["Table"], Item={"pk": {"S": pk}})

    return put


@pytest.fixture
def send(cloud, app):
    """Send a message to the FIFO queue that is read."""
    client = cloud.client("sqs")

    def message(group, body):
        client.send_message(
            QueueUrl=app["QueueUrl"],
            MessageBody=body,
            MessageGroupId=group,
            MessageDeduplicationId=f"{group}-{body}-{time.monotonic_ns()}",
        )

    return message


class TestStreams:
    def delivered(self, cloud, app, having):
        batches = [line["batch"] for line in cloud.printed(app["StreamFunction"]) if "batch" in line]
        return [batch for batch in batches if any(having in key for key in batch)]

    def test_a_change_reaches_its_function(self, cloud, app, write):
        write("a#P")
        until(lambda: self.delivered(cloud, app, "a#P"))

    def test_a_change_the_filter_does_not_name_is_not_delivered(self, cloud, app, write):
        write("other#X")
        write("named#P")
        until(lambda: self.delivered(cloud, app, "named#P"))
        assert not self.delivered(cloud, app, "other#X")

    def test_the_records_before_a_failed_one_are_not_delivered_again(self, cloud, app, write):
        for pk in ("before#P", "poison-1#P", "after#P"):
            write(pk)
        until(lambda: ["after#P"] in self.delivered(cloud, app, "after#P"))
        assert len(self.delivered(cloud, app, "before#P")) == 1
        assert len(self.delivered(cloud, app, "poison-1#P")) >= 2

    def test_a_record_that_fails_for_good_goes_to_the_failure_destination(self, cloud, app, write):
        write("poison-2#P")
        write("behind#P")
        until(lambda: ["behind#P"] in self.delivered(cloud, app, "behind#P"))
        lost = until(lambda: cloud.client("sqs").receive_message(QueueUrl=app["LostUrl"]).get("Messages"))
        assert json.loads(lost[0]["Body"])["requestContext"]["condition"] == "RetryAttemptsExhausted"

    def test_a_batch_that_fails_whole_is_cut_until_the_bad_record_is_alone(self, cloud, app, write):
        for pk in ("left#P", "explode#P", "right#P"):
            write(pk)
        until(lambda: ["right#P"] in self.delivered(cloud, app, "right#P"))
        assert ["explode#P"] in self.delivered(cloud, app, "explode#P")


class TestFifoQueues:
    def seen(self, cloud, app, *groups):
        return [line for line in cloud.printed(app["QueueFunction"]) if line.get("group") in groups]

    def test_a_group_keeps_its_order_while_another_passes_it(self, cloud, app, send):
        for body in ("slow", "second", "third"):
            send("ordered", body)
        send("passing", "quick")
        seen = until(lambda: len(found := self.seen(cloud, app, "ordered", "passing")) >= 4 and found)
        assert [line["body"] for line in seen if line["group"] == "ordered"] == ["slow", "second", "third"]

    def test_a_failed_message_holds_back_its_own_group_only_then_goes_to_the_dead_letters(
        self, cloud, app, send
    ):
        send("blocked", "poison")
        send("blocked", "next")
        send("free", "at-once")
        until(lambda: self.seen(cloud, app, "free"), 2.0)
        assert [line["body"] for line in self.seen(cloud, app, "blocked")] == ["poison"]
        seen = until(lambda: len(found := self.seen(cloud, app, "blocked")) >= 3 and found)
        assert [(line["body"], line["attempt"]) for line in seen] == [
            ("poison", 1),
            ("poison", 2),
            ("next", 1),
        ]
        dead = cloud.client("sqs").receive_message(QueueUrl=app["DeadLettersUrl"]).get("Messages", [])
        assert [message["Body"] for message in dead] == ["poison"]
