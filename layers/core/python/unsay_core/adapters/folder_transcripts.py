"""Transcripts that are handed in as files in a folder, which its owner alone may write to."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from unsay_core.application.uploads import Address, TranscriptError, WaitingFile
from unsay_core.extraction.conversation import UPLOAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECONDS = 300  # of an address, as a service says; a folder takes the file later too
_OWNERS = 0o700
_SUFFIX = ".jsonl"


class FolderTranscripts:
    """See `Transcripts`. A file that bears another name than its address is not there yet."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def address(self, run_id: str, upload_id: str) -> Address:
        """A `file:` address, with the headers that a service wants."""
        for folder in (self._folder.parent, self._folder):
            folder.mkdir(exist_ok=True, mode=_OWNERS)
        url = self._path(run_id, upload_id).absolute().as_uri()
        return Address(url, "PUT", {"If-None-Match": "*"}, SECONDS)

    def read(self, run_id: str, upload_id: str) -> bytes:
        """Never more than a file may have, and nothing that leads elsewhere."""
        try:
            opened = os.open(self._path(run_id, upload_id), os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            raise TranscriptError("missing") from None
        with os.fdopen(opened, "rb") as file:
            found = file.read(UPLOAD_BYTES + 1)
        if len(found) > UPLOAD_BYTES:
            raise TranscriptError("too_large")
        return found

    def remove(self, run_id: str, upload_id: str) -> None:
        """Remove the file."""
        self._path(run_id, upload_id).unlink(missing_ok=True)

    def waiting(self) -> Iterator[WaitingFile]:
        """By name, and so in the order in which they were asked for."""
        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            upload_id, _, run_id = path.name.removesuffix(_SUFFIX).partition(".")
            yield WaitingFile(run_id, upload_id, datetime.fromtimestamp(path.lstat().st_mtime, UTC))

    def _path(self, run_id: str, upload_id: str) -> Path:
        return self._folder / f"{upload_id}.{run_id}{_SUFFIX}"
