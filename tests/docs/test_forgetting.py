"""docs/forgetting.md names every store that can hold a memory, each with a test; its programs run."""

import re
import subprocess
import sys

import pytest

from tests.support.stack import ROOT

PAGE = (ROOT / "docs/forgetting.md").read_text()
TABLE = PAGE.partition("## Every store")[2].partition("**What is not shown.**")[0]
ROWS = [
    [cell.strip() for cell in line.split("|")[1:-1]] for line in TABLE.splitlines() if line.startswith("| ")
]
STORES = (
    "memories versions duplicate slots edges messages plans quotes notes idempotency review jobs receipts "
    "index vectors documents exports imports transcripts knowledge queues retries logs metrics audit "
    "tombstones backups"
)


def test_every_store_has_a_row():
    named = " ".join(row[0] for row in ROWS[1:])
    assert [store for store in STORES.split() if store not in named] == []


@pytest.mark.parametrize("row", ROWS[1:], ids=lambda row: row[0])
def test_the_test_that_shows_it_exists(row):
    module, _, name = row[2].strip("`").partition("::")
    assert re.search(rf"\bdef {name}\(", (ROOT / "tests" / module).read_text())


PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS, ids=["forgets", "merges", "messages"])
def test_the_programs_run_as_shown(program, tmp_path):
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
