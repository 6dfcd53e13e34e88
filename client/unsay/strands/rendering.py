"""What a memory is to Strands: an entry whose metadata says what the class has no field for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.memory import MemoryEntry

from unsay_core.contracts.prompt import prompt_block

if TYPE_CHECKING:
    from strands.memory import InjectionFormatContext

    from unsay_core.contracts.schemas import MemoryOut

_TOLD = {"id", "scope", "kind", "key", "trust", "status", "version", "tags", "metadata"} | {
    "valid_from",
    "valid_to",
    "recorded_at",
}


def described(memory: MemoryOut) -> dict[str, Any]:
    """Everything about a memory but its words, as JSON has it."""
    return memory.model_dump(mode="json", include=_TOLD, exclude_none=True)


def entry(memory: MemoryOut, score: float) -> MemoryEntry:
    """A memory as a manager hands it on: it keeps the metadata, and no field of a class of ours."""
    return MemoryEntry(content=memory.content, metadata={**described(memory), "score": score})


def injection_format(context: InjectionFormatContext, **_: Any) -> str:
    """Memories for a prompt, with ids, trust and dates: `MemoryManager(injection={"format": …})`.

    One block that says it is data and not instructions, and that nothing remembered can close. Entries of
    other stores are in it too, under the name of their store.
    """
    return prompt_block(
        [
            {
                "status": "active",
                "scope": found.store_name,
                **(found.metadata or {}),
                "content": found.content,
            }
            for found in context.entries
        ]
    )[0]
