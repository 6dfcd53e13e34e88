"""Import: lines of our own format, some to a transaction, each decided on as any other write is.

How far a job has come is committed with what it wrote: a step that is repeated finds the next line. An
erasure of the scope ends the job, for its lines are older than that; who wants the rest starts it again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unsay_core.application.draft import Draft
from unsay_core.application.import_lines import (
    LineConflictError,
    LineWriter,
    OnConflict,
    Rights,
    refs_of,
)
from unsay_core.application.ledger import HEAD, Head, job_ref
from unsay_core.application.settle import settle
from unsay_core.application.transfers import IMPORTS, Portable, remove_files, upload_name
from unsay_core.domain.errors import NotFoundError, UnsayError
from unsay_core.jobs.job import Job, JobProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unsay_core.application.ports import TransferScope, World

ITEMS_MOST = 100  # of a transaction
ITEMS_END = 3  # head, job, and one to spare
LINES_AT_ONCE = 20
CHUNK_BYTES = 256 * 1024
LONGEST_LINE = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the next line begins: its part, the byte, and its number in the whole import."""

    part: int
    offset: int
    line: int


@dataclass
class _Step:
    """What became of the lines of one transaction."""

    place: _Place
    read: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[JobProblem] = field(default_factory=list)

    def note(self, outcome: str, code: str | None) -> None:
        """Count a line."""
        if code is None:
            self.counts[outcome] += 1
        else:
            self.refused[code] += 1
            self.problems.append(JobProblem(self.place.line, code))

    def passed(self, length: int) -> None:
        """Go on to the line that follows."""
        place = self.place
        self.read += length
        self.place = _Place(place.part, place.offset + length, place.line + 1)


def import_step(job: Job, opened: TransferScope, world: World) -> Job:
    """Write some lines and note it; returns the job as it was committed.

    Memory is bounded by the longest line. Raises `BusyError`, `UnavailableError`.
    """
    lines = _lines_left(job, opened) if not job.is_over else []
    ended = settle(lambda: _attempt(job, lines, opened, world), world)
    if ended.is_over:
        remove_files(f"{IMPORTS}{job.id}/", opened.transfers)
    return ended


def _lines_left(job: Job, opened: TransferScope) -> list[bytes] | None:
    """The next lines; None if an erasure has taken the part away."""
    try:
        return _lines_at(_place(job), job.id, opened)
    except NotFoundError:
        return None


def _place(job: Job) -> _Place:
    progress = job.progress
    return _Place(progress.get("part", 1), progress.get("offset", 0), progress.get("line", 1))


def _attempt(job: Job, lines: list[bytes] | None, opened: TransferScope, world: World) -> Job:
    draft = Draft(opened, world.clock.now(), [job_ref(job.id)])
    found = draft.get(job_ref(job.id))
    if found is None or found.revision != job.revision or found.is_over:
        return found or job
    if lines is None or (draft.get(HEAD) or Head()).epoch != job.epoch:
        return _ended(job, draft, JobProblem(_place(job).line, "erased_meanwhile"))
    if not lines:
        return _next_part(job, draft)
    step = _Step(_place(job))
    try:
        _write(job, lines, step, draft, opened, world)
    except LineConflictError:
        return _stopped(job, step.place.line, opened, world)
    moved = _moved(job, step)
    draft.put(moved)
    draft.commit()
    return moved


def _ended(job: Job, draft: Draft, *problems: JobProblem) -> Job:
    ended = job.ended(draft.at, *problems)
    draft.put(ended)
    draft.commit()
    return ended


def _stopped(job: Job, line: int, opened: TransferScope, world: World) -> Job:
    """End at a line whose place is taken; the lines before it in this step are not written either."""
    draft = Draft(opened, world.clock.now(), [job_ref(job.id)])
    return _ended(job, draft, JobProblem(line, "conflict"))


def _next_part(job: Job, draft: Draft) -> Job:
    place = _place(job)
    if place.part >= job.request["parts"]:
        return _ended(job, draft)
    moved = job.moved(progress={"part": place.part + 1, "offset": 0, "line": place.line})
    draft.put(moved)
    draft.commit()
    return moved


def _write(
    job: Job, lines: list[bytes], step: _Step, draft: Draft, opened: TransferScope, world: World
) -> None:
    read = [_read(line, opened) for line in lines]
    draft.load(*(ref for each in read if isinstance(each, Portable) for ref in refs_of(each, opened)))
    writer = LineWriter(draft, rights_of(job), opened, world)
    for line, portable in zip(lines, read, strict=True):
        if isinstance(portable, Portable):
            if step.read and draft.size + writer.cost(portable) > ITEMS_MOST - ITEMS_END:
                return
            step.note(*writer.write(portable))
        elif portable is not None:
            step.note("refused", portable)
        step.passed(len(line))


def _read(line: bytes, opened: TransferScope) -> Portable | str | None:
    """The memory of a line, or the code of what is wrong with it; None where it is blank."""
    if not line.strip():
        return None
    if len(line) >= LONGEST_LINE:
        return "too_large"
    try:
        return opened.form.read(line)
    except UnsayError as refusal:
        return refusal.code


def rights_of(job: Job) -> Rights:
    """By what right a job imports, as it was when it was asked for."""
    request = job.request
    return Rights(
        job.id,
        OnConflict(request["on_conflict"]),
        is_reviewer=request["is_reviewer"],
        resurrect=request["resurrect"],
    )


def _moved(job: Job, step: _Step) -> Job:
    place, result = step.place, job.result
    counts = Counter({name: result.get(name, 0) for name in ("imported", "renewed", "merged", "skipped")})
    refused = Counter(result.get("refused", {}))
    return job.moved(
        progress={"part": place.part, "offset": place.offset, "line": place.line},
        done=job.done + step.read,
        result={**(counts + step.counts), "refused": dict(refused + step.refused)},
        problems=(*job.problems, *step.problems),
    )


def _lines_at(place: _Place, job_id: str, opened: TransferScope) -> list[bytes]:
    """The next lines of a part, whole, with their ends; none at its end.

    A line of `LONGEST_LINE` bytes or more comes in pieces of that length, each refused: no step holds more.
    """
    name, length = upload_name(job_id, place.part), CHUNK_BYTES
    while True:
        chunk = opened.transfers.read(name, place.offset, length)
        is_end = len(chunk) < length
        lines = list(_whole(chunk, is_end=is_end))[:LINES_AT_ONCE]
        if lines or is_end:
            return lines
        if length >= LONGEST_LINE:
            return [chunk]
        length *= 4


def _whole(chunk: bytes, *, is_end: bool) -> Iterator[bytes]:
    """The lines that end within a stretch, and at the end of a part the last one too."""
    start = 0
    while (end := chunk.find(b"\n", start)) >= 0:
        yield chunk[start : end + 1]
        start = end + 1
    if is_end and start < len(chunk):
        yield chunk[start:]
