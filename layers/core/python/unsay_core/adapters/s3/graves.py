"""The list of tombstones of one scope, in the bucket that locks what it holds: one empty object for each."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from unsay_core.adapters.aws_errors import translated
from unsay_core.application.graves import Grave, Standing
from unsay_core.domain.memory import Reason
from unsay_core.domain.tombstone import TombstoneKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_s3 import S3Client

WHAT = "the list of tombstones"
FOLDER = "-tombstones/"  # before the digits of the anchors, which are listed from a place on
_THERE = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412", "409"})
_TIME = "%Y%m%dT%H%M%S.%f"
_NAME = re.compile(r"(id|value)-([^/]+)/(\d{8}T\d{6}\.\d{6})-(buried|erased|lifted)-([a-z_]+)")


class S3Graves:
    """See `GraveNotes`: the key says it all, so that a list is enough to read them."""

    def __init__(self, client: Callable[[], S3Client], bucket: str, scope_id: str) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = f"{scope_id}/{FOLDER}"

    def note(self, grave: Grave) -> None:
        """One conditional write; the bucket's default retention locks the object."""
        moment = grave.at.astimezone(UTC).strftime(_TIME)
        name = f"{grave.kind.value}-{grave.digest}/{moment}-{grave.standing.value}-{grave.reason.value}"
        try:
            with translated(WHAT):
                self._client().put_object(
                    Bucket=self._bucket, Key=f"{self._prefix}{name}", Body=b"", IfNoneMatch="*"
                )
        except ClientError as refused:
            if refused.response["Error"]["Code"] not in _THERE:
                raise

    def listed(self) -> Iterator[Grave]:
        """One list for every thousand notes; of one digest's, the last in order holds."""
        found = (match for name in self._names() if (match := _NAME.fullmatch(name)))
        for _, notes in groupby(found, key=lambda match: match.group(1, 2)):
            *_, last = notes
            kind, digest, moment, standing, reason = last.groups()
            at = datetime.strptime(moment, _TIME).replace(tzinfo=UTC)
            yield Grave(TombstoneKind(kind), digest, at, Standing(standing), Reason(reason))

    def _names(self) -> Iterator[str]:
        """Versions are listed: a delete marker that hides a key hides nothing here."""
        query: dict[str, Any] = {"Bucket": self._bucket, "Prefix": self._prefix}
        while True:
            with translated(WHAT):
                answer = self._client().list_object_versions(**query)
            for version in answer.get("Versions", []):
                yield version["Key"].removeprefix(self._prefix)
            if not answer["IsTruncated"]:
                return
            query |= {"KeyMarker": answer["NextKeyMarker"], "VersionIdMarker": answer["NextVersionIdMarker"]}
