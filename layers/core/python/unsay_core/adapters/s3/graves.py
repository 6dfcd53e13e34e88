"""The list of tombstones of one scope, in the bucket that locks what it holds.

One that is noted alone is an empty object whose key says it all. Of several that are noted together, as an
erasure of many memories leaves them, one object has what their keys would be.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from unsay_core.adapters.aws_errors import translated
from unsay_core.application.graves import Grave, Standing
from unsay_core.domain.memory import Reason
from unsay_core.domain.tombstone import TombstoneKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mypy_boto3_s3 import S3Client

WHAT = "the list of tombstones"
FOLDER = "-tombstones/"  # before the digits of the anchors, which are listed from a place on
TOGETHER = "together/"
_THERE = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412", "409"})
_TIME = "%Y%m%dT%H%M%S.%f"
_NAME = re.compile(r"(id|value|scope)-([^/]+)/(\d{8}T\d{6}\.\d{6})-(buried|erased|lifted)-([a-z_]+)")


class S3Graves:
    """See `GraveNotes`."""

    def __init__(self, client: Callable[[], S3Client], bucket: str, scope_id: str) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = f"{scope_id}/{FOLDER}"

    def note(self, graves: Sequence[Grave]) -> None:
        """One conditional write; the bucket's default retention locks the object."""
        name, *others = names = sorted(map(_name, graves))
        body = "\n".join(names).encode() if others else b""
        if others:
            name = TOGETHER + hashlib.sha256(body).hexdigest()
        try:
            with translated(WHAT):
                self._client().put_object(
                    Bucket=self._bucket, Key=f"{self._prefix}{name}", Body=body, IfNoneMatch="*"
                )
        except ClientError as refused:
            if refused.response["Error"]["Code"] not in _THERE:
                raise

    def listed(self) -> Iterator[Grave]:
        """One list for every thousand objects, and a read of each that holds several notes.

        Of the notes of one digest, the last in order holds.
        """
        last: dict[tuple[str, ...], re.Match[str]] = {}
        for found in filter(None, map(_NAME.fullmatch, self._names())):
            of = found.group(1, 2)
            last[of] = max(found, last.get(of, found), key=itemgetter(0))
        return map(_grave, last.values())

    def _names(self) -> Iterator[str]:
        """What each note says, those that were noted together included."""
        for name, version in self._objects():
            if name.startswith(TOGETHER):
                yield from self._body(name, version).split("\n")
            else:
                yield name

    def _body(self, name: str, version: str) -> str:
        with translated(WHAT):
            answer = self._client().get_object(
                Bucket=self._bucket, Key=f"{self._prefix}{name}", VersionId=version
            )
            return answer["Body"].read().decode()

    def _objects(self) -> Iterator[tuple[str, str]]:
        """Names and versions of them: a delete marker that hides a key hides nothing here."""
        query: dict[str, Any] = {"Bucket": self._bucket, "Prefix": self._prefix}
        while True:
            with translated(WHAT):
                answer = self._client().list_object_versions(**query)
            for version in answer.get("Versions", []):
                yield version["Key"].removeprefix(self._prefix), version["VersionId"]
            if not answer["IsTruncated"]:
                return
            query |= {"KeyMarker": answer["NextKeyMarker"], "VersionIdMarker": answer["NextVersionIdMarker"]}


def _name(grave: Grave) -> str:
    moment = grave.at.astimezone(UTC).strftime(_TIME)
    return f"{grave.kind.value}-{grave.digest}/{moment}-{grave.standing.value}-{grave.reason.value}"


def _grave(name: re.Match[str]) -> Grave:
    kind, digest, moment, standing, reason = name.groups()
    at = datetime.strptime(moment, _TIME).replace(tzinfo=UTC)
    return Grave(TombstoneKind(kind), digest, at, Standing(standing), Reason(reason))
