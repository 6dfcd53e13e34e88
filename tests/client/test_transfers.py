"""`unsay export` and `unsay import`: files, in pieces, by addresses that somebody else signed."""

import json
import os
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from typer.testing import CliRunner

os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "api")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "true")

from tests.support.fakes import FakeService
from tests.support.http import Caller
from tests.support.server import served
from tests.support.transfers import STEPS, opened
from unsay.cli import app, transfers
from unsay_core.application import export_memories
from unsay_core.application.ledger import Area

ALICE, BOB = "acme/alice", "acme/bob"


@pytest.fixture
def service():
    return FakeService()


@pytest.fixture
def api(service):
    return Caller(service)


@contextmanager
def files_of(service):
    """The files of every scope behind a socket."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            found = self._store().read(self._name(), 0, 1 << 30)
            self.send_response(200)
            self.send_header("Content-Length", str(len(found)))
            self.end_headers()
            self.wfile.write(found)

        def do_PUT(self):
            self._store().put(self._name(), self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _store(self):
            return service.transfers[self.path.split("/")[1]]

        def _name(self):
            return self.path.split("/", 2)[2]

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def at_work(service, api, monkeypatch):
    """A service whose jobs go one step further whenever somebody waits."""
    with served(api) as url, files_of(service) as files:
        monkeypatch.setenv("UNSAY_URL", url)
        monkeypatch.setenv("UNSAY_TOKEN", "t")

        def link(self, name, *, writing=False):
            (scope_id,) = (i for i, store in service.transfers.items() if store is self)
            return f"{files}/{scope_id}/{name}"

        def step(_seconds):
            for scope in (ALICE, BOB):
                there = opened(service, scope)
                for job in there.ledger.page(Area.JOB, limit=100):
                    if job.state == "running":
                        STEPS[job.kind](job, there, service.world)

        monkeypatch.setattr("tests.support.fakes.MemoryTransfers.link", link)
        monkeypatch.setattr(transfers.time, "sleep", step)
        yield


def ran(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_what_is_exported_is_imported_in_pieces_and_the_manifest_lies_beside_it(
    service, api, at_work, tmp_path, monkeypatch
):
    monkeypatch.setattr(export_memories, "PART_BYTES", 2_000)
    monkeypatch.setattr(export_memories, "READ_AT_ONCE", 4)
    monkeypatch.setattr(transfers, "PART_BYTES", 3_000)
    contents = [f"Alice has {n} bees." for n in range(12)]
    for content in contents:
        api.remember(content)
    file = tmp_path / "alice.jsonl"
    done = ran("export", file, "--include", "active", "--include", "history", "-s", ALICE)
    assert done.exit_code == 0, done.output
    assert [json.loads(line)["memory"]["content"] for line in file.read_text().splitlines()] == contents
    manifest = json.loads((tmp_path / "alice.jsonl.manifest.json").read_text())
    assert (manifest["memories"], len(manifest["parts"]) > 1) == (12, True)
    assert "url" not in done.stdout
    brought = ran("import", file, "-s", BOB)
    assert brought.exit_code == 0, brought.output
    told = json.loads(brought.stdout)
    assert told["result"] == {"imported": 12, "refused": {}}
    assert api.listed(BOB, order="asc") == contents
    api.remember("in the way", BOB)
    again = json.loads(ran("import", file, "-s", BOB).stdout)
    assert again["result"] == {"skipped": 12, "refused": {}}


def test_an_import_that_fails_says_so_and_exits_with_3(service, api, at_work, tmp_path):
    memory = api.remember("Alice has bees.")
    file = tmp_path / "alice.jsonl"
    ran("export", file, "-s", ALICE)
    ran("import", file, "-s", BOB)
    api.edit(memory["id"], scope=BOB, content="Alice has wasps.")
    failed = ran("import", file, "--on-conflict", "fail", "-s", BOB)
    assert (failed.exit_code, json.loads(failed.stdout)["problems"]) == (3, [{"at": 1, "code": "conflict"}])


def test_an_import_of_which_no_line_is_taken_exits_with_2(service, api, at_work, tmp_path):
    api.remember("Alice has bees.")
    file = tmp_path / "alice.jsonl"
    ran("export", file, "-s", ALICE)
    good = file.read_text()
    file.write_text('not a line\n{"memory": {"content": "Alice has bees."}}\n')
    refused = ran("import", file, "-s", BOB)
    told = json.loads(refused.stdout)
    assert (refused.exit_code, told["result"]) == (2, {"refused": {"invalid_request": 2}})
    file.write_text(f"not a line\n{good}")
    assert ran("import", file, "-s", BOB).exit_code == 0, "the control"


def test_an_empty_scope_is_an_empty_file_and_that_brings_nothing(service, api, at_work, tmp_path):
    file = tmp_path / "none.jsonl"
    assert ran("export", file, "-s", ALICE).exit_code == 0
    assert file.read_bytes() == b""
    assert json.loads(ran("import", file, "-s", BOB).stdout)["state"] == "complete"
    assert ran("import", tmp_path / "absent", "-s", BOB).exit_code == 2
