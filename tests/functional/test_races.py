"""What a torn read may show, and what it may not bring back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller
from unsay_core.application.ledger import Area
from unsay_core.application.ports import Snapshot

LISBON = "Alice lives in Lisbon."

REWRITES: dict[str, Callable[[Caller, str], Answer]] = {
    "remember": lambda api, _: api.remember(LISBON),
    "correct": lambda api, other: api.correct(other, LISBON),
}


@pytest.mark.parametrize("write", REWRITES)
@pytest.mark.parametrize("late", [Area.HEAD, Area.TOMBSTONE, Area.DUPLICATE])
def test_a_read_that_is_not_one_moment_brings_nothing_back(
    api: Caller, service: FakeService, write: str, late: Area
) -> None:
    """A store reads the places of one request one by one: a forget may commit between two of them."""
    memory, other = api.remember(LISBON), api.remember("Alice has a dog.")
    (ledger,) = service.ledgers.values()
    read, torn = ledger.read, iter([True])

    def reading(refs: Sequence[Any]) -> Snapshot:
        before = read(refs)
        if not next(torn, False):
            return before
        api.forget(memory["id"])
        after = read(refs)
        chosen = {ref: (after if ref.area is late else before).get(ref) for ref in refs}
        return Snapshot({ref: entry for ref, entry in chosen.items() if entry is not None})

    ledger.read = reading  # type: ignore[method-assign]
    answer = REWRITES[write](api, other["id"])
    assert (answer.status, answer.code) == (409, "tombstoned")
    assert api.listed() == ["Alice has a dog."]


def test_a_read_that_is_not_one_moment_does_not_show_a_fact_and_what_replaced_it(
    api: Caller, service: FakeService
) -> None:
    home, other = api.remember(LISBON, key="home"), api.remember("Alice lives in a tent.")
    (ledger,) = service.ledgers.values()
    read, torn = ledger.read, iter([True])

    def reading(refs: Sequence[Any]) -> Snapshot:
        before = read(refs)
        if not next(torn, False):
            return before
        assert api.edit(other["id"], content="Alice lives in Porto.", key="home").status == 200
        after = read(refs)
        chosen = {ref: (before if ref.id == home["id"] else after).get(ref) for ref in refs}
        return Snapshot({ref: entry for ref, entry in chosen.items() if entry is not None})

    ledger.read = reading  # type: ignore[method-assign]
    assert api.recalled() == ["Alice lives in Porto."]
