"""Conversations: messages are kept once, and become due in batches, in one transaction with the marker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from unsay_core.application.ledger import batch_ref, message_ref, ready_ref, run_ref
from unsay_core.application.progress import once, progress_of
from unsay_core.application.quotas import within_quota
from unsay_core.application.redaction import Graves, strings, without_credentials
from unsay_core.application.settle import change
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.errors import NotFoundError, SeqConflictError
from unsay_core.extraction.conversation import (
    MOST_MESSAGES,
    Batch,
    BatchState,
    Cadence,
    Message,
    Ready,
    Run,
    Span,
    Unread,
    cut,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from unsay_core.application.draft import Draft
    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.application.progress import Progress
    from unsay_core.application.replay import IdempotencyKey
    from unsay_core.extraction.conversation import Role, Upload
    from unsay_core.extraction.steering import Steering

MOST_COUNTED = 20  # tombstones whose hits are counted in one transaction
RETRIED_AT_ONCE = 40
IN_ONE = Cadence(turns=MOST_MESSAGES, size=10**9)  # as few batches as there can be


@dataclass(frozen=True, slots=True)
class Said:
    """A message as it was sent; `identity` are the bytes by which it is told from another one."""

    seq: int
    role: Role
    blocks: Any
    identity: bytes
    said_at: datetime | None = None
    name: str | None = None


def record(
    run_id: str,
    messages: Sequence[Said],
    steering: Steering,
    opened: OpenScope,
    world: World,
    *,
    flush: bool,
    key: IdempotencyKey | None = None,
    only_while: Ref[Upload] | None = None,
) -> Progress:
    """Keep messages, all of them or none; what they make due is handed to the extractor.

    Raises `SeqConflictError` if a number has another message, `TooLargeError`, `BusyError`, and
    `NotFoundError` once the upload that they come from, `only_while` it is there, is gone.
    """

    def decide(draft: Draft) -> Progress:
        return once(key, run_id, draft, lambda: act(draft))

    def act(draft: Draft) -> Progress:
        if only_while is not None:
            _require(only_while, draft)
        run = draft.get(run_ref(run_id)) or Run(run_id, started_at=draft.at, last_at=draft.at)
        digests = {message.seq: opened.keys.message_digest(message.identity) for message in messages}
        new = _new(run_id, messages, digests, draft)
        if new:
            allows = steering.allows_secrets
            kept = [
                _message(run_id, each, digests[each.seq], draft.at, opened, allows_secrets=allows)
                for each in new
            ]
            within_quota(draft, opened, partial(_store, kept, draft, opened))
            run = _grown(run, new, draft.at, steering)
        if new or flush:
            run = _hand_over(run, steering.cadence, draft, opened, everything=flush)
        return progress_of(run, steering, accepted=len(new), duplicates=len(messages) - len(new))

    refs = [run_ref(run_id), *(message_ref(run_id, message.seq) for message in messages)]
    refs += [*([only_while] if only_while else []), *([key.ref] if key else [])]
    return change(decide, opened, world, lambda: refs)


def flush_run(
    run_id: str, steering: Steering, opened: OpenScope, world: World, key: IdempotencyKey | None = None
) -> Progress:
    """Hand everything that waits to the extractor; raises `NotFoundError` for an unknown run."""

    def act(draft: Draft) -> Run:
        return _hand_over(_known(run_id, draft), steering.cadence, draft, opened, everything=True)

    return _changed(run_id, act, steering, opened, world, key)


def flush_quiet(run_id: str, opened: OpenScope, world: World) -> None:
    """Hand over what waits of a run that has gone quiet; one in which somebody has spoken since has time.

    What waits is less than its root's policy makes a batch of: so it is one, and no policy is asked.
    """

    def decide(draft: Draft) -> None:
        run = draft.get(run_ref(run_id))
        if run is not None and run.quiet_at is not None and run.quiet_at <= draft.at:
            _hand_over(run, IN_ONE, draft, opened, everything=True)

    change(decide, opened, world, lambda: [run_ref(run_id)])


def call_again(run_id: str, number: int, opened: OpenScope, world: World) -> None:
    """Write the marker of a batch anew, if it is still there: the call that it led to may have been lost."""

    def decide(draft: Draft) -> None:
        marker = draft.get(ready_ref(run_id, number))
        if marker is not None:
            draft.put(replace(marker, revision=marker.revision + 1))

    change(decide, opened, world, lambda: [ready_ref(run_id, number)])


def retry_run(
    run_id: str, steering: Steering, opened: OpenScope, world: World, key: IdempotencyKey | None = None
) -> Progress:
    """Let failed batches be tried again, from their first attempt, behind those that wait."""

    def act(draft: Draft) -> Run:
        run = _known(run_id, draft)
        again = run.failed[:RETRIED_AT_ONCE]
        if not again:
            return run
        draft.load(*(batch_ref(run_id, span.number) for span in again))
        for batch in filter(None, (draft.get(batch_ref(run_id, span.number)) for span in again)):
            draft.put(_again(batch))
        ready = not run.open
        run = replace(
            run, open=(*run.open, *again), failed=run.failed[len(again) :], revision=run.revision + 1
        )
        draft.put(run)
        if ready:
            call_next(run, draft, opened)
        draft.record(run_happening(Event.RETRIED, run.run_id, opened))
        return run

    return _changed(run_id, act, steering, opened, world, key)


def _changed(
    run_id: str,
    act: Callable[[Draft], Run],
    steering: Steering,
    opened: OpenScope,
    world: World,
    key: IdempotencyKey | None,
) -> Progress:
    def decide(draft: Draft) -> Progress:
        return once(key, run_id, draft, lambda: progress_of(act(draft), steering))

    refs = [run_ref(run_id), *([key.ref] if key else [])]
    return change(decide, opened, world, lambda: refs)


def call_next(run: Run, draft: Draft, opened: OpenScope) -> None:
    """Leave the marker of the batch whose turn it is, from which the extractor is called."""
    for span in run.open[:1]:
        ref = ready_ref(run.run_id, span.number)
        known = draft.get(ref)
        revision = known.revision + 1 if known else 1
        draft.put(Ready(run.run_id, span.number, opened.scope.canonical, revision))


def run_happening(event: Event, run_id: str, opened: OpenScope, **more: Any) -> Happening:
    """An event of a conversation, which the audit knows by a digest of its name."""
    return Happening(event, commitment=opened.keys.run_digest(run_id), **more)


def _require(upload: Ref[Upload], draft: Draft) -> None:
    """What came of a forgotten conversation is not written after it."""
    if draft.get(upload) is None:
        raise NotFoundError("this upload is not expected any more")
    draft.rely_on(upload)


def _known(run_id: str, draft: Draft) -> Run:
    run = draft.get(run_ref(run_id))
    if run is None:
        raise NotFoundError("no such conversation in this scope")
    return run


def _again(batch: Batch) -> Batch:
    return replace(
        batch,
        state=BatchState.QUEUED,
        attempts=0,
        abandoned=0,
        error=None,
        dropped=(),
        lease_until=None,
        revision=batch.revision + 1,
    )


def _new(run_id: str, messages: Sequence[Said], digests: dict[int, str], draft: Draft) -> list[Said]:
    """The messages that are not there yet; one that is sent twice in a request is taken once."""
    new: dict[int, Said] = {}
    for message in messages:
        known = draft.get(message_ref(run_id, message.seq))
        twice = new.get(message.seq)
        if known and known.digest != digests[message.seq]:
            raise SeqConflictError("a message of this run was sent before with other words", seq=message.seq)
        if twice and twice.identity != message.identity:
            raise SeqConflictError("two messages of this request have one number", seq=message.seq)
        if not known:
            new.setdefault(message.seq, message)
    return list(new.values())


def _message(
    run_id: str, said: Said, digest: str, at: datetime, opened: OpenScope, *, allows_secrets: bool
) -> Message:
    words = [said.blocks, said.name]
    (blocks, name), redacted = (words, ()) if allows_secrets else without_credentials(words)
    return Message(
        run_id=run_id,
        seq=said.seq,
        role=said.role,
        blocks=blocks,
        actor=opened.principal.id,
        stored_at=at,
        digest=digest,
        said_at=said.said_at,
        name=name if name == said.name else None,
        redacted=redacted,
    )


def _store(messages: Sequence[Message], draft: Draft, opened: OpenScope) -> None:
    """Keep messages without what may not be kept, in the name of one audit entry."""
    graves = Graves.over((text for m in messages for text in strings([m.blocks, m.name])), draft, opened)
    redacted = False
    for message in messages:
        (blocks, _), reasons = graves.cleared([message.blocks, message.name], message.dated)
        stored = message
        if reasons:
            stored = replace(message, blocks=blocks, name=None, redacted=(*message.redacted, *reasons))
        redacted = redacted or bool(stored.redacted)
        draft.put(stored)
    for grave in list(graves.hit.values())[:MOST_COUNTED]:
        draft.put(replace(grave, hits=grave.hits + 1, seq=draft.seq))
    draft.note_messages(len(messages))
    reason = "redacted" if redacted else None
    draft.record(run_happening(Event.RECORDED, messages[0].run_id, opened, reason=reason))


def _grown(run: Run, new: Sequence[Said], at: datetime, steering: Steering) -> Run:
    waiting = [_unread(message) for message in new] if steering.extracts else []
    return replace(
        run,
        last_at=at,
        low_water=min(run.low_water if run.messages else new[0].seq, *(message.seq for message in new)),
        high_water=max(run.high_water, *(message.seq for message in new)),
        messages=run.messages + len(new),
        waiting=(*run.waiting, *waiting),
        quiet_at=_quiet_at(at, steering.cadence.idle),
        revision=run.revision + 1,
    )


def _quiet_at(at: datetime, idle: int | None) -> datetime | None:
    return None if idle is None else at + timedelta(seconds=idle)


def _unread(message: Said) -> Unread:
    size = sum(map(len, strings(message.blocks)))
    return Unread(message.seq, size, message.role.is_user)


def _hand_over(run: Run, cadence: Cadence, draft: Draft, opened: OpenScope, *, everything: bool) -> Run:
    """Cut what is due off what waits; the first batch in line gets its marker."""
    found = cut(run.waiting, cadence, everything=everything)
    numbers = range(run.batches + 1, run.batches + 1 + len(found.due))
    for number, seqs in zip(numbers, found.due, strict=True):
        draft.put(Batch(run.run_id, number, seqs))
    idle = not run.open
    spans = (Span(number, seqs[0]) for number, seqs in zip(numbers, found.due, strict=True))
    handed = replace(
        run,
        waiting=found.waiting,
        batches=run.batches + len(found.due),
        open=(*run.open, *spans),
        quiet_at=run.quiet_at if found.waiting else None,
    )
    if handed == draft.get(run_ref(run.run_id)):
        return run
    handed = replace(handed, revision=max(run.revision, 1) + 1)
    draft.put(handed)
    if idle:
        call_next(handed, draft, opened)
    return handed
