"""Which step carries out which kind of job: the one table of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from unsay_core.application.consolidate import consolidate_step
from unsay_core.application.erase import erase_step
from unsay_core.application.export_memories import export_step
from unsay_core.application.import_memories import import_step
from unsay_core.application.jobs import ERASURE
from unsay_core.application.tidy import tidy_step
from unsay_core.application.transfers import TransferScope
from unsay_core.jobs.job import Job, JobKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from unsay_core.application.jobs import Step, Work
    from unsay_core.application.ports import JobScope, World


def _carried(step: Callable[[Job, TransferScope, World], Job]) -> Step:
    """A step that needs the files of the scope and nothing else of a job's."""

    def carry(job: Work, scope: JobScope, world: World, /) -> Work:
        opened = TransferScope(
            scope=scope.scope,
            id=scope.id,
            root_id=scope.root_id,
            principal=scope.principal,
            keys=scope.keys,
            ledger=scope.ledger,
            search=scope.search,
            transfers=scope.transfers,
            form=scope.form,
        )
        return step(cast("Job", job), opened, world)

    return carry


STEPS: Mapping[str, Step] = {
    ERASURE: erase_step,
    JobKind.TIDY.value: tidy_step,
    JobKind.CONSOLIDATE.value: consolidate_step,
    JobKind.EXPORT.value: _carried(export_step),
    JobKind.IMPORT.value: _carried(import_step),
}
