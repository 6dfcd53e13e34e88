"""Anchored heads of the audit chain: one object for each, in a bucket that locks what it holds."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from unsay_core.adapters.aws_errors import translated
from unsay_core.application.ports import Anchor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from mypy_boto3_s3 import S3Client

WHAT = "the anchors"
_THERE = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412", "409"})
_NAME = re.compile(r"([0-9]{12})-([0-9a-f]{64})")


class S3Anchors:
    """See `Anchors`: the key says it all, so that a list is enough to read them.

    Versions are listed, not objects: whoever could write a key again, or hide it behind a delete marker, only
    adds a version, and the earliest says when the head was anchored.
    """

    def __init__(self, client: Callable[[], S3Client], bucket: str, scope_id: str) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = f"{scope_id}/"

    def put(self, seq: int, hash: str) -> None:
        """One conditional write; the bucket's default retention locks the object."""
        try:
            with translated(WHAT):
                self._client().put_object(
                    Bucket=self._bucket, Key=f"{self._place(seq)}-{hash}", Body=b"", IfNoneMatch="*"
                )
        except ClientError as refused:
            if refused.response["Error"]["Code"] not in _THERE:
                raise

    def since(self, seq: int) -> Iterator[Anchor]:
        """One list for every thousand versions."""
        for key, versions in groupby(self._versions(self._place(seq)), key=lambda version: version["Key"]):
            anchor = self._anchor(key, (version["LastModified"] for version in versions))
            if anchor is not None:
                yield anchor

    def _versions(self, beyond: str) -> Iterator[Any]:
        query: dict[str, Any] = {"Bucket": self._bucket, "Prefix": self._prefix, "KeyMarker": beyond}
        while True:
            with translated(WHAT):
                answer = self._client().list_object_versions(**query)
            yield from answer.get("Versions", [])
            if not answer["IsTruncated"]:
                return
            query |= {"KeyMarker": answer["NextKeyMarker"], "VersionIdMarker": answer["NextVersionIdMarker"]}

    def _anchor(self, key: str, written: Iterable[datetime]) -> Anchor | None:
        named = _NAME.fullmatch(key.removeprefix(self._prefix))
        if named is None:
            return None
        return Anchor(int(named[1]), named[2], min(written), f"s3://{self._bucket}/{key}")

    def _place(self, seq: int) -> str:
        return f"{self._prefix}{seq:012d}"
