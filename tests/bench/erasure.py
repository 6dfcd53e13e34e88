"""How long the erasure of a whole scope takes, and what its worker needs: `python -m tests.bench.erasure`.

In one process on a ledger in a file; with `stack` on the deployed stack of a local cloud of its own. A twin
scope of the same size stays, byte for byte.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import resource
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

from local.place import Place
from tests.support.erasing import Eraser
from tests.support.fakes import FakeService
from tests.support.http import ADMIN, Caller
from tests.support.samples import memory
from tests.support.stack import free_port, start, stop
from unsay_core.adapters.sqlite import LedgerFile, SqliteLedger
from unsay_core.adapters.world import real_world
from unsay_core.application.draft import Draft
from unsay_core.application.ledger import Area, Delete, Put, ref_of
from unsay_core.bootstrap.operator import Operator
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.scope import Action, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.stack import Stack
    from unsay_core.application.ports import Ledger, OpenScope, World

SOME = 100  # memories of the twin that are in the index
OWED_AT_ONCE = 30  # memories in one transaction, with what leads to them and what is owed
GONE, TWIN = "acme/alice", "acme/twin"


def main(where: str = "file", many: str = "25000", indexed: str = "2000") -> None:
    """One run, its figures printed; on the stack so many of the memories are in the index, too."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        if where == "stack":
            _on_stack(Path(folder), int(many), min(int(many), int(indexed)))
        else:
            _in_process(Path(folder), int(many))


def fill(opened: OpenScope, world: World, many: int, *, beginning: int = 0) -> None:
    """Memories in bulk, with the head that counts them; no index knows of them."""
    draft = Draft(opened, world.clock.now())
    draft.record(Happening(Event.REMEMBERED))
    draft.commit()
    for at in range(beginning, many, 100):
        made = [_numbered(n, opened.scope.canonical) for n in range(at, min(many, at + 100))]
        opened.ledger.commit(tuple(Put(each) for each in made))


def remember(opened: OpenScope, world: World, many: int) -> None:
    """Memories in bulk, as if each had been remembered: documents and index are owed for them."""
    for at in range(0, many, OWED_AT_ONCE):
        draft = Draft(opened, world.clock.now())
        for n in range(at, min(many, at + OWED_AT_ONCE)):
            draft.believe(_numbered(n, opened.scope.canonical))
        draft.record(Happening(Event.REMEMBERED))
        draft.commit()


def _numbered(n: int, scope: str) -> Any:
    """A memory of a scope; no two scopes have an id in common."""
    plain = memory(n + (scope == TWIN) * 10**6)
    return replace(plain, fact=replace(plain.fact, content=f"{scope} fact {n}", key=None))


def entries(ledger: Ledger) -> Iterator[Any]:
    """Everything of a scope."""
    for area in Area:
        after: str | None = None
        while page := ledger.page(area, after=after, limit=1_000):
            yield from page
            after = ref_of(page[-1]).id


def digest(ledger: Ledger) -> str:
    """All of a scope as one digest."""
    found = hashlib.sha256()
    for entry in entries(ledger):
        found.update(repr(entry).encode())
    return found.hexdigest()


def _in_process(folder: Path, many: int) -> None:
    service = FakeService()
    file = LedgerFile(folder / "ledger.sqlite")
    for scope in (GONE, TWIN):
        scope_id = service.keyring.scope_id(scope)
        service.ledgers[scope_id] = SqliteLedger(file, scope_id)  # type: ignore[assignment]
        fill(service.open_scope(ADMIN, Scope.parse(scope), Action.WRITE), service.world, many)
    eraser, twin = Eraser(service, Caller(service)), service.ledgers[service.keyring.scope_id(TWIN)]
    before, began = digest(twin), time.monotonic()
    answer = eraser.forget(all=True, confirm=GONE)
    _tell("answered after", f"{(time.monotonic() - began) * 1_000:.0f} ms")
    peaks = []
    for _ in itertools.count():
        if eraser.run(answer, steps=many // 100) != 0.0:
            break
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    while owed := eraser.ledger.page(Area.PENDING, limit=100):
        eraser.ledger.commit(tuple(Delete(ref_of(each)) for each in owed))
    receipt = eraser.finish(answer)
    _tell("erased", f"{receipt['erased']:,} in {time.monotonic() - began:.0f} s")
    _tell("peak memory of the process", f"{peaks[0]} MB after the first part, {peaks[-1]} MB after the last")
    _tell("twin the same", str(digest(twin) == before))
    _tell("memories left", str(len(eraser.ledger.page(Area.MEMORY, limit=1))))
    file.close()


def _on_stack(folder: Path, many: int, indexed: int) -> None:
    place = Place(free_port(), folder / "state")
    stack = start(place)
    os.environ["AWS_ENDPOINT_URL"] = stack.endpoint_url
    try:
        found = erase_on(stack, many, indexed, _tell)
    finally:
        stop(place)
    _tell("erased", f"{found.receipt['erased']:,}")
    early, late = found.peaks[len(found.peaks) // 8], found.peaks[-1]
    _tell("peak memory of the jobs λ", f"{early} MB after an eighth of the time, {late} MB in the end")
    _tell("twin the same", str(found.twin_before == found.twin_after))
    _tell("left", repr(found.left))


@dataclass
class Erased:
    """How an erasure on a stack went; `peaks` is the memory that the jobs λ had by and by, in MB."""

    receipt: Any
    peaks: list[int]
    twin_before: tuple[str, list[str]]
    twin_after: tuple[str, list[str]]
    left: list[Any]


def erase_on(stack: Stack, many: int, indexed: int, tell: Callable[[str, str], None]) -> Erased:
    """Erase a whole scope of so many memories, beside a twin that stays; some of both are in the index.

    `AWS_ENDPOINT_URL` names the stack's cloud.
    """
    session = boto3.session.Session("test", "test", region_name="us-east-1")
    operator, world = Operator(session, stack.outputs, real_world()), real_world()
    gone, twin = (operator.open_scope(Scope.parse(name)) for name in (GONE, TWIN))
    began = time.monotonic()
    for scope, known in ((gone, indexed), (twin, min(indexed, SOME))):
        remember(scope, world, known)
        fill(scope, world, many, beginning=known)
    tell("put in", f"{2 * many:,} in {time.monotonic() - began:.0f} s")
    while any(scope.ledger.page(Area.PENDING, limit=1) for scope in (gone, twin)):
        time.sleep(1)
    tell("and indexed", f"{indexed:,} of the one after {time.monotonic() - began:.0f} s")

    def stores_of_twin() -> tuple[str, list[str]]:
        return digest(twin.ledger), list(operator.documents(twin).listed())

    before = stores_of_twin()
    receipt, peaks = _watched(stack, tell)
    left = [*gone.ledger.page(Area.MEMORY, limit=9), *islice(operator.documents(gone).listed(), 9)]
    return Erased(receipt, peaks, before, stores_of_twin(), left)


def _watched(stack: Stack, tell: Callable[[str, str], None]) -> tuple[Any, list[int]]:
    """The receipt of a forget of the whole scope, once it is complete."""
    body = {"scope": GONE, "selector": {"all": True, "confirm": GONE}, "reason": "user_request"}
    began, told, peaks = time.monotonic(), set[str](), []
    with stack.client() as client:
        answer = client.post("/v1/forget", json=body)
        tell("answered after", f"{(time.monotonic() - began) * 1_000:.0f} ms")
        while True:
            receipt = client.get(f"/v1/erasures/{answer.json()['id']}", params={"scope": GONE}).json()
            for store in receipt["stores"]:
                if store["state"] == "absent" and store["store"] not in told:
                    told.add(store["store"])
                    tell(f"{store['store']}: absent after", f"{time.monotonic() - began:.0f} s")
            peaks += [peak] if (peak := _peak("FunctionsJobs", stack.pid)) else []
            if receipt["state"] == "complete":
                tell("complete after", f"{time.monotonic() - began:.0f} s")
                return receipt, peaks
            time.sleep(0.5)


def _peak(function: str, server: int) -> int:
    """The most memory in MB that a process of a function has had, of those that a local cloud runs."""
    found = [0]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"AWS_LAMBDA_FUNCTION_NAME=unsay-dev-{function}" not in (process / "environ").read_text():
                continue
            status = (process / "status").read_text()
            if f"PPid:\t{server}\n" not in status:
                continue
        except (OSError, UnicodeDecodeError):
            continue
        found += [int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM")]
    return max(found)


def _tell(what: str, figure: str) -> None:
    print(f"{what:32} {figure}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
