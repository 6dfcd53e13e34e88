"""The files of exports and imports, under the scope's own prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from unsay_core.adapters.aws_errors import translated
from unsay_core.application.transfers import StoredFile
from unsay_core.domain.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_s3 import S3Client

WHAT = "the store of exports and imports"
LINK_SECONDS = 300  # the session a link is signed with is good for as long
_MISSING = frozenset({"404", "NoSuchKey", "NotFound"})
_BEYOND = frozenset({"416", "InvalidRange"})


class S3Transfers:
    """See `Transfers`. A link carries the session that signed it, and ends with that at the latest."""

    def __init__(self, client: Callable[[], S3Client], bucket: str, scope_id: str) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = f"{scope_id}/"

    def put(self, name: str, body: bytes) -> None:
        """One request."""
        with translated(WHAT):
            self._client().put_object(Bucket=self._bucket, Key=self._key(name), Body=body)

    def read(self, name: str, start: int, length: int) -> bytes:
        """One request for a range of bytes; beyond the end there are none."""
        stretch = f"bytes={start}-{start + length - 1}"
        try:
            with translated(WHAT):
                found = self._client().get_object(Bucket=self._bucket, Key=self._key(name), Range=stretch)
                return found["Body"].read()
        except ClientError as refused:
            code = refused.response["Error"]["Code"]
            if code in _BEYOND:
                return b""
            if code in _MISSING or code == "AccessDenied":  # 403 for what is not there, without a listing
                raise NotFoundError("no such file in this scope") from None
            raise

    def listed(self, prefix: str = "") -> Iterator[StoredFile]:
        """One request for every thousand objects."""
        wanted: Any = {"Bucket": self._bucket, "Prefix": self._key(prefix)}
        while True:
            with translated(WHAT):
                found = self._client().list_objects_v2(**wanted)
            for each in found.get("Contents", []):
                name = each["Key"].removeprefix(self._prefix)
                yield StoredFile(name, each["Size"], each["LastModified"])
            if not found["IsTruncated"]:
                return
            wanted["ContinuationToken"] = found["NextContinuationToken"]

    def delete(self, name: str) -> None:
        """One request; the bucket keeps no versions."""
        with translated(WHAT):
            self._client().delete_object(Bucket=self._bucket, Key=self._key(name))

    def link(self, name: str, *, writing: bool = False) -> str:
        """Signed here, without a request."""
        place = {"Bucket": self._bucket, "Key": self._key(name)}
        verb, method = ("put_object", "PUT") if writing else ("get_object", "GET")
        return self._client().generate_presigned_url(
            verb, Params=place, ExpiresIn=LINK_SECONDS, HttpMethod=method
        )

    def _key(self, name: str) -> str:
        return f"{self._prefix}{name}"
