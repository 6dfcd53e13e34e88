"""Answers as a person reads them, and as JSON without a digit lost."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from unsay_core.contracts import exact_json
from unsay_core.domain.timeline import rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import RenderableType

    from unsay_core.contracts import schemas
    from unsay_core.contracts.schemas import Answer
    from unsay_core.contracts.transfers import JobOut

_HARMLESS = "\n\t\u200c\u200d"  # the joiners that emoji and Persian are written with
_WHOLE = frozenset({"id", "batch", "scope"})  # what is copied from a table is never cut short
_STYLES = {
    "active": "green",
    "candidate": "yellow",
    "disputed": "yellow",
    "superseded": "dim",
    "expired": "dim",
    "retracted": "red",
    "rejected": "red",
    "pending": "yellow",
    "complete": "green",
    "absent": "green",
    "failed": "red",
    "retained": "magenta",
}


def as_json(answer: Answer) -> str:
    """An answer as the service sent it: numbers with their digits, times in UTC."""
    return exact_json.dumps(_plain(answer.model_dump(by_alias=True)))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, more: object = None) -> RenderableType:
    """A plain table; says where it goes on when there is more."""
    drawn = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        drawn.add_column(name, no_wrap=name in _WHOLE)
    for row in rows:
        drawn.add_row(*map(_cell, row))
    if not drawn.row_count:
        return Text("nothing there", style="dim")
    return Group(drawn, Text(f"more: --cursor {more}", style="dim")) if more else drawn


def memory(found: schemas.MemoryOut) -> RenderableType:
    """One memory: its words, and what is known of them."""
    facts: dict[str, object] = {
        "status": found.status,
        "trust": found.trust,
        "kind": found.kind,
        "key": found.key,
        "tags": ", ".join(found.tags),
        "true": _interval(found.valid_from, found.valid_to),
        "believed": _interval(found.recorded_at, found.invalidated_at),
        "expires": found.expires_at,
        "replaced by": found.superseded_by,
        "replaces": ", ".join(found.supersedes),
        "from": f"{found.source.channel} by {found.source.actor}",
        "quote": found.source.quote,
        "data": None if found.data is None else exact_json.dumps(found.data),
        "metadata": exact_json.dumps(found.metadata) if found.metadata else None,
    }
    title = f"{found.id} · version {found.version} · {escape(visible(found.scope))}"
    return Panel(
        Group(Text(found.content, style="bold"), Text(), _pairs(facts)), title=title, title_align="left"
    )


def memories(page: schemas.ListOut) -> RenderableType:
    """A page of memories."""
    rows = ((m.id, m.status, m.trust, m.recorded_at, m.content) for m in page.items)
    drawn = table(("id", "status", "trust", "recorded", "memory"), rows, more=page.next_cursor)
    damaged = ", ".join(page.unreadable or ())
    return Group(drawn, Text(f"damaged, see unsay doctor: {damaged}", style="red")) if damaged else drawn


def recalled(found: schemas.RecallOut) -> RenderableType:
    """What answers a question, best first, and why there may be more."""
    rows = ((f"{i.score:.2f}", i.memory.id, i.memory.trust, i.memory.content) for i in found.items)
    drawn = table(("score", "id", "trust", "memory"), rows)
    said = ", ".join(found.reasons)
    return Group(drawn, Text(said, style="yellow" if found.degraded else "dim")) if said else drawn


def history(found: schemas.HistoryOut) -> RenderableType:
    """What it said, and what happened to it."""
    versions = ((m.version, m.status, m.trust, m.updated_at, m.content) for m in found.versions)
    return Group(
        table(("version", "status", "trust", "since", "memory"), versions), Text(), _events(found.events)
    )


def events(page: schemas.AuditOut) -> RenderableType:
    """Entries of the audit log."""
    return Group(_events(page.items), Text(f"more: --cursor {page.next_cursor}" if page.next_cursor else ""))


def receipt(found: schemas.ErasureOut) -> RenderableType:
    """What was forgotten, and what is proven of each store."""
    said: dict[str, object] = {
        "state": found.state,
        "reason": found.reason,
        "requested": found.requested_at,
        "completed": found.completed_at,
        "matched": found.matched,
        "erased": found.erased,
        "tombstones": found.tombstones,
        "audit entry": found.audit_seq,
    }
    stores = ((s.store, s.state, s.until, s.proof) for s in found.stores)
    drawn = [_pairs(said), Text(), table(("store", "state", "until", "proof"), stores)]
    if found.cascade:
        went = ((c.id, c.outcome, c.why) for c in found.cascade)
        drawn += [Text(), table(("went along", "outcome", "why"), went)]
    return Panel(Group(*drawn), title=found.id, title_align="left")


def selected(found: schemas.SelectedOut) -> RenderableType:
    """What would be forgotten."""
    more = " or more" if found.next else ""
    return Group(Text(f"{found.matched}{more} would be forgotten"), *map(Text, found.ids))


def job(found: JobOut) -> RenderableType:
    """How far a job is, and what came of it."""
    refused = found.result.get("refused") or {}
    counts = {name: count for name, count in found.result.items() if isinstance(count, int)}
    said = {"kind": found.kind, "state": found.state, "done": found.done, **counts}
    rows = [(code, count) for code, count in refused.items()]
    problems = [(p.at or "", p.code) for p in found.problems]
    drawn = [_pairs(said)]
    drawn += [Text(), table(("refused", "lines"), rows)] if rows else []
    drawn += [Text(), table(("line", "why"), problems)] if problems else []
    return Panel(Group(*drawn), title=found.id, title_align="left")


def verification(found: schemas.VerifyOut) -> RenderableType:
    """Whether the chain is whole."""
    anchored = f"{found.anchored.seq} at {_cell(found.anchored.at)}" if found.anchored else "not yet"
    return _pairs(
        {
            "chain": "whole" if found.ok else f"BROKEN at entry {found.first_bad}",
            "walked": "to its end" if found.complete else f"in part; go on with --from {found.next}",
            "length": found.length,
            "head": found.head.hash,
            "anchored": anchored,
        }
    )


def statistics(found: schemas.StatisticsOut) -> RenderableType:
    """Counts of a scope."""
    groups = {"kind": found.kinds, "status": found.statuses, "trust": found.trusts}
    rows = [(group, name, count) for group, counts in groups.items() for name, count in counts.items()]
    lag = {"bytes": found.bytes, "index owes": found.index.pending, "since": found.index.oldest_pending}
    return Group(table(("", "", "memories"), rows), Text(), _pairs(lag))


def _events(found: Sequence[schemas.EventOut]) -> RenderableType:
    rows = ((e.seq, e.at, e.event, e.memory_id, e.reason, e.actor) for e in found)
    return table(("entry", "at", "event", "memory", "reason", "by"), rows)


def _pairs(facts: Mapping[str, object]) -> RenderableType:
    drawn = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        if value not in (None, ""):
            drawn.add_row(Text(name, style="dim"), _cell(value))
    return drawn


def _interval(start: datetime | None, end: datetime | None) -> str:
    if start is None and end is None:
        return ""
    return f"{_cell(start) if start else '…'} – {_cell(end) if end else 'now'}"


def _cell(value: object) -> Text:
    """Memory text is shown as it is: what looks like markup in it is not obeyed."""
    if isinstance(value, datetime):
        return Text(value.strftime("%Y-%m-%d %H:%M"))
    shown = "" if value is None else str(value)
    return Text(visible(shown), style=_STYLES.get(shown, ""))


def visible(text: str) -> str:
    """Nothing that a terminal would obey: control and direction characters become marks."""
    return "".join(c if c.isprintable() or c in _HARMLESS else "\N{REPLACEMENT CHARACTER}" for c in text)


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return rfc3339(value)
        case Enum():
            return value.value
        case dict():
            return {name: _plain(member) for name, member in value.items()}
        case list():
            return [_plain(member) for member in value]
        case _:
            return value
