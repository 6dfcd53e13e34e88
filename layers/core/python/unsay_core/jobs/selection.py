"""What a forget selects: single memories, those of certain fields, a conversation, or everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from unsay_core.domain.memory import Memory, Source


def sources_of(memory: Memory) -> tuple[Source, ...]:
    """Everything a memory rests on."""
    return (memory.source, *memory.corroborations)


def rests_on(memory: Memory, run_id: str) -> bool:
    """True if a conversation is among what a memory rests on."""
    return any(source.run_id == run_id for source in sources_of(memory))


def _has_metadata(memory: Memory, wanted: Mapping[str, Any]) -> bool:
    return all(memory.fact.metadata.get(name, ...) == value for name, value in wanted.items())


def _has_expired(memory: Memory, before: str) -> bool:
    ends = memory.fact.expires_at
    return ends is not None and ends <= datetime.fromisoformat(before)


_FIELDS: Mapping[str, Callable[[Memory, Any], bool]] = {
    "kind": lambda memory, kind: memory.fact.kind.value == kind,
    "tags": lambda memory, tags: set(tags) <= set(memory.fact.tags),
    "key": lambda memory, key: memory.fact.key == key,
    "path": lambda memory, path: list(memory.fact.path) == list(path),
    "run_id": rests_on,
    "before": lambda memory, at: memory.recorded_at < datetime.fromisoformat(at),
    "after": lambda memory, at: memory.recorded_at >= datetime.fromisoformat(at),
    "metadata": _has_metadata,
    "expired_before": _has_expired,
}


@dataclass(frozen=True, slots=True)
class Selection:
    """A selector, ready to be asked."""

    ids: frozenset[str] | None = None
    run_id: str | None = None
    fields: Mapping[str, Any] | None = None
    everything: bool = False

    @classmethod
    def of(cls, selector: Mapping[str, Any]) -> Selection:
        """The selection of a selector as a receipt keeps it."""
        ids = selector.get("ids")
        return cls(
            ids=None if ids is None else frozenset(ids),
            run_id=selector.get("run_id"),
            fields=selector.get("filter"),
            everything=bool(selector.get("all")),
        )

    def takes(self, memory: Memory) -> bool:
        """True if a memory is one of those selected."""
        if self.everything or (self.ids is not None and memory.id in self.ids):
            return True
        if self.run_id is not None:
            return rests_on(memory, self.run_id)
        return bool(self.fields) and all(
            _FIELDS[name](memory, value) for name, value in (self.fields or {}).items()
        )

    def takes_run(self, run_id: str) -> bool:
        """True if a conversation goes as a whole."""
        return self.everything or self.run_id == run_id
