"""Generations of the index: how a new one is filled from the ledger.

Every change goes to all generations that are listed, from the deployment on that lists them. What is older
than that is asked for here, memory by memory. How far that has come is not written down: the new
generation itself says what it lacks, so that building it again goes on where it was left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from unsay_core.application.index_memories import is_indexable
from unsay_core.application.ledger import Area, memory_ref, pending_ref
from unsay_core.application.pages import Page, page_of
from unsay_core.application.ports import DocumentState, IndexTask
from unsay_core.domain.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from unsay_core.application.ports import Clock, Index, IndexQueue, OpenScope

T = TypeVar("T")

LOOKED_AT = 10  # documents in one request for their states
AT_ONCE = 100  # memories in one page
MOST_WAITING = 500  # messages of a build in front of those of live changes
PAUSE = 1.0  # seconds until the queue is looked at again

_ABSENT = DocumentState(settled=True, present=False)


@dataclass(frozen=True, slots=True)
class Step:
    """One page of a scope: memories that belong into the index, how many it lacks and how many it refused."""

    seen: int
    missing: int
    refused: int


def fill(
    opened: OpenScope, index: Index, queue: IndexQueue, clock: Clock, *, most_waiting: int = MOST_WAITING
) -> Iterator[Step]:
    """Ask for every memory of a scope that a generation lacks; yields page by page what it found.

    A memory that a marker owes is not missing: it is on its way to every generation, and recall finds it in
    the ledger until then. A scope is complete once a walk finds nothing missing.
    """
    after, more = None, True
    while more:
        page: Page[Memory] = page_of(opened.ledger, Area.MEMORY, after=after, limit=AT_ONCE)
        after, more = page.next_after, page.next_after is not None
        wanted = {memory.id: memory for memory in page.entries if is_indexable(memory, clock.now())}
        states = _states(list(wanted), index)
        missing = _unowed([i for i, state in states.items() if not _is_there(state)], opened)
        lost = [wanted[i] for i in missing if states[i].settled]
        _send(lost, opened, queue, clock, most_waiting)
        yield Step(len(wanted), len(missing), sum(states[i].failed for i in missing))


@dataclass(frozen=True, slots=True)
class Filled:
    """How far the filling of a generation is: scopes that lack nothing, and what this walk found."""

    complete: int
    seen: int
    missing: int = 0
    refused: int = 0


def fill_all(scopes: Sequence[T], walk: Callable[[T], Iterator[Step]], clock: Clock) -> Iterator[Filled]:
    """Walk the scopes until none lacks anything; yields how far that is, step by step."""
    left = list(scopes)
    seen = 0
    while left:
        lacking: list[T] = []
        missing = refused = 0
        for scope in left:
            here = lost = 0
            for step in walk(scope):
                here, lost = here + step.seen, lost + step.missing
                refused += step.refused
                yield Filled(len(scopes) - len(left), seen + here, missing + lost, refused)
            missing += lost
            if lost:
                lacking.append(scope)
            else:
                seen += here
        left = lacking
        if left:
            clock.sleep(PAUSE)
    yield Filled(len(scopes), seen)


def _states(memory_ids: Sequence[str], index: Index) -> dict[str, DocumentState]:
    found: dict[str, DocumentState] = {}
    for at in range(0, len(memory_ids), LOOKED_AT):
        stretch = memory_ids[at : at + LOOKED_AT]
        known = index.states(stretch)
        found |= {memory_id: known.get(memory_id, _ABSENT) for memory_id in stretch}
    return found


def _unowed(memory_ids: Sequence[str], opened: OpenScope) -> list[str]:
    """Those that are there still and that no marker cares for."""
    if not memory_ids:
        return []
    owed = opened.ledger.read([pending_ref(memory_id) for memory_id in memory_ids])
    there = opened.ledger.read([memory_ref(memory_id) for memory_id in memory_ids])
    return [i for i in memory_ids if there.get(memory_ref(i)) and not owed.get(pending_ref(i))]


def _is_there(state: DocumentState) -> bool:
    return state.settled and state.present and not state.failed


def _send(
    memories: Sequence[Memory], opened: OpenScope, queue: IndexQueue, clock: Clock, most_waiting: int
) -> None:
    """Send behind what waits, and never so much that live changes wait long behind it."""
    while memories and queue.waiting() > most_waiting:
        clock.sleep(PAUSE)
    queue.send([IndexTask(opened.id, m.id, m.seq, opened.root_id, rebuild=True) for m in memories])
