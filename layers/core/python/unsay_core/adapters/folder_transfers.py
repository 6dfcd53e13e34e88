"""The files of exports and imports in a folder, which its owner alone may read."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from unsay_core.application.transfers import StoredFile
from unsay_core.domain.errors import NotFoundError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from tempfile import TemporaryDirectory

_PRIVATE, _OWNERS = 0o600, 0o700
_UNFINISHED = ".unfinished"


class TransferFolder:
    """The folders of all scopes, in one beside the ledger; of a ledger in memory, in one that passes."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._passing: TemporaryDirectory[str] | None = None

    def of(self, scope_id: str) -> FolderTransfers:
        """The files of one scope."""
        return FolderTransfers(self.folder(scope_id))

    def folder(self, scope_id: str) -> Path:
        """Where the files of one scope lie."""
        return self._root() / scope_id

    def scope_ids(self) -> list[str]:
        """The scopes that have files."""
        if self._path is None and self._passing is None:
            return []
        root = self._root()
        return sorted(folder.name for folder in root.iterdir()) if root.is_dir() else []

    def close(self) -> None:
        """Drop what was kept for a ledger in memory."""
        if self._passing is not None:
            self._passing.cleanup()

    def _root(self) -> Path:
        if self._path is not None:
            if self._path.is_symlink():
                raise UnavailableError(f"the folder {self._path.name} leads elsewhere")
            return self._path
        if self._passing is None:
            from tempfile import TemporaryDirectory

            self._passing = TemporaryDirectory(prefix="unsay-")
        return Path(self._passing.name)


class FolderTransfers:
    """See `Transfers`; a link is the address of the file itself."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, name: str, body: bytes) -> None:
        """Whole or not at all."""
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True, mode=_OWNERS)
        unfinished = path.with_name(f"{path.name}{_UNFINISHED}")
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE), "wb") as file:
            file.write(body)
        unfinished.replace(path)

    def read(self, name: str, start: int, length: int) -> bytes:
        """Beyond the end there is nothing."""
        try:
            with self._path(name).open("rb") as file:
                file.seek(start)
                return file.read(length)
        except FileNotFoundError:
            raise NotFoundError("no such file in this scope") from None

    def listed(self, prefix: str = "") -> Iterator[StoredFile]:
        """By their names, which have `/` between folders."""
        files = {
            path.relative_to(self._folder).as_posix(): path.stat()
            for path in self._folder.rglob("*")
            if path.is_file() and not path.name.endswith(_UNFINISHED)
        }
        for name in sorted(files):
            if name.startswith(prefix):
                at = datetime.fromtimestamp(files[name].st_mtime, UTC)
                yield StoredFile(name, files[name].st_size, at)

    def delete(self, name: str) -> None:
        """And the folders that are left empty, up to the scope's own."""
        path = self._path(name)
        path.unlink(missing_ok=True)
        for folder in path.parents:
            if not folder.is_dir() or any(folder.iterdir()):
                break
            folder.rmdir()
            if folder == self._folder:
                break

    def link(self, name: str, *, writing: bool = False) -> str:
        """A `file:` address; for a file that is yet to be written its folder is there."""
        if writing:
            self._path(name).parent.mkdir(parents=True, exist_ok=True, mode=_OWNERS)
        return self._path(name).absolute().as_uri()

    def _path(self, name: str) -> Path:
        return self._folder / name
