"""Which step carries out which kind of job: the one table of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.consolidate import consolidate_step
from unsay_core.application.tidy import tidy_step
from unsay_core.domain.job import JobKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unsay_core.application.jobs import Step

STEPS: Mapping[str, Step] = {
    JobKind.TIDY.value: tidy_step,
    JobKind.CONSOLIDATE.value: consolidate_step,
}
