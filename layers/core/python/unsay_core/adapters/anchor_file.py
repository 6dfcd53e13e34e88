"""Anchors in a file beside the ledger: what was appended there nobody of ours changes.

It is no proof against whoever owns the machine, as an object under lock is: it shows a ledger that was
restored, swapped or mended without it.
"""

from __future__ import annotations

import json
import os
import stat
import threading
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from unsay_core.application.ledger import Put
from unsay_core.application.ports import Anchor
from unsay_core.domain.audit import AuditEntry
from unsay_core.domain.errors import UnavailableError
from unsay_core.domain.timeline import rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from unsay_core.application.ledger import Area, Change, Entry, Ref
    from unsay_core.application.ports import Anchors, Clock, Ledger, Snapshot


class AnchorFile:
    """One line for each anchored head of every scope; `path` is None for anchors that live in memory.

    Raises `UnavailableError` for a path that leads elsewhere.
    """

    def __init__(self, path: Path | None, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._kept: list[str] = []
        self._lock = threading.Lock()
        self._lines()

    def append(self, scope_id: str, seq: int, hash: str) -> None:
        """Write a head at the end, in one write."""
        line = json.dumps([scope_id, seq, hash, rfc3339(self._clock.now())]) + "\n"
        if self.path is None:
            with self._lock:
                self._kept.append(line)
            return
        descriptor = _opened(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(descriptor, line.encode("ascii"))
        finally:
            os.close(descriptor)

    def is_empty(self) -> bool:
        """True if nothing was ever anchored here."""
        return not self._lines()

    def lines(self, scope_id: str) -> Iterator[tuple[int, str, datetime]]:
        """What is anchored of a scope, in the order in which it was; a line cut short tells nothing."""
        for line in self._lines():
            if not line.startswith(f'["{scope_id}"') or not line.endswith("\n"):
                continue
            _, seq, digest, at = json.loads(line)
            yield seq, digest, datetime.fromisoformat(at)

    def _lines(self) -> list[str]:
        if self.path is None:
            with self._lock:
                return list(self._kept)
        try:
            descriptor = _opened(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return []
        try:
            with os.fdopen(descriptor, encoding="ascii") as file:
                return file.readlines()
        except UnicodeDecodeError:
            raise UnavailableError("the anchors are damaged") from None


def _opened(path: Path, flags: int) -> int:
    """Open a plain file of its owner's alone; a link is refused, as the ledger's is."""
    try:
        descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except FileNotFoundError:
        raise
    except OSError as refused:
        raise UnavailableError("the anchors cannot be opened") from refused
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnavailableError("the anchors are not a plain file")
    return descriptor


class FileAnchors:
    """See `Anchors`: those of one scope."""

    def __init__(self, file: AnchorFile, scope_id: str) -> None:
        self._file = file
        self._scope_id = scope_id

    def put(self, seq: int, hash: str) -> None:
        """One line; a second one of the same head is read over."""
        self._file.append(self._scope_id, seq, hash)

    def since(self, seq: int) -> Iterator[Anchor]:
        """One pass through the file."""
        heads: dict[tuple[int, str], datetime] = {}
        for there, digest, at in self._file.lines(self._scope_id):
            if there >= seq:
                heads.setdefault((there, digest), at)
        for (there, digest), at in sorted(heads.items()):
            yield Anchor(there, digest, at, f"{self._file.path or 'memory'}#{there:012d}-{digest}")


class AnchoredLedger:
    """See `Ledger`: one whose chain is anchored with every change of it."""

    def __init__(self, ledger: Ledger, anchors: Anchors) -> None:
        self._ledger = ledger
        self._anchors = anchors

    def read(self, refs: Sequence[Ref[Any]]) -> Snapshot:
        """See `Ledger.read`."""
        return self._ledger.read(refs)

    def page(
        self, area: Area, *, after: str | None = None, limit: int, newest_first: bool = False
    ) -> Sequence[Entry]:
        """See `Ledger.page`."""
        return self._ledger.page(area, after=after, limit=limit, newest_first=newest_first)

    def commit(self, change: Change) -> None:
        """See `Ledger.commit`; an anchor that is lost on the way is made good by the next one."""
        self._ledger.commit(change)
        added = [part.entry for part in change if isinstance(part, Put)]
        for entry in [entry for entry in added if isinstance(entry, AuditEntry)][-1:]:
            with suppress(UnavailableError):  # the change is made, whoever hears of it
                self._anchors.put(entry.seq, entry.hash)
