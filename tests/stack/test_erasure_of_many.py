"""Very many memories go on the deployed stack, beside a twin that stays; `make erasure` asks for more."""

from __future__ import annotations

import os

import pytest

from tests.bench.erasure import erase_on
from tests.support.stack import Stack

pytestmark = pytest.mark.stack

MANY = int(os.environ.get("UNSAY_ERASED", "500"))
INDEXED = min(MANY // 10, 2_000)


def test_very_many_memories_go_beside_a_twin_that_stays_and_the_jobs_do_not_grow(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", stack.endpoint_url)
    found = erase_on(stack, MANY, INDEXED, lambda what, figure: print(f"{what:32} {figure}", flush=True))
    receipt = found.receipt
    assert (receipt["state"], receipt["erased"], receipt["matched"]) == ("complete", MANY, MANY)
    assert receipt["tombstones"] == 2 * MANY
    assert found.left == []
    assert found.twin_after == found.twin_before
    assert len(found.twin_before[1]) == min(INDEXED, 100), "the control: the twin has documents"
    assert found.peaks[-1] < 1.5 * found.peaks[len(found.peaks) // 2], "in MB, from half of the time on"
