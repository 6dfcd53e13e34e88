"""A hundred writers of one scope at once: a hundred entries, one chain."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model.writers import SCOPE, service_in, write_all
from tests.support.http import Caller
from unsay_core.adapters.sqlite import LedgerFile
from unsay_core.domain.ledger import HEAD, Area, Head

ROOT = Path(__file__).resolve().parents[2]
WRITERS = 100


@pytest.fixture
def file(tmp_path: Path) -> Iterator[LedgerFile]:
    opened = LedgerFile(tmp_path / "ledger")
    yield opened
    opened.close()


def test_a_hundred_threads_make_a_hundred_entries_of_one_chain(file: LedgerFile) -> None:
    assert write_all(service_in(file), range(WRITERS)) == [201] * WRITERS
    holds_every_fact_once(file)


def test_four_processes_make_a_hundred_entries_of_one_chain(file: LedgerFile) -> None:
    each = WRITERS // 4
    writers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.model.writers", file.path, str(first), str(first + each)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for first in range(0, WRITERS, each)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    answers = [writer.communicate(timeout=120)[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4
    assert answers == [["201"] * each] * 4
    holds_every_fact_once(file)


def holds_every_fact_once(file: LedgerFile) -> None:
    service = service_in(file)
    api = Caller(service)
    assert sorted(api.listed(SCOPE, limit=100)) == sorted(f"Fact number {n}." for n in range(WRITERS))
    chain = api.verify(SCOPE)
    assert (chain["ok"], chain["complete"], chain["length"]) == (True, True, WRITERS)
    ledger = service.ledgers[service.keyring.scope_id(SCOPE)]
    entries = ledger.page(Area.AUDIT, limit=1000)
    assert [entry.seq for entry in entries] == list(range(1, WRITERS + 1))  # type: ignore[union-attr]
    assert (ledger.read([HEAD]).get(HEAD) or Head()).memories == WRITERS
