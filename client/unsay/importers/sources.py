"""What each store keeps, read record by record, before anything is made of it."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path


class SourceError(ValueError):
    """A file that is not what it was said to be; names the place, and quotes nothing."""


@dataclass(frozen=True)
class Foreign:
    """One record of another store; `place` is what it is known by, for as long as it is there."""

    place: str
    content: str
    at: datetime | None = None
    kind: str = "semantic"
    key: str | None = None
    path: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    data: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


Found: TypeAlias = tuple[str, Callable[[], Foreign]]
"""Where a record is, for who looks it up, and the reading of it: that fails for this record alone."""

# What the words are called in files of nobody in particular.
_CONTENT = ("content", "memory", "text", "fact", "value")
_DATES = ("valid_from", "created_at", "createdAt", "timestamp", "date")
_KINDS = frozenset({"semantic", "episodic", "procedural"})
_MEM0_IDS = ("user_id", "agent_id", "run_id", "hash")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_HEADING = re.compile(r"^#+\s*")


def found_in(source: str, path: Path) -> Iterator[Found]:
    """The records of a store. Raises `SourceError` for a file that is not what it was said to be."""
    try:
        yield from SOURCES[source](path)
    except UnicodeDecodeError:
        raise SourceError(f"{path.name} is not UTF-8") from None
    except csv.Error as wrong:
        raise SourceError(f"{path.name} is not CSV that can be read: {wrong}") from None


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        raise SourceError(f"{path.name} is not JSON") from None


def _records(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Records of JSON lines, each with where it is."""
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            where = f"line {number} of {path.name}"
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                raise SourceError(f"{where} is not JSON") from None
            yield where, _object(record, where)


def _object(record: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(record, dict):
        raise SourceError(f"{where} is no object")
    return record


def _instant(value: Any) -> datetime | None:
    """The time of a record; without an offset it is taken for UTC."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        found = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _first(record: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def _known_by(record: Mapping[str, Any]) -> str:
    """The id of a record; one without is known by all it says, for its line in another file is another's."""
    own = record.get("id")
    return json.dumps(record, sort_keys=True) if own in (None, "") else str(own)


def _plain(record: Mapping[str, Any]) -> Foreign:
    """A record with the usual names; what has another name is metadata."""
    content, at = _first(record, _CONTENT), _instant(_first(record, _DATES))
    tags = record.get("tags") or ()
    known = {*_CONTENT, *_DATES, "id", "kind", "key", "tags", "importance", "metadata"}
    rest = {name: value for name, value in record.items() if name not in known}
    importance = record.get("importance")
    return Foreign(
        place=_known_by(record),
        content="" if content is None else str(content),
        at=at,
        kind=record["kind"] if record.get("kind") in _KINDS else "semantic",
        key=record.get("key") or None,
        tags=tuple(tags.split(";")) if isinstance(tags, str) else tuple(map(str, tags)),
        importance=float(importance) if importance not in (None, "") else 0.5,
        metadata={**(record.get("metadata") or {}), **rest},
    )


def jsonl(path: Path) -> Iterator[Found]:
    """One object a line: `content` (or `memory`, `text`, `fact`, `value`), and whatever else is usual."""
    for where, record in _records(path):
        yield where, partial(_plain, record)


def csv_rows(path: Path) -> Iterator[Found]:
    """One row a memory, the names in the first row; tags stand in one cell, with `;` between them."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            where = f"row {number} of {path.name}"
            if None in row or None in row.values():
                raise SourceError(f"{where} has not as many cells as the first")
            yield where, partial(_plain, {name: value for name, value in row.items() if value})


def markdown(path: Path) -> Iterator[Found]:
    """Every line that says something, the heading above it as a tag; of a file, or of all in a folder."""
    for file in sorted(path.rglob("*.md")) if path.is_dir() else [path]:
        heading = ""
        for number, line in enumerate(file.read_text(encoding="utf-8-sig").splitlines(), 1):
            if _HEADING.match(line):
                heading = _HEADING.sub("", line).strip()
            elif text := _BULLET.sub("", line).strip():
                tags = (heading[:64],) if heading else ()
                name = file.relative_to(path).as_posix() if path.is_dir() else file.name
                # By its words, for a line moves when another is written above it.
                place, metadata = f"{name}#{heading}#{text}", {"line": number}
                yield f"line {number} of {name}", partial(Foreign, place, text, tags=tags, metadata=metadata)


def strands_json(path: Path) -> Iterator[Found]:
    """The file of Strands' `TestMemoryStore`."""
    for where, record in _list(_json(path), path):
        yield where, partial(_of_strands, record)


def _of_strands(record: Mapping[str, Any]) -> Foreign:
    at, metadata = _instant(record.get("createdAt")), {**(record.get("metadata") or {})}
    return Foreign(_known_by(record), str(record.get("content", "")), at, metadata=metadata)


def mem0(path: Path) -> Iterator[Found]:
    """An export of mem0: a list, or an object with `results` or `memories`."""
    found = _json(path)
    listed = found.get("results", found.get("memories")) if isinstance(found, dict) else found
    for where, record in _list(listed, path):
        yield where, partial(_of_mem0, record)


def _of_mem0(record: Mapping[str, Any]) -> Foreign:
    # Under its own name: a scope is not chosen by what a record says.
    ids = {f"mem0.{name}": record[name] for name in _MEM0_IDS if record.get(name)}
    return Foreign(
        place=_known_by(record),
        content=str(record.get("memory") or record.get("data") or ""),
        at=_instant(record.get("created_at")),
        tags=tuple(map(str, record.get("categories") or ())),
        metadata={**(record.get("metadata") or {}), **ids},
    )


def langgraph(path: Path) -> Iterator[Found]:
    """A dump of a LangGraph store: `Item.dict()`s, as a list or one a line. They become items."""
    records = _list(_json(path), path) if path.suffix == ".json" else _records(path)
    for where, record in records:
        yield where, partial(_of_langgraph, record)


def _of_langgraph(record: Mapping[str, Any]) -> Foreign:
    namespace = tuple(map(str, record.get("namespace") or ()))
    key, value = str(record.get("key")), record.get("value")
    return Foreign(
        place=json.dumps([namespace, key]),
        content=json.dumps(value, ensure_ascii=False, sort_keys=True),
        at=_instant(record.get("created_at")),
        kind="item",
        key=key,
        path=namespace,
        data=value,
    )


def s3_agent_memory(path: Path) -> Iterator[Found]:
    """Objects of s3-agent-memory, `<namespace>/<kind>/<id>.json` as in its bucket; or JSON lines."""
    if not path.is_dir():
        yield from ((where, partial(_of_namespace, record)) for where, record in _records(path))
        return
    for file in sorted(path.rglob("*.json")):
        # What lies elsewhere are its indexes.
        if file.parent.name in _KINDS:
            where = file.relative_to(path).as_posix()
            namespace = file.parent.parent.relative_to(path).as_posix()
            told = {"namespace": namespace, "kind": file.parent.name, "id": file.stem}
            yield where, partial(_of_namespace, {**told, **_object(_json(file), file.name)})


def _of_namespace(record: Mapping[str, Any]) -> Foreign:
    """Known by namespace and id, wherever it was read; the namespace chooses no scope."""
    found = _plain(record)
    namespace = record.get("namespace")
    own = {name: value for name, value in found.metadata.items() if name != "namespace"}
    told = {"s3.namespace": namespace} if namespace not in (None, "", ".") else {}
    return replace(found, place=json.dumps([namespace, found.place]), metadata={**own, **told})


def _list(found: Any, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not isinstance(found, list):
        raise SourceError(f"{path.name} holds no list of records")
    for number, record in enumerate(found, 1):
        where = f"record {number} of {path.name}"
        yield where, _object(record, where)


SOURCES: Mapping[str, Callable[[Path], Iterator[Found]]] = {
    "jsonl": jsonl,
    "csv": csv_rows,
    "markdown": markdown,
    "strands-files": markdown,
    "strands-json": strands_json,
    "mem0": mem0,
    "s3-agent-memory": s3_agent_memory,
    "langgraph": langgraph,
}
