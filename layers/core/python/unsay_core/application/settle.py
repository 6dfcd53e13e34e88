"""Decide, commit, and decide again when another writer was first."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from unsay_core.application.draft import Draft
from unsay_core.application.policy import PolicyError, tell_refused
from unsay_core.application.ports import ConflictError
from unsay_core.domain.errors import BusyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World

T = TypeVar("T")

DEADLINE = 8.0  # seconds; the gateway gives up at 30
BASE, CAP = 0.02, 0.5  # seconds of back-off: full jitter over BASE·2ⁿ, at most CAP


def settle(attempt: Callable[[], T], world: World) -> T:
    """Run an attempt until it commits; raises `BusyError` when contention outlasts the deadline.

    Full jitter, because writers that lost the same race would otherwise meet again.
    """
    give_up = world.clock.monotonic() + DEADLINE
    tries = 0
    while True:
        try:
            return attempt()
        except ConflictError:
            pause = world.uniform(0, min(CAP, BASE * 2**tries))
            if world.clock.monotonic() + pause >= give_up:
                raise BusyError("other writers of this scope were faster; nothing was changed") from None
            world.clock.sleep(pause)
            tries += 1


def change(
    decide: Callable[[Draft], T], opened: OpenScope, world: World, refs: Callable[[], Iterable[Ref[object]]]
) -> T:
    """Let a use case decide on a fresh draft, and commit what it drafted.

    What policy refuses is committed too, as the event that it is, and then raised.
    """

    def attempt() -> T:
        draft = Draft(opened, world.clock.now(), refs())
        try:
            outcome = decide(draft)
        except PolicyError as refused:
            draft.commit()
            raise tell_refused(refused, "api", world) from None
        draft.commit()
        return outcome

    return settle(attempt, world)
