"""The product that is asked: router, use cases, index worker, a ledger, and a real model of meaning."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.quality.meanings import Meanings
from tests.support.clock import fake_world
from tests.support.fakes import FakeService
from tests.support.http import Caller
from tests.support.workers import index_all
from unsay_core.adapters.world import SystemClock
from unsay_core.application.ports import IndexScope, SearchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.quality.conversations import Conversation, Correction
    from unsay_core.application.ports import Ledger

AT_ONCE = 25  # items of one batch
SHOWN = 20


class Down:
    """See `Search`: one that is not there."""

    def nearest(self, *_: Any, **__: Any) -> Any:
        """Fails as an index does that cannot be reached."""
        raise SearchError("knowledge_base_unavailable")


class Product(FakeService):
    """The service over ledgers that are made by `ledger_of`, from a scope's id."""

    def __init__(self, ledger_of: Callable[[str], Ledger] | None = None) -> None:
        super().__init__()
        self.world = replace(fake_world(), clock=SystemClock())
        self.meanings: dict[str, Meanings] = defaultdict(Meanings)
        self.is_down = False
        if ledger_of:
            self.ledgers = _Made(ledger_of)  # type: ignore[assignment]

    def open_scope(self, *given: Any, **more: Any) -> Any:
        """As the fakes do, with this search."""
        opened = super().open_scope(*given, **more)
        return replace(opened, search=Down() if self.is_down else self.meanings[opened.id])

    def index_scope(self, scope_id: str, root_id: str | None = None) -> IndexScope:
        """As the fakes do, with this index."""
        indexes = {1: self.meanings[scope_id]}
        return IndexScope(scope_id, self.ledgers[scope_id], self.documents[scope_id], indexes)


class _Made(dict[str, Any]):
    def __init__(self, make: Callable[[str], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, scope_id: str) -> Any:
        return self.setdefault(scope_id, self._make(scope_id))


class Told:
    """A conversation that was remembered turn by turn, indexed, and can be asked about."""

    def __init__(self, product: Product, conversation: Conversation) -> None:
        self._product, self._api = product, Caller(product)
        self._scope = f"quality/{conversation.name}"
        self._turns: dict[str, str] = {}
        turns = conversation.turns
        for some in (turns[at : at + AT_ONCE] for at in range(0, len(turns), AT_ONCE)):
            items = [
                {
                    "content": turn.content,
                    "kind": "episodic",
                    "valid_from": turn.at,
                    "source": {"run_id": turn.run, "message_seqs": [turn.seq]},
                }
                for turn in some
            ]
            results = self._api.batch(items, self._scope)["results"]
            for turn, result in zip(some, results, strict=True):
                self._turns.setdefault(result["memory"]["id"], turn.id)
        for correction in conversation.corrections:
            self._correct(correction)
        index_all(product)

    def ask(self, question: str) -> list[tuple[str, float]]:
        """The turns that are recalled, best first, with their scores."""
        items = self._api.recall(question, self._scope, limit=SHOWN, deadline_ms=10_000)["items"]
        return [(self._turns[item["memory"]["id"]], item["score"]) for item in items]

    def _correct(self, correction: Correction) -> None:
        wrong = next(memory_id for memory_id, turn in self._turns.items() if turn == correction.turn)
        new = self._api.correct(wrong, correction.content, correction.because, scope=self._scope)
        self._turns[new["id"]] = correction.id
