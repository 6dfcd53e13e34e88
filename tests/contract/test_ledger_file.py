"""What only a ledger in a file can get wrong: its mode, its versions, its neighbours, its leftovers."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.samples import memory
from unsay_core.adapters.sqlite import LedgerFile, SqliteLedger
from unsay_core.adapters.sqlite.schema import MIGRATIONS, ForeignFileError, migrate
from unsay_core.application.ledger import Area, Delete, Put, Version, memory_ref, version_ref
from unsay_core.application.ports import UnreadableError
from unsay_core.domain.errors import UnavailableError

CANARY = "a sentence that nobody else has ever written: quetzal"


def files(path: Path) -> list[Path]:
    return sorted(path.parent.glob(path.name + "*"))


def test_the_file_and_its_log_are_for_their_owner_alone(ledger_file: LedgerFile) -> None:
    SqliteLedger(ledger_file, "a").commit((Put(memory(1)),))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in files(ledger_file.path)}
    assert set(modes.values()) == {0o600}
    assert f"{ledger_file.path.name}-wal" in modes


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    LedgerFile(path).close()
    path.chmod(0o644)
    LedgerFile(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("target", ["there", "nowhere"])
def test_a_link_is_refused_and_what_it_leads_to_is_left_alone(tmp_path: Path, target: str) -> None:
    (tmp_path / "there").write_text("precious")
    link = tmp_path / "ledger"
    link.symlink_to(tmp_path / target)
    with pytest.raises(ForeignFileError):
        LedgerFile(link)
    assert (tmp_path / "there").read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE entry (precious TEXT)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(ForeignFileError):
        LedgerFile(path)
    assert path.read_bytes() == before


def test_a_ledger_of_a_newer_release_is_refused(ledger_file: LedgerFile) -> None:
    with ledger_file.connection() as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(ForeignFileError, match="newer"):
        LedgerFile(ledger_file.path)


def test_what_was_written_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    first = LedgerFile(path)
    SqliteLedger(first, "a").commit((Put(memory(1)),))
    first.close()
    assert [p.name for p in files(path)] == ["ledger"]
    second = LedgerFile(path)
    assert list(SqliteLedger(second, "a").page(Area.MEMORY, limit=9)) == [memory(1)]
    second.close()


def test_scopes_share_a_file_and_see_nothing_of_each_other(ledger_file: LedgerFile) -> None:
    one, other = SqliteLedger(ledger_file, "a"), SqliteLedger(ledger_file, "aa")
    one.commit((Put(memory(1)),))
    other.commit((Put(memory(1, "mine")), Put(memory(2))))
    one.commit((Delete(memory_ref(memory(1).id)),))
    assert list(one.page(Area.MEMORY, limit=9)) == []
    assert list(other.page(Area.MEMORY, limit=9)) == [memory(1, "mine"), memory(2)]


def test_nothing_of_what_was_erased_is_left_in_any_byte_of_the_files(ledger_file: LedgerFile) -> None:
    ledger = SqliteLedger(ledger_file, "a")
    long = " ".join([CANARY] * 200)  # more than a page
    ledger.commit(
        (Put(memory(1, long)), Put(Version(memory(1, CANARY))), Put(memory(2, "neighbour: zander")))
    )
    assert any(b"quetzal" in path.read_bytes() for path in files(ledger_file.path))
    ledger.commit((Delete(memory_ref(memory(1).id)), Delete(version_ref(memory(1).id, 1))))
    left = b"".join(path.read_bytes() for path in files(ledger_file.path))
    assert b"quetzal" not in left
    assert b"zander" in left


def test_a_file_that_is_locked_too_long_is_unavailable_and_nothing_is_written(tmp_path: Path) -> None:
    file = LedgerFile(tmp_path / "ledger", patience=0.05)
    ledger = SqliteLedger(file, "a")
    with file.transaction():
        with pytest.raises(UnavailableError):
            ledger.commit((Put(memory(1)),))
        assert list(ledger.page(Area.MEMORY, limit=9)) == []  # readers go on
    ledger.commit((Put(memory(2)),))
    assert list(ledger.page(Area.MEMORY, limit=9)) == [memory(2)]
    file.close()


@pytest.mark.parametrize("record", ["no json", '{"id": 1}'])
def test_a_record_that_was_bent_is_unreadable_and_is_not_quoted(ledger_file: LedgerFile, record: str) -> None:
    ledger = SqliteLedger(ledger_file, "a")
    ledger.commit((Put(memory(1)),))
    with ledger_file.transaction() as connection:
        connection.execute("UPDATE entry SET record = ?", (record,))
    found = ledger.read([memory_ref(memory(1).id)])
    for told in (
        lambda: found.get(memory_ref(memory(1).id)),
        found.memories,
        lambda: ledger.page(Area.MEMORY, limit=9),
    ):
        with pytest.raises(UnreadableError) as caught:
            told()
        assert record not in str(caught.value)
    assert found.intact_memories() == []


def test_many_threads_and_processes_open_a_new_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    program = (
        "import sys; from concurrent.futures import ThreadPoolExecutor as Pool\n"
        "from unsay_core.adapters.sqlite import LedgerFile\n"
        "with Pool(8) as pool: [f.close() for f in pool.map(lambda _: LedgerFile(sys.argv[1]), range(8))]\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", program, path]) for _ in range(3)]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    file = LedgerFile(path)
    with file.connection() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    file.close()


def test_no_thread_opens_a_file_while_another_is_making_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # To close a descriptor drops the locks of the whole process: whoever writes meanwhile would be unlocked.
    path, opened, early, close = tmp_path / "ledger", threading.Event(), [], os.close

    def late(descriptor: int) -> None:
        early.append(opened.wait(0.3))
        close(descriptor)

    def open_it() -> None:
        LedgerFile(path).close()
        opened.set()

    monkeypatch.setattr(os, "close", late)
    with ThreadPoolExecutor(2) as pool:
        for thread in [pool.submit(open_it) for _ in range(2)]:
            thread.result()
    assert early == [False]


def test_a_file_that_another_migrates_meanwhile_is_no_foreign_one(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    statements = []

    class Overtaken(sqlite3.Connection):
        def execute(self, *statement: Any) -> sqlite3.Cursor:
            statements.append(statement)
            if len(statements) == 2:
                LedgerFile(path).close()
            return super().execute(*statement)

    path.touch(0o600)
    connection = sqlite3.connect(path, isolation_level=None, factory=Overtaken)
    migrate(connection)
    assert len(statements) > 2
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    connection.close()


def test_a_child_process_uses_none_of_its_parents_connections(ledger_file: LedgerFile) -> None:
    ledger = SqliteLedger(ledger_file, "a")
    ledger.commit((Put(memory(1)),))
    with ledger_file.connection() as parents:
        pass
    child = os.fork()
    if child == 0:
        status = 1
        try:
            ledger.commit((Put(memory(2)),))
            with ledger_file.connection() as own:
                status = 0 if own is not parents else 2
            ledger_file.close()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    ledger.commit((Put(memory(3)),))
    assert list(ledger.page(Area.MEMORY, limit=9)) == [memory(1), memory(2), memory(3)]


def test_a_read_sees_one_moment_while_others_write(ledger_file: LedgerFile) -> None:
    ledger = SqliteLedger(ledger_file, "a")
    refs = [memory_ref(memory(n).id) for n in range(1, 30)]

    def write(number: int) -> None:
        SqliteLedger(ledger_file, "a").commit(tuple(Put(memory(n, f"round {number}")) for n in range(1, 30)))

    write(0)
    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(write, number) for number in range(1, 20)]
        for _ in range(50):
            assert len({m.fact.content for m in ledger.read(refs).memories()}) == 1
        for done in writing:
            done.result()


def test_the_package_imports_nothing_of_aws() -> None:
    program = "import sys, unsay_core.adapters.sqlite\nassert not {'boto3', 'botocore'} & sys.modules.keys()"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
