"""Every alarm: what it watches, from when on it is one, and the page that says what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from infra.lines import Native, Own
from unsay_core.metrics import (
    AUDIT_ENTRY_CHANGED,
    BATCHES,
    CHAIN_VERIFIED,
    DEGRADED_RECALLS,
    ERASURES_PENDING,
    FOREIGN_HITS,
    OLDEST_CANDIDATE,
    OLDEST_ERASURE,
    OLDEST_PENDING,
    RECALL_TIME,
    STS_FAILURES,
    STUCK_JOBS,
)

if TYPE_CHECKING:
    from infra.lines import Line

MINUTE, HOUR, DAY = 60, 3_600, 86_400
VISIBLE = "ApproximateNumberOfMessagesVisible"


class Silence(StrEnum):
    """What no data in a period means."""

    GOOD = "notBreaching"
    BAD = "breaching"


@dataclass(frozen=True)
class Alarm:
    """One alarm: it goes off when its line is at `threshold` or above, or below it if `is_floor`.

    `page` is the page of the runbook without its ending; `says` stands in the description, before the link.
    """

    name: str
    page: str
    says: str
    line: Line
    threshold: float
    minutes: int = 5
    silence: Silence = Silence.GOOD
    is_floor: bool = False


def _dead_letters(name: str) -> Alarm:
    """One for each queue, so that the alarm's name says which work failed."""
    says = f"Work of the {name} λ was given up and waits for an operator."
    line = Native(f"{name} dead letters", VISIBLE, "Maximum")
    return Alarm(f"{name.capitalize()}DeadLetters", "dead-letters", says, line, 1)


def _foreign_hits(service: str) -> Alarm:
    says = "The index answered with what lies in another scope; it was dropped."
    line = Own(FOREIGN_HITS, service, "Sum")
    return Alarm(f"{service.capitalize()}ForeignHits", "foreign-hits", says, line, 1)


ALARMS = (
    Alarm("ServerErrors", "server-errors", "The API answered 5xx.", Native("api", "5xx", "Sum"), 1),
    Alarm(
        "RecallSlow",
        "recall-slow",
        "One recall in a hundred takes two seconds or more.",
        Own(RECALL_TIME, "api", "p99"),
        2_000,
        minutes=10,
    ),
    Alarm(
        "RecallDegraded",
        "recall-degraded",
        "Recalls go without a store, or without a part of one.",
        Own(DEGRADED_RECALLS, "api", "Sum"),
        5,
    ),
    Alarm(
        "StsFailures",
        "sts-failures",
        "No credentials can be had for scopes: calls are answered 503.",
        Own(STS_FAILURES, "api", "Sum"),
        3,
    ),
    Alarm(
        "ProjectionLate",
        "projection-late",
        "What was committed has waited for five minutes to be told on.",
        Native("project function", "IteratorAge", "Maximum"),
        5 * MINUTE * 1_000,
    ),
    Alarm(
        "IndexLate",
        "index-late",
        "The index does not show what was asked of it a quarter of an hour ago.",
        Own(OLDEST_PENDING, "index", "Maximum"),
        15 * MINUTE,
    ),
    *(_dead_letters(name) for name in ("index", "project", "extract", "jobs")),
    Alarm(
        "ExtractionStalls",
        "extraction-stalls",
        "Batches of conversations go back to the queue again and again.",
        Own(BATCHES, "extract", "Sum", at=("state", "queued")),
        10,
        minutes=15,
    ),
    Alarm(
        "SweepSilent",
        "sweep-silent",
        "Nobody has looked for ten minutes at what is due.",
        Own(ERASURES_PENDING, "sweep", "SampleCount"),
        1,
        minutes=10,
        silence=Silence.BAD,
        is_floor=True,
    ),
    Alarm(
        "StuckJobs",
        "stuck-jobs",
        "Jobs or erasures stand still and are called again and again.",
        Own(STUCK_JOBS, "sweep", "Sum"),
        3,
        minutes=60,
    ),
    Alarm(
        "ErasureLate",
        "erasure-late",
        "An erasure that was asked for six hours ago is not proven yet.",
        Own(OLDEST_ERASURE, "sweep", "Maximum"),
        6 * HOUR,
    ),
    Alarm(
        "CandidatesWait",
        "candidates-wait",
        "A candidate has waited for a person for a week.",
        Own(OLDEST_CANDIDATE, "sweep", "Maximum"),
        7 * DAY,
    ),
    # Nothing of the service may do these, so somebody with an administrator's rights has.
    Alarm(
        "ProjectAuditEntryChanged",
        "audit-entry-changed",
        "An audit entry was changed or removed: verify the scope named in the log.",
        Own(AUDIT_ENTRY_CHANGED, "project", "Sum"),
        1,
    ),
    Alarm(
        "ChainBroken",
        "chain-broken",
        "An audit chain was verified and does not hold.",
        Own(CHAIN_VERIFIED, "api", "Sum", at=("result", "broken")),
        1,
    ),
    _foreign_hits("api"),
    _foreign_hits("mcp"),
    _foreign_hits("extract"),
)
PAGES = tuple(dict.fromkeys(alarm.page for alarm in ALARMS))
