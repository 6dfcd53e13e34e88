"""Reading conversations: the runs of a scope, and one of them with its messages and batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from unsay_core.application.ledger import Area, batch_ref, run_ref
from unsay_core.application.pages import Page
from unsay_core.domain.errors import NotFoundError
from unsay_core.extraction.conversation import Batch, Message, Run, Upload

if TYPE_CHECKING:
    from unsay_core.application.ports import Ledger, OpenScope

NEWEST_BATCHES = 50  # shown beside those that are not done
MOST_BATCHES = 100  # of each kind
MOST_UPLOADS = 50
_BEHIND = "~"  # sorts behind every part of a run, and before the next run


@dataclass(frozen=True, slots=True)
class Conversation:
    """A run, a page of its messages, its batches, all that are not done and the newest, and its uploads."""

    run: Run
    messages: Page[Message]
    batches: tuple[Batch, ...]
    uploads: tuple[Upload, ...]


def list_runs(opened: OpenScope, *, after: str | None, limit: int) -> Page[Run]:
    """A page of the runs of a scope by their ids, one look each: a run's own entry comes before its parts."""
    found: list[Run] = []
    while len(found) < limit:
        beyond = found[-1].run_id if found else after
        entries = opened.ledger.page(
            Area.CONVERSATION, after=f"{beyond}#{_BEHIND}" if beyond else None, limit=1
        )
        if not entries:
            return Page(tuple(found), None)
        found.append(cast("Run", entries[0]))
    return Page(tuple(found), found[-1].run_id)


def read_run(run_id: str, opened: OpenScope, *, after: str | None, limit: int) -> Conversation:
    """One conversation; raises `NotFoundError`."""
    run = opened.ledger.read([run_ref(run_id)]).get(run_ref(run_id))
    if run is None:
        raise NotFoundError("no such conversation in this scope")
    messages = _messages(run_id, opened.ledger, after=after, limit=limit)
    return Conversation(run, messages, _batches(run, opened.ledger), _uploads(run_id, opened.ledger))


def _messages(run_id: str, ledger: Ledger, *, after: str | None, limit: int) -> Page[Message]:
    entries = ledger.page(Area.CONVERSATION, after=after or f"{run_id}#m#", limit=limit)
    found = tuple(e for e in entries if isinstance(e, Message) and e.run_id == run_id)
    more = len(found) == limit
    return Page(found, f"{run_id}#m#{found[-1].seq:016d}" if more else None)


def _uploads(run_id: str, ledger: Ledger) -> tuple[Upload, ...]:
    entries = ledger.page(Area.CONVERSATION, after=f"{run_id}#u#", limit=MOST_UPLOADS)
    return tuple(e for e in entries if isinstance(e, Upload) and e.run_id == run_id)


def _batches(run: Run, ledger: Ledger) -> tuple[Batch, ...]:
    unfinished = [*run.open[:MOST_BATCHES], *run.failed[:MOST_BATCHES]]
    newest = range(max(1, run.batches - NEWEST_BATCHES + 1), run.batches + 1)
    numbers = sorted({*newest, *(span.number for span in unfinished)})
    refs = [batch_ref(run.run_id, number) for number in numbers]
    found: list[Batch] = []
    for at in range(0, len(refs), 100):
        snapshot = ledger.read(refs[at : at + 100])
        found += [batch for ref in refs[at : at + 100] if (batch := snapshot.get(ref))]
    return tuple(found)
