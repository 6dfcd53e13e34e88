"""Questions to a service in this process: `sqlite:///memory.db`, or `memory://`."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from unsay.errors import StoreError
from unsay.transport import AsyncTransport, Transport, Written, judged
from unsay_core.bootstrap.embedded import DamagedFileError, Embedded, ForeignFileError, packaged_embedder
from unsay_core.domain.errors import UnavailableError

if TYPE_CHECKING:
    from unsay.embedding import Choice, Extractor

IN_MEMORY, IN_FILE = "memory://", "sqlite:///"


class InProcess(Transport):
    """The service on one file of its own, or on none. Threads may share it."""

    def __init__(
        self, url: str, token: str | None, embedder: Choice, extractor: Extractor | None, **given: Any
    ) -> None:
        super().__init__(url, **given)
        self._embedded = _opened(url, token, embedder, extractor)

    def close(self) -> None:
        """Close the file; what was in memory alone is gone."""
        self._embedded.close()

    def sweep(self) -> None:
        """Do what a crash left behind, and drop what is kept for a time that is over."""
        self._embedded.sweep()

    def _once(self, written: Written) -> object:
        return _answered(self._embedded, written)


class AsyncInProcess(AsyncTransport):
    """`InProcess` for an event loop, beside which it works."""

    def __init__(
        self, url: str, token: str | None, embedder: Choice, extractor: Extractor | None, **given: Any
    ) -> None:
        super().__init__(url, **given)
        self._embedded = _opened(url, token, embedder, extractor)

    async def close(self) -> None:
        """As `InProcess.close`."""
        await asyncio.to_thread(self._embedded.close)

    async def sweep(self) -> None:
        """As `InProcess.sweep`."""
        await asyncio.to_thread(self._embedded.sweep)

    async def _once(self, written: Written) -> object:
        return await asyncio.to_thread(_answered, self._embedded, written)


def unreadable_in(url: str) -> list[tuple[str, str]]:
    """Scope and id of whatever is damaged in a store; looks through all of it. Raises `StoreError`."""
    with closing(_opened(url, None, None, None)) as store:
        try:
            return store.unreadable()
        except DamagedFileError as broken:
            raise StoreError(f"the store cannot be read: {broken}") from broken


def _opened(url: str, token: str | None, embedder: Choice, extractor: Extractor | None) -> Embedded:
    chosen = packaged_embedder() if embedder == "packaged" else embedder
    try:
        return Embedded(_path(url), embedder=chosen, model=extractor, token=token)
    except (OSError, DamagedFileError, ForeignFileError, UnavailableError) as refused:
        raise StoreError(f"{url} cannot be opened: {refused}") from refused


def _path(url: str) -> Path | None:
    """The file: `sqlite:///memory.db` lies where the process is, `sqlite:////var/memory.db` at that path."""
    if url == IN_MEMORY:
        return None
    path = unquote(url.removeprefix(IN_FILE))
    if not url.startswith(IN_FILE) or not path or path[0] == ":" or "?" in url or "#" in url:
        raise ValueError("a store is memory://, or sqlite:/// and the path of its file")
    return Path(path).expanduser()


def _answered(embedded: Embedded, written: Written) -> object:
    headers = {name.lower(): value for name, value in written.headers.items()}
    try:
        answer = embedded.answer(written.method, written.path, written.query, headers, written.body or b"")
    except (DamagedFileError, ForeignFileError) as broken:
        raise StoreError(f"the store cannot be read: {broken}") from broken
    return judged(answer.status, answer.headers.get("Retry-After"), answer.body)
