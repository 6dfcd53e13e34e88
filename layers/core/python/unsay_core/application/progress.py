"""How far a conversation is, as whoever hands something in is told: the same again for the same request."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from unsay_core.application.ledger import Outcome, run_ref
from unsay_core.application.replay import KEPT, earlier_outcome
from unsay_core.domain.errors import ForgottenError

if TYPE_CHECKING:
    from collections.abc import Callable

    from unsay_core.application.draft import Draft
    from unsay_core.application.replay import IdempotencyKey
    from unsay_core.extraction.conversation import Run
    from unsay_core.extraction.steering import Steering


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands, and how many messages of the request are new.

    `waiting` messages are in no batch yet, `batches` are handed over and not done.
    """

    run_id: str
    high_water: int
    state: str
    waiting: int
    batches: tuple[int, ...]
    accepted: int = 0
    duplicates: int = 0
    replayed: bool = False


def progress_of(run: Run, steering: Steering, *, accepted: int = 0, duplicates: int = 0) -> Progress:
    """Where a run stands."""
    state = "queued" if run.open else "waiting" if run.waiting else "idle"
    return Progress(
        run_id=run.run_id,
        high_water=run.high_water,
        state=state if steering.extracts else "off",
        waiting=len(run.waiting),
        batches=tuple(span.number for span in run.open),
        accepted=accepted,
        duplicates=duplicates,
    )


def once(key: IdempotencyKey | None, run_id: str, draft: Draft, act: Callable[[], Progress]) -> Progress:
    """What the request led to when it came first; else what it leads to, kept in the change's transaction.

    Raises `IdempotencyMismatchError`, and `ForgottenError` if the conversation is gone since.
    """
    earlier = earlier_outcome(key, draft)
    if earlier is not None:
        if draft.get(run_ref(run_id)) is None:
            raise ForgottenError("the conversation of this request has been forgotten")
        known = {**earlier.data, "batches": tuple(earlier.data["batches"])}
        return replace(Progress(**known), replayed=True)
    progress = act()
    if key is not None:
        ttl = int((draft.at + KEPT).timestamp())
        told = {**asdict(progress), "batches": list(progress.batches)}
        draft.put(Outcome(key.id, key.request_digest, 202, run_id, 0, ttl, data=told))
    return progress
