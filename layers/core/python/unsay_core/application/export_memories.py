"""Export: the memories of a scope as lines of JSON, a part for each step, and a manifest at the end.

A file's name has a digest of what is in it: two workers at one step, or one that was stopped and began again,
leave a file too many and never one that is not what the job says. What was erased since the job began may
stand in a part, so an erasure makes the job begin anew, and a finished export from before one is given to
nobody.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unsay_core.application.draft import Draft
from unsay_core.application.ledger import HEAD, Area, Head, job_ref, version_ref
from unsay_core.application.pages import Page, page_of
from unsay_core.application.settle import settle
from unsay_core.application.transfers import EXPORTS, Portable, remove_files
from unsay_core.domain.memory import Memory, Status, Trust
from unsay_core.domain.timeline import rfc3339
from unsay_core.jobs.job import Job, JobProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from unsay_core.application.ports import TransferScope, World

FORMAT = "unsay/1"
PART_BYTES = 4 * 1024 * 1024
READ_AT_ONCE = 100
MOST_VERSIONS = 100  # of one memory, the latest
MOST_RESTARTS = 20  # by erasures that came in between
HISTORY, DISPUTED = "history", "disputed"
_PAST = frozenset({Status.SUPERSEDED, Status.RETRACTED, Status.REJECTED, Status.EXPIRED})


@dataclass(frozen=True, slots=True)
class _Part:
    """The lines of one part; `after` is the last memory looked at, None when none is left."""

    lines: tuple[bytes, ...]
    versions: int
    after: str | None


def export_step(job: Job, opened: TransferScope, world: World) -> Job:
    """Write the next part, or the manifest once there is none; returns the job as it was committed.

    Memory is bounded by `PART_BYTES` and one page. Raises `BusyError`, `UnavailableError`.
    """
    now = _current(job, opened)
    if now is None or now.is_over:
        return now or job
    if _epoch(opened) != now.epoch:
        return _anew(now, opened, world)
    if now.progress.get("complete"):
        return _finished(now, opened, world)
    part = _part(now, opened, world.clock.now())
    described = _written(now, part, opened)
    parts = [*now.progress.get("parts", []), *described]
    progress = {"after": part.after, "parts": parts, "complete": part.after is None}
    moved = now.moved(
        progress={**now.progress, **progress, "versions": now.progress.get("versions", 0) + part.versions},
        done=now.done + len(part.lines),
    )
    return _committed(moved, opened, world)


def _current(job: Job, opened: TransferScope) -> Job | None:
    return opened.ledger.read([job_ref(job.id)]).get(job_ref(job.id))


def _epoch(opened: TransferScope) -> int:
    return (opened.ledger.read([HEAD]).get(HEAD) or Head()).epoch


def _committed(job: Job, opened: TransferScope, world: World) -> Job:
    """Commit a step; raises `ConflictError` if somebody else took it, who then goes on."""
    draft = Draft(opened, world.clock.now(), [job_ref(job.id)])
    found = draft.get(job_ref(job.id))
    if found is None or found.revision != job.revision - 1:
        return found or job
    draft.put(job)
    draft.commit()
    return job


def _anew(job: Job, opened: TransferScope, world: World) -> Job:
    """Begin again, without what was erased meanwhile; give up where erasures never end."""
    remove_files(f"{EXPORTS}{job.id}/", opened.transfers)
    restarts = job.progress.get("restarts", 0) + 1
    if restarts > MOST_RESTARTS:
        failed = job.ended(world.clock.now(), JobProblem(0, "erased_meanwhile"), progress={})
        return _committed(failed, opened, world)
    moved = job.moved(epoch=_epoch(opened), progress={"restarts": restarts}, done=0)
    return _committed(moved, opened, world)


def _part(job: Job, opened: TransferScope, at: datetime) -> _Part:
    include = frozenset(job.request["include"])
    after, lines, size, versions = job.progress.get("after"), [], 0, 0
    while size < PART_BYTES:
        page: Page[Memory] = page_of(
            opened.ledger,
            Area.MEMORY,
            after=after,
            limit=READ_AT_ONCE,
            wanted=lambda memory: _is_wanted(memory, include, at),
        )
        wanted, after = page.entries, page.next_after
        for portable in _with_history(wanted, opened) if HISTORY in include else map(Portable, wanted):
            line = opened.form.write(portable, opened.scope.canonical, at)
            lines.append(line)
            size, versions = size + len(line), versions + len(portable.versions)
        if after is None:
            break
    return _Part(tuple(lines), versions, after)


def _is_wanted(memory: Memory, include: frozenset[str], at: datetime) -> bool:
    """True for what was asked for by its status; `history` is all that is past."""
    status = memory.status_at(at)
    if status is Status.ACTIVE and memory.trust is Trust.DISPUTED:
        return DISPUTED in include
    return status.value in include or (HISTORY in include and status in _PAST)


def _with_history(memories: Sequence[Memory], opened: TransferScope) -> Iterator[Portable]:
    """Memories with what each was before: as many reads as a hundred versions each take."""
    refs = {
        memory.id: [version_ref(memory.id, number) for number in range(1, memory.version)][-MOST_VERSIONS:]
        for memory in memories
    }
    for memory in memories:
        there = opened.ledger.read(refs[memory.id]) if refs[memory.id] else None
        found = [version for ref in refs[memory.id] if there and (version := there.get(ref))]
        yield Portable(memory, tuple(version.memory for version in found))


def _written(job: Job, part: _Part, opened: TransferScope) -> list[dict[str, Any]]:
    """Write a part and describe it; one without a line is not written."""
    if not part.lines:
        return []
    number, body = len(job.progress.get("parts", [])) + 1, b"".join(part.lines)
    digest = hashlib.sha256(body).hexdigest()
    name = f"{EXPORTS}{job.id}/part-{number:06d}-{digest[:16]}.jsonl"
    opened.transfers.put(name, body)
    return [{"name": name, "memories": len(part.lines), "bytes": len(body), "sha256": digest}]


def _finished(job: Job, opened: TransferScope, world: World) -> Job:
    """Write the manifest, and end the job if nothing was erased since it began."""
    at = world.clock.now()
    manifest = _manifest(job, opened, at)
    body = json.dumps(manifest, ensure_ascii=False, indent=1).encode()
    digest = hashlib.sha256(body).hexdigest()
    name = f"{EXPORTS}{job.id}/manifest-{digest[:16]}.json"
    opened.transfers.put(name, body)

    def end() -> Job:
        draft = Draft(opened, world.clock.now(), [job_ref(job.id)])
        head, found = draft.get(HEAD) or Head(), draft.get(job_ref(job.id))
        if found is None or found.revision != job.revision:
            return found or job
        if head.epoch != job.epoch:
            return job  # the next step sees it, and begins anew
        told = {key: manifest[key] for key in ("memories", "versions", "bytes")}
        ended = job.ended(draft.at, result={**told, "manifest": name, "sha256": digest})
        draft.put(ended)
        draft.rely_on(HEAD)
        draft.commit()
        return ended

    return settle(end, world)


def _manifest(job: Job, opened: TransferScope, at: datetime) -> dict[str, Any]:
    parts = job.progress.get("parts", [])
    head = opened.ledger.read([HEAD]).get(HEAD) or Head()
    return {
        "format": FORMAT,
        "scope": opened.scope.canonical,
        "exported_at": rfc3339(at),
        "exported_by": job.actor,
        "include": job.request["include"],
        "memories": job.done,
        "versions": job.progress.get("versions", 0),
        "bytes": sum(part["bytes"] for part in parts),
        "audit": {"seq": head.seq, "hash": head.hash, "epoch": job.epoch},
        "parts": [{**part, "name": part["name"].rpartition("/")[2]} for part in parts],
    }
