"""What goes along when a memory is forgotten: what it replaced, and what was derived from it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.ledger import memory_ref
from unsay_core.domain.lifecycle import Act, may
from unsay_core.domain.memory import Memory
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unsay_core.application.draft import Draft


@dataclass(frozen=True, slots=True)
class Cascade:
    """The memories that go, those asked for first, and why each; and those that lose a support only."""

    going: tuple[Memory, ...]
    why: dict[str, str]
    weakened: tuple[Memory, ...]


def cascade(
    memories: Sequence[Memory], draft: Draft, is_doomed: Callable[[Memory], bool] = lambda _: False
) -> Cascade:
    """Follow replacement and derivation to the end, one read for each step.

    A derived memory goes when none of its sources is left; with another source it stays, for a person to
    look at. A source that `is_doomed` to go next is as good as gone.
    """
    going = {memory.id: memory for memory in memories}
    why = dict.fromkeys(going, "selected")
    doubtful: dict[str, Memory] = {}
    frontier = list(memories)
    while frontier:
        step = _replaced(frontier, going, draft)
        why |= dict.fromkeys(step, "predecessor")
        going |= step
        derived = [i for m in frontier for i in m.derivatives if i not in going]
        doubtful = {i: m for i, m in (doubtful | _found(derived, draft)).items() if i not in going}
        alone = _without_support(doubtful, going, draft, is_doomed)
        why |= dict.fromkeys(alone, "derived")
        going |= alone
        frontier = [*step.values(), *alone.values()]
    weakened = [
        m for i, m in doubtful.items() if i not in going and may(m, Act.WEAKEN, draft.at) and not is_doomed(m)
    ]
    return Cascade(tuple(going.values()), why, tuple(weakened))


def _replaced(memories: Sequence[Memory], going: dict[str, Memory], draft: Draft) -> dict[str, Memory]:
    """What these replaced; but not what another only interrupted, for it goes on."""
    before = _found([i for m in memories for i in m.supersedes if i not in going], draft)
    interrupted = {i for i, m in before.items() if m.continued_by is not None}
    ended = {i for m in memories for i in m.supersedes if i not in interrupted or i in m.derived_from}
    return {i: m for i, m in before.items() if i in ended}


def _found(ids: list[str], draft: Draft) -> dict[str, Memory]:
    refs = [memory_ref(memory_id) for memory_id in dict.fromkeys(ids)]
    draft.load(*refs)
    return {memory.id: memory for ref in refs if (memory := draft.get(ref))}


def _without_support(
    doubtful: dict[str, Memory], going: dict[str, Memory], draft: Draft, is_doomed: Callable[[Memory], bool]
) -> dict[str, Memory]:
    sources = {i: [s for s in m.derived_from if s not in going] for i, m in doubtful.items()}
    found = _found([source for ids in sources.values() for source in ids], draft)
    left = {source_id for source_id, source in found.items() if not is_doomed(source)}
    return {
        i: doubtful[i]
        for i, ids in sources.items()
        if not (doubtful[i].corroborations or any(source in left for source in ids))
    }
