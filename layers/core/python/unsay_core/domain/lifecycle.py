"""What may happen to a memory: one table of legal moves, everything else is an error with a name.

Three things are no moves. An active memory is expired from its `expires_at` on (`Memory.status_at`): the
table has nothing for it. A forget is possible in every status and leaves no memory. Trust is another matter:
a disputed memory stays `active`, and is withheld because of its trust.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from unsay_core.domain.errors import WrongStatusError
from unsay_core.domain.memory import Memory, Status, Trust


class Act(StrEnum):
    """What is done to a memory."""

    EDIT = "edit"
    SUPERSEDE = "supersede"
    RETRACT = "retract"
    DISPUTE = "dispute"
    APPROVE = "approve"
    REJECT = "reject"
    WEAKEN = "weaken"


TRANSITIONS: dict[tuple[Status, Act], Status] = {
    (Status.ACTIVE, Act.EDIT): Status.ACTIVE,
    (Status.ACTIVE, Act.SUPERSEDE): Status.SUPERSEDED,
    (Status.ACTIVE, Act.RETRACT): Status.RETRACTED,
    (Status.ACTIVE, Act.DISPUTE): Status.ACTIVE,
    (Status.ACTIVE, Act.APPROVE): Status.ACTIVE,
    (Status.ACTIVE, Act.REJECT): Status.REJECTED,
    (Status.ACTIVE, Act.WEAKEN): Status.CANDIDATE,
    (Status.CANDIDATE, Act.APPROVE): Status.ACTIVE,
    (Status.CANDIDATE, Act.REJECT): Status.REJECTED,
    (Status.CANDIDATE, Act.RETRACT): Status.RETRACTED,
    (Status.SUPERSEDED, Act.RETRACT): Status.RETRACTED,
}


def may(memory: Memory, act: Act, at: datetime) -> bool:
    """True if the act may happen to the memory at that time."""
    status = memory.status_at(at)
    if (status, memory.trust, act) == (Status.ACTIVE, Trust.VERIFIED, Act.APPROVE):
        return False  # a person has approved these very words: nothing is left to decide
    if act is Act.SUPERSEDE and memory.fact.is_item:
        return False  # an item is written over: it has no successors
    return (status, act) in TRANSITIONS


def after(memory: Memory, act: Act, at: datetime) -> Status:
    """The status an act leads to; raises `WrongStatusError` if it may not happen."""
    if not may(memory, act, at):
        status = memory.status_at(at)
        raise WrongStatusError(f"a memory that is {status} and {memory.trust} cannot take the act {act}")
    return TRANSITIONS[memory.status, act]
