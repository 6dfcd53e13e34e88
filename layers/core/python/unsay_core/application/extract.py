"""Extract: one batch of a conversation becomes memories, once, however often it is delivered.

Whoever works on a batch holds a lease. What is going to be written is stored as a plan before anything is;
a redelivery finds the plan and asks no model. A fault of the world costs the batch nothing; a reply that
cannot be used costs an attempt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from unsay_core.application.asking import LATEST
from unsay_core.application.conversations import call_next, run_happening
from unsay_core.application.draft import Draft
from unsay_core.application.ledger import HEAD, batch_ref, message_ref, plan_ref, ready_ref, run_ref
from unsay_core.application.metering import Gauges
from unsay_core.application.model import ModelUnavailableError, UnusableReplyError
from unsay_core.application.planning import Asking, counted, known_memories, make_plan, nothing_said
from unsay_core.application.ports import ConflictError
from unsay_core.application.settle import settle
from unsay_core.application.write_plan import write_plan
from unsay_core.domain.audit import Event
from unsay_core.domain.errors import BusyError
from unsay_core.extraction.conversation import BatchState, Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unsay_core.application.ledger import Head
    from unsay_core.application.metering import Meter
    from unsay_core.application.model import Model
    from unsay_core.application.ports import Ledger, OpenScope, World
    from unsay_core.extraction.conversation import Batch, Message, Run
    from unsay_core.extraction.steering import Steering

LEASE = timedelta(minutes=5)  # longer than a λ may run
MOST_ATTEMPTS = 3
MOST_ABANDONED = 10  # leases nobody gave back: what takes every worker down must end too
BACK_OFF = 5.0  # seconds
FENCED_PAUSE = 5.0  # seconds; what is said is not read while a part of it is being erased
BUDGET_PAUSE = 900.0  # seconds
CONTEXT = 4  # messages before a batch


@dataclass(frozen=True, slots=True)
class Extractor:
    """What extracting the batches of one scope takes.

    `give_up` tells an operator of a batch that failed; `prompt` is the name of one of `PROMPTS`.
    """

    opened: OpenScope
    world: World
    model: Model
    meter: Meter
    steering: Steering
    give_up: Callable[[str, int], None]
    prompt: str = LATEST

    @property
    def gauges(self) -> Gauges:
        """Where it is told what comes of it."""
        return Gauges(self.world.signals, self.opened.root_id, self.opened.id)


def extract(run_id: str, number: int, by: Extractor) -> float | None:
    """Work on a batch; None when nothing is left to do, else the seconds until it is worth another look."""
    draft = Draft(by.opened, by.world.clock.now(), [run_ref(run_id), batch_ref(run_id, number)])
    run, batch = draft.get(run_ref(run_id)), draft.get(batch_ref(run_id, number))
    if draft.head.fences:
        return FENCED_PAUSE
    if run is None or batch is None or batch.state.is_over or not _has_turn(run, number):
        return None  # done, or not its turn: whoever is before it calls it
    if batch.lease_until and batch.lease_until > draft.at:
        return (batch.lease_until - draft.at).total_seconds() + 1
    try:
        leased = _lease(batch, draft)
    except ConflictError:
        return 1.0  # somebody else was faster
    by.gauges.leased()
    if leased.abandoned > MOST_ABANDONED:
        _give_up(leased, "abandoned", by)
        return None
    return _work(leased, by)


def next_in_line(run_id: str, ledger: Ledger) -> int | None:
    """The batch whose turn it is in a run, if any waits."""
    run = ledger.read([run_ref(run_id)]).get(run_ref(run_id))
    return run.open[0].number if run and run.open else None


def _has_turn(run: Run, number: int) -> bool:
    return bool(run.open) and run.open[0].number == number


def _lease(batch: Batch, draft: Draft) -> Batch:
    leased = replace(
        batch,
        state=BatchState.EXTRACTING,
        lease_until=draft.at + LEASE,
        abandoned=batch.abandoned + (batch.lease_until is not None),
        revision=batch.revision + 1,
    )
    draft.put(leased)
    draft.commit()
    return leased


def _work(batch: Batch, by: Extractor) -> float | None:
    try:
        plan = _plan(batch, by)
        return None if write_plan(plan, batch, by.steering, by.opened, by.world, by.gauges.extracted) else 1.0
    except _Held as held:
        return _release(batch, held.reason, held.pause, by)
    except ModelUnavailableError as fault:
        by.meter.failed()
        return _release(batch, fault.reason, BACK_OFF, by)
    except UnusableReplyError as fault:
        return _attempted(batch, fault.reason, by)
    except (ConflictError, BusyError):  # a race was lost, the lease with it or not
        return _release(batch, batch.error, 1.0, by)


class _Held(Exception):
    def __init__(self, reason: str, pause: float) -> None:
        super().__init__(reason)
        self.reason, self.pause = reason, pause


def _plan(batch: Batch, by: Extractor) -> Plan:
    """The stored plan of a batch, or a new one, stored before anything is written from it."""
    refs = [HEAD, plan_ref(batch.run_id, batch.number)]
    found = by.opened.ledger.read(refs)
    known: Plan | None = found.get(plan_ref(batch.run_id, batch.number))
    if known is not None:
        return known
    head: Head | None = found.get(HEAD)
    plan = _made(batch, by, epoch=head.epoch if head else 0)
    draft = Draft(by.opened, by.world.clock.now(), [plan_ref(batch.run_id, batch.number)])
    _require_lease(batch, draft)
    draft.rely_on(batch_ref(batch.run_id, batch.number))
    draft.put(plan)
    draft.commit()
    return plan


def _made(batch: Batch, by: Extractor, *, epoch: int) -> Plan:
    messages = _messages(batch.run_id, batch.seqs, by.opened.ledger)
    if not by.steering.extracts:
        return _empty(batch, "policy_off", epoch)
    if nothing_said(messages):
        return _empty(batch, "nothing_said", epoch)
    now = by.world.clock.now()
    hindrance = by.meter.hindrance(now)
    if hindrance:
        raise _Held(hindrance, BUDGET_PAUSE if hindrance == "budget" else BACK_OFF)
    asking = Asking(by.model, by.steering, known_memories(messages, by.opened, by.world), by.prompt)
    before = _before(batch, by.opened.ledger)
    lenient = batch.attempts + 1 >= MOST_ATTEMPTS
    try:
        return make_plan(batch, messages, before, asking, by.opened, by.world, epoch=epoch, lenient=lenient)
    finally:
        if asking.questions:
            by.meter.answered(asking.tokens, now)
            by.gauges.asked(asking.tokens, asking.seconds, by.meter.cost(asking.tokens, asking.written))


def _empty(batch: Batch, reason: str, epoch: int) -> Plan:
    return Plan(batch.run_id, batch.number, "", epoch, (), dropped=counted({reason: 1}))


def _messages(run_id: str, seqs: Sequence[int], ledger: Ledger) -> list[Message]:
    """Messages that are still there, in their order; at most as many as one read takes."""
    refs = [message_ref(run_id, seq) for seq in sorted(seqs)]
    found = ledger.read(refs) if refs else None
    return [message for ref in refs if found and (message := found.get(ref))]


def _before(batch: Batch, ledger: Ledger) -> list[Message]:
    """The messages just before a batch, by which its first ones are understood."""
    first = min(batch.seqs)
    return _messages(batch.run_id, range(max(0, first - CONTEXT), first), ledger)


def _require_lease(batch: Batch, draft: Draft) -> None:
    """Raise `ConflictError` unless the batch is still as it was when it was leased."""
    ref = batch_ref(batch.run_id, batch.number)
    now = draft.get(ref)
    if now is None or now.revision != batch.revision:
        raise ConflictError("somebody else works on this batch")


def _attempted(batch: Batch, reason: str, by: Extractor) -> float | None:
    """A reply came to nothing: the batch has one attempt less."""
    spent = replace(batch, attempts=batch.attempts + 1)
    if spent.attempts >= MOST_ATTEMPTS:
        _give_up(spent, reason, by)
        return None
    return _release(spent, reason, BACK_OFF, by)


def _release(batch: Batch, reason: str | None, pause: float, by: Extractor) -> float:
    """Give the lease back, if it is still ours, with a word about why nothing came of it."""
    draft = Draft(by.opened, by.world.clock.now(), [batch_ref(batch.run_id, batch.number)])
    try:
        _require_lease(batch, draft)
        released = replace(
            batch, state=BatchState.QUEUED, lease_until=None, error=reason, revision=batch.revision + 1
        )
        draft.put(released)
        draft.commit()
    except ConflictError:
        return 1.0
    by.gauges.released()
    return pause


def _give_up(batch: Batch, reason: str, by: Extractor) -> None:
    """The batch has failed: an operator is told first, then the next one has its turn."""
    by.give_up(batch.run_id, batch.number)
    by.gauges.gave_up(reason)

    def attempt() -> None:
        run_id, number = batch.run_id, batch.number
        refs = [run_ref(run_id), batch_ref(run_id, number), ready_ref(run_id, number)]
        draft = Draft(by.opened, by.world.clock.now(), [*refs, plan_ref(run_id, number)])
        run, now = draft.get(run_ref(run_id)), draft.get(batch_ref(run_id, number))
        if run is None or now is None or now.revision != batch.revision:
            return
        failed = tuple(span for span in run.open if span.number == number)
        run = replace(run.without(number), failed=(*run.failed, *failed))
        draft.put(run)
        draft.put(
            replace(
                batch,
                state=BatchState.FAILED,
                error=reason,
                lease_until=None,
                revision=batch.revision + 1,
            )
        )
        draft.delete(ready_ref(run_id, number))
        draft.delete(plan_ref(run_id, number))
        call_next(run, draft, by.opened)
        draft.record(run_happening(Event.GIVEN_UP, run_id, by.opened, reason=reason))
        draft.commit()

    settle(attempt, by.world)
