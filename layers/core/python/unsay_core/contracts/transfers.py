"""Exports, imports and jobs as callers ask for them and see them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, WithJsonSchema, model_validator

from unsay_core.contracts.base import ScopeField, Wire, refuse
from unsay_core.contracts.schemas import Answer
from unsay_core.domain.timeline import rfc3339
from unsay_core.jobs.job import JobKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unsay_core.jobs.job import Job

MOST_ITEMS = 100
MOST_PARTS = 1_000

Include = Literal[
    "active", "candidate", "disputed", "history", "superseded", "retracted", "rejected", "expired"
]
JobId = Annotated[str, Field(min_length=1, max_length=64)]


class ExportIn(Wire):
    """`POST /v1/export`. `history` is what is no longer believed, and the versions of all that leaves."""

    scope: ScopeField
    include: Annotated[list[Include], Field(min_length=1, max_length=8)] | None = None  # what is active
    format: Literal["jsonl"] = "jsonl"


class UploadIn(Wire):
    """How many files are going to be brought."""

    parts: Annotated[int, Field(ge=1, le=MOST_PARTS)]


class ImportIn(Wire):
    """`POST /v1/import`: lines of an export as `items`; or files, one or `parts`, begun by the job's id.

    `items` are judged one by one, as an export writes them: `{"memory": {…}, "versions": […]}`.
    """

    scope: ScopeField
    items: (
        Annotated[
            list[Any],
            Field(min_length=1, max_length=MOST_ITEMS),
            WithJsonSchema(
                {"type": "array", "minItems": 1, "maxItems": MOST_ITEMS, "items": {"type": "object"}}
            ),
        ]
        | None
    ) = None
    upload: UploadIn | JobId | None = None
    on_conflict: Literal["skip", "newer", "fail"] = "skip"
    resurrect: bool = False

    @model_validator(mode="after")
    def _one_way_to_bring_them(self) -> ImportIn:
        if self.items is not None and self.upload is not None:
            raise refuse("items", "send items, or files; not both")
        return self


class JobProblemOut(Answer):
    """What was not done: which line, and the code of the refusal. `at` is 0 where no line is to blame."""

    at: int
    code: str


class JobOut(Answer):
    """A job. `done` and `total` are memories of an export and bytes of an import; no total is not known yet.

    `result` counts, and has the `links` to an export's `manifest` and `parts`, or to an import's `uploads`.
    """

    id: str
    kind: JobKind
    state: Literal["waiting", "running", "complete", "failed"]
    done: int
    total: int | None
    result: dict[str, Any]
    problems: list[JobProblemOut]
    requested_at: datetime
    finished_at: datetime | None


def job_answer(
    job: Job, links: Mapping[str, Sequence[Mapping[str, str]]], *, withdrawn: bool = False
) -> dict[str, Any]:
    """A job, with the addresses of its files; an export from before an erasure has none, and says so."""
    told = {name: value for name, value in job.result.items() if name not in ("manifest", "sha256")}
    return {
        "id": job.id,
        "kind": job.kind.value,
        "state": job.state.value,
        "done": job.done,
        "total": job.total,
        "result": {**told, **links, **({"withdrawn": True} if withdrawn else {})},
        "problems": [{"at": problem.at, "code": problem.code} for problem in job.problems],
        "requested_at": rfc3339(job.requested_at),
        "finished_at": rfc3339(job.finished_at) if job.finished_at else None,
    }
