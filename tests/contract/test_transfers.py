"""The `Transfers` port: the files by which memories leave a scope and come into one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from tests.support.clock import FakeClock
from tests.support.fakes import MemoryTransfers
from unsay_core.adapters.folder_transfers import TransferFolder
from unsay_core.adapters.s3.transfers import S3Transfers
from unsay_core.application.transfers import EXPORTS, IMPORTS, Transfers, remove_files, upload_name
from unsay_core.domain.errors import NotFoundError, UnavailableError

BUCKET = "transfers"
PART = f"{EXPORTS}job_a/part-000001-0a.jsonl"
NewTransfers = Callable[[str], Transfers]


@pytest.fixture(params=["fake", "folder", "folder in memory", "s3"])
def of(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewTransfers]:
    """The files of a scope, in one place for all of them."""
    match request.param:
        case "fake":
            made: dict[str, Transfers] = {}
            yield lambda scope_id: made.setdefault(scope_id, MemoryTransfers(FakeClock()))
        case "s3":
            with mock_aws():
                client = boto3.client(
                    "s3", region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s"
                )
                client.create_bucket(Bucket=BUCKET)
                yield lambda scope_id: S3Transfers(lambda: client, BUCKET, scope_id)
        case _:
            folder = TransferFolder(tmp_path / "memory.db.transfers" if request.param == "folder" else None)
            yield folder.of
            folder.close()


def names(files: Transfers, prefix: str = "") -> list[str]:
    return [file.name for file in files.listed(prefix)]


def test_what_was_put_is_read_in_stretches_and_what_was_not_is_not_there(of: NewTransfers) -> None:
    files = of("a")
    files.put(PART, b"0123456789")
    assert files.read(PART, 0, 100) == b"0123456789"
    assert files.read(PART, 3, 4) == b"3456"
    assert files.read(PART, 10, 5) == b""
    files.put(PART, b"another")
    assert files.read(PART, 0, 100) == b"another"
    with pytest.raises(NotFoundError):
        files.read(f"{EXPORTS}job_b/part-000001-0a.jsonl", 0, 1)


def test_files_are_listed_by_prefix_in_order_with_their_size(of: NewTransfers) -> None:
    files = of("a")
    wanted = [PART, *(upload_name("job_b", number) for number in (1, 2, 10))]
    for name in reversed(wanted):
        files.put(name, b"x" * 7)
    assert names(files) == wanted
    assert names(files, f"{IMPORTS}job_b/") == wanted[1:]
    assert names(files, f"{IMPORTS}job_c/") == []
    assert {file.size for file in files.listed()} == {7}


def test_no_scope_sees_anothers_files(of: NewTransfers) -> None:
    of("a").put(PART, b"hers")
    assert names(of("b")) == []
    with pytest.raises(NotFoundError):
        of("b").read(PART, 0, 4)
    assert names(of("a")) == [PART], "the control"


def test_what_is_deleted_is_gone_and_its_neighbours_are_not(of: NewTransfers) -> None:
    files = of("a")
    others = [upload_name("job_b", number) for number in (1, 2)]
    for name in (PART, *others):
        files.put(name, b"x")
    files.delete(PART)
    files.delete(PART)
    assert names(files) == others
    assert remove_files(f"{IMPORTS}job_b/", files) == 2
    assert names(files) == []


def test_a_file_knows_when_it_was_written(of: NewTransfers) -> None:
    files = of("a")
    files.put(PART, b"x")
    (file,) = files.listed()
    assert file.at.utcoffset() == timedelta(0)
    assert remove_files("", files, before=file.at - timedelta(days=1)) == 0
    assert remove_files("", files, before=datetime(9999, 1, 1, tzinfo=UTC)) == 1


def test_files_of_a_folder_are_their_owners_alone_and_leave_no_folder_behind(tmp_path: Path) -> None:
    root = tmp_path / "memory.db.transfers"
    files = TransferFolder(root).of("a")
    files.put(PART, b"x")
    (path,) = (path for path in root.rglob("*") if path.is_file())
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert files.link(PART) == path.as_uri()
    files.delete(PART)
    assert list(root.iterdir()) == []


def test_a_folder_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "memory.db.transfers").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnavailableError):
        TransferFolder(tmp_path / "memory.db.transfers").of("a")
