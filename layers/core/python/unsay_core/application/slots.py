"""Slots: under one key, at most one active memory at each valid time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from unsay_core.application.ledger import Occupant, Reviewable, Slot, Waiting, memory_ref, slot_ref
from unsay_core.domain.errors import InvalidRequestError
from unsay_core.domain.memory import Because, Status

if TYPE_CHECKING:
    from unsay_core.application.draft import Draft
    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import World
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
    enough for one statement. What has expired when it is written has none.
    """
    if memory.status_at(draft.at) is not Status.ACTIVE:
        return []
    in_time, twin = overlapping(draft, memory.fact), draft.twin(memory.fact)
    draft.load(*in_time)
    found = {rival.id: rival for ref in in_time if (rival := draft.get(ref))}
    found |= {twin.id: twin} if twin else {}
    others = [rival for rival in found.values() if rival.id != memory.id]
    return [rival for rival in others if rival.status_at(draft.at) is Status.ACTIVE]


def take_slot(draft: Draft, memory: Memory, world: World) -> Memory:
    """Put a memory into the slot of its key, if it has one, in the place of all its rivals.

    Returns the memory with the ids of what it replaced. What is over when it is written takes nothing.
    """
    if memory.status_at(draft.at) is not Status.ACTIVE:
        return memory
    replaced = rivals(draft, memory)
    if len(replaced) > MOST_REPLACED:
        raise InvalidRequestError.at("key", "this slot holds too many memories to change it in one go")
    new = [rival.id for rival in replaced if rival.id not in memory.supersedes]
    memory = replace(memory, supersedes=(*memory.supersedes, *new))
    for rival in replaced:
        _give_way(draft, rival, memory, world)
    _enter(draft, memory)
    return memory


def give_up_slot(draft: Draft, old: Memory, left: Memory) -> None:
    """Take a memory out of its slot, but for the time that is left of it."""
    leave_slot(draft, old)
    if left.status is Status.ACTIVE:
        _enter(draft, left)


def _give_way(draft: Draft, rival: Memory, memory: Memory, world: World) -> None:
    """Replace a rival for the time that a memory takes; what it has beyond that goes on under another id."""
    rest, end = None, memory.fact.valid_to
    if memory.fact.slot and end and rival.fact.validity.outlasts(memory.fact.validity):
        rest = rival.continued(world.new_id("mem"), end, draft.at)
    left = draft.supersede(rival, by=memory, because=Because.CHANGED, continued_by=rest.id if rest else None)
    give_up_slot(draft, rival, left)
    if rest:
        _enter(draft, draft.believe(rest))
        if rest.waits_at(draft.at):
            draft.put(Reviewable(rest.id, Waiting.DISPUTED, draft.at))


def _enter(draft: Draft, memory: Memory) -> None:
    """Put a memory among those in its slot; what overlaps with it there has come to its end."""
    if memory.fact.slot is None:
        return
    stay = tuple(
        occupant
        for occupant in _occupants(draft, memory.fact.slot)
        if occupant.memory_id != memory.id and not occupant.validity.overlaps(memory.fact.validity)
    )
    if len(stay) >= MOST_OCCUPANTS:
        raise InvalidRequestError.at("key", "this slot holds too many memories to add one")
    _write(draft, memory.fact.slot, (*stay, Occupant(memory.id, memory.fact.validity)))


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
