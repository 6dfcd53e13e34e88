"""How recall and writes behave as scopes grow and multiply, on a ledger in a file."""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from tests.bench.scene import QUERY, Near, Scene, fill, request, sentence
from tests.bench.table import Figure, cpu_ms, wall_ms
from unsay_core.adapters.sqlite.file import LedgerFile
from unsay_core.adapters.sqlite.ledger import SqliteLedger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MEMORIES = (100, 1_000, 10_000, 100_000)
SCOPES = (1, 1_000, 100_000)
WRITERS, WRITES = 8, 400
TEMPLATE = "a scope of one memory"
MULTIPLY = """
    WITH RECURSIVE number(n) AS (SELECT ? UNION ALL SELECT n + 1 FROM number WHERE n + 1 < ?)
    INSERT OR IGNORE INTO entry (scope, area, id, record)
    SELECT printf('%052d', n), area, id, record FROM number, entry WHERE scope = ?
"""


def figures() -> Iterator[Figure]:
    """Latency by size, and writes by contention."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _by_memories(Path(folder) / "memories.db")
        yield from _by_scopes(Path(folder) / "scopes.db")
    yield from _writes()


def _by_memories(path: Path) -> Iterator[Figure]:
    scene, file = Scene(), LedgerFile(path)
    recalls, spent = {}, {}
    for many in MEMORIES:
        recalls[many] = _recalled(scene, file, f"size/{many}", many)
        yield Figure("Recall by size", f"{many:,} memories in the scope", wall_ms(recalls[many]), "ms")
    for many in MEMORIES:  # all of them in one file, one right after the other
        spent[many] = cpu_ms(recalls[many], times=60, warm=5)
        yield Figure("Recall by size", f"… CPU at {many:,}", spent[many], "ms")
    for many in (1_000, 100_000):
        calls = _calls(scene, f"size/{many}", recalls[many])
        yield Figure("Recall by size", f"… calls of the ledger at {many:,}", calls, "calls")
    yield Figure(
        "Recall by size", "… CPU at 100,000 against 1,000", spent[100_000] / spent[1_000], "times", 1.5
    )
    file.close()


def _by_scopes(path: Path) -> Iterator[Figure]:
    scene, file = Scene(), LedgerFile(path)
    recall = _recalled(scene, file, "size/one", 1_000)
    fill(SqliteLedger(file, TEMPLATE), 1)
    there = 1
    for many in SCOPES:
        with file.transaction() as connection:
            connection.execute(MULTIPLY, (there, many, TEMPLATE))
        there = many
        yield Figure("Recall by scopes", f"{many:,} scopes, 1,000 memories in it", wall_ms(recall), "ms")
        yield Figure("Recall by scopes", f"… CPU at {many:,}", cpu_ms(recall, times=60, warm=5), "ms")
    file.close()


class _Counted:
    """A ledger whose calls are counted."""

    def __init__(self, ledger: Any) -> None:
        self._ledger, self.calls = ledger, 0

    def __getattr__(self, name: str) -> Any:
        self.calls += 1
        return getattr(self._ledger, name)


def _calls(scene: Scene, scope: str, recall: Callable[[], object]) -> int:
    """How often a recall asks the ledger."""
    scope_id = scene.scope_id(scope)
    ledger, search = scene.stores[scope_id]
    counted = _Counted(ledger)
    scene.stores[scope_id] = counted, search
    recall()
    scene.stores[scope_id] = ledger, search
    return counted.calls


def _recalled(scene: Scene, file: LedgerFile, scope: str, many: int):  # type: ignore[no-untyped-def]
    scope_id = scene.scope_id(scope)
    ledger = SqliteLedger(file, scope_id)
    newest = fill(ledger, many, scene.keyring.for_scope(scope_id))
    scene.stores[scope_id] = (ledger, Near([memory.id for memory in newest]))
    made = request("/v1/recall", {"scope": scope, "query": QUERY, "limit": 10})
    return lambda: scene.send(made)


def _writes() -> Iterator[Figure]:
    """Eight writers in one process, in memory: what conflicts and retries leave."""
    for name, scopes in (("one scope", 1), ("eight scopes", WRITERS)):
        yield Figure("Writes", f"{WRITERS} writers, {name}", _writes_a_second(scopes), "per second")


def _writes_a_second(scopes: int) -> float:
    scenes, chance = [Scene() for _ in range(WRITERS)], Random(3)
    for scene in scenes[1:]:
        scene.ledgers, scene.world = scenes[0].ledgers, scenes[0].world
    made = [
        request("/v1/memories", {"scope": f"w/{n % scopes}", "content": sentence(chance, n)})
        for n in range(WRITES)
    ]
    began = time.perf_counter()
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda at: scenes[at % WRITERS].send(made[at]), range(WRITES)))
    return WRITES / (time.perf_counter() - began)
