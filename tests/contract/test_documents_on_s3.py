"""What lies in the bucket: a late retry neither overwrites a newer version nor keeps what is secret."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.conftest import new_scope_id
from tests.support.samples import HARD_MEMORY, NONCE, memory
from unsay_core.adapters.s3.documents import S3Documents
from unsay_core.contracts import exact_json
from unsay_core.domain.errors import UnavailableError

if TYPE_CHECKING:
    import boto3


class Bucket:
    """One scope's part of the bucket, and what really lies there."""

    def __init__(self, client: Any) -> None:
        self.scope_id = new_scope_id()
        self.client = client
        self.documents = S3Documents(lambda: client, "documents", self.scope_id)

    def text(self, memory_id: str) -> str:
        key = f"{self.scope_id}/memories/{memory_id}.json"
        return self.client.get_object(Bucket="documents", Key=key)["Body"].read().decode()


@pytest.fixture
def bucket(moto_session: boto3.session.Session) -> Bucket:
    return Bucket(moto_session.client("s3"))


def test_a_late_retry_does_not_overwrite_a_newer_version(bucket: Bucket) -> None:
    bucket.documents.put(replace(memory(1, "newer"), version=2))
    bucket.documents.put(memory(1, "older"))
    assert json.loads(bucket.text(memory(1).id))["fact"]["content"] == "newer"
    bucket.documents.put(replace(memory(1, "newest"), version=3))
    assert json.loads(bucket.text(memory(1).id))["fact"]["content"] == "newest"


def test_a_write_between_the_look_and_the_put_is_seen(bucket: Bucket) -> None:
    """The writer looked, found version 1, and meanwhile another stored version 3."""
    bucket.documents.put(memory(1, "first"))
    other = S3Documents(lambda: bucket.client, "documents", bucket.scope_id)
    looked = bucket.client.head_object

    class Slow:
        def __getattr__(self, name: str) -> Any:
            return getattr(bucket.client, name)

        def head_object(self, **given: Any) -> Any:
            found = looked(**given)
            other.put(replace(memory(1, "third"), version=3))
            return found

    slow = S3Documents(Slow, "documents", bucket.scope_id)  # type: ignore[arg-type]
    slow.put(replace(memory(1, "second"), version=2))
    assert json.loads(bucket.text(memory(1).id))["fact"]["content"] == "third"


def test_the_document_is_plain_json_with_its_schema_and_every_digit(bucket: Bucket) -> None:
    bucket.documents.put(HARD_MEMORY)
    text = bucket.text(HARD_MEMORY.id)
    assert exact_json.dumps(HARD_MEMORY.fact.data) in text
    assert exact_json.dumps(HARD_MEMORY.fact.metadata) in text
    assert json.loads(text)["schema"] == 1


def test_the_nonce_that_keys_the_audit_stays_in_the_ledger(bucket: Bucket) -> None:
    bucket.documents.put(memory(1))
    assert memory(1).fact.content in bucket.text(memory(1).id)
    assert NONCE not in bucket.text(memory(1).id)


def test_among_thousands_those_asked_about_are_found_in_a_few_requests(bucket: Bucket) -> None:
    there = [memory(number).id for number in range(1, 1_203)]
    for memory_id in there:
        bucket.client.put_object(
            Bucket="documents", Key=f"{bucket.scope_id}/memories/{memory_id}.json", Body=b""
        )
    absent = [memory(number).id for number in range(2_000, 2_050)]
    asked = [there[0], there[600], there[-1], *absent]
    requests: list[str] = []
    bucket.client.meta.events.register("before-call.s3", lambda model, **_: requests.append(model.name))
    assert bucket.documents.existing(asked) == {there[0], there[600], there[-1]}
    assert bucket.documents.existing(absent) == set()
    assert requests == ["ListObjectsV2"] * 3
    requests.clear()
    bucket.documents.delete(there)
    assert requests == ["DeleteObjects"] * 2
    assert bucket.documents.existing(asked) == set()


def test_a_document_that_was_not_removed_is_said_to_be_there(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = {"Errors": [{"Key": "k", "Code": "InternalError"}]}
    monkeypatch.setattr(bucket.client, "delete_objects", lambda **_: refused)
    with pytest.raises(UnavailableError):
        bucket.documents.delete([memory(1).id])
