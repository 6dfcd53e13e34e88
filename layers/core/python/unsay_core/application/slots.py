"""Slots: under one key, at most one active memory at each valid time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from unsay_core.domain.errors import InvalidRequestError
from unsay_core.domain.ledger import Absent, Holds, Occupant, Slot, memory_ref, slot_ref
from unsay_core.domain.memory import Because, Status

if TYPE_CHECKING:
    from unsay_core.application.draft import Draft
    from unsay_core.application.ports import OpenScope, Snapshot
    from unsay_core.domain.memory import Memory

MOST_REPLACED = 20  # memories, each with four items of a transaction's hundred


def take_slot(
    draft: Draft, memory: Memory, snapshot: Snapshot, opened: OpenScope, *, leaving: str | None = None
) -> Memory:
    """Put a new memory into the slot of its key; whatever it overlaps is superseded by it.

    `leaving` is a memory that this change supersedes anyway. Returns the memory with the ids of what it
    replaced.
    """
    key = memory.fact.key
    if key is None:
        return memory
    slot = snapshot.get(slot_ref(key))
    occupants = [o for o in slot.occupants if o.memory_id != leaving] if slot else []
    rivals = [o.memory_id for o in occupants if o.validity.overlaps(memory.fact.validity)]
    if len(rivals) > MOST_REPLACED:
        raise InvalidRequestError.at("key", f"this would replace more than {MOST_REPLACED} memories at once")
    replaced = _active(rivals, opened)
    memory = replace(memory, supersedes=(*memory.supersedes, *(rival.id for rival in replaced)))
    for rival in replaced:
        draft.supersede(rival, by=memory, because=Because.CHANGED)
    stay = tuple(o for o in occupants if o.memory_id not in rivals)
    _write(draft, key, slot, (*stay, Occupant(memory.id, memory.fact.validity)))
    return memory


def leave_slot(draft: Draft, memory: Memory, opened: OpenScope) -> None:
    """Take a memory out of the slot of its key."""
    if memory.fact.key is None:
        return
    ref = slot_ref(memory.fact.key)
    slot = opened.ledger.read([ref]).get(ref)
    if slot is not None:
        stay = tuple(o for o in slot.occupants if o.memory_id != memory.id)
        _write(draft, memory.fact.key, slot, stay)


def _active(ids: list[str], opened: OpenScope) -> list[Memory]:
    refs = [memory_ref(memory_id) for memory_id in ids]
    found = opened.ledger.read(refs) if refs else None
    memories = [memory for ref in refs if found and (memory := found.get(ref))]
    return [memory for memory in memories if memory.status is Status.ACTIVE]


def _write(draft: Draft, key: str, slot: Slot | None, occupants: tuple[Occupant, ...]) -> None:
    expect = Holds("revision", slot.revision) if slot else Absent()
    if occupants:
        draft.put(Slot(key, (slot.revision if slot else 0) + 1, occupants), expect)
    elif slot:
        draft.delete(slot_ref(key), expect)  # a key, too, is the caller's text
