"""What goes along when a memory is forgotten: what it replaced, and what was derived from it.

What was derived stays, for a person to look at, where something else supports it. A merge is no statement of
anybody's: it goes with any of its members, whose words it may have, and the others take its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.ledger import memory_ref, version_ref
from unsay_core.domain.lifecycle import Act, may
from unsay_core.domain.memory import Memory
from unsay_core.domain.values import dataclass
from unsay_core.jobs.erasure import SELECTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from unsay_core.application.draft import Draft

Found = dict[str, Memory]


@dataclass(frozen=True, slots=True)
class Taken:
    """A merge that goes; `members` are those of it that stay, or go as merges do."""

    merge: Memory
    members: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class Cascade:
    """The memories that go, those asked for first, and why each; and those that lose a support only.

    `supports` are what is left to each of these, `taken` the merges that go, the outermost first, and
    `staying` the members that take their places.
    """

    going: tuple[Memory, ...]
    why: dict[str, str]
    weakened: tuple[Memory, ...]
    supports: dict[str, tuple[str, ...]]
    taken: tuple[Taken, ...]
    staying: tuple[Memory, ...]


def cascade(
    memories: Sequence[Memory],
    draft: Draft,
    value_of: Callable[[Memory], str],
    *,
    is_doomed: Callable[[Memory], bool] = lambda _: False,
    buries_values: bool = True,
) -> Cascade:
    """Follow replacement and derivation to the end, one read for each step.

    A source that `is_doomed` to go next is as good as gone. `value_of` tells what says the same.
    """
    return _Search(memories, draft, value_of, is_doomed, buries_values=buries_values).found()


class _Search:
    """One cascade in the making."""

    def __init__(
        self,
        memories: Sequence[Memory],
        draft: Draft,
        value_of: Callable[[Memory], str],
        is_doomed: Callable[[Memory], bool],
        *,
        buries_values: bool,
    ) -> None:
        self._draft, self._value_of, self._is_doomed = draft, value_of, is_doomed
        self._buries_values = buries_values
        self._going: Found = {memory.id: memory for memory in memories}
        self._why = dict.fromkeys(self._going, SELECTED)
        self._doubtful: Found = {}
        self._taken: Found = {}

    def found(self) -> Cascade:
        frontier = list(self._going.values())
        while frontier:
            frontier = self._step(frontier)
        weakened = tuple(filter(self._is_weakened, self._doubtful.values()))
        taken = [Taken(m, tuple(self._members(m))) for m in _outermost_first(self._taken)]
        staying = {m.id: m for each in taken for m in each.members if m.id not in self._going}
        return Cascade(
            tuple(self._going.values()),
            self._why,
            weakened,
            {m.id: self._supports(m) for m in weakened},
            tuple(taken),
            tuple(staying.values()),
        )

    def _step(self, frontier: Sequence[Memory]) -> list[Memory]:
        """What goes because of these."""
        replaced = self._replaced(frontier)
        self._go(replaced, "predecessor")
        derived = self._load(i for m in frontier for i in m.derivatives)
        self._doubtful = {i: m for i, m in (self._doubtful | derived).items() if i not in self._going}
        taken = {i: m for i, m in self._doubtful.items() if self._is_taken(m)}
        self._taken |= taken
        self._go(taken, "derived")
        alike = self._alike()
        self._go(alike, "merged")
        alone = self._without_support()
        self._go(alone, "derived")
        self._doubtful = {i: m for i, m in self._doubtful.items() if i not in self._going}
        return [*replaced.values(), *taken.values(), *alike.values(), *alone.values()]

    def _go(self, found: Found, why: str) -> None:
        self._why |= dict.fromkeys(found, why)
        self._going |= found

    def _load(self, ids: Iterable[str]) -> Found:
        """Those that are there and do not go yet."""
        return {i: m for i, m in _found(ids, self._draft).items() if i not in self._going}

    def _replaced(self, memories: Sequence[Memory]) -> Found:
        """What these replaced; but not what another only interrupted, for it goes on.

        Nor a member of a merge that has its own place again.
        """
        before = self._load(i for m in memories for i in m.supersedes)
        return {
            i: before[i]
            for m in memories
            for i in m.supersedes
            if i in before and self._is_replaced(before[i], by=m)
        }

    def _is_replaced(self, memory: Memory, *, by: Memory) -> bool:
        if by.is_merge and (by.id in self._taken or memory.superseded_by != by.id):
            return memory.id not in by.derived_from
        return memory.continued_by is None or memory.id in by.derived_from

    def _is_taken(self, memory: Memory) -> bool:
        """True for a merge with what it was merged of; one that was reworded since says what a person says.

        So does one that somebody else has said too, unless its words are those of a member.
        """
        if not memory.is_merge or self._is_doomed(memory):
            return False
        members = _found(memory.derived_from, self._draft).values()
        has_own_words = memory.earlier_values or memory.corroborations
        return not has_own_words or self._value_of(memory) in self._values(members)

    def _values(self, memories: Iterable[Memory]) -> set[str]:
        return {value for m in memories for value in (self._value_of(m), *m.earlier_values)}

    def _alike(self) -> Found:
        """Members that say the very thing which is forgotten: they were one with it."""
        if not self._buries_values:
            return {}
        found: Found = {}
        for merge in self._taken.values():
            members = _found(merge.derived_from, self._draft)
            said = self._values(m for i, m in members.items() if i in self._going and i not in self._taken)
            found |= {i: m for i, m in self._load(members).items() if self._value_of(m) in said}
        return {i: m for i, m in found.items() if not self._is_doomed(m)}

    def _members(self, merge: Memory) -> list[Memory]:
        """Those that stay; and, for they hand its place on, those that are merges and go."""
        members = _found(merge.derived_from, self._draft)
        return [
            m
            for i, m in members.items()
            if (i not in self._going or i in self._taken) and not self._is_doomed(m)
        ]

    def _without_support(self) -> Found:
        said = self._values(self._going.values())
        sources = {
            i: m.derived_from if self._value_of(m) in said else self._expanded(m.derived_from)
            for i, m in self._doubtful.items()
        }
        self._load(source for ids in sources.values() for source in ids)
        return {
            i: self._doubtful[i]
            for i, ids in sources.items()
            if not (self._doubtful[i].corroborations or self._is_supported(i, ids))
        }

    def _is_supported(self, memory_id: str, sources: Iterable[str]) -> bool:
        """True if something that stays is said by itself, and not because of the memory that asks.

        That is what has no source, or has been said by others, wherever it lies above.
        """
        seen, level = {memory_id}, list(sources)
        while level:
            wanted = [i for i in level if i not in seen]
            seen.update(wanted)
            found = [m for m in self._load(wanted).values() if not self._is_doomed(m)]
            above = _found((i for m in found for i in m.derived_from), self._draft)
            if any(m.corroborations or above.keys().isdisjoint(m.derived_from) for m in found):
                return True
            level = list(above)
        return False

    def _expanded(self, ids: Iterable[str]) -> tuple[str, ...]:
        """The sources with the members of each merge in its place, however often these were merged."""
        seen: dict[str, None] = {}
        left = list(ids)
        while left:
            each = left.pop(0)
            if each not in seen:
                seen[each] = None
                left += self._taken[each].derived_from if each in self._taken else ()
        return tuple(i for i in seen if i not in self._taken)

    def _supports(self, memory: Memory) -> tuple[str, ...]:
        """What a memory is derived from: it loses nothing but the merges that went."""
        return self._expanded(memory.derived_from)

    def _is_weakened(self, memory: Memory) -> bool:
        if self._is_doomed(memory):
            return False
        return may(memory, Act.WEAKEN, self._draft.at) or has_a_past(memory, self._draft)


def has_a_past(memory: Memory, draft: Draft) -> bool:
    """True for a merge of which there is a version that may have the words of a member."""
    return memory.is_merge and draft.get(version_ref(memory.id, memory.version - 1)) is not None


def _found(ids: Iterable[str], draft: Draft) -> Found:
    refs = [memory_ref(memory_id) for memory_id in dict.fromkeys(ids)]
    draft.load(*refs)
    return {memory.id: memory for ref in refs if (memory := draft.get(ref))}


def _outermost_first(merges: Found) -> list[Memory]:
    """Merges in the order in which one hands its place on to another that it was made of."""
    left, ordered = dict(merges), list[Memory]()
    while left:
        outer = [i for i, m in left.items() if m.superseded_by not in left] or [next(iter(left))]
        ordered += [left.pop(i) for i in outer]
    return ordered
