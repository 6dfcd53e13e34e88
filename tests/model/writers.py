"""Writers of one scope in a SQLite file, in real time: run as a program, one of several at once."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor

os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "api")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "true")

from tests.model.conftest import service_on
from tests.support.fakes import FakeService
from tests.support.http import Caller
from unsay_core.adapters.sqlite import LedgerFile, SqliteLedger
from unsay_core.adapters.world import real_world

SCOPE = "acme/alice"
TRIES = 20


def service_in(file: LedgerFile) -> FakeService:
    """The whole service on a file, with a real clock and real ids."""
    service = service_on(lambda scope_id: SqliteLedger(file, scope_id))
    service.world = real_world()
    return service


def write(service: FakeService, number: int) -> int:
    """Remember one fact, as a client does that tries again when the scope is busy."""
    for _ in range(TRIES):
        name = {"idempotency_key": f"fact-{number}"}
        answer = Caller(service).remember(f"Fact number {number}.", SCOPE, headers=name)
        if answer.status != 503:
            break
    return answer.status


def write_all(service: FakeService, numbers: range) -> list[int]:
    """As many writers at once as there are numbers."""
    with ThreadPoolExecutor(len(numbers)) as pool:
        return list(pool.map(lambda number: write(service, number), numbers))


if __name__ == "__main__":
    path, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    opened = service_in(LedgerFile(path))
    print("ready", flush=True)
    sys.stdin.readline()
    print(*write_all(opened, range(first, last)))
