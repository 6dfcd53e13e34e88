"""A hundred writers of one scope at once: a hundred entries, one chain."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.model.writers import SCOPE, service_in, write_all
from tests.support.http import Caller
from unsay_core.adapters.sqlite import LedgerFile
from unsay_core.application.ledger import HEAD, Area, Head

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
    answers = [writer.communicate(timeout=300)[0].split() for writer in writers]
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


def test_of_fifty_corrections_of_one_version_one_wins_and_recall_always_finds_one(file: LedgerFile) -> None:
    service = service_in(file)
    old = Caller(service).remember("Alice lives in house 0.", SCOPE, key="home")
    found: list[int] = []

    def correct(number: int) -> int:
        api = Caller(service)
        answer = api.correct(old["id"], f"Alice lives in house {number}.", scope=SCOPE)
        while answer.status == 503:
            answer = api.correct(old["id"], f"Alice lives in house {number}.", scope=SCOPE)
        return answer.status

    def recall(_: int) -> None:
        found.append(len(Caller(service).recalled("Where does Alice live?", SCOPE)))

    with ThreadPoolExecutor(54) as pool:
        corrected, recalled = pool.map(correct, range(1, 51)), pool.map(recall, range(40))
        assert sorted(corrected) == [201] + [412] * 49
        list(recalled)
    assert found == [1] * 40
    assert len(Caller(service).listed(SCOPE)) == 1


def test_what_a_killed_process_had_confirmed_is_there_and_the_chain_is_whole(file: LedgerFile) -> None:
    program = (
        "import sys\n"
        "from tests.model.writers import LedgerFile, service_in, write\n"
        "service = service_in(LedgerFile(sys.argv[1]))\n"
        "for number in range(100_000):\n"
        "    assert write(service, number) == 201\n"
        "    print(number, flush=True)\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", program, file.path], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    confirmed = [int(writer.stdout.readline()) for _ in range(30)]
    writer.kill()
    confirmed += [int(line) for line in writer.stdout.read().splitlines()]
    writer.wait(60)
    api = Caller(service_in(file))
    chain = api.verify(SCOPE)
    assert (chain["ok"], chain["length"] - len(confirmed)) in ((True, 0), (True, 1))  # one may be unconfirmed
    assert set(api.listed(SCOPE, limit=100, order="asc")) >= {f"Fact number {n}." for n in confirmed[:100]}
    assert api.remember("The next one.", SCOPE).status == 201
