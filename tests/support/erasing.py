"""Erasures in the fakes: jobs as their λ runs them, and all that has to happen until one is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.workers import index_all
from unsay_core.application.job_steps import STEPS
from unsay_core.application.jobs import ERASURE, run_job
from unsay_core.application.ledger import Area, erasure_ref
from unsay_core.application.ports import JobTask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.fakes import FakeService
    from tests.support.http import Answer, Caller
    from unsay_core.jobs.erasure import Erasure

SCOPE = "acme/alice"


class Eraser:
    """One scope at its API, and the job behind a forget."""

    def __init__(self, service: FakeService, api: Caller, scope: str = SCOPE) -> None:
        self.service, self.api, self.scope = service, api, scope
        self.scope_id = service.keyring.scope_id(scope)
        self.ledger = service.ledgers[self.scope_id]

    def forget(self, reason: str = "user_request", **asked: Any) -> Answer:
        """`POST /v1/forget`; what is no field of the request is the selector."""
        fields = {
            name: asked.pop(name) for name in ("tombstone", "note", "dry_run", "cursor") if name in asked
        }
        headers = asked.pop("headers", {})
        body = {"scope": self.scope, "selector": asked, "reason": reason, **fields}
        return self.api.send("POST", "/v1/forget", body, **headers)

    def run(self, erasure: Answer | str, steps: int = 10_000) -> float | None:
        """The job of an erasure, for so many steps at most."""
        erasure_id = erasure if isinstance(erasure, str) else str(erasure["id"])
        task = JobTask(self.scope_id, Area.ERASURE, erasure_id, ERASURE)
        scope = self.service.job_scope(task)
        if scope is None:
            return None
        left: Iterator[bool] = iter([True] * steps)
        return run_job(task, scope, self.service.world, STEPS, lambda: next(left, False))

    def finish(self, erasure: Answer) -> Answer:
        """Everything that has to happen until an erasure is over; its receipt."""
        for _ in range(20):
            self.run(erasure)
            index_all(self.service)
            receipt = self.api.receipt(erasure["id"], self.scope)
            if receipt["state"] == "complete":
                return receipt
        raise AssertionError(f"the erasure has no end: {self.entry(erasure)}")

    def entry(self, erasure: Answer) -> Erasure:
        """The receipt as the ledger has it."""
        ref = erasure_ref(str(erasure["id"]))
        found = self.ledger.read([ref]).get(ref)
        assert found is not None
        return found


WAYS: dict[str, Callable[[Eraser, str], Any]] = {
    "one": lambda eraser, gone: eraser.api.forget(gone),
    "a selection": lambda eraser, gone: eraser.forget(ids=[gone]),
}
