"""What an erasure does and in whose name, and its receipt, which goes with everything that is done."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from unsay_core.application.jobs import OutrunError
from unsay_core.application.ledger import erasure_ref
from unsay_core.domain.values import dataclass
from unsay_core.jobs.erasure import MOST_CASCADED, SELECTED

if TYPE_CHECKING:
    from collections.abc import Callable

    from unsay_core.application.draft import Draft
    from unsay_core.domain.memory import Memory, Reason
    from unsay_core.domain.tombstone import TombstoneKind
    from unsay_core.jobs.erasure import Cascaded, Erasure


@dataclass(frozen=True, slots=True)
class Verdict:
    """One erasure. `begun` makes its receipt where none is stored yet.

    `memory_id` is the one memory that was asked for, if it was one. `is_doomed` tells what is going to be
    erased by this or another erasure, and so supports nothing. `said` collects the digests of the evidence,
    which is buried before there is a receipt. `why` is what the receipt says of
    those that it is about.
    """

    erasure_id: str
    reason: Reason
    bury: TombstoneKind
    begun: Callable[[Draft], Erasure]
    memory_id: str | None = None
    note: str | None = None
    is_doomed: Callable[[Memory], bool] = lambda _: False
    said: list[str] = field(default_factory=list)
    why: str = SELECTED

    def receipt(self, draft: Draft) -> Erasure | None:
        """The receipt as it is stored, or as the draft has it."""
        return draft.get(erasure_ref(self.erasure_id))


def begun_before(_draft: Draft) -> Erasure:
    """For a job, whose receipt is what it works on: raises `OutrunError`, for it is gone."""
    raise OutrunError("the receipt of this erasure is gone")


def put_receipt(
    draft: Draft, verdict: Verdict, change: Callable[[Erasure], Erasure], *also: Cascaded
) -> Erasure:
    """Put the receipt into a draft as it is after the draft's own part, which took `also` along.

    It names the first of these one by one, and counts them all.
    """
    started = verdict.receipt(draft) or verdict.begun(draft)
    changed = replace(
        change(started),
        cascade=(*started.cascade, *also)[:MOST_CASCADED],
        cascaded=started.cascaded + len(also),
        revision=started.revision + 1,
    )
    draft.put(changed)
    return changed
