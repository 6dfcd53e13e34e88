"""What each operation asks of AWS: calls, items of the ledger and bytes, on an in-process AWS."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.bench.table import Figure
from tests.functional.aws import aws_service
from tests.support.counted import Counted
from tests.support.http import Caller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECTION = "AWS per call"
ERASED = 1_000


class Meter:
    """Counts what the clients of a session ask for and are told."""

    def __init__(self, session: Any) -> None:
        self.calls = 0
        self.read: Counter[str] = Counter()
        session.events.register("before-call", self._called)
        session.events.register("response-received", self._answered)

    def _called(self, **_: Any) -> None:
        self.calls += 1

    def _answered(self, response_dict: Any, parsed_response: Any, **_: Any) -> None:
        found = parsed_response or {}
        tables = found.get("Responses")
        answered = tables.values() if isinstance(tables, dict) else []
        self.read["items"] += sum(map(len, answered)) + len(found.get("Items") or ())
        self.read["bytes"] += len(response_dict["body"]) if response_dict else 0


def figures() -> Iterator[Figure]:
    """One warm scope of fifty memories, none of them indexed yet."""
    with aws_service() as service:
        meter, api = Meter(service.session), Caller(service)  # type: ignore[arg-type]
        memories = [
            api.remember(f"Alice drinks green tea, she said {n} times.", "s")["id"] for n in range(50)
        ]
        api.recall("warm", "s")
        api.forget(memories.pop(), scope="s")
        calls: dict[str, Callable[[], Any]] = {
            "remember": lambda: api.remember("Alice lives in Lisbon.", "s"),
            "correct": lambda: api.correct(memories[0], "Alice drinks coffee.", scope="s"),
            "recall": lambda: api.recall("green tea", "s", limit=10),
            "get": lambda: api.get(memories[1], "s"),
            "list of 20": lambda: api.list("s"),
            "forget": lambda: api.forget(memories[2], scope="s"),
        }
        for name, call in calls.items():
            meter.calls = 0
            meter.read.clear()
            call()
            yield Figure(SECTION, name, meter.calls, "calls")
            yield Figure(SECTION, f"… {name}: items read", meter.read["items"], "items")
            yield Figure(SECTION, f"… {name}: bytes read", meter.read["bytes"] / 1_024, "KiB")
    found = Counted(ERASED).erase()
    yield Figure(
        SECTION, f"forget of a scope of {ERASED}, for each memory", sum(found.values()), "calls", 2.5
    )
    for name, calls in found.items():
        yield Figure(SECTION, f"… {name}", calls, "calls")
