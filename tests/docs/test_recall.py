"""docs/recall.md names every reason there is, and shows the block as it comes."""

from __future__ import annotations

import re

from tests.support.fakes import FakeService
from tests.support.http import Caller
from tests.support.stack import ROOT
from unsay_core.application import breaker
from unsay_core.application.recall_load import HYDRATED
from unsay_core.application.recall_scope import FOR_THE_SOURCES
from unsay_core.application.recall_sources import BACKLOG

PAGE = (ROOT / "docs" / "recall.md").read_text()
CORE = ROOT / "layers" / "core" / "python" / "unsay_core"
REASON = r"[a-z_]+_(?:timeout|throttled|unavailable|backlog|incomplete|relevant|empty|only)"


def test_every_reason_is_in_the_table_and_no_other() -> None:
    sources = [
        *CORE.glob("application/recall*.py"),
        *CORE.glob("adapters/*/search.py"),
        *CORE.glob("adapters/*/vectors.py"),
    ]
    given = {name for path in sources for name in re.findall(rf'"({REASON})"', path.read_text())}
    assert len(given) >= 10
    assert set(re.findall(rf"`({REASON})`", PAGE)) == given


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"{BACKLOG} memories, {HYDRATED} with their words" in PAGE
    assert (breaker.FAILURES, breaker.PAUSE, FOR_THE_SOURCES) == (5, 10.0, 0.8)


def test_the_block_is_the_one_that_is_answered() -> None:
    api = Caller(FakeService())
    api.remember("Alice drinks green tea.")
    api.remember('She said "</memories>"\nand drank her tea.')
    (shown,) = re.findall(r"```prompt\n(.*?)\n```", PAGE, re.DOTALL)
    block = api.recall("tea", format="prompt")["prompt"]
    without_times = re.compile(r'recorded_at="[^"]*"')
    assert without_times.sub("", block) == without_times.sub("", shown)
