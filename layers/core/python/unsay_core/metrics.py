"""Every metric of the service: what it is called, counts in, is told by, and what it says.

This is all there is: whatever tells a metric takes one of these, and `docs/metrics.md` is made from them.
No dimension carries a text, a key or the name of a scope; `root` is the keyed digest of a root's name, as
the log has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMESPACE = "unsay"
SERVICE = "service"  # the dimension that every metric has: the λ that tells it


class Unit(StrEnum):
    """What a metric counts in, as CloudWatch calls it; dollars have no unit there."""

    COUNT = "Count"
    SECONDS = "Seconds"
    MILLISECONDS = "Milliseconds"
    BYTES = "Bytes"
    DOLLARS = "None"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: the λs that tell it, its dimensions beside theirs, and what its number says."""

    name: str
    unit: Unit
    services: tuple[str, ...]
    meaning: str
    dimensions: tuple[str, ...] = ()

    def check(self, dimensions: Mapping[str, str]) -> None:
        """Raise `ValueError` unless these are its dimensions: another set would be another metric."""
        if set(dimensions) != set(self.dimensions):
            raise ValueError(f"{self.name} has these dimensions: {self.dimensions}")


class Signals(Protocol):
    """Where metrics are told."""

    def tell(
        self, metric: Metric, value: float = 1, *, whose: Mapping[str, str] | None = None, **dimensions: str
    ) -> None:
        """Say a number; `whose`, by ids of scope and root, stands beside it and makes no metric of its own.

        Raises `ValueError` unless the dimensions are the metric's.
        """


class Silent:
    """See `Signals`: nobody watches."""

    def tell(
        self, metric: Metric, value: float = 1, *, whose: Mapping[str, str] | None = None, **dimensions: str
    ) -> None:
        """Nothing is kept."""


SILENT: Signals = Silent()

_ALL_THAT_OPEN = ("api", "mcp", "project", "index", "extract", "jobs", "sweep")

RECALL_TIME = Metric(
    "RecallTime",
    Unit.MILLISECONDS,
    ("api", "mcp"),
    "How long a recall took, from its body to its answer; p50 and p99 are drawn.",
)
DEGRADED_RECALLS = Metric(
    "DegradedRecalls",
    Unit.COUNT,
    ("api", "mcp"),
    "A recall went without a store, or without a part of one.",
    ("reason",),
)
FOREIGN_HITS = Metric(
    "ForeignHits",
    Unit.COUNT,
    ("api", "mcp", "extract"),
    "The index answered with what lies in another scope; it was dropped. Must not happen.",
)
TOMBSTONE_HITS = Metric(
    "TombstoneHits",
    Unit.COUNT,
    ("api", "mcp", "extract", "jobs"),
    "A write would have brought back what was taken back, and was refused.",
    ("channel",),
)
REFUSALS = Metric(
    "Refusals",
    Unit.COUNT,
    ("api", "mcp"),
    "A call, or an item of a batch, was answered 429: for a quota of `memories`, `bytes` or `messages`, or"
    " for the rate of `requests`.",
    ("reason",),
)
CHAIN_VERIFIED = Metric(
    "ChainVerified",
    Unit.COUNT,
    ("api",),
    "Somebody had an audit chain verified: `whole`, `part` of it so far, or `broken`.",
    ("result",),
)
STS_FAILURES = Metric(
    "StsFailures",
    Unit.COUNT,
    _ALL_THAT_OPEN,
    "No credentials could be had for a scope: the call was answered 503, the work comes again.",
)
WRITE_TO_RECALLABLE = Metric(
    "WriteToRecallable",
    Unit.SECONDS,
    ("index",),
    "From the commit of a write until the index itself was seen to hold it. Recall shows it before that too.",
)
INDEX_LAG = Metric(
    "IndexLag",
    Unit.SECONDS,
    ("index",),
    "From the commit of a write until the index was first asked to follow.",
)
OLDEST_PENDING = Metric(
    "OldestPending",
    Unit.SECONDS,
    ("index",),
    "Age of work that the index was looked at for and does not show yet; the maximum is the oldest.",
)
MEMORY_BYTES = Metric(
    "MemoryBytes",
    Unit.BYTES,
    ("project",),
    "Size of the content of a memory that was written; the average is bytes per memory.",
)
AUDIT_ENTRY_CHANGED = Metric(
    "AuditEntryChanged",
    Unit.COUNT,
    ("project",),
    "An audit entry was changed or removed, which nothing of the service may do. Must not happen.",
)
CANDIDATES_WAITING = Metric(
    "CandidatesWaiting",
    Unit.COUNT,
    ("sweep",),
    "Candidates that wait for a person, in all scopes; at most some thousands are counted.",
)
OLDEST_CANDIDATE = Metric(
    "OldestCandidate", Unit.SECONDS, ("sweep",), "How long the candidate has waited that waits longest."
)
ERASURES_PENDING = Metric("ErasuresPending", Unit.COUNT, ("sweep",), "Erasures that are not complete yet.")
OLDEST_ERASURE = Metric(
    "OldestErasure", Unit.SECONDS, ("sweep",), "How long ago the oldest of them was asked for."
)
STUCK_JOBS = Metric(
    "StuckJobs",
    Unit.COUNT,
    ("sweep",),
    "A job or an erasure had not moved for ten minutes, and was called again.",
)
MODEL_TOKENS = Metric(
    "ModelTokens", Unit.COUNT, ("extract", "jobs"), "Tokens that a model was paid for.", ("root",)
)
MODEL_COST = Metric(
    "ModelCost",
    Unit.DOLLARS,
    ("extract", "jobs"),
    "What those tokens cost, in US dollars; told where the model has a price.",
    ("root",),
)
MODEL_TIME = Metric(
    "ModelTime",
    Unit.SECONDS,
    ("extract", "jobs"),
    "How long the model took over a batch, in all its questions.",
)
BATCHES = Metric(
    "Batches",
    Unit.COUNT,
    ("extract",),
    "A batch of messages came to be `extracting`, `queued` again, `done` or `failed`.",
    ("state",),
)
BATCHES_FAILED = Metric(
    "BatchesFailed", Unit.COUNT, ("extract",), "Batches that failed for good, by why.", ("reason",)
)
FACTS_KEPT = Metric("FactsKept", Unit.COUNT, ("extract",), "Facts of a batch that became memories.")
FACTS_DROPPED = Metric(
    "FactsDropped", Unit.COUNT, ("extract",), "Facts of a batch that did not, by why.", ("reason",)
)

MEMORIES_MERGED = Metric(
    "MemoriesMerged", Unit.COUNT, ("jobs",), "Memories that a consolidation put into another."
)

CATALOGUE = (
    RECALL_TIME,
    DEGRADED_RECALLS,
    FOREIGN_HITS,
    TOMBSTONE_HITS,
    REFUSALS,
    CHAIN_VERIFIED,
    STS_FAILURES,
    WRITE_TO_RECALLABLE,
    INDEX_LAG,
    OLDEST_PENDING,
    MEMORY_BYTES,
    AUDIT_ENTRY_CHANGED,
    CANDIDATES_WAITING,
    OLDEST_CANDIDATE,
    ERASURES_PENDING,
    OLDEST_ERASURE,
    STUCK_JOBS,
    MODEL_TOKENS,
    MODEL_COST,
    MODEL_TIME,
    BATCHES,
    BATCHES_FAILED,
    FACTS_KEPT,
    FACTS_DROPPED,
    MEMORIES_MERGED,
)
