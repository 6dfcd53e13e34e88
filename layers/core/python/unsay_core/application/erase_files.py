"""Files: what an erasure takes out of the places where files come and go, before the proof of the rest.

No file is searched for a memory. What may hold a word of it goes whole: exports from before, what was brought
to be imported before, and transcripts that nobody is going to read.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING

from unsay_core.application.jobs import NotYetError, advance
from unsay_core.application.ledger import HEAD, Head, job_ref, upload_ref
from unsay_core.application.transfers import EXPORTS
from unsay_core.extraction.conversation import UploadState
from unsay_core.jobs.erasure import Erasure, Phase, retained
from unsay_core.jobs.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import JobScope, Ledger, World
    from unsay_core.application.transfers import StoredFile
    from unsay_core.application.uploads import WaitingFile
    from unsay_core.extraction.conversation import Upload
    from unsay_core.jobs.job import Job

PAUSE = 2.0  # seconds until files are looked at again that somebody still works on
READ_WITHIN = timedelta(hours=1)  # a transcript that nobody has read for so long goes with the rest
AT_ONCE = 90  # files looked at together, with the entries of the ledger that tell what they are


class _Fate(Enum):
    STAYS = auto()
    GOES = auto()
    WAITS = auto()  # whoever works on it removes it, or makes it anew


def clear_files(erasure: Erasure, scope: JobScope, world: World) -> Erasure:
    """Remove files that may hold what is erased; the step is done once a list has shown that none is left.

    Raises `NotYetError` while somebody works on one, after noting in the receipt who.
    """
    now = world.clock.now()
    _clear(erasure, scope, now)
    holding = _clear(erasure, scope, now)
    if holding:
        noted = replace(erasure, waits_for=", ".join(holding))
        if noted != erasure:
            advance(erasure, noted, scope, world)
        raise NotYetError(PAUSE)
    until = erasure.retained_until or retained(erasure.requested_at, scope.recovery_days)
    cleared = replace(erasure, phase=Phase.MESSAGES, waits_for=None, cleared_at=now, retained_until=until)
    return advance(erasure, cleared, scope, world)


def _clear(erasure: Erasure, scope: JobScope, now: datetime) -> list[str]:
    """Remove what goes; returns the stores in which there was anything to remove or to wait for."""
    holding = []
    if _clear_transfers(erasure, scope):
        holding.append("transfers")
    if _clear_intake(erasure, scope, now):
        holding.append("intake")
    return holding


def _clear_transfers(erasure: Erasure, scope: JobScope) -> bool:
    files, found = list(scope.transfers.listed()), False
    for start in range(0, len(files), AT_ONCE):
        some = files[start : start + AT_ONCE]
        jobs, epoch = _jobs_of(some, scope.ledger)  # as they stand after the list
        for file in some:
            fate = _fate_of_transfer(file, jobs[file.name], epoch, erasure)
            if fate is _Fate.GOES:
                scope.transfers.delete(file.name)
            found = found or fate is not _Fate.STAYS
    return found


def _jobs_of(files: Sequence[StoredFile], ledger: Ledger) -> tuple[dict[str, Job | None], int]:
    """The job of each file by the file's name, and the epoch in which they were read."""
    refs: dict[str, Ref[Job]] = {file.name: job_ref(file.name.split("/")[1]) for file in files}
    snapshot = ledger.read([HEAD, *dict.fromkeys(refs.values())])
    return {name: snapshot.get(ref) for name, ref in refs.items()}, (snapshot.get(HEAD) or Head()).epoch


def _fate_of_transfer(file: StoredFile, job: Job | None, epoch: int, erasure: Erasure) -> _Fate:
    """An export of another epoch is overtaken, and one that runs makes its files anew.

    Of what was brought, by its time: a job that began since brings what was said since.
    """
    if file.name.startswith(EXPORTS):
        if job is None or (job.is_over and job.epoch != epoch):
            return _Fate.GOES
        return _Fate.STAYS if job.is_over or job.epoch == epoch else _Fate.WAITS
    began_since = job is not None and job.requested_at >= erasure.requested_at
    return _Fate.STAYS if began_since or file.at >= erasure.requested_at else _Fate.GOES


def _clear_intake(erasure: Erasure, scope: JobScope, now: datetime) -> bool:
    selection, found = Selection.of(erasure.selector), False
    files = list(scope.transcripts.waiting())
    for start in range(0, len(files), AT_ONCE):
        some = files[start : start + AT_ONCE]
        snapshot = scope.ledger.read([upload_ref(file.run_id, file.upload_id) for file in some])
        for file in some:
            upload = snapshot.get(upload_ref(file.run_id, file.upload_id))
            fate = _fate_of_transcript(file, upload, selection, erasure.requested_at, now)
            if fate is _Fate.GOES:
                scope.transcripts.remove(file.run_id, file.upload_id)
            found = found or fate is not _Fate.STAYS
    return found


def _fate_of_transcript(
    file: WaitingFile, upload: Upload | None, selection: Selection, asked_at: datetime, now: datetime
) -> _Fate:
    """One that is about to be read is held against the tombstones then, and removed; no other is kept."""
    if file.at >= asked_at:
        return _Fate.STAYS
    is_expected = upload is not None and upload.state is UploadState.EXPECTED
    is_ours = selection.takes_run(file.run_id) and upload is not None and upload.asked_at < asked_at
    if is_expected and not is_ours and now - file.at < READ_WITHIN:
        return _Fate.WAITS
    return _Fate.GOES
