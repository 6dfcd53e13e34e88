"""What callers send to forget many memories at once, or those that have expired."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from unsay_core.contracts.base import (
    Instant,
    Key,
    MemoryId,
    Metadata,
    Note,
    Path,
    RunId,
    ScopeField,
    Tags,
    Wire,
)
from unsay_core.contracts.requests import KindField, ReasonField
from unsay_core.domain.memory import Kind
from unsay_core.domain.timeline import rfc3339

MOST_IDS = 500


class SelectedFields(Wire):
    """Fields that a memory must have to be forgotten: all of those named. Of `tags`, each one."""

    kind: KindField | None = None
    tags: Annotated[Tags, Field(min_length=1)] | None = None
    key: Key | None = None
    path: Path | None = None
    run_id: RunId | None = None
    before: Instant | None = None
    after: Instant | None = None
    metadata: Annotated[Metadata, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _names_something(self) -> SelectedFields:
        if not self.stated():
            raise ValueError("name at least one field; to forget everything, say all and confirm it")
        return self

    def stated(self) -> dict[str, Any]:
        """The fields that were named, as a receipt keeps them."""
        named = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: _as_kept(value) for name, value in named.items() if value is not None}


def _as_kept(value: Any) -> Any:
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Kind) else value


class Selector(Wire):
    """What to forget: exactly one of these."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"filter": {"tags": ["trip"]}}]})

    ids: Annotated[list[MemoryId], Field(min_length=1, max_length=MOST_IDS)] | None = None
    filter: SelectedFields | None = None
    run_id: RunId | None = None
    all: Literal[True] | None = None
    confirm: ScopeField | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Selector:
        ways = (self.ids, self.filter, self.run_id, self.all)
        if sum(way is not None for way in ways) != 1:
            raise ValueError("exactly one of ids, filter, run_id, all")
        if (self.all is None) != (self.confirm is None):
            raise ValueError("all is confirmed by the name of the scope, and nothing else is")
        return self

    def kept(self) -> dict[str, Any]:
        """The selector as a receipt keeps it."""
        if self.ids is not None:
            return {"ids": list(dict.fromkeys(self.ids))}
        if self.filter is not None:
            return {"filter": self.filter.stated()}
        return {"run_id": self.run_id} if self.run_id is not None else {"all": True}


class ForgetIn(Wire):
    """`POST /v1/forget`. A dry run answers with what is selected; `cursor` goes on where one ended."""

    scope: ScopeField
    selector: Selector
    reason: ReasonField
    note: Note | None = None
    tombstone: Literal["value", "id"] = "value"
    dry_run: bool = False
    cursor: str | None = None

    @model_validator(mode="after")
    def _is_confirmed(self) -> ForgetIn:
        confirmed = self.selector.confirm
        if confirmed is not None and confirmed != self.scope:
            raise ValueError("confirm names another scope than the one that would be erased")
        return self


class PruneIn(Wire):
    """`POST /v1/prune`."""

    scope: ScopeField
    note: Note | None = None
    dry_run: bool = False
    cursor: str | None = None
