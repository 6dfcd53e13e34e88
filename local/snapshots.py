"""A consistent state on disk: content-addressed files and one manifest that names them.

A snapshot replaces the manifest last and in one step, so whenever the process dies the folder holds one
whole snapshot, never parts of two.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from typing import TYPE_CHECKING, Any

from ministack.core import persistence as emulator

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PATCHES = {"ministack.core.persistence": ("_json_default", "_json_object_hook")}

_BLOB = "__blob__"
_BLOB_BYTES = 1 << 15  # smaller ones stay in line
_MANIFEST = "manifest.json"


class Snapshots:
    """Writes and reads the snapshots of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._writing = threading.Lock()
        self._manifest: dict[str, Any] = self._read_manifest()
        # Archives do not change, so each is hashed once: the digest by identity, the object kept alive.
        self._digests: dict[int, tuple[bytes, str]] = {}

    def _read_manifest(self) -> dict[str, Any]:
        try:
            manifest: dict[str, Any] = json.loads((self._folder / _MANIFEST).read_text())
        except FileNotFoundError:
            return {"parts": {}, "blobs": {}}
        return manifest

    def file_of(self, part: str) -> str | None:
        """Name of the file that holds a part now; it changes exactly when the part's content does."""
        name: str | None = self._manifest["parts"].get(part)
        return name

    def encode(self, part: str, state: Any) -> Encoded:
        """A part's state as text, to be written later; large byte strings are set aside."""
        blobs: dict[str, bytes] = {}

        def default(value: Any) -> Any:
            if isinstance(value, bytes) and len(value) >= _BLOB_BYTES:
                digest = self._digest(value)
                blobs[digest] = value
                return {_BLOB: digest}
            return emulator._json_default(value)

        return Encoded(part, json.dumps(state, default=default), blobs)

    def _digest(self, value: bytes) -> str:
        known = self._digests.get(id(value))
        if known is None:
            known = self._digests[id(value)] = (value, hashlib.sha256(value).hexdigest())
        return known[1]

    def write(self, parts: list[Encoded]) -> None:
        """Make these parts, and the other parts as they were, the state on disk."""
        with self._writing:
            self._write(parts)

    def _write(self, parts: list[Encoded]) -> None:
        manifest = {"parts": dict(self._manifest["parts"]), "blobs": dict(self._manifest["blobs"])}
        for part in parts:
            for digest, blob in part.blobs.items():
                self._store(f"{digest}.bin", blob)
            manifest["parts"][part.name] = part.file
            manifest["blobs"][part.name] = [f"{digest}.bin" for digest in part.blobs]
            self._store(part.file, part.text.encode())
        if manifest != self._manifest:
            self._replace(_MANIFEST, json.dumps(manifest).encode())
            self._manifest = manifest
            self._sweep()

    def _store(self, name: str, content: bytes) -> None:
        if not (self._folder / name).exists():
            self._replace(name, content)

    def _replace(self, name: str, content: bytes) -> None:
        staging = self._folder / f".{name}"
        with open(os.open(staging, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        staging.replace(self._folder / name)
        self._sync_folder()

    def _sync_folder(self) -> None:
        folder = os.open(self._folder, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def _sweep(self) -> None:
        """Remove what no manifest names any more."""
        blobs = {name for names in self._manifest["blobs"].values() for name in names}
        kept = {_MANIFEST, *self._manifest["parts"].values(), *blobs}
        for path in self._folder.iterdir():
            if path.is_file() and path.name not in kept:
                path.unlink()
        self._digests = {i: known for i, known in list(self._digests.items()) if f"{known[1]}.bin" in blobs}

    def read(self, part: str) -> Any:
        """A part's state as it was last written, or None."""
        name = self.file_of(part)
        return json.loads((self._folder / name).read_text(), object_hook=self._revive) if name else None

    def _revive(self, value: Mapping[str, Any]) -> Any:
        if _BLOB in value:
            return (self._folder / f"{value[_BLOB]}.bin").read_bytes()
        return emulator._json_object_hook(value)


class Encoded:
    """One part of a snapshot, ready to be written."""

    def __init__(self, name: str, text: str, blobs: dict[str, bytes]) -> None:
        self.name, self.text, self.blobs = name, text, blobs
        self.file = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
