"""A record of another store as a line of ours, and what became of all of them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from unsay.importers.sources import Foreign, found_in
from unsay_core.contracts import exact_json
from unsay_core.contracts.base import DEPTH, Data, Metadata, Tags, Text
from unsay_core.domain.errors import UnsayError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_EPOCH = datetime.fromtimestamp(0, UTC)
_TEXT, _TAGS = TypeAdapter[str](Text), TypeAdapter[Any](Tags)
_METADATA, _DATA = TypeAdapter[Any](Metadata), TypeAdapter[Any](Data)


@dataclass
class Report:
    """What became of the records: how many, why some are left out, and where their fields went."""

    read: int = 0
    written: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    fields: dict[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    """Where the records are of which something cannot be read."""

    def refuse(self, why: str) -> None:
        """A record that is left out."""
        self.refused[why] = self.refused.get(why, 0) + 1

    def note(self, what: str) -> None:
        """Where a field went."""
        self.fields[what] = self.fields.get(what, 0) + 1


def converted(source: str, path: Path, out: Path | None) -> Report:
    """Write the records of a store as lines, or only say what would become of them, if `out` is None.

    The file appears whole or not at all. Raises `SourceError` for what is not such a store.
    """
    report, seen = Report(), dict[str, bytes]()
    unfinished = None if out is None else out.with_name(f".{out.name}.unfinished")
    file = (
        None
        if unfinished is None
        else os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
    )
    try:
        for where, read in found_in(source, path):
            report.read += 1
            try:
                line = line_of(source, read(), report)
                text = exact_json.dumps(line).encode()
            except Exception:  # noqa: BLE001 - whatever a stranger wrote is the problem of that record alone
                report.unread.append(where)
                continue
            if line is None:
                continue
            if seen.get(line["memory"]["id"], text) != text:
                line["memory"]["id"] = _id_of_another(line["memory"]["id"], text)
                text = exact_json.dumps(line).encode()
            if line["memory"]["id"] in seen:
                report.refuse("the same record again")
                continue
            seen[line["memory"]["id"]] = text
            report.written += 1
            if file:
                file.write(text + b"\n")
    finally:
        if file:
            file.close()
    if unfinished and out:
        unfinished.replace(out)
    return report


def line_of(source: str, record: Foreign, report: Report) -> dict[str, Any] | None:
    """The line of a record, or None for one that cannot be a memory; the report says why."""
    content = record.content.strip()
    if record.kind != "item" and not content:
        report.refuse("no words")
        return None
    if _refuses(_TEXT, content):
        if record.kind != "item":
            report.refuse("words that are too long")
            return None
        content = ""
    metadata, rest = _fitting(record.metadata, report)
    data = record.data if record.data is not None else ({"metadata": rest} if rest else None)
    if _refuses(_DATA, data) or _is_too_deep(data):
        report.refuse("data that is too large or too deep")
        return None
    tags = [tag for tag in record.tags if not _refuses(_TAGS, [tag])]
    at = record.at or _EPOCH
    since = _written(record.at) if record.at else None
    report.note("their date → valid_from" if since else "no date → valid_from unknown")
    memory = {
        "id": _id(source, record.place, at),
        "content": content,
        "kind": record.kind,
        "key": record.key,
        "path": [*record.path],
        "tags": tags,
        "importance": Decimal(str(min(1.0, max(0.0, record.importance)))),
        "data": data,
        "metadata": metadata,
        "valid_from": None if record.kind == "item" else since,
        "status": "active",
        "trust": "asserted",
        "recorded_at": _written(at),
        "updated_at": _written(at),
        "source": {"channel": "import", "actor": source},
    }
    return {"memory": memory}


def _fitting(metadata: Mapping[str, Any], report: Report) -> tuple[dict[str, Any], dict[str, Any]]:
    """What can be metadata here, and the rest, which goes into the data: nothing is dropped in silence."""
    kept: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, value in metadata.items():
        if value is None:
            continue
        fits = not _refuses(_METADATA, {**kept, name: value})
        (kept if fits else rest)[name] = value
        report.note(f"{name} → {'metadata' if fits else 'data.metadata'}")
    return kept, rest


def _refuses(adapter: TypeAdapter[Any], value: Any) -> bool:
    try:
        adapter.validate_python(_exact(value))
    except (ValidationError, ValueError, UnsayError, RecursionError):
        return True
    return False


def _is_too_deep(data: Any) -> bool:
    """Whether the import would refuse its line for it; how deep Python itself can go is another matter."""
    try:
        exact_json.loads(exact_json.dumps(data), max_depth=DEPTH)
    except UnsayError:
        return True
    return False


def _exact(value: Any) -> Any:
    """Fractions as the service reads them."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, dict):
        return {name: _exact(member) for name, member in value.items()}
    return [_exact(member) for member in value] if isinstance(value, list) else value


def _written(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _id(source: str, place: str, at: datetime) -> str:
    """An id in the order of time that follows from what the record is known by."""
    moment = max(0, int(at.timestamp() * 1_000)) & (2**48 - 1)
    digest = hashlib.sha256(exact_json.canonical([source, place])).digest()
    return f"mem_{_digits(moment, 10)}{_digits(int.from_bytes(digest[:10], 'big'), 16)}"


def _id_of_another(taken: str, text: bytes) -> str:
    """The id of a record that says something else than another of its name and time: what it says decides."""
    digest = hashlib.sha256(text).digest()
    return f"{taken[:-16]}{_digits(int.from_bytes(digest[:10], 'big'), 16)}"


def _digits(number: int, count: int) -> str:
    return "".join(_DIGITS[(number >> shift) & 31] for shift in range(5 * (count - 1), -1, -5))
