"""What was exported, brought or handed in before an erasure goes with it; what came since stays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.erasing import Eraser
from tests.support.transfers import opened, run
from tests.support.workers import index_all
from unsay_core.application.import_memories import import_step
from unsay_core.application.ledger import Put, upload_ref
from unsay_core.application.transfer_jobs import Export, Import, begin_export, begin_import, start_import
from unsay_core.application.transfers import EXPORTS, upload_name
from unsay_core.extraction.conversation import UploadState
from unsay_core.jobs.erasure import Phase

if TYPE_CHECKING:
    from tests.support.fakes import FakeService
    from tests.support.http import Answer, Caller

CANARY, CHESS = "Alice hides a cobalt vase.", "Alice plays chess."
SCOPE = "acme/alice"


class Files:
    """A scope in whose buckets the canary lies, in everything that can hold it."""

    def __init__(self, service: FakeService, api: Caller) -> None:
        self.service, self.api, self.eraser = service, api, Eraser(service, api)
        self.gone = api.remember(CANARY, tags=["x"], source={"run_id": "run-1"})["id"]
        self.kept = api.remember(CHESS)["id"]
        index_all(service)
        self.scope = opened(service)
        self.transfers, self.intake = self.scope.transfers, service.files[self.eraser.scope_id]
        self.exported = run(begin_export(Export(), self.scope, service.world), self.scope, service)
        self.brought = begin_import(Import((f"{CANARY}\n".encode(),)), self.scope, service.world)
        self.waiting = begin_import(Import(), self.scope, service.world)
        self.transfers.put(upload_name(self.waiting.id, 1), CANARY.encode())
        self.uploads = {run_id: self.handed_in(run_id, CANARY) for run_id in ("run-1", "run-2")}
        self.intake.put("run-3", "upl_nobodys", CANARY.encode())
        service.clock.pass_(seconds=5)

    def handed_in(self, run_id: str, text: str) -> str:
        path, where = f"/v1/conversations/{run_id}/upload", "scope=acme%2Falice"
        upload = str(self.api.send("POST", path, query=where)["id"])
        self.intake.put(run_id, upload, text.encode())
        return upload

    def failed(self, run_id: str) -> None:
        """A file that is no transcript: nobody is going to read it."""
        place = upload_ref(run_id, self.uploads[run_id])
        upload = self.eraser.ledger.read([place]).get(place)
        assert upload is not None
        self.eraser.ledger.commit((Put(replace(upload, state=UploadState.FAILED)),))

    def names(self) -> list[str]:
        return [f.name for f in self.transfers.listed()] + ["/".join(each) for each in self.intake.files]

    def holds(self) -> bool:
        return "cobalt" in repr([self.transfers.files, self.intake.files])  # type: ignore[attr-defined]


@pytest.fixture
def files(service: FakeService, api: Caller) -> Files:
    return Files(service, api)


def stores(receipt: Answer | dict[str, Any]) -> dict[str, Any]:
    return {store["store"]: store for store in receipt["stores"]}


def since(files: Files) -> list[str]:
    """Files that come after the erasure was asked for, by name. No exports: each step withdraws them."""
    before = files.names()
    job = begin_import(Import(), files.scope, files.service.world)
    files.transfers.put(upload_name(job.id, 1), b"{}")
    files.handed_in("run-4", "Bob.")
    return sorted(set(files.names()) - set(before))


WAYS = {
    "one memory": lambda files: files.api.forget(files.gone),
    "a selection": lambda files: files.eraser.forget(filter={"tags": ["x"]}),
    "a conversation": lambda files: files.eraser.forget(run_id="run-1"),
    "everything": lambda files: files.eraser.forget(all=True, confirm=SCOPE),
}


@pytest.mark.parametrize("way", WAYS)
def test_files_from_before_an_erasure_go_with_it_and_the_receipt_names_their_stores(
    files: Files, way: str
) -> None:
    assert files.holds(), "the control"
    files.failed("run-2")
    if way in ("one memory", "a selection"):
        files.failed("run-1")
    asked = WAYS[way](files)
    assert {stores(asked)[name]["state"] for name in ("transfers", "intake")} == {"pending"}
    new = since(files) if way != "everything" else []
    files.eraser.run(asked)
    if way != "one memory":
        index_all(files.service)
    assert not files.holds()
    assert sorted(files.names()) == new, "what came since stays"
    receipt = files.eraser.finish(asked)
    for name in ("transfers", "intake"):
        store = stores(receipt)[name]
        assert (store["state"], store["proof"][:6]) == ("absent", "listed")
    assert files.eraser.entry(asked).phase is Phase.COMPLETE


def test_of_another_scope_every_file_stays(service: FakeService, api: Caller) -> None:
    alice, bob = Files(service, api), opened(service, "acme/bob")
    bob.transfers.put("exports/job_x/part-000001.jsonl", b"cobalt")
    service.files[bob.id].put("run-1", "upl_x", b"cobalt")
    alice.eraser.run(alice.eraser.forget(all=True, confirm=SCOPE))
    assert [file.name for file in bob.transfers.listed()] == ["exports/job_x/part-000001.jsonl"]
    assert list(service.files[bob.id].files) == [("run-1", "upl_x")]


def test_a_transcript_that_is_about_to_be_read_is_waited_for_and_after_an_hour_no_more(files: Files) -> None:
    asked = files.api.forget(files.gone)
    assert files.eraser.run(asked) == 2.0
    receipt = files.api.receipt(asked["id"])
    assert (receipt["state"], receipt["waits_for"]) == ("pending", "intake")
    assert stores(receipt)["intake"]["proof"] == "still held by: intake"
    assert sorted(run_id for run_id, _ in files.intake.files) == ["run-1", "run-2"]
    files.service.clock.pass_(hours=1)
    files.eraser.run(asked)
    assert not files.intake.files


def test_an_export_at_work_makes_its_own_files_anew_and_is_waited_for(
    files: Files, service: FakeService
) -> None:
    working = begin_export(Export(), files.scope, service.world)
    files.transfers.put(f"{EXPORTS}{working.id}/part-1.jsonl", CANARY.encode())
    files.failed("run-1")
    files.failed("run-2")
    asked = files.api.forget(files.gone)
    files.eraser.run(asked)
    assert files.api.receipt(asked["id"])["waits_for"] == "transfers"
    run(working, files.scope, service)
    files.eraser.run(asked)
    assert files.eraser.entry(asked).cleared_at is not None
    assert {name.split("/")[1] for name in files.names()} == {working.id}, "the export without it stays"
    assert not files.holds()


def test_an_import_whose_part_an_erasure_took_ends_and_says_so(files: Files, service: FakeService) -> None:
    files.failed("run-1")
    files.failed("run-2")
    asked = files.api.forget(files.gone)
    started = start_import(files.waiting.id, files.scope, service.world)
    files.eraser.run(asked)
    ended = import_step(started, files.scope, service.world)
    assert (ended.state, ended.problems[0].code) == ("failed", "erased_meanwhile")
