"""Conversations and policies as callers get them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from unsay_core.contracts.conversations import CHARACTERS_PER_TOKEN
from unsay_core.domain.timeline import rfc3339
from unsay_core.extraction.conversation import UPLOAD_BYTES, BatchState

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.application.progress import Progress
    from unsay_core.application.read_conversations import Conversation
    from unsay_core.application.uploads import Address
    from unsay_core.extraction.conversation import Batch, Message, Run, Upload
    from unsay_core.extraction.steering import Steering


def recorded_answer(found: Progress) -> dict[str, Any]:
    """What became of the messages of a request."""
    return {
        "accepted": found.accepted,
        "duplicates": found.duplicates,
        "high_water": found.high_water,
        "extraction": _extraction(found),
    }


def handed_answer(found: Progress) -> dict[str, Any]:
    """Where a conversation stands once it was handed over."""
    return {"run_id": found.run_id, "high_water": found.high_water, "extraction": _extraction(found)}


def address_answer(upload: Upload, address: Address, now: datetime) -> dict[str, Any]:
    """Where a transcript is put, and how."""
    return {
        "id": upload.id,
        "run_id": upload.run_id,
        "method": address.method,
        "url": address.url,
        "headers": dict(address.headers),
        "expires_at": rfc3339(now + timedelta(seconds=address.seconds)),
        "max_bytes": UPLOAD_BYTES,
    }


def run_answer(run: Run) -> dict[str, Any]:
    """A conversation, without its messages."""
    return {
        "run_id": run.run_id,
        "started_at": rfc3339(run.started_at),
        "last_at": rfc3339(run.last_at),
        "message_count": run.messages,
        "high_water": run.high_water,
        "extracted_through": run.extracted_through,
        "waiting": len(run.waiting),
        "failed": len(run.failed),
    }


def conversation_answer(found: Conversation) -> dict[str, Any]:
    """A conversation with a page of its messages; the caller adds the cursor."""
    first = found.run.open[0].number if found.run.open else None
    return {
        **run_answer(found.run),
        "messages": [message_answer(message) for message in found.messages.entries],
        "batches": [_batch(batch, first) for batch in found.batches],
        "uploads": [_upload(upload) for upload in found.uploads],
    }


def message_answer(message: Message) -> dict[str, Any]:
    """A message as it is kept."""
    return {
        "seq": message.seq,
        "role": message.role.value,
        "content": message.blocks,
        "at": rfc3339(message.said_at) if message.said_at else None,
        "stored_at": rfc3339(message.stored_at),
        "name": message.name,
        "redacted": [reason.value for reason in message.redacted],
    }


def policy_answer(steering: Steering) -> dict[str, Any]:
    """The policy of a root."""
    cadence, merging, kept = steering.cadence, steering.consolidation, steering.retention
    return {
        "extraction": steering.mode.value,
        "secrets": "allow" if steering.allows_secrets else "refuse",
        "cadence": {
            "user_turns": cadence.turns,
            "tokens": cadence.size // CHARACTERS_PER_TOKEN,
            "idle_seconds": cadence.idle,
        },
        "instructions": {"keep": steering.keep, "never_keep": steering.never_keep},
        "budget": {"daily_tokens": steering.daily_tokens},
        "quotas": asdict(steering.quotas),
        "consolidation": {
            "every_days": merging.every_days,
            "threshold": merging.threshold,
            "cosine": merging.cosine,
            "text": "model" if merging.by_model else "longest",
        },
        "retention": {"memories_days": kept.memories_days, "messages_days": kept.messages_days},
    }


def _extraction(found: Progress) -> dict[str, Any]:
    return {
        "state": found.state,
        "waiting": found.waiting,
        "batches": [str(number) for number in found.batches],
    }


def _upload(upload: Upload) -> dict[str, Any]:
    return {
        "id": upload.id,
        "asked_at": rfc3339(upload.asked_at),
        "state": upload.state.value,
        "error": upload.error,
    }


def _batch(batch: Batch, first: int | None) -> dict[str, Any]:
    waits = batch.state is BatchState.QUEUED and batch.number != first
    return {
        "id": str(batch.number),
        "from_seq": min(batch.seqs),
        "to_seq": max(batch.seqs),
        "state": (BatchState.WAITING if waits else batch.state).value,
        "attempts": batch.attempts,
        "created": list(batch.created),
        "merged": list(batch.merged),
        "dropped": [{"reason": each.reason, "count": each.count} for each in batch.dropped],
        "error": batch.error,
    }
