"""Forget one memory: it and what it replaced are erased, and neither id nor value comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.draft import Draft
from unsay_core.application.erase_group import erase_group
from unsay_core.application.fenced import FencedLedger
from unsay_core.application.ledger import erasure_ref, id_tombstone_ref, memory_ref
from unsay_core.application.settle import settle
from unsay_core.application.verdict import Verdict
from unsay_core.domain.errors import AlreadyForgottenError, NotFoundError, UnsayError
from unsay_core.domain.memory import Reason
from unsay_core.domain.tombstone import Tombstone, TombstoneKind
from unsay_core.domain.values import dataclass
from unsay_core.jobs.erasure import Erasure, Phase

if TYPE_CHECKING:
    from unsay_core.application.ports import OpenScope, World


@dataclass(frozen=True, slots=True)
class Forget:
    """One memory to forget; `bury` tells whether its value, too, may not be written again."""

    memory_id: str
    reason: Reason
    bury: TombstoneKind = TombstoneKind.VALUE
    note: str | None = None


def forget(command: Forget, opened: OpenScope, world: World) -> Erasure:
    """Erase a memory with what it superseded and what was derived from it alone.

    From the answer on no read returns any of it.
    Raises `NotFoundError`, `AlreadyForgottenError` (with the earlier erasure), `BusyError`.
    """
    erasure_id, said = world.new_id("era"), list[str]()
    return settle(lambda: _attempt(command, erasure_id, said, opened, world), world)


def _attempt(command: Forget, erasure_id: str, said: list[str], opened: OpenScope, world: World) -> Erasure:
    """One try; after a lost race it goes on with the receipt that an earlier try began."""
    target, grave = memory_ref(command.memory_id), id_tombstone_ref(command.memory_id)
    draft = Draft(opened, world.clock.now(), [target, grave, erasure_ref(erasure_id)])
    memory = draft.get(target)
    if memory is None:
        raise _absence(command.memory_id, draft.get(grave), opened)

    def begun(draft: Draft) -> Erasure:
        return Erasure(
            id=erasure_id,
            selector={"ids": [command.memory_id]},
            reason=command.reason,
            requested_at=draft.at,
            actor=opened.principal.id,
            phase=Phase.TWINS,
            bury=command.bury,
        )

    verdict = Verdict(
        erasure_id,
        command.reason,
        command.bury,
        begun,
        memory_id=command.memory_id,
        note=command.note,
        said=said,
    )
    return erase_group([memory], verdict, draft, opened, world)


def _absence(memory_id: str, tombstone: Tombstone | None, opened: OpenScope) -> UnsayError:
    fence = opened.ledger.fence_over(memory_id) if isinstance(opened.ledger, FencedLedger) else None
    found = tombstone.erasure_id if tombstone else fence.erasure_id if fence else None
    if found is None and tombstone is None:
        return NotFoundError("no such memory in this scope")
    return AlreadyForgottenError(erasure_id=found or "")
