"""The ledger behind the fences: what is being erased is not there for whoever reads, and nobody writes it.

Every scope is opened with its ledger behind this, so no door has to remember to look. A fence covers the
memories that a selection took when it was set; with them is hidden what goes along, and what loses one of its
sources and waits for its fate. Without a fence it costs one place more in a read that begins with none of
the head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from unsay_core.application.ledger import HEAD, Area, Check, Version, memory_ref, ref_of
from unsay_core.application.ports import Snapshot
from unsay_core.domain.errors import BusyError
from unsay_core.domain.memory import Memory
from unsay_core.extraction.conversation import Batch, Message, Plan, Ready, Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from unsay_core.application.ledger import Change, Entry, Ref
    from unsay_core.application.ports import Ledger
    from unsay_core.jobs.erasure import Fence

READ_MOST = 100  # places in one read of the ledger
LOOKED_AT = 1_000  # entries looked at for one page
_OF_RUNS = (Run, Message, Batch, Plan, Ready)


class Stretch(list["Entry"]):
    """A page that ends before its area does: `next_after` is where it goes on."""

    next_after: str | None = None


class FencedLedger:
    """See `Ledger`; made anew for each request, it keeps the fences it has seen last."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._fences: tuple[Fence, ...] | None = None
        self._hidden: set[Ref[Any]] = set()

    def read(self, refs: Sequence[Ref[Any]]) -> Snapshot:
        """One read, with the head in it unless the fences are known."""
        wanted = list(dict.fromkeys(refs))
        if HEAD not in wanted and self._fences is None:
            if len(wanted) < READ_MOST:
                wanted = [HEAD, *wanted]
            else:
                self._look(self._ledger.read([HEAD]))
        found = self._ledger.read(wanted)
        if HEAD in wanted:
            self._look(found)
        return self._shown(found, wanted) if self._fences else found

    def page(
        self, area: Area, *, after: str | None = None, limit: int, newest_first: bool = False
    ) -> Sequence[Entry]:
        """Up to `limit` entries that are shown; a `Stretch` where very many in a row are not."""
        if self._fences is None and area in (Area.MEMORY, Area.CONVERSATION):
            self._look(self._ledger.read([HEAD]))
        found: list[Entry] = []
        looked_at, beyond = 0, after
        while True:
            entries = self._ledger.page(
                area, after=beyond, limit=limit - len(found), newest_first=newest_first
            )
            wanted = limit - len(found)
            found += self._kept(entries) if self._fences else entries
            if len(found) == limit or len(entries) < wanted:
                return found
            looked_at, beyond = looked_at + len(entries), ref_of(entries[-1]).id
            if looked_at >= LOOKED_AT:
                cut = Stretch(found)
                cut.next_after = beyond
                return cut

    def commit(self, change: Change) -> None:
        """As the ledger; raises `BusyError` for a place at which something lies that is being erased."""
        if any(part.ref in self._hidden for part in change if not isinstance(part, Check)):
            raise BusyError("what lies here is being forgotten; soon it will be gone")
        self._ledger.commit(change)

    def fence_over(self, memory_id: str) -> Fence | None:
        """The fence that hides a memory, if one does."""
        ref = memory_ref(memory_id)
        memory = self._ledger.read([ref]).get(ref) if self._fences else None
        fences = self._fences or ()
        return next((f for f in fences if memory is not None and f.covers(memory)), None)

    def _look(self, found: Snapshot) -> None:
        head = found.get(HEAD)
        self._fences = head.fences if head else ()

    def _shown(self, found: Snapshot, refs: Iterable[Ref[Any]]) -> Snapshot:
        """A snapshot without what is hidden."""
        intact = [ref for ref in refs if ref not in found.unreadable]
        pairs = [(ref, entry) for ref in intact if (entry := found.get(ref)) is not None]
        kept = {ref_of(entry) for entry in self._kept([entry for _, entry in pairs])}
        self._hidden |= {ref for ref, _ in pairs if ref not in kept}
        return Snapshot({ref: entry for ref, entry in pairs if ref in kept}, found.unreadable)

    def _kept(self, entries: Sequence[Entry]) -> list[Entry]:
        memories = {entry.id: entry for entry in entries if isinstance(entry, Memory)}
        of_versions = {entry.memory.id for entry in entries if isinstance(entry, Version)} - memories.keys()
        judged = Judgement(self._fences or (), self._ledger)
        hidden = judged.hidden(memories, of_versions)
        return [entry for entry in entries if not self._hides(entry, hidden)]

    def _hides(self, entry: Entry, hidden: set[str]) -> bool:
        match entry:
            case Memory(id=memory_id):
                return memory_id in hidden
            case Version(memory=memory):
                return memory.id in hidden
            case _ if isinstance(entry, _OF_RUNS):
                return any(self._is_over(entry.run_id, entry, fence) for fence in self._fences or ())
            case _:
                return False

    def _is_over(self, run_id: str, entry: Entry, fence: Fence) -> bool:
        """A conversation that goes as a whole; but not one that began after a whole scope was fenced off."""
        begun = entry.started_at if isinstance(entry, Run) else None
        begun = entry.stored_at if isinstance(entry, Message) else begun
        return fence.selection.takes_run(run_id) and not (begun and begun > fence.at)


class Judgement:
    """What fences do to some memories, by where these come from: followed upwards, whatever it takes."""

    def __init__(self, fences: Sequence[Fence], ledger: Ledger) -> None:
        self._fences = fences
        self._ledger = ledger
        self._known: dict[str, Memory | None] = {}

    def hidden(self, memories: Mapping[str, Memory], others: Iterable[str] = ()) -> set[str]:
        """The ids of those that are hidden; `others` are not loaded yet."""
        self._known |= memories
        self._load(others)
        self._load_ancestors()
        return self._losing(self._going())

    def _losing(self, going: set[str]) -> set[str]:
        """What goes, and what loses a source: one that goes, or a merge that does, for it goes with it."""
        hidden, last = set(going), set(going)
        while last:
            last = {
                m.id for m in self._present() if m.id not in hidden and not last.isdisjoint(m.derived_from)
            }
            hidden |= last
            last = {m.id for m in self._present() if m.id in last and m.is_merge}
        return hidden

    def is_going(self, memory: Memory) -> bool:
        """True if a fence covers the memory itself."""
        return any(fence.covers(memory) for fence in self._fences)

    def _present(self) -> list[Memory]:
        return [memory for memory in self._known.values() if memory is not None]

    def _load(self, ids: Iterable[str]) -> None:
        wanted = [i for i in dict.fromkeys(ids) if i not in self._known]
        for at in range(0, len(wanted), READ_MOST):
            refs = [memory_ref(memory_id) for memory_id in wanted[at : at + READ_MOST]]
            found = self._ledger.read(refs)
            self._known |= {ref.id: found.get(ref) for ref in refs}

    def _load_ancestors(self) -> None:
        before = -1
        while len(self._known) > before:
            before = len(self._known)
            self._load([i for m in self._present() for i in (*m.derived_from, *_successors(m))])

    def _going(self) -> set[str]:
        """What goes: what is covered, what came from that alone, and what it replaced. To a fixpoint."""
        going = {memory.id for memory in self._present() if self.is_going(memory)}
        while True:
            more = {m.id for m in self._present() if m.id not in going and self._goes_along(m, going)}
            if not more:
                return going
            going |= more

    def _goes_along(self, memory: Memory, going: set[str]) -> bool:
        if any(successor in going for successor in _successors(memory)):
            return True
        sources = memory.derived_from
        lost = [i for i in sources if i in going or self._known.get(i) is None]
        alone = len(lost) == len(sources) and not memory.corroborations
        return alone and any(source in going for source in sources)


def _successors(memory: Memory) -> tuple[str, ...]:
    """What took a memory's place: its predecessor is forgotten with it, unless that was only interrupted."""
    is_ended = memory.superseded_by is not None and memory.continued_by is None
    return (cast("str", memory.superseded_by),) if is_ended else ()
