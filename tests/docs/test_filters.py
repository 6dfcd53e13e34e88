"""Every filter that docs/filters.md shows does what the page says."""

from __future__ import annotations

import re

import pytest

from tests.support.fakes import FakeService
from tests.support.http import Caller
from tests.support.stack import ROOT
from unsay_core.application.recall_load import SCANNED
from unsay_core.contracts import exact_json
from unsay_core.contracts.filter import MOST_COMPARISONS, MOST_VALUES
from unsay_core.retrieval.filters import PLAIN, Op

PAGE = (ROOT / "docs" / "filters.md").read_text()
BLOCKS = dict(re.findall(r"^```(memory|holds|fails)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [(line, block == "holds") for block in ("holds", "fails") for line in BLOCKS[block].splitlines()],
)
def test_a_filter_does_what_the_page_says(wanted: str, found: bool) -> None:
    api = Caller(FakeService())
    memory = exact_json.loads(BLOCKS["memory"], max_depth=10)
    api.remember(**memory)  # type: ignore[arg-type]
    assert api.listed(filter=wanted) == ([memory["content"]] if found else [])  # type: ignore[index]
    assert api.recalled("Friday", filter=exact_json.loads(wanted, max_depth=10)) == api.listed(filter=wanted)


def test_the_page_names_every_field_operator_and_number() -> None:
    for name in (*PLAIN, *Op, "metadata.", "data."):
        assert f"`{name}" in PAGE
    assert f"{MOST_COMPARISONS} comparisons" in PAGE
    assert f"up to {MOST_VALUES} values" in PAGE
    assert f"{SCANNED:,} memories" in PAGE
