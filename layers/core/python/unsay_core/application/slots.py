"""Slots: under one key, at most one active memory at each valid time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from unsay_core.application.ledger import Occupant, Slot, memory_ref, slot_ref
from unsay_core.domain.errors import InvalidRequestError
from unsay_core.domain.memory import Because, Status

if TYPE_CHECKING:
    from unsay_core.application.draft import Draft
    from unsay_core.application.ledger import Ref
    from unsay_core.domain.memory import Fact, Memory

MOST_REPLACED = 12  # memories, each with five items of a transaction's hundred
MOST_OCCUPANTS = 100  # intervals of one slot


def overlapping(draft: Draft, fact: Fact) -> list[Ref[Memory]]:
    """What has the key of a fact for some of its time."""
    return [
        memory_ref(occupant.memory_id)
        for occupant in _occupants(draft, fact.slot)
        if occupant.validity.overlaps(fact.validity)
    ]


def rivals(draft: Draft, memory: Memory) -> list[Memory]:
    """The active memories that cannot stand beside this one.

    Whatever has its key for some of its time; and what says exactly the same, for one active memory is
    enough for one statement.
    """
    in_time, twin = overlapping(draft, memory.fact), draft.twin(memory.fact)
    draft.load(*in_time)
    found = {rival.id: rival for ref in in_time if (rival := draft.get(ref))}
    found |= {twin.id: twin} if twin else {}
    others = [rival for rival in found.values() if rival.id != memory.id]
    return [rival for rival in others if rival.status_at(draft.at) is Status.ACTIVE]


def take_slot(draft: Draft, memory: Memory) -> Memory:
    """Put a memory into the slot of its key, if it has one, in the place of all its rivals.

    Returns the memory with the ids of what it replaced.
    """
    replaced = rivals(draft, memory)
    gone = {memory.id, *(rival.id for rival in replaced)}
    stay = tuple(
        o
        for o in _occupants(draft, memory.fact.slot)
        if o.memory_id not in gone and not o.validity.overlaps(memory.fact.validity)  # it has expired
    )
    if len(replaced) > MOST_REPLACED or len(stay) >= MOST_OCCUPANTS:
        raise InvalidRequestError.at("key", "this slot holds too many memories to change it in one go")
    new = [rival.id for rival in replaced if rival.id not in memory.supersedes]
    memory = replace(memory, supersedes=(*memory.supersedes, *new))
    for rival in replaced:
        draft.supersede(rival, by=memory, because=Because.CHANGED)
    if memory.fact.slot is not None:
        _write(draft, memory.fact.slot, (*stay, Occupant(memory.id, memory.fact.validity)))
    return memory


def leave_slot(draft: Draft, memory: Memory) -> None:
    """Take a memory out of the slot of its key."""
    if memory.fact.slot is not None:
        stay = tuple(o for o in _occupants(draft, memory.fact.slot) if o.memory_id != memory.id)
        _write(draft, memory.fact.slot, stay)


def _occupants(draft: Draft, key: str | None) -> tuple[Occupant, ...]:
    slot = draft.get(slot_ref(key)) if key is not None else None
    return slot.occupants if slot else ()


def _write(draft: Draft, key: str, occupants: tuple[Occupant, ...]) -> None:
    if occupants:
        draft.put(Slot(key, draft.seq, occupants))
    else:
        draft.delete(slot_ref(key))  # a key, too, is the caller's text
