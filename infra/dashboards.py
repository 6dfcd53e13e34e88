"""The four dashboards, as data: what is drawn where, and for whom."""

from __future__ import annotations

from dataclasses import dataclass

from infra.alarms import VISIBLE
from infra.lines import Line, Native, Own
from unsay_core.metrics import (
    AUDIT_ENTRY_CHANGED,
    BATCHES,
    BATCHES_FAILED,
    CANDIDATES_WAITING,
    CHAIN_VERIFIED,
    DEGRADED_RECALLS,
    ERASURES_PENDING,
    FACTS_DROPPED,
    FACTS_KEPT,
    FOREIGN_HITS,
    INDEX_LAG,
    MEMORIES_MERGED,
    MEMORY_BYTES,
    MODEL_COST,
    MODEL_TIME,
    MODEL_TOKENS,
    OLDEST_CANDIDATE,
    OLDEST_ERASURE,
    OLDEST_PENDING,
    RECALL_TIME,
    REFUSALS,
    STS_FAILURES,
    STUCK_JOBS,
    TOMBSTONE_HITS,
    WRITE_TO_RECALLABLE,
)

FUNCTIONS = ("api", "mcp", "authorizer", "project", "index", "extract", "jobs", "sweep")
QUEUES = ("index", "project", "extract", "jobs")


@dataclass(frozen=True)
class Graph:
    """One widget; what is measured in something else stands on the right."""

    title: str
    left: tuple[Line, ...]
    right: tuple[Line, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """Everything in it."""
        return self.left + self.right


@dataclass(frozen=True)
class Board:
    """A dashboard: whom it is for, and its graphs, two in a row."""

    name: str
    reader: str
    graphs: tuple[Graph, ...]


def _functions(name: str, statistic: str) -> tuple[Line, ...]:
    return tuple(Native(f"{function} function", name, statistic) for function in FUNCTIONS)


HEALTH = Board(
    "Health",
    "For the person on call: does it answer, how fast, and what lags behind.",
    (
        Graph(
            "Requests",
            (Native("api", "Count", "Sum"), Native("api", "4xx", "Sum"), Native("api", "5xx", "Sum")),
        ),
        Graph("Latency", (Native("api", "Latency", "p50"), Native("api", "Latency", "p99"))),
        Graph("Recall", (Own(RECALL_TIME, "api", "p50"), Own(RECALL_TIME, "api", "p99"))),
        Graph("Recalls that went without a store", (Own(DEGRADED_RECALLS, "api", "Sum", by="reason"),)),
        Graph(
            "From a write to the index",
            (
                Own(WRITE_TO_RECALLABLE, "index", "p50"),
                Own(WRITE_TO_RECALLABLE, "index", "p99"),
                Own(INDEX_LAG, "index", "p99"),
                Own(OLDEST_PENDING, "index", "Maximum"),
            ),
        ),
        Graph(
            "How far the projections lag",
            (
                Native("project function", "IteratorAge", "Maximum"),
                Native("index queue", "ApproximateAgeOfOldestMessage", "Maximum"),
            ),
            (Native("index queue", VISIBLE, "Maximum"),),
        ),
        Graph("Given up", tuple(Native(f"{name} dead letters", VISIBLE, "Maximum") for name in QUEUES)),
        Graph(
            "No credentials", tuple(Own(STS_FAILURES, name, "Sum") for name in ("api", "project", "index"))
        ),
        Graph("λ errors and throttles", _functions("Errors", "Sum") + _functions("Throttles", "Sum")),
        Graph("λ duration, p99", _functions("Duration", "p99")),
    ),
)
MEMORY = Board(
    "Memory",
    "What is believed, what waits for a person, and what is refused.",
    (
        Graph(
            "Facts of conversations",
            (Own(FACTS_KEPT, "extract", "Sum"), Own(FACTS_DROPPED, "extract", "Sum", by="reason")),
        ),
        Graph(
            "Batches",
            (Own(BATCHES, "extract", "Sum", by="state"), Own(BATCHES_FAILED, "extract", "Sum", by="reason")),
        ),
        Graph(
            "Candidates",
            (Own(CANDIDATES_WAITING, "sweep", "Maximum"),),
            (Own(OLDEST_CANDIDATE, "sweep", "Maximum"),),
        ),
        Graph("Memories written", (Own(MEMORY_BYTES, "project", "SampleCount"),)),
        Graph("Merged by consolidations", (Own(MEMORIES_MERGED, "jobs", "Sum"),)),
        Graph(
            "Refused by quota and rate",
            (Own(REFUSALS, "api", "Sum", by="reason"), Own(REFUSALS, "mcp", "Sum", by="reason")),
        ),
        Graph(
            "Hits dropped for their scope",
            tuple(Own(FOREIGN_HITS, name, "Sum") for name in ("api", "mcp", "extract")),
        ),
    ),
)
FORGETTING = Board(
    "Forgetting",
    "For the auditor: what is being erased, what was kept out, and whether the chains hold.",
    (
        Graph("Erasures at work", (Own(ERASURES_PENDING, "sweep", "Maximum"),)),
        Graph("The oldest of them", (Own(OLDEST_ERASURE, "sweep", "Maximum"),)),
        Graph(
            "Kept out by tombstones",
            (
                Own(TOMBSTONE_HITS, "api", "Sum", by="channel"),
                Own(TOMBSTONE_HITS, "extract", "Sum", by="channel"),
            ),
        ),
        Graph(
            "Jobs that stood still",
            (Own(STUCK_JOBS, "sweep", "Sum"),),
            (Native("jobs dead letters", VISIBLE, "Maximum"),),
        ),
        Graph("Audit chains verified", (Own(CHAIN_VERIFIED, "api", "Sum", by="result"),)),
        Graph("Audit entries changed", (Own(AUDIT_ENTRY_CHANGED, "project", "Sum"),)),
    ),
)
COST = Board(
    "Cost",
    "What is paid for: tokens, money, bytes and λ time.",
    (
        Graph("Tokens, by root", (Own(MODEL_TOKENS, "extract", "Sum", by="root"),)),
        Graph("US dollars for the model, by root", (Own(MODEL_COST, "extract", "Sum", by="root"),)),
        Graph("The model's time", (Own(MODEL_TIME, "extract", "p50"), Own(MODEL_TIME, "extract", "p99"))),
        Graph(
            "Bytes per memory",
            (Own(MEMORY_BYTES, "project", "Average"),),
            (Own(MEMORY_BYTES, "project", "Sum"),),
        ),
        Graph("Requests", (Native("api", "Count", "Sum"),)),
        Graph("λ invocations", _functions("Invocations", "Sum"), _functions("Duration", "Sum")),
    ),
)
BOARDS = (HEALTH, MEMORY, FORGETTING, COST)
