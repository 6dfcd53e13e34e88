"""Twins: memories that say a buried value too, under another kind, key or time, or in other capitals.

A duplicate has to be alike in all of that, a value is the words alone. So what nobody may write any more
could still stand there, and whoever asked for it to be forgotten meant what it says.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from unsay_core.application.digests import value_digests
from unsay_core.application.draft import Draft
from unsay_core.application.erase_group import erase_group
from unsay_core.application.erase_messages import buried_by
from unsay_core.application.jobs import OutrunError, advance
from unsay_core.application.ledger import Area, erasure_ref, memory_ref, ref_of
from unsay_core.application.settle import settle
from unsay_core.application.verdict import Verdict, begun_before
from unsay_core.domain.memory import Memory
from unsay_core.domain.tombstone import TombstoneKind
from unsay_core.jobs.erasure import Erasure, Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unsay_core.application.ports import JobScope, World

PAGE = 100  # memories in one read
LOOKED_AT = 1_000  # of them in one step, if none is a twin
AT_ONCE = 20  # twins in one step


def has_twins(erasure: Erasure) -> bool:
    """True if there may be any: values are buried, and what others say of them is not to stay.

    With a conversation goes what it said; who else says the same is another source.
    """
    buries = bool(erasure.buried) and erasure.bury is TombstoneKind.VALUE
    return buries and erasure.run_id is None and not erasure.is_whole_scope


def clear_twins(erasure: Erasure, scope: JobScope, world: World) -> Erasure:
    """Look through the next memories, and erase some of those that say what is buried.

    What came later than the erasure was said anew, and is for a person to decide on.
    """
    after = erasure.cursor
    for _ in range(0, LOOKED_AT, PAGE):
        page = scope.ledger.page(Area.MEMORY, after=after, limit=PAGE)
        twins = _twins([m for m in page if isinstance(m, Memory)], erasure, scope)[:AT_ONCE]
        if twins:
            return settle(partial(_erase, [m.id for m in twins], erasure, scope, world), world)
        after = ref_of(page[-1]).id if len(page) == PAGE else None
        if after is None:
            break
    phase = Phase.FILES if after is None else Phase.TWINS
    return advance(erasure, replace(erasure, cursor=after, phase=phase), scope, world)


def _twins(memories: Sequence[Memory], erasure: Erasure, scope: JobScope) -> list[Memory]:
    there = [m for m in memories if not m.fact.is_item and m.recorded_at <= erasure.requested_at]
    digests = {memory.id: value_digests(scope.keys, memory.fact.content) for memory in there}
    buried = buried_by(erasure, {d for each in digests.values() for d in each}, scope)
    return [memory for memory in there if not buried.isdisjoint(digests[memory.id])]


def _erase(ids: Sequence[str], erasure: Erasure, scope: JobScope, world: World) -> Erasure:
    draft = Draft(scope, world.clock.now(), [erasure_ref(erasure.id), *map(memory_ref, ids)])
    stored = draft.get(erasure_ref(erasure.id))
    if stored is None or stored.phase is not Phase.TWINS:
        raise OutrunError("this erasure is further than that")
    there = [memory for i in ids if (memory := draft.get(memory_ref(i)))]
    verdict = Verdict(erasure.id, erasure.reason, erasure.bury, begun_before, why="same_value")
    return erase_group(there, verdict, draft, scope, world) if there else stored
