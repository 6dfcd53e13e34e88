"""Writing from a plan: as many facts in a transaction as fit, the last of them with the end of the batch."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unsay_core.application.conversations import call_next, run_happening
from unsay_core.application.digests import duplicate_digest
from unsay_core.application.draft import Draft
from unsay_core.application.ledger import (
    batch_ref,
    duplicate_ref,
    memory_ref,
    message_ref,
    plan_ref,
    ready_ref,
    run_ref,
    slot_ref,
)
from unsay_core.application.planning import counted
from unsay_core.application.policy import (
    RESTATED,
    PolicyError,
    refuse_tombstoned,
    standing_tombstones,
    tell_refused,
    tombstone_refs,
)
from unsay_core.application.quotes import find_quote
from unsay_core.application.remember import Remember, decide
from unsay_core.application.settle import settle
from unsay_core.application.slots import overlapping
from unsay_core.domain.audit import Event
from unsay_core.domain.errors import InvalidRequestError, QuotaExceededError
from unsay_core.domain.memory import Status, Trust
from unsay_core.extraction.conversation import BatchState
from unsay_core.extraction.steering import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.domain.memory import Fact
    from unsay_core.domain.tombstone import Tombstone
    from unsay_core.extraction.conversation import Batch, Message, Plan, Planned
    from unsay_core.extraction.steering import Steering

ITEMS_MOST = 100  # of a transaction
ITEMS_END = 7  # head, audit entry, run, batch, plan, two markers
ITEMS_EACH = 6  # memory, duplicate, marker, audit entry, place in the review queue or slot, tombstone check
ITEMS_REPLACED = 10  # for each memory that a fact takes the place of, or interrupts


@dataclass
class _Progress:
    """What became of the facts of a plan, in one transaction."""

    written: int
    created: list[str]
    merged: list[str]
    dropped: Counter[str] = field(default_factory=Counter)


def write_plan(
    plan: Plan,
    batch: Batch,
    steering: Steering,
    opened: OpenScope,
    world: World,
    done: Callable[[Batch], None],
) -> bool:
    """Write what is left of a plan; False if the lease was lost on the way. Raises `BusyError`.

    `done` is told of the batch by whoever ends it.
    """
    while True:
        outcome = settle(lambda: _write_some(plan, batch, steering, opened, world, done), world)
        if outcome is not None:
            return outcome


def _write_some(
    plan: Plan,
    batch: Batch,
    steering: Steering,
    opened: OpenScope,
    world: World,
    done: Callable[[Batch], None],
) -> bool | None:
    """One transaction; True when the batch is done with it, False if it is somebody else's, None in between.

    The head is read before everything that the facts are held against, so whatever changes meanwhile moves
    the head and stops the transaction.
    """
    run_id, number = plan.run_id, plan.number
    places = [run_ref(run_id), batch_ref(run_id, number), plan_ref(run_id, number), ready_ref(run_id, number)]
    draft = Draft(opened, world.clock.now(), places)
    now, current = draft.get(plan_ref(run_id, number)), draft.get(batch_ref(run_id, number))
    if current is None or current.revision != batch.revision:
        return current is not None and current.state is BatchState.DONE
    if now is None:
        return True
    left = now.facts[now.written :]
    draft.load(*(ref for planned in left for ref in _refs(planned, now, opened)))
    progress = _Progress(now.written, list(now.created), list(now.merged), Counter(_counts(now)))
    writer = _Writer(draft, now, steering, opened, world)
    for planned in left:
        if draft.size + writer.cost(planned) > ITEMS_MOST - ITEMS_END and progress.written > now.written:
            break
        writer.write(planned, progress)
        progress.written += 1
    if progress.written == len(now.facts):
        ended = _finish(progress, batch, draft, opened)
        draft.commit()
        done(ended)
        return True
    draft.put(_advanced(now, progress))
    draft.rely_on(batch_ref(run_id, number))
    draft.commit()
    return None


def _counts(plan: Plan) -> dict[str, int]:
    return {each.reason: each.count for each in plan.dropped}


def _advanced(plan: Plan, progress: _Progress) -> Plan:
    return replace(
        plan,
        written=progress.written,
        created=tuple(progress.created),
        merged=tuple(progress.merged),
        dropped=counted(progress.dropped),
        revision=plan.revision + 1,
    )


def _finish(progress: _Progress, batch: Batch, draft: Draft, opened: OpenScope) -> Batch:
    """The batch is done: its plan goes, and the next one has its turn."""
    run_id, number = batch.run_id, batch.number
    done = replace(
        batch,
        state=BatchState.DONE,
        lease_until=None,
        error=None,
        created=tuple(progress.created),
        merged=tuple(dict.fromkeys(progress.merged)),
        dropped=counted(progress.dropped),
        revision=batch.revision + 1,
    )
    draft.put(done)
    draft.delete(plan_ref(run_id, number))
    draft.delete(ready_ref(run_id, number))
    run = draft.get(run_ref(run_id))
    if run is not None:
        run = run.without(number)
        draft.put(run)
        call_next(run, draft, opened)
    draft.record(run_happening(Event.EXTRACTED, run_id, opened, related=done.created))
    return done


def _refs(planned: Planned, plan: Plan, opened: OpenScope) -> list[Ref[Any]]:
    """What one fact is held against."""
    fact = planned.fact
    refs: list[Ref[Any]] = [
        message_ref(plan.run_id, planned.seq),
        duplicate_ref(duplicate_digest(opened.keys, fact)),
        *tombstone_refs(opened, fact.content),
        *tombstone_refs(opened, planned.quote),
    ]
    refs += [slot_ref(fact.key)] if fact.key else []
    refs += [memory_ref(planned.same_as)] if planned.same_as else []
    return refs


@dataclass(frozen=True, slots=True)
class _Writer:
    """Puts the facts of a plan into one draft."""

    draft: Draft
    plan: Plan
    steering: Steering
    opened: OpenScope
    world: World

    def cost(self, planned: Planned) -> int:
        """How many items of the transaction a fact takes at most."""
        return ITEMS_EACH + ITEMS_REPLACED * len(overlapping(self.draft, planned.fact))

    def write(self, planned: Planned, progress: _Progress) -> None:
        """Store a fact, or a reason why not."""
        message = self.draft.get(message_ref(self.plan.run_id, planned.seq))
        if message is None or not _still_says(message, planned.quote):
            progress.dropped["forgotten"] += 1
            return
        fact = self._in_time(planned.fact, message)
        graves = self._graves(planned)
        restated = bool(graves) and all(_said_after(message, grave) for grave in graves)
        doubts = [*planned.reasons, *self._doubts(fact, message), *([RESTATED] if restated else [])]
        try:
            if not restated:
                refuse_tombstoned(self.draft, graves)
            written = decide(
                self._command(planned, fact, doubts, message), self.draft, self.opened, self.world
            )
        except PolicyError as refused:
            progress.dropped[tell_refused(refused, "extract", self.world).code] += 1
        except InvalidRequestError:
            progress.dropped["slot_is_full"] += 1
        except QuotaExceededError as full:
            progress.dropped[full.code] += 1
        else:
            into = progress.created if written.created else progress.merged
            into.append(written.memory.id)

    def _command(self, planned: Planned, fact: Fact, doubts: Sequence[str], message: Message) -> Remember:
        return Remember(
            fact=fact,
            run_id=self.plan.run_id,
            message_seqs=(planned.seq,),
            quote=planned.quote,
            channel="extract",
            trust=Trust.ASSERTED if planned.is_asserted else Trust.INFERRED,
            memory_id=planned.memory_id,
            model=self.plan.model,
            actor=message.actor,
            doubts=tuple(dict.fromkeys(doubts)),
            same_as=planned.same_as,
        )

    def _graves(self, planned: Planned) -> list[Tombstone]:
        """The tombstones of what a fact says, and of the words it was made from."""
        texts = dict.fromkeys((planned.fact.content, planned.quote))
        return [grave for text in texts for grave in standing_tombstones(self.draft, self.opened, text)]

    def _doubts(self, fact: Fact, message: Message) -> list[str]:
        """Why a person has to look first, as things stand now."""
        doubts = ["policy_review"] if self.steering.mode is Mode.REVIEW else []
        refs = overlapping(self.draft, fact)
        self.draft.load(*refs)
        rivals = [memory for ref in refs if (memory := self.draft.get(ref))]
        if any(rival.trust is Trust.VERIFIED for rival in rivals):
            doubts.append("contradicts_verified")
        if any(_is_newer(rival.fact.valid_from or rival.recorded_at, message) for rival in rivals):
            doubts.append("older_than_known")
        return doubts

    def _in_time(self, fact: Fact, message: Message) -> Fact:
        """A fact under a key ends where a later one begins that was known before it: by when it was said."""
        if not fact.key or fact.valid_to is not None or fact.valid_from is None:
            return fact
        refs = overlapping(self.draft, fact)
        self.draft.load(*refs)
        starts = [
            memory.fact.valid_from
            for ref in refs
            if (memory := self.draft.get(ref)) and memory.status is Status.ACTIVE and memory.fact.valid_from
        ]
        later = [start for start in starts if start > fact.valid_from]
        return replace(fact, valid_to=min(later)) if later else fact


def _still_says(message: Message, quote: str) -> bool:
    return any(find_quote(text, quote) for text in message.texts)


def _said_after(message: Message, grave: Tombstone) -> bool:
    return message.dated is not None and message.dated > grave.at


def _is_newer(start: datetime, message: Message) -> bool:
    return start > message.time
