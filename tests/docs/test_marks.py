"""docs/marks.md names what exists: files, symbols, tests, and the break that turns each test red."""

import re
import tomllib

import pytest

from tests.support.stack import ROOT

CORE = ROOT / "layers/core/python/unsay_core"
PAGE = (ROOT / "docs/marks.md").read_text()
ROWS = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in PAGE.splitlines()[7:] if line]
MARKS = "tombstone trust_state bitemporal scope_enforced audit_log human_review negative_eval"


def test_there_is_a_row_for_each_mark():
    assert [row[0] for row in ROWS] == MARKS.split()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_a_row_names_exists(row):
    _, _, file, symbol, test, promise = row
    path = CORE / file if (CORE / file).exists() else ROOT / file
    assert re.search(rf"\bdef {symbol}\(|^{symbol} = ", path.read_text(), re.MULTILINE)
    module, _, name = test.partition("::")
    assert f"def {name or 'test_'}" in (ROOT / "tests" / module).read_text()
    breaks = tomllib.loads((ROOT / "tests/breaks.toml").read_text())
    assert promise in breaks or (row[0], promise) == ("negative_eval", "–")
