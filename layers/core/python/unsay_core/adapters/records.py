"""Ledger entries as plain records and back, exactly: the form every store keeps.

A record holds strings, whole numbers, booleans, bytes, lists and records. Instants are RFC 3339 text,
decimals their own digits, and the caller's JSON its own text, so that no store can bend a number or a string.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from unsay_core.application.ledger import (
    Area,
    Duplicate,
    Head,
    Listed,
    Outcome,
    Pending,
    Postings,
    Reviewable,
    Slot,
    Version,
    ref_of,
)
from unsay_core.application.ports import Snapshot, UnreadableError
from unsay_core.contracts import exact_json
from unsay_core.domain.audit import AuditEntry
from unsay_core.domain.memory import Memory
from unsay_core.domain.timeline import rfc3339
from unsay_core.domain.tombstone import Tombstone
from unsay_core.extraction.conversation import Batch, Message, Plan, Ready, Run, Upload
from unsay_core.jobs.erasure import Erasure
from unsay_core.jobs.job import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from unsay_core.application.ledger import Entry, Ref

T = TypeVar("T")
S = TypeVar("S")

JSON_FIELDS = frozenset({"data", "metadata", "selector", "blocks", "request", "progress", "result"})

_TYPES: dict[Area, type[Entry]] = {
    Area.HEAD: Head,
    Area.MEMORY: Memory,
    Area.VERSION: Version,
    Area.DUPLICATE: Duplicate,
    Area.SLOT: Slot,
    Area.PENDING: Pending,
    Area.OUTCOME: Outcome,
    Area.ERASURE: Erasure,
    Area.REVIEW: Reviewable,
    Area.READY: Ready,
    Area.TOMBSTONE: Tombstone,
    Area.AUDIT: AuditEntry,
    Area.POSTINGS: Postings,
    Area.LISTED: Listed,
    Area.JOB: Job,
}
# A conversation has its parts beside it, told apart by what follows the run's id.
_CONVERSATION_TYPES: dict[str, type[Entry]] = {"": Run, "m": Message, "b": Batch, "p": Plan, "u": Upload}


def to_record(entry: Any) -> dict[str, Any]:
    """An entry as a record; what is None is left out, unless its absence would mean something else."""
    pairs = ((member, getattr(entry, member.name)) for member in fields(entry))
    return {
        member.name: _plain(member.name, value)
        for member, value in pairs
        if value is not None or member.default not in (None, MISSING)
    }


def from_record(entry_type: type[T], record: Mapping[str, Any]) -> T:
    """The entry a record was made from."""
    entry: T = _adapter(cast("Any", entry_type)).validate_python(_parsed(record))
    return entry


def entry_of_record(ref: Ref[Any], record: Mapping[str, Any]) -> Entry:
    """The entry that lies at a place; raises `UnreadableError`, which does not quote its text."""
    try:
        return from_record(_type_at(ref), record)
    except (ValidationError, ValueError, RecursionError):
        raise UnreadableError(ref) from None


def snapshot_of(stored: Iterable[S], entry: Callable[[S], Entry]) -> Snapshot:
    """What a read found, each thing made into an entry; what cannot be is noted in its place."""
    entries: dict[Ref[Entry], Entry] = {}
    unreadable: set[Ref[Any]] = set()
    for each in stored:
        try:
            found = entry(each)
            entries[ref_of(found)] = found
        except UnreadableError as damaged:
            unreadable.add(damaged.ref)
    return Snapshot(entries, unreadable)


def _type_at(ref: Ref[Any]) -> type[Entry]:
    if ref.area is Area.CONVERSATION:
        _, _, part = ref.id.partition("#")
        return _CONVERSATION_TYPES[part[:1]]
    return _TYPES[ref.area]


def _plain(name: str, value: Any) -> Any:
    if name in JSON_FIELDS:
        return exact_json.dumps(value)
    if is_dataclass(value):
        return to_record(value)
    match value:
        case datetime():
            return rfc3339(value)
        case Enum():
            return value.value
        case Decimal():
            return str(value)
        case tuple():
            return [_plain("", member) for member in value]
        case _:
            return value


def _parsed(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with the caller's JSON read; copied where that stands within."""
    parsed = dict(record)
    for name, value in record.items():
        if name in JSON_FIELDS:
            parsed[name] = exact_json.loads_stored(value)
        elif isinstance(value, dict):
            parsed[name] = _parsed(value)
        elif isinstance(value, list):
            parsed[name] = [_parsed(member) if isinstance(member, dict) else member for member in value]
    return parsed


@cache
def _adapter(entry_type: Any) -> TypeAdapter[Any]:
    return TypeAdapter(entry_type)
