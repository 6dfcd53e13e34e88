"""Records as DynamoDB items: where each area lies, and attribute values."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from unsay_core.adapters.records import entry_of_record, to_record
from unsay_core.application.due import listing_of, shard_of
from unsay_core.application.ledger import Area, Ref, ref_of
from unsay_core.application.ports import UnreadableError
from unsay_core.domain.timeline import rfc3339
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unsay_core.application.due import Listing
    from unsay_core.application.ledger import Entry

TEXT = "record"
SCHEMA = 1  # of an item whose entry does not say its own
DUE_SHARD, DUE_AT = "due_pk", "due_at"  # the keys of the sparse index of what is due
_KEYS = ("pk", "sk", DUE_SHARD, DUE_AT)
IN_RECORD = frozenset({Area.TOMBSTONE, Area.AUDIT})  # append-only, in a table of their own


@dataclass(frozen=True, slots=True)
class Place:
    """A scope's keys in the two tables: the partition of every area begins with the scope id."""

    scope_id: str
    ledger_table: str
    record_table: str

    def table(self, area: Area) -> str:
        """The table an area lies in."""
        return self.record_table if area in IN_RECORD else self.ledger_table

    def partition(self, area: Area) -> str:
        """The partition key of an area; `#` cannot occur in a scope id, so no prefix reaches another."""
        return f"{self.scope_id}#{area.value}"

    def key(self, ref: Ref[Any]) -> dict[str, Any]:
        """The primary key of an entry."""
        return {"pk": {"S": self.partition(ref.area)}, "sk": {"S": ref.id}}

    def item(self, entry: Entry, now: datetime | None = None) -> dict[str, Any]:
        """An entry with its key: what conditions compare stands apart, and the rest is one text.

        Reading maps of attribute values takes the client six times as long as reading the same as JSON. What
        has to be looked at some time says so, in `now`'s view, to the index of what is due.
        """
        apart: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        for name, value in ({"schema": SCHEMA} | to_record(entry)).items():
            (apart if _stands_apart(value) else rest)[name] = value
        text = json.dumps(rest, ensure_ascii=False, separators=(",", ":"))
        due = self._due(entry, now or datetime.now(UTC))
        return {**self.key(ref_of(entry)), **to_attributes(apart | due), TEXT: {"S": text}}

    def _due(self, entry: Entry, now: datetime) -> dict[str, Any]:
        listed = listing_of(entry, now)
        if listed is None:
            return {}
        listing, at = listed
        return {DUE_SHARD: due_shard(listing, shard_of(self.scope_id)), DUE_AT: rfc3339(at)}


def due_shard(listing: Listing, number: int) -> str:
    """The partition of a shard of a list in the index of what is due."""
    return f"{listing.value}#{number}"


def ref_of_item(item: Mapping[str, Any]) -> Ref[Entry]:
    """Where an item lies within its scope."""
    return Ref(Area(item["pk"]["S"].rpartition("#")[2]), item["sk"]["S"])


def entry_of_item(item: Mapping[str, Any]) -> Entry:
    """The entry an item holds; raises `UnreadableError`."""
    ref, record = ref_of_item(item), from_attributes(item)
    try:
        record |= json.loads(record.pop(TEXT))
    except (KeyError, TypeError, ValueError):
        raise UnreadableError(ref) from None
    return entry_of_record(ref, record)


def _stands_apart(value: Any) -> bool:
    """True for whole numbers, and for bytes, which JSON has not."""
    return isinstance(value, int | bytes) and not isinstance(value, bool)


def to_attributes(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record's members as attribute values."""
    return {name: _to_attribute(value) for name, value in record.items()}


def from_attributes(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item's members as a record, without its key."""
    return {name: _from_attribute(value) for name, value in item.items() if name not in _KEYS}


def _to_attribute(value: Any) -> dict[str, Any]:
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case str():
            return {"S": value}
        case bytes():
            return {"B": value}
        case list():
            return {"L": [_to_attribute(member) for member in value]}
        case dict():
            return {"M": to_attributes(value)}
        case _:
            raise TypeError(f"not part of a record: {type(value).__name__}")


def _from_attribute(attribute: Mapping[str, Any]) -> Any:
    ((kind, value),) = attribute.items()
    match kind:
        case "NULL":
            return None
        case "N":
            return int(value)
        case "L":
            return [_from_attribute(member) for member in value]
        case "M":
            return {name: _from_attribute(member) for name, member in value.items()}
        case _:
            return value
