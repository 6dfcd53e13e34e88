"""Retention: what a root's policy keeps no longer goes, a page at a time, as the scope is tidied every day.

Memories are forgotten as by a selection, their ids for good, their values not: nobody has taken them back.
Messages lose their words alone: what was made of them still names them, and one that is sent again is known.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from unsay_core.application.conversations import run_happening
from unsay_core.application.forget_selection import MOST_FENCES, ForgetSelection, fence_off
from unsay_core.application.ledger import ref_of
from unsay_core.application.redaction import mapped
from unsay_core.domain.audit import Event
from unsay_core.domain.memory import Memory, Reason
from unsay_core.domain.timeline import rfc3339
from unsay_core.domain.tombstone import TombstoneKind
from unsay_core.extraction.conversation import Message, Redaction
from unsay_core.extraction.credentials import REDACTED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unsay_core.application.draft import Draft
    from unsay_core.application.ledger import Entry
    from unsay_core.application.ports import JobScope, World
    from unsay_core.extraction.steering import Retention

MEMORIES, MESSAGES = "memories_before", "messages_before"  # in the request of the job


def kept_since(policy: Retention, now: datetime) -> dict[str, str | None]:
    """Before when memories and messages have to go; None for those that stay."""
    days = {MEMORIES: policy.memories_days, MESSAGES: policy.messages_days}
    return {name: rfc3339(now - timedelta(days=n)) if n else None for name, n in days.items()}


def has_outlived(page: Sequence[Entry], request: Mapping[str, Any]) -> bool:
    """True if a memory of a page has to go."""
    before = _instant(request.get(MEMORIES))
    return before is not None and any(isinstance(m, Memory) and m.recorded_at < before for m in page)


def forget_outlived(request: Mapping[str, Any], draft: Draft, scope: JobScope, world: World) -> None:
    """Begin to erase the memories that have to go, unless too many erasures are at work: then tomorrow."""
    if len(draft.head.fences) < MOST_FENCES:
        selector = {"filter": {"before": request[MEMORIES]}}
        command = ForgetSelection(selector, Reason.POLICY, TombstoneKind.ID)
        fence_off(world.new_id("era"), command, scope, draft)


def outlived_messages(page: Sequence[Entry], request: Mapping[str, Any]) -> list[Message]:
    """The messages of a page that have to lose their words."""
    before = _instant(request.get(MESSAGES))
    return [
        entry
        for entry in page
        if before is not None and isinstance(entry, Message) and entry.stored_at < before
        if Redaction.EXPIRED not in entry.redacted
    ]


def blank(messages: Sequence[Message], draft: Draft, scope: JobScope) -> None:
    """Take the words out of some messages, with one entry in the audit log for each conversation."""
    for message in messages:
        found = draft.get(ref_of(message))
        if isinstance(found, Message):
            blocks = mapped(found.blocks, lambda text: REDACTED if text.strip() else text)
            draft.put(found.cleared(blocks, [Redaction.EXPIRED]))
    for run_id in dict.fromkeys(message.run_id for message in messages):
        draft.record(run_happening(Event.REDACTED, run_id, scope, reason=Reason.POLICY.value))


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
