"""A job: work on a scope that outlasts a request, done step by step and resumed from wherever it stopped."""

from __future__ import annotations

from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from unsay_core.domain.values import dataclass

MOST_PROBLEMS = 100  # kept of one job; `result` counts them all


class JobKind(StrEnum):
    """What a job does."""

    EXPORT = "export"
    IMPORT = "import"
    TIDY = "tidy"
    CONSOLIDATE = "consolidate"


class JobState(StrEnum):
    """Where a job stands; a waiting one lacks something that its caller has yet to bring."""

    WAITING = "waiting"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class JobProblem:
    """What was not done: where in the input, and the code of the refusal. Never a word of it."""

    at: int
    code: str


@dataclass(frozen=True, slots=True)
class Job:
    """One job, as far as it has come.

    `request` is what was asked for and by what right, `progress` where the next step begins, `result` what
    the caller is told; each is the kind's own JSON. `epoch` counts the erasures that had happened when it
    began: what was read before an erasure is not written after it.
    """

    id: str
    kind: JobKind
    state: JobState
    actor: str
    requested_at: datetime
    epoch: int
    request: dict[str, Any] = field(default_factory=dict)
    progress: dict[str, Any] = field(default_factory=dict)
    done: int = 0
    total: int | None = None
    result: dict[str, Any] = field(default_factory=dict)
    problems: tuple[JobProblem, ...] = ()
    finished_at: datetime | None = None
    revision: int = 1
    trace: str | None = None  # of whoever asked for it

    @property
    def is_called_for(self) -> bool:
        """True if it may run and nobody has begun: its first step leaves progress."""
        return self.state is JobState.RUNNING and not self.progress

    @property
    def is_over(self) -> bool:
        """True if nothing more is going to happen."""
        return self.state in (JobState.COMPLETE, JobState.FAILED)

    def moved(self, **changes: Any) -> Job:
        """The job one step further."""
        problems = changes.pop("problems", self.problems)[:MOST_PROBLEMS]
        return replace(self, revision=self.revision + 1, problems=problems, **changes)

    def ended(self, at: datetime, *problems: JobProblem, **changes: Any) -> Job:
        """The job at its end: complete, or failed for a problem."""
        state = JobState.FAILED if problems else JobState.COMPLETE
        return self.moved(state=state, finished_at=at, problems=(*problems, *self.problems), **changes)
