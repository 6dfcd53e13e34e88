"""Transfers: the files by which memories leave a scope and come into one, and what stands in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from unsay_core.domain.memory import Memory

EXPORTS, IMPORTS = "exports/", "imports/"


@dataclass(frozen=True, slots=True)
class Portable:
    """A memory as it travels: what it is now, and what it was, oldest first. Nonces stay at home."""

    memory: Memory
    versions: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """How a memory is written as one line of JSON, and read from one.

    `write` takes the scope's name and the time at which its status is told; `read` raises an `UnsayError`.
    """

    write: Callable[[Portable, str, datetime], bytes]
    read: Callable[[bytes], Portable]


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of the scope: its size in bytes, and when it was written."""

    name: str
    size: int
    at: datetime


class Transfers(Protocol):
    """The files of one scope; no name can reach another's."""

    def put(self, name: str, body: bytes) -> None:
        """Write a file whole."""

    def read(self, name: str, start: int, length: int) -> bytes:
        """A stretch of a file, shorter where it ends; raises `NotFoundError` if it is not there."""

    def listed(self, prefix: str = "") -> Iterator[StoredFile]:
        """The files whose names begin so, in order."""

    def delete(self, name: str) -> None:
        """Remove a file; one that is not there is no error."""

    def link(self, name: str, *, writing: bool = False) -> str:
        """A URL under which whoever has it reads the file, or writes it, for some minutes."""


def upload_name(job_id: str, number: int) -> str:
    """The name of a part that somebody brings; six digits, so that parts sort."""
    return f"{IMPORTS}{job_id}/part-{number:06d}.jsonl"


def remove_files(prefix: str, transfers: Transfers, *, before: datetime | None = None) -> int:
    """Remove the files whose names begin so, or those of them from before a time; returns how many."""
    names = [file.name for file in transfers.listed(prefix) if before is None or file.at < before]
    for name in names:
        transfers.delete(name)
    return len(names)
