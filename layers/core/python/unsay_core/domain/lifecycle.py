"""What may happen to a memory: one table of legal moves, everything else is an error with a name.

Trust is another matter: a disputed memory stays `active`, and is withheld because of its trust.
"""

from __future__ import annotations

from enum import StrEnum

from unsay_core.domain.errors import WrongStatusError
from unsay_core.domain.memory import Status


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


def after(status: Status, act: Act) -> Status:
    """The status an act leads to; raises `WrongStatusError` if it may not happen in this one."""
    try:
        return TRANSITIONS[status, act]
    except KeyError:
        raise WrongStatusError(f"a memory that is {status} cannot take the act {act}") from None


def drawing() -> str:
    """The table as a Mermaid state diagram, for the documentation."""
    lines = [f"    {start} --> {end}: {act}" for (start, act), end in TRANSITIONS.items()]
    return "\n".join(
        ["stateDiagram-v2", "    [*] --> active: remember", "    [*] --> candidate: infer", *lines]
    )
