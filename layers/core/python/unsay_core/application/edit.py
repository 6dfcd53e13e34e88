"""Edit: the same memory, said better; every version that was is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unsay_core.application.digests import commitment, value_digest
from unsay_core.application.ledger import memory_ref
from unsay_core.application.look_up import found
from unsay_core.application.policy import refuse_forbidden, tombstone_refs
from unsay_core.application.quotas import within_quota
from unsay_core.application.settle import change
from unsay_core.application.slots import leave_slot, rivals, take_slot
from unsay_core.application.versions import require_version
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.duplicate import identity, is_same, statement
from unsay_core.domain.errors import InvalidRequestError
from unsay_core.domain.lifecycle import Act, after
from unsay_core.domain.trust import after_edit, require_may_replace
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from unsay_core.application.draft import Draft
    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.domain.memory import Fact, Memory


MOST_WORDINGS = 1_000  # former values of a memory, each a digest in every version


@dataclass(frozen=True, slots=True)
class Edit:
    """The fields of a memory's fact that are stated anew; what is not named stays."""

    memory_id: str
    version: int | None
    changes: Mapping[str, Any]

    def refs(self, opened: OpenScope) -> list[Ref[Any]]:
        """What the decision needs, for one read."""
        content = self.changes.get("content")
        return [memory_ref(self.memory_id), *(tombstone_refs(opened, content) if content else [])]


def edit(command: Edit, opened: OpenScope, world: World) -> Memory:
    """Make the next version of a memory; naming nothing new changes nothing.

    Raises as `correct` does.
    """
    return change(
        lambda draft: decide(command, draft, opened, world), opened, world, lambda: command.refs(opened)
    )


def decide(command: Edit, draft: Draft, opened: OpenScope, world: World) -> Memory:
    """Put the next version into a draft; raises `PolicyError` with the refusal drafted."""
    old = found(draft, command.memory_id)
    require_version(old, command.version)
    status = after(old, Act.EDIT, draft.at)
    fact = replace(old.fact, **command.changes)
    fact.require_fit()
    if (old.fact.is_item or fact.is_item) and identity(fact) != identity(old.fact):
        raise InvalidRequestError.at("", "an item stays one and keeps its key; write another instead")
    if old.superseded_by and fact.valid_to != old.fact.valid_to:
        raise InvalidRequestError.at("valid_to", "this end is the beginning of a successor: correct that one")
    if is_same(fact, old.fact):
        return old
    refuse_forbidden(draft, opened, fact)
    new = old.next_version(
        draft.at,
        status,
        fact=fact,
        trust=after_edit(old.trust, is_restated=_is_restated(old.fact, fact)),
        earlier_values=_earlier_values(old, fact, opened),
    )
    require_may_replace(new, rivals(draft, new))
    return within_quota(draft, opened, lambda: _exchange(old, new, draft, world))


def _exchange(old: Memory, new: Memory, draft: Draft, world: World) -> Memory:
    leave_slot(draft, old)
    new = draft.change(old, take_slot(draft, new, world))
    draft.record(Happening(Event.EDITED, new.id, new.version, commitment(new), related=_replaced(old, new)))
    return new


def _is_restated(old: Fact, new: Fact) -> bool:
    """True if it says something else, and is not only labelled otherwise."""
    return statement(old) != statement(new) or old.valid_to != new.valid_to


def _earlier_values(old: Memory, fact: Fact, opened: OpenScope) -> tuple[str, ...]:
    """The digests of all it said before, so that forgetting it can bury them too."""
    if fact.is_item:
        return ()  # a record's value is never buried
    said = value_digest(opened.keys, old.fact.content)
    if said == value_digest(opened.keys, fact.content):
        return old.earlier_values
    values = tuple(dict.fromkeys((*old.earlier_values, said)))
    if len(values) > MOST_WORDINGS:
        raise InvalidRequestError.at("content", "it was worded anew too often; correct it instead")
    return values


def _replaced(old: Memory, new: Memory) -> tuple[str, ...]:
    return tuple(i for i in new.supersedes if i not in old.supersedes)
