"""Quotes: two memories may be made of one sentence, and each quotes it; with one of them it goes from both.

The other stays, and what it says. So do its versions, none of which quotes what is buried any more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unsay_core.application.draft import Draft
from unsay_core.application.erase_messages import said_of_it
from unsay_core.application.jobs import move
from unsay_core.application.ledger import Area, Version, erasure_ref, memory_ref, ref_of, version_ref
from unsay_core.application.redaction import Graves
from unsay_core.application.settle import settle
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.memory import Memory
from unsay_core.jobs.erasure import MOST_CASCADED, QUOTED, Cascaded, Erasure, Phase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import JobScope, World
    from unsay_core.domain.memory import Source

PAGE = 100  # memories in one read
LOOKED_AT = 1_000  # of them in one step, if none quotes any of it
AT_ONCE = 12  # memories, or versions of one, in one transaction


def clear_quotes(erasure: Erasure, scope: JobScope, world: World) -> Erasure:
    """Look through the next memories, and blot out what some of them quote of what is buried.

    What came later than the erasure was said anew, and is for a person to decide on.
    """
    after = erasure.cursor
    for _ in range(0, LOOKED_AT, PAGE):
        page = scope.ledger.page(Area.MEMORY, after=after, limit=PAGE)
        there = [m for m in page if isinstance(m, Memory) and m.recorded_at <= erasure.requested_at]
        said = said_of_it({ref_of(m): _quotes(m) for m in there}, erasure, scope)
        some = list(said)[:AT_ONCE]
        after = ref_of(page[-1]).id if len(page) == PAGE else None
        after = some[-1].id if len(said) > AT_ONCE else after
        if some or after is None:
            break
    digests = {piece: found for ref in some for piece, found in said[ref].items()}
    for memory in (m for m in there if ref_of(m) in some):
        _clear_past(memory, digests, scope, world)
    return settle(lambda: _clear(some, digests, after, erasure, scope, world), world)


def _quotes(memory: Memory) -> list[str]:
    return [source.quote for source in (memory.source, *memory.corroborations) if source.quote]


def _clear_past(
    memory: Memory, digests: Mapping[str, tuple[str, ...]], scope: JobScope, world: World
) -> None:
    """The versions that were, some in each transaction."""
    for start in range(1, memory.version, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, memory.version))
        refs = [version_ref(memory.id, number) for number in numbers]

        def clear(refs: Sequence[Ref[Version]] = refs) -> None:
            draft = Draft(scope, world.clock.now(), refs)
            graves = Graves(draft, digests)
            for version in (found for ref in refs if (found := draft.get(ref))):
                draft.put(replace(version, memory=_without(version.memory, graves)))
            draft.commit()

        settle(clear, world)


def _clear(
    refs: Sequence[Ref[Any]],
    digests: Mapping[str, tuple[str, ...]],
    after: str | None,
    erasure: Erasure,
    scope: JobScope,
    world: World,
) -> Erasure:
    """One transaction: some memories that quote none of it, named in the receipt, and how far the job is."""
    wanted = [memory_ref(ref.id) for ref in refs]
    draft = Draft(scope, world.clock.now(), [erasure_ref(erasure.id), *wanted])
    graves = Graves(draft, digests)
    there = [memory for ref in wanted if (memory := draft.get(ref))]
    cleared = [m for memory in there if (m := _without(memory, graves)) != memory]
    for memory in cleared:
        draft.put(memory)
        draft.owe(memory)  # its document says what it quotes
    ids = tuple(memory.id for memory in cleared)
    if ids:
        reason = erasure.reason.value
        draft.record(Happening(Event.REDACTED, related=ids, reason=reason, erasure_id=erasure.id))
    named = [Cascaded(memory_id, QUOTED, "redacted") for memory_id in ids]
    moved = move(
        draft,
        erasure,
        replace(
            erasure,
            cascade=(*erasure.cascade, *named)[:MOST_CASCADED],
            cascaded=erasure.cascaded + len(named),
            cursor=after,
            phase=Phase.PROOF if after is None else Phase.QUOTES,
        ),
    )
    draft.commit()
    return moved


def _without(memory: Memory, graves: Graves) -> Memory:
    def blotted(source: Source) -> Source:
        return replace(source, quote=graves.cleared(source.quote, None)[0]) if source.quote else source

    others = tuple(map(blotted, memory.corroborations))
    return replace(memory, source=blotted(memory.source), corroborations=others)
