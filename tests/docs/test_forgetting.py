"""docs/forgetting.md names every store that can hold a memory, and for each a test that exists."""

import re

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
