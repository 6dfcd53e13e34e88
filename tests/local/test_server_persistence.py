"""What survives `kill -9`, and that a snapshot is whole or not there."""

import signal
import time

import httpx
import pytest

from local.deploy import deploy
from local.snapshots import Snapshots
from tests.local.conftest import SAMPLE_APP, until


def saved(cloud):
    """Wait for a snapshot of what is there now; two seconds are promised, the rest is for a busy machine.

    Each follows a change of ours. The first may have begun before it was asked for, the second has not.
    """
    manifest = cloud.place.state / "cloud" / "manifest.json"
    for _ in range(2):
        since = time.time()
        cloud.client("s3").create_bucket(Bucket=f"saved-{time.time_ns()}")
        until(lambda: manifest.exists() and manifest.stat().st_mtime > since, 10)  # noqa: B023 - waited for


class TestKill:
    """One server that is killed in the middle of its work, and started again."""

    @pytest.fixture(scope="class")
    @classmethod
    def before(cls, new_cloud):
        """What was there and acknowledged when the server was killed."""
        cloud = new_cloud()
        cloud.start()
        outputs = deploy(cloud.place, SAMPLE_APP)
        mapping = cls.stop_reading_the_stream(cloud, outputs)
        cloud.client("dynamodb").put_item(TableName=outputs["Table"], Item={"pk": {"S": "unread#P"}})
        s3, sqs = cloud.client("s3"), cloud.client("sqs")
        s3.create_bucket(Bucket="kept")
        s3.put_object(Bucket="kept", Key="scope/memories/1.json", Body=b"{}")
        queue = sqs.create_queue(QueueName="kept")["QueueUrl"]
        sqs.send_message(QueueUrl=queue, MessageBody="in flight")
        assert sqs.receive_message(QueueUrl=queue, VisibilityTimeout=600)["Messages"]
        secret = cloud.client("secretsmanager").get_secret_value(SecretId=outputs["PepperArn"])[
            "SecretString"
        ]
        session = cloud.assume(cloud.role("kept", {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}))
        cloud.faults(down=["sts"])
        saved(cloud)
        cloud.stop(signal.SIGKILL)
        cloud.start()
        return {
            "cloud": cloud,
            "mapping": mapping,
            "queue": queue,
            "secret": secret,
            "session": session,
            **outputs,
        }

    @staticmethod
    def stop_reading_the_stream(cloud, outputs):
        client = cloud.client("lambda")
        [mapping] = client.list_event_source_mappings(FunctionName=outputs["StreamFunction"])[
            "EventSourceMappings"
        ]
        client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
        return mapping["UUID"]

    def test_the_api_answers_at_once(self, before):
        url = before["cloud"].place.url
        assert httpx.get(f"{url}/v1/health", timeout=20).status_code == 200
        assert httpx.get(f"{url}/v1/x", headers={"Authorization": "Bearer good"}).status_code == 200

    def test_items_objects_and_secrets_are_there(self, before):
        cloud = before["cloud"]
        key = {"pk": {"S": "unread#P"}}
        assert "Item" in cloud.client("dynamodb").get_item(TableName=before["Table"], Key=key)
        assert (
            cloud.client("s3").get_object(Bucket="kept", Key="scope/memories/1.json")["Body"].read() == b"{}"
        )
        found = cloud.client("secretsmanager").get_secret_value(SecretId=before["PepperArn"])
        assert found["SecretString"] == before["secret"]

    def test_a_message_that_was_with_a_consumer_is_visible_again(self, before):
        [message] = before["cloud"].client("sqs").receive_message(QueueUrl=before["queue"])["Messages"]
        assert message["Body"] == "in flight"

    def test_a_stream_is_read_on_where_it_was_left(self, before):
        cloud = before["cloud"]
        cloud.client("lambda").update_event_source_mapping(UUID=before["mapping"], Enabled=True)
        cloud.client("dynamodb").put_item(TableName=before["Table"], Item={"pk": {"S": "new#P"}})

        def delivered():
            batches = [line["batch"] for line in cloud.printed(before["StreamFunction"]) if "batch" in line]
            return [key for batch in batches for key in batch]

        until(lambda: "new#P" in delivered())
        assert delivered() == ["unread#P", "new#P"]

    def test_a_session_opened_before_still_holds(self, before):
        s3 = before["cloud"].client("s3", before["session"])
        assert s3.list_objects_v2(Bucket="kept")["KeyCount"] == 1

    def test_faults_are_healed(self, before):
        assert httpx.get(f"{before['cloud'].place.url}/_faults").json()["down"] == []

    def test_nothing_is_written_while_nothing_happens(self, before):
        cloud = before["cloud"]
        manifest = cloud.place.state / "cloud" / "manifest.json"
        cloud.client("s3").put_bucket_versioning(
            Bucket="kept", VersioningConfiguration={"Status": "Suspended"}
        )
        saved(cloud)
        # What the tests before have set going may still be saved; the longest pause between two is a second.
        until(lambda: time.time() - manifest.stat().st_mtime > 2.5)


class TestSnapshots:
    def write(self, snapshots, **parts):
        snapshots.write([snapshots.encode(name, state) for name, state in parts.items()])

    def test_what_was_written_is_read_back_bytes_included(self, tmp_path):
        state = {"small": b"\x00", "large": b"\x01" * 100_000, "text": "é"}
        self.write(Snapshots(tmp_path), one=state)
        assert Snapshots(tmp_path).read("one") == state
        assert Snapshots(tmp_path).read("absent") is None

    def test_parts_that_are_not_written_stay_as_they_were(self, tmp_path):
        snapshots = Snapshots(tmp_path)
        self.write(snapshots, one=1, two={"blob": b"2" * 100_000})
        self.write(snapshots, one=10)
        assert Snapshots(tmp_path).read("one") == 10
        assert Snapshots(tmp_path).read("two") == {"blob": b"2" * 100_000}

    def test_a_crash_before_the_manifest_leaves_the_snapshot_before_it(self, tmp_path, monkeypatch):
        snapshots = Snapshots(tmp_path)
        self.write(snapshots, one="old", two="old")
        replace = Snapshots._replace

        def crash_at_the_manifest(self, name, content):
            if name == "manifest.json":
                raise KeyboardInterrupt
            replace(self, name, content)

        monkeypatch.setattr(Snapshots, "_replace", crash_at_the_manifest)
        with pytest.raises(KeyboardInterrupt):
            self.write(snapshots, one="new", two="new")
        assert [Snapshots(tmp_path).read(name) for name in ("one", "two")] == ["old", "old"]

    def test_what_no_snapshot_names_any_more_is_removed(self, tmp_path):
        snapshots = Snapshots(tmp_path)
        for generation in range(3):
            self.write(snapshots, one={"blob": bytes([generation]) * 100_000})
        assert len(list(tmp_path.iterdir())) == 3  # the manifest, the part, its blob

    def test_nobody_else_may_read_the_files(self, tmp_path):
        self.write(Snapshots(tmp_path), one={"secret": b"s" * 100_000})
        assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}
