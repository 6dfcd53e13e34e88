"""Due: when an entry has to be looked at again by whoever sweeps, written beside it by its store.

A job that runs, or an erasure, moves its time on with every step, for each step writes it anew. So what is
due has stood still. What is waited for by people or by law is listed apart, so that it can be counted.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING
from zlib import crc32

from unsay_core.application.ledger import Head, Reviewable, Waiting
from unsay_core.domain.memory import Memory, Status
from unsay_core.extraction.conversation import Ready, Run
from unsay_core.jobs.erasure import Erasure
from unsay_core.jobs.job import Job, JobState

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.application.ledger import Entry

STILL_FOR = timedelta(minutes=10)  # a job that has not moved for so long is called again
CALLED_WITHIN = timedelta(
    hours=1
)  # a batch whose call was lost is called again; the bus keeps trying that long
SHARDS = 8  # over which the due entries of all scopes are spread


class Listing(StrEnum):
    """The lists of the index of what is due; an entry stands in one at most."""

    DUE = "due"
    ERASURES = "erasure"  # that are at work, due or not
    CANDIDATES = "candidate"  # by when they began to wait for a person; nothing is done about them here


def listing_of(entry: Entry, now: datetime) -> tuple[Listing, datetime] | None:
    """The list in which an entry stands that is written now, and the time by which it is sorted there."""
    if isinstance(entry, Reviewable):
        return (Listing.CANDIDATES, entry.since) if entry.waiting is Waiting.CANDIDATE else None
    at = due_at(entry, now)
    if at is None:
        return None
    return Listing.ERASURES if isinstance(entry, Erasure) else Listing.DUE, at


def due_at(entry: Entry, now: datetime) -> datetime | None:
    """When an entry that is written now has to be looked at; None for never."""
    match entry:
        case Memory(status=Status.ACTIVE | Status.CANDIDATE, lapsed=False, fact=fact):
            return fact.expires_at
        case Job(state=JobState.RUNNING):
            return now + STILL_FOR
        case Erasure(is_over=False):
            return now + STILL_FOR
        case Run(quiet_at=quiet_at):
            return quiet_at
        case Ready():
            return now + CALLED_WITHIN
        case Head(tidy_at=tidy_at):
            return tidy_at
        case _:
            return None


def shard_of(scope_id: str) -> int:
    """The shard that the entries of a scope are due in."""
    return crc32(scope_id.encode("ascii")) % SHARDS
