"""The owner's copy of each memory: plain JSON under the scope's own prefix."""

from __future__ import annotations

from posixpath import commonprefix
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.records import to_record
from unsay_core.contracts import exact_json
from unsay_core.domain.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mypy_boto3_s3 import S3Client

    from unsay_core.domain.memory import Memory

_MISSING = frozenset({"404", "NoSuchKey", "NotFound"})
_LOST_RACE = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412", "409"})
ROUNDS = 5
MOST = 1_000  # objects in one request
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

    def delete(self, memory_ids: Sequence[str]) -> None:
        """One request for every thousand objects; the bucket keeps no versions."""
        for at in range(0, len(memory_ids), MOST):
            keys = [self._key(each) for each in memory_ids[at : at + MOST]]
            wanted: Any = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
            with translated("the document store"):
                answer = self._client().delete_objects(Bucket=self._bucket, Delete=wanted)
            if answer.get("Errors"):
                raise UnavailableError("the document store kept an object that was to be removed")

    def existing(self, memory_ids: Sequence[str]) -> set[str]:
        """One request for every thousand objects that lie between those asked about, or for each of these.

        Asked by listing: a role that may list one prefix only gets 403, not 404, for an object that is not
        there.
        """
        wanted = sorted(map(self._key, set(memory_ids)))
        found: set[str] = set()
        while wanted:
            first, last = wanted[0], wanted[-1]
            with translated("the document store"):
                answer = self._client().list_objects_v2(
                    Bucket=self._bucket, Prefix=commonprefix([first, last]), StartAfter=first[:-1]
                )
            there = [each["Key"] for each in answer.get("Contents", [])]
            found.update(there)
            looked_to = there[-1] if answer["IsTruncated"] else last
            wanted = [key for key in wanted if key > looked_to]
        return {each for each in memory_ids if self._key(each) in found}

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
