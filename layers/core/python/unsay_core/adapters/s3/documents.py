"""The owner's copy of each memory: plain JSON under the scope's own prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.records import to_record
from unsay_core.contracts import exact_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_s3 import S3Client

    from unsay_core.domain.memory import Memory

_MISSING = frozenset({"404", "NoSuchKey", "NotFound"})
_LOST_RACE = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412", "409"})
ROUNDS = 5
_SUFFIX = ".json"


class S3Documents:
    """See `Documents`: a write names the object it replaces, so that a late one overwrites nothing.

    The client is made when first asked for.
    """

    def __init__(self, client: Callable[[], S3Client], bucket: str, scope_id: str) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = f"{scope_id}/memories/"

    def put(self, memory: Memory) -> None:
        """Store this version unless a newer one is there."""
        there = None
        for _ in range(ROUNDS):
            if self._stored(memory, there):
                return
            there = self._head(memory.id)
            if there and int(there["Metadata"].get("version", "0")) > memory.version:
                return
        raise RuntimeError("a document kept changing while it was written")

    def delete(self, memory_id: str) -> None:
        """Remove the object; the bucket keeps no versions."""
        with translated("the document store"):
            self._client().delete_object(Bucket=self._bucket, Key=self._key(memory_id))

    def exists(self, memory_id: str) -> bool:
        """True if the object is there.

        Asked by listing: a role that may list one prefix only gets 403, not 404, for an object that is not
        there.
        """
        with translated("the document store"):
            found = self._client().list_objects_v2(
                Bucket=self._bucket, Prefix=self._key(memory_id), MaxKeys=1
            )
        return found["KeyCount"] > 0

    def listed(self) -> Iterator[str]:
        """One request for every thousand objects."""
        wanted: Any = {"Bucket": self._bucket, "Prefix": self._prefix}
        while True:
            with translated("the document store"):
                found = self._client().list_objects_v2(**wanted)
            for each in found.get("Contents", []):
                yield each["Key"].removeprefix(self._prefix).removesuffix(_SUFFIX)
            if not found["IsTruncated"]:
                return
            wanted["ContinuationToken"] = found["NextContinuationToken"]

    def _stored(self, memory: Memory, there: dict[str, Any] | None) -> bool:
        guard: Any = {"IfMatch": there["ETag"]} if there else {"IfNoneMatch": "*"}
        try:
            with translated("the document store"):
                self._client().put_object(
                    Bucket=self._bucket,
                    Key=self._key(memory.id),
                    Body=_body(memory),
                    ContentType="application/json",
                    Metadata={"version": str(memory.version)},
                    **guard,
                )
        except ClientError as refused:
            if refused.response["Error"]["Code"] in _LOST_RACE | _MISSING:
                return False
            raise
        return True

    def _head(self, memory_id: str) -> dict[str, Any] | None:
        try:
            with translated("the document store"):
                return dict(self._client().head_object(Bucket=self._bucket, Key=self._key(memory_id)))
        except ClientError as refused:
            if refused.response["Error"]["Code"] in _MISSING:
                return None
            raise

    def _key(self, memory_id: str) -> str:
        return f"{self._prefix}{memory_id}{_SUFFIX}"


def _body(memory: Memory) -> bytes:
    """The memory as its owner reads it; the nonce of the audit log stays in the ledger."""
    record = to_record(memory)
    del record["nonce"]
    record["fact"] |= {"data": memory.fact.data, "metadata": memory.fact.metadata}
    return exact_json.dumps(record).encode()
