"""Optimistic concurrency: who changes a memory says which version they saw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from unsay_core.application.look_up import found
from unsay_core.application.policy import refuse_secrets
from unsay_core.application.replay import Written, keep, replayed
from unsay_core.application.settle import change
from unsay_core.domain.errors import PreconditionRequiredError, VersionConflictError

if TYPE_CHECKING:
    from collections.abc import Callable

    from unsay_core.application.draft import Draft
    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.application.replay import IdempotencyKey
    from unsay_core.domain.memory import Memory


class OfOneMemory(Protocol):
    """A command about one memory, as its caller saw it."""

    @property
    def memory_id(self) -> str:
        """The memory."""

    @property
    def version(self) -> int | None:
        """The version the caller saw, if they said."""

    @property
    def note(self) -> str | None:
        """What they say about it."""

    @property
    def idempotency(self) -> IdempotencyKey | None:
        """What they call the request."""

    def refs(self) -> list[Ref[Any]]:
        """What the decision needs, for one read."""


def change_one(
    act: Callable[[Memory, Draft], Memory], command: OfOneMemory, opened: OpenScope, world: World
) -> Written:
    """Let an act make the next version of the memory that the caller saw, or answer as the first time."""

    def decide(draft: Draft) -> Written:
        if earlier := replayed(command.idempotency, draft):
            return earlier
        old = found(draft, command.memory_id)
        require_version(old, command.version)
        refuse_secrets(draft, command.note)
        return keep(Written(act(old, draft), created=False), command.idempotency, draft)

    return change(decide, opened, world, command.refs)


def require_version(memory: Memory, seen: int | None) -> None:
    """Raise unless the caller saw the current version."""
    if seen is None:
        raise PreconditionRequiredError("send If-Match with the version you saw")
    if seen != memory.version:
        raise VersionConflictError(current_version=memory.version)
