"""What is owed after a change to a store of one process, done in the thread that asked for the change."""

from __future__ import annotations

import logging
import os
import threading
import traceback
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING
from uuid import uuid4

from unsay_core.adapters.sqlite.owed import SqliteDueList, drop_outcomes, owed, running
from unsay_core.adapters.sqlite.vectors import unembedded
from unsay_core.application.index_memories import index_memories
from unsay_core.application.jobs import SWEEPER, run_job, task_of
from unsay_core.application.ledger import Area, Ref, pending_ref
from unsay_core.application.ports import IndexTask
from unsay_core.application.project import project_memories
from unsay_core.application.scopes import NotedOnce
from unsay_core.application.transfers import remove_files
from unsay_core.domain.scope import Principal, PrincipalKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from unsay_core.application.jobs import Work
    from unsay_core.application.ports import Clock, IndexScope, JobTask
    from unsay_core.application.uploads import WaitingFile
    from unsay_core.bootstrap.embedded import EmbeddedService

log = logging.getLogger("unsay")

SWEEPING = Principal(SWEEPER, PrincipalKind.AGENT, ())
SWEPT = 200  # entries that came due, looked at in one sweep
AT_ONCE = 10  # memories brought to the index together
UNREAD_KEPT = timedelta(days=7)  # files that are no transcripts
FILES_KEPT = timedelta(days=1)  # of exports, and of imports that nobody began
CAUGHT_UP = 50  # vectors made up for after one change


class NoPauses:
    """See `Clock`: the index here is done when it answers, and nobody has to wait for it."""

    def __init__(self, clock: Clock) -> None:
        self.now, self.monotonic = clock.now, clock.monotonic

    def sleep(self, seconds: float) -> None:
        """Go on at once."""


class Chores:
    """What is owed after a change, in every scope of the file: the index, and the extraction.

    A fault leaves its work where it is, for the next time: the change itself is done.
    """

    def __init__(self, service: EmbeddedService) -> None:
        self._service = service
        self._notes = NotedOnce(service.registry)
        self._unread: set[WaitingFile] = set()
        self._lock = threading.Lock()

    def run(self) -> None:
        """Do what is owed; what could not be done is left. A job may wait for the index: it comes twice."""
        with self._lock:
            chores = (
                self._take_in,
                self._extract,
                self._jobs,
                self._index,
                self._jobs,
                self._transfers,
                self._make_up,
            )
            for chore in chores:
                self._tried(chore)

    def see_to_new_files(self) -> None:
        """Nobody tells of a file that was handed in: whoever asks next sees to it first."""
        if next(self._new_files(), None) is not None:
            self.run()

    def see_to_what_is_due(self) -> None:
        """Do what has come due: memories expire, conversations are quiet, what stands still goes on."""
        with self._lock:
            self._tried(self._sweep)

    def sweep(self) -> None:
        """All of it: what is due, what is owed, every missing vector; and drop what is kept no longer."""
        drop_outcomes(self._service.file, self._service.world.clock.now())
        self.see_to_what_is_due()
        self.run()
        with self._lock:
            while self._make_up():
                pass

    def call(self, tasks: Sequence[JobTask]) -> None:
        """See `JobQueue`: a job that runs is looked at after every change."""

    def _tried(self, chore: Callable[[], object]) -> None:
        try:
            chore()
        except Exception as fault:  # noqa: BLE001 - the caller's change is done, whatever this comes to
            log_fault(fault)

    # What each chore needs it imports when there is something to do: whoever opens a store waits for less.

    def _sweep(self) -> None:
        now = self._service.world.clock.now()
        for due in SqliteDueList(self._service.file).until(now, limit=SWEPT):
            opened = self._service.named(due.scope_id, SWEEPING)
            if opened is not None:
                from unsay_core.application.sweep import sweep

                sweep(due, opened, self._service.world, self)

    def _jobs(self) -> None:
        for scope_id, area, job_id in running(self._service.file):
            scope = self._service.job_scope(scope_id)
            ref: Ref[Work] = Ref(area, job_id)
            work = scope.ledger.read([ref]).get(ref) if scope else None
            if scope is not None and work is not None:
                from unsay_core.application.job_steps import STEPS

                run_job(task_of(work, scope_id), scope, self._service.world, STEPS, lambda: True)

    def _transfers(self) -> None:
        """Drop the files that were kept for long enough."""
        before = self._service.world.clock.now() - FILES_KEPT
        for scope_id in self._service.transfers.scope_ids():
            remove_files("", self._service.transfers.of(scope_id), before=before)

    def _take_in(self) -> None:
        """Read the files that have come, or drop those that nobody could read for long enough."""
        before = self._service.world.clock.now() - UNREAD_KEPT
        for scope_id, file in self._new_files():
            from unsay_core.application.uploads import take_in

            intake = self._service.intake_of(file, scope_id)
            if intake is not None:
                take_in(file.run_id, file.upload_id, intake)
            elif file.at < before:
                self._service.transcripts(scope_id).remove(file.run_id, file.upload_id)
            else:
                self._unread.add(file)

    def _new_files(self) -> Iterator[tuple[str, WaitingFile]]:
        for scope_id in self._service.intake.scope_ids():
            for file in self._service.transcripts(scope_id).waiting():
                if file not in self._unread:
                    yield scope_id, file

    def _extract(self) -> None:
        for scope_id, _, marker in owed(self._service.file, Area.READY):
            from unsay_core.application.extract import extract, next_in_line

            run_id, _, number = marker.rpartition("#")
            following: int | None = int(number)
            while following is not None:
                by = self._service.extractor(scope_id, run_id, following)
                if by is None or extract(run_id, following, by) is not None:
                    break
                following = next_in_line(run_id, by.opened.ledger)

    def _index(self) -> None:
        for scope_id, work in groupby(owed(self._service.file, Area.PENDING), lambda each: each.scope_id):
            scope = self._service.index_scope(scope_id)
            tasks = [task for each in work if (task := self._task(each.id, scope))]
            self._bring(tasks, scope)

    def _task(self, memory_id: str, scope: IndexScope) -> IndexTask | None:
        project_memories([memory_id], scope, self._notes, self._service.world)
        pending = scope.ledger.read([pending_ref(memory_id)]).get(pending_ref(memory_id))
        return IndexTask(scope.id, memory_id, pending.seq, pending.root_id) if pending else None

    def _make_up(self) -> int:
        """Make vectors for memories that were indexed without; returns for how many."""
        if self._service.embedder is None:
            return 0
        lacking = unembedded(self._service.file, CAUGHT_UP)
        for scope_id, work in groupby(sorted(lacking), lambda each: each[0]):
            tasks = [IndexTask(scope_id, memory_id, 0, rebuild=True) for _, memory_id in work]
            self._bring(tasks, self._service.index_scope(scope_id))
        return len(lacking)

    def _bring(self, tasks: Sequence[IndexTask], scope: IndexScope) -> None:
        for start in range(0, len(tasks), AT_ONCE):
            clock = NoPauses(self._service.world.clock)
            index_memories(tasks[start : start + AT_ONCE], scope, clock, uuid4().hex)


def log_fault(fault: Exception) -> None:
    """By type and place: a fault's own message might quote a memory."""
    frames = traceback.extract_tb(fault.__traceback__)[-3:]
    where = ", ".join(f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in frames)
    log.error("%s at %s", type(fault).__name__, where)
