"""Transcripts that were handed in as files, under the scope's own prefix until they have been read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.config import Config
from botocore.exceptions import ClientError

from unsay_core.adapters.aws_errors import translated
from unsay_core.application.uploads import Address, TranscriptError, WaitingFile
from unsay_core.extraction.conversation import UPLOAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_s3 import S3Client

WHAT = "the intake"
SECONDS = 300  # of an address; the session it is signed with is good for as long
# An address is used as it is: its signature names the headers, and no checksum that the caller cannot know.
SIGNING = Config(
    signature_version="s3v4", request_checksum_calculation="when_required", s3={"addressing_style": "path"}
)
_ABSENT = frozenset({"404", "403", "NoSuchKey", "NotFound", "AccessDenied"})


class S3Transcripts:
    """See `Transcripts`. The client is made when first asked for."""

    def __init__(self, client: Callable[[], S3Client], bucket: str, scope_id: str) -> None:
        self._client = client
        self._bucket = bucket
        self._scope_id = scope_id

    def address(self, run_id: str, upload_id: str) -> Address:
        """Signed with credentials that reach no other prefix; a second file under the key is refused."""
        url = self._client().generate_presigned_url(
            "put_object",
            Params={"Bucket": self._bucket, "Key": self._key(run_id, upload_id), "IfNoneMatch": "*"},
            ExpiresIn=SECONDS,
            HttpMethod="PUT",
        )
        return Address(url, "PUT", {"If-None-Match": "*"}, SECONDS)

    def read(self, run_id: str, upload_id: str) -> bytes:
        """One request, and never more than a file may have.

        A role that may not list gets 403, not 404, for a file that is not there.
        """
        try:
            with translated(WHAT):
                found = self._client().get_object(Bucket=self._bucket, Key=self._key(run_id, upload_id))
        except ClientError as refused:
            if refused.response["Error"]["Code"] in _ABSENT:
                raise TranscriptError("missing") from None
            raise
        if found["ContentLength"] > UPLOAD_BYTES:
            raise TranscriptError("too_large")
        with translated(WHAT):
            return found["Body"].read(UPLOAD_BYTES)

    def remove(self, run_id: str, upload_id: str) -> None:
        """Remove the object; the bucket keeps no versions."""
        with translated(WHAT):
            self._client().delete_object(Bucket=self._bucket, Key=self._key(run_id, upload_id))

    def waiting(self) -> Iterator[WaitingFile]:
        """One request for every thousand objects."""
        wanted: Any = {"Bucket": self._bucket, "Prefix": f"{self._scope_id}/"}
        while True:
            with translated(WHAT):
                found = self._client().list_objects_v2(**wanted)
            for each in found.get("Contents", []):
                _, run_id, name = each["Key"].split("/")
                yield WaitingFile(run_id, name.removesuffix(".jsonl"), each["LastModified"])
            if not found["IsTruncated"]:
                return
            wanted["ContinuationToken"] = found["NextContinuationToken"]

    def _key(self, run_id: str, upload_id: str) -> str:
        return f"{self._scope_id}/{run_id}/{upload_id}.jsonl"
