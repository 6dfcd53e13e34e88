"""Which step carries out which kind of job: the one table of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from unsay_core.application.consolidate import consolidate_step
from unsay_core.application.erase import erase_step
from unsay_core.application.export_memories import export_step
from unsay_core.application.import_memories import import_step
from unsay_core.application.jobs import ERASURE
from unsay_core.application.tidy import tidy_step
from unsay_core.jobs.job import JobKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unsay_core.application.jobs import Step


STEPS: Mapping[str, Step] = {
    ERASURE: erase_step,
    JobKind.TIDY.value: tidy_step,
    JobKind.CONSOLIDATE.value: consolidate_step,
    JobKind.EXPORT.value: cast("Step", export_step),
    JobKind.IMPORT.value: cast("Step", import_step),
}
